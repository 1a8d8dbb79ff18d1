"""WDT: the watchdog (nRF9160 PS, "WDT"). It cannot be stopped, and its timeout resets the chip."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from harness.simulator.peripherals.base import Device, Nordic, Register
from harness.simulator.peripherals.clock import LFRC_SECONDS, Clock

RELOAD = 0x6E52_4635
CHANNELS = 8
_RUNSTATUS, _REQSTATUS, _CRV, _RREN, _CONFIG = 0x400, 0x404, 0x504, 0x508, 0x50C
_MIN_CRV = 0xF
#: LFCLK cycles from TIMEOUT to the reset.
RESET_CYCLES = 2


class Watchdog(Nordic):
    """Counts CRV + 1 cycles of the 32 768 Hz clock from the last complete reload.

    It starts LFRC by itself if LFCLK does not run, and keeps it running (nRF5340 PS, "WDT").
    """

    TASKS: ClassVar[dict[str, int]] = {"START": 0x000}
    EVENTS: ClassVar[dict[str, int]] = {"TIMEOUT": 0x100}
    AWAITED: ClassVar[tuple[str, ...]] = ("timeout", "reset")
    REGISTERS: ClassVar[tuple[Register, ...]] = (
        Register(_RUNSTATUS, "RUNSTATUS", access="r"),
        Register(_REQSTATUS, "REQSTATUS", 1, access="r"),
        Register(_CRV, "CRV", 0xFFFF_FFFF),
        Register(_RREN, "RREN", 1),
        Register(_CONFIG, "CONFIG", 1),
        Register(0x600, "RR", access="w", count=CHANNELS),
    )

    def connect(self, devices: Mapping[str, Device]) -> None:
        clock = devices["CLOCK"]
        assert isinstance(clock, Clock)
        self._clock = clock

    def _after(self, tag: str, cycles: int, delay: int = 0) -> None:
        clocks = self.chip.memory_map
        ticks = -(-cycles * clocks.cpu_hz // clocks.lfclk_hz)
        self.chip.schedule(self.name, tag, self.chip.now + delay + ticks)

    def task_start(self) -> None:
        if not self.regs[_RUNSTATUS]:
            self.regs[_RUNSTATUS] = 1
            starts = 0 if self._clock.lfclk_runs else LFRC_SECONDS
            self._reload(round(starts * self.chip.memory_map.cpu_hz))

    def _reload(self, delay: int = 0) -> None:
        self.regs[_REQSTATUS] = self.regs[_RREN] & 0xFF
        self._after("timeout", max(self.regs[_CRV], _MIN_CRV) + 1, delay)

    def _when_stopped(self, offset: int, value: int) -> None:
        if not self.regs[_RUNSTATUS]:
            self.regs[offset] = value

    def write_crv(self, value: int) -> None:
        self._when_stopped(_CRV, value)

    def write_rren(self, value: int) -> None:
        self._when_stopped(_RREN, value & 0xFF)

    def write_config(self, value: int) -> None:
        self._when_stopped(_CONFIG, value)

    def write_rr(self, index: int, value: int) -> None:
        if value != RELOAD or not self.regs[_RUNSTATUS]:
            return
        self.regs[_REQSTATUS] &= ~(1 << index)
        if not self.regs[_REQSTATUS]:
            self._reload()

    def fire(self, tag: str) -> None:
        if tag == "timeout":
            self._after("reset", RESET_CYCLES)
            self.event("TIMEOUT")
        else:
            self.chip.system_reset(self.chip.memory_map.resetreas.dog)
