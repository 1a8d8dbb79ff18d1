"""Stacking at exception entry, and unstacking at a return.

Armv8-M ARM, B3.18 to B3.24.

Any code of either security state, on either stack, with and without floating-point registers, is
interrupted by an exception of either state.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
from exception_chip import (
    AT_ONCE,
    CODES,
    CORE,
    FPCA,
    FPCCR,
    HANDLERS,
    IRQ,
    ITNS,
    MAIN,
    MSR_MSPLIM,
    MSR_PSPLIM,
    NONSECURE_RAM,
    ONE_WORLD,
    PROCESS,
    RAM,
    REGISTERS_OF_FP,
    SFPA,
    SPSEL,
    THUMB,
    Code,
    ExceptionChip,
    check_back,
    exc_return,
    frame,
    frame_address,
    spoil_floats,
)

from harness.simulator.unicorn import Reg

TS = 1 << 26


def check_entered(
    exceptions: ExceptionChip, code: Code, words: list[int], *, nonsecure: bool
) -> None:
    ram = NONSECURE_RAM * nonsecure
    now = exceptions.machine.registers
    assert exceptions.chip.running == IRQ
    assert now["pc"] == HANDLERS + ram + 8 * IRQ
    assert now["lr"] == exc_return(code, nonsecure=nonsecure)
    assert exceptions.chip.words(frame_address(code, words), len(words)) == words
    assert exceptions.machine.core.nonsecure is nonsecure
    assert exceptions.core.read(Reg.CONTROL) & (SPSEL | FPCA) == 0
    if not nonsecure:
        assert exceptions.core.read(Reg.CONTROL) & SFPA == 0
    assert exceptions.machine.faults == []


@pytest.mark.parametrize("code", ONE_WORLD, ids=str)
@pytest.mark.parametrize("limits", [False, True])
def test_an_exception_without_security_attribution(
    exceptions: ExceptionChip, code: Code, limits: bool
) -> None:
    if limits:
        for register in (MSR_MSPLIM, MSR_PSPLIM):
            exceptions.chip.play(0xF380, register, steps=1, r0=RAM + 0x8000)
    exceptions.go_to(code)
    exceptions.interrupt()
    words = frame(code)
    check_entered(exceptions, code, words, nonsecure=False)
    assert exceptions.machine.registers["sp"] == (
        MAIN if code.place == "process" else frame_address(code, words)
    )
    if code.floats:
        spoil_floats(exceptions)
    exceptions.leave()
    check_back(exceptions, code)


@pytest.mark.parametrize("code", CODES, ids=str)
@pytest.mark.parametrize("nonsecure", [False, True])
def test_an_exception_with_security_attribution(
    both: ExceptionChip, code: Code, nonsecure: bool
) -> None:
    both.chip.write(ITNS, nonsecure << 5)
    both.go_to(code)
    both.interrupt()
    words = frame(code)
    check_entered(both, code, words, nonsecure=nonsecure)
    if nonsecure and not code.nonsecure:
        check_hidden(both, code, words)
    if code.floats:
        spoil_floats(both)
    both.leave()
    check_back(both, code)


def check_hidden(exceptions: ExceptionChip, code: Code, words: list[int]) -> None:
    """What secure code had in its registers is stacked, and none of it is left in them."""
    more = exceptions.chip.words(frame_address(code, words) - 40, 10)
    assert more == [0xFEFA_125A | (not code.floats), 0, *(CORE[f"r{n}"] for n in range(4, 12))]
    now = exceptions.machine.registers
    assert [now[f"r{n}"] for n in range(13)] == [0] * 13
    assert now["xpsr"] == THUMB | IRQ
    assert exceptions.core.read_many(REGISTERS_OF_FP[:16]) == (0,) * 16 or not code.floats
    registers = [int(Reg.R0) + n for n in range(4, 12)]
    exceptions.core.write_many(registers, (0x7777,) * 8)


@pytest.mark.parametrize("place", ["main", "process", "handler"])
@pytest.mark.parametrize("nonsecure", [False, True])
def test_with_fpccr_ts_all_floating_point_registers_are_stacked(
    both: ExceptionChip, place: str, nonsecure: bool
) -> None:
    code = Code(place=place, floats=True)
    both.chip.write(FPCCR, AT_ONCE | TS)
    both.chip.write(ITNS, nonsecure << 5)
    both.go_to(code)
    both.interrupt()
    words = frame(code, all_floats=True)
    check_entered(both, code, words, nonsecure=nonsecure)
    if nonsecure:
        check_hidden(both, code, words)
        assert both.core.read_many(REGISTERS_OF_FP) == (0,) * 32
    spoil_floats(both)
    both.leave()
    check_back(both, code, all_floats=True)


@pytest.mark.parametrize("code", [Code(), Code(place="process"), Code(nonsecure=True)], ids=str)
def test_the_stack_of_the_other_state_is_recorded_and_kept(both: ExceptionChip, code: Code) -> None:
    """EXC_RETURN.SPSEL and CONTROL.SPSEL are those of the exception's state."""
    nonsecure = not code.nonsecure
    both.chip.write(ITNS, nonsecure << 5)
    other = replace(code, nonsecure=not code.nonsecure, place="process")
    if other.nonsecure:
        both.go_to(other)
        both.machine.core.change_state()
    else:
        both.core.write_many((int(Reg.MSP), int(Reg.PSP), int(Reg.CONTROL)), (MAIN, PROCESS, SPSEL))
    both.go_to(code)
    both.interrupt()
    assert both.machine.registers["lr"] == exc_return(code, nonsecure=nonsecure) | 1 << 2
    assert both.core.read(Reg.CONTROL) & SPSEL == 0
    both.leave()
    check_back(both, code)
    both.machine.core.change_state()
    assert both.core.read(Reg.CONTROL) & SPSEL
