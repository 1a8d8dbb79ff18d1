"""WDT: the watchdog (nRF9160 PS, "WDT"). It cannot be stopped, and its timeout resets the chip."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from harness.base.findings import Kind
from harness.simulator.peripherals.base import Device, Nordic, Register
from harness.simulator.peripherals.clock import LFRC_SECONDS, Clock

RELOAD_KEY = 0x6E52_4635
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
    STARTED_BY: ClassVar[dict[str, tuple[str, ...]]] = {"TIMEOUT": ("START",)}
    AWAITED: ClassVar[tuple[str, ...]] = ("timeout", "reset")
    REGISTERS: ClassVar[tuple[Register, ...]] = (
        Register(_RUNSTATUS, "RUNSTATUS", access="r"),
        Register(_REQSTATUS, "REQSTATUS", 1, access="r"),
        Register(_CRV, "CRV", 0xFFFF_FFFF),
        Register(_RREN, "RREN", 1),
        Register(_CONFIG, "CONFIG", 1),
        Register(0x600, "RR", access="w", count=CHANNELS),
    )

    STATE: ClassVar[tuple[str, ...]] = ("refused",)

    def reset(self) -> None:
        super().reset()
        #: Since the last reload: n -> what RR[n] got in vain: not the key, or not enabled by RREN.
        self.refused: dict[int, int] = {}

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
        self.refused = {}
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
        if not self.regs[_RUNSTATUS]:
            return
        if value != RELOAD_KEY or not self.regs[_RREN] >> index & 1:
            self.refused[index] = value
            return
        self.regs[_REQSTATUS] &= ~(1 << index)
        if not self.regs[_REQSTATUS]:
            self._reload()

    def _why_not_reloaded(self) -> str:
        """What was wrong with the writes to RR, or that they did not come in time."""
        enabled, waiting = self.regs[_RREN] & 0xFF, self.regs[_REQSTATUS]
        for index, value in self.refused.items():
            if value != RELOAD_KEY:
                wrong = f"RR[{index}] was written with 0x{value:08x}, not 0x{RELOAD_KEY:08x}"
                return f"{wrong} (the key)"
            if waiting == enabled:
                return f"RR[{index}] was reloaded, and RREN (0x{enabled:02x}) does not enable it"
        if waiting != enabled:
            left = ", ".join(f"RR[{n}]" for n in range(CHANNELS) if waiting >> n & 1)
            return f"{left} of RREN (0x{enabled:02x}) was not reloaded"
        return "it was not reloaded in time"

    def fire(self, tag: str) -> None:
        if tag == "timeout":
            self._after("reset", RESET_CYCLES)
            self.event("TIMEOUT")
        else:
            text = f"the watchdog reset the chip: {self._why_not_reloaded()}"
            self.chip.report(Kind.REBOOTED, self.name, text)
            self.chip.system_reset(self.chip.memory_map.resetreas.dog)
