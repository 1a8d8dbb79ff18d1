"""SAADC with scripted results (nRF9160 PS, "SAADC").

A SAMPLE task stores one value of the script for each connected channel, in their order. For each
channel it takes the acquisition time and 2 us (PS: tCONV < 2 us). Oversampling affects the time
only: the script's values are results.
"""

from __future__ import annotations

from typing import ClassVar

from harness.simulator.peripherals.base import Register, numbered
from harness.simulator.peripherals.script import Scripted

CHANNELS = 8
_PSELP, _CONFIG, _CHANNEL = 0x510, 0x518, 0x10
_ENABLE, _STATUS, _OVERSAMPLE, _SAMPLERATE = 0x500, 0x400, 0x5F4, 0x5F8
_PTR, _MAXCNT, _AMOUNT = 0x62C, 0x630, 0x634
_ACQUISITION_US = (3, 5, 10, 15, 20, 40)  # CONFIG.TACQ
_CONVERSION_US = 2
_TIMERS = 1 << 12  # SAMPLERATE.MODE = Timers


class Saadc(Scripted):
    """The analog-to-digital converter; its state is the buffer of the current transfer."""

    TASKS: ClassVar[dict[str, int]] = {
        "START": 0x000, "SAMPLE": 0x004, "STOP": 0x008, "CALIBRATEOFFSET": 0x00C,
    }  # fmt: skip
    EVENTS: ClassVar[dict[str, int]] = {
        "STARTED": 0x100, "END": 0x104, "DONE": 0x108, "RESULTDONE": 0x10C,
        "CALIBRATEDONE": 0x110, "STOPPED": 0x114,
    } | numbered("LIMITH", 0x118, CHANNELS, 8) | numbered("LIMITL", 0x11C, CHANNELS, 8)  # fmt: skip
    STARTED_BY: ClassVar[dict[str, tuple[str, ...]]] = {
        "STARTED": ("START",),
        "CALIBRATEDONE": ("CALIBRATEOFFSET",),
        **dict.fromkeys(("END", "DONE", "RESULTDONE", "LIMITH", "LIMITL"), ("SAMPLE",)),
    }
    REGISTERS: ClassVar[tuple[Register, ...]] = (
        Register(_STATUS, "STATUS", access="r"),
        Register(_ENABLE, "ENABLE"),
        Register(_PSELP, "CH_PSELP", count=CHANNELS, stride=_CHANNEL),
        Register(0x514, "CH_PSELN", count=CHANNELS, stride=_CHANNEL),
        Register(_CONFIG, "CH_CONFIG", 0x20000, count=CHANNELS, stride=_CHANNEL),
        Register(0x51C, "CH_LIMIT", 0x7FFF_8000, count=CHANNELS, stride=_CHANNEL),
        Register(0x5F0, "RESOLUTION", 1),
        Register(_OVERSAMPLE, "OVERSAMPLE"),
        Register(_SAMPLERATE, "SAMPLERATE"),
        Register(_PTR, "RESULT_PTR"),
        Register(_MAXCNT, "RESULT_MAXCNT"),
        Register(_AMOUNT, "RESULT_AMOUNT", access="r"),
    )
    STATE: ClassVar[tuple[str, ...]] = ("used", "pointer", "room", "converting")

    def reset(self) -> None:
        super().reset()
        self.pointer = self.room = 0  # address and free values of the buffer
        self.converting = False

    def _channels(self) -> list[int]:
        return [n for n in range(CHANNELS) if self.regs[_PSELP + _CHANNEL * n]]

    def _microseconds(self) -> int:
        """Duration of a SAMPLE task in microseconds."""
        times = 0
        for channel in self._channels():
            tacq = self.regs[_CONFIG + _CHANNEL * channel] >> 16 & 7
            times += _ACQUISITION_US[min(tacq, 5)] + _CONVERSION_US
        return times << (self.regs[_OVERSAMPLE] & 0xF)

    def task_start(self) -> None:
        if self.regs[_ENABLE]:
            self.pointer, self.room = self.regs[_PTR], self.regs[_MAXCNT] & 0x7FFF
            self.regs[_AMOUNT] = 0
            self.event("STARTED")

    def task_sample(self) -> None:
        if self.regs[_ENABLE] and not self.converting and self._channels():
            self.converting = True
            us = self._microseconds()
            ticks = us * self.chip.memory_map.cpu_hz // 1_000_000
            self.chip.schedule(self.name, "converted", self.chip.now + ticks)

    def fire(self, tag: str) -> None:
        if tag == "sample":
            self.task_sample()
        elif tag == "calibrated":
            self.event("CALIBRATEDONE")
        else:
            self._converted()

    def _converted(self) -> None:
        self.converting = False
        rate = self.regs[_SAMPLERATE]
        if rate & _TIMERS:
            chip, took = self.chip.memory_map, self._microseconds()
            period = (rate & 0x7FF) * chip.cpu_hz // chip.timer_hz
            wait = max(1, period - took * chip.cpu_hz // 1_000_000)
            self.chip.schedule(self.name, "sample", self.chip.now + wait)
        count = min(self.room, len(self._channels()))
        data = self.take(count) if count else None
        if data is None:
            return
        self.chip.dma_write(self.name, self.pointer, data)
        self.pointer += len(data)
        self.room -= count
        self.regs[_AMOUNT] += count
        self.event("DONE")
        self.event("RESULTDONE")
        if not self.room:
            self.event("END")

    def task_stop(self) -> None:
        for tag in ("sample", "converted"):
            self.chip.cancel(self.name, tag)
        self.converting, self.room = False, 0
        self.event("STOPPED")

    def task_calibrateoffset(self) -> None:
        self.chip.schedule(
            self.name, "calibrated", self.chip.now + self.chip.memory_map.cpu_hz // 1000
        )
