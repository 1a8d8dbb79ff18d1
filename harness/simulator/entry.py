"""Exception entry (Armv8-M ARM, B3.18 to B3.22), within a security state and between both.

Floating-point registers are stacked at once (eager); lazy stacking differs only in memory that no
program reads.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import TYPE_CHECKING

from harness.simulator.engine import Engine
from harness.simulator.escalation import SPSEL, Escalation, Failure, FaultListener
from harness.simulator.library import Reg
from harness.simulator.nvic import (
    BUS_FAULT,
    FIRST_IRQ,
    HARD_FAULT,
    MEM_MANAGE,
    NMI,
    NUMBER,
    SECURE_FAULT,
    USAGE_FAULT,
)
from harness.simulator.security.attribution import READ, WRITE
from harness.simulator.security.worlds import Worlds
from harness.simulator.status import (
    AUVIOL,
    HFSR_FORCED,
    HFSR_VECTTBL,
    MSTKERR,
    MUNSTKERR,
    STKERR,
    STKOF,
    UNSTKERR,
)

if TYPE_CHECKING:
    from harness.simulator._native import Nvic

XPSR_T = 1 << 24
# Plain numbers: looking up a member of an enumeration takes longer than reading the register.
_XPSR, _XPSR_NZCVQG = int(Reg.XPSR), int(Reg.XPSR_NZCVQG)
_APSR_NZCV, _EPSR = int(Reg.APSR_NZCV), int(Reg.EPSR)
_SP, _PSP, _LR, _PC = int(Reg.SP), int(Reg.PSP), int(Reg.LR), int(Reg.PC)
_CONTROL, _FAULTMASK, _FPSCR = int(Reg.CONTROL), int(Reg.FAULTMASK), int(Reg.FPSCR)
_ENTRY = tuple(map(int, (Reg.R0, Reg.R1, Reg.R2, Reg.R3, Reg.R12, _LR, _XPSR, _SP, _CONTROL)))
LOW_FP, HIGH_FP = tuple(range(Reg.S0, Reg.S0 + 16)), tuple(range(Reg.S0 + 16, Reg.S0 + 32))
CALLEE_SAVED = tuple(range(Reg.R0 + 4, Reg.R0 + 12))
_ALL = tuple(range(Reg.R0, Reg.R0 + 13))
NPRIV, FPCA, SFPA = 1, 4, 8
# EXC_RETURN: secure stack, default stacking, FType, mode, SPSEL, secure exception.
S, DCRS, NO_FP, THREAD, PROCESS, ES = 1 << 6, 1 << 5, 1 << 4, 1 << 3, 1 << 2, 1 << 0
_PREFIX = 0xFFFF_FF80
RETPSR_SFPA, ALIGNED = 1 << 20, 1 << 9
BASIC, EXTENDED, CALLEE = 0x20, 0x68, 0x28
#: The integrity signature of the additional state context; bit 0 is EXC_RETURN.FType.
SIGNATURE = 0xFEFA_125A


class Entry(Escalation):
    """How an exception is taken; for the return see :mod:`harness.simulator.exceptions`."""

    def __init__(self, engine: Engine, nvic: Nvic, worlds: Worlds, heard: FaultListener) -> None:
        super().__init__(engine, nvic, worlds, heard)
        self._ram = engine.stores["ram"]
        self.sleep_on_exit = False
        self.after_reset: Callable[[], None] | None = None

    # memory as the processor's own accesses see it

    def memory(
        self, address: int, size: int, *, write: bool, privileged: bool | None = None
    ) -> memoryview | Failure:
        """The bytes of a frame, or why they cannot be accessed."""
        store = self._ram if self._ram.area.holds(address, size) else None
        if store is None and not write:
            store = self._engine.store_of(address, size)
        worlds = self._worlds
        is_secure = worlds.attribution.is_secure
        if worlds.nonsecure and (is_secure(address) or is_secure(address + size - 1)):
            return Failure(SECURE_FAULT, AUVIOL)
        mpu = worlds.now.mpu
        if privileged is None:
            privileged = self.privileged()
        if mpu.checks and not mpu.allows_all(address, size, write=write, privileged=privileged):
            return Failure(self._own(MEM_MANAGE), MSTKERR if write else MUNSTKERR)
        if store is None or self._bus_refuses(address, size, WRITE if write else READ):
            return Failure(BUS_FAULT, STKERR if write else UNSTKERR)
        return store.slice(address, size)

    def _bus_refuses(self, address: int, size: int, permission: int) -> bool:
        attribution = self._worlds.attribution
        return attribution.restricted and (
            attribution.refuses_bus(address, permission)
            or attribution.refuses_bus(address + size - 1, permission)
        )

    def privileged(self, *, of_nonsecure: bool = False) -> bool:
        """True in handler mode and in privileged thread mode.

        ``of_nonsecure``: asked of the non-secure state while the secure one runs.
        """
        if self._core.read(_XPSR) & 0x1FF:
            return True
        return not (self._core.other()[3] if of_nonsecure else self._core.read(_CONTROL)) & NPRIV

    # entry

    def enter(self, number: int, pc: int) -> None:
        """Stack the state, which goes on at ``pc`` later, and go to the handler of ``number``."""
        worlds = self._worlds
        target = worlds.divided and self._nvic.is_nonsecure(number)
        exc_return = _PREFIX | DCRS
        if not self._core.nonsecure_frames:
            exc_return |= (0 if worlds.nonsecure else S) | (0 if target else ES)
        if worlds.plain_frames and target is worlds.nonsecure:
            vector = worlds.now.scb.vtor + 4 * (number & NUMBER)
            if self._core.enter(number & NUMBER, pc, vector, exc_return):
                self._entered(number)
                return
        self._enter_with_care(number, pc, exc_return)

    def _entered(self, number: int) -> None:
        self._nvic.activate(number)
        self._core.synchronize()

    def _enter_with_care(self, number: int, pc: int, exc_return: int) -> None:
        core, worlds = self._core, self._worlds
        r0, r1, r2, r3, r12, lr, xpsr, sp, control = core.read_many(_ENTRY)
        thread = not xpsr & 0x1FF
        process = thread and bool(control & SPSEL)
        extended = bool(control & FPCA)
        registers = LOW_FP + (HIGH_FP if not self._worlds.plain_frames else ())
        size = EXTENDED + 4 * (len(registers) - 16) if extended else BASIC
        frame = sp - size & ~7 & 0xFFFF_FFFF
        xpsr_stacked = xpsr & ~ALIGNED | (sp - size & 4) << 7
        if worlds.divided and not worlds.nonsecure and control & SFPA:
            xpsr_stacked |= RETPSR_SFPA
        privileged = not (thread and control & NPRIV)
        place = self.memory(frame, size, write=True, privileged=privileged)
        words: tuple[int, ...] = (r0, r1, r2, r3, r12, lr, pc, xpsr_stacked)
        if extended:
            floats = core.read_many(registers)
            words += (*floats[:16], core.read(_FPSCR), 0, *floats[16:])
        exc_return |= (not extended) << 4 | thread << 3
        across = self._nvic.is_nonsecure(number) is not worlds.nonsecure
        if not across:
            exc_return |= process << 2
        # The processor switches to handler mode, hence to the main stack, with the write of xPSR.
        core.write_many(
            (_SP, _XPSR_NZCVQG, _CONTROL),
            (
                frame,
                xpsr & 0xF80F_0000 | XPSR_T | number & NUMBER,
                control & ~((0 if across else SPSEL) | FPCA | SFPA),
            ),
        )
        core.clear_monitor()
        psplim, msplim = core.limits()
        limit = psplim if process else msplim
        if frame < limit:
            place = Failure(self._own(USAGE_FAULT), STKOF)
            core.write(_PSP if process else _SP, limit)
        if isinstance(place, memoryview):
            place[:] = struct.pack(f"<{size // 4}I", *words)
        else:
            number = self._derived(number, place, pc)
            if self.locked_up:
                return
            core.write(_XPSR_NZCVQG, xpsr & 0xF80F_0000 | XPSR_T | number & NUMBER)
        self._go(number, exc_return, tail=False)

    def _derived(self, number: int, failure: Failure, pc: int) -> int:
        """Note a fault of the stacking itself; returns the exception that is taken now.

        It escalates against the priority before the entry (Armv8-M ARM, DerivedLateArrival): a
        MemManage whose own frame hits the stack guard stays a MemManage.
        """
        self._note(failure.cause, failure.bits, None)
        derived = self._escalated(failure.cause, below=self._core.priority())
        if derived == 0:
            if number & NUMBER in (HARD_FAULT, NMI):
                self._record(failure.cause, HARD_FAULT, failure.bits, pc, None, stacking=True)
                self._lock_up(pc)
                return number
            derived = self._hard_fault(failure.cause)
        if derived & NUMBER == HARD_FAULT != failure.cause:
            self._shared.hfsr |= HFSR_FORCED
        self._record(failure.cause, derived, failure.bits, pc, None, stacking=True)
        if self._nvic.group_priority(derived) >= self._nvic.group_priority(number):
            self._nvic.pend(derived)
            return number
        if number >= FIRST_IRQ or number & NUMBER not in (MEM_MANAGE, BUS_FAULT, USAGE_FAULT):
            self._nvic.pend(number)
        return derived

    def _go(self, number: int, exc_return: int, *, tail: bool) -> None:
        """Go to the handler; ``tail``: nothing was stacked for it."""
        if self._worlds.divided:
            exc_return = self._across(number, exc_return, tail=tail)
        vector = self._vector(number)
        if vector is None:
            self._shared.hfsr |= HFSR_VECTTBL
            if number & NUMBER == HARD_FAULT:
                self._lock_up(0)
                return
            self._core.write(_XPSR_NZCVQG, self._core.read(_XPSR) & ~0x1FF | HARD_FAULT)
            self._nvic.unpend(number)
            number = self._hard_fault(number)
            if self._worlds.divided:
                exc_return = self._across(number, exc_return, tail=True)
            vector = self._vector(number)
            if vector is None:
                self._lock_up(0)
                return
        self._core.write_many(
            (_LR, _PC, _EPSR),
            (exc_return, vector | 1, XPSR_T if vector & 1 else 0),
        )
        self._refresh()
        self._entered(number)

    def _across(self, number: int, exc_return: int, *, tail: bool) -> int:
        """Change to the state that takes the exception (Armv8-M ARM, ExceptionTaken).

        On the way from secure to non-secure code, r4 to r11 are stacked with their signature, and
        all registers are cleared. Returns the EXC_RETURN value.
        """
        core, worlds = self._core, self._worlds
        target = self._nvic.is_nonsecure(number)
        stacked = tail and not exc_return & ES  # by an earlier entry to a non-secure exception
        if exc_return & S and not target and stacked:
            exc_return &= ~DCRS
        elif exc_return & S and target:
            if exc_return & DCRS and not stacked:
                self._push_callee_saved(exc_return)
            exc_return |= DCRS
            cleared = _ALL + LOW_FP + (HIGH_FP if not self._worlds.plain_frames else ())
            core.write_many(cleared, (0,) * len(cleared))
            core.write(_XPSR_NZCVQG, XPSR_T | number & NUMBER)
        exc_return = exc_return & ~ES if target else exc_return | ES
        changes = worlds.nonsecure is not target
        if changes:
            worlds.change()
        if changes or tail:
            control = core.read(_CONTROL)
            exc_return = exc_return & ~PROCESS | (control & SPSEL) << 1
            core.write(_CONTROL, control & ~SPSEL)
        return exc_return

    def _push_callee_saved(self, exc_return: int) -> None:
        """Push the additional state context on the stack that holds the frame."""
        core = self._core
        process = bool(exc_return & THREAD and core.read(_CONTROL) & SPSEL)
        stack = _PSP if process else _SP
        frame = core.read(stack) - CALLEE & 0xFFFF_FFFF
        psplim, msplim = core.limits()
        place = self.memory(frame, CALLEE, write=True, privileged=True)
        core.write(stack, frame)
        if frame < (psplim if process else msplim):
            place = Failure(USAGE_FAULT, STKOF)
        if isinstance(place, memoryview):
            signature = SIGNATURE | (exc_return & NO_FP) >> 4
            place[:] = struct.pack("<10I", signature, 0, *core.read_many(CALLEE_SAVED))
        else:
            self._note(place.cause, place.bits, None)
            self._record(place.cause, place.cause, place.bits, core.read(_PC), None, stacking=True)
            self._nvic.pend(place.cause)

    def _vector(self, number: int) -> int | None:
        worlds = self._worlds
        address = worlds.of(number).scb.vtor + 4 * (number & NUMBER)
        if self._nvic.is_nonsecure(number) and worlds.attribution.is_secure(address):
            return None
        store = self._engine.store_of(address, 4)
        return int.from_bytes(store.slice(address, 4), "little") if store else None

    def _refresh(self) -> None:
        """Unicorn derives its mode from CONTROL and IPSR when the flags are written."""
        self._core.write(_APSR_NZCV, self._core.read(_XPSR) & 0xF000_0000)
