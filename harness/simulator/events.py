"""Virtual time and what is to happen in it.

The unit is the tick: one instruction, 1/64 000 000 s. Now is what the core executed plus what it
slept; nothing here looks at the host's clock.
"""

from __future__ import annotations

import heapq
from typing import Protocol

NEVER = 1 << 62

#: An event's name: the device that gets it, and the device's own word for it.
Key = tuple[str, str]


class Timed(Protocol):
    """Something that events happen to."""

    def fire(self, tag: str) -> None:
        """The event called ``tag`` is due."""
        ...


class EventQueue:
    """Pending events, at most one a key, fired in order of time, then of scheduling."""

    def __init__(self) -> None:
        self._heap: list[tuple[int, int, Key]] = []
        self._due: dict[Key, tuple[int, int]] = {}
        self._serial = 0
        self.devices: dict[str, Timed] = {}

    def schedule(self, key: Key, time: int) -> None:
        """Let ``key`` happen at ``time``, instead of when it was to happen before."""
        self._serial += 1
        self._due[key] = (time, self._serial)
        heapq.heappush(self._heap, (time, self._serial, key))

    def cancel(self, key: Key) -> None:
        """``key`` no longer happens."""
        self._due.pop(key, None)

    def time_of(self, key: Key) -> int | None:
        """When ``key`` happens, None when it does not."""
        due = self._due.get(key)
        return due[0] if due else None

    @property
    def next_time(self) -> int:
        """When the next event is due, NEVER when there is none."""
        heap = self._heap
        while heap:
            time, serial, key = heap[0]
            if self._due.get(key) == (time, serial):
                return time
            heapq.heappop(heap)
        return NEVER

    def run_due(self, now: int) -> bool:
        """Fire everything due at or before ``now``; True when there was something."""
        fired = False
        heap = self._heap
        while heap and heap[0][0] <= now:
            time, serial, key = heapq.heappop(heap)
            if self._due.get(key) != (time, serial):
                continue  # cancelled, or put to another time
            del self._due[key]
            self.devices[key[0]].fire(key[1])
            fired = True
        return fired

    def clear(self) -> None:
        """Forget every event."""
        self._heap.clear()
        self._due.clear()

    def state(self) -> tuple[tuple[Key, tuple[int, int]], ...]:
        """What a snapshot keeps."""
        return tuple(self._due.items())

    def restore(self, state: tuple[tuple[Key, tuple[int, int]], ...]) -> None:
        """Take back what :meth:`state` gave."""
        self._due = dict(state)
        self._heap = [(time, serial, key) for key, (time, serial) in state]
        heapq.heapify(self._heap)
        self._serial = max((serial for _, (_, serial) in state), default=0)
