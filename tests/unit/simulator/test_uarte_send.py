"""A UARTE's transmitter (nRF9160 PS, "UARTE"), and the receivers of its bytes."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from bare_chip import BareChip, Peripheral

from harness.elf import Image
from harness.simulator.machine import Machine

UARTE0, UARTE1 = 0x5000_8000, 0x5000_9000
STARTRX, STOPRX, STARTTX, STOPTX, FLUSHRX = 0x000, 0x004, 0x008, 0x00C, 0x02C
RXDRDY, ENDRX, TXDRDY, ENDTX, RXTO = 0x108, 0x110, 0x11C, 0x120, 0x144
RXSTARTED, TXSTARTED, TXSTOPPED = 0x14C, 0x150, 0x158
SHORTS, INTENSET, ENABLE, BAUDRATE, CONFIG = 0x200, 0x304, 0x500, 0x524, 0x56C
RXD_PTR, RXD_MAXCNT, RXD_AMOUNT, TXD_PTR, TXD_MAXCNT, TXD_AMOUNT = (
    0x534, 0x538, 0x53C, 0x544, 0x548, 0x54C,
)  # fmt: skip
BUFFER = 0x2000_1000
BAUD_115200, BAUD_1M, BAUD_9600 = 0x01D6_0000, 0x1000_0000, 0x0027_5000


class Port(Peripheral):
    """One UARTE that is on, with ten bytes to send."""

    def __init__(self, chip: BareChip, base: int = UARTE0) -> None:
        super().__init__(chip, base)
        chip.machine.write_memory(BUFFER, b"0123456789")
        self[ENABLE], self[BAUDRATE] = 8, BAUD_1M
        self[TXD_PTR], self[TXD_MAXCNT] = BUFFER, 10

    def events(self) -> list[int]:
        known = (RXDRDY, ENDRX, TXDRDY, ENDTX, RXTO, RXSTARTED, TXSTARTED, TXSTOPPED)
        return [event for event in known if self[event]]

    def console(self) -> bytes:
        return b"".join(chunk.data for chunk in self.chip.machine.console)


@pytest.fixture
def port(chip: BareChip) -> Port:
    return Port(chip)


@pytest.fixture
def paced(waiting: Image) -> Iterator[Port]:
    """Its transfers take the time of the baud rate."""
    chip = BareChip(waiting)
    chip.machine.close()
    chip.machine = Machine(waiting, paced=True)
    yield Port(chip)
    chip.machine.close()


def test_a_transfer_sends_the_buffer_and_its_amount(port: Port) -> None:
    port[STARTTX] = 1
    assert port.console() == b"0123456789"
    assert port.events() == [TXDRDY, ENDTX, TXSTARTED]
    assert port[TXD_AMOUNT] == 10


def test_console_output_is_time_stamped(port: Port) -> None:
    port.chip.wait(640_000 - port.chip.now)
    port[STARTTX] = 1
    assert [chunk.time for chunk in port.chip.machine.console] == [0.01]


def test_a_transfer_of_nothing_ends_at_once_without_a_byte(port: Port) -> None:
    port[TXD_MAXCNT] = 0
    port[STARTTX] = 1
    assert port.events() == [ENDTX, TXSTARTED]
    assert (port.console(), port[TXD_AMOUNT]) == (b"", 0)


@pytest.mark.slow
def test_a_count_has_13_bits(port: Port) -> None:
    port[TXD_MAXCNT] = 0x2000 | 3
    port[STARTTX] = 1
    assert (port.console(), port[TXD_AMOUNT]) == (b"012", 3)


@pytest.mark.parametrize("enable", [0, 1, 7])
def test_a_port_that_is_not_enabled_sends_nothing(port: Port, enable: int) -> None:
    """Other values of ENABLE are those of SPIM and TWIM, which share the block."""
    port[ENABLE] = enable
    port[STARTTX] = 1
    assert (port.console(), port.events()) == (b"", [])


@pytest.mark.slow
def test_stoptx_raises_txstopped(port: Port) -> None:
    port[STARTTX] = 1
    port[STOPTX] = 1
    assert TXSTOPPED in port.events()


@pytest.mark.slow
@pytest.mark.parametrize("place", [0x0000_0000, 0x2003_FFFC, 0x3000_0000])
def test_easydma_reads_data_ram_alone(port: Port, place: int) -> None:
    port[TXD_PTR] = place
    port[STARTTX] = 1
    assert port.console() == b""
    assert ENDTX in port.events()
    (finding,) = port.chip.machine.findings
    assert finding.subject == f"UARTE0 EasyDMA 0x{place:08x}"
    assert "was read outside data RAM" in finding.message


def test_output_of_other_ports_is_kept_by_name(chip: BareChip) -> None:
    port = Port(chip, UARTE1)
    port[STARTTX] = 1
    port[STARTTX] = 1
    assert chip.machine.sent == {"UARTE1": b"0123456789" * 2, "UARTE2": b"", "UARTE3": b""}
    assert port.console() == b""


def test_another_port_may_be_the_console(waiting: Image) -> None:
    chip = BareChip(waiting)
    chip.machine.close()
    chip.machine = Machine(waiting, console="UARTE1")
    port = Port(chip, UARTE1)
    port[STARTTX] = 1
    assert port.console() == b"0123456789"
    assert list(chip.machine.sent) == ["UARTE0", "UARTE2", "UARTE3"]
    chip.machine.close()


# the time that bytes take


@pytest.mark.slow
@pytest.mark.parametrize(
    ("baudrate", "config", "bit_ticks", "bits"),
    [
        (BAUD_1M, 0, 64, 10),
        (BAUD_1M, 0b0_0000, 64, 10),
        (BAUD_1M, 0b0_1110, 64, 11),  # even parity
        (BAUD_1M, 0b1_0000, 64, 11),  # two stop bits
        (BAUD_1M, 0b1_1110, 64, 12),
        (BAUD_1M, 0b0_0110, 64, 10),  # no parity unless all of its bits are set
        (0x0400_0000, 0, 256, 10),  # 250,000 baud, as after a reset
        (0x0800_0000, 0, 128, 10),
    ],
)
def test_a_paced_transfer_takes_its_bit_times(
    paced: Port, baudrate: int, config: int, bit_ticks: int, bits: int
) -> None:
    paced[BAUDRATE], paced[CONFIG] = baudrate, config
    paced[STARTTX] = 1
    assert paced.events() == [TXSTARTED]
    paced.chip.wait(10 * bits * bit_ticks - 1)
    assert paced.events() == [TXSTARTED]
    paced.chip.wait(1)
    assert paced.events() == [TXDRDY, ENDTX, TXSTARTED]
    assert paced[TXD_AMOUNT] == 10


def test_a_paced_transfer_that_is_stopped_does_not_end(paced: Port) -> None:
    paced[STARTTX] = 1
    paced.chip.wait(100)
    paced[STOPTX] = 1
    paced.chip.wait(100_000)
    assert paced.events() == [TXSTARTED, TXSTOPPED]


@pytest.mark.slow
@pytest.mark.parametrize(("baudrate", "baud"), [(BAUD_115200, 115_200), (BAUD_9600, 9_600)])
def test_a_received_byte_takes_ten_bits(port: Port, baudrate: int, baud: int) -> None:
    port[BAUDRATE] = baudrate
    port[RXD_PTR], port[RXD_MAXCNT] = BUFFER, 1
    port[STARTRX] = 1
    port.chip.machine.feed(b"x")
    exact = 64_000_000 * 10 / baud
    port.chip.wait(round(exact * 0.995))
    assert ENDRX not in port.events()
    port.chip.wait(round(exact * 0.01))
    assert ENDRX in port.events()


def test_without_a_baud_rate_nothing_arrives_for_a_long_time(port: Port) -> None:
    port[BAUDRATE] = 0
    port[RXD_PTR], port[RXD_MAXCNT] = BUFFER, 1
    port[STARTRX] = 1
    port.chip.machine.feed(b"x")
    port.chip.wait(64_000_000)
    assert ENDRX not in port.events()


# receiving, where whole chips are concerned


def receive(port: Port, room: int) -> None:
    port[RXD_PTR], port[RXD_MAXCNT] = BUFFER, room
    port[STARTRX] = 1


def byte_ticks(count: int) -> int:
    return count * 640


def test_a_receiver_that_is_not_enabled_keeps_bytes_waiting(port: Port) -> None:
    port[ENABLE] = 0
    receive(port, 4)
    port.chip.machine.feed(b"abcd")
    port.chip.wait(byte_ticks(10))
    assert port.events() == []
    port[ENABLE] = 8
    receive(port, 4)
    port.chip.wait(byte_ticks(4))
    assert port.events() == [RXDRDY, ENDRX, RXSTARTED]
    assert port.chip.machine.read_memory(BUFFER, 4) == b"abcd"


@pytest.mark.parametrize(("short", "events"), [(5, []), (6, [RXTO])])
def test_shorts_start_or_stop_the_receiver_at_the_end_of_a_buffer(
    port: Port, short: int, events: list[int]
) -> None:
    port[SHORTS] = 1 << short
    receive(port, 2)
    port.chip.machine.feed(b"abcd")
    port[RXD_PTR] = BUFFER + 2
    port.chip.wait(byte_ticks(2))
    assert [event for event in port.events() if event == RXTO] == events
    port.chip.wait(byte_ticks(2))
    went_on = port.chip.machine.read_memory(BUFFER, 4) == b"abcd"
    assert went_on is (short == 5)


@pytest.mark.slow
def test_a_flush_of_an_empty_fifo_ends_at_once(port: Port) -> None:
    receive(port, 2)
    port.chip.machine.feed(b"ab")
    port.chip.wait(byte_ticks(2))
    assert port[RXD_AMOUNT] == 2
    port[ENDRX] = 0
    port[FLUSHRX] = 1
    assert (port[RXD_AMOUNT], port[ENDRX]) == (0, 1)


def test_stopping_a_receiver_without_a_buffer_ends_nothing(port: Port) -> None:
    port[STOPRX] = 1
    assert port.events() == [RXTO]
    receive(port, 1)
    port.chip.machine.feed(b"a")
    port.chip.wait(byte_ticks(1))
    port[ENDRX] = 0
    port[STOPRX] = 1
    assert ENDRX not in port.events()


def test_reception_outside_data_ram_is_a_finding(port: Port) -> None:
    port[RXD_PTR], port[RXD_MAXCNT] = 0x3000_0000, 1
    port[STARTRX] = 1
    port.chip.machine.feed(b"a")
    port.chip.wait(byte_ticks(1))
    (finding,) = port.chip.machine.findings
    assert finding.subject == "UARTE0 EasyDMA 0x30000000"
    assert "was written outside data RAM" in finding.message


def test_bytes_on_their_way_survive_a_reset(port: Port) -> None:
    receive(port, 4)
    port.chip.machine.feed(b"abcd")
    port.chip.wait(byte_ticks(1))
    port.chip.machine.reset()
    port.chip.wait(byte_ticks(10))
    assert port.events() == []
    again = Port(port.chip)
    receive(again, 4)
    again.chip.wait(byte_ticks(10))
    assert again.chip.machine.read_memory(BUFFER, 4) == b"abcd"


# a channel that only stops the port itself


def test_endtx_may_stop_the_port_through_dppi(port: Port) -> None:
    chip = port.chip
    chip.write(0x5001_7504, 1 << 3)
    port[ENDTX + 0x80] = 1 << 31 | 3
    port[STOPTX + 0x80] = 1 << 31 | 3
    for _ in range(2):
        port[STARTTX] = 1
        assert port[TXSTOPPED] == 1
        port[TXSTOPPED] = 0
    port[STOPTX + 0x80] = 0
    port[STARTTX] = 1
    assert port[TXSTOPPED] == 0
