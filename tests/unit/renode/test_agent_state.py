"""The agent's recycled machine, and its slices of time."""

from __future__ import annotations

import pytest
from fake_renode import R1_16, R1_17, XPSR, Button, FakeRenode, Fault, opened

from harness.elf import Image
from harness.elf.coverage import Block
from harness.targets import ConsoleMatch, Elapsed, Executed, Stop, SymbolReached
from harness.targets.renode import RenodeServer
from harness.targets.renode.session import RenodeSession

MS = 1_000_000
FRAME = (1, 2, 3, 4, 12, 0x43, 0x44, 0x61000000)
SYST_CSR = 0xE000E010


def slices(renode: FakeRenode) -> list[float]:
    """The lengths of the runs so far, in ms, and none of them from now on."""
    lengths = [length / MS for length in renode.machine.slices if length > 1]
    renode.machine.slices.clear()
    return lengths


# -- time -------------------------------------------------------------------------------------


def test_while_the_console_is_silent_slices_grow_to_8_ms(renode, firmware):
    with opened(renode, firmware) as session:
        slices(renode)
        session.run(Elapsed(0.053), session.deadline(1))
        assert slices(renode) == [1] * 4 + [2] * 4 + [4] * 4 + [8] * 3 + [1]


def test_a_sleeping_core_is_left_alone_until_the_next_timer(renode, firmware):
    renode.idles_at, renode.wakes_at = 2 * MS, 2500 * MS
    with opened(renode, firmware) as session:
        slices(renode)
        renode.machine.quanta.clear()
        session.run(None, session.deadline(2.51))
        assert slices(renode) == [1, 1, 1, 1000, 1000, 497, 2, 2, 4, 2]
        assert [one // MS for one in renode.machine.quanta if one] == [1] * 3 + [10] * 3 + [1] * 4


def test_output_makes_slices_short_again(renode, firmware):
    renode.script = [(14 * MS, b"hello\n")]
    with opened(renode, firmware) as session:
        slices(renode)
        session.run(Elapsed(0.022), session.deadline(1))
        assert slices(renode) == [1] * 4 + [2] * 4 + [4] + [1] * 4 + [2]


def test_a_run_ends_at_a_count_of_instructions_by_ever_shorter_slices(renode, firmware):
    with opened(renode, firmware) as session:
        slices(renode)
        assert session.run(Executed(64_000), session.deadline(1)) is Stop.CONDITION
        assert session.counters.instructions == 64_000
        first, *rest = slices(renode)
        assert first == 1 - 16 / MS and all(length < 0.001 for length in rest)
        assert session.run(Executed(64_000 * 20), session.deadline(1)) is Stop.CONDITION
        assert slices(renode)[:2] == [8, 8]


def test_a_deadline_comes_before_a_count(renode, firmware):
    with opened(renode, firmware) as session:
        assert session.run(Executed(10**9), session.deadline(0.02)) is Stop.DEADLINE
        assert session.counters.virtual_seconds == 0.02


# -- matches ----------------------------------------------------------------------------------


FLOOD = (b"x" * 99 + b"\n") * 655  # as much as is kept but for 36 bytes


@pytest.mark.parametrize(
    ("before", "meanwhile"),
    [(b"early\n", FLOOD * 2), (FLOOD + b"early\n", b"y" * 40 + b"\n"),
     (FLOOD * 2 + b"early\n", b"")],
    ids=["a flood in the run", "at the brim", "a flood before the run"],
)  # fmt: skip
def test_match_is_searched_in_all_output_of_the_run(renode, firmware, before, meanwhile):
    renode.script = [(MS, before), (3 * MS, meanwhile), (5 * MS, b"late\n")]
    with opened(renode, firmware) as session:
        session.run(Elapsed(0.002), session.deadline(1))
        assert session.run(ConsoleMatch(b"early|late"), session.deadline(1)) is Stop.CONDITION
        assert session.counters.virtual_seconds == 0.005
        assert session.read() == before + meanwhile + b"late\n"


def test_a_match_may_begin_1024_bytes_before_the_newest_line(renode, firmware):
    for length, stop in ((1023, Stop.CONDITION), (1025, Stop.DEADLINE)):
        line = b"a" + b"b" * (length - 2) + b"\n"
        renode.script = [(MS, line), (2 * MS, b"c\n")]
        with opened(renode, firmware) as session:
            pattern = ConsoleMatch(rb"ab+\nc")
            assert session.run(pattern, session.deadline(0.01)) is stop


def test_a_deadline_comes_before_a_time(renode, firmware):
    with opened(renode, firmware) as session:
        assert session.run(Elapsed(0.5), session.deadline(0.02)) is Stop.DEADLINE
        assert session.counters.virtual_seconds == 0.02
        assert session.run(Elapsed(0.02), session.deadline(0.02)) is Stop.CONDITION


def test_length_of_slices_does_not_change_virtual_time(renode, firmware, monkeypatch):
    monkeypatch.setattr("harness.targets.renode.session._SLICE_MS", 1)
    with opened(renode, firmware) as session:
        assert session.run(Elapsed(2.0), session.deadline(5)) is Stop.CONDITION
        assert session.counters.virtual_seconds == 2.0
        assert session.counters.instructions == 128_000_000


# -- sleep ------------------------------------------------------------------------------------


def test_a_core_that_nothing_can_wake_ends_the_run(renode, firmware):
    """The DWT counts on, which wakes nobody."""
    renode.idles_at = 2 * MS
    with opened(renode, firmware) as session:
        assert session.run(None, session.deadline(10)) is Stop.IDLE
        assert session.counters.virtual_seconds < 0.01


def test_input_on_its_way_can_wake_a_core(renode, firmware):
    renode.idles_at = 2 * MS
    with opened(renode, firmware) as session:
        renode.machine.uart.room = 4
        session.write(b"0123456789")
        assert session.run(None, session.deadline(0.1)) is Stop.DEADLINE
        assert renode.machine.uart.received == b"0123"


def test_input_comes_as_the_firmware_takes_its_buffers(renode, firmware):
    renode.script = [(at * MS, lambda now: renode.machine.uart.take()) for at in (1, 2, 3)]
    with opened(renode, firmware) as session:
        renode.machine.uart.room = 4
        session.write(b"012")
        assert renode.machine.uart.received == b"012"
        session.write(b"3456789")
        for milliseconds, received in ((0.5, 4), (1.0, 8), (1.0, 10), (5.0, 10)):
            session.run(Elapsed(milliseconds / 1000), session.deadline(1))
            assert renode.machine.uart.received == b"0123456789"[:received]


def test_a_receiver_of_single_bytes_gets_all_at_once(renode, firmware):
    with opened(renode, firmware) as session:
        for room in (0, 1):
            renode.machine.uart.room = room
            session.write(b"0123456789")
        assert renode.machine.uart.received == b"0123456789" * 2


# -- hooks ------------------------------------------------------------------------------------


def test_run_to_a_fault_handler_still_reports_faults(renode, firmware):
    renode.script = [(MS, Fault(6, 0xFFFFFFF9, FRAME, on_psp=False))]
    with opened(renode, firmware) as session:
        assert session.run_to_address(0x40, session.deadline(1)) is Stop.CONDITION
        assert len(session.faults) == 1
        assert session.run(None, session.deadline(0.01)) is Stop.DEADLINE
        assert len(renode.machine.cpu.hooks[0x40]) == 1  # that of faults alone


def test_a_condition_is_forgotten_with_its_run(renode, firmware):
    renode.script = [(MS, b"one\n"), (3 * MS, b"one\n")]
    with opened(renode, firmware) as session:
        session.run_to_address(0x1000, session.deadline(0.002))
        assert 0x1000 in renode.machine.cpu.hooks
        assert session.run(ConsoleMatch(b"one"), session.deadline(0.1)) is Stop.CONDITION
        assert session.counters.virtual_seconds == 0.003
        assert 0x1000 not in renode.machine.cpu.hooks


def test_blocks_are_counted_once_profiling_began(renode, firmware):
    with opened(renode, firmware) as session:
        session.profile()
        for address, instructions in ((0x42, 3), (0x40, 1), (0x42, 3), (0x42, 2)):
            renode.machine.cpu.at_block_end(address, instructions)
        assert session.blocks() == [Block(0x40, 1, 1), Block(0x42, 2, 1), Block(0x42, 3, 2)]
        session.close()
    assert renode.machine.cpu.hooks == {} or session._server.machines == 1


def test_registers_are_named(renode, firmware):
    with opened(renode, firmware) as session:
        renode.machine.cpu.values.update({number: 0x100 + number for number in range(16)})
        names = [*(f"r{number}" for number in range(13)), "sp", "lr", "pc"]
        renode.machine.cpu.values[XPSR] = 0x110
        names.append("xpsr")
        assert session.registers == {name: 0x100 + number for number, name in enumerate(names)}


# -- what a reset leaves ----------------------------------------------------------------------


def recycled(renode: FakeRenode, firmware: Image, prepare) -> None:
    """Two cases on one machine; ``prepare`` is done to it in between."""
    server = RenodeServer(connect=renode.connect)
    with server:
        for _ in range(2):
            with RenodeSession(firmware, server, owns_server=False) as session:
                session.run(Elapsed(0.001), session.deadline(1))
            prepare()
            prepare = list  # once
        assert server.machines == 1


def test_systick_is_as_after_power_on(renode, firmware):
    recycled(renode, firmware, lambda: renode.machine.accesses.clear())  # noqa: PLW0108 - made anew
    touched = [value for address, value in renode.machine.accesses if address == SYST_CSR]
    assert touched == [2, 0, None] * (len(touched) // 3) and touched


def test_pins_that_a_pull_lifted_are_low_again(renode, firmware):
    def lift() -> None:
        for pin in renode.machine.parts["sysbus.p0"].Pins:
            pin.InputValue, pin.PullMode = True, "PullUp"

    recycled(renode, firmware, lift)
    pins = renode.machine.parts["sysbus.p0"].Pins
    assert not any(pin.InputValue for pin in pins)
    assert {pin.PullMode for pin in pins} == {"Disabled"}


def test_reset_sends_the_level_of_released_buttons_to_the_port(renode, firmware):
    free, held = Button(), Button(pressed=True)

    def fit() -> None:
        renode.machine.memories["Button"] = [free, held]

    recycled(renode, firmware, fit)
    assert free.changes[:2] == ["pressed", "released"] and not free.Pressed
    assert held.changes == [] and held.Pressed


def test_a_driven_pin_goes_back_to_its_pull_and_a_new_case_knows_of_none(renode, firmware):
    with RenodeServer(connect=renode.connect) as server:
        for _ in range(2):
            with RenodeSession(firmware, server, owns_server=False) as session:
                port = renode.machine.parts["sysbus.p0"]
                port.told.clear()
                port.Pins[6].PullMode, port.Pins[7].PullMode = "PullUp", "Disabled"
                for pin, level in ((6, False), (6, None), (7, None)):
                    session.pins.drive(pin, level)
                assert port.told == [(6, True), (6, False), (6, True), (7, False), (7, False)]
        assert server.machines == 1


@pytest.mark.parametrize("release", [R1_16, R1_17])
def test_instructions_are_counted_over_resets(firmware, release):
    renode = FakeRenode(release)
    with opened(renode, firmware) as session:
        session.run(Elapsed(0.001), session.deadline(1))
        session.reset()
        assert session.counters.resets == 1
        session.run(Elapsed(0.001), session.deadline(1))
        assert session.counters.instructions == 128_000


def test_a_symbol_is_looked_up_before_anything_runs(renode, firmware):
    with opened(renode, firmware) as session:
        slices(renode)
        with pytest.raises(Exception, match="no symbol 'nowhere'"):
            session.run(SymbolReached("nowhere"), session.deadline(1))
        assert slices(renode) == []


# -- what one case may leave to the next -------------------------------------------------------

NSACR, CCR, SHCSR = 0xE000ED8C, 0xE000ED14, 0xE000ED24


def core_at_start(server: RenodeServer, renode: FakeRenode, firmware: Image, leave=None):
    """The core's registers at the start of a case, which then calls ``leave``."""
    with RenodeSession(firmware, server, owns_server=False) as session:
        seen = renode.agent.core()
        session.run(Elapsed(0.001), session.deadline(1))
        if leave:
            leave()
    return seen


@pytest.mark.parametrize("release", [R1_16, R1_17])
def test_basepri_that_a_case_leaves_does_not_mask_the_next_ones_interrupts(firmware, release):
    renode = FakeRenode(release)

    def leave() -> None:
        for name in vars(renode.machine.nvic):
            setattr(renode.machine.nvic, name, 0x20)

    with RenodeServer(connect=renode.connect) as server:
        first = core_at_start(server, renode, firmware, leave)
        assert core_at_start(server, renode, firmware) == first
        assert set(vars(renode.machine.nvic).values()) == {0}
        assert server.machines == 1


def test_basepri_does_not_outlive_the_firmwares_own_reset(renode, firmware):
    with opened(renode, firmware) as session:
        renode.machine.nvic.BASEPRI_S = 0x20
        session.reset()
        assert renode.machine.nvic.BASEPRI_S == 0


@pytest.mark.parametrize("release", [R1_16, R1_17])
def test_a_new_machine_has_been_reset_once(firmware, release):
    renode = FakeRenode(release)
    with RenodeServer(connect=renode.connect) as server:
        first = core_at_start(server, renode, firmware)
        assert first[f"0x{NSACR:08x}"] == 0
        assert core_at_start(server, renode, firmware) == first
        assert server.machines == 1


@pytest.mark.parametrize("register", [NSACR, CCR, SHCSR])
def test_a_machine_that_keeps_a_register_over_a_reset_is_not_used_again(renode, firmware, register):
    with RenodeServer(connect=renode.connect) as server:
        core_at_start(server, renode, firmware)
        renode.machine.MachineReset += lambda *_: renode.machine.put(register, b"\x01")
        core_at_start(server, renode, firmware)
        assert server.machines == 2


MPU_RNR, MAIR0, FPCAR, SAU_RNR = 0xE000ED98, 0xE000EDC0, 0xE000EF38, 0xE000EDD8
NON_SECURE = 0x20000


def leave_regions(renode: FakeRenode) -> None:
    """As firmware that has set up its MPUs, and the SAU if there is one."""
    for unit in renode.machine.units:
        for region in range(3):
            unit.write(unit.select, region)
            unit.write(unit.select + 4, 0x20000000)
            unit.write(unit.select + 8, 0x20000FE1)
    renode.machine.MachineReset += lambda *_: [
        renode.machine.put(address, b"\x44") for address in (MAIR0, FPCAR)
    ]


@pytest.mark.parametrize("trustzone", [False, True])
def test_regions_that_a_reset_keeps_are_written_back(firmware, trustzone):
    renode = FakeRenode(trustzone=trustzone)
    with RenodeServer(connect=renode.connect) as server:
        first = core_at_start(server, renode, firmware, lambda: leave_regions(renode))
        assert core_at_start(server, renode, firmware) == first
        assert not any(value for unit in renode.machine.units for value in unit.words.values())
        assert server.machines == 1


@pytest.mark.parametrize("unit", range(3), ids=["MPU", "MPU_NS", "SAU"])
def test_machine_with_a_region_that_cannot_be_written_back_is_not_used_again(firmware, unit):
    renode = FakeRenode(trustzone=True)

    def leave() -> None:
        leave_regions(renode)
        renode.machine.units[unit].locked = True

    with RenodeServer(connect=renode.connect) as server:
        core_at_start(server, renode, firmware, leave)
        core_at_start(server, renode, firmware)
        assert server.machines == 2


def test_comparison_leaves_the_selected_region_as_it_is(firmware):
    renode = FakeRenode(trustzone=True)
    with opened(renode, firmware):
        assert {unit.selected for unit in renode.machine.units} == {0}
        renode.machine.mpu.selected = 5
        renode.agent.core()
        assert renode.machine.mpu.selected == 5


def test_core_is_compared_in_both_worlds(firmware):
    renode = FakeRenode(trustzone=True)
    with opened(renode, firmware):
        seen = renode.agent.core()
    for address in (MPU_RNR + 4, MPU_RNR + NON_SECURE + 8, SAU_RNR + 4):
        assert {f"0x{address:08x}[{region}]" for region in range(8)} <= set(seen)
    for address in (MAIR0, FPCAR, FPCAR + NON_SECURE, SAU_RNR):
        assert f"0x{address:08x}" in seen
