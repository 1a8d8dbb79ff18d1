"""A chip of two worlds, between which instructions go one by one."""

from __future__ import annotations

import struct

import pytest
from bare_chip import BareChip

from harness.simulator.unicorn import Reg

SECURE_CODE, NONSECURE_CODE = 0x2000_4000, 0x2002_0000
STACK, NONSECURE_STACK = 0x2000_9000, 0x2002_9000
RAM, SPU, NONSECURE_ALIAS = 0x2000_0000, 0x5000_3000, 0x2_0000
ICSR, SHCSR, CFSR, SFSR, CPACR, NSACR, FPCCR = (
    0xE000_ED00 + n for n in (0x04, 0x24, 0x28, 0xE4, 0x88, 0x8C, 0x234)
)
BXNS_R0, BLXNS_R0, BX_R0, BX_LR, NOP = 0x4704, 0x4784, 0x4700, 0x4770, 0xBF00
MSPLIM, PSPLIM, CONTROL = 0x880A, 0x880B, 0x8814
SPSEL, FPCA, SFPA = 2, 4, 8


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
    chip.machine.core.change_state()
    chip.machine.core.write(Reg.MSP, STACK)
    return chip


def secure(chip: BareChip, *code: int, steps: int = 1, **registers: int) -> None:
    chip.play(*code, steps=steps, at=SECURE_CODE, **registers)


def state(chip: BareChip) -> tuple[bool, int, int]:
    """Is it the non-secure one; pc and sp."""
    now = chip.machine.registers
    return chip.machine.core.nonsecure, now["pc"], now["sp"]


MPU_CTRL, MPU_RNR, MPU_RBAR, MPU_RLAR = 0xE000_ED94, 0xE000_ED98, 0xE000_ED9C, 0xE000_EDA0
