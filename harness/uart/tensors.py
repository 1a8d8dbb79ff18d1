"""Tensors joined from the records that carry their parts."""

from __future__ import annotations

import bisect
from array import array
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import cast

from harness.findings import Finding, Findings, Kind
from harness.uart.records import PARTS
from harness.uart.store import Records


@dataclass(frozen=True, slots=True)
class TensorKey:
    """Which tensor of which inference: ``kind`` is input, output or layer."""

    kind: str
    inference: int
    index: int
    node: int = -1


class _Series:
    """One tensor in all inferences, their bytes behind each other."""

    def __init__(self) -> None:
        self.inferences = array("Q")
        self.ends = array("Q", [0])
        self.data = bytearray()

    def append(self, inference: int, data: bytes | bytearray) -> None:
        self.inferences.append(inference)
        self.data += data
        self.ends.append(len(self.data))

    def find(self, inference: int) -> int | None:
        at = bisect.bisect_left(self.inferences, inference)
        return at if self.inferences[at : at + 1] == array("Q", [inference]) else None


class Tensors(Mapping[TensorKey, bytes]):
    """The tensors of one boot that arrived whole, in the order of their inferences."""

    def __init__(self) -> None:
        self._series: dict[tuple[str, int, int], _Series] = {}

    def add(self, key: TensorKey, data: bytes | bytearray) -> bool:
        """Take one more; False if the inferences would not go up."""
        series = self._series.setdefault((key.kind, key.index, key.node), _Series())
        if series.inferences and key.inference <= series.inferences[-1]:
            return False
        series.append(key.inference, data)
        return True

    def inferences(self, kind: str, index: int, node: int = -1) -> array[int]:
        """The inferences that gave this tensor, going up."""
        series = self._series.get((kind, index, node))
        return series.inferences if series else array("Q")

    def places(self, kind: str) -> list[tuple[int, int]]:
        """``(index, node)`` of the tensors of ``kind`` that there are, in order."""
        return sorted((index, node) for known, index, node in self._series if known == kind)

    def __getitem__(self, key: TensorKey) -> bytes:
        series = self._series.get((key.kind, key.index, key.node))
        at = series.find(key.inference) if series else None
        if series is None or at is None:
            raise KeyError(key)
        return bytes(series.data[series.ends[at] : series.ends[at + 1]])

    def __iter__(self) -> Iterator[TensorKey]:
        for (kind, index, node), series in self._series.items():
            for inference in series.inferences:
                yield TensorKey(kind, inference, index, node)

    def __len__(self) -> int:
        return sum(len(series.inferences) for series in self._series.values())


@dataclass
class _Open:
    """A tensor whose parts are still coming."""

    key: TensorKey
    total: int
    line: int
    data: bytearray
    sound: bool = True


def assemble(records: Records, start: int, stop: int, found: Findings) -> Tensors:
    """Join the parts among ``records[start:stop]``: each behind the one before, none twice."""
    joiner = _Joiner(found)
    for kind in PARTS:
        positions = records.positions(kind)
        first, last = bisect.bisect_left(positions, start), bisect.bisect_left(positions, stop)
        joiner.kind(records, kind, range(first, last))
    return joiner.tensors


class _Joiner:
    def __init__(self, findings: Findings) -> None:
        self.tensors = Tensors()
        self.findings = findings

    def kind(self, records: Records, kind: str, rows: range) -> None:
        """All parts of one kind, in the order in which they came."""
        inferences, indices = records.numbers(kind, "inference"), records.numbers(kind, "index")
        offsets, totals = records.numbers(kind, "offset"), records.numbers(kind, "total")
        nodes = records.numbers(kind, "node") if kind == "layer" else None
        positions, lines = records.positions(kind), records.lines
        now: _Open | None = None
        for row in rows:
            node = -1 if nodes is None else nodes[row]
            key = TensorKey(kind, inferences[row], indices[row], node)
            data = cast("bytes", records.value(kind, "hex", row))
            line = lines[positions[row]]
            if now is None or now.key != key or now.total == len(now.data):
                self._close(now)
                now = _Open(key, totals[row], line, bytearray())
            if offsets[row] != len(now.data) or totals[row] != now.total:
                now.sound = False
            now.data += data
        self._close(now)

    def _close(self, one: _Open | None) -> None:
        if one is None:
            return
        name = f"{one.key.kind} {one.key.index} of inference {one.key.inference}"
        if one.key.node >= 0:
            name = f"{name}, node {one.key.node}"
        if not one.sound or len(one.data) != one.total:
            message = f"{name}: {len(one.data)} of {one.total} bytes, or not in order"
            self.findings.add(Finding(Kind.RECORD_TRUNCATED, message, one.key.kind, one.line))
        elif not self.tensors.add(one.key, one.data):
            message = f"{name} came again, or behind a later one"
            self.findings.add(Finding(Kind.RECORD_REPEATED, message, one.key.kind, one.line))
