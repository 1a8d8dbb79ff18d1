"""Halting debug of the core (Armv8-M ARM, chapter "Debug" and D1.2): run control, breakpoints.

The machine runs in slices; between two of them the core is halted or not. A halted core costs no
virtual time, so a run that is halted and resumed has the counts of one that is not.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar

from harness.base.clock import Deadline
from harness.base.debug_access import (
    C_DEBUGEN,
    C_HALT,
    CDS,
    DCRDR,
    DCRSR,
    DEMCR,
    DHCSR,
    DHCSR_KEY,
    DSCSR,
    S_HALT,
    S_REGRDY,
)
from harness.simulator.debug_port.core_registers import CoreRegisters
from harness.simulator.debug_port.watchpoints import COMPARATORS, Watchpoints
from harness.simulator.event_queue import NEVER
from harness.simulator.machine import End, Machine

if TYPE_CHECKING:
    from harness.simulator.faults import FaultRecord

_DFSR, _DAUTHSTATUS = 0xE000_ED30, 0xE000_EFB8
_FP_CTRL, _FP_COMP, _BREAKPOINTS = 0xE000_2000, 0xE000_2008, 8
_DWT_CTRL, _DWT_COMP = 0xE000_1000, 0xE000_1020
_STEP, _MASKINTS, _KEPT = 4, 8, 0x2F
_S_SLEEP, _S_LOCKUP, _S_SDE = 1 << 18, 1 << 19, 1 << 20
_RETIRED, _WAS_RESET = 1 << 24, 1 << 25
#: DFSR.
HALTED, BKPT, DWTTRAP, VCATCH = 1, 2, 4, 8
_VC_CORERESET, _TRCENA = 1, 1 << 24
#: DEMCR.VC_*, by exception; of a UsageFault by the bits of CFSR.
_VC_MMERR, _VC_NOCPERR, _VC_CHKERR, _VC_STATERR = 1 << 4, 1 << 5, 1 << 6, 1 << 7
_VC_BUSERR, _VC_INTERR, _VC_HARDERR, _VC_SFERR = 1 << 8, 1 << 9, 1 << 10, 1 << 11
_VC_OF = {"HardFault": _VC_HARDERR, "MemManage": _VC_MMERR, "BusFault": _VC_BUSERR,
          "SecureFault": _VC_SFERR}  # fmt: skip
_VC_USAGE = {"UNDEFINSTR": _VC_STATERR, "INVSTATE": _VC_STATERR, "INVPC": _VC_STATERR,
             "STKOF": _VC_STATERR, "NOCP": _VC_NOCPERR, "UNALIGNED": _VC_CHKERR,
             "DIVBYZERO": _VC_CHKERR}  # fmt: skip
_STACKING = ("STKERR", "UNSTKERR", "MSTKERR", "MUNSTKERR")
#: The ROM table (CoreSight): SCS, DWT and FPB at their offsets, with their identification.
_ROM = 0xE00F_F000
_ENTRIES = (0xFFF0_F003, 0xFFF0_2003, 0xFFF0_3003, 0)
#: DEVARCH of the components (Armv8-M ARM, "DEVARCH").
_DEVARCH = {0xE000_E: 0x4770_2A04, 0xE000_1: 0x4770_1A02, 0xE000_2: 0x4770_1A03}
_PART, _ROM_PART = 0xD21, 0x4C9


class CoreDebug:
    """The debug registers of a machine's core; :meth:`run` lets it run if it is not halted.

    ``halts`` counts how often the core was halted.
    """

    def __init__(self, machine: Machine) -> None:
        self.halted = False
        self.watchpoints = Watchpoints()
        self._dhcsr = self._dfsr = self._demcr = self._dcrdr = 0
        self._sticky = 0
        self._comparators = [0] * _BREAKPOINTS
        self._fpb = False
        self._hooked: set[int] = set()
        self._cause = 0  # bits of DFSR of what ends the run
        self.machine = machine
        self.attach(machine)

    def attach(self, machine: Machine) -> None:
        """Debug ``machine`` from here on; breakpoints, vector catch and DHCSR stay."""
        self.machine, self.registers = machine, CoreRegisters(machine)
        self._hooked = set()
        machine.debugger = self
        machine.core.debugged = bool(self._dhcsr & C_DEBUGEN)
        self._set_breakpoints()
        self.was_reset()

    @property
    def enabled(self) -> bool:
        """DHCSR.C_DEBUGEN."""
        return bool(self._dhcsr & C_DEBUGEN)

    # what the machine tells

    def fault_taken(self, record: FaultRecord) -> None:
        """Vector catch: halt before the first instruction of the handler."""
        status = record.status.replace(",", " ").split()
        causes = _VC_OF.get(record.cause, 0) | _VC_OF.get(record.kind, 0)
        for name in status:
            causes |= _VC_USAGE.get(name, 0) | (_VC_INTERR if name in _STACKING else 0)
        if self.enabled and self._demcr & causes:
            self._stop(VCATCH)

    def was_reset(self) -> None:
        """S_RESET_ST is sticky; VC_CORERESET halts before the first instruction."""
        self._sticky |= _WAS_RESET
        self._dhcsr &= ~C_HALT
        self.halted = False
        if self.enabled and self._demcr & _VC_CORERESET:
            self._stop(VCATCH)
            self._halt()

    def met_bkpt(self) -> None:
        """BKPT halts."""
        self._stop(BKPT)

    def _breakpoint(self, machine: Machine) -> bool:
        """The FPB matches."""
        self._cause |= BKPT
        return True

    def hold(self) -> None:
        """Halt it for a debugger that is about to come."""
        self._write_dhcsr(DHCSR_KEY << 16 | C_DEBUGEN | C_HALT)

    def _stop(self, cause: int) -> None:
        self._cause |= cause
        self.machine.halt()

    def _halt(self) -> None:
        """The core has stopped for what was noted, or for the debugger."""
        self._dfsr |= self._cause or HALTED
        self._cause = 0
        self._dhcsr |= C_HALT
        self.halted = True

    # running

    def run(
        self,
        ticks: int,
        guard: Deadline | None = None,
        *,
        pattern: bytes | None = None,
        stop_when_idle: bool = False,
    ) -> End | None:
        """Run for at most ``ticks``, or until the console shows ``pattern``.

        ``stop_when_idle``: once core and peripherals rest for good.

        None if the core is halted, or was halted meanwhile.
        """
        if self.halted:
            return None
        machine = self.machine
        until = machine.now + ticks

        def stretch(executed: int | None) -> End:
            limit = NEVER if executed is None else executed
            return machine.run(
                until_tick=until, until_executed=limit, guard=guard, pattern=pattern,
                stop_when_idle=stop_when_idle and executed is None, peripherals_too=True,
            )  # fmt: skip

        if self.watchpoints.active and self._demcr & _TRCENA:
            end, watched = self.watchpoints.run(machine, stretch)
            self._cause |= DWTTRAP if watched else 0
        else:
            end = stretch(None)
        self._sticky |= _RETIRED
        if self._cause:
            self._halt()
        return None if self.halted else end

    def _step(self) -> None:
        machine = self.machine
        machine.core.interrupts_masked = bool(self._dhcsr & _MASKINTS)
        try:
            machine.run(
                until_executed=machine.core.executed + 1, until_tick=machine.now + 1_000_000
            )
        finally:
            machine.core.interrupts_masked = False
        self._sticky |= _RETIRED
        self._halt()

    # registers

    def read(self, address: int) -> int | None:
        """A debug register, by address; None if there is none."""
        if address in self._readers:
            return self._readers[address](self)
        if 0 <= address - _FP_COMP < 4 * _BREAKPOINTS:
            return self._comparators[address - _FP_COMP >> 2]
        if 0 <= address - _DWT_COMP < 16 * COMPARATORS:
            return self.watchpoints.read(address - _DWT_COMP)
        if 0 <= address - _ROM < 0x1000:
            return self._rom(address - _ROM)
        return self._identification(address)

    def write(self, address: int, value: int) -> bool:
        """Set a debug register; False if there is none."""
        if address in self._writers:
            self._writers[address](self, value)
        elif 0 <= address - _FP_COMP < 4 * _BREAKPOINTS:
            self._comparators[address - _FP_COMP >> 2] = value
            self._set_breakpoints()
        elif 0 <= address - _DWT_COMP < 16 * COMPARATORS:
            self.watchpoints.write(address - _DWT_COMP, value)
        else:
            return False
        return True

    def _rom(self, offset: int) -> int:
        if offset < 4 * len(_ENTRIES):
            return _ENTRIES[offset >> 2]
        return _component(offset, _ROM_PART, 1)

    def _identification(self, address: int) -> int | None:
        page, offset = address >> 12, address & 0xFFF
        if page not in _DEVARCH:
            return None
        if offset == 0xFBC:
            return _DEVARCH[page]
        return _component(offset, _PART, 9) if offset >= 0xFD0 else None

    def _read_dhcsr(self) -> int:
        core = self.machine.core
        value = self._dhcsr | S_REGRDY | _S_SDE | self._sticky
        value |= S_HALT if self.halted else 0
        value |= _S_SLEEP if core.sleeping and not self.halted else 0
        value |= _S_LOCKUP if core.locked_up and not self.halted else 0
        self._sticky = 0
        return value

    def _write_dhcsr(self, value: int) -> None:
        if value >> 16 != DHCSR_KEY:
            return
        self._dhcsr = value & _KEPT if value & C_DEBUGEN else 0
        self.machine.core.debugged = self.enabled
        if self._dhcsr & C_HALT:
            if not self.halted:
                self._halt()
        elif self.halted:
            self.halted = False
            self._cause = 0
            if self._dhcsr & _STEP:
                self._step()

    def _read_dfsr(self) -> int:
        return self._dfsr

    def _write_dfsr(self, value: int) -> None:
        self._dfsr &= ~value

    def _write_dcrsr(self, value: int) -> None:
        if value >> 16 & 1:
            self.registers.write(value & 0x7F, self._dcrdr)
        else:
            self._dcrdr = self.registers.read(value & 0x7F) & 0xFFFF_FFFF

    def _read_dcrdr(self) -> int:
        return self._dcrdr

    def _write_dcrdr(self, value: int) -> None:
        self._dcrdr = value

    def _read_demcr(self) -> int:
        return self._demcr

    def _write_demcr(self, value: int) -> None:
        self._demcr = value
        self.machine.chip.processor.dwt.set_trace(bool(value & _TRCENA))

    def _read_fp_ctrl(self) -> int:
        return 1 << 28 | _BREAKPOINTS << 4 | self._fpb

    def _write_fp_ctrl(self, value: int) -> None:
        if value & 2:
            self._fpb = bool(value & 1)
            self._set_breakpoints()

    def _read_dwt_ctrl(self) -> int:
        return COMPARATORS << 28 | self.machine.chip.processor.dwt.read(0) & 0x0FFF_FFFF

    def _read_dauthstatus(self) -> int:
        return 0xFF  # invasive and non-invasive debug of both states is allowed

    def _read_dscsr(self) -> int:
        return 0 if self.machine.core.nonsecure else CDS

    def _set_breakpoints(self) -> None:
        wanted = {one & ~1 for one in self._comparators if one & 1 and self._fpb}
        for address in self._hooked - wanted:
            self.machine.unhook(address, self._breakpoint)
        for address in wanted - self._hooked:
            self.machine.hook(address, self._breakpoint)
        self._hooked = wanted

    _readers: ClassVar[dict[int, Callable[[CoreDebug], int]]] = {
        DHCSR: _read_dhcsr, _DFSR: _read_dfsr, DCRDR: _read_dcrdr, DEMCR: _read_demcr,
        _FP_CTRL: _read_fp_ctrl, _DWT_CTRL: _read_dwt_ctrl, _DAUTHSTATUS: _read_dauthstatus,
        DSCSR: _read_dscsr,
    }  # fmt: skip
    _writers: ClassVar[dict[int, Callable[[CoreDebug, int], None]]] = {
        DHCSR: _write_dhcsr, _DFSR: _write_dfsr, DCRSR: _write_dcrsr, DCRDR: _write_dcrdr,
        DEMCR: _write_demcr, _FP_CTRL: _write_fp_ctrl,
    }  # fmt: skip


def _component(offset: int, part: int, kind: int) -> int:
    """A word of PIDR and CIDR (CoreSight): part of Arm (JEP106 0x4, 0x3B), class of component."""
    pidr = {0xFD0: 4, 0xFE0: part & 0xFF, 0xFE4: 0xB0 | part >> 8, 0xFE8: 0x0B}
    cidr = {0xFF0: 0x0D, 0xFF4: kind << 4, 0xFF8: 0x05, 0xFFC: 0xB1}
    return (pidr | cidr).get(offset, 0)
