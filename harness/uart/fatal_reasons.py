"""Arm's reason codes in ``ZEPHYR FATAL ERROR n: Unknown error``.

Outside of tests Zephyr prints the fault's status as a number above those of its kernel
(``K_ERR_ARCH_START`` is 16) and has no text for it: include/zephyr/arch/arm/arch.h of Zephyr 3.7.1
and 4.3.0, which number the faults of a Cortex-M alike.
"""

from __future__ import annotations

_FIRST = 16
_REASONS = (
    "MemManage",
    "MemManage while registers were stacked",
    "MemManage while registers were unstacked",
    "MemManage: a data access was refused",
    "MemManage: an instruction fetch was refused",
    "MemManage while FP registers were stacked lazily",
    "BusFault",
    "BusFault while registers were stacked",
    "BusFault while registers were unstacked",
    "BusFault: a data access failed",
    "BusFault: an earlier data access failed",
    "BusFault: an instruction fetch failed",
    "BusFault while FP registers were stacked lazily",
    "UsageFault",
    "UsageFault: division by zero",
    "UsageFault: unaligned access",
    "UsageFault: stack overflow",
    "UsageFault: no coprocessor (is the FPU on?)",
    "UsageFault: invalid EXC_RETURN",
    "UsageFault: invalid EPSR (a branch to an even address)",
    "UsageFault: undefined instruction",
    "SecureFault",
    "SecureFault: invalid entry point",
    "SecureFault: invalid integrity signature",
    "SecureFault: invalid exception return",
    "SecureFault: access to secure memory",
    "SecureFault: invalid transition",
    "SecureFault while FP registers were stacked lazily",
    "SecureFault: error of lazy FP state",
)


def arm_reason(code: int) -> str | None:
    """What an Arm reason code stands for; None for the kernel's own and for unknown ones.

    Examples:
    >>> arm_reason(19)
    'MemManage: a data access was refused'
    >>> arm_reason(4)
    """
    index = code - _FIRST
    return _REASONS[index] if 0 <= index < len(_REASONS) else None
