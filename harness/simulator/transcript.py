"""The console's output, each transfer with its virtual time.

Firmware that polls sends single bytes. Transfers are therefore kept in three arrays, as the
counting core gives them, and become objects only when they are read.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from typing import NamedTuple, overload

#: Transfers as arrays: times in seconds (double), ends as offsets in the bytes (uint64), the bytes.
Packed = tuple[bytes, bytes, bytes]


class Chunk(NamedTuple):
    """Console bytes with the virtual time in seconds at which they were sent."""

    time: float
    data: bytes


class Transcript(Sequence[Chunk]):
    """Transfers in order of time."""

    def __init__(self) -> None:
        self._times, self._ends, self._data = array("d"), array("Q"), bytearray()

    def __len__(self) -> int:
        return len(self._times)

    def __iter__(self) -> Iterator[Chunk]:
        return self._chunks(0, len(self))

    @overload
    def __getitem__(self, index: int) -> Chunk: ...
    @overload
    def __getitem__(self, index: slice) -> list[Chunk]: ...
    def __getitem__(self, index: int | slice) -> Chunk | list[Chunk]:
        if isinstance(index, slice):
            first, last, step = index.indices(len(self))
            if step != 1:
                return list(self)[index]
            return list(self._chunks(first, last))
        first = range(len(self))[index]
        return next(self._chunks(first, first + 1))

    def _chunks(self, first: int, last: int) -> Iterator[Chunk]:
        ends = self._ends[first:last]
        if not ends:
            return
        offset = self._ends[first - 1] if first else 0
        data = bytes(self._data[offset : ends[-1]])
        begin = 0
        for time, end in zip(self._times[first:last], ends, strict=True):
            yield Chunk(time, data[begin : end - offset])
            begin = end - offset

    @property
    def size(self) -> int:
        """Bytes of all transfers."""
        return len(self._data)

    def since(self, offset: int) -> bytes:
        """The bytes of all transfers from ``offset`` on."""
        return bytes(self._data[offset:])

    def append(self, time: float, data: bytes) -> None:
        """Add one transfer."""
        self._data += data
        self._times.append(time)
        self._ends.append(len(self._data))

    def extend(self, packed: Packed) -> None:
        """Add transfers, whose ends are offsets from the beginning of the transcript."""
        times, ends, data = packed
        self._times.frombytes(times)
        self._ends.frombytes(ends)
        self._data += data

    def state(self) -> Packed:
        """The state for a snapshot."""
        return self._times.tobytes(), self._ends.tobytes(), bytes(self._data)

    def restore(self, state: Packed) -> None:
        """Restore a :meth:`state`, of this machine or another one."""
        del self._times[:], self._ends[:], self._data[:]
        self.extend(state)
