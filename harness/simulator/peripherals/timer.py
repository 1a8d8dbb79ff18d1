"""TIMER0 to TIMER2: 16 MHz timers and counters with six compare registers (nRF9160 PS, "TIMER")."""

from __future__ import annotations

from typing import ClassVar

from harness.simulator.peripherals.base import SHORTS, Register, numbered
from harness.simulator.peripherals.counter import CC, Counter

CHANNELS = 6
_MODE, _BITMODE, _PRESCALER = 0x504, 0x508, 0x510
_WIDTHS = {0: 16, 1: 8, 2: 24, 3: 32}  # bits, by BITMODE
_TIMER_MODE = 0
_CLEARS_OR_STOPS = 1 << 0 | 1 << 8  # of channel 0, in SHORTS


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
        Register(CC, "CC", count=CHANNELS),
    )
    CHANNELS: ClassVar[int] = CHANNELS
    PRESCALER: ClassVar[int] = _PRESCALER
    STATE: ClassVar[tuple[str, ...]] = ("running", "base", "since", "captured")

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
        if self._timing:
            self.chip.schedule(self.name, name, self.due(index))
        else:
            self.chip.cancel(self.name, name)

    def due(self, channel: int) -> int:
        total = self._total()
        ahead = (self.regs[CC + 4 * channel] - total) % self._modulus or self._modulus
        return self.since + (total - self.base + ahead) * self._ticks_per_count

    def first_interrupt(self) -> tuple[int, int] | None:
        return super().first_interrupt() if self._timing else None

    def missing(self) -> str:
        return super().missing() or self._unreachable()

    def _unreachable(self) -> str:
        """Enabled channels that a shortcut of a lower one keeps the counter from reaching."""
        shorts, enabled = self.regs[SHORTS], self.enabled_channels
        values = [self.regs[CC + 4 * n] % self._modulus for n in range(CHANNELS)]
        ends = [n for n in range(CHANNELS) if shorts >> n & _CLEARS_OR_STOPS and values[n]]
        lowest = min(ends, key=values.__getitem__, default=None)
        if lowest is None or not enabled or any(values[n] <= values[lowest] for n in enabled):
            return ""
        n, does = enabled[0], "clears" if shorts >> lowest & 1 else "stops"
        return f"{self.name} never reaches CC[{n}]: SHORTS {does} it at CC[{lowest}], which is less"

    def task_shutdown(self) -> None:
        self.running = False
        self._rebase(0)

    def task_count(self) -> None:
        if not self.running or self.regs[_MODE] & 3 == _TIMER_MODE:
            return
        self.base = (self.base + 1) % self._modulus
        for index in range(CHANNELS):
            if self.base == self.regs[CC + 4 * index] % self._modulus:
                self.event(f"COMPARE[{index}]")

    def task_capture(self, index: int) -> None:
        self.captured |= 1 << index
        self.write_cc(index, self._total() % self._modulus)

    def write_cc(self, index: int, value: int) -> None:
        self.regs[CC + 4 * index] = value
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
        counts = [self.regs[CC + 4 * n] % self._modulus for n in range(CHANNELS)]
        count = counts[int(tag[8:-1])]
        matched = [n for n in range(CHANNELS) if counts[n] == count]
        for index in matched:
            self._schedule_compare(index)
        for index in matched:
            self.event(f"COMPARE[{index}]")
