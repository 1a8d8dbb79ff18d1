"""A chip with vector tables, handlers and stacks, on which exceptions are played."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from itertools import product

import pytest
from bare_chip import HERE, BareChip

from harness.simulator.unicorn import Reg

NONSECURE_RAM, NONSECURE_ALIAS = 0x2_0000, 0x2_0000
RAM, CODE, TABLE, HANDLERS = 0x2000_0000, 0x2000_4000, 0x2000_6000, 0x2000_6400
MAIN, PROCESS, STACK = 0x2000_9000, 0x2000_B000, 0x2000_D000
ICSR, VTOR, SCR, SHPR3, CPACR, NSACR, FPCCR = (
    0xE000_ED00 + n for n in (0x04, 0x08, 0x10, 0x20, 0x88, 0x8C, 0x234)
)
ISER, ITNS = 0xE000_E100, 0xE000_E380
IRQ, PENDSV = 16 + 5, 14
BX_LR, NOP = 0x4770, 0xBF00
MSR_MSPLIM, MSR_PSPLIM = 0x880A, 0x880B
FLAGS = 0xA805_0000  # N, C, Q, GE
THUMB, ALIGNED, SFPA_STACKED = 1 << 24, 1 << 9, 1 << 20
SPSEL, FPCA, SFPA = 2, 4, 8
AT_ONCE, LAZY = 0x8000_0000, 0xC000_0000  # FPCCR: ASPEN, LSPEN


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


class ExceptionChip:
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
        chip.write(FPCCR, AT_ONCE)
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
            self.core.change_state()
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
def exceptions(chip: BareChip) -> ExceptionChip:
    return ExceptionChip(chip, divided=False)


@pytest.fixture
def both(chip: BareChip) -> ExceptionChip:
    return ExceptionChip(chip, divided=True)


CODES = [
    Code(nonsecure, place, floats, misaligned)
    for nonsecure, place, floats, misaligned in product(
        (False, True), ("main", "process", "handler"), (False, True), (False, True)
    )
]
ONE_WORLD = [code for code in CODES if not code.nonsecure]


def frame(code: Code, *, all_floats: bool = False) -> list[int]:
    """The words that are stacked, from the lowest address on."""
    xpsr = FLAGS | THUMB | PENDSV * (code.place == "handler") | ALIGNED * code.misaligned
    if not code.nonsecure and code.floats:
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


def check_back(exceptions: ExceptionChip, code: Code, *, all_floats: bool = False) -> None:
    now = exceptions.machine.registers
    assert {name: now[name] for name in CORE} == CORE
    assert (now["sp"], now["pc"]) == (code.sp, CODE + NONSECURE_RAM * code.nonsecure + 2)
    assert now["xpsr"] == FLAGS | THUMB | PENDSV * (code.place == "handler")
    mask = SPSEL | FPCA
    assert exceptions.core.read(Reg.CONTROL) & mask == code.control & mask
    if code.floats:
        count = 32 if all_floats else 16
        assert list(exceptions.core.read_many(REGISTERS_OF_FP[:count])) == FLOATS[:count]
        assert exceptions.core.read(Reg.FPSCR) == FPSCR
    assert exceptions.core.nonsecure is code.nonsecure
    assert exceptions.machine.faults == []


def spoil_floats(exceptions: ExceptionChip) -> None:
    exceptions.core.write_many(REGISTERS_OF_FP, (0x7777,) * 32)
    exceptions.core.write(Reg.FPSCR, 0)


# returns that are refused

INVPC, UNSTKERR, INVER, INVIS = 1 << 18, 1 << 11, 1 << 2, 1 << 1
CFSR, HFSR, SHCSR, SFSR = 0xE000_ED28, 0xE000_ED2C, 0xE000_ED24, 0xE000_EDE4
