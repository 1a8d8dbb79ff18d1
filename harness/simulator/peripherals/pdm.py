"""PDM, the interface of digital microphones, with scripted samples (nRF9160 PS, "PDM").

The script is the PCM output of the decimation filter, left and right interleaved if MODE is stereo.
A buffer is stored when its last sample is complete.
"""

from __future__ import annotations

from typing import ClassVar

from harness.simulator.peripherals.base import Register
from harness.simulator.peripherals.script import Scripted

_ENABLE, _CLOCK, _MODE, _RATIO, _PTR, _MAXCNT = 0x500, 0x504, 0x508, 0x520, 0x560, 0x564
_SOURCE_HZ = 32_000_000  # the clock that PDM_CLK is divided from
_MONO = 1 << 0


class Pdm(Scripted):
    """PDM; its state is the buffer of the current transfer."""

    TASKS: ClassVar[dict[str, int]] = {"START": 0x000, "STOP": 0x004}
    EVENTS: ClassVar[dict[str, int]] = {"STARTED": 0x100, "STOPPED": 0x104, "END": 0x108}
    STARTED_BY: ClassVar[dict[str, tuple[str, ...]]] = dict.fromkeys(("STARTED", "END"), ("START",))
    REGISTERS: ClassVar[tuple[Register, ...]] = (
        Register(_ENABLE, "ENABLE"),
        Register(_CLOCK, "PDMCLKCTRL", 0x0840_0000),
        Register(_MODE, "MODE"),
        Register(0x518, "GAINL", 0x28),
        Register(0x51C, "GAINR", 0x28),
        Register(_RATIO, "RATIO"),
        Register(0x540, "PSEL_CLK", 0xFFFF_FFFF),
        Register(0x544, "PSEL_DIN", 0xFFFF_FFFF),
        Register(_PTR, "SAMPLE_PTR"),
        Register(_MAXCNT, "SAMPLE_MAXCNT"),
    )
    STATE: ClassVar[tuple[str, ...]] = ("used", "pointer", "room")

    def reset(self) -> None:
        super().reset()
        self.pointer = self.room = 0  # address and free samples of the buffer

    def _ticks(self, samples: int) -> int:
        """Duration of ``samples`` in ticks: a sample takes RATIO periods of PDM_CLK, 32 MHz / n."""
        divider = (1 << 32) // max(1, self.regs[_CLOCK])
        ratio = 80 if self.regs[_RATIO] & 1 else 64
        frames = samples if self.regs[_MODE] & _MONO else (samples + 1) // 2
        return frames * divider * ratio * self.chip.memory_map.cpu_hz // _SOURCE_HZ

    def task_start(self) -> None:
        if self.regs[_ENABLE] & 1:
            self._begin()

    def _begin(self) -> None:
        self.pointer, self.room = self.regs[_PTR], self.regs[_MAXCNT] & 0x7FFF
        if self.room:
            self.chip.schedule(self.name, "filled", self.chip.now + self._ticks(self.room))
        self.event("STARTED")

    def fire(self, tag: str) -> None:
        data = self.take(self.room)
        if data is not None:
            self.chip.dma_write(self.name, self.pointer, data)
            self.event("END")
            self._begin()

    def task_stop(self) -> None:
        self.chip.cancel(self.name, "filled")
        self.event("STOPPED")
