"""Frames that do not fit their stack, that SPU and MPU refuse, and an image alone in its world."""

from __future__ import annotations

import struct

import pytest
from bare_chip import HERE
from exception_chip import (
    CFSR,
    CODE,
    CORE,
    HANDLERS,
    HFSR,
    ICSR,
    IRQ,
    ITNS,
    MAIN,
    MSR_MSPLIM,
    NONSECURE_ALIAS,
    NONSECURE_RAM,
    ONE_WORLD,
    RAM,
    SHCSR,
    STACK,
    TABLE,
    UNSTKERR,
    VTOR,
    Code,
    ExceptionChip,
    check_back,
    exc_return,
    frame,
    frame_address,
)

from harness.simulator.unicorn import Reg

# a stack that the other state's registers do not fit


@pytest.mark.parametrize("enough", [True, False])
def test_secure_registers_that_do_not_fit_the_secure_stack_are_a_fault_of_it(
    both: ExceptionChip, enough: bool
) -> None:
    """The frame fits; the 40 bytes of r4 to r11 below it may not."""
    both.chip.write(SHCSR, 0xF << 16)
    both.chip.write(ITNS, 1 << 5)
    limit = MAIN - 0x400 - 0x20 - (40 if enough else 32)
    both.machine.write_memory(CODE, struct.pack("<3H", 0xF380, MSR_MSPLIM, HERE))
    both.machine.write_register("r0", limit)
    both.core.write(Reg.PC, CODE | 1)
    both.step()
    both.go_to(Code())
    both.interrupt()
    reasons = [fault.reason for fault in both.machine.faults]
    assert reasons == ([] if enough else ["STKOF"])


@pytest.mark.parametrize(("bfhfnmins", "nonsecure"), [(0, False), (1 << 13, True)])
def test_with_bfhfnmins_a_hard_fault_of_non_secure_code_is_non_secure(
    both: ExceptionChip, bfhfnmins: int, nonsecure: bool
) -> None:
    both.chip.write(0xE000_ED0C, 0x05FA_0000 | bfhfnmins)  # AIRCR
    both.go_to(Code(nonsecure=True))
    both.chip.play(0xDE00, steps=1, at=CODE + NONSECURE_RAM)
    assert both.chip.running == 3
    assert both.machine.core.nonsecure is nonsecure
    now = both.machine.registers
    assert now["pc"] == HANDLERS + NONSECURE_RAM * nonsecure + 8 * 3
    assert now["lr"] == exc_return(Code(nonsecure=True), nonsecure=nonsecure)


@pytest.mark.parametrize(
    ("permission", "status"), [(0x17, 0), (0x16, 0), (0x13, 0), (0x15, 1 << 12)]
)
def test_a_frame_needs_the_spus_permission_to_write(
    exceptions: ExceptionChip, permission: int, status: int
) -> None:
    """STKERR, as where there is no memory."""
    exceptions.chip.write(SHCSR, 0xF << 16)
    exceptions.go_to(Code())
    exceptions.chip.write(0x5000_3700 + 4 * 4, permission)  # the region of the stack
    exceptions.interrupt()
    assert exceptions.chip.read(CFSR) == status


@pytest.mark.parametrize(("permission", "status"), [(0x17, 0), (0x15, 0), (0x13, UNSTKERR)])
def test_a_frame_needs_the_spus_permission_to_be_read(
    exceptions: ExceptionChip, permission: int, status: int
) -> None:
    exceptions.chip.write(SHCSR, 0xF << 16)
    exceptions.go_to(Code())
    exceptions.interrupt()
    exceptions.chip.write(0x5000_3700 + 4 * 4, permission)
    exceptions.leave()
    assert exceptions.chip.read(CFSR) == status


def test_a_frame_below_address_zero_lies_at_the_end_of_memory(exceptions: ExceptionChip) -> None:
    exceptions.chip.write(SHCSR, 0xF << 16)
    exceptions.go_to(Code(place="process"))
    exceptions.machine.write_register("sp", 0x10)
    exceptions.interrupt()
    assert [fault.reason for fault in exceptions.machine.faults] == ["STKERR"]
    assert exceptions.core.read(Reg.PSP) == 0xFFFF_FFF0


BOUNDARY = RAM + 0x2_0000  # between secure and non-secure RAM
FRAME = 0x20


@pytest.mark.parametrize(
    ("sp", "fits"),
    [(BOUNDARY + FRAME, True), (BOUNDARY + FRAME - 8, False), (BOUNDARY, False), (STACK, False)],
)
def test_a_non_secure_frame_lies_in_non_secure_memory(
    both: ExceptionChip, sp: int, fits: bool
) -> None:
    """All of it."""
    both.chip.write(SHCSR, 1 << 19)
    both.chip.write(ITNS, 1 << 5)
    both.chip.write(0xE000_E405, 0x80, size=1)  # less urgent than SecureFault
    both.machine.write_memory(BOUNDARY - 0x40, bytes(0x40))
    both.go_to(Code(nonsecure=True))
    both.machine.write_register("sp", sp)
    both.interrupt()
    assert both.chip.running == (IRQ if fits else 7)
    assert [fault.reason for fault in both.machine.faults] == (
        [] if fits else ["AUVIOL, SFARVALID"]
    )
    assert both.chip.words(BOUNDARY - 0x40, 16) == [0] * 16


@pytest.mark.parametrize(("sp", "reads"), [(BOUNDARY, True), (BOUNDARY - 8, False)])
def test_a_non_secure_frame_is_read_from_non_secure_memory(
    both: ExceptionChip, sp: int, reads: bool
) -> None:
    both.chip.write(SHCSR, 1 << 19)
    both.chip.write(ITNS, 1 << 5)
    code = Code(nonsecure=True)
    both.go_to(code)
    both.interrupt()
    words = frame(code)
    both.machine.write_memory(sp, struct.pack("<8I", *words))
    both.machine.write_register("sp", sp)
    both.leave()
    assert [fault.reason for fault in both.machine.faults] == (
        [] if reads else ["AUVIOL, SFARVALID"]
    )
    assert both.chip.running == (0 if reads else 7)


def test_a_non_secure_vector_in_secure_memory_is_not_read(both: ExceptionChip) -> None:
    both.chip.write(ITNS, 1 << 5)
    both.chip.write(VTOR + NONSECURE_ALIAS, TABLE)
    both.go_to(Code(nonsecure=True))
    both.interrupt()
    assert both.chip.running == 3
    assert both.chip.read(HFSR) == 1 << 1  # VECTTBL


def test_the_frame_is_unstacked_after_a_hard_fault_at_the_vector(
    both: ExceptionChip,
) -> None:
    """With r4 to r11, which an entry to the non-secure state stacks and clears."""
    both.chip.write(ITNS, 1 << 5)
    both.chip.write(VTOR + NONSECURE_ALIAS, TABLE)
    both.go_to(Code())
    both.interrupt()
    assert (both.chip.running, both.machine.core.nonsecure) == (3, False)
    both.leave()
    now = both.machine.registers
    assert {name: now[name] for name in CORE} == CORE
    assert (now["sp"], now["pc"]) == (Code().sp, CODE + 2)


# with the MPU

MPU_CTRL, MPU_RNR, MPU_RBAR, MPU_RLAR = (0xE000_ED94 + 4 * n for n in range(4))


@pytest.mark.parametrize(("control", "passes"), [(1, True), (3, False)])
def test_the_frame_of_an_nmi_at_negative_priority_is_checked_with_hfnmiena(
    exceptions: ExceptionChip, control: int, passes: bool
) -> None:
    """Code, vectors and handlers lie in the one region; the stack does not."""
    exceptions.chip.write(MPU_RNR, 0)
    exceptions.chip.write(MPU_RBAR, CODE)
    exceptions.chip.write(MPU_RLAR, MAIN - 0x1020 | 1)
    exceptions.go_to(Code())
    exceptions.core.write(Reg.FAULTMASK, 1)
    exceptions.chip.write(MPU_CTRL, control)
    exceptions.step()
    exceptions.chip.write(ICSR, 1 << 31)
    exceptions.step()
    assert exceptions.chip.running == 2
    assert [fault.reason for fault in exceptions.machine.faults] == ([] if passes else ["MSTKERR"])


@pytest.mark.parametrize(
    ("granule", "passes"), [(-1, True), (0, False), (1, False), (2, False), (3, False), (4, True)]
)
def test_the_mpu_must_allow_each_byte_of_a_frame(
    exceptions: ExceptionChip, granule: int, passes: bool
) -> None:
    """Two regions leave out 32 bytes; the frame with FP registers lies in four such granules."""
    code = Code(floats=True)
    hole = (frame_address(code, frame(code)) & ~31) + 32 * granule
    for number, (base, last) in enumerate([(CODE, hole - 32), (hole + 32, RAM + 0x3_FFE0)]):
        exceptions.chip.write(MPU_RNR, number)
        exceptions.chip.write(MPU_RBAR, base)
        exceptions.chip.write(MPU_RLAR, last | 1)
    exceptions.go_to(code)
    exceptions.chip.write(MPU_CTRL, 1)
    exceptions.step()
    exceptions.interrupt()
    assert [fault.reason for fault in exceptions.machine.faults] == ([] if passes else ["MSTKERR"])


@pytest.mark.parametrize(("npriv", "reasons"), [(0, []), (1, ["MSTKERR"])])
def test_a_threads_frame_is_accessed_with_its_privilege(
    both: ExceptionChip, npriv: int, reasons: list[str]
) -> None:
    """The region is for privileged code alone; a non-secure exception comes and returns."""
    both.chip.write(ITNS, 1 << 5)
    both.chip.write(MPU_RBAR, CODE)
    both.chip.write(MPU_RLAR, STACK | 1)
    code = Code(place="process")
    both.go_to(code)
    both.chip.write(MPU_CTRL, 1)
    both.core.write(Reg.CONTROL, code.control | npriv)
    both.core.synchronize()
    both.interrupt()
    assert [fault.reason for fault in both.machine.faults] == reasons
    if not npriv:
        both.leave()
        check_back(both, code)


# a non-secure image that runs alone


@pytest.mark.parametrize("limits", [False, True])
@pytest.mark.parametrize("code", ONE_WORLD, ids=str)
def test_a_non_secure_image_alone_sees_non_secure_exc_returns(
    exceptions: ExceptionChip, code: Code, limits: bool
) -> None:
    exceptions.core.nonsecure_frames = True
    if limits:
        exceptions.chip.play(0xF380, MSR_MSPLIM, steps=1, r0=RAM + 0x8000)
    exceptions.go_to(code)
    exceptions.interrupt()
    wanted = exc_return(code, nonsecure=False) & ~(1 << 6 | 1 << 0)
    assert exceptions.machine.registers["lr"] == wanted
    exceptions.leave()
    check_back(exceptions, code)
