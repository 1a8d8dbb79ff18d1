"""Tensors, assembled from the records with their parts."""

from __future__ import annotations

import bisect
from array import array
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import cast

from harness.base.findings import Finding, Findings, Kind
from harness.uart.record_reader import Records
from harness.uart.records import PARTS


@dataclass(frozen=True, slots=True)
class TensorKey:
    """A tensor of one inference: ``kind`` is input, output or layer."""

    kind: str
    inference: int
    index: int
    node: int = -1


class _Series:
    """One tensor's bytes of all inferences, concatenated."""

    def __init__(self) -> None:
        self.inferences = array("Q")
        self.ends = array("Q", [0])
        self.data = bytearray()

    def append(self, inference: int, data: bytes | bytearray) -> None:
        self.inferences.append(inference)
        self.data += data
        self.ends.append(len(self.data))

    def find(self, inference: int) -> int | None:
        row = bisect.bisect_left(self.inferences, inference)
        return row if self.inferences[row : row + 1] == array("Q", [inference]) else None


class Tensors(Mapping[TensorKey, bytes]):
    """The tensors that arrived complete in one boot, in the order of their inferences."""

    def __init__(self) -> None:
        self._series: dict[tuple[str, int, int], _Series] = {}

    def add(self, key: TensorKey, data: bytes | bytearray) -> bool:
        """Add a tensor; False if its inference is not later than the last one's."""
        series = self._series.setdefault((key.kind, key.index, key.node), _Series())
        if series.inferences and key.inference <= series.inferences[-1]:
            return False
        series.append(key.inference, data)
        return True

    def inferences(self, kind: str, index: int, node: int = -1) -> array[int]:
        """The inferences with this tensor, in ascending order."""
        series = self._series.get((kind, index, node))
        return series.inferences if series else array("Q")

    def places(self, kind: str) -> list[tuple[int, int]]:
        """``(index, node)`` of all tensors of ``kind``, sorted."""
        return sorted((index, node) for known, index, node in self._series if known == kind)

    def __getitem__(self, key: TensorKey) -> bytes:
        series = self._series.get((key.kind, key.index, key.node))
        row = series.find(key.inference) if series else None
        if series is None or row is None:
            raise KeyError(key)
        return bytes(series.data[series.ends[row] : series.ends[row + 1]])

    def __iter__(self) -> Iterator[TensorKey]:
        for (kind, index, node), series in self._series.items():
            for inference in series.inferences:
                yield TensorKey(kind, inference, index, node)

    def __len__(self) -> int:
        return sum(len(series.inferences) for series in self._series.values())


@dataclass
class _Open:
    """A tensor that is still incomplete."""

    key: TensorKey
    total: int
    line: int
    data: bytearray
    sound: bool = True


def assemble(records: Records, start: int, stop: int, findings: Findings) -> Tensors:
    """Join the parts of tensors among ``records[start:stop]``.

    Parts that are missing, out of order or repeated go to ``findings``.
    """
    joiner = _Joiner(findings)
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
        """Join all parts of one kind, in the order of the console."""
        inferences, indices = records.numbers(kind, "inference"), records.numbers(kind, "index")
        offsets, totals = records.numbers(kind, "offset"), records.numbers(kind, "total")
        nodes = records.numbers(kind, "node") if kind == "layer" else None
        positions, lines = records.positions(kind), records.lines
        current: _Open | None = None
        for row in rows:
            node = -1 if nodes is None else nodes[row]
            key = TensorKey(kind, inferences[row], indices[row], node)
            data = cast("bytes", records.value(kind, "hex", row))
            line = lines[positions[row]]
            if current is None or current.key != key or current.total == len(current.data):
                self._close(current)
                current = _Open(key, totals[row], line, bytearray())
            if offsets[row] != len(current.data) or totals[row] != current.total:
                current.sound = False
            current.data += data
        self._close(current)

    def _close(self, tensor: _Open | None) -> None:
        """Keep a complete tensor, or report an incomplete one."""
        if tensor is None:
            return
        key, size = tensor.key, len(tensor.data)
        name = f"{key.kind} {key.index} of inference {key.inference}"
        if key.node >= 0:
            name = f"{name}, node {key.node}"
        if not tensor.sound or size != tensor.total:
            message = f"{name}: {size} of {tensor.total} bytes, or not in order"
            self.findings.add(Finding(Kind.RECORD_TRUNCATED, message, key.kind, tensor.line))
        elif not self.tensors.add(key, tensor.data):
            message = f"{name} came again, or after a later one"
            self.findings.add(Finding(Kind.RECORD_REPEATED, message, key.kind, tensor.line))
