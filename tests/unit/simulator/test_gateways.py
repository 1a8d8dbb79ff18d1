"""Calls, returns and entries between the states (Armv8-M ARM, B3.19, B3.20)."""

from __future__ import annotations

import struct

import pytest
from bare_chip import BareChip
from gateway_chip import (
    BLXNS_R0,
    BX_LR,
    BX_R0,
    BXNS_R0,
    FPCA,
    ICSR,
    MPU_CTRL,
    MPU_RBAR,
    MPU_RLAR,
    MSPLIM,
    NONSECURE_CODE,
    NONSECURE_STACK,
    NOP,
    PSPLIM,
    RAM,
    SECURE_CODE,
    SFPA,
    SPSEL,
    SPU,
    STACK,
    secure,
    state,
)

from harness.simulator.unicorn import Reg

FNC_RETURN = 0xFEFF_FFFF
THUMB, SFPA_SAVED = 1 << 24, 1 << 20
PENDSV = 14


def step(chip: BareChip) -> None:
    chip.machine.run(until_executed=chip.machine.core.executed + 1)


# calls


def test_blxns_stacks_its_return_and_sets_lr_to_fnc_return(
    worlds: BareChip,
) -> None:
    secure(worlds, BLXNS_R0, r0=NONSECURE_CODE, lr=0x1235)
    assert state(worlds) == (True, NONSECURE_CODE, NONSECURE_STACK)
    assert worlds.machine.registers["lr"] == FNC_RETURN
    assert worlds.words(STACK - 8, 2) == [SECURE_CODE + 2 | 1, 0]
    step(worlds)
    assert state(worlds) == (False, SECURE_CODE + 2, STACK)


def test_a_call_from_the_process_stack_returns_to_it(worlds: BareChip) -> None:
    core = worlds.machine.core
    core.write_many((int(Reg.PSP), int(Reg.CONTROL)), (STACK + 0x1000, SPSEL))
    secure(worlds, BLXNS_R0, r0=NONSECURE_CODE)
    assert worlds.words(STACK + 0x1000 - 8, 1) == [SECURE_CODE + 2 | 1]
    step(worlds)
    assert state(worlds) == (False, SECURE_CODE + 2, STACK + 0x1000)


@pytest.mark.parametrize("floats", [0, FPCA | SFPA])
def test_a_call_remembers_whether_there_was_a_secure_fp_context(
    worlds: BareChip, floats: int
) -> None:
    worlds.machine.core.write(Reg.CONTROL, floats)
    secure(worlds, BLXNS_R0, r0=NONSECURE_CODE)
    assert worlds.words(STACK - 8, 2)[1] == (SFPA_SAVED if floats else 0)
    step(worlds)
    assert worlds.machine.core.read(Reg.CONTROL) & SFPA == floats & SFPA


def test_blxns_in_a_handler_hides_the_exception_number(worlds: BareChip) -> None:
    worlds.write(ICSR, 1 << 28)
    step(worlds)
    assert worlds.running == PENDSV
    secure(worlds, BLXNS_R0, r0=NONSECURE_CODE, sp=STACK)
    assert worlds.running == 1
    assert worlds.words(STACK - 8, 2) == [SECURE_CODE + 2 | 1, PENDSV]
    step(worlds)
    assert state(worlds) == (False, SECURE_CODE + 2, STACK)
    assert worlds.running == PENDSV


@pytest.mark.parametrize(
    ("instruction", "link"), [(BXNS_R0, 0x1235), (BLXNS_R0, SECURE_CODE + 2 | 1)]
)
def test_a_target_with_the_thumb_bit_is_secure(
    worlds: BareChip, instruction: int, link: int
) -> None:
    secure(worlds, instruction, r0=SECURE_CODE + 0x100 | 1, lr=0x1235)
    assert state(worlds) == (False, SECURE_CODE + 0x100, STACK)
    assert worlds.machine.registers["lr"] == link


def test_bxns_stacks_no_return(worlds: BareChip) -> None:
    secure(worlds, BXNS_R0, r0=NONSECURE_CODE, lr=0x1235)
    assert state(worlds) == (True, NONSECURE_CODE, NONSECURE_STACK)
    assert worlds.machine.registers["lr"] == 0x1235


@pytest.mark.parametrize(("instruction", "register"), [(0x475C, "r11"), (0x4774, "lr")])
def test_blxns_takes_any_register(worlds: BareChip, instruction: int, register: str) -> None:
    secure(worlds, instruction, **{register: NONSECURE_CODE})
    assert state(worlds)[:2] == (True, NONSECURE_CODE)


def test_a_call_ends_an_it_block(worlds: BareChip) -> None:
    worlds.machine.core.write(Reg.XPSR_NZCVQG, 1 << 30 | THUMB)
    worlds.machine.write_memory(NONSECURE_CODE, struct.pack("<2H", 0x3101, BX_LR))
    secure(worlds, 0xBF08, BLXNS_R0, 0x3201, steps=2, r0=NONSECURE_CODE, r1=0, r2=0)  # it eq
    worlds.machine.run(until_executed=worlds.machine.core.executed + 3)
    registers = worlds.machine.registers
    assert (registers["r1"], registers["r2"]) == (1, 1)


@pytest.mark.parametrize("process", [False, True])
@pytest.mark.parametrize(("room", "fits"), [(8, True), (0, False)])
def test_a_call_that_its_stack_has_no_room_for_is_a_stack_overflow(
    worlds: BareChip, process: bool, room: int, fits: bool
) -> None:
    sp = STACK + 0x1000 * process
    secure(worlds, 0xF380, PSPLIM if process else MSPLIM, r0=sp - room)
    if process:
        worlds.machine.core.write_many((int(Reg.PSP), int(Reg.CONTROL)), (sp, SPSEL))
    secure(worlds, BLXNS_R0, r0=NONSECURE_CODE, sp=sp)
    assert worlds.machine.core.nonsecure is fits
    faults = [(fault.reason, fault.pc) for fault in worlds.machine.faults[:1]]
    assert faults == ([] if fits else [("STKOF", SECURE_CODE)])


def test_a_call_whose_return_cannot_be_stored_is_a_fault_of_the_store(worlds: BareChip) -> None:
    secure(worlds, BLXNS_R0, r0=NONSECURE_CODE, sp=0x3000_0008)
    record = worlds.machine.faults[0]
    assert (record.cause, record.reason) == ("BusFault", "PRECISERR, BFARVALID")
    assert (record.address, record.pc) == (0x3000_0000, SECURE_CODE)


def test_a_call_whose_return_the_mpu_refuses_is_a_fault_of_the_store(worlds: BareChip) -> None:
    """The one region holds the code; the stack is in none."""
    worlds.write(MPU_RBAR, SECURE_CODE)
    worlds.write(MPU_RLAR, SECURE_CODE | 0x3E1)
    worlds.write(MPU_CTRL, 1)
    worlds.machine.core.synchronize()
    secure(worlds, BLXNS_R0, r0=NONSECURE_CODE, sp=STACK)
    record = worlds.machine.faults[0]
    assert (record.cause, record.reason) == ("MemManage", "DACCVIOL, MMARVALID")
    assert (record.address, record.pc) == (STACK - 8, SECURE_CODE)


# what a branch by BXNS may mean, besides an address


def test_bxns_to_an_exc_return_is_a_return_in_a_handler(worlds: BareChip) -> None:
    worlds.write(ICSR, 1 << 28)
    step(worlds)
    link = worlds.machine.registers["lr"]
    before = worlds.words(worlds.machine.registers["sp"] + 24, 1)
    secure(worlds, BXNS_R0, r0=link, sp=worlds.machine.registers["sp"])
    assert worlds.running == 0
    assert [worlds.machine.registers["pc"]] == before


def test_in_thread_mode_exc_return_is_an_ordinary_address(worlds: BareChip) -> None:
    secure(worlds, BXNS_R0, steps=2, r0=0xFFFF_FFF9)
    record = worlds.machine.faults[0]
    assert (record.reason, record.pc) == ("IACCVIOL", 0xFFFF_FFF8)


# returns


@pytest.mark.parametrize("value", [FNC_RETURN, FNC_RETURN - 1])
def test_a_branch_to_fnc_return_returns(worlds: BareChip, value: int) -> None:
    secure(worlds, BLXNS_R0, r0=NONSECURE_CODE)
    worlds.play(BX_R0, steps=1, r0=value)
    assert state(worlds) == (False, SECURE_CODE + 2, STACK)


@pytest.mark.parametrize(("saved", "handler"), [(PENDSV, False), (0, True)])
def test_a_return_to_the_other_mode_is_refused(worlds: BareChip, saved: int, handler: bool) -> None:
    if handler:
        worlds.write(ICSR, 1 << 28)
        step(worlds)
    secure(worlds, BLXNS_R0, r0=NONSECURE_CODE, sp=STACK)
    worlds.machine.write_memory(STACK - 4, struct.pack("<I", saved))
    step(worlds)
    record = worlds.machine.faults[0]
    assert (record.cause, record.reason, record.world) == ("UsageFault", "INVPC", "secure")
    assert record.pc == FNC_RETURN - 1


def test_a_function_return_of_another_handler_is_refused(worlds: BareChip) -> None:
    """Non-secure code that runs as an exception has no caller."""
    table = struct.pack("<16I", *[NONSECURE_CODE + 2 | 1] * 16)  # b .
    worlds.machine.write_memory(NONSECURE_STACK + 0x100, table)
    worlds.write(0xE002_ED08, NONSECURE_STACK + 0x100)
    secure(worlds, BLXNS_R0, r0=NONSECURE_CODE)
    worlds.write(ICSR, 1 << 28)
    worlds.machine.write_register("pc", NONSECURE_CODE + 2)
    step(worlds)
    assert worlds.running == PENDSV
    worlds.play(BX_R0, steps=1, r0=FNC_RETURN)
    assert worlds.machine.faults[0].reason == "INVPC"


def test_a_branch_to_fnc_return_in_secure_code_is_a_fetch_fault(
    worlds: BareChip,
) -> None:
    secure(worlds, BX_R0, r0=FNC_RETURN)
    record = worlds.machine.faults[0]
    assert (record.cause, record.reason) == ("MemManage", "IACCVIOL")
    assert record.pc == FNC_RETURN - 1


def test_a_return_from_a_stack_that_cannot_be_read_is_a_fault(worlds: BareChip) -> None:
    secure(worlds, BLXNS_R0, r0=NONSECURE_CODE)
    worlds.machine.core.change_state()
    worlds.machine.core.write(Reg.MSP, 0x3000_0000)
    worlds.machine.core.change_state()
    step(worlds)
    record = worlds.machine.faults[0]
    assert (record.cause, record.world) == ("BusFault", "secure")
    assert record.pc == FNC_RETURN - 1


def test_non_secure_code_has_no_bxns(worlds: BareChip) -> None:
    worlds.enter_nonsecure()
    worlds.play(BXNS_R0, steps=1, r0=NONSECURE_CODE)
    record = worlds.machine.faults[0]
    assert (record.reason, record.world) == ("UNDEFINSTR", "non-secure")


# entries

GATEWAY = RAM + 6 * 0x2000 - 32  # the end of the sixth region of RAM


@pytest.fixture
def gateway(worlds: BareChip) -> BareChip:
    worlds.write(SPU + 0x540, 5)  # RAMNSC[0]
    worlds.write(SPU + 0x544, 1)
    worlds.machine.write_memory(GATEWAY, struct.pack("<4H", 0xE97F, 0xE97F, NOP, 0xE7FE))
    worlds.machine.write_memory(GATEWAY - 32, struct.pack("<4H", 0xE97F, 0xE97F, NOP, 0xE7FE))
    return worlds


def test_sg_enters_the_secure_state_and_marks_the_return(gateway: BareChip) -> None:
    gateway.enter_nonsecure()
    gateway.play(BX_R0, steps=2, r0=GATEWAY | 1, lr=NONSECURE_CODE | 1)
    assert state(gateway) == (False, GATEWAY + 4, STACK)
    assert gateway.machine.registers["lr"] == NONSECURE_CODE
    assert gateway.machine.core.read(Reg.CONTROL) & SFPA == 0
    gateway.machine.write_register("r0", NONSECURE_CODE)
    secure(gateway, 0x4774)  # bxns lr
    assert state(gateway) == (True, NONSECURE_CODE, NONSECURE_STACK)


def test_non_secure_code_finds_its_rounding_mode_after_a_secure_call(gateway: BareChip) -> None:
    core, down = gateway.machine.core, 0x0080_0000  # FPSCR.RMode
    gateway.machine.write_memory(GATEWAY + 4, struct.pack("<H", 0x4774))  # bxns lr
    gateway.enter_nonsecure()
    core.write(Reg.FPSCR, 0)
    gateway.play(0xEEE1, 0x1A10, BX_R0, steps=2, r0=GATEWAY | 1, r1=down)  # vmsr fpscr, r1
    gateway.machine.write_register("lr", NONSECURE_CODE + 0x100)
    code = struct.pack("<3H", 0xEEF1, 0x2A10, 0xE7FE)  # vmrs r2, fpscr
    gateway.machine.write_memory(NONSECURE_CODE + 0x100, code)
    gateway.machine.run(until_executed=core.executed + 3)
    assert state(gateway)[:2] == (True, NONSECURE_CODE + 0x104)
    assert gateway.machine.registers["r2"] == down


def test_sg_of_secure_code_does_nothing(gateway: BareChip) -> None:
    secure(gateway, 0xE97F, 0xE97F, lr=0x1235)
    assert state(gateway) == (False, SECURE_CODE + 4, STACK)
    assert gateway.machine.registers["lr"] == 0x1235


def test_sg_in_non_secure_memory_does_nothing(gateway: BareChip) -> None:
    gateway.enter_nonsecure()
    gateway.play(0xE97F, 0xE97F, steps=1, lr=0x1235)
    assert state(gateway) == (True, NONSECURE_CODE + 4, NONSECURE_STACK)
    assert gateway.machine.registers["lr"] == 0x1235


@pytest.mark.parametrize("place", [GATEWAY + 4, GATEWAY - 32, SECURE_CODE])
def test_non_secure_code_enters_secure_memory_only_at_sg(gateway: BareChip, place: int) -> None:
    """Behind the SG, an SG where none may be entered, code without one."""
    gateway.enter_nonsecure()
    gateway.play(BX_R0, steps=2, r0=place | 1)
    record = gateway.machine.faults[0]
    assert (record.cause, record.reason, record.pc) == ("SecureFault", "INVEP", place)
