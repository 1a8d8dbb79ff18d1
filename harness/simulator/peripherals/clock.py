"""CLOCK and POWER, which share one block (nRF9160 PS, "CLOCK" and "POWER")."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from harness.base.platforms import Peripheral
from harness.simulator.peripherals.base import Chip, Nordic, Register

_RESETREAS, _HFCLKRUN, _HFCLKSTAT, LFCLKRUN = 0x400, 0x408, 0x40C, 0x414
_LFCLKSTAT, _LFCLKSRCCOPY, _LFCLKSRC, _GPREGRET = 0x418, 0x41C, 0x518, 0x51C
STATE_RUNNING = 1 << 16
SOURCE_LFRC, SOURCE_LFXO = 1, 2

#: Start-up times in seconds: typical values of the nRF9160 PS ("CLOCK", electrical specification),
#: from memory.
HFXO_SECONDS = 0.000_060
LFRC_SECONDS = 0.000_600
LFXO_SECONDS = 0.250
#: Registers that a reset retains.
_RETAINED = (_RESETREAS, _GPREGRET, _GPREGRET + 4)


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
    STARTED_BY: ClassVar[dict[str, tuple[str, ...]]] = {
        "HFCLKSTARTED": ("HFCLKSTART",),
        "LFCLKSTARTED": ("LFCLKSTART",),
    }
    REGISTERS: ClassVar[tuple[Register, ...]] = (
        Register(_RESETREAS, "RESETREAS"),
        Register(_HFCLKRUN, "HFCLKRUN", access="r"),
        Register(_HFCLKSTAT, "HFCLKSTAT", access="r"),
        Register(LFCLKRUN, "LFCLKRUN", access="r"),
        Register(_LFCLKSTAT, "LFCLKSTAT", access="r"),
        Register(_LFCLKSRCCOPY, "LFCLKSRCCOPY", SOURCE_LFRC, access="r"),
        Register(0x440, "POWERSTATUS", 1, access="r"),
        Register(_LFCLKSRC, "LFCLKSRC", SOURCE_LFRC),
        Register(_GPREGRET, "GPREGRET", count=2),
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

    def write_resetreas(self, value: int) -> None:
        """Clears the bits that are written as ones."""
        self.regs[_RESETREAS] &= ~value

    def add_reset_reason(self, bit: int) -> None:
        """Sets a bit of RESETREAS; bits stay set until the firmware clears them."""
        self.regs[_RESETREAS] |= 1 << bit

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
        self.regs[_HFCLKRUN] = 1
        self._after("hfclk", HFXO_SECONDS)

    def task_hfclkstop(self) -> None:
        self.regs[_HFCLKRUN] = self.regs[_HFCLKSTAT] = 0
        self.chip.cancel(self.name, "hfclk")

    def task_lfclkstart(self) -> None:
        source = self.regs[_LFCLKSRC] & 3
        if not self.regs[LFCLKRUN]:
            self._after("lfrc", LFRC_SECONDS)
        self.regs[LFCLKRUN] = 1
        self.regs[_LFCLKSRCCOPY] = source
        self._after("lfclk", LFXO_SECONDS if source == SOURCE_LFXO else LFRC_SECONDS)

    def task_lfclkstop(self) -> None:
        self.regs[LFCLKRUN] = self.regs[_LFCLKSTAT] = 0
        self.chip.cancel(self.name, "lfclk")
        self.chip.cancel(self.name, "lfrc")
        self._switch_lfclk(False)

    def task_constlat(self) -> None:
        """No effect: wake-up latency and current are not modelled."""

    def task_lowpwr(self) -> None:
        """No effect: wake-up latency and current are not modelled."""

    def fire(self, tag: str) -> None:
        if tag == "hfclk":
            self.regs[_HFCLKSTAT] = STATE_RUNNING | 1
            self.event("HFCLKSTARTED")
        elif tag == "lfrc":
            self._switch_lfclk(True)
        else:
            self.regs[_LFCLKSTAT] = STATE_RUNNING | self.regs[_LFCLKSRCCOPY]
            self.event("LFCLKSTARTED")
