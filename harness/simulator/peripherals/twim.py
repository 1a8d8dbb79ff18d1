"""TWIM, an I2C master with EasyDMA, with scripted devices on the bus (nRF9160 PS, "TWIM").

The nRF9160 PS could not be consulted: tasks, events and registers are from Nordic's MDK, their
behaviour from the nRF52840 PS, "TWIM". A buffer is read or stored when its transfer ends.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from harness.base.findings import Kind
from harness.base.platforms import Peripheral
from harness.simulator.peripherals.base import Chip, Nordic, Register

ENABLED = 6
_ENABLE, _FREQUENCY, _ADDRESS, _ERRORSRC = 0x500, 0x524, 0x588, 0x4C4
_RXD_PTR, _RXD_MAXCNT, _RXD_AMOUNT = 0x534, 0x538, 0x53C
_TXD_PTR, _TXD_MAXCNT, _TXD_AMOUNT = 0x544, 0x548, 0x54C
_ADDRESS_NACK = 1 << 1
_BITS = 9  # per byte: eight data bits and ACK


class Twim(Nordic):
    """An I2C master; ``answers`` are the bytes that each device address returns to reads, in order.

    Other addresses do not acknowledge (NACK). Written bytes are acknowledged and discarded.
    """

    TASKS: ClassVar[dict[str, int]] = {
        "STARTRX": 0x000,
        "STARTTX": 0x008,
        "STOP": 0x014,
        "SUSPEND": 0x01C,
        "RESUME": 0x020,
    }
    EVENTS: ClassVar[dict[str, int]] = {
        "STOPPED": 0x104,
        "ERROR": 0x124,
        "SUSPENDED": 0x148,
        "RXSTARTED": 0x14C,
        "TXSTARTED": 0x150,
        "LASTRX": 0x15C,
        "LASTTX": 0x160,
    }
    STARTED_BY: ClassVar[dict[str, tuple[str, ...]]] = dict.fromkeys(
        ("STOPPED", "ERROR", "SUSPENDED", "LASTRX", "LASTTX", "RXSTARTED", "TXSTARTED"),
        ("STARTRX", "STARTTX"),
    )
    SHORTS: ClassVar[dict[int, tuple[str, str]]] = {
        7: ("LASTTX", "STARTRX"),
        8: ("LASTTX", "SUSPEND"),
        9: ("LASTTX", "STOP"),
        10: ("LASTRX", "STARTTX"),
        12: ("LASTRX", "STOP"),
    }
    REGISTERS: ClassVar[tuple[Register, ...]] = (
        Register(_ERRORSRC, "ERRORSRC"),
        Register(_ENABLE, "ENABLE"),
        Register(0x508, "PSEL_SCL", 0xFFFF_FFFF),
        Register(0x50C, "PSEL_SDA", 0xFFFF_FFFF),
        Register(_FREQUENCY, "FREQUENCY", 0x0400_0000),
        Register(_RXD_PTR, "RXD_PTR"),
        Register(_RXD_MAXCNT, "RXD_MAXCNT"),
        Register(_RXD_AMOUNT, "RXD_AMOUNT", access="r"),
        Register(0x540, "RXD_LIST"),
        Register(_TXD_PTR, "TXD_PTR"),
        Register(_TXD_MAXCNT, "TXD_MAXCNT"),
        Register(_TXD_AMOUNT, "TXD_AMOUNT", access="r"),
        Register(0x550, "TXD_LIST"),
        Register(_ADDRESS, "ADDRESS"),
    )
    STATE: ClassVar[tuple[str, ...]] = ("used", "direction", "next_task", "pointer", "length")

    def __init__(self, chip: Chip, block: Peripheral, answers: Mapping[int, bytes]) -> None:
        self.answers = answers
        self.used = dict.fromkeys(answers, 0)  # bytes returned so far; not cleared by a reset
        super().__init__(chip, block)

    def reset(self) -> None:
        super().reset()
        self.direction = ""  # of the current transfer: "RX", "TX", or "" for none
        self.next_task = ""  # the task to execute at its end
        self.pointer = self.length = 0

    def write_errorsrc(self, value: int) -> None:
        """Clears the bits that are written as ones."""
        self.regs[_ERRORSRC] &= ~value

    def _ticks(self, bits: int) -> int:
        clocks = self.chip.memory_map
        hertz = max(1, self.regs[_FREQUENCY] * clocks.timer_hz >> 32)
        return bits * clocks.cpu_hz // hertz

    def _after(self, tag: str, bits: int) -> None:
        self.chip.schedule(self.name, tag, self.chip.now + self._ticks(bits))

    # tasks

    def task_startrx(self) -> None:
        self._start("RX", _RXD_PTR, _RXD_MAXCNT)

    def task_starttx(self) -> None:
        self._start("TX", _TXD_PTR, _TXD_MAXCNT)

    def _start(self, direction: str, pointer: int, count: int) -> None:
        if self.direction:
            self.next_task = f"START{direction}"
            return
        if self.regs[_ENABLE] != ENABLED:
            subject = f"{self.name}.TASKS_START{direction}"
            why = f"ENABLE is {self.regs[_ENABLE]}: nothing is transferred"
            self.chip.report(Kind.UNMODELLED_TASK, subject, f"{subject}: {why}")
            return
        self.direction, self.next_task = direction, ""
        most = (1 << self.chip.memory_map.easydma_bits) - 1
        self.pointer, self.length = self.regs[pointer], self.regs[count] & most
        if self.regs[_ADDRESS] & 0x7F not in self.answers:
            self._after("refused", _BITS)
            return
        self.event(f"{direction}STARTED")
        self._after("last", _BITS * max(self.length, 1))  # address and all bytes except the last

    def task_stop(self) -> None:
        if self.direction:
            self.next_task = "STOP"
        else:
            self._after("stopped", 1)

    def task_suspend(self) -> None:
        if self.direction:
            self.next_task = "SUSPEND"
        else:
            self.event("SUSPENDED")

    def task_resume(self) -> None:
        """No effect: a transfer suspended between buffers continues with the next START."""

    # the bus

    def fire(self, tag: str) -> None:
        match tag:
            case "refused":
                self.direction = ""
                self.regs[_ERRORSRC] |= _ADDRESS_NACK
                self.event("ERROR")
                self._follow()
            case "last":
                self.event(f"LAST{self.direction}")
                self._after("end", _BITS if self.length else 0)
            case "end":
                self._end()
            case "stopped":
                self.event("STOPPED")

    def _end(self) -> None:
        address, direction = self.regs[_ADDRESS] & 0x7F, self.direction
        self.direction = ""
        if direction == "TX":
            if self.length and not self.chip.can_reach(
                self.name, "read", self.pointer, self.length
            ):
                return
            self.regs[_TXD_AMOUNT] = self.length
        else:
            data = self._answer(address)
            if data is None:
                return
            self.chip.dma_write(self.name, self.pointer, data)
            self.regs[_RXD_AMOUNT] = self.length
        self._follow()

    def _answer(self, address: int) -> bytes | None:
        known, used = self.answers[address], self.used[address]
        if used + self.length > len(known):
            where = f"{self.name}.0x{address:02x}"
            message = f"the feed of {where} has {len(known)} values, and more were asked for"
            self.chip.report(Kind.FEED_EXHAUSTED, where, message)
            return None
        self.used[address] = used + self.length
        return known[used : used + self.length]

    def _follow(self) -> None:
        task, self.next_task = self.next_task, ""
        if task:
            self.execute(self.TASKS[task])
