"""The system control space, register by register (Armv8-M ARM, D1.2; Cortex-M33 TRM, B2)."""

from __future__ import annotations

import pytest
from bare_chip import BareChip
from system_control import (
    AIRCR,
    BFAR,
    BFHFNMINS,
    CCR,
    CFSR,
    CPACR,
    CPUID,
    FPCCR,
    HFSR,
    ICSR,
    ICTR,
    ISER,
    ISPR,
    ITNS,
    KEY,
    MMFAR,
    NONSECURE_ALIAS,
    NSACR,
    ONES,
    PRIS,
    SAU_CTRL,
    SAU_TYPE,
    SCR,
    SFAR,
    SFSR,
    SHCSR,
    SHPR1,
    SHPR2,
    SHPR3,
    STIR,
    SYSRESETREQ,
    SYSRESETREQS,
    VTOR,
)

MEMFAULT, BUSFAULT, USGFAULT, SECUREFAULT = 1 << 16, 1 << 17, 1 << 18, 1 << 19


@pytest.mark.parametrize(
    ("register", "value"),
    [
        (CPUID, 0x410F_D213),  # Arm, Cortex-M33 r0p3
        (0xE000_ED40, 0x0000_0030),  # ID_PFR0: Thumb-2
        (0xE000_ED44, 0x0000_0210),  # ID_PFR1: the security extension
        (0xE000_ED48, 0x0020_0000),  # ID_DFR0
        (0xE000_ED4C, 0),
        (0xE000_ED50, 0x0010_1F40),  # ID_MMFR0 to 3
        (0xE000_ED54, 0),
        (0xE000_ED58, 0x0100_0000),
        (0xE000_ED5C, 0),
        (0xE000_ED60, 0x0110_1110),  # ID_ISAR0 to 5
        (0xE000_ED64, 0x0221_2000),
        (0xE000_ED68, 0x2023_2232),
        (0xE000_ED6C, 0x0111_1131),
        (0xE000_ED70, 0x0131_0132),
        (0xE000_ED74, 0),
        (0xE000_ED78, 0),  # CLIDR: no caches
        (0xE000_EF40, 0x1011_0021),  # MVFR0 to 2: single precision
        (0xE000_EF44, 0x1100_0011),
        (0xE000_EF48, 0x0000_0040),
        (SAU_TYPE, 0),  # no regions
        (ICTR, 2),  # 65 interrupts
    ],
)
def test_cpuid_identifies_the_processor(chip: BareChip, register: int, value: int) -> None:
    assert chip.read(register) == value
    chip.write(register, ONES)
    assert chip.read(register) == value
    assert {other: chip.read(other) for other in RESET_VALUES} == RESET_VALUES


RESET_VALUES = {
    VTOR: 0, AIRCR: 0xFA05_0000, SCR: 0, CCR: 0x201, SHPR1: 0, SHPR2: 0, SHPR3: 0, SHCSR: 0,
    CFSR: 0, HFSR: 0, MMFAR: 0, BFAR: 0, CPACR: 0, NSACR: 0, SAU_CTRL: 0, SFSR: 0, SFAR: 0,
    FPCCR: 0xC000_0004,
}  # fmt: skip


def test_reset_values(chip: BareChip) -> None:
    assert {register: chip.read(register) for register in RESET_VALUES} == RESET_VALUES


def test_a_reset_restores_reset_values(chip: BareChip) -> None:
    for register in RESET_VALUES:
        chip.write(register, KEY | PRIS | BFHFNMINS | 0x300 if register == AIRCR else 0x00FF_7FE3)
        if register not in (ICSR, AIRCR):
            chip.write(register + NONSECURE_ALIAS, 0x00FF_7FE3)
    chip.machine.reset()
    assert {register: chip.read(register) for register in RESET_VALUES} == RESET_VALUES
    banked = (VTOR, SCR, CCR, SHCSR, CPACR, FPCCR)
    for register in banked:
        shown = 0xC000_0000 if register == FPCCR else RESET_VALUES[register]
        assert chip.read(register + NONSECURE_ALIAS) == shown


def test_the_vector_table_lies_on_128_bytes(chip: BareChip) -> None:
    chip.write(VTOR, 0x2000_1FFF)
    assert chip.read(VTOR) == 0x2000_1F80


def test_scr_has_four_bits_of_which_non_secure_code_has_three(chip: BareChip) -> None:
    chip.write(SCR, ONES)
    assert chip.read(SCR) == 0b11110  # SLEEPONEXIT, SLEEPDEEP, SLEEPDEEPS, SEVONPEND
    chip.write(SCR + NONSECURE_ALIAS, ONES)
    assert chip.read(SCR + NONSECURE_ALIAS) == 0b10110


def test_fixed_bits_of_ccr_ignore_writes(chip: BareChip) -> None:
    chip.write(CCR, 0)
    assert chip.read(CCR) == 0x201
    chip.write(CCR, 0x8)
    assert chip.read(CCR) == 0x209


@pytest.mark.parametrize("key", [0, 0x05FB_0000, 0xFA05_0000])
def test_aircr_is_written_with_its_key_alone(chip: BareChip, key: int) -> None:
    chip.write(AIRCR, key | 0x300 | PRIS)
    assert chip.read(AIRCR) == 0xFA05_0000
    chip.write(AIRCR, KEY | 0x300 | PRIS)
    assert chip.read(AIRCR) == 0xFA05_0300 | PRIS


def test_aircr_of_secure_code(chip: BareChip) -> None:
    for value in (0x100, PRIS, BFHFNMINS, SYSRESETREQS, 0x700 | PRIS | SYSRESETREQS, 0):
        chip.write(AIRCR, KEY | value)
        assert chip.read(AIRCR) == 0xFA05_0000 | value


def test_aircr_of_non_secure_code_has_its_grouping_and_readable_bits(chip: BareChip) -> None:
    chip.write(AIRCR, KEY | 0x200 | PRIS | BFHFNMINS | SYSRESETREQS)
    chip.write(AIRCR + NONSECURE_ALIAS, KEY | 0x500)
    assert chip.read(AIRCR + NONSECURE_ALIAS) == 0xFA05_0500 | BFHFNMINS
    assert chip.read(AIRCR) == 0xFA05_0200 | PRIS | BFHFNMINS | SYSRESETREQS


@pytest.mark.parametrize(("secure_only", "resets"), [(0, 1), (SYSRESETREQS, 0)])
def test_non_secure_code_may_reset_unless_it_is_denied(
    chip: BareChip, secure_only: int, resets: int
) -> None:
    chip.write(AIRCR, KEY | secure_only)
    chip.enter_nonsecure()
    chip.write(AIRCR, KEY | SYSRESETREQ)
    chip.machine.run(until_executed=chip.machine.core.executed)
    assert chip.machine.resets == resets


def test_secure_code_may_reset_always(chip: BareChip) -> None:
    chip.write(AIRCR, KEY | SYSRESETREQS | SYSRESETREQ)
    chip.wait(10)
    assert chip.machine.resets == 1


# priorities of the system's exceptions


@pytest.mark.parametrize(
    ("register", "kept"), [(SHPR1, 0xE0E0_E0E0), (SHPR2, 0xE000_0000), (SHPR3, 0xE0E0_00E0)]
)
def test_priorities_have_three_bits(chip: BareChip, register: int, kept: int) -> None:
    """SHPR1: SecureFault to MemManage; SHPR2: SVCall; SHPR3: SysTick, PendSV, DebugMonitor."""
    chip.write(register, ONES)
    assert chip.read(register) == kept


def test_a_priority_is_written_as_a_byte(chip: BareChip) -> None:
    chip.write(SHPR3, 0x2040_0000)
    chip.write(SHPR3 + 3, 0x60, size=1)
    assert chip.read(SHPR3) == 0x6040_0000
    assert chip.read(SHPR3 + 2, size=1) == 0x40
    chip.write(SHPR3 + 2, 0xA080, size=2)
    assert chip.read(SHPR3) == 0xA080_0000


@pytest.mark.parametrize(("shared", "seen"), [(0, 0x00E0_00E0), (BFHFNMINS, 0x00E0_E0E0)])
def test_non_secure_code_has_priorities_of_its_own(chip: BareChip, shared: int, seen: int) -> None:
    """BusFault's where AIRCR.BFHFNMINS gives it; SecureFault's never."""
    chip.write(AIRCR, KEY | shared)
    for register in (SHPR1, SHPR2, SHPR3):
        chip.write(register + NONSECURE_ALIAS, ONES)
    assert chip.read(SHPR1 + NONSECURE_ALIAS) == seen
    assert chip.read(SHPR2 + NONSECURE_ALIAS) == 0xE000_0000
    assert chip.read(SHPR3 + NONSECURE_ALIAS) & 0xFFFF_FF00 == 0xE0E0_0000
    assert chip.read(SHPR1) & 0xFFFF_00FF == 0
    assert chip.read(SHPR2) == 0


# what is pending and active

PENDING = {"PendSV": (ICSR, 28, 27, 14), "SysTick": (ICSR, 26, 25, 15), "NMI": (ICSR, 31, 30, 2)}


@pytest.mark.parametrize("name", PENDING)
def test_icsr_sets_and_clears_pending_exceptions(masked: BareChip, name: str) -> None:
    register, setting, clearing, number = PENDING[name]
    masked.write(register, 1 << setting)
    assert masked.read(register) >> setting & 1
    assert masked.read(register) >> 12 & 0x1FF == number  # VECTPENDING
    masked.write(register, 0)
    assert masked.read(register) >> setting & 1
    masked.write(register, 1 << clearing)
    assert not masked.read(register) >> setting & 1
    assert masked.read(register) >> 12 & 0x1FF == 0


def test_icsr_has_vectpending_and_isrpending(masked: BareChip) -> None:
    assert masked.read(ICSR) & (1 << 22 | 0x1FF << 12 | 0x1FF) == 0
    masked.write(ICSR, 1 << 28)
    assert not masked.read(ICSR) >> 22 & 1
    masked.write(ISPR, 1 << 5)
    masked.write(ISER, 1 << 5)
    masked.write(SHPR3, 0x0020_0000)
    assert masked.read(ICSR) >> 22 & 1  # ISRPENDING
    assert masked.read(ICSR) >> 12 & 0x1FF == 16 + 5


def test_icsr_has_vectactive_and_rettobase(chip: BareChip) -> None:
    chip.write(SHPR3, 0x2040_0000)
    chip.write(ICSR, 1 << 28)
    chip.wait(1)
    assert chip.read(ICSR) & 0x1FF == 14
    assert chip.read(ICSR) >> 11 & 1  # RETTOBASE
    chip.write(ICSR, 1 << 26)
    chip.wait(1)
    assert chip.read(ICSR) & 0x1FF == 15
    assert not chip.read(ICSR) >> 11 & 1


def test_non_secure_code_sees_its_own_pending_exceptions(masked: BareChip) -> None:
    masked.write(ICSR, 1 << 28)
    masked.write(ICSR, 1 << 31)
    assert masked.read(ICSR + NONSECURE_ALIAS) & (1 << 28 | 1 << 31 | 0x1FF << 12) == 0
    masked.write(ICSR + NONSECURE_ALIAS, 1 << 27 | 1 << 30)
    assert masked.read(ICSR) >> 28 & 1 and masked.read(ICSR) >> 31
    masked.write(ICSR, 1 << 27 | 1 << 30)
    masked.write(ICSR + NONSECURE_ALIAS, 1 << 28 | 1 << 31)
    assert masked.read(ICSR + NONSECURE_ALIAS) >> 28 & 1
    assert masked.read(ICSR + NONSECURE_ALIAS) >> 12 & 0x1FF == 14
    assert not masked.read(ICSR) >> 28 & 1 and not masked.read(ICSR) >> 31


def test_with_bfhfnmins_the_nmi_is_non_secure(masked: BareChip) -> None:
    masked.write(AIRCR, KEY | BFHFNMINS)
    masked.write(ICSR + NONSECURE_ALIAS, 1 << 31)
    assert masked.read(ICSR + NONSECURE_ALIAS) >> 31


@pytest.mark.parametrize(("number", "exists"), [(0, True), (5, True), (64, True), (65, False)])
def test_stir_pends_an_interrupt(masked: BareChip, number: int, exists: bool) -> None:
    masked.write(STIR, number)
    assert bool(masked.read(ISPR + 4 * (number // 32)) >> number % 32 & 1) is exists
    assert masked.read(STIR) == 0


def test_non_secure_code_pends_its_own_interrupts_alone(masked: BareChip) -> None:
    masked.write(ITNS, 1 << 5)
    for number in (4, 5):
        masked.write(STIR + NONSECURE_ALIAS, number)
    assert masked.read(ISPR) == 1 << 5


# faults: enabled, pending, active

ENABLES = {"MemManage": (16, 13, 0), "BusFault": (17, 14, 1), "UsageFault": (18, 12, 3)}


@pytest.mark.parametrize("name", ENABLES)
def test_shcsr_has_enable_pending_and_active_bits(masked: BareChip, name: str) -> None:
    enable, pending, active = ENABLES[name]
    for bit in (enable, pending):
        masked.write(SHCSR, 1 << bit)
        assert masked.read(SHCSR) == 1 << bit
        masked.write(SHCSR, 0)
        assert masked.read(SHCSR) == 0
    masked.write(SHCSR, 1 << active)
    assert masked.read(SHCSR) == 1 << active
    masked.write(SHCSR, 0)


@pytest.mark.parametrize(
    ("bit", "told_as"),
    [(4, 4), (7, 7), (10, 10), (11, 11), (15, 15), (19, 19), (20, 20), (5, None), (8, None),
     (21, None), (2, None)],
)  # fmt: skip
def test_shcsr_has_bits_for_each_system_exception_and_not_all_are_written(
    masked: BareChip, bit: int, told_as: int | None
) -> None:
    """SecureFault (4, 19, 20), SVCall (7, 15), PendSV (10), SysTick (11); not NMI, HardFault."""
    masked.write(SHCSR, 1 << bit)
    assert masked.read(SHCSR) == (0 if told_as is None else 1 << told_as)
    masked.write(SHCSR, 0)
    assert masked.read(SHCSR) == 0


def test_shcsr_of_non_secure_code_has_its_own_and_granted_bits(chip: BareChip) -> None:
    chip.write(SHCSR, MEMFAULT | BUSFAULT | SECUREFAULT)
    assert chip.read(SHCSR + NONSECURE_ALIAS) == 0
    chip.write(SHCSR + NONSECURE_ALIAS, MEMFAULT | BUSFAULT | USGFAULT | SECUREFAULT)
    assert chip.read(SHCSR + NONSECURE_ALIAS) == MEMFAULT | USGFAULT
    chip.write(SHCSR + NONSECURE_ALIAS, 0)
    assert chip.read(SHCSR) == MEMFAULT | BUSFAULT | SECUREFAULT
    chip.write(AIRCR, KEY | BFHFNMINS)
    assert chip.read(SHCSR + NONSECURE_ALIAS) == BUSFAULT
    chip.write(SHCSR + NONSECURE_ALIAS, USGFAULT)
    assert chip.read(SHCSR) == MEMFAULT | SECUREFAULT
