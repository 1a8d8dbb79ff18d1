"""Console bytes -> lines.

TFLM, printk and logging back ends end their lines in LF, CR LF, CR CR LF and CR CR CR LF on the
same wire; all of them are one line end here. Bytes that are not UTF-8, and control characters that
a terminal would obey, stay visible as ``\\xNN``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

#: A console line longer than this is cut: a stuck device must not fill the host's memory.
LONGEST = 8192

_ANSI = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f-\x9f]")  # all but the tab


@dataclass(frozen=True)
class Line:
    """One console line: ``text`` without line end and ANSI colours, ``raw`` as it came."""

    number: int  # 1-based, over the whole session
    time: float  # seconds on the target's clock, of the chunk that ended the line
    text: str
    raw: bytes
    complete: bool = True  # False: the session ended, or LONGEST was reached, before a line end


class LineSplitter:
    """Cuts a byte stream into lines, whatever the chunks' borders are."""

    def __init__(self) -> None:
        self._pending = b""
        self._count = 0

    def feed(self, data: bytes, time: float = 0.0) -> list[Line]:
        """The lines that ``data`` completes."""
        *ended, self._pending = (self._pending + data).split(b"\n")
        lines = [self._line(raw, time) for raw in ended]
        while len(self._pending) > LONGEST:
            lines.append(self._line(self._pending[:LONGEST], time, complete=False))
            self._pending = self._pending[LONGEST:]
        return lines

    def flush(self, time: float = 0.0) -> list[Line]:
        """What is left without a line end, as a last line."""
        raw, self._pending = self._pending, b""
        return [self._line(raw, time, complete=False)] if raw.strip(b"\r") else []

    def _line(self, raw: bytes, time: float, *, complete: bool = True) -> Line:
        self._count += 1
        text = raw.rstrip(b"\r").decode("utf-8", "backslashreplace")
        text = _CONTROL.sub(lambda match: f"\\x{ord(match[0]):02x}", _ANSI.sub("", text))
        return Line(self._count, time, text, raw, complete)
