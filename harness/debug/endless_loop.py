"""Whether the core is in a loop that compares and does nothing else: it can never end.

A compiler makes it of ``while (ticks == seen) {}`` if ``ticks``, which a handler changes, is not
volatile: it reads the variable once, before the loop.
"""

from __future__ import annotations

from collections.abc import Iterator

from harness.base.core_state import CoreState
from harness.elf import Image
from harness.elf.thumb import ReferenceKind, instruction_length, instructions, references

_PC = 15
#: Most bytes from the place to the branch, or from the branch back.
_LONGEST = 16
_NOP, _CONDITIONAL = 0xBF00, 0xD
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
    end = next((at for at, code in _code(image, pc) if not _compares(code)), None)
    target = _target(end, image) if end is not None else None
    if end is None or target is None or not target <= pc or end - target > _LONGEST:
        return ""
    body = [code for at, code in _code(image, target) if at < end]
    if not body or not all(map(_compares, body)):
        return ""
    place = image.locate(pc)
    return f"the loop in {place} reads no memory and never ends: a variable is not volatile"


def _code(image: Image, begin: int) -> Iterator[tuple[int, tuple[int, int]]]:
    """Addresses and halfwords of the instructions from ``begin`` on."""
    # The image may end behind the loop.
    sizes = range(_LONGEST + 4, 0, -2)
    code = next(filter(None, (image.read(begin, size) for size in sizes)), b"")
    for at, first, second in instructions(code):
        yield begin + at, (first, second)


def _compares(code: tuple[int, int]) -> bool:
    first, second = code
    if instruction_length(first) == 4:
        return any((first << 16 | second) & mask == value for mask, value in _LONG)
    return first == _NOP or any(first & mask == value for mask, value in _SHORT)


def _target(at: int, image: Image) -> int | None:
    """Where the conditional branch at ``at`` goes; None for another instruction (C2.4, B, T1)."""
    code = image.read(at, 2) or bytes(2)
    branches = (one.target for one in references(code, at) if one.kind is ReferenceKind.BRANCH)
    return next(branches, None) if code[1] >> 4 == _CONDITIONAL else None
