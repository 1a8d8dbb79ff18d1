"""A UARTE's transmitter (nRF9160 PS, "UARTE"), and the receivers of its bytes."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from bare_chip import BareChip, Peripheral

from harness.base.findings import Kind
from harness.base.platforms import console_wiring
from harness.elf import Image
from harness.simulator import snapshot
from harness.simulator.machine import Machine

UARTE0, UARTE1 = 0x5000_8000, 0x5000_9000
STARTRX, STOPRX, STARTTX, STOPTX, FLUSHRX = 0x000, 0x004, 0x008, 0x00C, 0x02C
RXDRDY, ENDRX, TXDRDY, ENDTX, RXTO = 0x108, 0x110, 0x11C, 0x120, 0x144
RXSTARTED, TXSTARTED, TXSTOPPED = 0x14C, 0x150, 0x158
SHORTS, INTENSET, ENABLE, BAUDRATE, CONFIG = 0x200, 0x304, 0x500, 0x524, 0x56C
PSEL_TXD, PSEL_CTS, PSEL_RXD = 0x50C, 0x510, 0x514
RXD_PTR, RXD_MAXCNT, RXD_AMOUNT, TXD_PTR, TXD_MAXCNT, TXD_AMOUNT = (
    0x534, 0x538, 0x53C, 0x544, 0x548, 0x54C,
)  # fmt: skip
BUFFER = 0x2000_1000
#: A byte of ten bits at 1 Mbaud, in ticks.
BYTE = 640
BAUD_115200, BAUD_1M, BAUD_9600 = 0x01D6_0000, 0x1000_0000, 0x0027_5000


class Port(Peripheral):
    """One UARTE that is on, at 1 Mbaud and on the DK's pins, with ten bytes to send."""

    def __init__(self, chip: BareChip, base: int = UARTE0) -> None:
        super().__init__(chip, base)
        chip.machine.write_memory(BUFFER, b"0123456789")
        self[PSEL_TXD], self[PSEL_RXD], self[BAUDRATE], self[ENABLE] = 29, 28, BAUD_1M, 8
        self[TXD_PTR], self[TXD_MAXCNT] = BUFFER, 10

    def events(self) -> list[int]:
        known = (RXDRDY, ENDRX, TXDRDY, ENDTX, RXTO, RXSTARTED, TXSTARTED, TXSTOPPED)
        return [event for event in known if self[event]]

    def send(self) -> None:
        """Send the buffer, and wait for its end."""
        self[STARTTX] = 1
        self.chip.wait(self[TXD_MAXCNT] * BYTE)

    def console(self) -> bytes:
        return b"".join(chunk.data for chunk in self.chip.machine.console)

    def findings(self) -> list[tuple[Kind, str]]:
        return [(one.kind, one.message) for one in self.chip.machine.findings]


def listening(image: Image, console: str) -> Iterator[BareChip]:
    """A chip on a board that is wired so."""
    chip = BareChip(image)
    chip.machine.close()
    chip.machine = Machine(image, console=console_wiring(console))
    yield chip
    chip.machine.close()


@pytest.fixture
def chip(waiting: Image) -> Iterator[BareChip]:
    yield from listening(waiting, "baud=1000000")


@pytest.fixture
def port(chip: BareChip) -> Port:
    return Port(chip)


def test_a_transfer_sends_the_buffer_and_its_amount(port: Port) -> None:
    port.send()
    assert port.console() == b"0123456789"
    assert port.events() == [TXDRDY, ENDTX, TXSTARTED]
    assert port[TXD_AMOUNT] == 10
    assert port.findings() == []


def test_console_output_is_time_stamped_when_the_last_byte_has_left(port: Port) -> None:
    port.chip.wait(640_000 - port.chip.now)
    port.send()
    assert [chunk.time for chunk in port.chip.machine.console] == [0.0101]


def test_a_line_is_time_stamped_when_it_has_left(port: Port) -> None:
    port.chip.machine.write_memory(BUFFER, b"one\ntwo\nx")
    port[TXD_MAXCNT] = 9
    port.chip.wait(640_000 - port.chip.now)
    port.send()
    assert [(chunk.time, chunk.data) for chunk in port.chip.machine.console] == [
        (0.01004, b"one\n"), (0.01008, b"two\n"), (0.01009, b"x"),
    ]  # fmt: skip


def test_a_transfer_of_nothing_ends_at_once_without_a_byte(port: Port) -> None:
    port[TXD_MAXCNT] = 0
    port[STARTTX] = 1
    assert port.events() == [ENDTX, TXSTARTED]
    assert (port.console(), port[TXD_AMOUNT]) == (b"", 0)


def test_a_count_has_13_bits(port: Port) -> None:
    port[TXD_MAXCNT] = 0x2000 | 3
    port[STARTTX] = 1
    port.chip.wait(3 * BYTE)
    assert (port.console(), port[TXD_AMOUNT]) == (b"012", 3)
    ((kind, message),) = port.findings()
    assert kind is Kind.UART_MISUSED
    assert "UARTE0 TXD.MAXCNT: 0x2003 has more than 13 bits: 3 bytes" in message


@pytest.mark.parametrize("enable", [0, 1, 7])
def test_a_port_that_is_not_enabled_sends_nothing_and_says_why(port: Port, enable: int) -> None:
    """Other values of ENABLE are those of SPIM and TWIM, which share the block."""
    port[ENABLE] = enable
    port.send()
    assert (port.console(), port.events()) == (b"", [])
    ((kind, message),) = port.findings()
    assert kind is Kind.UART_MISUSED
    assert f"STARTTX: ENABLE is {enable}: nothing is sent" in message


def test_stoptx_raises_txstopped(port: Port) -> None:
    port.send()
    port[STOPTX] = 1
    assert TXSTOPPED in port.events()


@pytest.mark.parametrize("place", [0x0000_0000, 0x2003_FFFC, 0x3000_0000])
def test_easydma_reads_data_ram_alone(port: Port, place: int) -> None:
    port[TXD_PTR] = place
    port[STARTTX] = 1
    assert port.console() == b""
    assert ENDTX in port.events()
    ((kind, message),) = port.findings()
    assert kind is Kind.DMA_REFUSED
    assert f"EasyDMA of UARTE0 cannot read 10 bytes at 0x{place:08x}, outside" in message


def test_output_of_other_ports_is_kept_by_name(chip: BareChip) -> None:
    port = Port(chip, UARTE1)
    port[PSEL_TXD] = 1
    port.send()
    port.send()
    assert chip.machine.sent == {"UARTE1": b"0123456789" * 2, "UARTE2": b"", "UARTE3": b""}
    assert port.console() == b""


def test_another_port_may_be_the_console(waiting: Image) -> None:
    for chip in listening(waiting, "uarte=UARTE1 txd=1 rxd=0 baud=1000000"):
        port = Port(chip, UARTE1)
        port[PSEL_TXD] = 1
        port.send()
        assert port.console() == b"0123456789"
        assert list(chip.machine.sent) == ["UARTE0", "UARTE2", "UARTE3"]
        assert port.findings() == []


# who listens


@pytest.mark.parametrize(
    ("register", "value", "why"),
    [
        (
            PSEL_TXD,
            0xFFFF_FFFF,
            "0xffffffff (disconnected); the board listens on P0.29",
        ),
        (PSEL_TXD, 5, "PSEL.TXD is 0x00000005 (P0.05); the board listens on P0.29"),
        (BAUDRATE, BAUD_115200, "(114746 baud); the board listens at 1000000 baud"),
        (CONFIG, 0b0_1110, "CONFIG is 0x0e (a parity bit); the board listens with no parity bit"),
        (CONFIG, 0b1_0000, "CONFIG is 0x10 (two stop bits); the board listens with one stop bit"),
    ],
)
def test_bytes_that_the_board_cannot_hear_are_a_finding(
    port: Port, register: int, value: int, why: str
) -> None:
    port[register] = value
    port[STARTTX] = 1
    port.chip.wait(100 * BYTE)
    assert port[ENDTX] == 1
    assert port.console() == b""
    ((kind, message),) = port.findings()
    assert kind is Kind.CONSOLE_UNHEARD
    assert message.startswith("UARTE0 ")
    assert why in message


@pytest.mark.parametrize(("percent", "heard"), [(-4, 0), (-2.5, 1), (2.5, 1), (4, 0)])
def test_a_baud_rate_may_differ_by_three_percent(port: Port, percent: float, heard: int) -> None:
    port[BAUDRATE] = round(BAUD_1M * (1 + percent / 100))
    port[STARTTX] = 1
    port.chip.wait(20 * BYTE)
    assert len(port.console()) == 10 * heard


def test_bytes_that_left_before_the_pin_changed_are_heard(port: Port) -> None:
    port[STARTTX] = 1
    port.chip.wait(4 * BYTE)
    port[PSEL_TXD] = 5
    port.chip.wait(20 * BYTE)
    assert port.console() == b"0123"
    assert [kind for kind, _ in port.findings()] == [Kind.CONSOLE_UNHEARD]


def flow_controlled(port: Port, cts: int) -> None:
    port[CONFIG], port[PSEL_CTS] = 1, cts
    port[STARTTX] = 1
    port.chip.wait(20 * BYTE)


def test_flow_control_holds_bytes_up_where_nobody_drives_cts(port: Port) -> None:
    flow_controlled(port, 26)
    assert (port.console(), port.events()) == (b"", [TXSTARTED])
    ((kind, message),) = port.findings()
    assert kind is Kind.CONSOLE_UNHEARD
    assert "PSEL.CTS 0x0000001a (P0.26), which the board does not drive" in message


def test_a_board_may_drive_cts(waiting: Image) -> None:
    console = "txd=29 cts=26 baud=1000000 flow_control=true"
    for pin, heard in ((26, b"0123456789"), (25, b"")):
        for chip in listening(waiting, console):
            port = Port(chip)
            flow_controlled(port, pin)
            assert port.console() == heard


@pytest.mark.parametrize("register", [PSEL_RXD, BAUDRATE])
def test_host_bytes_that_cannot_arrive_are_a_finding(port: Port, register: int) -> None:
    port[register] = {PSEL_RXD: 0xFFFF_FFFF, BAUDRATE: BAUD_9600}[register]
    receive(port, 4)
    port.chip.machine.feed(b"abcd")
    port.chip.wait(1000 * BYTE)
    assert port.events() == [RXSTARTED]
    ((kind, message),) = port.findings()
    assert kind is Kind.CONSOLE_UNHEARD
    assert "the board sends" in message


# the buffer, read as its bytes leave


def test_a_byte_is_read_when_the_one_before_it_has_left(port: Port) -> None:
    port[STARTTX] = 1
    port.chip.wait(3 * BYTE - 1)
    port.chip.machine.write_memory(BUFFER, b"abcdefghij")
    port.chip.wait(7 * BYTE + 1)
    assert port.console() == b"012defghij"
    ((kind, message),) = port.findings()
    assert kind is Kind.UART_MISUSED
    assert "byte 3 of the buffer changed before it was sent" in message


def test_pointer_and_count_are_latched_at_starttx(port: Port) -> None:
    port[STARTTX] = 1
    port[TXD_PTR], port[TXD_MAXCNT] = BUFFER + 5, 2
    port.chip.wait(10 * BYTE)
    port.send()
    assert port.console() == b"012345678956"
    assert port.findings() == []


def test_starttx_in_a_transfer_cuts_it_off(port: Port) -> None:
    port[STARTTX] = 1
    port.chip.wait(4 * BYTE + 5)
    port.send()
    assert port.console() == b"01230123456789"
    ((kind, message),) = port.findings()
    assert kind is Kind.UART_MISUSED
    assert "STARTTX: during a transfer; 4 of 10 bytes were sent" in message


def test_stoptx_ends_a_transfer_behind_the_byte_that_leaves(port: Port) -> None:
    port[STARTTX] = 1
    port.chip.wait(4 * BYTE + 5)
    port[STOPTX] = 1
    assert port.events() == [TXDRDY, TXSTARTED]
    port.chip.wait(BYTE - 6)
    assert port.events() == [TXDRDY, TXSTARTED]
    port.chip.wait(1)
    assert port.events() == [TXDRDY, ENDTX, TXSTARTED, TXSTOPPED]
    assert (port.console(), port[TXD_AMOUNT]) == (b"01234", 5)
    assert [kind for kind, _ in port.findings()] == [Kind.TRANSFER_STOPPED]


def test_disabling_ends_a_transfer_at_once(port: Port) -> None:
    port[STARTTX] = 1
    port.chip.wait(4 * BYTE + 5)
    port[ENABLE] = 0
    port.chip.wait(20 * BYTE)
    assert (port.console(), port.events()) == (b"0123", [TXDRDY, TXSTARTED])
    ((kind, message),) = port.findings()
    assert kind is Kind.UART_MISUSED
    assert "ENABLE = 0: during a transfer; 4 of 10 bytes were sent" in message


def test_a_reset_ends_a_transfer_and_keeps_what_has_left(port: Port) -> None:
    port[STARTTX] = 1
    port.chip.wait(4 * BYTE + 5)
    port.chip.machine.reset()
    port.chip.wait(20 * BYTE)
    assert (port.console(), port.findings()) == (b"0123", [])


@pytest.mark.parametrize("waited", [0, 1, 4 * BYTE - 1, 4 * BYTE, 4 * BYTE + 5, 10 * BYTE])
def test_a_snapshot_in_mid_transfer_restores_it(port: Port, waited: int) -> None:
    machine = port.chip.machine
    port[STARTTX] = 1
    port.chip.wait(waited)
    kept = snapshot.take(machine)
    found = []
    for _ in range(2):
        port.chip.wait(20 * BYTE)
        found.append((port.console(), port.events(), port[TXD_AMOUNT], machine.now))
        machine.write_memory(BUFFER, bytes(10))
        port[TXD_MAXCNT] = 3
        snapshot.restore(machine, kept)
    assert found[0] == found[1]
    assert found[0][0] == b"0123456789"


# the time that bytes take


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
def test_a_transfer_takes_its_bit_times(
    port: Port, baudrate: int, config: int, bit_ticks: int, bits: int
) -> None:
    port[BAUDRATE], port[CONFIG] = baudrate, config
    port[STARTTX] = 1
    assert port.events() == [TXSTARTED]
    port.chip.wait(bits * bit_ticks - 1)
    assert port.events() == [TXSTARTED]
    port.chip.wait(1)
    assert port.events() == [TXDRDY, TXSTARTED]
    port.chip.wait(9 * bits * bit_ticks - 1)
    assert port.events() == [TXDRDY, TXSTARTED]
    port.chip.wait(1)
    assert port.events() == [TXDRDY, ENDTX, TXSTARTED]
    assert port[TXD_AMOUNT] == 10


@pytest.mark.parametrize(("baudrate", "baud"), [(BAUD_115200, 115_200), (BAUD_9600, 9_600)])
def test_a_received_byte_takes_ten_bits(waiting: Image, baudrate: int, baud: int) -> None:
    for chip in listening(waiting, f"baud={baud}"):
        received_after_ten_bits(Port(chip), baudrate, baud)


def received_after_ten_bits(port: Port, baudrate: int, baud: int) -> None:
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
    assert "STARTRX: ENABLE is 0: nothing is received" in port.findings()[0][1]
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
    ((kind, message),) = port.findings()
    assert kind is Kind.DMA_REFUSED
    assert "EasyDMA of UARTE0 cannot write 1 bytes at 0x30000000, outside data RAM" in message


def test_bytes_on_their_way_survive_a_reset(port: Port) -> None:
    receive(port, 4)
    port.chip.machine.feed(b"abcd")
    port.chip.wait(byte_ticks(1))
    port.chip.machine.reset()
    port.chip.wait(byte_ticks(10))
    assert port.events() == []
    again = Port(port.chip)
    receive(again, 3)
    again.chip.wait(byte_ticks(10))
    assert again.chip.machine.read_memory(BUFFER, 3) == b"bcd"


# a channel that only stops the port itself


def test_endtx_may_stop_the_port_through_dppi(port: Port) -> None:
    chip = port.chip
    chip.write(0x5001_7504, 1 << 3)
    port[ENDTX + 0x80] = 1 << 31 | 3
    port[STOPTX + 0x80] = 1 << 31 | 3
    for _ in range(2):
        port.send()
        assert port[TXSTOPPED] == 1
        port[TXSTOPPED] = 0
    port[STOPTX + 0x80] = 0
    port.send()
    assert port[TXSTOPPED] == 0
