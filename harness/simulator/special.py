"""Instructions that the machine carries out itself: hints, TT, gateways, and those that fault.

Unicorn takes WFE and YIELD for invalid instructions, cannot sleep, and answers TT for a processor
with a non-secure side. The counting core stops before each of these, and before instructions that
set FAULTMASK, which the MPU depends on.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from harness.elf.thumb import instruction_length
from harness.simulator.counting import XPSR_IT
from harness.simulator.exceptions import Exceptions
from harness.simulator.library import Reg
from harness.simulator.nvic import USAGE_FAULT
from harness.simulator.security.gateway import SG, Gateway
from harness.simulator.security.worlds import Worlds
from harness.simulator.status import NOCP, UNDEFINSTR

if TYPE_CHECKING:
    from harness.simulator._native import Core, Nvic

_FAULTMASK = 0x13
_YIELD, _WFE, _WFI, _SEV = 1, 2, 3, 4
_APSR_N, _APSR_Z, _APSR_C, _APSR_V = 1 << 31, 1 << 30, 1 << 29, 1 << 28


class Special:
    """Carries out the instruction at pc; ``sleep`` is called with "wfi" or "wfe"."""

    def __init__(
        self,
        core: Core,
        nvic: Nvic,
        worlds: Worlds,
        gateway: Gateway,
        exceptions: Exceptions,
        sleep: Callable[[str], None],
    ) -> None:
        self._core, self._nvic, self._worlds, self._gateway = core, nvic, worlds, gateway
        self._exceptions, self._sleep = exceptions, sleep

    def carry_out(self, pc: int, first: int, second: int) -> None:
        """Do nothing for an ordinary instruction, which has a breakpoint."""
        if not self._core.is_special(first, second):
            return
        xpsr = self._core.read(Reg.XPSR)
        if not _passes(xpsr):
            self._advance(pc, first, xpsr)
            return
        advance = partial(self._advance, pc, first, xpsr)
        hint = self._hint(first, second)
        if first & 0xFF00 == 0xB600 or first & 0xFFF0 == 0xF380 or first == 0xF3EF:
            self._system_register(first, second, advance)
        elif hint is not None:
            advance()
            self._do_hint(hint)
        elif first & 0xFFF0 == 0xE840:
            self._test_target(pc, first, second, advance)
        elif (first, second) == SG:
            self._gateway.secure_gateway(pc, advance)
        elif first & 0xFF07 == 0x4704:
            self._gateway.branch(pc, first)
        elif first & 0xFFE0 == 0xEC20 and second == 0x0A00:
            self._gateway.lazy_fp(pc, first, advance)
        else:
            self._exceptions.fault(USAGE_FAULT, NOCP, pc)

    def _system_register(self, first: int, second: int, advance: Callable[[], None]) -> None:
        if self._worlds.nonsecure and first & 0xFF00 != 0xB600 and second & 0xFF != _FAULTMASK:
            advance()
            self._gateway.special_register(first, second)
            return
        self._core.step()
        self._worlds.update()
        self._core.synchronize()

    @staticmethod
    def _hint(first: int, second: int) -> int | None:
        if 0xBF10 <= first <= 0xBF40 and not first & 0xF:
            return first >> 4 & 0xF
        if first == 0xF3AF and 0x8001 <= second <= 0x8004:
            return second & 0xF
        return None

    def _do_hint(self, hint: int) -> None:
        if hint == _SEV:
            self._nvic.event = True
        elif hint == _WFI:
            self._sleep("wfi")
        elif hint == _WFE:
            if self._nvic.event:
                self._nvic.event = False
            else:
                self._sleep("wfe")

    def _test_target(self, pc: int, first: int, second: int, advance: Callable[[], None]) -> None:
        """TT, TTT, TTA, TTAT: Rd from bits 11..8, A and T from bits 7 and 6 (ARM, C2.4)."""
        core = self._core
        answer = self._gateway.test_target(core.read(_register(first & 0xF)), second)
        if answer is None:
            self._exceptions.fault(USAGE_FAULT, UNDEFINSTR, pc)
            return
        core.write(_register(second >> 8 & 0xF), answer)
        advance()

    def _advance(self, pc: int, first: int, xpsr: int) -> None:
        core = self._core
        core.retire(pc)
        if xpsr & XPSR_IT:
            core.write(Reg.EPSR, 1 << 24 | _next_it(xpsr))
        core.write(Reg.PC, pc + instruction_length(first) | 1)


def _register(number: int) -> int:
    return int(Reg.R0) + number if number < 13 else (int(Reg.SP), int(Reg.LR))[number - 13]


def _it_state(xpsr: int) -> int:
    return xpsr >> 8 & 0xFC | xpsr >> 25 & 3


def _next_it(xpsr: int) -> int:
    """ITSTATE advanced by one instruction, as bits of EPSR (Armv8-M ARM, ITAdvance)."""
    state = _it_state(xpsr)
    state = 0 if not state & 7 else state & 0xE0 | state << 1 & 0x1F
    return (state & 0xFC) << 8 | (state & 3) << 25


def _passes(xpsr: int) -> bool:
    """True if the instruction is in no IT block, or if its condition there holds."""
    state = _it_state(xpsr)
    if not state & 0xF:
        return True
    n, z, c, v = (bool(xpsr & bit) for bit in (_APSR_N, _APSR_Z, _APSR_C, _APSR_V))
    condition = state >> 4
    met = (z, c, n, v, c and not z, n == v, n == v and not z, True)[condition >> 1]
    return met if condition == 15 else met != bool(condition & 1)
