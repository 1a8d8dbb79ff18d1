"""The records of one boot, and the kinds that a check has read."""

from __future__ import annotations

import bisect
from array import array

from harness.base.findings import Finding, Findings, Kind
from harness.uart.record_reader import KIND_NAMES, Records
from harness.uart.records import Record
from harness.uart.tensors import Tensors, assemble


class Ledger:
    """The records of one boot.

    A check that reads records of a kind claims it; a record of an unclaimed kind is a finding.
    """

    def __init__(self, records: Records, start: int, stop: int, findings: Findings) -> None:
        self.records = records
        self.findings = findings
        self._start, self._stop = start, stop
        self._claimed: set[str] = set()
        # The console has already reported parts that do not fit together.
        self.tensors: Tensors = assemble(records, start, stop, Findings())

    def rows(self, kind: str) -> range:
        """The range of this boot's records among those of ``kind``; claims the kind."""
        self._claimed.add(kind)
        positions = self.records.positions(kind)
        first = bisect.bisect_left(positions, self._start)
        return range(first, bisect.bisect_left(positions, self._stop))

    def has(self, kind: str) -> bool:
        """Whether there is a record of ``kind``; does not claim it."""
        positions = self.records.positions(kind)
        first = bisect.bisect_left(positions, self._start)
        return first < len(positions) and positions[first] < self._stop

    def take(self, kind: str, most: int = 1000) -> list[Record]:
        """The records of ``kind``, at most ``most``; claims the kind."""
        rows = self.rows(kind)
        return [self.records[self.records.positions(kind)[row]] for row in rows[:most]]

    def numbers(self, kind: str, name: str) -> array[int]:
        """An integer field of all records of ``kind``; claims the kind."""
        rows = self.rows(kind)
        return self.records.numbers(kind, name)[rows.start : rows.stop]

    def texts(self, kind: str, name: str) -> list[str]:
        """A text field of all records of ``kind``; claims the kind."""
        rows = self.rows(kind)
        return self.records.texts(kind, name)[rows.start : rows.stop]

    def places(self, kind: str) -> array[int]:
        """The positions of the records of ``kind`` among all records; claims the kind."""
        rows = self.rows(kind)
        return self.records.positions(kind)[rows.start : rows.stop]

    def line(self, kind: str, number: int) -> int:
        """The console line of this boot's record ``number`` of ``kind``."""
        positions = self.records.positions(kind)
        return self.records.lines[positions[self.rows(kind).start + number]]

    def time(self, kind: str, number: int) -> float:
        """The time, in seconds, at which record ``number`` of ``kind`` was complete."""
        positions = self.records.positions(kind)
        return self.records.times[positions[self.rows(kind).start + number]]

    def missing(self, message: str, subject: str) -> None:
        """Add a finding about a record that is missing."""
        self.findings.add(Finding(Kind.RECORD_MISSING, message, subject))

    def contradicts(self, message: str, subject: str, line: int = 0) -> None:
        """Add a finding about a record that contradicts another source."""
        self.findings.add(Finding(Kind.RECORD_CONTRADICTS, message, subject, line))

    def unexpected(self, message: str, subject: str, line: int = 0) -> None:
        """Add a finding about a record that nothing requires."""
        self.findings.add(Finding(Kind.RECORD_UNEXPECTED, message, subject, line))

    def close(self) -> None:
        """Add a finding for every kind of record that no check has read."""
        for kind in KIND_NAMES:
            if kind in self._claimed or not self.has(kind):
                continue
            line, count = self.line(kind, 0), len(self.rows(kind))
            self.unexpected(f"{count} {kind} records that no check reads", kind, line)
