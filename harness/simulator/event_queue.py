"""The queue of events in virtual time.

The unit is the tick: one instruction at the core's clock. The time is the number of executed
instructions plus the ticks of sleep; the host's clock is never read.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping
from typing import Protocol

NEVER = 1 << 62  # a tick later than any run

#: An event: the name of its device, and a tag of that device.
Key = tuple[str, str]


class EventListener(Protocol):
    """A device with events."""

    def fire(self, tag: str) -> None:
        """Handle the event ``tag``, which is due."""
        ...

    def awaits(self, tag: str) -> bool:
        """Whether a run waits for ``tag`` though no interrupt may follow: a reset, a check."""
        ...

    @property
    def exception(self) -> int | None:
        """The exception that its events make pending; None if firmware enabled none."""
        ...


class EventQueue:
    """Pending events, at most one per key, fired in order of time, then of scheduling.

    ``devices``: name -> listener.
    """

    def __init__(self, devices: Mapping[str, EventListener]) -> None:
        self._devices = devices
        self._heap: list[tuple[int, int, Key]] = []
        self._due: dict[Key, tuple[int, int]] = {}
        self._serial = 0

    def schedule(self, key: Key, time: int) -> None:
        """Schedule ``key`` for tick ``time``, instead of any earlier time of it."""
        self._serial += 1
        self._due[key] = (time, self._serial)
        heapq.heappush(self._heap, (time, self._serial, key))

    def cancel(self, key: Key) -> None:
        """Cancel ``key``, if it is scheduled."""
        self._due.pop(key, None)

    @property
    def next_time(self) -> int:
        """The tick of the next event; NEVER if there is none."""
        heap = self._heap
        while heap:
            time, serial, key = heap[0]
            if self._due.get(key) == (time, serial):
                return time
            heapq.heappop(heap)
        return NEVER

    @property
    def keys(self) -> tuple[Key, ...]:
        """The pending events."""
        return tuple(self._due)

    def run_due(self, now: int) -> bool:
        """Fire all events due at or before ``now``; return whether there were any."""
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
        """Cancel all events."""
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
