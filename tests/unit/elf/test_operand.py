"""The address that a load or store accesses, as capstone reads the instruction."""

from __future__ import annotations

import random
from collections.abc import Iterator

import capstone
import pytest
from capstone import arm

from harness.elf.operand import accessed, sources, transferred

REGISTERS = {f"r{number}": number for number in range(13)}
REGISTERS |= {"sp": 13, "lr": 14, "pc": 15, "sb": 9, "sl": 10, "fp": 11, "ip": 12}
PC = 0x1000
#: First bytes of encodings of loads and stores of several words, and of floating-point ones.
WIDE, FLOATS = (0xE8, 0xE9, 0xF8, 0xF9), (0xEC, 0xED)
READER = capstone.Cs(
    capstone.CS_ARCH_ARM, capstone.CS_MODE_THUMB | capstone.CS_MODE_MCLASS | capstone.CS_MODE_V8
)
READER.detail = True
LISTS = ("ldm", "stm", "push", "pop", "vldm", "vstm", "vpush", "vpop")


def by_capstone(instruction: capstone.CsInsn, values: list[int]) -> int | None:
    """The address by the operands of ``instruction``; None if it has none."""
    name = instruction.mnemonic

    def value(register: int) -> int:
        number = REGISTERS[instruction.reg_name(register)]
        return (values[15] + 4) & ~3 if number == 15 else values[number]

    if name.startswith(LISTS):
        own = instruction.operands if name.lstrip("v").startswith("p") else instruction.operands[1:]
        names = [instruction.reg_name(one.reg) for one in own]
        size = sum(8 if name.startswith("d") else 4 for name in names)
        begin = values[13] if own is instruction.operands else value(instruction.operands[0].reg)
        return begin - size if "db" in name or "push" in name else begin
    for operand in instruction.operands:
        if operand.type == arm.ARM_OP_MEM:
            base = value(operand.mem.base)
            if instruction.post_index:
                return base
            shift = operand.shift.value if operand.shift.type else 0
            offset = value(operand.mem.index) << shift if operand.mem.index else operand.mem.disp
            return base + offset
    return None


#: Instructions that an M profile does not have, and those that access no memory of their own.
OTHERS = (
    "vld1", "vld2", "vld3", "vld4", "vst1", "vst2", "vst3", "vst4", "pl", "tb", "adr", "ldc", "stc",
)  # fmt: skip


def is_other(instruction: capstone.CsInsn) -> bool:
    """Whether an M33 does not have the instruction, or leaves open what it does.

    That is pc as base or index, and a list that goes beyond the registers (which capstone cuts).
    """
    name, text = instruction.mnemonic, instruction.op_str
    doubles = any(f"d{number}" in text for number in range(16, 32))
    cut = text.endswith(("s31}", "d15}")) or ", pc" in text
    return name.startswith(OTHERS) or name.endswith(".16") or doubles or cut or text[:2] == "pc"


@pytest.mark.parametrize("kind", ["narrow", "wide", "floats"])
def test_the_address_is_that_of_the_operands(kind):
    chance = random.Random(kind)
    seen = 0
    for _ in range(4000):
        code = bytearray(chance.randbytes(4))
        if kind != "narrow":
            code[1] = chance.choice(WIDE if kind == "wide" else FLOATS)
        if kind == "floats":
            code[3] = code[3] & 0xF0 | chance.choice((0xA, 0xB))
        instruction = next(READER.disasm(bytes(code), PC), None)
        if instruction is None or is_other(instruction):
            continue
        values = [chance.randrange(1 << 32) & ~3 for _ in range(15)] + [PC]
        expected = by_capstone(instruction, values)
        if expected is not None:
            seen += 1
            assert accessed(bytes(code), values) == expected & 0xFFFF_FFFF, str(instruction)
    assert seen > 400


def test_another_instruction_accesses_nothing():
    assert accessed(b"\x00\xbf\x00\xbf", [0] * 16) is None  # nop


def encodings(kind: str) -> Iterator[tuple[bytes, capstone.CsInsn]]:
    """Random instructions, narrow or wide ones, that an M33 has."""
    chance = random.Random(kind)
    for _ in range(20_000):
        code = bytearray(chance.randbytes(4))
        if kind == "wide":
            code[1] = chance.choice((*WIDE, 0xEA, 0xEB, 0xF0, 0xF1, 0xF2, 0xF5))
        instruction = next(READER.disasm(bytes(code), PC), None)
        if instruction is not None and not is_other(instruction):
            yield bytes(code), instruction


WORDS = ("ldr", "ldr.w", "str", "str.w", "ldrd", "strd")


@pytest.mark.parametrize("kind", ["narrow", "wide"])
def test_words_are_those_of_the_registers_in_their_order(kind):
    values = [0x2000_0000 + 0x1_0000 * number for number in range(15)] + [PC]
    seen = 0
    for code, instruction in encodings(kind):
        name, own = instruction.mnemonic, instruction.operands
        if name.startswith(LISTS):
            own = own if name.startswith("p") else own[1:]
        elif name in WORDS:
            own = own[: 2 if name.endswith("d") else 1]
        else:
            continue
        start, moved = by_capstone(instruction, values), transferred(code, values)
        numbers = [REGISTERS[instruction.reg_name(one.reg)] for one in own]
        assert start is not None
        assert moved is not None
        expected = {number: start + 4 * at & 0xFFFF_FFFF for at, number in enumerate(numbers)}
        assert moved.words == expected, str(instruction)
        assert moved.loads == name.startswith(("ld", "pop")), str(instruction)
        seen += 1
    assert seen > 400


@pytest.mark.parametrize("kind", ["narrow", "wide"])
def test_sources_are_the_registers_that_are_read(kind):
    names = {"mov", "movs", "mov.w", "add", "adds", "add.w", "addw", "sub", "subs", "sub.w", "subw"}
    seen = 0
    for code, instruction in encodings(kind):
        read = {instruction.reg_name(one) for one in instruction.regs_access()[0]} - {"cpsr"}
        writes_stack = instruction.op_str.startswith(("sp", "pc"))
        if instruction.mnemonic in names and read and "pc" not in read and not writes_stack:
            seen += 1
            expected = {REGISTERS[name] for name in read}
            assert set(sources(code)) == expected, str(instruction)
    assert seen > 400
