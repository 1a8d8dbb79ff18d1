"""The little that a board's session itself reads from the console: boots, and cycles.

The full parser of records is further right in the data flow (``harness.uart``); a session needs to
know when an image started, how often, and what the DWT counted, and nothing else.
"""

from __future__ import annotations

import re
import zlib
from dataclasses import dataclass, field

#: How an image announces itself: Zephyr's banner, or the first record after a boot.
BOOT = re.compile(rb"\*\*\* Booting |~HIL 0 boot ")

_RECORD = re.compile(rb"(~HIL \d+ ([a-z_]+)((?: [a-z0-9_]+=\S*)*)) \*([0-9a-f]{8})")
_FIELD = re.compile(rb" ([a-z0-9_]+)=(\S*)")
_LINE_LIMIT = 4096

#: Bytes that text consoles send: printable ASCII, tab, CR, LF, escape.
_TEXT = bytes((*range(0x20, 0x7F), 0x09, 0x0A, 0x0D, 0x1B))


def not_text(data: bytes) -> int:
    """How many bytes of ``data`` no text console sends."""
    return len(data.translate(None, _TEXT))


@dataclass
class Marks:
    """Counts over everything fed since :meth:`restart`.

    ``cycles`` sums the ticks of all inference records with source ``dwt``; ``hz`` is the clock
    they were counted at (0: no such record yet). ``build`` is the boot record's identifier.
    """

    boots: int = 0
    cycles: int = 0
    hz: int = 0
    build: str = ""
    ended: bool = False
    total: int = 0
    odd: int = 0
    _line: bytearray = field(default_factory=bytearray, repr=False)

    def feed(self, data: bytes) -> None:
        """Take the next bytes of the console, in pieces of any size."""
        self.total += len(data)
        self.odd += not_text(data)
        self._line += data
        *lines, rest = re.split(rb"[\r\n]", bytes(self._line))
        for line in lines:
            if line:
                self._take(line)
        self._line = bytearray(rest[-_LINE_LIMIT:])

    def _take(self, line: bytes) -> None:
        records = [m for m in _RECORD.finditer(line) if _sound(m)]
        kinds = [m.group(2) for m in records]
        # One boot prints a banner, a boot record, or both; the record is the surer sign.
        if b"boot" in kinds or (b"*** Booting " in line and not self._records_boot):
            self.boots += 1
            self.ended = False
        for record in records:
            fields = dict(_FIELD.findall(record.group(3)))
            self._read(record.group(2), fields)

    @property
    def _records_boot(self) -> bool:
        return bool(self.build)

    def _read(self, kind: bytes, fields: dict[bytes, bytes]) -> None:
        if kind == b"boot":
            self.build = fields.get(b"build", b"?").decode("ascii", "backslashreplace") or "?"
        elif kind == b"end":
            self.ended = True
        elif kind == b"inference" and fields.get(b"source") == b"dwt":
            ticks, hz = fields.get(b"ticks", b""), fields.get(b"hz", b"")
            if ticks.isdigit() and hz.isdigit():
                self.cycles += int(ticks)
                self.hz = int(hz)


def _sound(match: re.Match[bytes]) -> bool:
    return zlib.crc32(match.group(1)) == int(match.group(4), 16)
