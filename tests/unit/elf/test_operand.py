"""The address that a load or store accesses, as capstone reads the instruction."""

from __future__ import annotations

import random

import capstone
import pytest
from capstone import arm

from harness.elf.operand import accessed

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
