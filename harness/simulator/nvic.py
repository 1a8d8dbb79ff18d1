"""Exceptions that are pending and active, and their priorities (Armv8-M ARM, B3 and D1.2, NVIC_*).

Numbers are exception numbers: 2 NMI, 3 HardFault, 4 MemManage, 5 BusFault, 6 UsageFault, 11 SVCall,
12 DebugMonitor, 14 PendSV, 15 SysTick, 16 + n interrupt n. Those that exist once per security
state (3, 4, 6, 11, 14, 15) have :data:`NONSECURE` added for the non-secure one.

The controller's state and rules are the counting core's (:class:`harness.simulator._native.Nvic`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from harness.simulator._native import Nvic

NMI, HARD_FAULT, MEM_MANAGE, BUS_FAULT, USAGE_FAULT = 2, 3, 4, 5, 6
SECURE_FAULT, SVCALL, DEBUG_MONITOR, PENDSV, SYSTICK, FIRST_IRQ = 7, 11, 12, 14, 15, 16
#: Added to the number of a banked exception of the non-secure state.
NONSECURE = 1 << 9
#: The exceptions that are banked: they exist once per security state.
BANKED = frozenset((HARD_FAULT, MEM_MANAGE, USAGE_FAULT, SVCALL, PENDSV, SYSTICK))
#: The bits of an exception that are its number as IPSR has it.
NUMBER = NONSECURE - 1
#: The names of the security states, by whether it is the non-secure one.
STATES = ("secure", "non-secure")
NAMES = {
    1: "Reset",
    NMI: "NMI",
    HARD_FAULT: "HardFault",
    MEM_MANAGE: "MemManage",
    BUS_FAULT: "BusFault",
    USAGE_FAULT: "UsageFault",
    SECURE_FAULT: "SecureFault",
    SVCALL: "SVCall",
    DEBUG_MONITOR: "DebugMonitor",
    PENDSV: "PendSV",
    SYSTICK: "SysTick",
}


class NvicRegisters:
    """NVIC_ISER to NVIC_IPR as one security state sees them, by offset in the SCS.

    The non-secure state sees its own interrupts; all others read as zero and ignore writes.
    """

    def __init__(self, nvic: Nvic, *, nonsecure: bool) -> None:
        self._nvic, self._nonsecure = nvic, nonsecure

    def read(self, offset: int) -> int:
        """The word at ``offset``."""
        return self._nvic.read(offset, self._nonsecure)

    def write(self, offset: int, value: int) -> None:
        """Write the word at ``offset``."""
        self._nvic.write(offset, value, self._nonsecure)
