"""A console's bytes, and its lines with their times, written to files as they come.

They go to disk because a device may print more than fits into memory, and so that an interrupted
run leaves its output.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import SpooledTemporaryFile
from typing import IO, cast

from harness.uart.lines import Line

#: Bytes that a console without a folder of its own keeps in memory.
_IN_MEMORY = 1_000_000
#: Bytes that are read from the file at once.
_BLOCK = 65_536


class Recording:
    """Two binary files that are open for writing and reading; temporary ones by default.

    ``echo`` is given the bytes as they come.
    """

    def __init__(
        self,
        raw: IO[bytes] | None = None,
        transcript: IO[bytes] | None = None,
        path: Path | None = None,
        echo: Callable[[bytes], None] | None = None,
    ) -> None:
        self.path = path  # of the file of bytes, None if it is temporary
        self._echo = echo
        self._raw = raw or self._own()
        self._transcript = transcript or self._own()

    def _own(self) -> IO[bytes]:
        """A temporary file that is closed when nobody holds the recording any more."""
        file = cast("IO[bytes]", SpooledTemporaryFile(max_size=_IN_MEMORY))  # noqa: SIM115
        weakref.finalize(self, file.close)
        return file

    @property
    def echoed(self) -> bool:
        """Whether someone watches what comes."""
        return self._echo is not None

    def keep(self, data: bytes) -> None:
        """Write bytes as they came."""
        self._raw.write(data)
        if self._echo is not None:
            self._echo(data)

    def keep_line(self, line: Line) -> None:
        """Write one line, with the time of its end on the target's clock."""
        text = f"[{line.time:12.6f}] {line.text}\n"
        self._transcript.write(text.encode("utf-8", "backslashreplace"))

    def restart(self) -> None:
        """Forget everything: the run begins anew."""
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
