"""The stack of an image from reset on: where it begins, and whether firmware limits it itself."""

from __future__ import annotations

from dataclasses import dataclass

from harness.base.errors import BadElf
from harness.elf import vectors
from harness.elf.file import Symbol
from harness.elf.image import Image


@dataclass(frozen=True)
class MainStack:
    """Its memory, ``begin`` included, ``top`` not; ``name`` is its symbol's, "" without one.

    ``below`` is the name of the next variable below it, "" if there is none.
    """

    name: str
    begin: int
    top: int
    below: str = ""


def main_stack(image: Image) -> MainStack | None:
    """The stack whose top is word 0 of the vector table; None if the image has no table.

    Without a symbol it reaches down to the end of the variables below it.
    """
    try:
        top = vectors.find(image, anywhere=True).stack
    except BadElf:
        return None
    symbol = object_ending_at(image, top)
    if symbol is not None:
        return MainStack(symbol.name, symbol.address, top, _below(image, symbol.address))
    ram = image.chip.area("ram")
    ends = [one.end for one in image.sections if one.writable and ram.origin <= one.end < top]
    begin = max([ram.origin, *ends])
    return MainStack("", begin, top, _below(image, begin))


def _below(image: Image, address: int) -> str:
    ram = image.chip.area("ram").addresses
    objects = (one for one in image.symbols if one.kind == "object" and one.address in ram)
    lower = [one for one in objects if one.address < address]
    return max(lower, key=lambda one: one.address).name if lower else ""


def object_ending_at(image: Image, sp: int) -> Symbol | None:
    """The variable that contains a stack pointer; its end counts, as stacks grow down."""
    for symbol in image.symbols:
        if symbol.kind == "object" and symbol.address < sp <= symbol.address + symbol.size:
            return symbol
    return None


def stack_at(image: Image, sp: int) -> tuple[int, int] | None:
    """Begin and top of the stack of a stack pointer: its variable, or the main stack's memory."""
    symbol = object_ending_at(image, sp)
    if symbol is not None:
        return symbol.address, symbol.address + symbol.size
    main = main_stack(image)
    return (main.begin, main.top) if main is not None and main.begin <= sp <= main.top else None


def uses_limits(image: Image) -> bool:
    """Whether code reads or writes MSPLIM or PSPLIM (MSR and MRS; Armv8-M ARM, C2.4)."""
    return any(_names_limits(section.data) for section in image.sections if section.executable)


def _names_limits(code: bytes) -> bool:
    """Whether a word of ``code`` is MSR or MRS of a limit of either state."""
    for at in _places(code, b"\xf3"):
        first = int.from_bytes(code[at - 1 : at + 1], "little")
        second = int.from_bytes(code[at + 1 : at + 3], "little")
        writes = first & 0xFFF0 == 0xF380 and second & 0xFF00 == 0x8800
        reads = first == 0xF3EF and second & 0xF000 == 0x8000
        if (writes or reads) and second & 0x7E == 0x0A:
            return True
    return False


def _places(code: bytes, byte: bytes) -> list[int]:
    places, at = [], code.find(byte, 1)
    while at >= 0:
        places.append(at)
        at = code.find(byte, at + 1)
    return places
