"""How far a run may go: a time limit on the clock of a target, and how many resets."""

from __future__ import annotations

import time
from collections.abc import Callable

Clock = Callable[[], float]
#: The shortest deadline, in seconds; one with less time left counts as expired.
INSTANT = 1e-6
#: Resets by the firmware after which a target that counts them reports a reset loop; a first boot
#: takes one or two.
RESETS_IN_A_LOOP = 16


class Deadline:
    """A time limit on a target's own clock, with a wall-clock guard.

    ``now`` is the target's clock in seconds: virtual on simulators, :func:`time.monotonic` on
    boards. ``guard`` is in wall seconds: a virtual clock that stops (a simulator stuck in one
    instruction, a dead Renode) must not hang the run.
    """

    def __init__(self, seconds: float, *, now: Clock = time.monotonic, guard: float = 60.0) -> None:
        if seconds <= 0 or guard <= 0:
            raise ValueError(f"a deadline needs positive seconds and guard, not {seconds}, {guard}")
        self.seconds = seconds
        self.guard = guard
        self._now = now
        self._start = now()
        self._wall_start = time.monotonic()

    def part(self, seconds: float) -> Deadline:
        """A deadline ``seconds`` from now, on the same clock and with the rest of the guard.

        Both are at least :data:`INSTANT`: a run whose time or guard is used up ends at once.
        """
        guard = max(self.guard_remaining, INSTANT)
        return Deadline(max(seconds, INSTANT), now=self._now, guard=guard)

    @property
    def remaining(self) -> float:
        """Seconds left on the target's clock, never below zero."""
        return max(0.0, self._start + self.seconds - self._now())

    @property
    def guard_remaining(self) -> float:
        """Wall seconds left before the guard stops the run, never below zero."""
        return max(0.0, self._wall_start + self.guard - time.monotonic())

    @property
    def expired(self) -> bool:
        """True when the target's own time is used up."""
        return self.remaining <= 0.0

    @property
    def guard_expired(self) -> bool:
        """True when the wall clock ran out, whether or not the target's clock did."""
        return self.guard_remaining <= 0.0
