"""What the counting must know of Thumb instructions; ``_native.c`` says the same in C."""

from __future__ import annotations

from harness.elf.thumb import instruction_length

XPSR_THUMB = 1 << 24
XPSR_IT = 0x0600_FC00
#: State outside the registers that exception entry must deal with, once firmware uses it.
EXTRA_LIMITS, EXTRA_EXCLUSIVE = 1, 2


def is_special(first: int, second: int, fp_disabled: bool) -> bool:
    """True for what the machine carries out: hints, TT, BXNS, FP that CPACR refuses."""
    if instruction_length(first) == 2:
        if first & 0xFF0F == 0xBF00:
            return 0xBF10 <= first <= 0xBF40
        return first & 0xFF07 == 0x4704
    if first == 0xF3AF:
        return 0x8001 <= second <= 0x8004
    if first & 0xFFF0 == 0xE840:
        return second & 0xF03F == 0xF000
    if fp_disabled and first & 0xEC00 == 0xEC00:
        return second & 0x0E00 == 0x0A00 and first & 0xEF00 != 0xEF00
    return False


def extra_state(first: int, second: int) -> int:
    """EXTRA_LIMITS for MSR to a stack limit, EXTRA_EXCLUSIVE for LDREX and its kin, else 0."""
    if first & 0xFFF0 == 0xF380 and second & 0xFF7E == 0x880A:
        return EXTRA_LIMITS
    if first & 0xFFF0 == 0xE850 or (first & 0xFFF0 == 0xE8D0 and second & 0x0040):
        return EXTRA_EXCLUSIVE
    return 0
