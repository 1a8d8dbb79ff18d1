"""What a function's first instructions put on the stack, for code without call-frame tables.

Encodings: Armv8-M ARM, C2.4 (PUSH, STMDB, SUB (SP minus immediate), VPUSH, ADD and MOV of SP).
"""

from __future__ import annotations

import struct

from harness.elf.thumb import instruction_length

#: Bytes of a function that are read.
LONGEST = 4096
_SP, _LR = 13, 14


def read(code: bytes) -> tuple[int, dict[int, int], tuple[int, int] | None]:
    """Bytes pushed by ``code``; how deep below the entry each register lies; the frame pointer.

    The frame pointer is its register and the depth that it holds. What an early return pops is
    ignored: behind it the frame is as before.
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
            fresh = {one: depth - 4 * number for number, one in enumerate(pushed)}
            saved.update({one: place for one, place in fresh.items() if one not in saved})
        depth += _taken(first, second, wide=wide)
        if first & 0xFF00 == 0xAF00:  # ADD r7, sp, #imm
            frame = 7, depth - 4 * (first & 0xFF)
        elif first == 0x466F:  # MOV r7, sp
            frame = 7, depth
    return depth, saved, frame


def _pushed(first: int, second: int, *, wide: bool) -> list[int]:
    if wide and first == 0xE92D:
        return [one for one in range(15) if second >> one & 1]
    if wide and first == 0xF84D and second & 0xFFF == 0xD04:
        return [second >> 12]
    if first & 0xFE00 == 0xB400:
        return [one for one in range(8) if first >> one & 1] + [_LR] * (first >> 8 & 1)
    return []


def _taken(first: int, second: int, *, wide: bool) -> int:
    """Bytes by which an instruction lowers sp without storing core registers."""
    if first & 0xFF80 == 0xB080:
        return 4 * (first & 0x7F)
    if wide and first & 0xFBFF == 0xF2AD and second & 0x8F00 == 0x0D00:
        return (first >> 10 & 1) << 11 | (second >> 12 & 7) << 8 | second & 0xFF
    if wide and first & 0xFBEF == 0xF1AD and second & 0x8F00 == 0x0D00:
        return _modified((first >> 10 & 1) << 11 | (second >> 12 & 7) << 8 | second & 0xFF)
    if wide and first & 0xFFBF == 0xED2D and second & 0xE00 == 0xA00:
        return 4 * (second & 0xFF)
    return 0


def _modified(immediate: int) -> int:
    """A modified immediate constant (Armv8-M ARM, ThumbExpandImm)."""
    if immediate < 0x100:
        return immediate
    if immediate < 0x400:
        byte = immediate & 0xFF
        return (byte << 16 | byte, byte << 24 | byte << 8, byte * 0x0101_0101)[(immediate >> 8) - 1]
    value, turn = 0x80 | immediate & 0x7F, immediate >> 7
    return value >> turn | value << (32 - turn) & 0xFFFF_FFFF
