"""Bounds-checked reading of FlatBuffers.

Source of the format: the FlatBuffers documentation ("FlatBuffers Internals"). Numbers are
little-endian. An offset points forward, relative to its own position. A table starts with a signed
offset back to its vtable, which has its own size, the table's size, and the offset of each field
(0: absent).

Unlike the ``flatbuffers`` package, which trusts the offsets and lengths of its input, this module
checks every access against the size of the file, and bounds the number of elements that are read:
tables may overlap, and a file of 100 kB can describe 10^10 elements.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

#: Scalar type -> format of :mod:`struct`.
SCALARS = {
    "bool": "<?",
    "int8": "<b",
    "uint8": "<B",
    "int16": "<h",
    "uint16": "<H",
    "int32": "<i",
    "uint32": "<I",
    "int64": "<q",
    "uint64": "<Q",
    "float32": "<f",
}


class Malformed(Exception):
    """An offset, a length or a vtable exceeds the file. Readers convert it to ``BadModel``."""


class Buffer:
    """The bytes of a file, with checked access and a budget of elements.

    The budget is 65,536 elements and 16 per byte. Well-formed files use less than one per byte;
    files with overlapping tables exceed the budget early.
    """

    def __init__(self, data: bytes) -> None:
        self.data = memoryview(data).toreadonly()
        self._budget = 16 * len(data) + 65536

    def scalar(self, kind: str, position: int) -> Any:
        """The scalar of type ``kind`` (a key of SCALARS) at ``position``."""
        try:
            (value,) = struct.unpack_from(SCALARS[kind], self.data, position)
        except struct.error:
            raise Malformed(f"offset {position} is outside the file") from None
        return value

    def follow(self, position: int) -> int:
        """The target of the offset at ``position``. Raises Malformed if it exceeds the file."""
        target = position + int(self.scalar("uint32", position))
        if target >= len(self.data):
            raise Malformed(f"the offset at {position} points outside the file")
        return target

    def span(self, position: int, width: int) -> tuple[int, int]:
        """Start and length of the vector at ``position`` with elements of ``width`` bytes.

        Raises Malformed if it exceeds the file.
        """
        count = int(self.scalar("uint32", position))
        start = position + 4
        if count * width > len(self.data) - start:
            raise Malformed(f"the vector at {position} has {count} elements, which exceed the file")
        return start, count

    def spend(self, elements: int) -> None:
        """Subtracts ``elements`` from the budget. Raises Malformed if it is exhausted."""
        self._budget -= elements
        if self._budget < 0:
            raise Malformed("overlapping tables describe far more than the file contains")

    def root(self) -> FlatTable:
        """The root table."""
        return FlatTable(self, self.follow(0))


@dataclass(frozen=True)
class FlatTable:
    """One table; its fields are addressed by slot, their number in the schema, from 0 on."""

    buffer: Buffer
    position: int

    @classmethod
    def empty(cls) -> FlatTable:
        """A table without fields: every read returns the default."""
        return cls(Buffer(b"\4\0\4\0" + b"\4\0\0\0"), 4)  # a vtable, then the table

    def _field(self, slot: int) -> int:
        """The position of a field's value, or 0 if the field is absent."""
        buffer = self.buffer
        buffer.spend(1)
        vtable = self.position - int(buffer.scalar("int32", self.position))
        if vtable < 0:
            raise Malformed(f"the vtable of the table at {self.position} is outside the file")
        size = int(buffer.scalar("uint16", vtable))
        if 4 + 2 * slot + 2 > size:
            return 0
        offset = int(buffer.scalar("uint16", vtable + 4 + 2 * slot))
        return self.position + offset if offset else 0

    def scalar(self, slot: int, kind: str, default: Any = 0) -> Any:
        """A scalar field, or the schema's ``default``."""
        position = self._field(slot)
        return self.buffer.scalar(kind, position) if position else default

    def table(self, slot: int) -> FlatTable | None:
        """A field that is a table; None if it is absent."""
        position = self._field(slot)
        return FlatTable(self.buffer, self.buffer.follow(position)) if position else None

    def raw(self, slot: int) -> memoryview | None:
        """A field that is a vector of bytes, as a view of the file; None if it is absent."""
        position = self._field(slot)
        if not position:
            return None
        start, count = self.buffer.span(self.buffer.follow(position), 1)
        return self.buffer.data[start : start + count]

    def text(self, slot: int) -> str:
        """A string field; bytes that are not UTF-8 are escaped."""
        raw = self.raw(slot)
        if raw is None:
            return ""
        self.buffer.spend(len(raw))
        return bytes(raw).decode("utf-8", "backslashreplace")

    def vector(self, slot: int, kind: str) -> tuple[Any, ...] | None:
        """A field that is a vector of scalars; None if it is absent."""
        position = self._field(slot)
        if not position:
            return None
        code = SCALARS[kind]
        width = struct.calcsize(code)
        start, count = self.buffer.span(self.buffer.follow(position), width)
        self.buffer.spend(count)
        return struct.unpack_from(f"<{count}{code[1]}", self.buffer.data, start)

    def tables(self, slot: int) -> Iterator[FlatTable]:
        """A field that is a vector of tables."""
        position = self._field(slot)
        if not position:
            return
        start, count = self.buffer.span(self.buffer.follow(position), 4)
        self.buffer.spend(count)
        for index in range(count):
            yield FlatTable(self.buffer, self.buffer.follow(start + 4 * index))
