"""CLOCK and POWER, which share one block (nRF9160 PS, "CLOCK" and "POWER")."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from harness.base.platforms import Peripheral
from harness.simulator.peripherals.base import Chip, Nordic, Register

STATE_RUNNING = 1 << 16
SOURCE_LFRC, SOURCE_LFXO = 1, 2

#: Start-up times in seconds: typical values of the nRF9160 PS ("CLOCK", electrical specification),
#: from memory.
HFXO_SECONDS = 0.000_060
LFRC_SECONDS = 0.000_600
LFXO_SECONDS = 0.250
#: RESETREAS, GPREGRET[0], GPREGRET[1].
_RETAINED = (0x400, 0x51C, 0x520)


class Clock(Nordic):
    """Oscillators with their start-up times; reset reasons; retained registers.

    LFCLK runs from LFRC while LFXO starts (nRF52840 PS, "CLOCK", "32.768 kHz crystal oscillator";
    for the nRF9160 from memory, 90 %).
    """

    TASKS: ClassVar[dict[str, int]] = {
        "HFCLKSTART": 0x000,
        "HFCLKSTOP": 0x004,
        "LFCLKSTART": 0x008,
        "LFCLKSTOP": 0x00C,
        "CONSTLAT": 0x078,
        "LOWPWR": 0x07C,
    }
    EVENTS: ClassVar[dict[str, int]] = {
        "HFCLKSTARTED": 0x100,
        "LFCLKSTARTED": 0x104,
        "POFWARN": 0x108,
        "SLEEPENTER": 0x114,
        "SLEEPEXIT": 0x118,
    }
    REGISTERS: ClassVar[tuple[Register, ...]] = (
        Register(0x400, "RESETREAS"),
        Register(0x408, "HFCLKRUN", access="r"),
        Register(0x40C, "HFCLKSTAT", access="r"),
        Register(0x414, "LFCLKRUN", access="r"),
        Register(0x418, "LFCLKSTAT", access="r"),
        Register(0x41C, "LFCLKSRCCOPY", SOURCE_LFRC, access="r"),
        Register(0x440, "POWERSTATUS", 1, access="r"),
        Register(0x518, "LFCLKSRC", SOURCE_LFRC),
        Register(0x51C, "GPREGRET", count=2),
    )

    STATE: ClassVar[tuple[str, ...]] = ("lfclk_runs",)

    def __init__(self, chip: Chip, block: Peripheral) -> None:
        self._listeners: list[Callable[[bool], None]] = []
        super().__init__(chip, block)

    def reset(self) -> None:
        self.lfclk_runs = False
        retained = {offset: self.regs[offset] for offset in _RETAINED}
        super().reset()
        for offset, value in retained.items():
            self.regs[offset] = value

    def lose_power(self) -> None:
        """Clears the registers that a reset retains."""
        for offset in _RETAINED:
            self.regs[offset] = 0

    def write_resetreas(self, value: int) -> None:
        """Clears the bits that are written as ones."""
        self.regs[0x400] &= ~value

    def add_reset_reason(self, bit: int) -> None:
        """Sets a bit of RESETREAS; bits stay set until the firmware clears them."""
        self.regs[0x400] |= 1 << bit

    def on_lfclk(self, changed: Callable[[bool], None]) -> None:
        """Calls ``changed(runs)`` whenever LFCLK starts or stops."""
        self._listeners.append(changed)

    def _switch_lfclk(self, runs: bool) -> None:
        if runs != self.lfclk_runs:
            self.lfclk_runs = runs
            for changed in self._listeners:
                changed(runs)

    def _after(self, tag: str, seconds: float) -> None:
        ticks = round(seconds * self.chip.memory_map.cpu_hz)
        self.chip.schedule(self.name, tag, self.chip.now + ticks)

    def task_hfclkstart(self) -> None:
        self.regs[0x408] = 1
        self._after("hfclk", HFXO_SECONDS)

    def task_hfclkstop(self) -> None:
        self.regs[0x408] = self.regs[0x40C] = 0
        self.chip.cancel(self.name, "hfclk")

    def task_lfclkstart(self) -> None:
        source = self.regs[0x518] & 3
        if not self.regs[0x414]:
            self._after("lfrc", LFRC_SECONDS)
        self.regs[0x414] = 1
        self.regs[0x41C] = source
        self._after("lfclk", LFXO_SECONDS if source == SOURCE_LFXO else LFRC_SECONDS)

    def task_lfclkstop(self) -> None:
        self.regs[0x414] = self.regs[0x418] = 0
        self.chip.cancel(self.name, "lfclk")
        self.chip.cancel(self.name, "lfrc")
        self._switch_lfclk(False)

    def task_constlat(self) -> None:
        """No effect: wake-up latency and current are not modelled."""

    def task_lowpwr(self) -> None:
        """No effect: wake-up latency and current are not modelled."""

    def fire(self, tag: str) -> None:
        if tag == "hfclk":
            self.regs[0x40C] = STATE_RUNNING | 1
            self.event("HFCLKSTARTED")
        elif tag == "lfrc":
            self._switch_lfclk(True)
        else:
            self.regs[0x418] = STATE_RUNNING | self.regs[0x41C]
            self.event("LFCLKSTARTED")
