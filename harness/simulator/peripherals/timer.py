"""TIMER0 to TIMER2: 16 MHz timers and counters with six compare registers (nRF9160 PS, "TIMER")."""

from __future__ import annotations

from typing import ClassVar

from harness.simulator.peripherals.base import Register, numbered
from harness.simulator.peripherals.counter import Counter

CHANNELS = 6
_MODE, _BITMODE, _PRESCALER, _CC = 0x504, 0x508, 0x510, 0x540
_WIDTHS = {0: 16, 1: 8, 2: 24, 3: 32}  # bits, by BITMODE
_TIMER_MODE = 0


class Timer(Counter):
    """Counts at 16 MHz / 2 ** PRESCALER, or COUNT tasks in counter mode."""

    TASKS: ClassVar[dict[str, int]] = {
        "START": 0x000,
        "STOP": 0x004,
        "COUNT": 0x008,
        "CLEAR": 0x00C,
        "SHUTDOWN": 0x010,
    } | numbered("CAPTURE", 0x040, CHANNELS)
    EVENTS: ClassVar[dict[str, int]] = numbered("COMPARE", 0x140, CHANNELS)
    SHORTS: ClassVar[dict[int, tuple[str, str]]] = {
        n: (f"COMPARE[{n}]", "CLEAR") for n in range(CHANNELS)
    } | {8 + n: (f"COMPARE[{n}]", "STOP") for n in range(CHANNELS)}
    REGISTERS: ClassVar[tuple[Register, ...]] = (
        Register(_MODE, "MODE"),
        Register(_BITMODE, "BITMODE"),
        Register(_PRESCALER, "PRESCALER", 4),
        Register(_CC, "CC", count=CHANNELS),
    )
    STATE: ClassVar[tuple[str, ...]] = ("running", "base", "since")

    def reset(self) -> None:
        super().reset()
        self.since = 0  # tick at which the counter was ``base``

    @property
    def _modulus(self) -> int:
        return 1 << _WIDTHS[self.regs[_BITMODE] & 3]

    @property
    def _ticks_per_count(self) -> int:
        clocks = self.chip.memory_map
        return (clocks.cpu_hz // clocks.timer_hz) << min(self.regs[_PRESCALER] & 0xF, 9)

    @property
    def _timing(self) -> bool:
        return self.running and self.regs[_MODE] & 3 == _TIMER_MODE

    def _total(self) -> int:
        if not self._timing:
            return self.base
        return self.base + (self.chip.now - self.since) // self._ticks_per_count

    def _rebase(self, value: int) -> None:
        self.base = value % self._modulus
        self.since = self.chip.now
        for index in range(CHANNELS):
            self._schedule_compare(index)

    def _schedule_compare(self, index: int) -> None:
        name = f"COMPARE[{index}]"
        if not self._timing:
            self.chip.cancel(self.name, name)
            return
        total = self._total()
        ahead = (self.regs[_CC + 4 * index] - total) % self._modulus or self._modulus
        time = self.since + (total - self.base + ahead) * self._ticks_per_count
        self.chip.schedule(self.name, name, time)

    def task_shutdown(self) -> None:
        self.running = False
        self._rebase(0)

    def task_count(self) -> None:
        if not self.running or self.regs[_MODE] & 3 == _TIMER_MODE:
            return
        self.base = (self.base + 1) % self._modulus
        for index in range(CHANNELS):
            if self.base == self.regs[_CC + 4 * index] % self._modulus:
                self.event(f"COMPARE[{index}]")

    def task_capture(self, index: int) -> None:
        self.write_cc(index, self._total() % self._modulus)

    def write_cc(self, index: int, value: int) -> None:
        self.regs[_CC + 4 * index] = value
        self._schedule_compare(index)

    def write_mode(self, value: int) -> None:
        current = self._total()
        self.regs[_MODE] = value
        self._rebase(current)

    def write_bitmode(self, value: int) -> None:
        current = self._total()
        self.regs[_BITMODE] = value
        self._rebase(current)

    def write_prescaler(self, value: int) -> None:
        current = self._total()
        self.regs[_PRESCALER] = value
        self._rebase(current)

    def fire(self, tag: str) -> None:
        """Raises COMPARE of all channels with this count, before a shortcut changes the counter."""
        counts = [self.regs[_CC + 4 * n] % self._modulus for n in range(CHANNELS)]
        matched = [n for n in range(CHANNELS) if counts[n] == counts[int(tag[8:-1])]]
        for index in matched:
            self._schedule_compare(index)
        for index in matched:
            self.event(f"COMPARE[{index}]")
