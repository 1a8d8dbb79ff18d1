"""Exception entry and return (Armv8-M ARM, B3.18 to B3.22), faults and their escalation.

Floating-point registers are stacked at once (eager); lazy stacking differs only in memory that no
program reads. A return to a pending exception tail-chains: the frame is neither read nor written.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from harness.simulator.counting import EXTRA_EXCLUSIVE, EXTRA_LIMITS
from harness.simulator.engine import Engine
from harness.simulator.faults import BLOCKS_KEPT, FaultRecord, exception_name, status_names
from harness.simulator.library import CORE_REGISTERS, Reg
from harness.simulator.mpu import Mpu
from harness.simulator.nvic import (
    BUS_FAULT,
    FIRST_IRQ,
    HARD_FAULT,
    MEM_MANAGE,
    NMI,
    SVCALL,
    USAGE_FAULT,
    Nvic,
)
from harness.simulator.scb import (
    BFARVALID,
    BFHFNMIGN,
    FAULT_ENABLES,
    HFSR_DEBUGEVT,
    HFSR_FORCED,
    HFSR_VECTTBL,
    INVPC,
    MMARVALID,
    MSTKERR,
    MUNSTKERR,
    SLEEPONEXIT,
    STKERR,
    STKOF,
    UNSTKERR,
    Scb,
)

XPSR_T = 1 << 24
# Plain numbers: looking up a member of an enumeration takes longer than reading the register.
_XPSR, _XPSR_NZCVQG, _APSR_NZCV, _EPSR = (
    int(r) for r in (Reg.XPSR, Reg.XPSR_NZCVQG, Reg.APSR_NZCV, Reg.EPSR)
)
_SP, _PSP, _LR, _PC = (int(r) for r in (Reg.SP, Reg.PSP, Reg.LR, Reg.PC))
_CONTROL, _PRIMASK, _FAULTMASK, _BASEPRI = (
    int(r) for r in (Reg.CONTROL, Reg.PRIMASK, Reg.FAULTMASK, Reg.BASEPRI)
)
_ENTRY = (
    *(int(r) for r in (Reg.R0, Reg.R1, Reg.R2, Reg.R3, Reg.R12, Reg.LR, Reg.XPSR, Reg.SP)),
    int(Reg.CONTROL),
)
_FP = (*range(Reg.S0, Reg.S0 + 16), int(Reg.FPSCR))
_ENTERED = (int(Reg.SP), int(Reg.XPSR_NZCVQG), int(Reg.CONTROL), int(Reg.LR), int(Reg.PC))
_RESTORED = tuple(int(r) for r in (Reg.R0, Reg.R1, Reg.R2, Reg.R3, Reg.R12, Reg.LR))
SPSEL, FPCA = 2, 4
_BASIC, _EXTENDED = struct.Struct("<8I"), struct.Struct("<26I")


class FaultListener(Protocol):
    """Gets each fault as it is taken."""

    def __call__(self, record: FaultRecord) -> None: ...


@dataclass(frozen=True)
class _Failure:
    """Why a stack access failed, as status bits of the two kinds."""

    cause: int
    bits: int


class Exceptions:
    """The exception model around one core."""

    def __init__(
        self, engine: Engine, nvic: Nvic, scb: Scb, mpu: Mpu, heard: FaultListener
    ) -> None:
        self._engine, self._core, self._nvic, self._scb = engine, engine.core, nvic, scb
        self._mpu, self._heard = mpu, heard
        self._ram = engine.stores["ram"]
        self.locked_up = False
        self.nonsecure = False  # frames as a non-secure image expects them
        self.sleep_on_exit = False
        self.entries = 0
        self.after_reset: Callable[[], None] | None = None

    # memory as exception frames see it

    def _frame(
        self, address: int, size: int, *, write: bool, privileged: bool
    ) -> memoryview | _Failure:
        """The bytes of a frame, or why there can be none."""
        store = self._ram if self._ram.area.holds(address, size) else None
        if store is None and not write:
            store = self._engine.store_of(address, size)
        if self._mpu.checks and not self._mpu.allows_all(
            address, size, write=write, privileged=privileged
        ):
            return _Failure(MEM_MANAGE, MSTKERR if write else MUNSTKERR)
        if store is None:
            return _Failure(BUS_FAULT, STKERR if write else UNSTKERR)
        return store.slice(address, size)

    def privileged(self) -> bool:
        """True in handler mode and in privileged thread mode."""
        return bool(self._core.read(_XPSR) & 0x1FF) or not self._core.read(_CONTROL) & 1

    def synchronize(self) -> None:
        """Put changes of the MPU in force, and those of the priority that concern it."""
        mpu = self._mpu
        if mpu.enabled or self._core.stale:
            number = self._core.read(_XPSR) & 0x1FF
            masked = bool(self._core.read(_FAULTMASK) & 1)
            mpu.take_effect(negative=number in (NMI, HARD_FAULT) or masked)

    def _limits(self) -> tuple[int, int]:
        """PSPLIM and MSPLIM, (0, 0) while no code that sets them was seen."""
        extras = self._core.extras
        if extras & EXTRA_EXCLUSIVE:
            self._core.clear_monitor()
        return self._core.limits() if extras & EXTRA_LIMITS else (0, 0)

    # entry

    def enter(self, number: int, pc: int) -> None:
        """Stack the state that is to go on at ``pc`` and go to the handler of ``number``."""
        base = 0xFFFF_FFA0 if self.nonsecure else 0xFFFF_FFE1
        if self._core.enter(number, pc, self._scb.vtor + 4 * number, base):
            self._entered(number)
        else:
            self._enter_with_care(number, pc, base)

    def _entered(self, number: int) -> None:
        self._nvic.activate(number)
        self.entries += 1
        if number <= HARD_FAULT or self._core.stale or self._mpu.negative:
            self.synchronize()

    def _enter_with_care(self, number: int, pc: int, exc_return: int) -> None:
        core = self._core
        r0, r1, r2, r3, r12, lr, xpsr, sp, control = core.read_many(_ENTRY)
        thread = not xpsr & 0x1FF
        process = thread and bool(control & SPSEL)
        extended = bool(control & FPCA)
        size = 0x68 if extended else 0x20
        frame = sp - size & ~7 & 0xFFFF_FFFF
        xpsr_stacked = xpsr & ~(1 << 9) | (sp - size & 4) << 7
        privileged = not (thread and control & 1)
        place = self._frame(frame, size, write=True, privileged=privileged)
        words = (r0, r1, r2, r3, r12, lr, pc, xpsr_stacked)
        floats = (*core.read_many(_FP), 0) if extended else ()
        exc_return |= (not extended) << 4 | thread << 3 | process << 2
        # The processor switches to handler mode, hence to the main stack, with the write of xPSR.
        core.write_many(
            _ENTERED[:3],
            (frame, xpsr & 0xF80F_0000 | XPSR_T | number, control & ~(SPSEL | FPCA | 8)),
        )
        if core.extras:
            psplim, msplim = self._limits()
            limit = psplim if process else msplim
            if frame < limit:
                place = _Failure(USAGE_FAULT, STKOF)
                core.write(_PSP if process else _SP, limit)
        if not isinstance(place, _Failure):
            place[:] = (_EXTENDED if extended else _BASIC).pack(*words, *floats)
        else:
            number = self._derived(number, place, pc)
            if self.locked_up:
                return
            core.write(_XPSR_NZCVQG, xpsr & 0xF80F_0000 | XPSR_T | number)
        self._go(number, exc_return)

    def _derived(self, number: int, failure: _Failure, pc: int) -> int:
        """Note a fault of the stacking itself; which exception is taken now.

        It escalates against the priority before the entry (Armv8-M ARM, DerivedLateArrival): a
        MemManage whose own frame hits the stack guard stays a MemManage.
        """
        self._scb.cfsr |= failure.bits
        derived = self._escalated(failure.cause, below=self.execution_priority())
        if derived == 0:
            if number in (HARD_FAULT, NMI):
                self._record(failure.cause, HARD_FAULT, failure.bits, pc, None, stacking=True)
                self._lock_up(pc)
                return number
            derived = HARD_FAULT
        if derived == HARD_FAULT and failure.cause != HARD_FAULT:
            self._scb.hfsr |= HFSR_FORCED
        self._record(failure.cause, derived, failure.bits, pc, None, stacking=True)
        if self._nvic.group_priority(derived) >= self._nvic.group_priority(number):
            self._nvic.pend(derived)
            return number
        if number >= FIRST_IRQ or number not in (MEM_MANAGE, BUS_FAULT, USAGE_FAULT):
            self._nvic.pend(number)
        return derived

    def _go(self, number: int, exc_return: int) -> None:
        vector = self._vector(number)
        if vector is None:
            self._scb.hfsr |= HFSR_VECTTBL
            if number == HARD_FAULT:
                self._lock_up(0)
                return
            self._core.write(_XPSR_NZCVQG, self._core.read(_XPSR) & ~0x1FF | HARD_FAULT)
            self._nvic.pending &= ~(1 << number)
            number = HARD_FAULT
            vector = self._vector(HARD_FAULT)
            if vector is None:
                self._lock_up(0)
                return
        self._core.write_many(
            (_LR, _PC, _EPSR),
            (exc_return, vector | 1, XPSR_T if vector & 1 else 0),
        )
        self._refresh()
        self._entered(number)

    def _vector(self, number: int) -> int | None:
        address = self._scb.vtor + 4 * number
        store = self._engine.store_of(address, 4)
        return int.from_bytes(store.slice(address, 4), "little") if store else None

    def _refresh(self) -> None:
        """Unicorn derives its mode from CONTROL and IPSR when the flags are written."""
        self._core.write(_APSR_NZCV, self._core.read(_XPSR) & 0xF000_0000)

    # return

    def leave(self, exc_return: int) -> None:
        """Return from the active exception by the EXC_RETURN value that was branched to."""
        core, nvic = self._core, self._nvic
        number = core.read(_XPSR) & 0x1FF
        if not nvic.active >> number & 1 or exc_return & 0x00FF_FF82 != 0x00FF_FF80:
            self._bad_return(exc_return)
            return
        if number != NMI and (number != HARD_FAULT or core.read(_FAULTMASK)):
            core.write(_FAULTMASK, 0)
        nvic.deactivate(number)
        if core.deliverable():  # tail-chaining: the frame stays where it is, unread
            following = nvic.best()
            core.write(_XPSR_NZCVQG, core.read(_XPSR) & ~0x1FF | following)
            self._go(following, exc_return)
            return
        if core.leave(exc_return):
            self._left(number, exc_return)
        else:
            self._leave_with_care(number, exc_return)

    def _left(self, number: int, exc_return: int) -> None:
        if number <= HARD_FAULT or self._core.stale or self._mpu.negative:
            self.synchronize()
        if exc_return & 8 and self._scb.scr & SLEEPONEXIT:
            self.sleep_on_exit = True

    def _leave_with_care(self, number: int, exc_return: int) -> None:
        core = self._core
        process = exc_return & 0xC == 0xC
        thread = bool(exc_return & 8)
        extended = not exc_return & 0x10
        frame = core.read(_PSP if process else _SP)
        size = 0x68 if extended else 0x20
        privileged = not (thread and core.read(_CONTROL) & 1)
        place = self._frame(frame, size, write=False, privileged=privileged)
        if isinstance(place, _Failure):
            self.fault(place.cause, place.bits, exc_return & ~1)
            return
        if frame & 3:
            self.fault(USAGE_FAULT, INVPC, exc_return & ~1)
            return
        words = (_EXTENDED if extended else _BASIC).unpack(place)
        xpsr = words[7]
        if (xpsr & 0x1FF == 0) != thread:
            self._bad_return(exc_return)
            return
        core.write_many(_RESTORED, words[:6])
        if extended:
            core.write_many(_FP, words[8:25])
        end = frame + size | xpsr >> 7 & 4
        control = core.read(_CONTROL) & 1 | process << 1 | extended << 2 | 8
        core.write(_PSP if process else _SP, end)
        core.write_many(
            (_CONTROL, _PC, _XPSR_NZCVQG),
            (control, words[6] | xpsr >> 24 & 1, xpsr & ~(1 << 9)),
        )
        self._refresh()
        if core.extras & EXTRA_EXCLUSIVE:
            core.clear_monitor()
        self._left(number, exc_return)

    def _bad_return(self, exc_return: int) -> None:
        number = self._core.read(_XPSR) & 0x1FF
        if self._nvic.active >> number & 1:
            self._nvic.deactivate(number)
        self.fault(USAGE_FAULT, INVPC, exc_return & ~1)

    # taking exceptions

    def execution_priority(self) -> int:
        """What a new exception must be below, with PRIMASK, FAULTMASK and BASEPRI."""
        core = self._core
        now = core.active_priority
        if core.read(_FAULTMASK) & 1:
            now = min(now, -1)
        if core.read(_PRIMASK) & 1:
            now = min(now, 0)
        base = core.read(_BASEPRI) & core.group_mask
        return min(now, base) if base else now

    def _escalated(self, cause: int, below: int) -> int:
        """The exception that ``cause`` becomes at priority ``below``; 0 when none can be taken."""
        nvic = self._nvic
        enabled = cause == SVCALL or self._scb.fault_enables & FAULT_ENABLES.get(cause, 0)
        if enabled and nvic.group_priority(cause) < below:
            return cause
        return HARD_FAULT if below > nvic.priority(HARD_FAULT) else 0

    def supervisor_call(self, pc: int) -> None:
        """SVC: its handler, or HardFault where its priority does not suffice."""
        number = self._escalated(SVCALL, self.execution_priority())
        if number == HARD_FAULT:
            self._scb.hfsr |= HFSR_FORCED
            self._record(SVCALL, HARD_FAULT, 0, pc, None)
        if number == 0:
            self._record(SVCALL, 0, 0, pc, None)
            self._lock_up(pc)
        else:
            self.enter(number, pc)

    def breakpoint(self, pc: int) -> None:
        """BKPT with no debugger: HardFault."""
        self._scb.hfsr |= HFSR_DEBUGEVT
        self.fault(HARD_FAULT, 0, pc)

    def fault(self, cause: int, status: int, pc: int, address: int | None = None) -> None:
        """A synchronous fault at ``pc``; ``status`` are the CFSR bits to set."""
        scb = self._scb
        scb.cfsr |= status
        if address is not None and status & MMARVALID:
            scb.mmfar = address
        if address is not None and status & BFARVALID:
            scb.bfar = address
        now = self.execution_priority()
        number = self._escalated(cause, now)
        if number == HARD_FAULT and cause != HARD_FAULT:
            scb.hfsr |= HFSR_FORCED
        if cause == BUS_FAULT and now <= -1 and scb.ccr & BFHFNMIGN:
            number = 0
        self._record(cause, number, status, pc, address)
        if number == 0:
            self._lock_up(pc)
        else:
            self.enter(number, pc)

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
            exception = 0 if not self._nvic.active else exception
        self._heard(
            FaultRecord(
                exception_name(taken) if taken else "Lockup",
                exception_name(cause),
                ", ".join(status_names(status, self._scb.hfsr & HFSR_DEBUGEVT)),
                pc,
                registers[14],
                registers[13],
                "PSP" if process else "MSP",
                address,
                tuple(registers),
                self._scb.cfsr,
                self._scb.hfsr,
                exception,
                self._core.executed,
                tuple(self._core.recent_blocks()[-BLOCKS_KEPT:]),
            )
        )
