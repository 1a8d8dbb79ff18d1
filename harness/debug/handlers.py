"""Whether an exception has a handler of its own, or only the one that many vectors share."""

from __future__ import annotations

import re
from difflib import SequenceMatcher

from harness.base.core_state import CoreState
from harness.base.errors import BadElf
from harness.base.exceptions import FIRST_IRQ, IPSR, SVCALL, exception_name
from harness.elf import Image, vectors
from harness.elf.demangle import qualified

_XPSR, _PC, _WORD = 16, 15, 4
#: Vectors with the same handler, at least, for it to be a default.
_SHARED = 4
#: Likeness of a misspelt handler's name to the right one, from 0 to 1, at least.
_ALIKE = 0.85
_DIGITS = re.compile(r"\d+")


def without_own_handler(state: CoreState, image: Image) -> str:
    """That the core is in a default handler, for want of the exception's own; "" if it is not.

    Faults do not count: they are told as such. A function that is in no vector and nearly has the
    name of the missing handler is named.
    """
    number = state.registers[_XPSR] & IPSR
    table = _handlers(state, image) if number >= SVCALL else []
    if number >= len(table) or table.count(table[number]) < _SHARED:
        return ""
    where = image.locate(state.registers[_PC])
    if not where.function or where.address - where.offset != table[number]:
        return ""
    name = exception_name(number, image.chip).partition(" ")[0]
    wanted = [
        one.name
        for one in image.symbols
        if one.address == table[number]
        and one.binding == "weak"
        and _plain(name) in _plain(one.name)
    ]
    vector = f"{wanted[0]} is {where.function} (weak)" if wanted else f"it has {where.function}"
    alike = _alike(image, wanted or [f"{name}_Handler", f"{name}_IRQHandler"], set(table))
    return f"{name} has no handler of its own: {vector}{alike}"


def _handlers(state: CoreState, image: Image) -> list[int]:
    """The addresses of the handlers, by exception; empty if there is no table."""
    begin = state.vectors
    if begin is None:
        try:
            begin = vectors.find(image, anywhere=True).address
        except BadElf:
            return []
    size = _WORD * (FIRST_IRQ + image.chip.irqs)
    data = image.read(begin, size) or state.read(begin, size) or b""
    words = (data[at : at + _WORD] for at in range(0, len(data), _WORD))
    return [int.from_bytes(word, "little") & ~1 for word in words]


def _alike(image: Image, wanted: list[str], handlers: set[int]) -> str:
    """The function that was to be one of the ``wanted`` handlers, by its name."""
    for one in image.symbols:
        named = one.kind == "func" and any(_is_alike(one.name, each) for each in wanted)
        if named and one.address not in handlers:
            name = qualified(one.name)
            return f"; there is {name}" + (' (not extern "C")' if name != one.name else "")
    return ""


def _is_alike(one: str, other: str) -> bool:
    """Whether two names differ by a slip: case, underscores, few letters, and no digits."""
    first, second = _plain(qualified(one)), _plain(other)
    if _DIGITS.findall(first) != _DIGITS.findall(second):
        return False
    return SequenceMatcher(None, first, second).ratio() >= _ALIKE


def _plain(name: str) -> str:
    return name.replace("_", "").lower()
