"""SysTick (Armv8-M ARM, D1.2, SYST_*): a 24-bit down-counter on the CPU clock.

Each security state has one.
"""

from __future__ import annotations

from typing import Any, Protocol

from harness.base.exceptions import SYSTICK
from harness.simulator.nvic import NONSECURE

ENABLE, TICKINT, CLKSOURCE, COUNTFLAG = 1, 2, 4, 1 << 16
_MASK = 0xFF_FFFF


class Timekeeper(Protocol):
    """The clock and the schedule of the chip."""

    @property
    def now(self) -> int:
        """Ticks since power-on."""

    def schedule(self, device: str, tag: str, time: int) -> None:
        """Schedule ``tag`` of ``device`` for a tick, instead of any earlier time of it."""

    def cancel(self, device: str, tag: str) -> None:
        """Cancel ``tag`` of ``device``."""

    def pend_systick(self, *, nonsecure: bool) -> None:
        """Make the exception of one security state's SysTick pending."""


class SysTick:
    """The counter and its registers, computed from the virtual time."""

    def __init__(self, machine: Timekeeper, *, nonsecure: bool) -> None:
        self._machine = machine
        self._nonsecure = nonsecure
        self.name = "SysTick_NS" if nonsecure else "SysTick"
        self.reset()

    def reset(self) -> None:
        """Stop the counter and set it to zero."""
        self.csr = CLKSOURCE  # CALIB.NOREF: there is no other clock
        self.rvr = 0
        self.value = 0  # counter at `since`
        self.since = 0
        self._machine.cancel(self.name, "zero")

    def _current(self) -> int:
        if not self.csr & ENABLE:
            return self.value
        elapsed = self._machine.now - self.since
        if elapsed <= self.value:
            return self.value - elapsed
        # The tick after zero reloads; fire() has not been called for another zero.
        return self.rvr - (elapsed - self.value - 1) if self.rvr else 0

    def _rebase(self, value: int) -> None:
        self.value, self.since = value, self._machine.now
        self._arrange()

    def _arrange(self) -> None:
        if not self.csr & ENABLE or not (self.value or self.rvr):
            self._machine.cancel(self.name, "zero")
            return
        ahead = self.value or self.rvr + 1
        self._machine.schedule(self.name, "zero", self.since + ahead)

    def fire(self, _tag: str) -> None:
        """Handle the counter's zero."""
        self.value, self.since = 0, self._machine.now
        self.csr |= COUNTFLAG
        if self.csr & TICKINT:
            self._machine.pend_systick(nonsecure=self._nonsecure)
        self._arrange()

    def awaits(self, _tag: str) -> bool:
        """Whether a run waits for the zero though no exception follows: no."""
        return False

    @property
    def exception(self) -> int | None:
        """The exception of its zero; None without TICKINT."""
        number = SYSTICK | NONSECURE if self._nonsecure else SYSTICK
        return number if self.csr & TICKINT else None

    def missing(self, *, has_handler: bool) -> str:
        """What it lacks for its exception, for which there is a handler or not; or ""."""
        counts, interrupts = self.csr & ENABLE, self.csr & TICKINT
        if interrupts and not counts:
            return f"{self.name} has TICKINT, and was never enabled (SYST_CSR.ENABLE)"
        if counts and interrupts and not self.rvr and not self.value:
            return f"{self.name} is enabled, and does not count: SYST_RVR is 0"
        if counts and not interrupts and has_handler:
            return f"{self.name} counts, and its handler never runs: SYST_CSR.TICKINT is not set"
        return ""

    def read(self, offset: int) -> int:
        """Read SYST_CSR, RVR, CVR or CALIB, by offset from SYST_CSR."""
        if offset == 0:
            value = self.csr
            self.csr &= ~COUNTFLAG
            return value
        if offset == 4:
            return self.rvr
        return self._current() if offset == 8 else 0xC000_0000  # CALIB: no reference clock

    def write(self, offset: int, value: int) -> None:
        """Write SYST_CSR, RVR or CVR, by offset from SYST_CSR."""
        current = self._current()
        if offset == 0:
            self.csr = self.csr & COUNTFLAG | value & 3 | CLKSOURCE
            self._rebase(current)
        elif offset == 4:
            self.rvr = value & _MASK
            self._rebase(current)
        elif offset == 8:
            self.csr &= ~COUNTFLAG
            self._rebase(0)

    def state(self) -> dict[str, Any]:
        """The state for a snapshot."""
        return {name: getattr(self, name) for name in ("csr", "rvr", "value", "since")}

    def restore(self, state: dict[str, Any]) -> None:
        """Restore a :meth:`state`."""
        self.__dict__.update(state)
