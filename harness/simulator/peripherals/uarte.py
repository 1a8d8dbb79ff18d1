"""UARTE0 to UARTE3: serial ports with EasyDMA (nRF9160 PS, "UARTE").

Bytes are sent at the programmed baud rate, and each is read from memory when it is sent; this is
part of the counting core (native/uarte.c). The board's console is wired to one UARTE: bytes on
another pin, at another rate or in another frame format are lost, with a finding that gives the
reason.

Bytes are received at the programmed baud rate, too. The host holds them back until there is a
buffer, so that no overrun loses them; a finding tells what the chip would lose. Firmware that uses
RXDRDY gets one event per byte; for other firmware, which waits for ENDRX, the buffer is filled when
its first and when its last byte arrive.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from harness.base.findings import Kind
from harness.base.platforms import ConsoleWiring, Peripheral
from harness.simulator.peripherals.base import (
    ENABLE_BIT,
    INTEN,
    PUBLISH,
    SEND,
    Chip,
    Nordic,
    Register,
    State,
)

ENABLED = 8
ENABLE, PSEL_TXD, PSEL_RXD, BAUDRATE, CONFIG = 0x500, 0x50C, 0x514, 0x524, 0x56C
PSEL_RTS, PSEL_CTS = 0x508, 0x510
_DISCONNECTED, _PIN_MASK = 1 << 31, 0x1F  # of a PSEL register
#: CONFIG: hardware flow control, parity (3 bits), two stop bits.
_HWFC, _PARITY, _STOP = 1 << 0, 0b111 << 1, 1 << 4
#: Tolerated deviation of the baud rate. A receiver samples the middle of each bit, synchronized by
#: the start bit, and fails if the last of ten bits is shifted by half a bit: 5 %, less the sampling
#: error. 3 % is a common tolerance (from memory; neither the PS nor the interface MCU's guide gives
#: one).
_TOLERANCE = 0.03
_MAX_BYTES = 0x1FFF
#: Bytes that the receiver keeps while it has no buffer (nRF52840 PS, "UART"; four are certain).
_FIFO = 6
_RXDRDY, _RXDRDY_BIT = 0x108, 1 << 2
_RECEIVES = _RXDRDY_BIT | 1 << 4  # of INTEN: RXDRDY, ENDRX
RXD_PTR, RXD_MAXCNT, RXD_AMOUNT = 0x534, 0x538, 0x53C
TXD_PTR, TXD_MAXCNT, TXD_AMOUNT = 0x544, 0x548, 0x54C


class Uarte(Nordic):
    """A serial port; ``sink`` gets the sent bytes, ``wiring`` is that of a board's console."""

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
    STARTED_BY: ClassVar[dict[str, tuple[str, ...]]] = dict.fromkeys(
        ("RXDRDY", "ENDRX", "RXSTARTED"), ("STARTRX",)
    )
    SHORTS: ClassVar[dict[int, tuple[str, str]]] = {
        5: ("ENDRX", "STARTRX"),
        6: ("ENDRX", "STOPRX"),
    }
    REGISTERS: ClassVar[tuple[Register, ...]] = (
        Register(0x480, "ERRORSRC", access="r"),  # never set: there are no line errors
        Register(ENABLE, "ENABLE"),
        Register(PSEL_RTS, "PSEL_RTS", 0xFFFF_FFFF),
        Register(PSEL_TXD, "PSEL_TXD", 0xFFFF_FFFF),
        Register(PSEL_CTS, "PSEL_CTS", 0xFFFF_FFFF),
        Register(PSEL_RXD, "PSEL_RXD", 0xFFFF_FFFF),
        Register(BAUDRATE, "BAUDRATE", 0x0400_0000),
        # Not in the PS; nrfx reads them before ENABLE, to find a direction that was left enabled.
        Register(0x564, "RXENABLED", access="r"),
        Register(0x568, "TXENABLED", access="r"),
        Register(RXD_PTR, "RXD_PTR"),
        Register(RXD_MAXCNT, "RXD_MAXCNT"),
        Register(RXD_AMOUNT, "RXD_AMOUNT", access="r"),
        Register(TXD_PTR, "TXD_PTR"),
        Register(TXD_MAXCNT, "TXD_MAXCNT"),
        Register(TXD_AMOUNT, "TXD_AMOUNT", access="r"),
        Register(CONFIG, "CONFIG"),
    )
    STATE: ClassVar[tuple[str, ...]] = (
        "incoming",
        "receiving",
        "pointer",
        "room",
        "received",
        "transfer",
        "due",
        "since",
        "waits_since",
        "begun",
    )

    def __init__(self, chip: Chip, block: Peripheral) -> None:
        self.sink: Callable[[bytes], None] = _discard
        self.wiring: ConsoleWiring | None = None
        self.incoming = bytearray()  # bytes from the host that have not yet arrived
        super().__init__(chip, block)

    def reset(self) -> None:
        if self.regs.transfer:
            self.regs.stop_sending(True)
            self._deliver()  # with the wiring before the reset
        super().reset()
        self.receiving = False
        self.due = 0  # number of bytes that arrive together next
        self.since = 0  # tick of the start bit of the first of them
        self.waits_since = self.chip.now  # tick since which the next byte could have been sent
        self.begun = False  # part of what the host sends has been received
        self.pointer = self.room = self.received = 0  # address, free and filled bytes of the buffer
        self._rewire()

    def restore(self, state: State) -> None:
        super().restore(state)
        self._rewire()

    def note_channel(self, channel: int) -> None:
        """Lets the core handle ``channel``, to which only this UARTE subscribes, if for STOPTX."""
        if self.subscriptions[channel] == [self.TASKS["STOPTX"]]:
            self.regs.stops_itself |= 1 << channel

    @property
    def baud(self) -> int:
        """Bits per second (nRF9160 PS, "BAUDRATE")."""
        return max(1, self.regs[BAUDRATE] * self.chip.memory_map.timer_hz >> 32)

    @property
    def ticks_per_byte(self) -> int:
        """Ticks that a byte takes on the wire."""
        config = self.regs[CONFIG]
        bits = 10 + (config & _PARITY == _PARITY) + bool(config & _STOP)
        return self.chip.memory_map.cpu_hz * bits // self.baud

    # wiring

    def connect_sink(
        self, sink: Callable[[bytes], None], wiring: ConsoleWiring | None = None
    ) -> None:
        """Calls ``sink`` with sent bytes: all, or those that a console with ``wiring`` receives.

        The counting core collects the bytes of the console.
        """
        self.sink, self.wiring = sink, wiring
        self.regs.serve(self.TASKS["STARTTX"], SEND)
        self._rewire()

    def _write_wiring(self, offset: int, value: int) -> None:
        if self.regs.sending:
            self._deliver()  # the bytes sent before the change
        self.regs[offset] = value
        self._rewire()

    def write_enable(self, value: int) -> None:
        if value != ENABLED:
            if self.regs.sending:
                self._abort_sending(f"ENABLE = {value}")
            self._stop_receiving()
        self._write_wiring(ENABLE, value)

    def write_psel_txd(self, value: int) -> None:
        self._write_wiring(PSEL_TXD, value)

    def write_baudrate(self, value: int) -> None:
        self._write_wiring(BAUDRATE, value)

    def write_psel_cts(self, value: int) -> None:
        self._write_wiring(PSEL_CTS, value)

    def write_config(self, value: int) -> None:
        self._write_wiring(CONFIG, value)

    def _rewire(self) -> None:
        """Sets in the core the duration of a byte, and whether the console receives it."""
        ready = self.regs[ENABLE] == ENABLED and not self._blocked()
        received = self.wiring is not None and not self._mismatch("TXD", PSEL_TXD)
        self.regs.set_sender(received, self.ticks_per_byte if ready else 0)

    def _blocked(self) -> str:
        """The reason why the enabled UARTE sends no byte, "" if it sends."""
        wiring, config, chosen = self.wiring, self.regs[CONFIG], self.regs[PSEL_CTS]
        if wiring is None or not config & _HWFC or chosen & _DISCONNECTED:
            return ""
        if wiring.flow_control and chosen & _PIN_MASK == wiring.pins.cts:
            return ""
        return (
            f"CONFIG is 0x{config:02x} (hardware flow control) and PSEL.CTS 0x{chosen:08x} "
            f"({_pin(chosen)}), which {wiring.board} does not drive: no byte is ever sent"
        )

    def _mismatch(self, line: str, select: int) -> str:
        """The difference between the console's wiring and the settings of "TXD" or "RXD", or ""."""
        wiring = self.wiring
        assert wiring is not None
        pin = wiring.pins.txd if line == "TXD" else wiring.pins.rxd
        chosen, config, listens = self.regs[select], self.regs[CONFIG], f"{wiring.board} listens"
        if line == "RXD":
            listens = f"{wiring.board} sends"
        if chosen & _DISCONNECTED or chosen & _PIN_MASK != pin:
            where = f"on P0.{pin:02}" if pin is not None else "nowhere"
            return f"PSEL.{line} is 0x{chosen:08x} ({_pin(chosen)}); {listens} {where}"
        if abs(self.baud / wiring.baud - 1) > _TOLERANCE:
            value = self.regs[BAUDRATE]
            return f"BAUDRATE is 0x{value:08x} ({self.baud} baud); {listens} at {wiring.baud} baud"
        for bits, wanted, has, lacks in (
            (_PARITY, wiring.parity, "a parity bit", "no parity bit"),
            (_STOP, wiring.stop_bits == 2, "two stop bits", "one stop bit"),
        ):
            set_up = config & bits == bits
            if set_up != wanted:
                here, there = (has, lacks) if set_up else (lacks, has)
                return f"CONFIG is 0x{config:02x} ({here}); {listens} with {there}"
        return ""

    # sending

    @property
    def transfer(self) -> bytes:
        """The state of the current transfer, for a snapshot."""
        return self.regs.transfer

    @transfer.setter
    def transfer(self, state: bytes) -> None:
        self.regs.transfer = state

    def task_starttx(self) -> None:
        if self.regs[ENABLE] != ENABLED:
            self._misused("STARTTX", f"ENABLE is {self.regs[ENABLE]}: nothing is sent")
            return
        if self.regs.sending:
            self._abort_sending("STARTTX")
        self.event("TXSTARTED")
        size = self._size_of("TXD", TXD_MAXCNT)
        if held := self._blocked():
            self.chip.report(Kind.CONSOLE_UNHEARD, f"{self.name}.CONFIG", f"{self.name}: {held}")
        elif size and self.chip.can_reach(self.name, "read", self.regs[TXD_PTR], size):
            self.chip.send(self.regs)
        else:
            self.regs[TXD_AMOUNT] = 0
            self.event("ENDTX")

    def _size_of(self, line: str, register: int) -> int:
        """The size of a transfer in bytes, limited by MAXCNT's width (PS, "TXD.MAXCNT").

        The counting core supports at most :data:`_MAX_BYTES`.
        """
        count, bits = self.regs[register], self.chip.memory_map.easydma_bits
        size = count & (1 << bits) - 1
        if size != count:
            self._misused(f"{line}.MAXCNT", f"0x{count:x} has more than {bits} bits: {size} bytes")
        if size > _MAX_BYTES:
            subject = f"{self.name}.{line}.MAXCNT"
            message = f"{subject}: transfers of more than {_MAX_BYTES} bytes are not modelled"
            self.chip.report(Kind.UNMODELLED_TASK, subject, message)
            size = _MAX_BYTES
        return size

    def _abort_sending(self, by: str) -> None:
        """Aborts the current transfer, and reports the task that caused it."""
        sent, size = self.regs.sent, self.regs.to_send
        self.regs.stop_sending(True)
        self._deliver()
        self._misused(by, f"during a transfer; {sent} of {size} bytes were sent")

    def _misused(self, by: str, how: str) -> None:
        self.chip.report(Kind.UART_MISUSED, f"{self.name}.{by}", f"{self.name} {by}: {how}")

    def settle(self) -> None:
        """Delivers the bytes that the core has sent, and raises the events due."""
        regs, ended = self.regs, not self.regs.sending
        stopped, changed = regs.stopping, regs.changed
        if ended and regs.sent < regs.to_send:
            how = f"STOPTX ended a transfer; {regs.sent} of {regs.to_send} bytes were sent"
            self.chip.report(Kind.TRANSFER_STOPPED, self.name, f"{self.name}: {how}")
        self._deliver()
        self.event("TXDRDY")
        if not ended:
            return
        if changed < regs.to_send:
            self._misused("TXD.PTR", f"byte {changed} of the buffer changed before it was sent")
        self.event("ENDTX")
        if stopped:
            self.event("TXSTOPPED")

    def _deliver(self) -> None:
        data = self.regs.take_sent()
        if not data:
            return
        why = self._mismatch("TXD", PSEL_TXD) if self.wiring is not None else ""
        if why:
            self.chip.report(Kind.CONSOLE_UNHEARD, f"{self.name}.TXD", f"{self.name} {why}")
        else:
            self.sink(data)

    def task_stoptx(self) -> None:
        """Ends the transfer after the current byte, with ENDTX and TXSTOPPED."""
        if self.regs.sending:
            self.regs.stop_sending(False)
        else:
            self.event("TXSTOPPED")

    # receiving

    def feed(self, data: bytes) -> None:
        """Queues bytes from the host; they arrive when the receiver is ready."""
        if not self.incoming:
            self.waits_since, self.begun = self.chip.now, False
        self.incoming += data
        self._start_arrival()

    def task_startrx(self) -> None:
        if self.regs[ENABLE] != ENABLED:
            self._misused("STARTRX", f"ENABLE is {self.regs[ENABLE]}: nothing is received")
            return
        self._store_arrived()
        self.receiving = True
        self.pointer = self.regs[RXD_PTR]
        self.room = self._size_of("RXD", RXD_MAXCNT)
        self.received = 0
        if self.room:
            self.chip.can_reach(self.name, "write", self.pointer, self.room)
        self.event("RXSTARTED")
        if not self.room:
            self._cancel_arrival()
        elif self.due:
            self._schedule_arrival()
        self._start_arrival()

    def _start_arrival(self) -> None:
        if self.receiving and self.room and self.incoming and not self.due:
            if self.wiring is not None and (why := self._mismatch("RXD", PSEL_RXD)):
                self.chip.report(Kind.CONSOLE_UNHEARD, f"{self.name}.RXD", f"{self.name} {why}")
                return
            self._report_waiting()
            self.since = self.chip.now
            self._schedule_arrival()

    def listens(self) -> bool:
        return self.receiving and self.room > 0 and bool(self.regs[INTEN] & _RECEIVES)

    def _report_waiting(self) -> None:
        """Reports bytes that waited for a buffer longer than the receiver's FIFO keeps them.

        Where some of the same transmission had come, the chip loses the others. Where none had,
        it depends on when the host begins.
        """
        waited = self.chip.now - self.waits_since
        count = min(waited // self.ticks_per_byte, len(self.incoming))
        if count <= _FIFO or self._holds_host_back():
            return
        kind, loses = (
            (Kind.UART_MISUSED, "loses") if self.begun else (Kind.INPUT_WAITED, "may lose")
        )
        milliseconds = 1000 * waited / self.chip.memory_map.cpu_hz
        self.chip.report(
            kind,
            f"{self.name}.STARTRX",
            f"{self.name}: {count} bytes waited {milliseconds:.1f} ms for STARTRX: the chip {loses}"
            f" all but {_FIFO}, its FIFO",
        )

    def _holds_host_back(self) -> bool:
        """Whether RTS tells the host to wait."""
        wiring, chosen = self.wiring, self.regs[PSEL_RTS]
        if wiring is None or not wiring.flow_control or not self.regs[CONFIG] & _HWFC:
            return False
        return not chosen & _DISCONNECTED and chosen & _PIN_MASK == wiring.pins.rts

    def _schedule_arrival(self) -> None:
        """Schedules the arrival of one byte, or of a whole buffer if RXDRDY is not used.

        RXDRDY is used if its interrupt or PUBLISH is enabled, or firmware has cleared the event.
        """
        interrupts, published = self.regs[INTEN], self.regs[_RXDRDY + PUBLISH]
        singly = bool(interrupts & _RXDRDY_BIT or published & ENABLE_BIT or not self.regs[_RXDRDY])
        self.due = 1 if singly else min(self.room, len(self.incoming))
        self.chip.schedule(self.name, "rx", self.since + self.due * self.ticks_per_byte)

    def _cancel_arrival(self) -> None:
        self.chip.cancel(self.name, "rx")
        self.due = 0

    def _store_arrived(self) -> None:
        """Stores the bytes that have arrived by now."""
        ticks = self.ticks_per_byte
        count = min(self.due, (self.chip.now - self.since) // ticks)
        if not count:
            return
        self.due -= count
        self.since += count * ticks
        self.waits_since, self.begun = self.since, True
        self.chip.dma_write(self.name, self.pointer, bytes(self.incoming[:count]))
        del self.incoming[:count]
        self.pointer += count
        self.room -= count
        self.received += count
        self.event("RXDRDY")

    def _reschedule(self) -> None:
        self._store_arrived()
        if self.due:
            self._schedule_arrival()

    def write_events_rxdrdy(self, value: int) -> None:
        self._store_arrived()
        self.write_event(_RXDRDY, value)
        self._reschedule()

    def _write_inten(self, value: int) -> None:
        super()._write_inten(value)
        self._reschedule()

    def write_publish_rxdrdy(self, value: int) -> None:
        self.regs[_RXDRDY + PUBLISH] = value
        self._reschedule()

    def task_stoprx(self) -> None:
        if self._stop_receiving():
            self._end_rx()
        self.event("RXTO")

    def _stop_receiving(self) -> bool:
        """Stops the receiver; returns True if the buffer was not full."""
        self._store_arrived()
        self._cancel_arrival()
        open_buffer = self.receiving and self.room > 0
        self.receiving = False
        return open_buffer

    def task_flushrx(self) -> None:
        """Ends at once: the modelled FIFO is always empty."""
        self.regs[RXD_AMOUNT] = 0
        self.event("ENDRX")

    def _end_rx(self) -> None:
        self.regs[RXD_AMOUNT] = self.received
        self.room = 0
        self.event("ENDRX")

    def fire(self, tag: str) -> None:
        self._store_arrived()
        if not self.room:
            self._end_rx()
        self._start_arrival()


def _pin(chosen: int) -> str:
    """The pin selected by a PSEL register, such as "P0.29"."""
    return "disconnected" if chosen & _DISCONNECTED else f"P0.{chosen & _PIN_MASK:02}"


def _discard(_data: bytes) -> None:
    """Discards sent bytes: nothing is connected to this port."""
