"""The base of RTC and TIMER: a counter that is started, stopped and cleared."""

from __future__ import annotations

from harness.simulator.peripherals.base import Nordic


class Counter(Nordic):
    """The counter is computed from the virtual time: ``base`` is its value at a known time."""

    running: bool
    base: int

    def _total(self) -> int:
        """The counter as if it did not wrap."""
        raise NotImplementedError

    def _rebase(self, value: int) -> None:
        """Set the counter to ``value`` now, and schedule the events that follow."""
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
