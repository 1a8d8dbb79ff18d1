"""Banked exceptions, and the registers of the NVIC (Armv8-M ARM, B3 and D1.2, NVIC_*).

An exception is banked if it exists once per security state; :data:`NONSECURE` is added to its
number for the non-secure state. The controller itself is in the counting core
(:class:`harness.simulator._native.Nvic`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.base.exceptions import (
    HARD_FAULT,
    MEM_MANAGE,
    PENDSV,
    SVCALL,
    SYSTICK,
    USAGE_FAULT,
)

if TYPE_CHECKING:
    from harness.simulator._native import Nvic

#: Added to the number of a banked exception of the non-secure state.
NONSECURE = 1 << 9
#: The banked exceptions.
BANKED = frozenset((HARD_FAULT, MEM_MANAGE, USAGE_FAULT, SVCALL, PENDSV, SYSTICK))
#: Mask of an exception's number in IPSR.
NUMBER = NONSECURE - 1
#: Names of the security states; index True is the non-secure one.
STATES = ("secure", "non-secure")


class NvicRegisters:
    """NVIC_ISER to NVIC_IPR as one security state sees them, by offset in the SCS.

    For the non-secure state secure interrupts read as zero and ignore writes.
    """

    def __init__(self, nvic: Nvic, *, nonsecure: bool) -> None:
        self._nvic, self._nonsecure = nvic, nonsecure

    def read(self, offset: int) -> int:
        """The word at ``offset``."""
        return self._nvic.read(offset, self._nonsecure)

    def write(self, offset: int, value: int) -> None:
        """Write the word at ``offset``."""
        self._nvic.write(offset, value, self._nonsecure)
