"""A tensor arena in memory: how its allocator has divided it, and what inferences wrote into it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

#: An allocator's pointers: start, end, then in some order the ends of the planned and the temporary
#: part, which grow up from the start, and the begin of the persistent one, which grows down from
#: the end (tflite-micro, ``arena_allocator/single_arena_buffer_allocator.h``).
_POINTERS = 5
#: The start is aligned up to this.
_ALIGNMENT = 16


@dataclass(frozen=True)
class Division:
    """Addresses in an arena; nobody may write between ``head`` and ``tail``."""

    start: int
    head: int
    tail: int
    end: int

    @property
    def used(self) -> int:
        """Bytes that are given out."""
        return self.head - self.start + self.end - self.tail


@dataclass(frozen=True)
class Arena:
    """The content of an arena at one time, from ``address`` on."""

    address: int
    content: bytes

    def division(self) -> Division | None:
        """How the allocator that lies in the arena has divided it; None if none is found.

        An allocator is made on the stack and then moved into its arena.
        """
        begin, end = self.address, self.address + len(self.content)
        skip = -begin % 4
        words = np.frombuffer(
            self.content[skip : skip + (len(self.content) - skip) // 4 * 4], "<u4"
        )
        if len(words) < _POINTERS:
            return None
        first, last = words[: 1 - _POINTERS], words[1 : 2 - _POINTERS]
        fits = (first >= begin) & (first < begin + _ALIGNMENT) & (last > first) & (last <= end)
        found = (self._division(words[at : at + _POINTERS]) for at in np.flatnonzero(fits))
        return max((one for one in found if one), key=lambda one: one.used, default=None)

    @staticmethod
    def _division(words: npt.NDArray[np.uint32]) -> Division | None:
        start, end, *inner = map(int, words)
        _, head, tail = sorted(inner)
        return Division(start, head, tail, end) if start <= min(inner) and tail <= end else None

    def written(self, later: Arena) -> npt.NDArray[np.bool_]:
        """For each byte, whether it has changed until ``later``."""
        now = np.frombuffer(later.content, np.uint8)
        return np.not_equal(np.frombuffer(self.content, np.uint8), now)

    def changed(self, later: Arena) -> int:
        """How many bytes have changed until ``later``."""
        return int(np.count_nonzero(self.written(later)))

    def least_used(self, later: Arena) -> int:
        """Bytes that an allocator must have given out: all but the longest stretch unwritten."""
        edges = np.flatnonzero(np.concatenate(([True], self.written(later), [True])))
        longest = int(np.max(np.diff(edges))) - 1
        return max(0, len(self.content) - -self.address % _ALIGNMENT - longest)

    def strayed(self, later: Arena) -> int:
        """How many bytes were written that no allocation holds; 0 without a known division."""
        divisions = [one for one in (self.division(), later.division()) if one]
        if len(divisions) < 2:
            return 0
        head = max(one.head for one in divisions) - self.address
        tail = min(one.tail for one in divisions) - self.address
        return int(np.count_nonzero(self.written(later)[head:tail])) if head < tail else 0
