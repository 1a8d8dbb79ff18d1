"""The records of a console, read from its lines, and their order (``docs/records.md``, "Order").

Fields are stored in columns to save memory: a console may have a million records.
"""

from __future__ import annotations

import bisect
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import pairwise
from typing import Any, cast, overload

from harness.base.findings import Finding, Findings, Kind
from harness.uart.lines import Line
from harness.uart.records import FROM_DEVICE, Field, MalformedRecord, Record, Value, parse

#: Kinds of records; :attr:`Records.kinds` has their indices.
KIND_NAMES = tuple(FROM_DEVICE)
KIND_NUMBERS = {name: number for number, name in enumerate(KIND_NAMES)}


class _Column:
    """One field of all records of one kind; None for records without it."""

    def __init__(self, field: Field) -> None:
        number = field.type is int and field.required
        self.numbers: array[int] | None = array("q") if number else None
        self.values: list[Value | None] = []
        self._data: bytearray | None = bytearray() if field.type is bytes else None
        self._ends = array("Q", [0])
        #: Adds the value of the next record.
        self.append: Callable[[Any], None] = self.values.append
        if self.numbers is not None:
            self.append = self.numbers.append
        elif self._data is not None:
            self.append = partial(_append_bytes, self._data, self._ends)

    def __getitem__(self, row: int) -> Value | None:
        if self.numbers is not None:
            return self.numbers[row]
        if self._data is not None:
            return bytes(self._data[self._ends[row] : self._ends[row + 1]])
        return self.values[row]


def _append_bytes(data: bytearray, ends: array[int], value: bytes) -> None:
    data += value
    ends.append(len(data))


class _LazyRecords(Sequence[Record]):
    """A sequence that creates each :class:`Record` when it is accessed; a slice is a list."""

    def _at(self, index: int) -> Record:
        """The record at ``index``, from 0 to ``len(self) - 1``."""
        raise NotImplementedError

    @overload
    def __getitem__(self, index: int) -> Record: ...
    @overload
    def __getitem__(self, index: slice) -> list[Record]: ...
    def __getitem__(self, index: int | slice) -> Record | list[Record]:
        chosen = range(len(self))[index]
        if isinstance(chosen, range):
            return [self._at(number) for number in chosen]
        return self._at(chosen)


class Records(_LazyRecords):
    """All valid records, in the order of the console.

    ``kinds`` has a byte per record (an index of :data:`KIND_NAMES`), ``lines`` its console line,
    ``times`` its time in seconds, ``boots`` the index of the first record of each boot.
    """

    def __init__(self) -> None:
        self.kinds = bytearray()
        self.lines = array("Q")
        self.times = array("d")
        self.sequences = array("Q")
        self.boots = array("Q")
        self._rows = array("Q")
        self._positions = {name: array("Q") for name in KIND_NAMES}
        self._columns = {
            name: {key: _Column(field) for key, field in fields.items()}
            for name, fields in FROM_DEVICE.items()
        }
        self._appends = {
            kind: [(name, column.append) for name, column in columns.items()]
            for kind, columns in self._columns.items()
        }

    def append(self, record: Record) -> None:
        """Add a record."""
        positions = self._positions[record.kind]
        self._rows.append(len(positions))
        positions.append(len(self.kinds))
        self.kinds.append(KIND_NUMBERS[record.kind])
        self.lines.append(record.line)
        self.times.append(record.time)
        self.sequences.append(record.sequence)
        fields = record.fields
        for name, append in self._appends[record.kind]:
            append(fields.get(name))

    def __len__(self) -> int:
        return len(self.kinds)

    def _at(self, index: int) -> Record:
        kind = KIND_NAMES[self.kinds[index]]
        fields = self.fields(kind, self._rows[index])
        return Record(self.sequences[index], kind, fields, self.lines[index], self.times[index])

    def fields(self, kind: str, row: int) -> Mapping[str, Value]:
        """The fields of record number ``row`` of ``kind``."""
        columns = self._columns[kind].items()
        return {name: value for name, column in columns if (value := column[row]) is not None}

    def of_kind(self, kind: str) -> RecordsOfKind:
        """The records of one kind."""
        return RecordsOfKind(self, self._positions[kind])

    def positions(self, kind: str) -> array[int]:
        """The indices of the records of ``kind`` among all records."""
        return self._positions[kind]

    def numbers(self, kind: str, name: str) -> array[int]:
        """A required field of numbers, of all records of ``kind``."""
        numbers = self._columns[kind][name].numbers
        assert numbers is not None
        return numbers

    def texts(self, kind: str, name: str) -> list[str]:
        """A field of text, of all records of ``kind``."""
        return cast("list[str]", self._columns[kind][name].values)

    def value(self, kind: str, name: str, row: int) -> Value | None:
        """One field of record number ``row`` of ``kind``."""
        return self._columns[kind][name][row]


class RecordsOfKind(_LazyRecords):
    """The records of one kind."""

    def __init__(self, records: Records, positions: Sequence[int]) -> None:
        self._records = records
        self._positions = positions

    def __len__(self) -> int:
        return len(self._positions)

    def _at(self, index: int) -> Record:
        return self._records[self._positions[index]]

    def __iter__(self) -> Iterator[Record]:
        return (self._records[position] for position in self._positions)


class RecordReader:
    """Reads records from lines and reports garbled, malformed, lost and repeated ones."""

    def __init__(self) -> None:
        self.records = Records()
        self.findings = Findings()
        self._unread = 0  # unreadable records since the last valid one; each had a number

    def feed(self, line: Line) -> Record | None:
        """The record in ``line``; None if it has no valid, new record."""
        parsed = parse(line.text, FROM_DEVICE, line.number, line.time)
        if parsed is None:
            return None
        if isinstance(parsed, MalformedRecord):
            self._report_malformed(parsed, line.number)
            return None
        return self._accept(parsed)

    def _report_malformed(self, unread: MalformedRecord, line: int) -> None:
        self._unread += 1
        if unread.sound:
            message = f"record {unread.sequence} on line {line} makes no sense: {unread.why}"
            self.findings.add(Finding(Kind.RECORD_MALFORMED, message, unread.kind, line))
            return
        message = f"a record on line {line} is garbled: {unread.why}"
        self.findings.add(Finding(Kind.RECORD_GARBLED, message, line=line))

    def _accept(self, record: Record) -> Record | None:
        records = self.records
        first = not records or record.kind == "boot"
        if not first and record.sequence <= records.sequences[-1]:
            if self._report_repeated(record):
                return None
            first = True  # a new boot, whose boot record was lost
        if first:
            records.boots.append(len(records))
        self._report_lost(0 if first else records.sequences[-1] + 1, record)
        self._unread = 0
        records.append(record)
        return record

    def _report_repeated(self, record: Record) -> bool:
        """Report a record whose number is not new; False if it belongs to another boot."""
        records, start = self.records, self.records.boots[-1]
        earlier = records[bisect.bisect_left(records.sequences, record.sequence, start)]
        if earlier.sequence != record.sequence and record.sequence:
            message = f"record {record.sequence} ({record.kind}) came after record"
            message = f"{message} {records.sequences[-1]}"
            self.findings.add(Finding(Kind.RECORD_UNEXPECTED, message, record.kind, record.line))
            return True
        if (earlier.kind, earlier.fields) == (record.kind, record.fields):
            message = f"record {record.sequence} ({record.kind}) came twice"
            self.findings.add(Finding(Kind.RECORD_REPEATED, message, record.kind, record.line))
            return True
        return False

    def _report_lost(self, first: int, record: Record) -> None:
        """Report the missing records from number ``first`` up to ``record``."""
        last = record.sequence - 1
        if record.sequence - first <= self._unread:
            return
        which = f"record {first}" if first == last else f"records {first} to {last}"
        unread = f", {self._unread} of them garbled" if self._unread else ""
        message = f"{which} did not arrive{unread}"
        self.findings.add(Finding(Kind.RECORD_LOST, message, line=record.line))


_SET_UP = ("boot", "resolver", "tensor")
#: Kinds that may end the set-up or an inference.
_BETWEEN = ("arena", "inference", "op", "layer")
#: Kinds that may precede the records after the last inference.
_CLOSING = ("ack", *_BETWEEN, "failed", "lifecycle", "allocation")

#: For each kind of record, the kinds that may directly precede it in a boot.
MAY_FOLLOW: dict[str, tuple[str, ...]] = {
    "boot": (),
    "resolver": ("boot",),
    "tensor": _SET_UP,
    "arena": _SET_UP,
    "ready": _BETWEEN,
    "ack": ("ready", "ack", "nak"),
    "nak": ("ready", "ack", "nak"),
    "input": (*_BETWEEN, "ack", "input"),
    "output": (*_BETWEEN, "ack", "input", "output"),
    "inference": ("arena", "ack", "input", "output", "layer"),
    "op": ("inference", "op", "layer"),
    "layer": ("ack", "input", "inference", "op", "layer"),
    "failed": (
        "boot", "resolver", *_BETWEEN, "ready", "ack", "nak", "lifecycle",
    ),
    "lifecycle": ("ack", *_BETWEEN, "failed", "lifecycle"),
    "allocation": ("ack", *_BETWEEN, "lifecycle", "allocation"),
    "stack": (*_CLOSING, "stack"),
    "end": (*_CLOSING, "stack"),
}  # fmt: skip

#: Pairs of kinds, by number, that may not follow each other.
_FORBIDDEN = frozenset(
    (KIND_NUMBERS[before], KIND_NUMBERS[kind])
    for kind, allowed in MAY_FOLLOW.items()
    for before in KIND_NAMES
    if before not in allowed
)


def check_order(records: Records, start: int, stop: int, findings: Findings) -> None:
    """Report the records of one boot (``records[start:stop]``) that may not follow the previous."""
    for index in _misplaced(records.kinds, start, stop):
        kind, before = KIND_NAMES[records.kinds[index]], KIND_NAMES[records.kinds[index - 1]]
        name = f"record {records.sequences[index]} ({kind})"
        message = f"{name} may not follow {before}"
        if before == "end":
            message = f"{name} came after the end record"
        findings.add(Finding(Kind.RECORD_UNEXPECTED, message, kind, records.lines[index]))


def _misplaced(kinds: bytearray, start: int, stop: int) -> Iterable[int]:
    for index, pair in enumerate(pairwise(kinds[start:stop]), start + 1):
        if pair in _FORBIDDEN:
            yield index
