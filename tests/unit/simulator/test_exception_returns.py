"""Exceptions in turn, sleep on exit, and returns that are refused (Armv8-M ARM, B3.22)."""

from __future__ import annotations

import struct
from itertools import product

import pytest
from bare_chip import BareChip
from exception_chip import (
    CFSR,
    CODES,
    CORE,
    HANDLERS,
    ICSR,
    INVER,
    INVIS,
    INVPC,
    IRQ,
    ITNS,
    MAIN,
    NONSECURE_RAM,
    PENDSV,
    SCR,
    SFSR,
    SHCSR,
    UNSTKERR,
    Code,
    ExceptionChip,
    check_back,
    exc_return,
    frame,
    frame_address,
    spoil_floats,
)

from harness.simulator.unicorn import Reg

# one after another


@pytest.mark.parametrize("code", [code for code in CODES if code.place != "handler"], ids=str)
@pytest.mark.parametrize(("first", "second"), list(product((False, True), repeat=2)))
def test_a_pending_exception_at_a_return_is_tail_chained(
    both: ExceptionChip, code: Code, first: bool, second: bool
) -> None:
    both.chip.write(ITNS, first << 5)
    both.go_to(code)
    both.interrupt()
    words = frame(code)
    both.machine.nvic.pend(PENDSV | 1 << 9 if second else PENDSV)
    if code.floats:
        spoil_floats(both)
    both.leave()
    assert both.chip.running == PENDSV
    assert both.machine.core.nonsecure is second
    now = both.machine.registers
    assert now["pc"] == HANDLERS + NONSECURE_RAM * second + 8 * PENDSV
    link = exc_return(code, nonsecure=second) & ~(1 << 2 | 1 << 5)
    assert now["lr"] & ~(1 << 2 | 1 << 5) == link
    assert both.chip.words(frame_address(code, words), len(words)) == words
    both.leave()
    check_back(both, code)


def test_a_more_urgent_exception_interrupts_a_handler(exceptions: ExceptionChip) -> None:
    exceptions.go_to(Code(place="handler"))
    exceptions.interrupt()
    assert exceptions.chip.running == IRQ
    exceptions.leave()
    assert exceptions.chip.running == PENDSV


def test_a_less_urgent_exception_stays_pending(exceptions: ExceptionChip) -> None:
    exceptions.go_to(Code())
    exceptions.interrupt()
    exceptions.chip.write(ICSR, 1 << 28)
    exceptions.step()
    assert exceptions.chip.running == IRQ


# sleep on exit


@pytest.mark.parametrize(("sleeponexit", "sleeps"), [(0, ""), (1 << 1, "wfi")])
def test_with_sleeponexit_a_return_to_thread_mode_sleeps(
    exceptions: ExceptionChip, sleeponexit: int, sleeps: str
) -> None:
    exceptions.chip.write(SCR, sleeponexit)
    exceptions.go_to(Code())
    exceptions.interrupt()
    exceptions.machine.write_register("pc", exceptions.machine.registers["pc"] + 2)
    exceptions.machine.run(until_tick=exceptions.machine.now + 100)
    assert exceptions.machine.sleeping == sleeps
    assert exceptions.chip.running == 0


@pytest.mark.parametrize("divided", [False, True])
def test_a_return_to_a_handler_does_not_sleep(chip: BareChip, divided: bool) -> None:
    exceptions = ExceptionChip(chip, divided=divided)
    exceptions.chip.write(SCR, 1 << 1)
    exceptions.go_to(Code(place="handler"))
    exceptions.interrupt()
    exceptions.leave()
    assert (exceptions.machine.sleeping, exceptions.chip.running) == ("", PENDSV)


def return_by(exceptions: ExceptionChip, value: int) -> None:
    """The handler returns by another EXC_RETURN."""
    exceptions.machine.write_register("lr", value)
    exceptions.machine.write_register("pc", exceptions.machine.registers["pc"] + 2)
    exceptions.step()


@pytest.mark.parametrize("value", [0xFFFF_FF7D, 0xFFF0_FFF9, 0xFFFF_FFF1, 0xFFFF_FFFB])
def test_a_wrong_exc_return_is_a_usage_fault(exceptions: ExceptionChip, value: int) -> None:
    """Its prefix, a reserved bit, or the mode that the frame is of; nothing more is stacked."""
    exceptions.chip.write(SHCSR, 0xF << 16)
    exceptions.go_to(Code())
    exceptions.interrupt()
    sp = exceptions.machine.registers["sp"]
    return_by(exceptions, value)
    assert exceptions.chip.running == 6
    assert (exceptions.machine.registers["sp"], exceptions.machine.registers["lr"]) == (sp, value)
    assert exceptions.chip.read(CFSR) == INVPC
    faults = [(fault.reason, fault.pc) for fault in exceptions.machine.faults]
    assert faults == [("INVPC", value & ~1)]
    assert exceptions.chip.read(0xE000_E300) == 0  # the interrupt is no longer active


def test_a_return_of_an_exception_that_is_not_active_is_refused(exceptions: ExceptionChip) -> None:
    exceptions.chip.write(SHCSR, 0xF << 16)
    exceptions.go_to(Code())
    exceptions.interrupt()
    exceptions.machine.nvic.deactivate(IRQ)
    return_by(exceptions, 0xFFFF_FFF9)
    assert exceptions.chip.read(CFSR) == INVPC


@pytest.mark.parametrize(("sp", "status"), [(0x3000_0000, UNSTKERR), (MAIN - 0x3FE, INVPC)])
def test_a_frame_that_cannot_be_read_is_a_fault(
    exceptions: ExceptionChip, sp: int, status: int
) -> None:
    exceptions.chip.write(SHCSR, 0xF << 16)
    exceptions.go_to(Code(place="process"))
    exceptions.interrupt()
    exceptions.core.write(Reg.PSP, sp)
    if status == INVPC:
        exceptions.core.write(Reg.PSP, sp | 2)
    return_by(exceptions, 0xFFFF_FFFD)
    assert exceptions.chip.read(CFSR) == status
    assert exceptions.chip.running == (5 if status == UNSTKERR else 6)
    assert len(exceptions.machine.faults) == 1


def test_a_frame_in_flash_is_read_as_any_other(exceptions: ExceptionChip) -> None:
    code, place = Code(place="process"), 0x8000
    exceptions.go_to(code)
    exceptions.interrupt()
    words = frame(code)
    exceptions.machine.write_memory(place, struct.pack("<8I", *words))
    exceptions.core.write(Reg.PSP, place)
    exceptions.leave()
    now = exceptions.machine.registers
    assert {name: now[name] for name in CORE} == CORE
    assert (now["sp"], now["pc"]) == (place + 32, words[6])
    assert exceptions.machine.faults == []


@pytest.mark.parametrize("frees", [True, False])
def test_a_return_clears_faultmask_but_for_an_nmi(exceptions: ExceptionChip, frees: bool) -> None:
    exceptions.go_to(Code())
    if frees:
        exceptions.interrupt()
    else:
        exceptions.chip.write(ICSR, 1 << 31)
        exceptions.step()
        assert exceptions.chip.running == 2
    exceptions.core.write(Reg.FAULTMASK, 1)
    exceptions.leave()
    assert bool(exceptions.core.read(Reg.FAULTMASK)) is not frees


@pytest.mark.parametrize("value", [0xFFFF_FFB9, 0xFFFF_FF98, 0xFFFF_FFF9, 0xFFFF_FFBD])
@pytest.mark.parametrize("pends", [False, True])
def test_non_secure_code_that_returns_as_secure_code_is_a_secure_fault(
    both: ExceptionChip, value: int, pends: bool
) -> None:
    """ES, or no default stacking: the exception is over, and SecureFault is chained to it."""
    both.chip.write(SHCSR, 1 << 19)
    both.chip.write(ITNS, 1 << 5)
    both.go_to(Code(nonsecure=True))
    if pends:
        both.chip.write(ICSR, 1 << 28)
        both.step()
        assert both.chip.running == PENDSV
    else:
        both.interrupt()
    return_by(both, value)
    assert both.chip.running == 7
    assert both.chip.read(SFSR) == INVER
    assert both.machine.registers["lr"] & 1 == 1  # the exception is a secure one
    assert not both.machine.nvic.is_active(IRQ)
    assert not both.machine.nvic.is_active(PENDSV | 1 << 9)


def test_a_frame_without_its_signature_is_a_secure_fault(both: ExceptionChip) -> None:
    both.chip.write(SHCSR, 1 << 19)
    both.chip.write(ITNS, 1 << 5)
    code = Code()
    both.go_to(code)
    both.interrupt()
    where = frame_address(code, frame(code)) - 40
    both.machine.write_memory(where, struct.pack("<I", 0xFEFA_125A))  # of one with FP registers
    both.leave()
    assert both.chip.running == 7
    assert both.chip.read(SFSR) == INVIS
    assert [fault.reason for fault in both.machine.faults] == ["INVIS"]


@pytest.mark.parametrize("enabled", [True, False])
def test_a_secure_fault_without_its_handler_is_a_hard_fault(
    both: ExceptionChip, enabled: bool
) -> None:
    both.chip.write(SHCSR, enabled << 19)
    both.chip.write(ITNS, 1 << 5)
    both.go_to(Code(nonsecure=True))
    both.interrupt()
    return_by(both, 0xFFFF_FFB9)
    assert both.chip.running == (7 if enabled else 3)
    assert not both.machine.core.locked_up
