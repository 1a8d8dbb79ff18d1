"""Calls and returns between the security states (Armv8-M ARM, B3.19 and B3.20, C2.4), and TT.

SG, BXNS, BLXNS, FNC_RETURN, VLSTM, VLLDM, and what non-secure code sees of the special registers.
"""

from __future__ import annotations

import struct
from collections.abc import Callable

from harness.simulator.engine import Engine
from harness.simulator.exceptions import Exceptions
from harness.simulator.library import Reg
from harness.simulator.mpu import TT_READ, TT_WRITE
from harness.simulator.nvic import BUS_FAULT, MEM_MANAGE, SECURE_FAULT, USAGE_FAULT
from harness.simulator.security.attribution import EXECUTE
from harness.simulator.security.worlds import SFPA, Worlds
from harness.simulator.status import (
    IACCVIOL,
    IBUSERR,
    INVEP,
    INVPC,
    INVTRAN,
    STKOF,
    UNALIGNED,
    UNDEFINSTR,
)

SG = (0xE97F, 0xE97F)
#: What BLXNS leaves in lr; a branch to it, or one less, returns (Armv8-M ARM, B3.20).
FNC_RETURN = 0xFEFF_FFFF
_IT_MASK = 0x0600_FC00
_CONTROL = 0x14
_FP = tuple(range(Reg.S0, Reg.S0 + 16))
_HIGH_FP = tuple(range(Reg.S0 + 16, Reg.S0 + 32))
_SECURE, _IDAU_VALID = 1 << 22, 1 << 23


class Gateway:
    """Carries out the instructions that lead from one security state to the other."""

    def __init__(self, engine: Engine, worlds: Worlds, exceptions: Exceptions) -> None:
        self._engine, self._core = engine, engine.core
        self._worlds, self._exceptions = worlds, exceptions
        self._attribution = worlds.attribution

    # which code may run

    def refuses(self, pc: int, code: tuple[int, int]) -> bool:
        """True if the running state may not execute ``code`` at ``pc``; the fault is taken."""
        attribution = self._attribution
        if not attribution.restricted:
            return False
        nonsecure, secure = self._worlds.nonsecure, attribution.is_secure(pc)
        if nonsecure and secure:
            if attribution.is_callable(pc) and code == SG:
                return False
            self._exceptions.fault(SECURE_FAULT, INVEP, pc)
        elif not nonsecure and not secure:
            self._exceptions.fault(SECURE_FAULT, INVTRAN, pc)
        elif attribution.refuses_bus(pc, EXECUTE):
            self._exceptions.fault(BUS_FAULT, IBUSERR, pc)
        else:
            return False
        return True

    def is_outside(self, pc: int) -> bool:
        """True if ``pc`` belongs to the other state, so that the fault is not one of the MPU."""
        attribution = self._attribution
        if not attribution.restricted or attribution.idau_region(pc) is None:
            return False
        return attribution.is_secure(pc) is self._worlds.nonsecure

    def secure_gateway(self, pc: int, advance: Callable[[], None]) -> None:
        """SG: enters the secure state; does nothing elsewhere."""
        core = self._core
        enters = self._worlds.nonsecure and self._attribution.is_secure(pc)
        advance()
        if enters:
            core.write(Reg.LR, core.read(Reg.LR) & ~1)
            self._worlds.change()
            core.write(Reg.EPSR, 1 << 24)

    # branches from the secure state

    def branch(self, pc: int, first: int) -> None:
        """BXNS and BLXNS; undefined in the non-secure state."""
        core = self._core
        link = bool(first & 0x80)
        target = core.read(_register(first >> 3 & 0xF))
        if self._worlds.nonsecure:
            self._exceptions.fault(USAGE_FAULT, UNDEFINSTR, pc)
            return
        if link and not target & 1 and not self._push_return(pc):
            return
        core.retire(pc)
        if link:
            core.write(Reg.LR, pc + 2 | 1 if target & 1 else FNC_RETURN)
        xpsr = core.read(Reg.XPSR)
        if xpsr & _IT_MASK:
            core.write(Reg.EPSR, 1 << 24)
        if not target & 1:
            if link and xpsr & 0x1FF:
                core.write(Reg.XPSR_NZCVQG, xpsr & ~(0x1FF | _IT_MASK) | 1)
            self._worlds.change()
        self.go_to(target | 1 if not target & 1 else target)

    def go_to(self, target: int) -> None:
        """BXWritePC of an instruction that is counted already."""
        if target | 1 == FNC_RETURN:
            self.function_return()
        elif target >= 0xFF00_0000 and self._core.read(Reg.XPSR) & 0x1FF:
            self._exceptions.leave(target)
        else:
            self._core.write(Reg.PC, target)

    def _push_return(self, pc: int) -> bool:
        """Push return address and exception number on the secure stack; False for a fault."""
        core = self._core
        sp, xpsr = core.read(Reg.SP), core.read(Reg.XPSR)
        process = not xpsr & 0x1FF and bool(core.read(Reg.CONTROL) & 2)
        frame = sp - 8 & 0xFFFF_FFFF
        psplim, msplim = core.limits()
        if frame < (psplim if process else msplim):
            self._exceptions.fault(USAGE_FAULT, STKOF, pc)
            return False
        place = self._exceptions.memory(frame, 8, write=True)
        if isinstance(place, memoryview):
            sfpa = (core.read(Reg.CONTROL) & SFPA) << 17
            place[:] = struct.pack("<2I", pc + 2 | 1, xpsr & 0x1FF | sfpa)
            core.write(Reg.SP, frame)
            return True
        self._exceptions.fault(place.cause, place.as_data_access(), pc, frame)
        return False

    def function_return(self) -> None:
        """A branch to FNC_RETURN (Armv8-M ARM, FunctionReturn); a fault in secure code."""
        core = self._core
        if not self._worlds.nonsecure:
            self._exceptions.fault(MEM_MANAGE, IACCVIOL, FNC_RETURN & ~1)
            return
        running = core.read(Reg.XPSR) & 0x1FF
        self._worlds.change()
        sp = core.read(Reg.SP)
        place = self._exceptions.memory(sp, 8, write=False)
        if not isinstance(place, memoryview):
            self._exceptions.fault(place.cause, place.bits, FNC_RETURN & ~1)
            return
        address, partial = struct.unpack("<2I", place)
        if (running == 0) != (partial & 0x1FF == 0) or running > 1:
            self._exceptions.fault(USAGE_FAULT, INVPC, FNC_RETURN & ~1)
            return
        core.write(Reg.SP, sp + 8)
        if running:
            xpsr = core.read(Reg.XPSR) & ~(0x1FF | _IT_MASK)
            core.write(Reg.XPSR_NZCVQG, xpsr | partial & 0x1FF)
        core.write(Reg.CONTROL, core.read(Reg.CONTROL) & ~SFPA | partial >> 17 & SFPA)
        core.write(Reg.PC, address)

    # special registers

    def special_register(self, first: int, second: int) -> None:
        """MRS and MSR of non-secure code: no registers with _NS names, CONTROL without SFPA."""
        core = self._core
        number = second & 0xFF
        if first == 0xF3EF:
            value = core.read(Reg.CONTROL) & ~SFPA if number == _CONTROL else 0
            core.write(_register(second >> 8 & 0xF), value)
        elif number == _CONTROL:
            # Unicorn ignores what unprivileged code may not write.
            core.write(Reg.CONTROL, core.read(_register(first & 0xF)) & 7 | SFPA)

    # FP state of the secure caller

    def lazy_fp(self, pc: int, first: int, advance: Callable[[], None]) -> None:
        """VLSTM and VLLDM: the secure FP context, saved and loaded at once (Armv8-M ARM, C2.4)."""
        core = self._core
        if self._worlds.nonsecure:
            self._exceptions.fault(USAGE_FAULT, UNDEFINSTR, pc)
            return
        if not core.read(Reg.CONTROL) & SFPA or core.fp_disabled:
            advance()  # there is no secure FP context
            return
        load = bool(first & 0x10)
        address = core.read(_register(first & 0xF))
        registers = _FP + (_HIGH_FP if self._worlds[False].scb.clears_fp else ())
        size = 4 * (len(registers) + 2)
        if address & 7:
            self._exceptions.fault(USAGE_FAULT, UNALIGNED, pc)
            return
        place = self._exceptions.memory(address, size, write=not load)
        if not isinstance(place, memoryview):
            self._exceptions.fault(place.cause, place.as_data_access(), pc, address)
            return
        if load:
            words = struct.unpack(f"<{size // 4}I", place)
            core.write_many(registers, words[:16] + words[18:])
            core.write(Reg.FPSCR, words[16])
            core.write(Reg.CONTROL, core.read(Reg.CONTROL) | 4)
        else:
            values = core.read_many(registers)
            words = (*values[:16], core.read(Reg.FPSCR), 0, *values[16:])
            place[:] = struct.pack(f"<{size // 4}I", *words)
            core.write_many(registers, (0,) * len(registers))
            core.write(Reg.FPSCR, 0)
            core.write(Reg.CONTROL, core.read(Reg.CONTROL) & ~4)
        advance()

    # test target

    def test_target(self, address: int, second: int) -> int | None:
        """What TT, TTT, TTA and TTAT answer; None if the instruction is undefined."""
        nonsecure = self._worlds.nonsecure
        alternate, unprivileged = bool(second & 0x80), bool(second & 0x40)
        if alternate and nonsecure:
            return None
        of_nonsecure = alternate or nonsecure
        privileged = self._exceptions.privileged(of_nonsecure=alternate)
        mpu = self._worlds[of_nonsecure].mpu
        answer = 0
        if self._exceptions.privileged():
            answer = mpu.test_target(address, privileged=privileged and not unprivileged)
        if nonsecure:
            return answer
        if self._attribution.is_secure(address):
            answer |= _SECURE
        elif answer:
            answer |= (answer & (TT_READ | TT_WRITE)) << 2  # NSR, NSRW
        region = self._attribution.idau_region(address)
        if region is not None:
            answer |= _IDAU_VALID | region << 24
        return answer


def _register(number: int) -> int:
    return int(Reg.R0) + number if number < 13 else (int(Reg.SP), int(Reg.LR))[number - 13]
