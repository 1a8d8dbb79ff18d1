"""The base class of RTC and TIMER."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

from harness.simulator.peripherals.base import ENABLE_BIT, INTEN, PUBLISH, Nordic

CC = 0x540


class Counter(Nordic, ABC):
    """A counter that can be started, stopped and cleared, with compare registers.

    Its value is computed from the virtual time and ``base``, its value at a known time.
    """

    CHANNELS: ClassVar[int]
    PRESCALER: ClassVar[int]  # offset of the register
    TASKS: ClassVar[dict[str, int]] = {"START": 0x000, "STOP": 0x004}
    STARTED_BY: ClassVar[dict[str, tuple[str, ...]]] = dict.fromkeys(
        ("TICK", "OVRFLW", "COMPARE"), ("START",)
    )
    running: bool
    base: int

    @abstractmethod
    def _total(self) -> int:
        """The value of the counter without wrapping."""

    @abstractmethod
    def _rebase(self, value: int) -> None:
        """Sets the counter to ``value`` now, and reschedules its events."""

    def reset(self) -> None:
        super().reset()
        self.running = False
        self.base = 0
        self.captured = 0  # a bit for each channel: CAPTURE has set its CC

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

    # what compares lack

    @property
    def set_channels(self) -> list[int]:
        """The channels whose CC firmware has set, for an interrupt and not for DPPI."""
        return [
            n
            for n in range(self.CHANNELS)
            if self.regs[CC + 4 * n]
            and not self.captured >> n & 1
            and not self.regs[self.EVENTS[f"COMPARE[{n}]"] + PUBLISH] & ENABLE_BIT
        ]

    @property
    def enabled_channels(self) -> list[int]:
        """The channels whose COMPARE interrupts."""
        return [n for n in range(self.CHANNELS) if self.regs[INTEN] >> 16 + n & 1]

    def missing(self) -> str:
        """What enabled interrupts lack: START, or CC of the channel whose COMPARE is enabled."""
        enabled, written = self.enabled_channels, self.set_channels
        if (lacks := super().missing()) or not enabled or not written:
            return lacks
        if set(enabled) & set(written):
            return ""
        one, other = enabled[0], written[0]
        return (
            f"{self.name} has INTENSET for COMPARE[{one}]; CC[{one}] is 0, and CC[{other}] is set"
        )

    def first_interrupt(self) -> tuple[int, int] | None:
        """Tick and channel of the next COMPARE that interrupts; None if there is none."""
        if not self.running:
            return None
        return min(((self.due(n), n) for n in self.enabled_channels), default=None)

    @abstractmethod
    def due(self, channel: int) -> int:
        """The tick at which the counter reaches CC of a channel, if it goes on."""
