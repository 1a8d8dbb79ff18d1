"""Whether the core is in a loop that compares and does nothing else: it can never end.

A compiler makes it of ``while (ticks == seen) {}`` if ``ticks``, which a handler changes, is not
volatile: it reads the variable once, before the loop.
"""

from __future__ import annotations

from collections.abc import Iterator

from harness.base.core_state import CoreState
from harness.elf import Image
from harness.elf.thumb import instruction_length

_PC = 15
#: Most bytes from the place to the branch, or from the branch back.
_LONGEST = 16
_NOP = 0xBF00
#: Instructions that set flags only, as (mask, value) of both halfwords (Armv8-M ARM, C2.4): CMP,
#: CMN and TST of an immediate or of registers.
_SHORT = ((0xF800, 0x2800), (0xFFC0, 0x4280), (0xFF00, 0x4500), (0xFFC0, 0x42C0), (0xFFC0, 0x4200))
_LONG = tuple(
    (0xFBF0_8F00 if first & 0x1000 else 0xFFF0_8F00, first << 16 | 0x0F00)
    for first in (0xF1B0, 0xF110, 0xF010, 0xEBB0, 0xEB10, 0xEA10)
)


def endless_loop(state: CoreState, image: Image) -> str:
    """That the core is in such a loop; "" if it is not."""
    pc = state.registers[_PC] & ~1
    end = next((at for at, size, word in _code(image, pc) if not _compares(size, word)), None)
    branch = image.read(end, 2) if end is not None else None
    if end is None or branch is None:
        return ""
    target = _target(int.from_bytes(branch, "little"), end)
    if target is None or not target <= pc or end - target > _LONGEST:
        return ""
    body = [one for one in _code(image, target) if one[0] < end]
    if not body or not all(_compares(size, word) for _, size, word in body):
        return ""
    place = image.locate(pc)
    return f"the loop in {place} reads no memory and never ends: a variable is not volatile"


def _code(image: Image, begin: int) -> Iterator[tuple[int, int, int]]:
    """Address, size and bits of the instructions from ``begin`` on."""
    at = begin
    while at - begin <= _LONGEST:
        data = image.read(at, 4)
        if data is None:
            return
        first = int.from_bytes(data[:2], "little")
        size = instruction_length(first)
        yield at, size, first << 16 | int.from_bytes(data[2:], "little") if size == 4 else first
        at += size


def _compares(size: int, word: int) -> bool:
    forms = _LONG if size == 4 else (*_SHORT, (0xFFFF, _NOP))
    return any(word & mask == value for mask, value in forms)


def _target(branch: int, at: int) -> int | None:
    """Where the conditional branch at ``at`` goes; None for another instruction (C2.4, B, T1)."""
    condition = branch >> 8 & 0xF
    if branch >> 12 != 0xD or condition >= 0xE:
        return None
    offset = (branch & 0xFF) - (0x100 if branch & 0x80 else 0)
    return at + 4 + 2 * offset
