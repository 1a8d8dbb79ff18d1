"""Virtual time, and the events that are scheduled in it.

The unit is the tick: one instruction, 1/64 000 000 s. The time is the number of instructions that
the core has executed, plus the ticks that it has slept; the host's clock is never read.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping
from typing import Protocol

NEVER = 1 << 62

#: An event's name: the device that gets it, and the device's own name for it.
Key = tuple[str, str]


class EventListener(Protocol):
    """Something that gets events."""

    def fire(self, tag: str) -> None:
        """The event called ``tag`` is due."""
        ...


class EventQueue:
    """Pending events, at most one per key, fired in order of time, then of scheduling.

    ``devices`` get them, by name.
    """

    def __init__(self, devices: Mapping[str, EventListener]) -> None:
        self._devices = devices
        self._heap: list[tuple[int, int, Key]] = []
        self._due: dict[Key, tuple[int, int]] = {}
        self._serial = 0

    def schedule(self, key: Key, time: int) -> None:
        """Schedule ``key`` for tick ``time``; an earlier schedule of it is dropped."""
        self._serial += 1
        self._due[key] = (time, self._serial)
        heapq.heappush(self._heap, (time, self._serial, key))

    def cancel(self, key: Key) -> None:
        """Drop the schedule of ``key``, if there is one."""
        self._due.pop(key, None)

    def time_of(self, key: Key) -> int | None:
        """The tick that ``key`` is scheduled for, None if it is not."""
        due = self._due.get(key)
        return due[0] if due else None

    @property
    def next_time(self) -> int:
        """The tick of the next event, NEVER if there is none."""
        heap = self._heap
        while heap:
            time, serial, key = heap[0]
            if self._due.get(key) == (time, serial):
                return time
            heapq.heappop(heap)
        return NEVER

    def run_due(self, now: int) -> bool:
        """Fire all events due at or before ``now``; True if there were any."""
        fired = False
        heap = self._heap
        while heap and heap[0][0] <= now:
            time, serial, key = heapq.heappop(heap)
            if self._due.get(key) != (time, serial):
                continue  # cancelled, or moved to another time
            del self._due[key]
            self._devices[key[0]].fire(key[1])
            fired = True
        return fired

    def clear(self) -> None:
        """Forget every event."""
        self._heap.clear()
        self._due.clear()

    def state(self) -> tuple[tuple[Key, tuple[int, int]], ...]:
        """The state for a snapshot."""
        return tuple(self._due.items())

    def restore(self, state: tuple[tuple[Key, tuple[int, int]], ...]) -> None:
        """Restore a :meth:`state`."""
        self._due = dict(state)
        self._heap = [(time, serial, key) for key, (time, serial) in state]
        heapq.heapify(self._heap)
        self._serial = max((serial for _, (_, serial) in state), default=0)
