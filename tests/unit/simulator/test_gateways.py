"""Calls and returns between the states, TT, and FP contexts (Armv8-M ARM, B3.19, B3.20, C2.4)."""

from __future__ import annotations

import struct

import pytest
from bare_chip import BareChip

from harness.simulator.library import Reg

SECURE_CODE, NONSECURE_CODE = 0x2000_4000, 0x2002_0000
STACK, NONSECURE_STACK = 0x2000_9000, 0x2002_9000
RAM, SPU, NONSECURE_ALIAS = 0x2000_0000, 0x5000_3000, 0x2_0000
ICSR, SHCSR, CFSR, SFSR, CPACR, NSACR, FPCCR = (
    0xE000_ED00 + n for n in (0x04, 0x24, 0x28, 0xE4, 0x88, 0x8C, 0x234)
)
FNC_RETURN = 0xFEFF_FFFF
BXNS_R0, BLXNS_R0, BX_R0, BX_LR, NOP = 0x4704, 0x4784, 0x4700, 0x4770, 0xBF00
MSPLIM, PSPLIM, CONTROL = 0x880A, 0x880B, 0x8814
SPSEL, FPCA, SFPA = 2, 4, 8
THUMB, SFPA_SAVED = 1 << 24, 1 << 20
PENDSV = 14


@pytest.fixture
def worlds(chip: BareChip) -> BareChip:
    """A chip in two worlds; secure code runs."""
    chip.divide()
    chip.write(SHCSR, 0xF << 16)
    chip.write(CPACR, 0x00F0_0000)
    chip.write(CPACR + NONSECURE_ALIAS, 0x00F0_0000)
    chip.write(NSACR, 0xC00)
    chip.machine.write_memory(NONSECURE_CODE, struct.pack("<2H", BX_LR, 0xE7FE))
    chip.enter_nonsecure()
    chip.machine.core.write(Reg.MSP, NONSECURE_STACK)
    chip.machine.worlds.change()
    chip.machine.core.write(Reg.MSP, STACK)
    return chip


def secure(chip: BareChip, *code: int, steps: int = 1, **registers: int) -> None:
    chip.play(*code, steps=steps, at=SECURE_CODE, **registers)


def step(chip: BareChip) -> None:
    chip.machine.run(until_executed=chip.machine.core.executed + 1)


def state(chip: BareChip) -> tuple[bool, int, int]:
    """Is it the non-secure one; pc and sp."""
    now = chip.machine.registers
    return chip.machine.worlds.nonsecure, now["pc"], now["sp"]


# calls


def test_blxns_leaves_its_return_on_the_secure_stack_and_none_of_it_in_lr(
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


def test_a_handler_that_calls_hides_which_exception_it_is(worlds: BareChip) -> None:
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


def test_bxns_goes_without_a_return(worlds: BareChip) -> None:
    secure(worlds, BXNS_R0, r0=NONSECURE_CODE, lr=0x1235)
    assert state(worlds) == (True, NONSECURE_CODE, NONSECURE_STACK)
    assert worlds.machine.registers["lr"] == 0x1235


@pytest.mark.parametrize(("instruction", "register"), [(0x475C, "r11"), (0x4774, "lr")])
def test_any_register_names_the_target(worlds: BareChip, instruction: int, register: str) -> None:
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
    assert worlds.machine.worlds.nonsecure is fits
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


def test_a_return_that_a_handler_of_its_own_makes_is_refused(worlds: BareChip) -> None:
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


def test_secure_code_that_branches_to_fnc_return_fetches_what_may_not_be_fetched(
    worlds: BareChip,
) -> None:
    secure(worlds, BX_R0, r0=FNC_RETURN)
    record = worlds.machine.faults[0]
    assert (record.cause, record.reason) == ("MemManage", "IACCVIOL")
    assert record.pc == FNC_RETURN - 1


def test_a_return_from_a_stack_that_cannot_be_read_is_a_fault(worlds: BareChip) -> None:
    secure(worlds, BLXNS_R0, r0=NONSECURE_CODE)
    worlds.machine.worlds.change()
    worlds.machine.core.write(Reg.MSP, 0x3000_0000)
    worlds.machine.worlds.change()
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
def test_there_is_no_other_way_in(gateway: BareChip, place: int) -> None:
    """Behind the SG, an SG where none may be entered, code without one."""
    gateway.enter_nonsecure()
    gateway.play(BX_R0, steps=2, r0=place | 1)
    record = gateway.machine.faults[0]
    assert (record.cause, record.reason, record.pc) == ("SecureFault", "INVEP", place)


# FP contexts of secure callers

VLSTM_R0, VLLDM_R0 = (0xEC20, 0x0A00), (0xEC30, 0x0A00)
PLACE = RAM + 0x8000
FLOATS = [0x3F80_0000 + n for n in range(32)]
REGISTERS_OF_FP = [int(Reg.S0) + n for n in range(32)]
FPSCR = 0x0300_0000


@pytest.mark.parametrize("count", [16, 32])
def test_vlstm_saves_and_hides_a_secure_context_that_vlldm_brings_back(
    worlds: BareChip, count: int
) -> None:
    """All 32 registers with FPCCR.TS."""
    core = worlds.machine.core
    worlds.write(FPCCR, 0xC000_0000 | (count == 32) << 26)
    core.write(Reg.CONTROL, FPCA | SFPA)
    core.write_many(REGISTERS_OF_FP, FLOATS)
    core.write(Reg.FPSCR, FPSCR)
    secure(worlds, *VLSTM_R0, r0=PLACE)
    stored = [*FLOATS[:16], FPSCR, 0, *(FLOATS[16:] if count == 32 else ())]
    assert worlds.words(PLACE, len(stored)) == stored
    assert core.read_many(REGISTERS_OF_FP[:count]) == (0,) * count
    assert core.read(Reg.FPSCR) == 0
    assert core.read(Reg.CONTROL) & FPCA == 0
    secure(worlds, *VLLDM_R0, r0=PLACE)
    assert list(core.read_many(REGISTERS_OF_FP[:count])) == FLOATS[:count]
    assert core.read(Reg.FPSCR) == FPSCR
    assert core.read(Reg.CONTROL) & FPCA
    assert worlds.machine.registers["pc"] == SECURE_CODE + 4


@pytest.mark.parametrize("code", [VLSTM_R0, VLLDM_R0])
def test_without_a_secure_context_they_do_nothing(worlds: BareChip, code: tuple[int, int]) -> None:
    core = worlds.machine.core
    core.write_many(REGISTERS_OF_FP, FLOATS)
    core.write(Reg.CONTROL, 0)
    secure(worlds, *code, r0=0x3000_0001)
    assert worlds.machine.faults == []
    assert list(core.read_many(REGISTERS_OF_FP)) == FLOATS
    assert worlds.machine.registers["pc"] == SECURE_CODE + 4


@pytest.mark.parametrize("code", [VLSTM_R0, VLLDM_R0])
@pytest.mark.parametrize(
    ("address", "reason"), [(PLACE + 4, "UNALIGNED"), (0x3000_0000, "PRECISERR, BFARVALID")]
)
def test_their_place_is_aligned_to_eight_and_accessible(
    worlds: BareChip, code: tuple[int, int], address: int, reason: str
) -> None:
    worlds.machine.core.write(Reg.CONTROL, FPCA | SFPA)
    secure(worlds, *code, r0=address)
    record = worlds.machine.faults[0]
    assert (record.reason, record.pc) == (reason, SECURE_CODE)
    if "VALID" in reason:
        assert record.address == address


@pytest.mark.parametrize("code", [VLSTM_R0, VLLDM_R0])
def test_non_secure_code_does_not_have_them(worlds: BareChip, code: tuple[int, int]) -> None:
    worlds.enter_nonsecure()
    worlds.play(*code, steps=1, r0=NONSECURE_CODE + 0x100)
    assert worlds.machine.faults[0].reason == "UNDEFINSTR"


# special registers as non-secure code sees them

MSP_NS, PSP_NS, PRIMASK_NS, CONTROL_NS, SP_NS = 0x88, 0x89, 0x90, 0x94, 0x98


@pytest.mark.parametrize("number", [MSP_NS, PSP_NS, PRIMASK_NS, CONTROL_NS, SP_NS])
def test_the_non_secure_names_are_the_secure_states_alone(worlds: BareChip, number: int) -> None:
    worlds.enter_nonsecure()
    worlds.play(0xF380, 0x8800 | number, steps=1, r0=0xFFFF_FFF8)
    worlds.play(0xF3EF, 0x8100 | number, steps=1, r1=0x5555)  # mrs r1, ...
    assert worlds.machine.registers["r1"] == 0
    assert state(worlds) == (True, NONSECURE_CODE + 4, NONSECURE_STACK)
    assert worlds.machine.faults == []


@pytest.mark.parametrize(
    ("before", "written", "after"),
    [(0, 0, 0), (0, 2, 2), (0, 7, 7), (0, 1, 1), (1, 0, 1), (3, 0, 3)],
)
def test_control_of_non_secure_code_has_three_bits(
    worlds: BareChip, before: int, written: int, after: int
) -> None:
    """Unprivileged code does not change them; SFPA is not shown."""
    core = worlds.machine.core
    worlds.enter_nonsecure()
    core.write(Reg.PSP, NONSECURE_STACK)
    core.write(Reg.CONTROL, before | SFPA)
    worlds.play(0xF380, CONTROL, steps=1, r0=written | SFPA)
    worlds.play(0xF3EF, 0x8114, steps=1)
    assert worlds.machine.registers["r1"] == after


# TT

S, NSRW, NSR, RW, R = 1 << 22, 1 << 21, 1 << 20, 1 << 19, 1 << 18
IRVALID, MRVALID = 1 << 23, 1 << 16
TT, TTT, TTA, TTAT = 0xF100, 0xF140, 0xF180, 0xF1C0
MPU_CTRL, MPU_RNR, MPU_RBAR, MPU_RLAR = 0xE000_ED94, 0xE000_ED98, 0xE000_ED9C, 0xE000_EDA0


def told(chip: BareChip, instruction: int, address: int, at: int = SECURE_CODE) -> int:
    """``tt r1, r0``, or another of its kind."""
    chip.play(0xE840, instruction, steps=1, at=at, r0=address, r1=0x5555)
    return chip.machine.registers["r1"]


@pytest.mark.parametrize(
    ("address", "answer"),
    [
        (RAM, S | RW | R | IRVALID | 64 << 24),
        (RAM + 0x3_FFFF, NSRW | NSR | RW | R | IRVALID | 95 << 24),
        (RAM + 0x2_0000, NSRW | NSR | RW | R | IRVALID | 80 << 24),
        (0x0000_7FFF, S | RW | R | IRVALID),
        (0x0000_8000, S | RW | R | IRVALID | 1 << 24),
        (0x000F_FFFF, S | RW | R | IRVALID | 31 << 24),
        (0x5000_8000, S | RW | R),
        (0x4000_8000, NSRW | NSR | RW | R),
        (0x3000_0000, NSRW | NSR | RW | R),
        (0x00FF_0000, S | RW | R),
    ],
)
def test_tt_tells_whose_an_address_is_and_in_which_region(
    worlds: BareChip, address: int, answer: int
) -> None:
    assert told(worlds, TT, address) == answer


def regions(chip: BareChip, alias: int) -> None:
    """3: open to all; 4: read-only; 5: privileged; 6 and 7 overlap; none behind."""
    rows = [(3, 0, 1), (4, 0x100, 3), (5, 0x200, 0), (6, 0x300, 1), (7, 0x320, 1)]
    for number, offset, permission in rows:
        chip.write(MPU_RNR + alias, number)
        chip.write(MPU_RBAR + alias, PLACE + offset | permission << 1)
        chip.write(MPU_RLAR + alias, PLACE + offset + 0xE0 | 1)
    chip.write(MPU_CTRL + alias, 1 | 4)  # with the background for privileged code


@pytest.mark.parametrize(
    ("offset", "privileged", "unprivileged"),
    [
        (0x00, RW | R | MRVALID | 3, RW | R | MRVALID | 3),
        (0xFF, RW | R | MRVALID | 3, RW | R | MRVALID | 3),
        (0x100, R | MRVALID | 4, R | MRVALID | 4),
        (0x200, RW | R | MRVALID | 5, MRVALID | 5),
        (0x340, 0, 0),
        (0x500, RW | R, 0),
    ],
)
def test_tt_and_ttt_tell_what_the_mpu_allows(
    worlds: BareChip, offset: int, privileged: int, unprivileged: int
) -> None:
    regions(worlds, 0)
    known = S | IRVALID | 68 << 24
    assert told(worlds, TT, PLACE + offset) == known | privileged
    assert told(worlds, TTT, PLACE + offset) == known | unprivileged


@pytest.mark.parametrize("offset", [0x00, 0x200])
def test_tta_and_ttat_ask_the_other_states_mpu(worlds: BareChip, offset: int) -> None:
    regions(worlds, NONSECURE_ALIAS)
    known = S | IRVALID | 68 << 24
    number = 3 if offset == 0 else 5
    assert told(worlds, TTA, PLACE + offset) == known | RW | R | MRVALID | number
    unprivileged = MRVALID | number | (RW | R) * (offset == 0)
    assert told(worlds, TTAT, PLACE + offset) == known | unprivileged
    assert told(worlds, TT, PLACE + offset) == known | RW | R


def test_non_secure_code_is_told_of_its_own_mpu_alone(worlds: BareChip) -> None:
    regions(worlds, NONSECURE_ALIAS)
    worlds.write(MPU_RNR + NONSECURE_ALIAS, 0)
    worlds.write(MPU_RBAR + NONSECURE_ALIAS, NONSECURE_CODE)
    worlds.write(MPU_RLAR + NONSECURE_ALIAS, NONSECURE_CODE + 0xE0 | 1)
    worlds.enter_nonsecure()
    assert told(worlds, TT, PLACE, NONSECURE_CODE) == RW | R | MRVALID | 3
    assert told(worlds, TTT, PLACE + 0x200, NONSECURE_CODE) == MRVALID | 5


@pytest.mark.parametrize("instruction", [TTA, TTAT])
def test_non_secure_code_may_not_ask_for_the_other_state(
    worlds: BareChip, instruction: int
) -> None:
    worlds.enter_nonsecure()
    told(worlds, instruction, PLACE, NONSECURE_CODE)
    assert worlds.machine.faults[0].reason == "UNDEFINSTR"


def test_unprivileged_code_is_not_told_of_the_mpu(worlds: BareChip) -> None:
    secure(worlds, 0xF380, CONTROL, r0=1)
    assert told(worlds, TT, PLACE) == S | IRVALID | 68 << 24


def test_tt_asks_of_any_register_and_answers_in_any(worlds: BareChip) -> None:
    worlds.play(0xE84B, 0xFC00, steps=1, at=SECURE_CODE, r11=RAM)  # tt r12, r11
    assert worlds.machine.registers["r12"] == S | RW | R | IRVALID | 64 << 24
    worlds.play(0xE84E, 0xFE00, steps=1, at=SECURE_CODE, lr=RAM)  # tt lr, lr
    assert worlds.machine.registers["lr"] == S | RW | R | IRVALID | 64 << 24


# what a branch by BXNS may mean, besides an address


def test_bxns_to_an_exc_return_is_a_return_in_a_handler(worlds: BareChip) -> None:
    worlds.write(ICSR, 1 << 28)
    step(worlds)
    link = worlds.machine.registers["lr"]
    before = worlds.words(worlds.machine.registers["sp"] + 24, 1)
    secure(worlds, BXNS_R0, r0=link, sp=worlds.machine.registers["sp"])
    assert worlds.running == 0
    assert [worlds.machine.registers["pc"]] == before


def test_in_thread_mode_it_is_an_address_like_any(worlds: BareChip) -> None:
    secure(worlds, BXNS_R0, steps=2, r0=0xFFFF_FFF9)
    record = worlds.machine.faults[0]
    assert (record.reason, record.pc) == ("IACCVIOL", 0xFFFF_FFF8)
