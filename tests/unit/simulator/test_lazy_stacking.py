"""Floating-point contexts that are stacked later (Armv8-M ARM, B3; D1.2, FPCCR, FPCAR).

tests/witness/floats.c asks the same of one security state.
"""

from __future__ import annotations

import pytest
from bare_chip import BareChip
from exception_chip import (
    CODE,
    CPACR,
    FLOATS,
    FPCCR,
    FPSCR,
    IRQ,
    ITNS,
    LAZY,
    NONSECURE_ALIAS,
    NONSECURE_RAM,
    NSACR,
    REGISTERS_OF_FP,
    SFSR,
    SHCSR,
    Code,
    ExceptionChip,
    check_back,
    frame,
    frame_address,
)
from gateway_chip import SECURE_CODE, secure

FPCAR, MPU, SFAR = 0xE000_EF38, 0xE000_ED94, 0xE000_EDE8
ONES = 0xFFFF_FFFF
LSPEN, LSPENS, CLRONRET, CLRONRETS, TS, LSPACT = (1 << n for n in (30, 29, 28, 27, 26, 0))
VMOV = (0xEE00, 0x0A10)  # vmov s0, r0
VLSTM_R0, VLLDM_R0 = (0xEC20, 0x0A00), (0xEC30, 0x0A00)
FLOATING = [Code(nonsecure, place, floats=True) for nonsecure in (False, True)
            for place in ("main", "process", "handler")]  # fmt: skip
UNUSED = 0x5A5A_5A5A


def context_at(code: Code, *, everything: bool = False) -> int:
    return frame_address(code, frame(code, all_floats=everything)) + 32


def deferred(both: ExceptionChip, code: Code, *, nonsecure: bool = False, fpccr: int = LAZY) -> int:
    """Interrupt ``code``; gives the address of its context."""
    both.chip.write(FPCCR, fpccr)
    both.chip.write(ITNS, nonsecure << 5)
    both.chip.write(SHCSR, 0xF << 16)
    both.chip.write(SHCSR + NONSECURE_ALIAS, 0x5 << 16)
    both.chip.write(0xE000_E405, 0x40, size=1)  # less urgent than faults
    place = context_at(code, everything=bool(fpccr & TS) and not code.nonsecure)
    both.machine.write_memory(place, UNUSED.to_bytes(4, "little") * 34)
    both.go_to(code)
    both.interrupt()
    return place


def use(both: ExceptionChip, *code: int, **registers: int) -> None:
    """One instruction in the handler."""
    ram = NONSECURE_RAM * both.core.nonsecure
    both.chip.play(*code, steps=1, at=CODE + ram + 0x100, **registers)


def bank(code: Code) -> int:
    return NONSECURE_ALIAS * code.nonsecure


@pytest.mark.parametrize("code", FLOATING, ids=str)
@pytest.mark.parametrize("nonsecure", [False, True])
def test_a_context_that_no_handler_uses_stays_in_its_registers(
    both: ExceptionChip, code: Code, nonsecure: bool
) -> None:
    place = deferred(both, code, nonsecure=nonsecure)
    words = both.machine.engine.scb[code.nonsecure]
    assert both.chip.words(place, 34) == [UNUSED] * 34
    assert (words.fpcar, words.fpccr & LSPACT) == (place, LSPACT)
    assert list(both.core.read_many(REGISTERS_OF_FP[:16])) == FLOATS[:16]
    both.leave()
    assert words.fpccr & LSPACT == 0
    check_back(both, code)


@pytest.mark.parametrize("code", FLOATING, ids=str)
@pytest.mark.parametrize("nonsecure", [False, True])
def test_the_first_instruction_that_uses_floating_point_stores_it(
    both: ExceptionChip, code: Code, nonsecure: bool
) -> None:
    place = deferred(both, code, nonsecure=nonsecure)
    use(both, *VMOV, r0=0x1234)
    assert both.chip.words(place, 18) == [*FLOATS[:16], FPSCR, 0]
    assert both.machine.engine.scb[code.nonsecure].fpccr & LSPACT == 0
    hidden = nonsecure and not code.nonsecure
    assert both.core.read_many(REGISTERS_OF_FP[:2]) == (0x1234, 0 if hidden else FLOATS[1])
    assert both.machine.faults == []


@pytest.mark.parametrize("nonsecure", [False, True])
def test_with_ts_all_of_a_secure_context_is_stored_and_cleared(
    both: ExceptionChip, nonsecure: bool
) -> None:
    place = deferred(both, Code(floats=True), nonsecure=nonsecure, fpccr=LAZY | TS)
    use(both, *VMOV, r0=0x1234)
    assert both.chip.words(place, 34) == [*FLOATS[:16], FPSCR, 0, *FLOATS[16:]]
    assert both.core.read_many(REGISTERS_OF_FP) == (0x1234, *[0] * 31)


def test_vlstm_defers_and_vlldm_finds_the_registers_as_they_were(worlds: BareChip) -> None:
    core, place = worlds.machine.core, 0x2000_8000
    worlds.write(FPCCR, LAZY)
    worlds.machine.write_memory(place, bytes(72))
    secure(worlds, *VMOV, r0=0x4000_0000)
    secure(worlds, *VLSTM_R0, r0=place)
    assert worlds.words(place, 18) == [0] * 18
    assert worlds.read(FPCCR) & LSPACT
    secure(worlds, *VLLDM_R0, r0=place)
    assert worlds.read(FPCCR) & LSPACT == 0
    assert core.read(REGISTERS_OF_FP[0]) == 0x4000_0000
    assert worlds.machine.registers["pc"] == SECURE_CODE + 4


# faults of the store


def test_a_secure_address_refuses_a_non_secure_context(both: ExceptionChip) -> None:
    deferred(both, Code(nonsecure=True, floats=True))
    both.machine.engine.scb[True].fpcar = 0x2000_8000
    use(both, *VMOV)
    assert both.chip.running == 7
    assert both.machine.faults[0].reason == "LSPERR, SFARVALID"
    assert both.chip.read(SFAR) == 0x2000_8000
    assert both.chip.read(FPCCR + NONSECURE_ALIAS) & LSPACT  # it is still deferred


def test_the_mpu_refuses_it_with_the_rights_of_its_own_code(both: ExceptionChip) -> None:
    place = deferred(both, Code(floats=True))
    for register, value in ((4, 0), (8, place & -32 | 2 << 1), (12, place & -32 | 1), (0, 5)):
        both.chip.write(MPU + register, value)
    use(both, *VMOV)
    assert (both.chip.running, both.machine.faults[0].reason) == (4, "MLSPERR")


def test_nothing_answers_there(both: ExceptionChip) -> None:
    deferred(both, Code(floats=True))
    both.chip.write(FPCAR, 0x2FFF_FF00)
    use(both, *VMOV)
    assert (both.chip.running, both.machine.faults[0].reason) == (5, "LSPERR")


def test_a_fault_that_was_not_ready_is_a_hard_fault(both: ExceptionChip) -> None:
    """Though SHCSR and the priority would allow it now."""
    deferred(both, Code(floats=True))
    both.chip.write(FPCAR, 0x2FFF_FF00)
    both.chip.write(FPCCR, both.chip.read(FPCCR) & ~(1 << 6))  # BFRDY
    use(both, *VMOV)
    assert both.chip.running == 3
    assert both.machine.faults[0].status == "LSPERR, FORCED"


def test_a_fault_that_must_wait_does_not_stop_the_instruction(both: ExceptionChip) -> None:
    deferred(both, Code(floats=True))
    both.chip.write(0xE000_ED18, 0x80 << 8)  # BusFault is less urgent now
    both.chip.write(FPCAR, 0x2FFF_FF00)
    use(both, *VMOV, r0=0x1234)
    assert both.chip.running == IRQ
    assert both.core.read(REGISTERS_OF_FP[0]) == 0x1234
    assert both.chip.read(FPCCR) & LSPACT == 0
    assert both.chip.read(SHCSR) >> 14 & 1  # BUSFAULTPENDED


def test_neither_it_nor_a_hard_fault_may_come(both: ExceptionChip) -> None:
    deferred(both, Code(floats=True))
    both.chip.write(0xE000_ED18, 0x80 << 8)
    both.chip.write(FPCAR, 0x2FFF_FF00)
    both.chip.write(FPCCR, both.chip.read(FPCCR) & ~(1 << 4))  # HFRDY
    use(both, *VMOV)
    assert both.machine.faults[0].kind == "Lockup"


def test_cpacr_refuses_the_context_of_code_that_lost_its_right(both: ExceptionChip) -> None:
    deferred(both, Code(floats=True), nonsecure=True)
    both.machine.engine.scb[False].cpacr = 0
    both.core.update_fp_access()
    use(both, *VMOV)
    assert (both.chip.running, both.machine.faults[0].reason) == (6, "NOCP")
    assert both.core.nonsecure is False


# contexts that meet


def test_a_return_to_non_secure_code_finds_a_secure_context_deferred(both: ExceptionChip) -> None:
    deferred(both, Code(nonsecure=True, floats=True))
    both.chip.write(FPCCR, both.chip.read(FPCCR) | LSPACT)
    both.leave()
    assert (both.chip.running, both.machine.faults[0].reason) == (7, "LSERR")


def test_an_exception_of_code_with_a_context_while_another_is_deferred(both: ExceptionChip) -> None:
    both.chip.write(SHCSR, 0xF << 16)
    both.go_to(Code(floats=True))
    both.chip.write(0xE000_E405, 0x40, size=1)
    both.chip.write(FPCCR, LAZY | LSPACT | 1 << 2)
    both.interrupt()
    assert (both.chip.running, both.machine.faults[0].reason) == (7, "LSERR")


def test_clronret_refuses_to_clear_a_deferred_context(both: ExceptionChip) -> None:
    deferred(both, Code(floats=True), fpccr=LAZY | CLRONRET)
    both.core.write(117, 4)  # CONTROL.FPCA, though no instruction set it
    both.leave()
    assert (both.chip.running, both.chip.read(SFSR)) == (7, 1 << 7)


# who may write which bit


def test_fpccr_has_bits_of_one_state_and_bits_of_both(both: ExceptionChip) -> None:
    chip, other = both.chip, FPCCR + NONSECURE_ALIAS
    chip.write(FPCCR, ONES & ~LSPACT)
    assert chip.read(FPCCR) == 0xFC00_07FE
    chip.write(other, ONES & ~LSPACT)
    assert chip.read(other) == 0xD000_072A  # ASPEN, LSPEN, CLRONRET, UFRDY, SPLIMVIOL, MONRDY, ...
    chip.write(FPCCR, 0)
    chip.write(other, 0)
    assert (chip.read(FPCCR), chip.read(other)) == (0, 0)
    chip.write(other, LSPEN | CLRONRET)
    assert chip.read(FPCCR) == LSPEN | CLRONRET


@pytest.mark.parametrize(("keeper", "kept"), [(LSPENS, LSPEN), (CLRONRETS, CLRONRET)])
def test_secure_code_keeps_a_shared_bit_for_itself(
    both: ExceptionChip, keeper: int, kept: int
) -> None:
    both.chip.write(FPCCR, keeper)
    both.chip.write(FPCCR + NONSECURE_ALIAS, LSPEN | CLRONRET)
    assert both.chip.read(FPCCR) & (LSPEN | CLRONRET) == (LSPEN | CLRONRET) & ~kept
    both.chip.write(FPCCR, keeper | kept)
    both.chip.write(FPCCR + NONSECURE_ALIAS, 0)
    assert both.chip.read(FPCCR + NONSECURE_ALIAS) & (LSPEN | CLRONRET) == kept


@pytest.mark.parametrize(("cpacr", "nsacr", "world"), [(0, 1, "non-secure"), (3, 0, "secure")])
def test_who_denies_floating_point_gets_the_fault(
    both: ExceptionChip, cpacr: int, nsacr: int, world: str
) -> None:
    both.chip.write(SHCSR, 0xF << 16)
    both.chip.write(SHCSR + NONSECURE_ALIAS, 0x5 << 16)
    both.chip.write(CPACR + NONSECURE_ALIAS, cpacr << 20)
    both.chip.write(NSACR, nsacr << 10)
    both.go_to(Code(nonsecure=True))
    use(both, *VMOV)
    assert (both.chip.running, both.machine.faults[0].reason) == (6, "NOCP")
    assert both.core.nonsecure is (world == "non-secure")
