"""Registers of the system control space, and a chip on which pended exceptions wait."""

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
ISER, ICER, ISPR, ICPR, IABR, ITNS, IPR = (
    0xE000_E000 + n for n in (0x100, 0x180, 0x200, 0x280, 0x300, 0x380, 0x400)
)


@pytest.fixture
def masked(chip: BareChip) -> BareChip:
    """PRIMASK is set: what is pended stays pending."""
    chip.play(0xF380, 0x8810, steps=1, r0=1)  # msr primask, r0
    return chip
