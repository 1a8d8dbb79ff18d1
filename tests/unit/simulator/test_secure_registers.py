"""FP contexts of secure callers, special registers, and TT (Armv8-M ARM, B3.20, C2.4)."""

from __future__ import annotations

import pytest
from bare_chip import BareChip
from gateway_chip import (
    CONTROL,
    FPCA,
    FPCCR,
    MPU_CTRL,
    MPU_RBAR,
    MPU_RLAR,
    MPU_RNR,
    NONSECURE_ALIAS,
    NONSECURE_CODE,
    NONSECURE_STACK,
    RAM,
    SECURE_CODE,
    SFPA,
    secure,
    state,
)

from harness.simulator.unicorn import Reg

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
    worlds.write(FPCCR, 0x8000_0000 | (count == 32) << 26)
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
def test_vlstm_and_vlldm_without_a_secure_context_do_nothing(
    worlds: BareChip, code: tuple[int, int]
) -> None:
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
def test_vlstm_needs_an_accessible_address_aligned_to_8(
    worlds: BareChip, code: tuple[int, int], address: int, reason: str
) -> None:
    worlds.write(FPCCR, 0x8000_0000)  # not later
    worlds.machine.core.write(Reg.CONTROL, FPCA | SFPA)
    secure(worlds, *code, r0=address)
    record = worlds.machine.faults[0]
    assert (record.reason, record.pc) == (reason, SECURE_CODE)
    if "VALID" in reason:
        assert record.address == address


@pytest.mark.parametrize("code", [VLSTM_R0, VLLDM_R0])
def test_vlstm_in_the_non_secure_state_is_undefined(
    worlds: BareChip, code: tuple[int, int]
) -> None:
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


@pytest.mark.parametrize("number", [0x11, 0x91])
def test_basepri_has_three_bits(worlds: BareChip, number: int) -> None:
    secure(worlds, 0xF380, 0x8800 | number, r0=0xFF5F)
    secure(worlds, 0xF3EF, 0x8100 | number)
    assert worlds.machine.registers["r0"] == 0xFF5F
    assert worlds.machine.registers["r1"] == 0x40


@pytest.mark.parametrize(
    ("before", "written", "after"), [(0x40, 0x1F, 0x40), (0x40, 0x3F, 0x20), (0, 0x1F, 0)]
)
def test_basepri_max_compares_real_bits(
    worlds: BareChip, before: int, written: int, after: int
) -> None:
    secure(worlds, 0xF380, 0x8811, r0=before)
    secure(worlds, 0xF380, 0x8812, r0=written)
    assert worlds.machine.core.read(Reg.BASEPRI) == after


# TT

S, NSRW, NSR, RW, R = 1 << 22, 1 << 21, 1 << 20, 1 << 19, 1 << 18
IRVALID, MRVALID = 1 << 23, 1 << 16
TT, TTT, TTA, TTAT = 0xF100, 0xF140, 0xF180, 0xF1C0


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
def test_tt_gives_security_and_region(worlds: BareChip, address: int, answer: int) -> None:
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
def test_tt_and_ttt_give_the_mpus_permissions(
    worlds: BareChip, offset: int, privileged: int, unprivileged: int
) -> None:
    regions(worlds, 0)
    known = S | IRVALID | 68 << 24
    assert told(worlds, TT, PLACE + offset) == known | privileged
    assert told(worlds, TTT, PLACE + offset) == known | unprivileged


@pytest.mark.parametrize("offset", [0x00, 0x200])
def test_tta_and_ttat_use_the_mpu_of_the_other_state(worlds: BareChip, offset: int) -> None:
    regions(worlds, NONSECURE_ALIAS)
    known = S | IRVALID | 68 << 24
    number = 3 if offset == 0 else 5
    assert told(worlds, TTA, PLACE + offset) == known | RW | R | MRVALID | number
    unprivileged = MRVALID | number | (RW | R) * (offset == 0)
    assert told(worlds, TTAT, PLACE + offset) == known | unprivileged
    assert told(worlds, TT, PLACE + offset) == known | RW | R


def test_tt_in_non_secure_code_uses_its_own_mpu(worlds: BareChip) -> None:
    regions(worlds, NONSECURE_ALIAS)
    worlds.write(MPU_RNR + NONSECURE_ALIAS, 0)
    worlds.write(MPU_RBAR + NONSECURE_ALIAS, NONSECURE_CODE)
    worlds.write(MPU_RLAR + NONSECURE_ALIAS, NONSECURE_CODE + 0xE0 | 1)
    worlds.enter_nonsecure()
    assert told(worlds, TT, PLACE, NONSECURE_CODE) == RW | R | MRVALID | 3
    assert told(worlds, TTT, PLACE + 0x200, NONSECURE_CODE) == MRVALID | 5


@pytest.mark.parametrize("instruction", [TTA, TTAT])
def test_tta_in_non_secure_code_is_undefined(worlds: BareChip, instruction: int) -> None:
    worlds.enter_nonsecure()
    told(worlds, instruction, PLACE, NONSECURE_CODE)
    assert worlds.machine.faults[0].reason == "UNDEFINSTR"


def test_tt_in_unprivileged_code_gives_no_mpu_permission(worlds: BareChip) -> None:
    secure(worlds, 0xF380, CONTROL, r0=1)
    assert told(worlds, TT, PLACE) == S | IRVALID | 68 << 24


def test_tt_takes_any_registers(worlds: BareChip) -> None:
    worlds.play(0xE84B, 0xFC00, steps=1, at=SECURE_CODE, r11=RAM)  # tt r12, r11
    assert worlds.machine.registers["r12"] == S | RW | R | IRVALID | 64 << 24
    worlds.play(0xE84E, 0xFE00, steps=1, at=SECURE_CODE, lr=RAM)  # tt lr, lr
    assert worlds.machine.registers["lr"] == S | RW | R | IRVALID | 64 << 24
