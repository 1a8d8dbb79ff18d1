"""The state of a board's core: halted through its debug port, read, and resumed.

Sources: Armv8-M ARM, D1.2, "DHCSR", "DCRSR", "DSCSR", "FPCCR".
"""

from __future__ import annotations

from typing import Protocol

from harness.base.core_state import MSP, PSP, SPSEL, CoreState
from harness.base.debug_access import (
    C_DEBUGEN,
    C_HALT,
    CDS,
    DCRDR,
    DCRSR,
    DHCSR,
    DHCSR_KEY,
    DSCSR,
    S_HALT,
    S_REGRDY,
)
from harness.base.errors import TargetLost
from harness.base.platforms import ChipTable

_FPCCR, _TS = 0xE000_EF34, 1 << 26
#: DCRSR.REGSEL: r0 to r12, sp, lr, pc, xpsr; MSP and PSP by world; CONTROL, in bits 31 to 24.
_CORE = range(17)
_STACKS = {(True, MSP): 24, (True, PSP): 25, (False, MSP): 26, (False, PSP): 27}
_CONTROL, _CONTROL_SHIFT = {False: 34, True: 35}, 24
#: Number of reads before waiting for a status bit fails.
_MAX_READS = 1000


class DebugAccess(Protocol):
    """Access to memory and registers through a debug port."""

    def read(self, address: int, size: int) -> bytes:
        """``size`` bytes of memory."""
        ...

    def word(self, address: int) -> int:
        """The value of the register at ``address``."""
        ...

    def write_word(self, address: int, word: int) -> None:
        """Writes the register at ``address``."""
        ...


def core_state(port: DebugAccess, chip: ChipTable) -> CoreState:
    """Registers, stack pointers of both worlds, and RAM.

    A running core is halted meanwhile; one that was halted stays halted. Raises
    :class:`TargetLost` if it does not halt.
    """
    before = port.word(DHCSR)
    port.write_word(DHCSR, DHCSR_KEY << 16 | C_DEBUGEN | C_HALT)
    try:
        _wait_for(port, S_HALT, "the core does not halt")
        return _halted(port, chip)
    finally:
        if not before & S_HALT:
            port.write_word(DHCSR, DHCSR_KEY << 16 | before & C_DEBUGEN)


def _halted(port: DebugAccess, chip: ChipTable) -> CoreState:
    ram = chip.area("ram")
    control = {world: _register(port, one) >> _CONTROL_SHIFT for world, one in _CONTROL.items()}
    return CoreState(
        tuple(_register(port, number) for number in _CORE),
        {stack: _register(port, number) for stack, number in _STACKS.items()},
        {world: PSP if value & SPSEL else MSP for world, value in control.items()},
        nonsecure=not port.word(DSCSR) & CDS,
        divided=True,
        memory=((ram.origin, port.read(ram.origin, ram.size)),),
        secure_floats=bool(port.word(_FPCCR) & _TS),
    )


def _register(port: DebugAccess, number: int) -> int:
    port.write_word(DCRSR, number)
    _wait_for(port, S_REGRDY, "the core's registers cannot be read")
    return port.word(DCRDR)


def _wait_for(port: DebugAccess, status: int, message: str) -> None:
    for _ in range(_MAX_READS):
        if port.word(DHCSR) & status:
            return
    raise TargetLost(message, hint="check that it has power and is not held in reset")
