"""A tensor arena in memory: the layout that its allocator has given it, the bytes written to it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

#: Number of pointers in an allocator: the start and end of the arena, then in some order the ends
#: of the planned and the temporary part, which grow up from the start, and the beginning of the
#: persistent part, which grows down from the end (tflite-micro,
#: ``arena_allocator/single_arena_buffer_allocator.h``).
_POINTERS = 5
#: Bytes to which tflite-micro aligns the start of an arena.
_ALIGNMENT = 16


@dataclass(frozen=True)
class ArenaLayout:
    """Addresses in an arena; the bytes from ``head`` to ``tail`` are not allocated."""

    start: int
    head: int
    tail: int
    end: int

    @property
    def used(self) -> int:
        """Allocated bytes."""
        return self.head - self.start + self.end - self.tail


@dataclass(frozen=True)
class Arena:
    """The content of an arena at one time; its first byte is at ``address``."""

    address: int
    content: bytes

    def layout(self) -> ArenaLayout | None:
        """Read the layout from the allocator object in the arena; None if there is none.

        tflite-micro creates the object on the stack and moves it into the arena. Of several
        candidates the one with the most allocated bytes is taken.
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
        found = (self._layout(words[at : at + _POINTERS]) for at in np.flatnonzero(fits))
        return max((one for one in found if one), key=lambda one: one.used, default=None)

    @staticmethod
    def _layout(words: npt.NDArray[np.uint32]) -> ArenaLayout | None:
        start, end, *inner = map(int, words)
        _, head, tail = sorted(inner)
        return ArenaLayout(start, head, tail, end) if start <= min(inner) and tail <= end else None

    def written(self, later: Arena) -> npt.NDArray[np.bool_]:
        """For each byte, whether it differs in ``later``."""
        now = np.frombuffer(later.content, np.uint8)
        return np.not_equal(np.frombuffer(self.content, np.uint8), now)

    def changed(self, later: Arena) -> int:
        """Count the bytes that differ in ``later``."""
        return int(np.count_nonzero(self.written(later)))

    def least_used(self, later: Arena) -> int:
        """A lower bound of the allocated bytes: all but the longest unwritten stretch."""
        edges = np.flatnonzero(np.concatenate(([True], self.written(later), [True])))
        longest = int(np.max(np.diff(edges))) - 1
        return max(0, len(self.content) - -self.address % _ALIGNMENT - longest)

    def strayed(self, later: Arena) -> int:
        """Count the bytes written outside all allocations; 0 if the layout is not known."""
        layouts = [one for one in (self.layout(), later.layout()) if one]
        if len(layouts) < 2:
            return 0
        head = max(one.head for one in layouts) - self.address
        tail = min(one.tail for one in layouts) - self.address
        return int(np.count_nonzero(self.written(later)[head:tail])) if head < tail else 0
