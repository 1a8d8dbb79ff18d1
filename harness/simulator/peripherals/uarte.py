"""UARTE0 to UARTE3: serial ports with EasyDMA (nRF9160 PS, "UARTE").

Sending takes no virtual time unless it is paced; the bytes are in the console as
soon as they are sent. Received bytes arrive at the programmed baud rate. They wait outside until
there is a buffer for them, so that no overrun loses bytes of the host. Firmware that uses RXDRDY
gets one event per byte; for other firmware, which waits for ENDRX, the whole buffer is filled when
its last byte has arrived.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from harness.base.platforms import Peripheral
from harness.simulator.peripherals.base import (
    ENABLE_BIT,
    INTEN,
    PUBLISH,
    SEND,
    Chip,
    Nordic,
    Register,
)

ENABLED = 8
_RXDRDY, _RXDRDY_BIT = 0x108, 1 << 2
RXD_PTR, RXD_MAXCNT, RXD_AMOUNT = 0x534, 0x538, 0x53C
TXD_PTR, TXD_MAXCNT, TXD_AMOUNT = 0x544, 0x548, 0x54C


class Uarte(Nordic):
    """One serial port; ``sink`` gets the sent bytes."""

    TASKS: ClassVar[dict[str, int]] = {
        "STARTRX": 0x000,
        "STOPRX": 0x004,
        "STARTTX": 0x008,
        "STOPTX": 0x00C,
        "FLUSHRX": 0x02C,
    }
    EVENTS: ClassVar[dict[str, int]] = {
        "CTS": 0x100,
        "NCTS": 0x104,
        "RXDRDY": 0x108,
        "ENDRX": 0x110,
        "TXDRDY": 0x11C,
        "ENDTX": 0x120,
        "ERROR": 0x124,
        "RXTO": 0x144,
        "RXSTARTED": 0x14C,
        "TXSTARTED": 0x150,
        "TXSTOPPED": 0x158,
    }
    SHORTS: ClassVar[dict[int, tuple[str, str]]] = {
        5: ("ENDRX", "STARTRX"),
        6: ("ENDRX", "STOPRX"),
    }
    REGISTERS: ClassVar[tuple[Register, ...]] = (
        Register(0x480, "ERRORSRC", access="r"),  # never set: there are no line errors
        Register(0x500, "ENABLE"),
        Register(0x508, "PSEL_RTS", 0xFFFF_FFFF),
        Register(0x50C, "PSEL_TXD", 0xFFFF_FFFF),
        Register(0x510, "PSEL_CTS", 0xFFFF_FFFF),
        Register(0x514, "PSEL_RXD", 0xFFFF_FFFF),
        Register(0x524, "BAUDRATE", 0x0400_0000),
        # Not in the PS; nrfx reads whether either direction was left on before ENABLE.
        Register(0x564, "RXENABLED", access="r"),
        Register(0x568, "TXENABLED", access="r"),
        Register(RXD_PTR, "RXD_PTR"),
        Register(RXD_MAXCNT, "RXD_MAXCNT"),
        Register(RXD_AMOUNT, "RXD_AMOUNT", access="r"),
        Register(TXD_PTR, "TXD_PTR"),
        Register(TXD_MAXCNT, "TXD_MAXCNT"),
        Register(TXD_AMOUNT, "TXD_AMOUNT", access="r"),
        Register(0x56C, "CONFIG"),
    )
    STATE: ClassVar[tuple[str, ...]] = (
        "incoming",
        "receiving",
        "pointer",
        "room",
        "received",
        "sending",
        "due",
        "since",
    )

    def __init__(self, chip: Chip, block: Peripheral) -> None:
        self.sink: Callable[[bytes], None] = _discard
        self.paced = False
        self.incoming = bytearray()  # sent by the host, not yet on the wire
        super().__init__(chip, block)

    def reset(self) -> None:
        super().reset()
        self.receiving = False
        self.due = 0  # bytes that are on their way and arrive together
        self.since = 0  # the tick at which the first of them began
        self.pointer = self.room = self.received = 0
        self.sending = 0

    def note_channel(self, channel: int) -> None:
        """No other device listens to ``channel``: note in the core if it triggers STOPTX alone."""
        if self.subscriptions[channel] == [self.TASKS["STOPTX"]]:
            self.regs.stops_itself |= 1 << channel

    def _ticks_per_byte(self) -> int:
        clocks = self.chip.memory_map
        baud = max(1, self.regs[0x524] * clocks.timer_hz >> 32)
        bits = 10 + (self.regs[0x56C] >> 1 & 7 == 7) + (self.regs[0x56C] >> 4 & 1)
        return clocks.cpu_hz * bits // baud

    # sending

    def attend(self, sink: Callable[[bytes], None], *, paced: bool) -> None:
        """Give ``sink`` the sent bytes, except those that the core collects (native/uarte.c)."""
        self.sink, self.paced = sink, paced
        if not paced:
            self.regs.serve(self.TASKS["STARTTX"], SEND)

    def task_starttx(self) -> None:
        if self.regs[0x500] != ENABLED:
            return
        size = self.regs[TXD_MAXCNT] & 0x1FFF
        data = self.chip.dma_read(self.name, self.regs[TXD_PTR], size)
        self.event("TXSTARTED")
        self.sending = size
        if self.paced:
            self.chip.schedule(self.name, "tx", self.chip.now + size * self._ticks_per_byte())
        if data:
            self.sink(data)
        if not self.paced:
            self._sent()

    def _sent(self) -> None:
        self.regs[TXD_AMOUNT] = self.sending
        if self.sending:
            self.event("TXDRDY")
        self.sending = 0
        self.event("ENDTX")

    def task_stoptx(self) -> None:
        self.chip.cancel(self.name, "tx")
        self.event("TXSTOPPED")

    # receiving

    def feed(self, data: bytes) -> None:
        """Bytes from the host; they arrive when the receiver is ready."""
        self.incoming += data
        self._expect()

    def task_startrx(self) -> None:
        if self.regs[0x500] != ENABLED:
            return
        self._arrive()
        self.receiving = True
        self.pointer = self.regs[RXD_PTR]
        self.room = self.regs[RXD_MAXCNT] & 0x1FFF
        self.received = 0
        self.event("RXSTARTED")
        if self.due and self.room:
            self._plan()
        self._expect()

    def _expect(self) -> None:
        if self.receiving and self.room and self.incoming and not self.due:
            self.since = self.chip.now
            self._plan()

    def _plan(self) -> None:
        """Choose how many bytes arrive together, the first of which began at ``since``."""
        singly = self.regs[INTEN] & _RXDRDY_BIT or self.regs[_RXDRDY + PUBLISH] & ENABLE_BIT
        self.due = 1 if singly else min(self.room, len(self.incoming))
        self.chip.schedule(self.name, "rx", self.since + self.due * self._ticks_per_byte())

    def _arrive(self) -> None:
        """Store the bytes that have arrived by now."""
        ticks = self._ticks_per_byte()
        count = min(self.due, (self.chip.now - self.since) // ticks)
        if not count:
            return
        self.due -= count
        self.since += count * ticks
        self.chip.dma_write(self.name, self.pointer, bytes(self.incoming[:count]))
        del self.incoming[:count]
        self.pointer += count
        self.room -= count
        self.received += count
        self.event("RXDRDY")

    def _replan(self) -> None:
        self._arrive()
        if self.due:
            self._plan()

    def read_events_rxdrdy(self) -> int:
        self._arrive()
        return self.regs[_RXDRDY]

    def write_events_rxdrdy(self, value: int) -> None:
        self._arrive()
        self.write_event(_RXDRDY, value)

    def _write_inten(self, value: int) -> None:
        super()._write_inten(value)
        self._replan()

    def write_publish_rxdrdy(self, value: int) -> None:
        self.regs[_RXDRDY + PUBLISH] = value
        self._replan()

    def task_stoprx(self) -> None:
        self._arrive()
        self.chip.cancel(self.name, "rx")
        self.due = 0
        open_buffer = self.receiving and self.room
        self.receiving = False
        if open_buffer:
            self._end_rx()
        self.event("RXTO")

    def task_flushrx(self) -> None:
        """The model keeps nothing in the FIFO: an empty flush ends at once."""
        self.regs[RXD_AMOUNT] = 0
        self.event("ENDRX")

    def _end_rx(self) -> None:
        self.regs[RXD_AMOUNT] = self.received
        self.room = 0
        self.event("ENDRX")

    def fire(self, tag: str) -> None:
        if tag == "tx":
            self._sent()
            return
        self._arrive()
        if not self.room:
            self._end_rx()
        self._expect()


def _discard(_data: bytes) -> None:
    """Nobody listens to this port."""
