"""Exception return (Armv8-M ARM, B3.22 to B3.24), within a security state and between both.

A return to a pending exception tail-chains: the frame is neither read nor written.
"""

from __future__ import annotations

import struct

from harness.simulator.entry import (
    ALIGNED,
    BASIC,
    CALLEE,
    CALLEE_SAVED,
    DCRS,
    ES,
    EXTENDED,
    HIGH_FP,
    LOW_FP,
    NO_FP,
    NPRIV,
    PROCESS,
    RETPSR_SFPA,
    SFPA,
    SIGNATURE,
    THREAD,
    Entry,
    S,
)
from harness.simulator.escalation import SPSEL, Failure
from harness.simulator.library import Reg
from harness.simulator.nvic import (
    BANKED,
    HARD_FAULT,
    NMI,
    NONSECURE,
    NUMBER,
    SECURE_FAULT,
    USAGE_FAULT,
)
from harness.simulator.scb import SLEEPONEXIT
from harness.simulator.status import INVER, INVIS, INVPC

# Plain numbers: looking up a member of an enumeration takes longer than reading the register.
_XPSR, _XPSR_NZCVQG = int(Reg.XPSR), int(Reg.XPSR_NZCVQG)
_SP, _PSP, _PC = int(Reg.SP), int(Reg.PSP), int(Reg.PC)
_CONTROL, _FAULTMASK, _FPSCR = int(Reg.CONTROL), int(Reg.FAULTMASK), int(Reg.FPSCR)
_RESTORED = tuple(map(int, (Reg.R0, Reg.R1, Reg.R2, Reg.R3, Reg.R12, Reg.LR)))


class Exceptions(Entry):
    """The exception model around one core."""

    def leave(self, exc_return: int) -> None:
        """Return from the active exception; the code branched to ``exc_return``."""
        core, nvic, worlds = self._core, self._nvic, self._worlds
        number = core.read(_XPSR) & 0x1FF
        alone = worlds.plain_frames or bool(exc_return & NO_FP)
        if worlds.divided:
            if worlds.nonsecure and (exc_return & ES or not exc_return & DCRS):
                self._refuse_return(number | NONSECURE if number in BANKED else number, exc_return)
                return
            if number in BANKED and not exc_return & ES:
                number |= NONSECURE
            own = DCRS if worlds.nonsecure else DCRS | S | ES
            alone = alone and exc_return & (DCRS | S | ES) == own
        if not nvic.is_active(number) or exc_return & 0x00FF_FF82 != 0x00FF_FF80:
            self._bad_return(exc_return)
            return
        if number != NMI and (number & NUMBER != HARD_FAULT or core.read(_FAULTMASK)):
            core.write(_FAULTMASK, 0)
        nvic.deactivate(number)
        if worlds.divided:
            self._take_spsel(exc_return)
        if core.deliverable():  # tail-chaining: the frame stays where it is, unread
            self._chain(nvic.best(), exc_return)
            return
        if alone and core.leave(exc_return):
            self._left(exc_return)
        else:
            self._leave_with_care(number, exc_return)

    def _chain(self, following: int, exc_return: int) -> None:
        core = self._core
        core.write(_XPSR_NZCVQG, core.read(_XPSR) & ~0x1FF | following & NUMBER)
        self._go(following, exc_return, tail=True)

    def _left(self, exc_return: int) -> None:
        self._core.synchronize()
        if exc_return & THREAD and self._worlds.now.scb.scr & SLEEPONEXIT:
            self.sleep_on_exit = True

    def _take_spsel(self, exc_return: int) -> None:
        """Set SPSEL of the exception's own state; the frame may belong to the other one."""
        control = self._core.read(_CONTROL)
        spsel = SPSEL if exc_return & PROCESS else 0
        self._core.write(_CONTROL, control & ~SPSEL | spsel)

    def _stack_of(self, exc_return: int) -> int:
        """Change to the state whose stack holds the frame; returns that stack pointer."""
        core, worlds = self._core, self._worlds
        if not worlds.divided:
            return _PSP if exc_return & (THREAD | PROCESS) == THREAD | PROCESS else _SP
        if worlds.nonsecure is bool(exc_return & S):
            worlds.change()
        process = exc_return & THREAD and core.read(_CONTROL) & SPSEL
        return _PSP if process else _SP

    def _pop_callee_saved(self, stack: int, exc_return: int) -> bool:
        """Restore r4 to r11; False if this failed, and the fault was taken instead."""
        core = self._core
        frame = core.read(stack)
        place = self.memory(frame, CALLEE, write=False, privileged=True)
        if not isinstance(place, memoryview):
            self._fault_in_return(place.cause, place.bits, exc_return)
            return False
        signature, _, *values = struct.unpack("<10I", place)
        if signature != SIGNATURE | (exc_return & NO_FP) >> 4:
            self._fault_in_return(SECURE_FAULT, INVIS, exc_return)
            return False
        core.write_many(CALLEE_SAVED, values)
        core.write(stack, frame + CALLEE)
        return True

    def _leave_with_care(self, number: int, exc_return: int) -> None:
        core = self._core
        stack = self._stack_of(exc_return)
        worlds = self._worlds
        with_callee_saved = exc_return & S and exc_return & (ES | DCRS) != ES | DCRS
        if worlds.divided and with_callee_saved and not self._pop_callee_saved(stack, exc_return):
            return
        thread = bool(exc_return & THREAD)
        registers = LOW_FP + (HIGH_FP if not worlds.plain_frames else ())
        extended = not exc_return & NO_FP
        frame = core.read(stack)
        size = EXTENDED + 4 * (len(registers) - 16) if extended else BASIC
        privileged = not (thread and core.read(_CONTROL) & NPRIV)
        place = self.memory(frame, size, write=False, privileged=privileged)
        if isinstance(place, Failure):
            self._fault_in_return(place.cause, place.bits, exc_return)
            return
        if frame & 3:
            self._fault_in_return(self._own(USAGE_FAULT), INVPC, exc_return)
            return
        words = struct.unpack(f"<{size // 4}I", place)
        xpsr = words[7]
        if (xpsr & 0x1FF == 0) != thread:
            self._bad_return(exc_return)
            return
        core.write_many(_RESTORED, words[:6])
        if extended:
            core.write_many(registers, words[8:24] + words[26:])
            core.write(_FPSCR, words[24])
        secure = worlds.divided and not worlds.nonsecure
        sfpa = (xpsr & RETPSR_SFPA) >> 17 if secure else SFPA
        control = core.read(_CONTROL) & NPRIV | (stack == _PSP) << 1 | extended << 2 | sfpa
        core.write(stack, frame + size | xpsr >> 7 & 4)
        core.write_many(
            (_CONTROL, _PC, _XPSR_NZCVQG),
            (control, words[6] | xpsr >> 24 & 1, xpsr & ~(ALIGNED | RETPSR_SFPA)),
        )
        self._refresh()
        core.clear_monitor()
        self._left(exc_return)

    def _bad_return(self, exc_return: int) -> None:
        number = self._core.read(_XPSR) & 0x1FF
        number = self._own(number)
        if self._nvic.is_active(number):
            self._nvic.deactivate(number)
        self._fault_in_return(self._own(USAGE_FAULT), INVPC, exc_return)

    def _refuse_return(self, number: int, exc_return: int) -> None:
        """Non-secure code returns with a secure EXC_RETURN (Armv8-M ARM, R_SMFL)."""
        if self._nvic.is_active(number):
            self._nvic.deactivate(number)
        self._fault_in_return(SECURE_FAULT, INVER, exc_return & ~ES)

    def _fault_in_return(self, cause: int, status: int, exc_return: int) -> None:
        """Take a fault of the return itself by tail-chaining: nothing is stacked."""
        number = self._judged(cause, status, exc_return & ~1)
        if number == 0:
            self._lock_up(exc_return)
        else:
            self._chain(number, exc_return)
