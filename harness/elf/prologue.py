"""A function's stack frame, read from its first instructions, for code without unwinding tables.

Encodings: Armv8-M ARM, C2.4 (PUSH, STMDB, SUB (SP minus immediate), VPUSH, ADD and MOV of SP).
"""

from __future__ import annotations

import struct

from harness.elf.thumb import instruction_length

#: Most bytes of a function that are decoded.
LONGEST = 4096
_LR = 14


def read(code: bytes) -> tuple[int, dict[int, int], tuple[int, int] | None]:
    """Bytes by which ``code`` lowers sp; the depth of each saved register; the frame pointer.

    Depths are bytes below sp at the function's entry. The frame pointer is (register, depth), None
    without one. Pops of early returns are ignored: the code after them has the frame again.
    """
    depth, saved = 0, dict[int, int]()
    frame: tuple[int, int] | None = None
    halves = struct.unpack(f"<{len(code) // 2}H", code[: len(code) & ~1])
    at = 0
    while at < len(halves):
        first = halves[at]
        length = instruction_length(first) // 2
        wide = length == 2 and at + 1 < len(halves)
        second = halves[at + 1] if wide else 0
        at += length
        pushed = _pushed(first, second, wide=wide)
        if pushed:
            depth += 4 * len(pushed)
            for number, register in enumerate(pushed):
                saved.setdefault(register, depth - 4 * number)
        depth += _allocated(first, second, wide=wide)
        if first & 0xFF00 == 0xAF00:  # ADD r7, sp, #imm
            frame = 7, depth - 4 * (first & 0xFF)
        elif first == 0x466F:  # MOV r7, sp
            frame = 7, depth
    return depth, saved, frame


def _pushed(first: int, second: int, *, wide: bool) -> list[int]:
    """The core registers that an instruction pushes, ascending."""
    if wide and first == 0xE92D:  # PUSH.W {...}
        return [register for register in range(15) if second >> register & 1]
    if wide and first == 0xF84D and second & 0xFFF == 0xD04:  # PUSH.W {Rt}
        return [second >> 12]
    if first & 0xFE00 == 0xB400:  # PUSH {...}
        low = [register for register in range(8) if first >> register & 1]
        return low + [_LR] * (first >> 8 & 1)
    return []


def _allocated(first: int, second: int, *, wide: bool) -> int:
    """Bytes by which an instruction lowers sp without storing core registers."""
    if first & 0xFF80 == 0xB080:  # SUB sp, #imm
        return 4 * (first & 0x7F)
    immediate = (first >> 10 & 1) << 11 | (second >> 12 & 7) << 8 | second & 0xFF
    if wide and first & 0xFBFF == 0xF2AD and second & 0x8F00 == 0x0D00:  # SUBW sp, sp, #imm
        return immediate
    if wide and first & 0xFBEF == 0xF1AD and second & 0x8F00 == 0x0D00:  # SUB.W sp, sp, #imm
        return _expanded(immediate)
    if wide and first & 0xFFBF == 0xED2D and second & 0xE00 == 0xA00:  # VPUSH {...}
        return 4 * (second & 0xFF)
    return 0


def _expanded(immediate: int) -> int:
    """A modified immediate constant (Armv8-M ARM, ThumbExpandImm)."""
    if immediate < 0x100:
        return immediate
    if immediate < 0x400:
        byte = immediate & 0xFF
        return (byte << 16 | byte, byte << 24 | byte << 8, byte * 0x0101_0101)[(immediate >> 8) - 1]
    value, rotation = 0x80 | immediate & 0x7F, immediate >> 7
    return value >> rotation | value << (32 - rotation) & 0xFFFF_FFFF
