"""The debug port: what a probe reads and writes over SWD, and how it halts the core."""

import json
import selectors
import socket

import pytest

from harness.simulator import End, Machine
from harness.simulator.debug_port import DebugPort, TransferError
from harness.simulator.debug_port.remote_probe import ProbeServer, RemoteProbe

DHCSR, DCRSR, DCRDR, DEMCR, DFSR = 0xE000_EDF0, 0xE000_EDF4, 0xE000_EDF8, 0xE000_EDFC, 0xE000_ED30
KEY, DEBUGEN, HALT, STEP, MASKINTS = 0xA05F_0000, 1, 2, 4, 8
S_HALT, S_RESET = 1 << 17, 1 << 25
FP_CTRL, FP_COMP0, DWT_COMP0, DWT_FUNCTION0 = 0xE000_2000, 0xE000_2008, 0xE000_1020, 0xE000_1028
AIRCR, SYSRESETREQ = 0xE000_ED0C, 0x05FA_0004
ALWAYS = 1 << 40
DONE = b"counted"


class Probe:
    """A debugger with a probe: words of memory, registers, halt and resume."""

    def __init__(self, machine):
        self.machine, self.port = machine, DebugPort(machine)

    def read(self, address):
        return self.port.read_memory(address, 4)

    def write(self, address, value):
        self.port.write_memory(address, 4, value)

    def control(self, bits):
        self.write(DHCSR, KEY | DEBUGEN | bits)

    def register(self, number, value=None):
        if value is None:
            self.write(DCRSR, number)
            return self.read(DCRDR)
        self.write(DCRDR, value)
        return self.write(DCRSR, number | 1 << 16)

    @property
    def halted(self):
        return bool(self.read(DHCSR) & S_HALT)

    def run(self, ticks=ALWAYS):
        return self.port.core.run(ticks)

    def breakpoint(self, address):
        self.write(FP_CTRL, 3)
        self.write(FP_COMP0, address | 1)


@pytest.fixture
def counting(build):
    machine = Machine(build("counter"))
    yield machine
    machine.close()


@pytest.fixture
def probe(counting):
    return Probe(counting)


def totals(machine):
    return machine.core.executed, machine.now, machine.console.since(0)


@pytest.fixture
def alone(build):
    """What the firmware comes to without a debugger."""
    machine = Machine(build("counter"))
    machine.run(until_tick=20_000_000)
    yield totals(machine)
    machine.close()


def test_the_dp_and_its_access_ports_say_who_they_are(probe):
    port = probe.port
    assert port.read_dp(0) == 0x6BA0_2477
    port.write_dp(8, 2)
    assert port.read_dp(4) & 0xFFF == 0x289
    port.write_dp(8, 0xF0)
    assert port.read_ap(0xC) == 0x8477_0001
    port.write_dp(8, 0x0400_00F0)
    assert port.read_ap(0xC) == 0x1288_0000


def test_power_up_is_acknowledged(probe):
    probe.port.write_dp(4, 0x5000_0000)
    assert probe.port.read_dp(4) & 0xA000_0000 == 0xA000_0000


def test_memory_is_read_through_tar_and_drw_in_byte_lanes(probe):
    port = probe.port
    port.write_memory(0x2000_0100, 4, 0x4433_2211)
    port.write_dp(8, 0)
    port.write_ap(0, 0x10)  # bytes, with increment
    port.write_ap(4, 0x2000_0101)
    assert port.read_ap(0xC) == 0x2200
    assert port.read_ap(0xC) == 0x33_0000
    port.write_ap(0xC, 0xAA00_0000)
    assert port.read_memory(0x2000_0100, 4) == 0xAA33_2211


def test_an_address_without_memory_is_a_fault_until_abort_clears_it(probe):
    with pytest.raises(TransferError):
        probe.read(0x7000_0000)
    assert probe.port.read_dp(4) & 1 << 5
    probe.port.write_dp(0, 4)
    assert not probe.port.read_dp(4) & 1 << 5


@pytest.mark.parametrize("slices", [1, 7, 100])
def test_a_run_that_is_halted_and_resumed_has_the_counts_of_one_that_is_not(probe, alone, slices):
    for number in range(50):
        probe.run(1000 * slices + number)
        probe.control(HALT)
        assert probe.halted
        before = totals(probe.machine)
        assert probe.run() is None
        probe.register(16), probe.register(24), probe.register(28), probe.register(35)
        assert totals(probe.machine) == before
        probe.control(0)
    probe.run(20_000_000 - probe.machine.now)
    assert totals(probe.machine) == alone


def test_steps_add_up_to_the_run(probe, alone):
    probe.control(HALT)
    for number in range(500):
        probe.control(STEP)
        assert probe.halted
        assert probe.machine.core.executed == number + 1
    probe.control(0)
    probe.run(20_000_000 - probe.machine.now)
    assert totals(probe.machine) == alone


def test_a_breakpoint_halts_before_its_instruction_each_time(probe, alone):
    watch = probe.machine.firmware.symbol("Main").address & ~1
    probe.control(0)
    probe.breakpoint(watch)
    assert probe.run() is None
    assert probe.register(15) == watch
    assert probe.read(DFSR) & 2
    probe.write(FP_COMP0, 0)
    probe.control(0)
    probe.run(20_000_000 - probe.machine.now)
    assert totals(probe.machine) == alone


@pytest.mark.parametrize(("function", "halts"), [(0x815, True), (0x816, False)])
def test_a_watchpoint_halts_behind_the_access_and_changes_nothing(probe, alone, function, halts):
    results = probe.machine.firmware.symbol("results").address
    probe.control(0)
    probe.breakpoint(probe.machine.firmware.symbol("Main").address & ~1)
    assert probe.run() is None  # the start-up has cleared it
    probe.write(FP_COMP0, 0)
    probe.control(0)
    probe.write(DEMCR, 1 << 24)
    probe.write(DWT_COMP0, results + 8)
    probe.write(DWT_FUNCTION0, function)
    assert (probe.run(20_000_000 - probe.machine.now) is None) is halts
    if halts:
        assert probe.read(DFSR) & 4
        assert probe.read(DWT_FUNCTION0) & 1 << 24
        assert probe.read(results + 8)
        assert not probe.read(results + 12)  # it is written right behind it
        probe.write(DWT_FUNCTION0, 0)
        probe.control(0)
        probe.run(20_000_000 - probe.machine.now)
    assert totals(probe.machine) == alone


def test_bkpt_halts_with_a_debugger_and_is_a_fault_without_one(chip):
    probe = Probe(chip.machine)
    probe.control(0)
    chip.play(0xBE00, steps=1)
    probe.run(100)
    assert probe.halted
    assert probe.read(DFSR) & 2
    assert not chip.machine.faults
    probe.write(DHCSR, KEY)
    probe.run(100)
    assert chip.machine.faults[0].kind == "HardFault"


def test_vector_catch_halts_in_the_handler_before_its_first_instruction(build):
    machine = Machine(build("nullcall"))
    probe = Probe(machine)
    probe.control(0)
    probe.write(DEMCR, 1 << 7 | 1 << 10)  # VC_STATERR, VC_HARDERR
    assert probe.run() is None
    assert machine.exception_number == 3
    assert probe.register(15) == machine.firmware.symbol("HardFault").address & ~1
    assert probe.read(DFSR) & 8
    machine.close()


def test_vector_catch_of_a_reset_halts_before_the_first_instruction(probe):
    probe.run(5000)
    probe.control(HALT)
    probe.write(DEMCR, 1)
    probe.read(DHCSR)
    probe.write(AIRCR, SYSRESETREQ)
    assert probe.read(DHCSR) & (S_HALT | S_RESET) == S_HALT | S_RESET
    assert not probe.read(DHCSR) & S_RESET  # it was read
    probe.write(DEMCR, 0)
    probe.port.pin_reset()
    assert not probe.halted


def test_registers_of_both_states_are_read_and_written(chip):
    probe = Probe(chip.machine)
    probe.control(HALT)
    numbers = {0: 1, 12: 2, 13: 0x2000_8000, 14: 3, 18: 0x2000_4000, 24: 0x2000_5000,
               25: 0x2000_5800, 28: 0x2000_0100, 29: 0x2000_0200, 30: 0x2000_0300,
               31: 0x2000_0400, 33: 0x40_0000, 35: 0x0200_2001, 64: 0x3F80_0000, 95: 7}  # fmt: skip
    for number, value in numbers.items():
        probe.register(number, value)
    assert {number: probe.register(number) for number in numbers} == numbers
    assert probe.read(0xE000_EE08) == 1 << 16  # DSCSR.CDS
    chip.machine.core.change_state()
    assert probe.read(0xE000_EE08) == 0
    assert probe.register(13) == 0x2000_5800  # CONTROL_NS.SPSEL
    assert probe.register(26) == 0x2000_8000


def test_a_step_with_masked_interrupts_stays_out_of_the_handler(chip):
    probe = Probe(chip.machine)
    for mask, number in ((MASKINTS, 0), (0, 14)):
        probe.control(HALT)
        probe.write(0xE000_ED04, 1 << 28)  # ICSR.PENDSVSET
        probe.control(STEP | mask)
        assert chip.machine.exception_number == number


def test_a_locked_chip_shows_its_control_port_alone_until_all_is_erased(probe):
    machine = probe.machine
    machine.write_memory(machine.memory_map.area("uicr").origin, b"\0\0\0\0")
    probe.port.pin_reset()
    with pytest.raises(TransferError, match="locked"):
        probe.read(0)
    port = probe.port
    port.write_dp(8, 0x0400_0000)
    assert port.read_ap(0xC) == 0
    port.write_ap(4, 1)  # ERASEALL
    port.write_ap(0, 1)
    port.write_ap(0, 0)
    assert port.read_ap(0xC) == 3
    assert probe.read(0) == 0xFFFF_FFFF
    assert probe.run() is End.LOCKUP


def test_a_debugger_programs_flash_as_nvmc_allows(probe):
    probe.control(HALT)
    with pytest.raises(TransferError):
        probe.write(0x8_0000, 0x1234)
    probe.write(0x5003_9504, 1)  # CONFIG = Wen
    probe.write(0x8_0000, 0x1234)
    assert probe.read(0x5003_9400) == 1  # READY
    assert probe.read(0x8_0000) == 0x1234


@pytest.fixture
def served(probe):
    """A function that sends a line to a server of the protocol; gives its answer."""
    with selectors.DefaultSelector() as selector:
        server = ProbeServer(RemoteProbe(lambda: probe.port, "1"), selector, 0)
        client = socket.create_connection(("127.0.0.1", server.number))

        def send(line):
            client.sendall(line + b"\n")
            answer = b""
            while not answer.endswith(b"\n"):
                for key, _ in selector.select(5):
                    key.data()
                client.setblocking(False)
                try:
                    answer += client.recv(65536)
                except BlockingIOError:
                    continue
                finally:
                    client.setblocking(True)
            return json.loads(answer)

        yield send
        client.close()
        server.close()


def test_the_server_answers_by_number(served):
    assert served(b'{"id": 7, "request": "read_dp", "arguments": [0]}') == {
        "id": 7, "status": 0, "result": 0x6BA0_2477,
    }  # fmt: skip


@pytest.mark.parametrize(
    "line", [b"", b"[]", b"{}", b'{"id": {}}', b'{"id": 1, "request": "format"}', b"\xff",
             b'{"id": 1, "request": "read_dp", "arguments": ["x"]}',
             b'{"id": 1, "request": "read_block32", "arguments": [0, 0, 1, 2]}'],
)  # fmt: skip
def test_nonsense_is_answered_with_an_error(served, line):
    assert served(line)["status"] == 1


def test_a_refused_access_is_a_transfer_fault(served):
    line = b'{"id": 1, "request": "read_mem", "arguments": [0, 1879048192, 32]}'
    assert served(line)["status"] == 12
