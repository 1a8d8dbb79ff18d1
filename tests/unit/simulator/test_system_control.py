"""The system control space, register by register (Armv8-M ARM, D1.2; Cortex-M33 TRM, B2)."""

from __future__ import annotations

import pytest
from bare_chip import BareChip

ICTR, SCS, NONSECURE_ALIAS = 0xE000_E004, 0xE000_E000, 0x2_0000
CPUID, ICSR, VTOR, AIRCR, SCR, CCR = (0xE000_ED00 + 4 * n for n in range(6))
SHPR1, SHPR2, SHPR3, SHCSR, CFSR, HFSR = (0xE000_ED18 + 4 * n for n in range(6))
MMFAR, BFAR, CPACR, NSACR = 0xE000_ED34, 0xE000_ED38, 0xE000_ED88, 0xE000_ED8C
SAU_CTRL, SAU_TYPE, SFSR, SFAR, STIR = (0xE000_ED00 + n for n in (0xD0, 0xD4, 0xE4, 0xE8, 0x200))
FPCCR, FPCAR, FPDSCR = 0xE000_EF34, 0xE000_EF38, 0xE000_EF3C
ONES = 0xFFFF_FFFF
KEY = 0x05FA_0000
PRIS, BFHFNMINS, SYSRESETREQS, SYSRESETREQ = 1 << 14, 1 << 13, 1 << 3, 1 << 2
MEMFAULT, BUSFAULT, USGFAULT, SECUREFAULT = 1 << 16, 1 << 17, 1 << 18, 1 << 19
ISER, ICER, ISPR, ICPR, IABR, ITNS, IPR = (
    0xE000_E000 + n for n in (0x100, 0x180, 0x200, 0x280, 0x300, 0x380, 0x400)
)


@pytest.fixture
def masked(chip: BareChip) -> BareChip:
    """PRIMASK is set: what is pended stays pending."""
    chip.play(0xF380, 0x8810, steps=1, r0=1)  # msr primask, r0
    return chip


def bits(chip: BareChip, register: int, mask: int) -> int:
    return chip.read(register) & mask


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
def test_the_processor_says_what_it_is(chip: BareChip, register: int, value: int) -> None:
    assert chip.read(register) == value
    chip.write(register, ONES)
    assert chip.read(register) == value
    assert {other: chip.read(other) for other in RESET_VALUES} == RESET_VALUES


RESET_VALUES = {
    VTOR: 0, AIRCR: 0xFA05_0000, SCR: 0, CCR: 0x201, SHPR1: 0, SHPR2: 0, SHPR3: 0, SHCSR: 0,
    CFSR: 0, HFSR: 0, MMFAR: 0, BFAR: 0, CPACR: 0, NSACR: 0, SAU_CTRL: 0, SFSR: 0, SFAR: 0,
    FPCCR: 0xC000_0000,
}  # fmt: skip


def test_reset_values(chip: BareChip) -> None:
    assert {register: chip.read(register) for register in RESET_VALUES} == RESET_VALUES


def test_a_reset_takes_them_again(chip: BareChip) -> None:
    for register in RESET_VALUES:
        chip.write(register, KEY | PRIS | BFHFNMINS | 0x300 if register == AIRCR else 0x00FF_7FE3)
        if register not in (ICSR, AIRCR):
            chip.write(register + NONSECURE_ALIAS, 0x00FF_7FE3)
    chip.machine.reset()
    assert {register: chip.read(register) for register in RESET_VALUES} == RESET_VALUES
    banked = (VTOR, SCR, CCR, SHCSR, CPACR, FPCCR)
    for register in banked:
        assert chip.read(register + NONSECURE_ALIAS) == RESET_VALUES[register]


def test_the_vector_table_lies_on_128_bytes(chip: BareChip) -> None:
    chip.write(VTOR, 0x2000_1FFF)
    assert chip.read(VTOR) == 0x2000_1F80


def test_scr_has_four_bits_of_which_non_secure_code_has_three(chip: BareChip) -> None:
    chip.write(SCR, ONES)
    assert chip.read(SCR) == 0b11110  # SLEEPONEXIT, SLEEPDEEP, SLEEPDEEPS, SEVONPEND
    chip.write(SCR + NONSECURE_ALIAS, ONES)
    assert chip.read(SCR + NONSECURE_ALIAS) == 0b10110


def test_ccr_keeps_what_is_fixed(chip: BareChip) -> None:
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


def test_aircr_of_non_secure_code_is_its_grouping_and_what_it_may_know(chip: BareChip) -> None:
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
def test_an_exception_is_pended_and_let_go_by_icsr(masked: BareChip, name: str) -> None:
    register, setting, clearing, number = PENDING[name]
    masked.write(register, 1 << setting)
    assert masked.read(register) >> setting & 1
    assert masked.read(register) >> 12 & 0x1FF == number  # VECTPENDING
    masked.write(register, 0)
    assert masked.read(register) >> setting & 1
    masked.write(register, 1 << clearing)
    assert not masked.read(register) >> setting & 1
    assert masked.read(register) >> 12 & 0x1FF == 0


def test_icsr_tells_the_most_urgent_and_whether_an_interrupt_waits(masked: BareChip) -> None:
    assert masked.read(ICSR) & (1 << 22 | 0x1FF << 12 | 0x1FF) == 0
    masked.write(ICSR, 1 << 28)
    assert not masked.read(ICSR) >> 22 & 1
    masked.write(ISPR, 1 << 5)
    masked.write(ISER, 1 << 5)
    masked.write(SHPR3, 0x0020_0000)
    assert masked.read(ICSR) >> 22 & 1  # ISRPENDING
    assert masked.read(ICSR) >> 12 & 0x1FF == 16 + 5


def test_icsr_tells_the_exception_that_runs_and_whether_it_is_alone(chip: BareChip) -> None:
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


def test_the_nmi_is_non_secure_where_bfhfnmins_says_so(masked: BareChip) -> None:
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
def test_shcsr_enables_pends_and_tells_of_a_fault(masked: BareChip, name: str) -> None:
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


def test_non_secure_code_has_its_own_faults_and_shares_what_it_is_given(chip: BareChip) -> None:
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


# fault status


@pytest.mark.parametrize(
    ("register", "bits_set"), [(CFSR, 0x0302_9286), (HFSR, 0xC000_0002), (SFSR, 0x5F)]
)
def test_status_bits_are_cleared_by_ones(chip: BareChip, register: int, bits_set: int) -> None:
    scb = chip.machine.scb
    if register == CFSR:
        scb.note(bits_set)
    else:
        setattr(chip.machine.shared, "hfsr" if register == HFSR else "sfsr", bits_set)
    lowest = bits_set & -bits_set
    chip.write(register, lowest)
    assert chip.read(register) == bits_set ^ lowest
    chip.write(register, 0)
    assert chip.read(register) == bits_set ^ lowest
    chip.write(register, ONES)
    assert chip.read(register) == 0


def test_a_byte_of_a_status_register_is_cleared_alone(chip: BareChip) -> None:
    chip.machine.scb.note(0x0001_0101)
    chip.write(CFSR + 1, 0xFF, size=1)  # BFSR
    assert chip.read(CFSR) == 0x0001_0001
    chip.write(CFSR + 2, 0xFFFF, size=2)  # UFSR
    assert chip.read(CFSR) == 1


@pytest.mark.parametrize("register", [MMFAR, BFAR, SFAR])
def test_fault_addresses_are_kept_and_written(chip: BareChip, register: int) -> None:
    chip.write(register, 0x1234_5678)
    assert chip.read(register) == 0x1234_5678
    others = {MMFAR, BFAR, SFAR} - {register}
    assert [chip.read(other) for other in others] == [0, 0]


def test_bus_faults_and_hard_faults_are_non_secure_where_bfhfnmins_says_so(
    chip: BareChip,
) -> None:
    machine = chip.machine
    machine.scb.note(0x8200, 0x1234)  # PRECISERR, BFARVALID
    machine.shared.hfsr = 1 << 30
    alias = NONSECURE_ALIAS
    shared = (CFSR, HFSR, BFAR)
    assert [chip.read(register + alias) for register in shared] == [0, 0, 0]
    for register in shared:
        chip.write(register + alias, ONES)
    assert [chip.read(register) for register in shared] == [0x8200, 1 << 30, 0x1234]
    chip.write(AIRCR, KEY | BFHFNMINS)
    assert [chip.read(register + alias) for register in shared] == [0x8200, 1 << 30, 0x1234]
    for register in shared:
        chip.write(register + alias, ONES)
    assert [chip.read(register) for register in shared] == [0, 0, ONES]


def test_secure_faults_are_told_to_secure_code_alone(chip: BareChip) -> None:
    chip.machine.shared.sfsr = 0x48
    chip.write(SFAR, 0x100)
    for register in (SFSR, SFAR, SAU_CTRL, NSACR):
        chip.write(register + NONSECURE_ALIAS, ONES)
        assert chip.read(register + NONSECURE_ALIAS) == 0
    assert [chip.read(register) for register in (SFSR, SFAR, SAU_CTRL, NSACR)] == [
        0x48,
        0x100,
        0,
        0,
    ]


# coprocessors and floating point


def test_cpacr_and_nsacr_keep_the_bits_of_the_coprocessors(chip: BareChip) -> None:
    chip.write(CPACR, ONES)
    assert chip.read(CPACR) == 0x00F0_FFFF
    chip.write(NSACR, ONES)
    assert chip.read(NSACR) == 0xCFF
    assert chip.read(CPACR + NONSECURE_ALIAS) == 0
    chip.write(CPACR + NONSECURE_ALIAS, 0x00F0_0000)
    assert chip.read(CPACR + NONSECURE_ALIAS) == 0x00F0_0000
    assert chip.read(NSACR + NONSECURE_ALIAS) == 0xCFF


VMOV = (0xEE00, 0x0A10)  # vmov s0, r0


@pytest.mark.parametrize(("value", "runs"), [(0, False), (1, True), (3, True)])
def test_floating_point_runs_where_cpacr_lets_it(chip: BareChip, value: int, runs: bool) -> None:
    chip.write(CPACR, value << 20)
    chip.play(*VMOV, steps=2)
    assert [fault.reason for fault in chip.machine.faults] == ([] if runs else ["NOCP"])


@pytest.mark.parametrize(("cpacr", "nsacr", "runs"), [(0, 1, False), (3, 0, False), (3, 1, True)])
def test_non_secure_floating_point_needs_nsacr_too(
    chip: BareChip, cpacr: int, nsacr: int, runs: bool
) -> None:
    spu = 0x5000_3000
    for region in range(32):
        chip.write(spu + 0x600 + 4 * region, 7)
        chip.write(spu + 0x700 + 4 * region, 7)
    chip.write(SAU_CTRL, 2)
    chip.write(CPACR, 3 << 20)
    chip.write(NSACR, nsacr << 10)
    chip.write(CPACR + NONSECURE_ALIAS, cpacr << 20)
    chip.enter_nonsecure()
    chip.play(*VMOV, steps=1, sp=0x2001_0000)
    assert [fault.reason for fault in chip.machine.faults[:1]] == ([] if runs else ["NOCP"])


def test_fpccr_has_bits_that_only_secure_code_writes(chip: BareChip) -> None:
    secure_alone = 1 << 29 | 1 << 28 | 1 << 27 | 1 << 26  # LSPENS, CLRONRET, CLRONRETS, TS
    chip.write(FPCCR, 0xC000_0000 | secure_alone)
    assert chip.read(FPCCR) == 0xC000_0000 | secure_alone
    chip.write(FPCCR + NONSECURE_ALIAS, ONES)
    assert chip.read(FPCCR + NONSECURE_ALIAS) & secure_alone == 0


@pytest.mark.parametrize("register", [FPCAR, FPDSCR])
def test_registers_without_an_effect_keep_their_word(chip: BareChip, register: int) -> None:
    chip.write(register, 0x2000_0000)
    assert chip.read(register) == 0x2000_0000
    assert chip.read(register + NONSECURE_ALIAS) == 0
    chip.machine.reset()
    assert chip.read(register) == 0


def test_sau_ctrl_has_two_bits(chip: BareChip) -> None:
    chip.write(SAU_CTRL, ONES)
    assert chip.read(SAU_CTRL) == 3


# who may access the private peripheral bus


def unprivileged(chip: BareChip) -> None:
    chip.play(0xF380, 0x8814, steps=1, r0=1)  # msr control, r0


def test_unprivileged_code_may_not(chip: BareChip) -> None:
    unprivileged(chip)
    for register in (CPUID, 0xE000_E010, ISER, 0xE000_1004, ICTR):
        assert chip.refuses(register)
        assert chip.refuses(register, write=True)


@pytest.mark.parametrize("allowed", [0, 1 << 1])  # CCR.USERSETMPEND
def test_unprivileged_code_may_write_stir_where_it_is_allowed(chip: BareChip, allowed: int) -> None:
    chip.write(CCR, allowed)
    unprivileged(chip)
    assert chip.refuses(STIR, write=True) is not bool(allowed)


def test_non_secure_code_sees_nothing_through_the_alias(chip: BareChip) -> None:
    chip.write(VTOR + NONSECURE_ALIAS, 0x1000)
    chip.enter_nonsecure()
    assert chip.read(VTOR) == 0x1000
    assert chip.read(VTOR + NONSECURE_ALIAS) == 0
    chip.write(VTOR + NONSECURE_ALIAS, 0x2000)
    assert chip.read(VTOR) == 0x1000


def test_what_of_the_private_bus_has_no_model_is_a_finding(chip: BareChip) -> None:
    assert chip.read(0xE004_0000) == 0
    chip.write(0xE000_2000, 1)
    assert [finding.subject for finding in chip.machine.findings] == ["PPB+0x40000", "PPB+0x2000"]
    messages = [finding.message for finding in chip.machine.findings]
    assert "was read by" in messages[0] and "was written by" in messages[1]


# interrupts (the controller's rules: test_security.py)


def test_interrupt_priorities_are_bytes_of_three_bits(chip: BareChip) -> None:
    chip.write(IPR + 4, 0x2040_6080)
    chip.write(IPR + 5, 0xFF, size=1)
    assert chip.read(IPR + 4) == 0x2040_E080
    chip.write(IPR + 6, 0x1234, size=2)
    assert chip.read(IPR + 4) == 0x0020_E080
    chip.write(IPR + 64, ONES)
    assert chip.read(IPR + 64) == 0xE0  # interrupt 64 is the last one


@pytest.mark.parametrize(
    ("setting", "clearing", "reading"), [(ISER, ICER, (ISER, ICER)), (ISPR, ICPR, (ISPR, ICPR))]
)
def test_interrupts_are_set_and_cleared_bit_by_bit(
    masked: BareChip, setting: int, clearing: int, reading: tuple[int, int]
) -> None:
    masked.write(setting, 0x8000_00F0)
    masked.write(setting + 1, 0x0F, size=1)
    masked.write(clearing, 0x10)
    assert [masked.read(register) for register in reading] == [0x8000_0FE0] * 2
    masked.write(clearing + 1, 0x01, size=1)
    assert [masked.read(register) for register in reading] == [0x8000_0EE0] * 2
    masked.write(setting + 8, ONES)
    assert masked.read(setting + 8) == 1  # there are 65


def test_what_runs_is_active(chip: BareChip) -> None:
    chip.write(ISER, 1 << 5)
    chip.write(ISPR, 1 << 5)
    chip.wait(1)
    assert chip.read(IABR) == 1 << 5
    assert chip.read(ISPR) == 0
