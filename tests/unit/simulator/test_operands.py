"""Addresses that are not aligned, divisions by zero (Armv8-M ARM, "Alignment behavior"; CCR)."""

from __future__ import annotations

import pytest
from bare_chip import CODE, BareChip
from hypothesis import given
from hypothesis import strategies as st

from harness.elf import Image
from harness.simulator import snapshot

CCR, CPACR, SHCSR = 0xE000_ED14, 0xE000_ED88, 0xE000_ED24
UNALIGN_TRP, DIV_0_TRP = 1 << 3, 1 << 4
RAM, FLASH_CODE = 0x2000_1000, 0x0004_0000
P0_OUT, SCS = 0x5084_2504, 0xE000_ED08

#: Halfwords by source; r0 is the address. Words that must be aligned always.
WORDS = {
    "ldrd r2, r3, [r0]": (0xE9D0, 0x2300),
    "strd r2, r3, [r0, #8]": (0xE9C0, 0x2302),
    "ldrd r2, r3, [r0], #8": (0xE8F0, 0x2302),
    "strd r2, r3, [r0, #-8]!": (0xE960, 0x2302),
    "ldmia r0, {r2, r3}": (0xE890, 0x000C),
    "ldmia.w r0!, {r2, r8}": (0xE8B0, 0x0104),
    "ldmdb r0, {r2, r3}": (0xE910, 0x000C),
    "stmia r0!, {r2, r3}": (0xC00C,),
    "stmdb r0, {r2, r3}": (0xE900, 0x000C),
    "vldr s0, [r0]": (0xED90, 0x0A00),
    "vstr s0, [r0, #4]": (0xED80, 0x0A01),
    "vldr d0, [r0]": (0xED90, 0x0B00),
    "vstr d0, [r0]": (0xED80, 0x0B00),
    "vldmia r0!, {s0}": (0xECB0, 0x0A01),
    "vstmia r0, {s0-s3}": (0xEC80, 0x0A04),
    "vldmdb r0!, {d0}": (0xED30, 0x0B02),
    "ldrex r2, [r0]": (0xE850, 0x2F00),
    "strex r4, r2, [r0]": (0xE840, 0x2400),
    "lda r2, [r0]": (0xE8D0, 0x2FAF),
    "stl r2, [r0]": (0xE8C0, 0x2FAF),
    "ldaex r2, [r0]": (0xE8D0, 0x2FEF),
    "stlex r4, r2, [r0]": (0xE8C0, 0x2FE4),
}
HALFWORDS = {
    "ldrexh r2, [r0]": (0xE8D0, 0x2F5F),
    "strexh r4, r2, [r0]": (0xE8C0, 0x2F54),
    "ldah r2, [r0]": (0xE8D0, 0x2F9F),
    "stlh r2, [r0]": (0xE8C0, 0x2F9F),
}
#: Allowed at any address, but for CCR.UNALIGN_TRP.
TRAPPED_WORDS = {
    "ldr r2, [r0]": (0x6802,),
    "ldr.w r2, [r0]": (0xF8D0, 0x2000),
    "str r2, [r0]": (0x6002,),
    "ldr r2, [r0, r1]": (0x5842,),
    "ldr.w r2, [r0, r1, lsl #2]": (0xF850, 0x2021),
    "ldr r2, [r0], #4": (0xF850, 0x2B04),
    "str r2, [r0, #4]!": (0xF840, 0x2F04),
}
TRAPPED_HALFWORDS = {
    "ldrh r2, [r0]": (0x8802,),
    "strh r2, [r0]": (0x8002,),
    "ldrsh r2, [r0]": (0xF9B0, 0x2000),
    "ldrht r2, [r0]": (0xF830, 0x2E00),
}
BYTES = {"ldrb r2, [r0]": (0x7802,), "ldrexb r2, [r0]": (0xE8D0, 0x2F4F)}
DIVISIONS = {"sdiv r2, r3, r0": (0xFB93, 0xF2F0), "udiv r2, r3, r0": (0xFBB3, 0xF2F0)}

anywhere = pytest.mark.parametrize("place", [CODE, FLASH_CODE], ids=["in RAM", "in flash"])


@pytest.fixture
def chip(waiting: Image):
    made = BareChip(waiting)
    made.write(CPACR, 0xF << 20)
    made.write(SHCSR, 7 << 16)
    yield made
    made.machine.close()


def faults(chip: BareChip, *code: int, steps: int = 1, **state: int) -> list[tuple[str, int]]:
    """Reason and pc of each fault in ``steps`` instructions."""
    chip.machine.faults.clear()
    chip.play(*code, steps=steps, **state)
    return [(fault.reason, fault.pc) for fault in chip.machine.faults]


@anywhere
@pytest.mark.parametrize("code", WORDS.values(), ids=WORDS)
def test_a_word_that_must_be_aligned(chip: BareChip, code: tuple[int, ...], place: int) -> None:
    for off in (1, 2, 3):
        assert faults(chip, *code, at=place, r0=RAM + off) == [("UNALIGNED", place)]
    assert faults(chip, *code, at=place, r0=RAM + 4) == []


@pytest.mark.parametrize("code", HALFWORDS.values(), ids=HALFWORDS)
def test_a_halfword_that_must_be_aligned(chip: BareChip, code: tuple[int, ...]) -> None:
    assert faults(chip, *code, r0=RAM + 1) == [("UNALIGNED", CODE)]
    assert faults(chip, *code, r0=RAM + 2) == []


@anywhere
@pytest.mark.parametrize("code", TRAPPED_WORDS.values(), ids=TRAPPED_WORDS)
def test_a_word_is_aligned_where_ccr_demands_it(
    chip: BareChip, code: tuple[int, ...], place: int
) -> None:
    assert faults(chip, *code, at=place, r0=RAM + 2, r1=0) == []
    chip.write(CCR, UNALIGN_TRP)
    assert faults(chip, *code, at=place, r0=RAM + 2, r1=0) == [("UNALIGNED", place)]
    assert faults(chip, *code, at=place, r0=RAM + 4, r1=0) == []
    chip.write(CCR, 0)
    assert faults(chip, *code, at=place, r0=RAM + 2, r1=0) == []


@pytest.mark.parametrize("code", TRAPPED_HALFWORDS.values(), ids=TRAPPED_HALFWORDS)
def test_a_halfword_is_aligned_where_ccr_demands_it(chip: BareChip, code: tuple[int, ...]) -> None:
    assert faults(chip, *code, r0=RAM + 1) == []
    chip.write(CCR, UNALIGN_TRP)
    assert faults(chip, *code, r0=RAM + 1) == [("UNALIGNED", CODE)]
    assert faults(chip, *code, r0=RAM + 2) == []


@pytest.mark.parametrize("code", BYTES.values(), ids=BYTES)
def test_a_byte_is_always_aligned(chip: BareChip, code: tuple[int, ...]) -> None:
    chip.write(CCR, UNALIGN_TRP)
    assert faults(chip, *code, r0=RAM + 1) == []


@anywhere
@pytest.mark.parametrize("code", DIVISIONS.values(), ids=DIVISIONS)
def test_a_division_by_zero_traps_where_ccr_demands_it(
    chip: BareChip, code: tuple[int, ...], place: int
) -> None:
    assert faults(chip, *code, at=place, r0=0, r2=7, r3=9) == []
    assert chip.machine.registers["r2"] == 0
    chip.write(CCR, DIV_0_TRP)
    assert faults(chip, *code, at=place, r0=0, r3=9) == [("DIVBYZERO", place)]
    assert faults(chip, *code, at=place, r0=3, r3=9) == []
    assert chip.machine.registers["r2"] == 3


@pytest.mark.parametrize("address", [P0_OUT + 1, P0_OUT + 2, SCS + 2])
@pytest.mark.parametrize("code", [(0x6802,), (0x6002,)], ids=["ldr", "str"])
def test_device_memory_takes_aligned_accesses_only(
    chip: BareChip, code: tuple[int, ...], address: int
) -> None:
    assert faults(chip, *code, r0=address) == [("UNALIGNED", CODE)]


DERIVED = {
    "add r3, r0, r1": (0xEB00, 0x0301),
    "add.w r3, r0, r1, lsl #2": (0xEB00, 0x0381),
    "bic r3, r0, #3": (0xF020, 0x0303),
    "sub r3, r0, r1": (0xEBA0, 0x0301),
    "ldr r3, [r0, r1]": (0x5843,),
    "mul r3, r0, r1": (0xFB00, 0xF301),
}
LDRD_R3 = (0xE9D3, 0x2400)  # ldrd r2, r4, [r3]


@anywhere
@pytest.mark.parametrize("code", DERIVED.values(), ids=DERIVED)
@pytest.mark.parametrize(("r0", "r1"), [(RAM, 0), (RAM + 1, 0), (RAM + 1, 3), (RAM, 2), (RAM, 1)])
def test_an_address_that_is_computed_just_before(
    chip: BareChip, code: tuple[int, ...], place: int, r0: int, r1: int
) -> None:
    chip.machine.write_memory(RAM, bytes(range(16)) * 2)
    chip.play(*code, steps=1, at=place, r0=r0, r1=r1)  # alone
    r3 = chip.machine.registers["r3"]
    if not RAM <= r3 < RAM + 64:
        return
    after = place + 2 * len(code)
    expected = [("UNALIGNED", after)] if r3 & 3 else []
    assert faults(chip, *code, *LDRD_R3, steps=2, at=place, r0=r0, r1=r1) == expected


def test_an_instruction_that_is_not_executed_does_not_fault(chip: BareChip) -> None:
    ldrdne = (0x4280, 0xBF18, 0xE9D1, 0x2300)  # cmp r0, r0; it ne; ldrdne r2, r3, [r1]
    assert faults(chip, *ldrdne, 0x2401, steps=4, r0=0, r1=RAM + 1, r4=9) == []
    assert chip.machine.registers["r4"] == 1
    cmp_r0_1 = 0x2801
    assert faults(chip, cmp_r0_1, *ldrdne[1:], steps=3, r0=0, r1=RAM + 1) == [
        ("UNALIGNED", CODE + 4)
    ]


@pytest.mark.parametrize(("r1", "fault"), [(0, True), (1, False)])
def test_a_base_that_is_written_on_a_condition(chip: BareChip, r1: int, fault: bool) -> None:
    code = (0x2900, 0xBF08, 0x4603, *LDRD_R3)  # cmp r1, #0; it eq; moveq r3, r0; ldrd ...
    expected = [("UNALIGNED", CODE + 6)] if fault else []
    assert faults(chip, *code, steps=4, r0=RAM + 2, r1=r1, r3=RAM) == expected


@anywhere
def test_a_loop_that_moves_the_base_by_a_halfword(chip: BareChip, place: int) -> None:
    code = (0xE9D0, 0x2300, 0x3002, 0x3901, 0xD1FA)  # ldrd; adds r0, #2; subs r1, #1; bne
    assert faults(chip, *code, steps=40, at=place, r0=RAM, r1=9) == [("UNALIGNED", place)]
    assert chip.machine.registers["r1"] == 8


@anywhere
def test_a_loop_that_moves_the_base_by_words(chip: BareChip, place: int) -> None:
    code = (0xECB0, 0x0A01, 0x3901, 0xD1FB)  # vldmia r0!, {s0}; subs r1, #1; bne
    assert faults(chip, *code, steps=3 * 1000, at=place, r0=RAM, r1=1000) == []
    assert chip.machine.registers["r0"] == RAM + 4000
    assert faults(chip, *code, steps=3, at=place, r0=RAM + 1, r1=3) == [("UNALIGNED", place)]


#: Instructions on r0 to r4, of which the last one of a program may need an aligned base.
MIXED = (
    (0x1840,), (0x1A40,), (0x1C80,), (0x1E40,), (0x0040,), (0x0080,), (0x4240,), (0x4608,),
    (0xEB00, 0x0081), (0xEB01, 0x0040), (0xF100, 0x0003), (0xF020, 0x0003), (0xF020, 0x0001),
    (0xF200, 0x0001), (0x0840,), (0xBF08, 0x4608), (0xBF18, 0x3001), (0x2803,), (0x2000,),
)  # fmt: skip


@pytest.mark.slow
@given(st.lists(st.sampled_from(MIXED), max_size=6), st.integers(0, 7), st.integers(0, 7))
def test_the_check_on_entry_agrees_with_single_steps(
    waiting: Image, parts: list[tuple[int, ...]], r0: int, r1: int
) -> None:
    code = (*(half for part in parts for half in part), 0xF000, 0x001F, 0xF040, 0x5000)
    code = (*code, 0xF500, 0x5080, 0xE9D0, 0x2300)  # into RAM; ldrd r2, r3, [r0]
    count = 4 + sum(2 if part[0] >> 8 == 0xBF else 1 for part in parts)
    outcomes = []
    for pace in (count, 1):
        chip = BareChip(waiting)
        chip.write(SHCSR, 7 << 16)
        chip.play(*code, steps=0, at=FLASH_CODE, r0=r0, r1=r1)
        for _ in range(count // pace):
            chip.machine.run(until_executed=chip.machine.core.executed + pace)
        outcomes.append([(fault.reason, fault.pc) for fault in chip.machine.faults])
        registers = dict(chip.machine.registers)
        outcomes.append(registers)
        chip.machine.close()
    assert outcomes[:2] == outcomes[2:]


def test_a_restored_machine_traps_as_the_one_that_was_saved(chip: BareChip, waiting: Image) -> None:
    chip.write(CCR, UNALIGN_TRP)
    saved = snapshot.take(chip.machine)
    other = BareChip(waiting)
    snapshot.restore(other.machine, saved)
    assert faults(other, 0x6802, r0=RAM + 2) == [("UNALIGNED", CODE)]  # ldr r2, [r0]
    other.machine.close()
