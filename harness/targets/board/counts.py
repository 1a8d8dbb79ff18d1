"""What a board's session itself reads from the console: boots and cycles.

Everything else is read by ``harness.uart.Console``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from harness.uart import records

_BANNER = b"*** Booting "
#: How an image announces itself: Zephyr's banner, or the first record after a boot.
BOOT = re.compile(re.escape(_BANNER) + b"|" + re.escape(records.BOOT))
_LINE_LIMIT = 4096

#: Bytes that text consoles send: printable ASCII, tab, CR, LF, escape.
_TEXT = bytes((*range(0x20, 0x7F), 0x09, 0x0A, 0x0D, 0x1B))


def not_text(data: bytes) -> int:
    """The number of bytes of ``data`` that are not text."""
    return len(data.translate(None, _TEXT))


@dataclass
class ConsoleCounts:
    """Counts over everything that was fed.

    ``cycles`` sums the ticks of all inference records with source ``dwt``; ``hz`` is the clock
    they were counted at (0: no such record yet). ``build`` is the boot record's identifier,
    ``unended`` how many boots there were since the last ``end`` record.
    """

    boots: int = 0
    cycles: int = 0
    hz: int = 0
    build: str = ""
    unended: int = 0
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
        found_records = list(records.each_in(line))
        # One boot prints a banner, a boot record, or both; if there are records, they count.
        if any(record.kind == "boot" for record in found_records) or (
            _BANNER in line and not self.build
        ):
            self.boots += 1
            self.unended += 1
        for record in found_records:
            self._read(record)

    def _read(self, record: records.Record) -> None:
        if record.kind == "boot":
            self.build = record.text("build")
        elif record.kind == "end":
            self.unended = 0
        elif record.kind == "inference" and record.text("source") == "dwt":
            self.cycles += record.integer("ticks")
            self.hz = record.integer("hz")
