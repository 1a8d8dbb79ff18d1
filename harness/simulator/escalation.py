"""Which exception a fault becomes, and the record of it (Armv8-M ARM, B3.9 to B3.13)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from harness.simulator.engine import Engine
from harness.simulator.faults import BLOCKS_KEPT, FaultRecord, exception_name, status_names
from harness.simulator.library import CORE_REGISTERS, Reg
from harness.simulator.nvic import (
    BANKED,
    HARD_FAULT,
    MEM_MANAGE,
    NONSECURE,
    NUMBER,
    SECURE_FAULT,
    SVCALL,
)
from harness.simulator.scb import FAULT_ENABLES
from harness.simulator.security.worlds import NAMES, Worlds
from harness.simulator.status import (
    BFARVALID,
    DACCVIOL,
    HFSR_DEBUGEVT,
    HFSR_FORCED,
    MMARVALID,
    PRECISERR,
)

if TYPE_CHECKING:
    from harness.simulator._native import Nvic

_CONTROL, _XPSR, _PC = int(Reg.CONTROL), int(Reg.XPSR), int(Reg.PC)
SPSEL = 2


class FaultListener(Protocol):
    """Gets each fault as it is taken."""

    def __call__(self, record: FaultRecord) -> None: ...


@dataclass(frozen=True)
class Failure:
    """Why an access of the processor itself failed: the fault, and the status bits to set."""

    cause: int
    bits: int

    def as_data_access(self) -> int:
        """The status of a load or store of secure code that failed in this way."""
        return DACCVIOL | MMARVALID if self.cause == MEM_MANAGE else PRECISERR | BFARVALID


class Escalation:
    """Faults of one core; :class:`~harness.simulator.exceptions.Exceptions` takes them."""

    def __init__(self, engine: Engine, nvic: Nvic, worlds: Worlds, heard: FaultListener) -> None:
        self._engine, self._core, self._nvic = engine, engine.core, nvic
        self._worlds, self._heard = worlds, heard
        self._shared = worlds.shared
        self.locked_up = False

    def enter(self, number: int, pc: int) -> None:
        """Take an exception."""
        raise NotImplementedError

    def _own(self, cause: int) -> int:
        """The running state's exception for a cause."""
        return cause | NONSECURE if self._worlds.nonsecure and cause in BANKED else cause

    def _hard_fault(self, cause: int) -> int:
        """The HardFault of a fault: the secure one, or with AIRCR.BFHFNMINS that of its state."""
        nonsecure = self._nvic.faults_nonsecure and self._nvic.is_nonsecure(cause)
        return HARD_FAULT | NONSECURE if nonsecure else HARD_FAULT

    def _escalated(self, cause: int, below: int) -> int:
        """The exception that ``cause`` becomes at priority ``below``; 0 if none can be taken."""
        nvic, number = self._nvic, cause & NUMBER
        enabled = number == SVCALL or (
            self._worlds.of(cause).scb.fault_enables & FAULT_ENABLES.get(number, 0)
        )
        if enabled and nvic.group_priority(cause) < below:
            return cause
        hard = self._hard_fault(cause)
        return hard if below > nvic.priority(hard) else 0

    def _note(self, cause: int, status: int, address: int | None) -> None:
        """Set the status registers of the state that a fault belongs to."""
        if cause == SECURE_FAULT:
            self._shared.sfsr |= status
            if address is not None:
                self._shared.sfar = address
        else:
            self._worlds.of(cause).scb.note(status, address)

    def supervisor_call(self, pc: int) -> None:
        """SVC: its handler, or HardFault if its priority is not high enough."""
        cause = self._own(SVCALL)
        number = self._escalated(cause, self._core.priority())
        if number & NUMBER == HARD_FAULT:
            self._shared.hfsr |= HFSR_FORCED
            self._record(cause, number, 0, pc, None)
        if number == 0:
            self._record(cause, 0, 0, pc, None)
            self._lock_up(pc)
        else:
            self.enter(number, pc)

    def breakpoint(self, pc: int) -> None:
        """BKPT with no debugger: HardFault."""
        self._shared.hfsr |= HFSR_DEBUGEVT
        self.fault(HARD_FAULT, 0, pc)

    def fault(self, cause: int, status: int, pc: int, address: int | None = None) -> None:
        """A synchronous fault at ``pc``; ``status`` are the bits of CFSR to set, or of SFSR."""
        number = self._judged(self._own(cause), status, pc, address)
        if number == 0:
            self._lock_up(pc)
        else:
            self.enter(number, pc)

    def _judged(self, cause: int, status: int, pc: int, address: int | None = None) -> int:
        """Note and record a fault; returns the exception to take for it, 0 for none."""
        self._note(cause, status, address)
        if cause == HARD_FAULT | NONSECURE and not self._nvic.faults_nonsecure:
            cause = HARD_FAULT
        number = self._escalated(cause, self._core.priority())
        if number & NUMBER == HARD_FAULT != cause & NUMBER:
            self._shared.hfsr |= HFSR_FORCED
        self._record(cause, number, status, pc, address)
        return number

    def _lock_up(self, pc: int) -> None:
        self.locked_up = True
        self._core.write(_PC, pc | 1)

    def _record(
        self,
        cause: int,
        taken: int,
        status: int,
        pc: int,
        address: int | None,
        *,
        stacking: bool = False,
    ) -> None:
        registers = list(self._core.read_many(CORE_REGISTERS))
        registers[15] = pc
        exception = registers[16] & 0x1FF
        process = not exception and bool(self._core.read(_CONTROL) & SPSEL)
        if stacking:
            exception = exception if self._nvic.active_beside(0) else 0
        secure_fault = cause == SECURE_FAULT
        scb = self._worlds.of(cause).scb
        names = status_names(
            0 if secure_fault else status,
            self._shared.hfsr & HFSR_DEBUGEVT,
            status if secure_fault else 0,
        )
        self._heard(
            FaultRecord(
                exception_name(taken & NUMBER) if taken else "Lockup",
                exception_name(cause & NUMBER),
                ", ".join(names),
                pc,
                registers[14],
                registers[13],
                "PSP" if process else "MSP",
                address,
                tuple(registers),
                scb.cfsr,
                self._shared.hfsr,
                exception,
                self._core.executed,
                tuple(self._core.recent_blocks()[-BLOCKS_KEPT:]),
                NAMES[self._worlds.nonsecure] if self._worlds.divided else "",
                self._shared.sfsr,
            )
        )
