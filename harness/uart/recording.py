"""What a console keeps of itself, written as it comes: its bytes, and its lines with their times.

On disk, because a device may print more than a host has memory for, and because a run that is
interrupted leaves what it had.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from tempfile import SpooledTemporaryFile
from typing import IO, cast

from harness.uart.lines import Line

#: Bytes that a console without a folder of its own keeps in memory.
_IN_MEMORY = 1_000_000
#: Bytes that are read of the file in one go.
_BLOCK = 65_536


def _spool() -> IO[bytes]:
    return cast("IO[bytes]", SpooledTemporaryFile(max_size=_IN_MEMORY))


class Recording:
    """Two binary files that are open for writing and reading; temporary ones by default."""

    def __init__(
        self,
        raw: IO[bytes] | None = None,
        transcript: IO[bytes] | None = None,
        path: Path | None = None,
    ) -> None:
        self.path = path  # of the bytes, None if they are temporary
        self._raw = raw or _spool()
        self._transcript = transcript or _spool()

    def keep(self, data: bytes) -> None:
        """Bytes as they came."""
        self._raw.write(data)

    def keep_line(self, line: Line) -> None:
        """One line, with the time of its end on the target's clock."""
        text = f"[{line.time:12.6f}] {line.text}\n"
        self._transcript.write(text.encode("utf-8", "backslashreplace"))

    def blocks(self) -> Iterator[bytes]:
        """The bytes from the first one on, in blocks."""
        place = 0
        while block := self._read(place):
            place += len(block)
            yield block

    def _read(self, place: int) -> bytes:
        end = self._raw.tell()
        self._raw.seek(place)
        block = self._raw.read(_BLOCK)
        self._raw.seek(end)
        return block

    def transcript(self) -> str:
        """The lines with their times, one a line."""
        self._transcript.seek(0)
        return self._transcript.read().decode("utf-8")
