"""Buttons pressed while a case runs, each at its time on the target's clock."""

from __future__ import annotations

from collections.abc import Sequence

from harness.base.clock import Deadline
from harness.targets.base import Session, Stop, Until
from harness.targets.pins import Press

#: Seconds, longer than any run: a deadline so far away serves as a clock.
_LONG = 1e9


class Presses:
    """Runs a session from one press or release to the next.

    The clock of an image that sleeps for good stands still: the next press wakes it at once.
    """

    def __init__(self, session: Session, presses: Sequence[Press]) -> None:
        self._session = session
        self._clock = session.deadline(_LONG)
        edges: list[tuple[float, int, bool | None]] = []  # time, pin, level; None: released
        for press in presses:
            edges.append((press.at, press.pin, False))
            edges.append((press.at + press.seconds, press.pin, None))
        self._edges = sorted(edges, key=lambda edge: edge[0])
        self._slept = 0.0  # seconds that the clock of a sleeping image would have run

    def run(self, until: Until | None, deadline: Deadline) -> Stop:
        """As :meth:`Session.run`, with the presses that are due meanwhile."""
        while self._edges:
            wait = self._edges[0][0] - (_LONG - self._clock.remaining) - self._slept
            if wait > 0:
                if wait >= deadline.remaining:
                    break
                stop = self._session.run(until, deadline.part(wait))
                if stop is Stop.IDLE:
                    self._slept += wait
                elif stop is not Stop.DEADLINE:
                    return stop
            _, pin, level = self._edges.pop(0)
            self._session.pins.drive(pin, level)
        return self._session.run(until, deadline)
