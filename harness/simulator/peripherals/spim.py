"""SPIM, an SPI master with EasyDMA, with scripted bytes on MISO (nRF9160 PS, "SPIM").

The nRF9160 PS could not be consulted: tasks, events and registers are from Nordic's MDK, their
behaviour from the nRF52840 PS, "SPIM". A buffer is stored when its transfer ends.
"""

from __future__ import annotations

from typing import ClassVar

from harness.base.findings import Kind
from harness.base.platforms import Peripheral
from harness.simulator.peripherals.base import Chip, Nordic, Register

ENABLED = 7
_ENABLE, _FREQUENCY = 0x500, 0x524
_RXD_PTR, _RXD_MAXCNT, _RXD_AMOUNT = 0x534, 0x538, 0x53C
_TXD_PTR, _TXD_MAXCNT, _TXD_AMOUNT = 0x544, 0x548, 0x54C


class Spim(Nordic):
    """An SPI master; ``miso`` are the bytes that it stores, in order."""

    TASKS: ClassVar[dict[str, int]] = {
        "START": 0x010,
        "STOP": 0x014,
        "SUSPEND": 0x01C,
        "RESUME": 0x020,
    }
    EVENTS: ClassVar[dict[str, int]] = {
        "STOPPED": 0x104,
        "ENDRX": 0x110,
        "END": 0x118,
        "ENDTX": 0x120,
        "STARTED": 0x14C,
    }
    STARTED_BY: ClassVar[dict[str, tuple[str, ...]]] = dict.fromkeys(
        ("STARTED", "ENDRX", "ENDTX", "END"), ("START",)
    )
    SHORTS: ClassVar[dict[int, tuple[str, str]]] = {17: ("END", "START")}
    REGISTERS: ClassVar[tuple[Register, ...]] = (
        Register(_ENABLE, "ENABLE"),
        Register(0x508, "PSEL_SCK", 0xFFFF_FFFF),
        Register(0x50C, "PSEL_MOSI", 0xFFFF_FFFF),
        Register(0x510, "PSEL_MISO", 0xFFFF_FFFF),
        Register(_FREQUENCY, "FREQUENCY", 0x0400_0000),
        Register(_RXD_PTR, "RXD_PTR"),
        Register(_RXD_MAXCNT, "RXD_MAXCNT"),
        Register(_RXD_AMOUNT, "RXD_AMOUNT", access="r"),
        Register(0x540, "RXD_LIST"),
        Register(_TXD_PTR, "TXD_PTR"),
        Register(_TXD_MAXCNT, "TXD_MAXCNT"),
        Register(_TXD_AMOUNT, "TXD_AMOUNT", access="r"),
        Register(0x550, "TXD_LIST"),
        Register(0x554, "CONFIG"),
        Register(0x5C0, "ORC"),
    )
    STATE: ClassVar[tuple[str, ...]] = ("used", "running", "buffers")

    def __init__(self, chip: Chip, block: Peripheral, miso: bytes) -> None:
        self.miso = miso
        self.used = 0  # bytes stored so far; not cleared by a reset
        super().__init__(chip, block)

    def reset(self) -> None:
        super().reset()
        self.running = False
        self.buffers = (0, 0, 0, 0)  # address and size of the receive, then of the send buffer

    def _ticks(self, count: int) -> int:
        clocks = self.chip.memory_map
        hertz = max(1, self.regs[_FREQUENCY] * clocks.timer_hz >> 32)
        return 8 * count * clocks.cpu_hz // hertz

    def task_start(self) -> None:
        if self.regs[_ENABLE] != ENABLED:
            subject = f"{self.name}.TASKS_START"
            why = f"ENABLE is {self.regs[_ENABLE]}: nothing is transferred"
            self.chip.report(Kind.UNMODELLED_TASK, subject, f"{subject}: {why}")
            return
        stored, sent = (
            self.regs[offset] & (1 << self.chip.memory_map.easydma_bits) - 1
            for offset in (_RXD_MAXCNT, _TXD_MAXCNT)
        )
        self.buffers = self.regs[_RXD_PTR], stored, self.regs[_TXD_PTR], sent
        self.running = True
        self.event("STARTED")
        self.chip.schedule(self.name, "end", self.chip.now + self._ticks(max(stored, sent)))

    def task_stop(self) -> None:
        self.chip.cancel(self.name, "end")
        self.running = False
        self.event("STOPPED")

    def task_suspend(self) -> None:
        """No effect: the transfer of a buffer is not interrupted."""

    def task_resume(self) -> None:
        """No effect, as SUSPEND."""

    def fire(self, tag: str) -> None:
        self.running = False
        place, stored, source, sent = self.buffers
        if sent and not self.chip.can_reach(self.name, "read", source, sent):
            return
        if self.used + stored > len(self.miso):
            message = (
                f"the feed of {self.name} has {len(self.miso)} values, and more were asked for"
            )
            self.chip.report(Kind.FEED_EXHAUSTED, self.name, message)
            return
        if stored:
            self.chip.dma_write(self.name, place, self.miso[self.used : self.used + stored])
        self.used += stored
        self.regs[_RXD_AMOUNT], self.regs[_TXD_AMOUNT] = stored, sent
        for name in ("ENDTX", "ENDRX", "END"):
            self.event(name)
