"""The base class of RTC and TIMER."""

from __future__ import annotations

from harness.simulator.peripherals.base import Nordic


class Counter(Nordic):
    """A counter that can be started, stopped and cleared.

    Its value is computed from the virtual time and ``base``, its value at a known time.
    """

    running: bool
    base: int

    def _total(self) -> int:
        """The value of the counter without wrapping."""
        raise NotImplementedError

    def _rebase(self, value: int) -> None:
        """Sets the counter to ``value`` now, and reschedules its events."""
        raise NotImplementedError

    def reset(self) -> None:
        super().reset()
        self.running = False
        self.base = 0

    def task_start(self) -> None:
        if not self.running:
            value = self.base
            self.running = True
            self._rebase(value)

    def task_stop(self) -> None:
        value = self._total()
        self.running = False
        self._rebase(value)

    def task_clear(self) -> None:
        self._rebase(0)
