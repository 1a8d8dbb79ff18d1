"""A console's bytes, and its lines with their times, written to files while they arrive.

Files, because a device may print more than fits into memory, and so that an interrupted run leaves
its output.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import SpooledTemporaryFile
from typing import IO, cast

from harness.uart.lines import Line

#: Bytes up to which a temporary file stays in memory.
_IN_MEMORY = 1_000_000
#: Bytes that are read from the file at a time.
_BLOCK = 65_536


class Recording:
    """Two binary files that are open for writing and reading; temporary ones by default.

    ``echo`` is called with the bytes as they arrive.
    """

    def __init__(
        self,
        raw: IO[bytes] | None = None,
        transcript: IO[bytes] | None = None,
        path: Path | None = None,
        echo: Callable[[bytes], None] | None = None,
    ) -> None:
        self.path = path  # of the file with the bytes; None if it is temporary
        self._echo = echo
        self._raw = raw or self._temporary()
        self._transcript = transcript or self._temporary()

    def _temporary(self) -> IO[bytes]:
        """A temporary file that is closed with the last reference to the recording."""
        file = cast("IO[bytes]", SpooledTemporaryFile(max_size=_IN_MEMORY))  # noqa: SIM115
        weakref.finalize(self, file.close)
        return file

    @property
    def echoed(self) -> bool:
        """True if the bytes are shown while they arrive."""
        return self._echo is not None

    def keep(self, data: bytes) -> None:
        """Write bytes as received."""
        self._raw.write(data)
        if self._echo is not None:
            self._echo(data)

    def keep_line(self, line: Line) -> None:
        """Write one line, with the time of its end on the target's clock."""
        text = f"[{line.time:12.6f}] {line.text}\n"
        self._transcript.write(text.encode("utf-8", "backslashreplace"))

    def restart(self) -> None:
        """Discard everything, for a run that starts again."""
        for file in (self._raw, self._transcript):
            file.seek(0)
            file.truncate()

    def blocks(self) -> Iterator[bytes]:
        """All bytes so far, in blocks."""
        offset = 0
        while block := self._read(offset):
            offset += len(block)
            yield block

    def _read(self, offset: int) -> bytes:
        end = self._raw.tell()
        self._raw.seek(offset)
        block = self._raw.read(_BLOCK)
        self._raw.seek(end)
        return block

    def transcript(self) -> str:
        """The lines with their times."""
        self._transcript.seek(0)
        return self._transcript.read().decode("utf-8")
