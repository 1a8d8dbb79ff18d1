"""What RTC and TIMER have in common: a counter that is started, stopped and cleared."""

from __future__ import annotations

from harness.simulator.peripherals.base import Nordic


class Counter(Nordic):
    """The counter is computed from the virtual time: ``base`` is what it was at some moment."""

    running: bool
    base: int

    def _total(self) -> int:
        """The counter without its wrap."""
        raise NotImplementedError

    def _rebase(self, value: int) -> None:
        """It stands at ``value`` now; arrange the events that follow from there."""
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
