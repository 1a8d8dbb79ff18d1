"""Exceptions of the processor: their numbers and names (Armv8-M ARM, B3.9).

Interrupts have the names of their peripherals.
"""

from __future__ import annotations

from harness.base.platforms import ChipTable

#: Bits of xPSR with the number of the exception that is handled; 0 is thread mode.
IPSR = 0x1FF
RESET, NMI, HARD_FAULT, MEM_MANAGE, BUS_FAULT, USAGE_FAULT = 1, 2, 3, 4, 5, 6
SECURE_FAULT, SVCALL, DEBUG_MONITOR, PENDSV, SYSTICK, FIRST_IRQ = 7, 11, 12, 14, 15, 16

_NAMES = {
    0: "thread mode",
    RESET: "Reset",
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


def exception_name(number: int, chip: ChipTable | None = None) -> str:
    """The usual name of an exception; of an interrupt ``TIMER0 (IRQ15)``, or else ``IRQ15``."""
    if number < FIRST_IRQ:
        return _NAMES.get(number, f"#{number}")
    owner, irq = peripheral_of(number, chip), f"IRQ{number - FIRST_IRQ}"
    return f"{owner} ({irq})" if owner else irq


def peripheral_of(number: int, chip: ChipTable | None) -> str:
    """The name of the peripheral with this interrupt; "" if there is none."""
    blocks = () if chip is None or number < FIRST_IRQ else chip.blocks
    return next((one.name for one in blocks if one.irq == number - FIRST_IRQ), "")


def is_exception_return(address: int) -> bool:
    """Whether a branch there returns from an exception (EXC_RETURN), and lr is no caller."""
    return address >> 24 == 0xFF and not address & 2
