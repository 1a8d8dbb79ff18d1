"""The calls that the compiler inlined at an address, from DW_TAG_inlined_subroutine.

Source: DWARF 5, section 3.3.8. Garbled entries are left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from harness.elf.dwarf.entries import Dwarf, Entry
from harness.elf.dwarf.format import At, Tag
from harness.elf.dwarf.leb import GARBLED
from harness.elf.dwarf.ranges import Range

_SUBPROGRAMS, _NAMESPACES = frozenset((Tag.SUBPROGRAM,)), frozenset((Tag.NAMESPACE,))
_BLOCKS = (Tag.LEXICAL_BLOCK, Tag.INLINED_SUBROUTINE)
#: Most nested blocks and inlined calls that are followed.
_DEEPEST = 64
_UNNAMED = "(inlined)"


@dataclass(frozen=True)
class InlinedCall:
    """An inlined call: the function (C++: mangled), and the file and line of the call."""

    function: str
    file: str
    line: int


class Inlining:
    """The inlined calls of one image; each unit is read at first use."""

    def __init__(self, dwarf: Dwarf) -> None:
        self._dwarf = dwarf
        self._units: list[tuple[Range, int]] | None = None
        self._functions: dict[int, list[tuple[Range, int]]] = {}
        self._known: dict[int, tuple[InlinedCall, ...]] = {}

    def at(self, address: int) -> tuple[InlinedCall, ...]:
        """The inlined calls that contain the instruction at ``address``, innermost first."""
        found = self._known.get(address)
        if found is None:
            found = self._known[address] = tuple(self._calls(address))[::-1]
        return found

    def _calls(self, address: int) -> Iterator[InlinedCall]:
        try:
            entry = self._function_at(address)
            for _ in range(_DEEPEST):
                if entry is None:
                    return
                entry = next(
                    (child for child in self._dwarf.children(entry)
                     if child.tag in _BLOCKS and self._covers(child, address)),
                    None,
                )  # fmt: skip
                if entry is not None and entry.tag == Tag.INLINED_SUBROUTINE:
                    yield self._call(entry)
        except GARBLED:
            return

    def _call(self, entry: Entry) -> InlinedCall:
        name = self._dwarf.follow(entry, At.LINKAGE_NAME) or self._dwarf.follow(entry, At.NAME)
        head, index = self._dwarf.line_header(entry.unit), entry.number(At.CALL_FILE)
        file = head.name(index) if head is not None and index is not None else ""
        return InlinedCall(str(name or _UNNAMED), file, entry.number(At.CALL_LINE) or 0)

    def _function_at(self, address: int) -> Entry | None:
        """The subprogram whose code is at ``address``."""
        if self._units is None:
            self._units = list(self._all_units())
        for number in {number for (low, high), number in self._units if low <= address < high}:
            if number not in self._functions:
                self._functions[number] = list(self._all_functions(number))
            for (low, high), offset in self._functions[number]:
                if low <= address < high:
                    return self._dwarf.entry(offset)
        return None

    def _all_units(self) -> Iterator[tuple[Range, int]]:
        for number, unit in enumerate(self._dwarf.units):
            try:
                own = self._dwarf.entry(unit.first, unit)
                yield from ((covered, number) for covered in self._dwarf.ranges(own))
            except GARBLED:
                continue

    def _all_functions(self, number: int) -> Iterator[tuple[Range, int]]:
        unit = self._dwarf.units[number]
        for offset in self._dwarf.scan(unit, _SUBPROGRAMS, _NAMESPACES):
            try:
                entry = self._dwarf.entry(offset, unit)
                yield from ((covered, offset) for covered in self._dwarf.ranges(entry))
            except GARBLED:
                continue

    def _covers(self, entry: Entry, address: int) -> bool:
        return any(low <= address < high for low, high in self._dwarf.ranges(entry))
