"""A UARTE's receiver, register by register, on a chip that keeps real time and memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from bare_chip import CODE, BareChip, Peripheral

from harness.base import native
from harness.base.platforms import chip_table
from harness.simulator.event_queue import EventQueue
from harness.simulator.peripherals.base import INTENSET
from harness.simulator.peripherals.uarte import Uarte

if TYPE_CHECKING:
    from harness.simulator._native import Registers

STARTRX, STOPRX, RXDRDY, ENDRX, RXTO = 0x000, 0x004, 0x108, 0x110, 0x144
ENABLE, PTR, MAXCNT, AMOUNT = 0x500, 0x534, 0x538, 0x53C
INT_RXDRDY, INT_ENDRX = 1 << 2, 1 << 4
BUFFER = 0x2000_1000


class Chip:
    """Time, RAM and interrupt edges; nothing else of a chip."""

    def __init__(self) -> None:
        self.memory_map = chip_table()
        self.now = self.nested = 0
        self.devices: dict[str, Uarte] = {}
        self.events = EventQueue(self.devices)
        self.ram = bytearray(0x4000)
        self.edges: list[int] = []
        self.reported: list[tuple[str, str]] = []

    def register_file(self, size: int) -> Registers:
        made: Registers = native.load().Registers(size)
        return made

    def schedule(self, device: str, tag: str, time: int) -> None:
        self.events.schedule((device, tag), time)

    def cancel(self, device: str, tag: str) -> None:
        self.events.cancel((device, tag))

    def line(self, _irq: int, level: bool) -> None:
        if level:
            self.edges.append(self.now)

    def rewired(self) -> None:
        pass

    def publish(self, channel: int, _publisher: object) -> None:
        raise AssertionError(f"published on channel {channel}")

    def can_reach(self, _device: str, _access: str, address: int, size: int) -> bool:
        return 0x2000_0000 <= address <= 0x2000_4000 - size

    def dma_write(self, _device: str, address: int, data: bytes) -> None:
        offset = address - 0x2000_0000
        self.ram[offset : offset + len(data)] = data

    def report(self, kind: str, _subject: str, message: str) -> None:
        self.reported.append((kind, message))

    def until(self, tick: int) -> None:
        while self.events.next_time <= tick:
            self.now = self.events.next_time
            self.events.run_due(self.now)
        self.now = tick

    def received(self, size: int) -> bytes:
        return bytes(self.ram[0x1000 : 0x1000 + size])


class Port:
    """A receiver that is on, with a buffer."""

    def __init__(self, room: int, interrupts: int = 0) -> None:
        self.chip = Chip()
        block = next(b for b in self.chip.memory_map.blocks if b.name == "UARTE0")
        self.uarte = Uarte(self.chip, block)  # type: ignore[arg-type]
        self.chip.devices["UARTE0"] = self.uarte
        self.uarte.write(ENABLE, 8)
        self.uarte.write(INTENSET, interrupts)
        self.uarte.write(PTR, BUFFER)
        self.uarte.write(MAXCNT, room)
        self.uarte.write(STARTRX, 1)
        self.byte = self.uarte.ticks_per_byte


def test_a_full_buffer_ends_when_its_last_byte_has_arrived() -> None:
    port = Port(4, INT_ENDRX)
    port.uarte.feed(b"abcdef")
    port.chip.until(4 * port.byte - 1)
    assert port.uarte.read(ENDRX) == 0
    port.chip.until(4 * port.byte)
    assert (port.uarte.read(ENDRX), port.uarte.read(AMOUNT)) == (1, 4)
    assert port.chip.received(6) == b"abcd\0\0"
    assert port.chip.edges == [4 * port.byte]


def test_bytes_beyond_a_full_buffer_wait_for_the_next() -> None:
    port = Port(4)
    port.uarte.feed(b"abcdef")
    port.chip.until(100 * port.byte)
    port.uarte.write(STARTRX, 1)
    port.chip.until(102 * port.byte)
    assert port.chip.received(2) == b"ef"
    assert port.uarte.read(RXDRDY) == 1


@pytest.mark.parametrize(
    ("begun", "waits", "kind"),
    [(False, 6, ""), (False, 7, "input_waited"), (True, 6, ""), (True, 7, "uart_misused")],
)
def test_bytes_that_waited_longer_than_the_fifo_keeps_them_are_reported(
    begun: bool, waits: int, kind: str
) -> None:
    port = Port(1 if begun else 0)
    port.uarte.feed(bytes(20))
    port.chip.until((begun + waits) * port.byte)
    port.uarte.write(MAXCNT, 20)
    port.uarte.write(STARTRX, 1)
    assert [told for told, _ in port.chip.reported] == ([kind] if kind else [])


def test_the_report_has_the_bytes_and_the_time() -> None:
    port = Port(0)
    port.uarte.feed(bytes(20))
    port.chip.until(12 * port.byte)
    port.uarte.write(MAXCNT, 20)
    port.uarte.write(STARTRX, 1)
    text = "UARTE0: 12 bytes waited 0.5 ms for STARTRX: the chip may lose all but 6, its FIFO"
    assert port.chip.reported == [("input_waited", text)]


def test_a_transmission_no_longer_than_the_fifo_may_wait() -> None:
    port = Port(0)
    port.uarte.feed(bytes(6))
    port.chip.until(1000 * port.byte)
    port.uarte.write(MAXCNT, 20)
    port.uarte.write(STARTRX, 1)
    assert port.chip.reported == []


def test_rxdrdy_interrupts_once_a_byte() -> None:
    port = Port(4, INT_RXDRDY)
    port.uarte.feed(b"abc")
    for count in (1, 2, 3):
        port.chip.until(count * port.byte)
        assert port.chip.received(4) == b"abc"[:count].ljust(4, b"\0")
        port.uarte.write(RXDRDY, 0)
    assert port.chip.edges == [port.byte, 2 * port.byte, 3 * port.byte]


def test_polling_rxdrdy_sees_each_byte_when_it_has_arrived() -> None:
    port = Port(4)
    port.uarte.feed(b"abc")
    port.chip.until(port.byte - 1)
    assert port.uarte.read(RXDRDY) == 0
    port.chip.until(port.byte + 1)
    assert port.uarte.read(RXDRDY) == 1
    assert port.chip.received(2) == b"a\0"
    port.uarte.write(RXDRDY, 0)
    port.chip.until(2 * port.byte)
    assert port.uarte.read(RXDRDY) == 1
    assert port.chip.received(3) == b"ab\0"


def test_enabling_rxdrdy_during_a_transfer_keeps_the_timing() -> None:
    port = Port(4)
    port.uarte.feed(b"abcd")
    port.chip.until(port.byte + port.byte // 2)
    port.uarte.write(RXDRDY, 0)
    port.uarte.write(INTENSET, INT_RXDRDY)
    port.chip.until(2 * port.byte)
    assert port.chip.edges == [2 * port.byte]
    assert port.chip.received(3) == b"ab\0"


@pytest.mark.parametrize("whole", [0, 1, 3])
def test_stoprx_keeps_received_bytes_and_their_count(whole: int) -> None:
    port = Port(8)
    port.uarte.feed(b"abcdef")
    port.chip.until(whole * port.byte + 5)
    port.uarte.write(STOPRX, 1)
    assert (port.uarte.read(ENDRX), port.uarte.read(RXTO)) == (1, 1)
    assert port.uarte.read(AMOUNT) == whole
    assert port.chip.received(6) == b"abcdef"[:whole].ljust(6, b"\0")
    port.uarte.write(STARTRX, 1)
    port.chip.until(port.chip.now + 8 * port.byte)
    assert port.chip.received(6 - whole) == b"abcdef"[whole:]


def test_a_byte_on_its_way_waits_when_the_receiver_is_restarted_without_a_buffer() -> None:
    port = Port(4)
    port.uarte.feed(b"abc")
    port.uarte.write(MAXCNT, 0)
    port.uarte.write(STARTRX, 1)
    port.chip.until(10 * port.byte)
    assert (port.chip.received(3), port.uarte.room) == (bytes(3), 0)
    port.uarte.write(MAXCNT, 3)
    port.uarte.write(STARTRX, 1)
    port.chip.until(13 * port.byte)
    assert port.chip.received(3) == b"abc"


def test_bytes_fed_while_others_are_on_their_way_follow_them_at_once() -> None:
    port = Port(4)
    port.uarte.feed(b"ab")
    port.chip.until(port.byte)
    port.uarte.feed(b"cd")
    port.chip.until(4 * port.byte)
    assert port.uarte.read(ENDRX) == 1
    assert port.chip.received(4) == b"abcd"


# on a whole chip


def test_code_in_ram_that_is_received_over_runs_as_it_was_received(chip: BareChip) -> None:
    """Within one run, as where a loader in RAM replaces itself."""
    again = 0xE7FD  # b, to the instruction before
    code = (0x3201, again)  # adds r2, #1
    uarte = Peripheral(chip, 0x5000_8000)
    uarte[0x514], uarte[0x524], uarte[ENABLE] = 28, 0x01D6_0000, 8  # PSEL.RXD, BAUDRATE
    uarte[PTR], uarte[MAXCNT] = CODE, 2
    uarte[STARTRX] = 1
    chip.machine.feed(bytes((0x01, 0x33)))  # adds r3, #1
    chip.play(*code, steps=20_000, r2=0, r3=0)
    registers = chip.machine.registers
    assert registers["r2"] > 0
    assert registers["r3"] > 0
