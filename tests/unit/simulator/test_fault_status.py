"""Fault status, floating point and access to the private bus (Armv8-M ARM, D1.2)."""

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
    FPCAR,
    FPDSCR,
    HFSR,
    IABR,
    ICER,
    ICPR,
    ICTR,
    IPR,
    ISER,
    ISPR,
    KEY,
    MMFAR,
    NONSECURE_ALIAS,
    NSACR,
    ONES,
    SAU_CTRL,
    SFAR,
    SFSR,
    STIR,
    VTOR,
)

# fault status


@pytest.mark.parametrize(
    ("register", "bits_set"), [(CFSR, 0x0302_9286), (HFSR, 0xC000_0002), (SFSR, 0x5F)]
)
def test_status_bits_are_cleared_by_ones(chip: BareChip, register: int, bits_set: int) -> None:
    engine = chip.machine.engine
    if register == CFSR:
        engine.scb[False].cfsr, engine.shared.bfsr = bits_set & ~0xFF00, bits_set & 0xFF00
    else:
        setattr(engine.shared, "hfsr" if register == HFSR else "sfsr", bits_set)
    lowest = bits_set & -bits_set
    chip.write(register, lowest)
    assert chip.read(register) == bits_set ^ lowest
    chip.write(register, 0)
    assert chip.read(register) == bits_set ^ lowest
    chip.write(register, ONES)
    assert chip.read(register) == 0


def test_a_byte_of_a_status_register_is_cleared_alone(chip: BareChip) -> None:
    engine = chip.machine.engine
    engine.scb[False].cfsr, engine.shared.bfsr = 0x0001_0001, 0x0100
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


def test_with_bfhfnmins_bus_faults_and_hard_faults_are_non_secure(
    chip: BareChip,
) -> None:
    both = chip.machine.engine.shared
    both.bfsr, both.bfar = 0x8200, 0x1234  # PRECISERR, BFARVALID
    both.hfsr = 1 << 30
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


def test_only_secure_code_reads_secure_fault_status(chip: BareChip) -> None:
    chip.machine.engine.shared.sfsr = 0x48
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
    assert chip.read(NSACR + NONSECURE_ALIAS) == 0


VMOV = (0xEE00, 0x0A10)  # vmov s0, r0


@pytest.mark.parametrize(("value", "runs"), [(0, False), (1, True), (3, True)])
def test_floating_point_needs_cpacr(chip: BareChip, value: int, runs: bool) -> None:
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


@pytest.mark.parametrize(("register", "kept"), [(FPCAR, 0xFFFF_FFF8), (FPDSCR, 0x07C0_0000)])
def test_fpcar_and_fpdscr_exist_twice(chip: BareChip, register: int, kept: int) -> None:
    chip.write(register, ONES)
    assert chip.read(register) == kept
    assert chip.read(register + NONSECURE_ALIAS) == 0
    chip.machine.reset()
    assert chip.read(register) == 0


def test_sau_ctrl_has_two_bits(chip: BareChip) -> None:
    chip.write(SAU_CTRL, ONES)
    assert chip.read(SAU_CTRL) == 3


# who may access the private peripheral bus


def unprivileged(chip: BareChip) -> None:
    chip.play(0xF380, 0x8814, steps=1, r0=1)  # msr control, r0


def test_unprivileged_code_cannot_access_the_system_control_space(chip: BareChip) -> None:
    unprivileged(chip)
    for register in (CPUID, 0xE000_E010, ISER, 0xE000_1004, ICTR):
        assert chip.refuses(register)
        assert chip.refuses(register, write=True)


@pytest.mark.parametrize("allowed", [0, 1 << 1])  # CCR.USERSETMPEND
def test_unprivileged_code_may_write_stir_where_it_is_allowed(chip: BareChip, allowed: int) -> None:
    chip.write(CCR, allowed)
    unprivileged(chip)
    assert chip.refuses(STIR, write=True) is not bool(allowed)


def test_the_non_secure_alias_reads_zero_in_the_non_secure_state(chip: BareChip) -> None:
    chip.write(VTOR + NONSECURE_ALIAS, 0x1000)
    chip.enter_nonsecure()
    assert chip.read(VTOR) == 0x1000
    assert chip.read(VTOR + NONSECURE_ALIAS) == 0
    chip.write(VTOR + NONSECURE_ALIAS, 0x2000)
    assert chip.read(VTOR) == 0x1000


def test_an_unmodelled_private_peripheral_is_a_finding(chip: BareChip) -> None:
    assert chip.read(0xE004_0000) == 0
    chip.write(0xE000_2000, 1)
    assert [finding.subject for finding in chip.machine.findings] == ["PPB+0x40000", "PPB+0x2000"]
    messages = [finding.message for finding in chip.machine.findings]
    assert "was read (by" in messages[0] and "was written (by" in messages[1]


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


def test_a_running_exception_is_active(chip: BareChip) -> None:
    chip.write(ISER, 1 << 5)
    chip.write(ISPR, 1 << 5)
    chip.wait(1)
    assert chip.read(IABR) == 1 << 5
    assert chip.read(ISPR) == 0
