"""What exception entry stacks and tells, and what a return takes back.

Armv8-M ARM, B3.18 to B3.24.

Any code of either security state, on either stack, with and without floating-point registers, is
interrupted by an exception of either state.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, replace
from itertools import product

import pytest
from bare_chip import HERE, BareChip

from harness.simulator.library import Reg

NONSECURE_RAM, NONSECURE_ALIAS = 0x2_0000, 0x2_0000
RAM, CODE, TABLE, HANDLERS = 0x2000_0000, 0x2000_4000, 0x2000_6000, 0x2000_6400
MAIN, PROCESS, STACK = 0x2000_9000, 0x2000_B000, 0x2000_D000
ICSR, VTOR, SCR, SHPR3, CPACR, NSACR, FPCCR = (
    0xE000_ED00 + n for n in (0x04, 0x08, 0x10, 0x20, 0x88, 0x8C, 0x234)
)
ISER, ITNS = 0xE000_E100, 0xE000_E380
TS = 1 << 26
IRQ, PENDSV = 16 + 5, 14
BX_LR, NOP = 0x4770, 0xBF00
MSR_MSPLIM, MSR_PSPLIM = 0x880A, 0x880B
FLAGS = 0xA805_0000  # N, C, Q, GE
THUMB, ALIGNED, SFPA_STACKED = 1 << 24, 1 << 9, 1 << 20
SPSEL, FPCA, SFPA = 2, 4, 8
ONES = 0xFFFF_FFFF


@dataclass(frozen=True)
class Code:
    """What is interrupted."""

    nonsecure: bool = False
    place: str = "main"  # or "process": thread mode on that stack; or "handler"
    floats: bool = False
    misaligned: bool = False

    @property
    def control(self) -> int:
        secure_floats = SFPA * (self.floats and not self.nonsecure)
        return SPSEL * (self.place == "process") | FPCA * self.floats | secure_floats

    @property
    def sp(self) -> int:
        stack = PROCESS if self.place == "process" else MAIN - 0x400
        return stack + NONSECURE_RAM * self.nonsecure - 4 * self.misaligned


CORE = {f"r{n}": 0x1111_0000 + n for n in range(13)} | {"lr": 0x2222_2223}
FLOATS = [0x3F80_0000 + n for n in range(32)]
FPSCR = 0x0300_0000
REGISTERS_OF_FP = [int(Reg.S0) + n for n in range(32)]


class Stage:
    """A chip with vector tables, handlers and stacks; in two worlds if it is ``divided``."""

    def __init__(self, chip: BareChip, *, divided: bool) -> None:
        self.chip, self.divided = chip, divided
        self.machine, self.core = chip.machine, chip.machine.core
        if divided:
            chip.divide()
        for nonsecure in (False, True)[: 1 + divided]:
            self._furnish(NONSECURE_RAM * nonsecure, NONSECURE_ALIAS * nonsecure)
        chip.write(CPACR, 0x00F0_0000)
        chip.write(CPACR + NONSECURE_ALIAS, 0x00F0_0000)
        chip.write(NSACR, 0xC00)
        chip.write(ISER, 1 << 5)

    def _furnish(self, ram: int, alias: int) -> None:
        handlers = [HANDLERS + ram + 8 * n | 1 for n in range(16 + 65)]
        self.machine.write_memory(TABLE + ram, struct.pack("<81I", *handlers))
        code = struct.pack("<4H", HERE, BX_LR, NOP, NOP)
        self.machine.write_memory(HANDLERS + ram, code * 81)
        self.machine.write_memory(CODE + ram, struct.pack("<2H", NOP, HERE))
        self.chip.write(VTOR + alias, TABLE + ram)
        self.chip.write(SHPR3 + alias, 0x0080_0000)  # PendSV

    def step(self) -> None:
        self.machine.run(until_executed=self.core.executed + 1)

    def go_to(self, code: Code) -> None:
        """Let ``code`` run, with known registers."""
        if code.nonsecure:
            self.core.write(Reg.MSP, MAIN)
            self.machine.worlds.change()
        ram = NONSECURE_RAM * code.nonsecure
        self.core.write_many((int(Reg.MSP), int(Reg.PSP)), (MAIN + ram, PROCESS + ram))
        self.core.write(Reg.PC, CODE + ram | 1)
        if code.place == "handler":
            self.chip.write(ICSR, 1 << 28)
            self.step()
            assert self.chip.running == PENDSV
        self.core.write(Reg.CONTROL, code.control)
        self.core.write(Reg.XPSR_NZCVQG, FLAGS | THUMB | self.chip.running)
        if code.floats:
            self.core.write_many(REGISTERS_OF_FP, FLOATS)
            self.core.write(Reg.FPSCR, FPSCR)
        for name, value in {**CORE, "sp": code.sp, "pc": CODE + ram + 2}.items():
            self.machine.write_register(name, value)

    def interrupt(self) -> None:
        """The interrupt comes."""
        self.machine.nvic.pend(IRQ)
        self.step()

    def leave(self) -> None:
        """The handler, which used the registers, returns."""
        registers = [int(Reg.R0) + n for n in (0, 1, 2, 3, 12)]
        self.core.write_many(registers, (0x7777,) * 5)
        pc = self.machine.registers["pc"]
        self.machine.write_register("pc", pc + 2)
        self.step()


@pytest.fixture
def stage(chip: BareChip) -> Stage:
    return Stage(chip, divided=False)


@pytest.fixture
def worlds(chip: BareChip) -> Stage:
    return Stage(chip, divided=True)


CODES = [
    Code(nonsecure, place, floats, misaligned)
    for nonsecure, place, floats, misaligned in product(
        (False, True), ("main", "process", "handler"), (False, True), (False, True)
    )
]
ONE_WORLD = [code for code in CODES if not code.nonsecure]


def frame(code: Code, *, divided: bool, all_floats: bool = False) -> list[int]:
    """The words that are stacked, from the lowest address on."""
    xpsr = FLAGS | THUMB | PENDSV * (code.place == "handler") | ALIGNED * code.misaligned
    if divided and not code.nonsecure and code.floats:
        xpsr |= SFPA_STACKED
    pc = CODE + NONSECURE_RAM * code.nonsecure + 2
    words = [*(CORE[name] for name in ("r0", "r1", "r2", "r3", "r12", "lr")), pc, xpsr]
    if code.floats:
        words += [*FLOATS[:16], FPSCR, 0, *(FLOATS[16:] if all_floats else ())]
    return words


def exc_return(code: Code, *, nonsecure: bool) -> int:
    """Secure stack, default stacking, no FP, thread mode, process stack, secure exception."""
    value = 0xFFFF_FF80 | 1 << 5 | (not code.nonsecure) << 6 | (not code.floats) << 4
    value |= (code.place != "handler") << 3 | (not nonsecure)
    same = code.nonsecure is nonsecure  # else the stack is the one that the other state uses
    return value | (same and code.place == "process") << 2


def frame_address(code: Code, words: list[int]) -> int:
    return (code.sp - 4 * len(words)) & ~7


def check_entered(stage: Stage, code: Code, words: list[int], *, nonsecure: bool) -> None:
    ram = NONSECURE_RAM * nonsecure
    now = stage.machine.registers
    assert stage.chip.running == IRQ
    assert now["pc"] == HANDLERS + ram + 8 * IRQ
    assert now["lr"] == exc_return(code, nonsecure=nonsecure)
    assert stage.chip.words(frame_address(code, words), len(words)) == words
    assert stage.machine.worlds.nonsecure is nonsecure
    assert stage.core.read(Reg.CONTROL) & (SPSEL | FPCA) == 0
    if not nonsecure:
        assert stage.core.read(Reg.CONTROL) & SFPA == 0
    assert stage.machine.faults == []


def check_back(stage: Stage, code: Code, *, all_floats: bool = False) -> None:
    now = stage.machine.registers
    assert {name: now[name] for name in CORE} == CORE
    assert (now["sp"], now["pc"]) == (code.sp, CODE + NONSECURE_RAM * code.nonsecure + 2)
    assert now["xpsr"] == FLAGS | THUMB | PENDSV * (code.place == "handler")
    mask = SPSEL | FPCA
    assert stage.core.read(Reg.CONTROL) & mask == code.control & mask
    if code.floats:
        count = 32 if all_floats else 16
        assert list(stage.core.read_many(REGISTERS_OF_FP[:count])) == FLOATS[:count]
        assert stage.core.read(Reg.FPSCR) == FPSCR
    assert stage.machine.worlds.nonsecure is code.nonsecure
    assert stage.machine.faults == []


def spoil_floats(stage: Stage) -> None:
    stage.core.write_many(REGISTERS_OF_FP, (0x7777,) * 32)
    stage.core.write(Reg.FPSCR, 0)


@pytest.mark.parametrize("code", ONE_WORLD, ids=str)
@pytest.mark.parametrize("limits", [False, True])
def test_an_exception_in_one_world(stage: Stage, code: Code, limits: bool) -> None:
    if limits:
        for register in (MSR_MSPLIM, MSR_PSPLIM):
            stage.chip.play(0xF380, register, steps=1, r0=RAM + 0x8000)
    stage.go_to(code)
    stage.interrupt()
    words = frame(code, divided=False)
    check_entered(stage, code, words, nonsecure=False)
    assert stage.machine.registers["sp"] == (
        MAIN if code.place == "process" else frame_address(code, words)
    )
    if code.floats:
        spoil_floats(stage)
    stage.leave()
    check_back(stage, code)


@pytest.mark.parametrize("code", CODES, ids=str)
@pytest.mark.parametrize("nonsecure", [False, True])
def test_an_exception_in_two_worlds(worlds: Stage, code: Code, nonsecure: bool) -> None:
    worlds.chip.write(ITNS, nonsecure << 5)
    worlds.go_to(code)
    worlds.interrupt()
    words = frame(code, divided=True)
    check_entered(worlds, code, words, nonsecure=nonsecure)
    if nonsecure and not code.nonsecure:
        check_hidden(worlds, code, words)
    if code.floats:
        spoil_floats(worlds)
    worlds.leave()
    check_back(worlds, code)


def check_hidden(stage: Stage, code: Code, words: list[int]) -> None:
    """What secure code had in its registers is stacked, and none of it is left in them."""
    more = stage.chip.words(frame_address(code, words) - 40, 10)
    assert more == [0xFEFA_125A | (not code.floats), 0, *(CORE[f"r{n}"] for n in range(4, 12))]
    now = stage.machine.registers
    assert [now[f"r{n}"] for n in range(13)] == [0] * 13
    assert now["xpsr"] == THUMB | IRQ
    assert stage.core.read_many(REGISTERS_OF_FP[:16]) == (0,) * 16 or not code.floats
    registers = [int(Reg.R0) + n for n in range(4, 12)]
    stage.core.write_many(registers, (0x7777,) * 8)


@pytest.mark.parametrize("place", ["main", "process", "handler"])
@pytest.mark.parametrize("nonsecure", [False, True])
def test_with_fpccr_ts_all_floating_point_registers_are_stacked(
    worlds: Stage, place: str, nonsecure: bool
) -> None:
    code = Code(place=place, floats=True)
    worlds.chip.write(FPCCR, 0xC000_0000 | TS)
    worlds.chip.write(ITNS, nonsecure << 5)
    worlds.go_to(code)
    worlds.interrupt()
    words = frame(code, divided=True, all_floats=True)
    check_entered(worlds, code, words, nonsecure=nonsecure)
    if nonsecure:
        check_hidden(worlds, code, words)
        assert worlds.core.read_many(REGISTERS_OF_FP) == (0,) * 32
    spoil_floats(worlds)
    worlds.leave()
    check_back(worlds, code, all_floats=True)


@pytest.mark.parametrize("code", [Code(), Code(place="process"), Code(nonsecure=True)], ids=str)
def test_the_stack_that_the_other_state_uses_is_told_and_kept(worlds: Stage, code: Code) -> None:
    """EXC_RETURN.SPSEL and CONTROL.SPSEL are those of the exception's state."""
    nonsecure = not code.nonsecure
    worlds.chip.write(ITNS, nonsecure << 5)
    other = replace(code, nonsecure=not code.nonsecure, place="process")
    if other.nonsecure:
        worlds.go_to(other)
        worlds.machine.worlds.change()
    else:
        worlds.core.write_many(
            (int(Reg.MSP), int(Reg.PSP), int(Reg.CONTROL)), (MAIN, PROCESS, SPSEL)
        )
    worlds.go_to(code)
    worlds.interrupt()
    assert worlds.machine.registers["lr"] == exc_return(code, nonsecure=nonsecure) | 1 << 2
    assert worlds.core.read(Reg.CONTROL) & SPSEL == 0
    worlds.leave()
    check_back(worlds, code)
    worlds.machine.worlds.change()
    assert worlds.core.read(Reg.CONTROL) & SPSEL


# one after another


@pytest.mark.parametrize("code", [code for code in CODES if code.place != "handler"], ids=str)
@pytest.mark.parametrize(("first", "second"), list(product((False, True), repeat=2)))
def test_what_pends_at_a_return_is_taken_without_the_frame_being_touched(
    worlds: Stage, code: Code, first: bool, second: bool
) -> None:
    worlds.chip.write(ITNS, first << 5)
    worlds.go_to(code)
    worlds.interrupt()
    words = frame(code, divided=True)
    worlds.machine.nvic.pend(PENDSV | 1 << 9 if second else PENDSV)
    if code.floats:
        spoil_floats(worlds)
    worlds.leave()
    assert worlds.chip.running == PENDSV
    assert worlds.machine.worlds.nonsecure is second
    now = worlds.machine.registers
    assert now["pc"] == HANDLERS + NONSECURE_RAM * second + 8 * PENDSV
    link = exc_return(code, nonsecure=second) & ~(1 << 2 | 1 << 5)
    assert now["lr"] & ~(1 << 2 | 1 << 5) == link
    assert worlds.chip.words(frame_address(code, words), len(words)) == words
    worlds.leave()
    check_back(worlds, code)


def test_a_more_urgent_exception_interrupts_a_handler(stage: Stage) -> None:
    stage.go_to(Code(place="handler"))
    stage.interrupt()
    assert stage.chip.running == IRQ
    stage.leave()
    assert stage.chip.running == PENDSV


def test_a_less_urgent_one_waits(stage: Stage) -> None:
    stage.go_to(Code())
    stage.interrupt()
    stage.chip.write(ICSR, 1 << 28)
    stage.step()
    assert stage.chip.running == IRQ


# sleep on exit


@pytest.mark.parametrize(("sleeponexit", "sleeps"), [(0, ""), (1 << 1, "wfi")])
def test_a_return_to_thread_mode_sleeps_where_scr_says_so(
    stage: Stage, sleeponexit: int, sleeps: str
) -> None:
    stage.chip.write(SCR, sleeponexit)
    stage.go_to(Code())
    stage.interrupt()
    stage.machine.write_register("pc", stage.machine.registers["pc"] + 2)
    stage.machine.run(until_tick=stage.machine.now + 100)
    assert stage.machine.sleeping == sleeps
    assert stage.chip.running == 0


@pytest.mark.parametrize("divided", [False, True])
def test_a_return_to_a_handler_does_not_sleep(chip: BareChip, divided: bool) -> None:
    stage = Stage(chip, divided=divided)
    stage.chip.write(SCR, 1 << 1)
    stage.go_to(Code(place="handler"))
    stage.interrupt()
    stage.leave()
    assert (stage.machine.sleeping, stage.chip.running) == ("", PENDSV)


# returns that are refused

INVPC, UNSTKERR, INVER, INVIS = 1 << 18, 1 << 11, 1 << 2, 1 << 1
CFSR, HFSR, SHCSR, SFSR = 0xE000_ED28, 0xE000_ED2C, 0xE000_ED24, 0xE000_EDE4


def return_by(stage: Stage, value: int) -> None:
    """The handler returns by another EXC_RETURN."""
    stage.machine.write_register("lr", value)
    stage.machine.write_register("pc", stage.machine.registers["pc"] + 2)
    stage.step()


@pytest.mark.parametrize("value", [0xFFFF_FF7D, 0xFFF0_FFF9, 0xFFFF_FFF1, 0xFFFF_FFFB])
def test_a_wrong_exc_return_is_a_usage_fault(stage: Stage, value: int) -> None:
    """Its prefix, a reserved bit, or the mode that the frame is of; nothing more is stacked."""
    stage.chip.write(SHCSR, 0xF << 16)
    stage.go_to(Code())
    stage.interrupt()
    sp = stage.machine.registers["sp"]
    return_by(stage, value)
    assert stage.chip.running == 6
    assert (stage.machine.registers["sp"], stage.machine.registers["lr"]) == (sp, value)
    assert stage.chip.read(CFSR) == INVPC
    faults = [(fault.reason, fault.pc) for fault in stage.machine.faults]
    assert faults == [("INVPC", value & ~1)]
    assert stage.chip.read(0xE000_E300) == 0  # the interrupt is no longer active


def test_a_return_of_an_exception_that_is_not_active_is_refused(stage: Stage) -> None:
    stage.chip.write(SHCSR, 0xF << 16)
    stage.go_to(Code())
    stage.interrupt()
    stage.machine.nvic.deactivate(IRQ)
    return_by(stage, 0xFFFF_FFF9)
    assert stage.chip.read(CFSR) == INVPC


@pytest.mark.parametrize(("sp", "status"), [(0x3000_0000, UNSTKERR), (MAIN - 0x3FE, INVPC)])
def test_a_frame_that_cannot_be_read_is_a_fault(stage: Stage, sp: int, status: int) -> None:
    stage.chip.write(SHCSR, 0xF << 16)
    stage.go_to(Code(place="process"))
    stage.interrupt()
    stage.core.write(Reg.PSP, sp)
    if status == INVPC:
        stage.core.write(Reg.PSP, sp | 2)
    return_by(stage, 0xFFFF_FFFD)
    assert stage.chip.read(CFSR) == status
    assert stage.chip.running == (5 if status == UNSTKERR else 6)
    assert len(stage.machine.faults) == 1


@pytest.mark.parametrize("frees", [True, False])
def test_a_return_clears_faultmask_but_for_an_nmi(stage: Stage, frees: bool) -> None:
    stage.go_to(Code())
    if frees:
        stage.interrupt()
    else:
        stage.chip.write(ICSR, 1 << 31)
        stage.step()
        assert stage.chip.running == 2
    stage.core.write(Reg.FAULTMASK, 1)
    stage.leave()
    assert bool(stage.core.read(Reg.FAULTMASK)) is not frees


@pytest.mark.parametrize("value", [0xFFFF_FFB9, 0xFFFF_FF98, 0xFFFF_FFF9, 0xFFFF_FFBD])
@pytest.mark.parametrize("pends", [False, True])
def test_non_secure_code_that_returns_as_secure_code_is_a_secure_fault(
    worlds: Stage, value: int, pends: bool
) -> None:
    """ES, or no default stacking: the exception is over, and SecureFault is chained to it."""
    worlds.chip.write(SHCSR, 1 << 19)
    worlds.chip.write(ITNS, 1 << 5)
    worlds.go_to(Code(nonsecure=True))
    if pends:
        worlds.chip.write(ICSR, 1 << 28)
        worlds.step()
        assert worlds.chip.running == PENDSV
    else:
        worlds.interrupt()
    return_by(worlds, value)
    assert worlds.chip.running == 7
    assert worlds.chip.read(SFSR) == INVER
    assert worlds.machine.registers["lr"] & 1 == 1  # the exception is a secure one
    assert not worlds.machine.nvic.is_active(IRQ)
    assert not worlds.machine.nvic.is_active(PENDSV | 1 << 9)


def test_a_frame_without_its_signature_is_a_secure_fault(worlds: Stage) -> None:
    worlds.chip.write(SHCSR, 1 << 19)
    worlds.chip.write(ITNS, 1 << 5)
    code = Code()
    worlds.go_to(code)
    worlds.interrupt()
    where = frame_address(code, frame(code, divided=True)) - 40
    worlds.machine.write_memory(where, struct.pack("<I", 0xFEFA_125A))  # of one with FP registers
    worlds.leave()
    assert worlds.chip.running == 7
    assert worlds.chip.read(SFSR) == INVIS
    assert [fault.reason for fault in worlds.machine.faults] == ["INVIS"]


@pytest.mark.parametrize("enabled", [True, False])
def test_a_secure_fault_without_its_handler_is_a_hard_fault(worlds: Stage, enabled: bool) -> None:
    worlds.chip.write(SHCSR, enabled << 19)
    worlds.chip.write(ITNS, 1 << 5)
    worlds.go_to(Code(nonsecure=True))
    worlds.interrupt()
    return_by(worlds, 0xFFFF_FFB9)
    assert worlds.chip.running == (7 if enabled else 3)
    assert not worlds.machine.exceptions.locked_up


# a stack that the other state's registers do not fit


@pytest.mark.parametrize("enough", [True, False])
def test_secure_registers_that_do_not_fit_the_secure_stack_are_a_fault_of_it(
    worlds: Stage, enough: bool
) -> None:
    """The frame fits; the 40 bytes of r4 to r11 below it may not."""
    worlds.chip.write(SHCSR, 0xF << 16)
    worlds.chip.write(ITNS, 1 << 5)
    limit = MAIN - 0x400 - 0x20 - (40 if enough else 32)
    worlds.machine.write_memory(CODE, struct.pack("<3H", 0xF380, MSR_MSPLIM, HERE))
    worlds.machine.write_register("r0", limit)
    worlds.core.write(Reg.PC, CODE | 1)
    worlds.step()
    worlds.go_to(Code())
    worlds.interrupt()
    reasons = [fault.reason for fault in worlds.machine.faults]
    assert reasons == ([] if enough else ["STKOF"])


@pytest.mark.parametrize(("bfhfnmins", "nonsecure"), [(0, False), (1 << 13, True)])
def test_a_hard_fault_of_non_secure_code_is_its_own_where_bfhfnmins_says_so(
    worlds: Stage, bfhfnmins: int, nonsecure: bool
) -> None:
    worlds.chip.write(0xE000_ED0C, 0x05FA_0000 | bfhfnmins)  # AIRCR
    worlds.go_to(Code(nonsecure=True))
    worlds.chip.play(0xDE00, steps=1, at=CODE + NONSECURE_RAM)
    assert worlds.chip.running == 3
    assert worlds.machine.worlds.nonsecure is nonsecure
    now = worlds.machine.registers
    assert now["pc"] == HANDLERS + NONSECURE_RAM * nonsecure + 8 * 3
    assert now["lr"] == exc_return(Code(nonsecure=True), nonsecure=nonsecure)


@pytest.mark.parametrize(
    ("permission", "status"), [(0x17, 0), (0x16, 0), (0x13, 0), (0x15, 1 << 12)]
)
def test_a_frame_needs_the_spus_permission_to_write(
    stage: Stage, permission: int, status: int
) -> None:
    """STKERR, as where there is no memory."""
    stage.chip.write(SHCSR, 0xF << 16)
    stage.go_to(Code())
    stage.chip.write(0x5000_3700 + 4 * 4, permission)  # the region of the stack
    stage.interrupt()
    assert stage.chip.read(CFSR) == status


@pytest.mark.parametrize(("permission", "status"), [(0x17, 0), (0x15, 0), (0x13, UNSTKERR)])
def test_a_frame_needs_the_spus_permission_to_be_read(
    stage: Stage, permission: int, status: int
) -> None:
    stage.chip.write(SHCSR, 0xF << 16)
    stage.go_to(Code())
    stage.interrupt()
    stage.chip.write(0x5000_3700 + 4 * 4, permission)
    stage.leave()
    assert stage.chip.read(CFSR) == status


def test_a_frame_below_address_zero_lies_at_the_end_of_memory(stage: Stage) -> None:
    stage.chip.write(SHCSR, 0xF << 16)
    stage.go_to(Code(place="process"))
    stage.machine.write_register("sp", 0x10)
    stage.interrupt()
    assert [fault.reason for fault in stage.machine.faults] == ["STKERR"]
    assert stage.core.read(Reg.PSP) == 0xFFFF_FFF0


BOUNDARY = RAM + 0x2_0000  # between secure and non-secure RAM
FRAME = 0x20


@pytest.mark.parametrize(
    ("sp", "fits"),
    [(BOUNDARY + FRAME, True), (BOUNDARY + FRAME - 8, False), (BOUNDARY, False), (STACK, False)],
)
def test_a_non_secure_frame_lies_in_non_secure_memory(worlds: Stage, sp: int, fits: bool) -> None:
    """All of it."""
    worlds.chip.write(SHCSR, 1 << 19)
    worlds.chip.write(ITNS, 1 << 5)
    worlds.chip.write(0xE000_E405, 0x80, size=1)  # less urgent than SecureFault
    worlds.machine.write_memory(BOUNDARY - 0x40, bytes(0x40))
    worlds.go_to(Code(nonsecure=True))
    worlds.machine.write_register("sp", sp)
    worlds.interrupt()
    assert worlds.chip.running == (IRQ if fits else 7)
    assert [fault.reason for fault in worlds.machine.faults] == ([] if fits else ["AUVIOL"])
    assert worlds.chip.words(BOUNDARY - 0x40, 16) == [0] * 16


@pytest.mark.parametrize(("sp", "reads"), [(BOUNDARY, True), (BOUNDARY - 8, False)])
def test_a_non_secure_frame_is_read_from_non_secure_memory(
    worlds: Stage, sp: int, reads: bool
) -> None:
    worlds.chip.write(SHCSR, 1 << 19)
    worlds.chip.write(ITNS, 1 << 5)
    code = Code(nonsecure=True)
    worlds.go_to(code)
    worlds.interrupt()
    words = frame(code, divided=True)
    worlds.machine.write_memory(sp, struct.pack("<8I", *words))
    worlds.machine.write_register("sp", sp)
    worlds.leave()
    assert [fault.reason for fault in worlds.machine.faults] == ([] if reads else ["AUVIOL"])
    assert worlds.chip.running == (0 if reads else 7)


def test_a_non_secure_vector_in_secure_memory_is_not_read(worlds: Stage) -> None:
    worlds.chip.write(ITNS, 1 << 5)
    worlds.chip.write(VTOR + NONSECURE_ALIAS, TABLE)
    worlds.go_to(Code(nonsecure=True))
    worlds.interrupt()
    assert worlds.chip.running == 3
    assert worlds.chip.read(HFSR) == 1 << 1  # VECTTBL


def test_what_was_stacked_before_the_vector_is_taken_back_after_the_hard_fault(
    worlds: Stage,
) -> None:
    """With r4 to r11, which an entry to the non-secure state stacks and clears."""
    worlds.chip.write(ITNS, 1 << 5)
    worlds.chip.write(VTOR + NONSECURE_ALIAS, TABLE)
    worlds.go_to(Code())
    worlds.interrupt()
    assert (worlds.chip.running, worlds.machine.worlds.nonsecure) == (3, False)
    worlds.leave()
    now = worlds.machine.registers
    assert {name: now[name] for name in CORE} == CORE
    assert (now["sp"], now["pc"]) == (Code().sp, CODE + 2)


# with the MPU

MPU_CTRL, MPU_RNR, MPU_RBAR, MPU_RLAR = (0xE000_ED94 + 4 * n for n in range(4))


@pytest.mark.parametrize(("control", "passes"), [(1, True), (3, False)])
def test_the_frame_of_an_nmi_at_negative_priority_is_checked_with_hfnmiena(
    stage: Stage, control: int, passes: bool
) -> None:
    """Code, vectors and handlers lie in the one region; the stack does not."""
    stage.chip.write(MPU_RNR, 0)
    stage.chip.write(MPU_RBAR, CODE)
    stage.chip.write(MPU_RLAR, MAIN - 0x1020 | 1)
    stage.go_to(Code())
    stage.core.write(Reg.FAULTMASK, 1)
    stage.chip.write(MPU_CTRL, control)
    stage.step()
    stage.chip.write(ICSR, 1 << 31)
    stage.step()
    assert stage.chip.running == 2
    assert [fault.reason for fault in stage.machine.faults] == ([] if passes else ["MSTKERR"])


@pytest.mark.parametrize(
    ("granule", "passes"), [(-1, True), (0, False), (1, False), (2, False), (3, False), (4, True)]
)
def test_the_mpu_must_allow_each_byte_of_a_frame(stage: Stage, granule: int, passes: bool) -> None:
    """Two regions leave out 32 bytes; the frame with FP registers lies in four such granules."""
    code = Code(floats=True)
    hole = (frame_address(code, frame(code, divided=False)) & ~31) + 32 * granule
    for number, (base, last) in enumerate([(CODE, hole - 32), (hole + 32, RAM + 0x3_FFE0)]):
        stage.chip.write(MPU_RNR, number)
        stage.chip.write(MPU_RBAR, base)
        stage.chip.write(MPU_RLAR, last | 1)
    stage.go_to(code)
    stage.chip.write(MPU_CTRL, 1)
    stage.step()
    stage.interrupt()
    assert [fault.reason for fault in stage.machine.faults] == ([] if passes else ["MSTKERR"])


# a non-secure image that runs alone


@pytest.mark.parametrize("limits", [False, True])
@pytest.mark.parametrize("code", ONE_WORLD, ids=str)
def test_an_image_alone_in_the_non_secure_world_sees_non_secure_returns(
    stage: Stage, code: Code, limits: bool
) -> None:
    stage.core.nonsecure_frames = True
    if limits:
        stage.chip.play(0xF380, MSR_MSPLIM, steps=1, r0=RAM + 0x8000)
    stage.go_to(code)
    stage.interrupt()
    wanted = exc_return(code, nonsecure=False) & ~(1 << 6 | 1 << 0)
    assert stage.machine.registers["lr"] == wanted
    stage.leave()
    check_back(stage, code)
