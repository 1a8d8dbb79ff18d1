"""Console bytes -> lines, and numbers in their text.

TFLM, printk and logging back ends end their lines in LF, CR LF, CR CR LF and CR CR CR LF on the
same wire; each of these is one line end. Control characters become ``\\xNN``, and so does every
byte outside ASCII in a line that is not UTF-8.
"""

from __future__ import annotations

import math
import re
from collections.abc import Generator, Iterator
from typing import NamedTuple

#: Most bytes of a line, and characters of its text. Longer lines are split, so that a stuck device
#: does not fill the host's memory.
LONGEST = 8192

_NUMBER = re.compile(
    r"(?P<mantissa>[-+]?\d{1,20}(?:\.\d{0,20})?(?:[eE][-+]?\d{1,4})?)"
    r"(?:\*2\^(?P<power>[-+]?\d{1,3}))?",
    re.ASCII,
)
_HEX = re.compile(r"[-+]?0[xX][0-9a-fA-F]{1,16}", re.ASCII)
_DIGITS = re.compile(
    r"-?\d+(?:\.(?P<decimals>\d*))?(?:[eE](?P<ten>[-+]?\d+))?(?:\*2\^(?P<two>[-+]?\d+))?", re.ASCII
)
_ANSI = re.compile(r"\x1b\[[0-9;]{0,32}[A-Za-z]")
_ANSI_BYTES = re.compile(_ANSI.pattern.encode())
#: The end of a line that more bytes may complete: a sequence, a character, a line end.
_INCOMPLETE = re.compile(
    rb"(?:\x1b(?:\[[0-9;]{0,32})?|[\xc2-\xf4]|[\xe0-\xf4][\x80-\xbf]|[\xf0-\xf4][\x80-\xbf]{2}|\r+)\Z"
)
#: The text of each byte: tab and printable ASCII unchanged, others escaped.
_VISIBLE = [chr(byte) if byte == 9 or 32 <= byte < 127 else f"\\x{byte:02x}" for byte in range(256)]
_CONTROL = {chr(byte): _VISIBLE[byte] for byte in range(160)}


class Line(NamedTuple):
    """One console line: ``text`` without line end and ANSI colours, ``raw`` as received."""

    number: int  # 1-based, over the whole session
    time: float  # seconds on the target's clock, of the chunk that ended the line
    text: str
    raw: bytes
    begun: float = 0.0  # seconds on the target's clock, when its first byte began to be sent


class LineSplitter:
    """Splits a byte stream into lines, the same for any chunks of the stream."""

    def __init__(self) -> None:
        self._pending = b""  # never more than LONGEST bytes
        self._begun = 0.0  # when the first of them began to be sent
        self._count = 0

    def feed(self, data: bytes, time: float = 0.0, begun: float | None = None) -> Iterator[Line]:
        """The lines that ``data`` completes, which was sent from ``begun`` to ``time``."""
        begun = time if begun is None else begun
        if not self._pending:
            self._begun = begun
        *ended, rest = (self._pending + data).split(b"\n")
        self._pending = b""
        for raw in ended:
            end = raw if len(raw) <= LONGEST else (yield from self._cut(raw, time))
            yield from self._lines(end, time)
            self._begun = begun
        self._pending = rest if len(rest) <= LONGEST else (yield from self._cut(rest, time))

    @property
    def pending(self) -> str:
        """The text of the line that has not ended yet.

        It grows at its end only: a character or an ANSI sequence of which bytes are missing is left
        out.
        """
        return _text(_INCOMPLETE.sub(b"", self._pending))

    def flush(self, time: float = 0.0) -> Iterator[Line]:
        """The bytes after the last line end, as a last line."""
        raw, self._pending = self._pending, b""
        if raw.strip(b"\r"):
            yield from self._lines(raw, time)

    def _cut(self, raw: bytes, time: float) -> Generator[Line, None, bytes]:
        """Yield lines of LONGEST bytes and return the rest, which is at most that long."""
        start = 0
        while len(raw) - start > LONGEST:
            stop = start + LONGEST
            for _ in range(3):  # do not split a character of several bytes
                stop -= raw[stop] & 0xC0 == 0x80
            yield from self._lines(raw[start:stop], time)
            start = stop
        return raw[start:]

    def _lines(self, raw: bytes, time: float) -> Iterator[Line]:
        """One line, or several if its escaped text is longer than LONGEST."""
        text = _text(raw)
        if len(text) <= LONGEST:
            self._count += 1
            yield Line(self._count, time, text, raw, self._begun)
            return
        step = LONGEST // 4
        for start in range(0, len(raw), step):
            part = raw[start : start + step]
            self._count += 1
            yield Line(self._count, time, _text(part), part, self._begun)


def _text(raw: bytes) -> str:
    raw = raw.rstrip(b"\r")
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError:
        return "".join(map(_VISIBLE.__getitem__, _ANSI_BYTES.sub(b"", raw)))
    if text.isprintable():
        return text
    if "\x1b" in text:
        text = _ANSI.sub("", text)
    if text.isascii():
        return "".join(map(_VISIBLE.__getitem__, text.encode("ascii")))
    return "".join(map(_CONTROL.get, text, text))


def number(text: str) -> float | None:
    """The value of a printed number; None for other text.

    It is decimal (``-12``, ``1e-3``), ``mantissa*2^exponent`` or hexadecimal (``0xAA``, of at most
    64 bits). Infinity, NaN and numbers too large for a float are None, too.
    """
    text = text.strip()
    if is_hex(text):
        return float(int(text, 16))
    match = _NUMBER.fullmatch(text)
    if match is None:
        return None
    value = float(match["mantissa"]) * 2.0 ** int(match["power"] or 0)
    return value if math.isfinite(value) else None


def is_hex(text: str) -> bool:
    """Whether ``text`` is a hexadecimal number, ``0x..``."""
    return _HEX.fullmatch(text) is not None


def last_digit(text: str) -> float:
    """The resolution of a printed number, one unit of its last digit; 0.0 for other text.

    TFLM's own printer (``1.2566366*2^-2``) omits trailing zeros of seven decimals, of which the
    last is not exact. It prints 0 as ``1.0*2^-127``.
    """
    text = text.strip()
    if is_hex(text):
        return 1.0
    digits = _DIGITS.fullmatch(text.lstrip("+"))
    if digits is None:
        return 0.0
    exponent = int(digits["ten"] or 0) - len(digits["decimals"] or "")
    unit = 10.0 ** min(exponent, 300)
    if digits["two"] is None:
        return unit
    return max(1e-6 * 2.0 ** int(digits["two"]), 2.0**-126)


def integer(text: str | None) -> int | None:
    """A decimal integer of at most 20 digits; None for anything else."""
    if text is None or len(text) > 20 or not text.isascii():
        return None
    try:
        return int(text)
    except ValueError:
        return None
