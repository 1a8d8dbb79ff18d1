"""Static variables as DWARF describes them: the declaring file and the type."""

from __future__ import annotations

from functools import cached_property

from harness.elf.dwarf.entries import Dwarf, Entry
from harness.elf.dwarf.format import At, Tag
from harness.elf.dwarf.leb import GARBLED
from harness.elf.file import ElfFile

_LEXICAL_BLOCK, _INLINED_SUBROUTINE = 0x0B, 0x1D
_BLOCKS = frozenset((Tag.NAMESPACE, Tag.SUBPROGRAM, _LEXICAL_BLOCK, _INLINED_SUBROUTINE))
_VARIABLES = frozenset((Tag.VARIABLE,))
_WRAPPERS = frozenset((Tag.TYPEDEF, Tag.CONST_TYPE, Tag.VOLATILE_TYPE, Tag.ARRAY_TYPE))
_PLAIN = frozenset((Tag.BASE_TYPE, Tag.ENUMERATION_TYPE))
_DEEPEST = 32


class Variables:
    """The static variables of an image, read from DWARF at first use."""

    def __init__(self, image: ElfFile, dwarf: Dwarf | None = None) -> None:
        self.dwarf = dwarf or Dwarf(image)

    @cached_property
    def entries(self) -> dict[int, Entry]:
        """DWARF entries of variables in static memory, by address; dropped ones (at 0) left out."""
        entries: dict[int, Entry] = {}
        for unit in self.dwarf.units:
            for offset in self.dwarf.scan(unit, _VARIABLES, _BLOCKS):
                try:
                    entry = self.dwarf.entry(offset, unit)
                    address = self.dwarf.static_address(entry)
                except GARBLED:
                    continue  # one variable less; the scan itself counts broken units
                if address:
                    entries.setdefault(address, entry)
        return entries

    def declared_in(self, address: int) -> str:
        """The path of the file that declares the variable at ``address``, "" if not known."""
        entry = self.entries.get(address)
        if entry is None:
            return ""
        try:
            return self.dwarf.declared_in(entry)
        except GARBLED:
            return ""

    def type_of(self, address: int) -> Entry | None:
        """The type of the variable at ``address``, typedefs, const and arrays taken off."""
        entry = self.entries.get(address)
        try:
            return None if entry is None else self._bare_type(entry)
        except GARBLED:
            return None

    def _bare_type(self, entry: Entry) -> Entry | None:
        offset = self.dwarf.follow(entry, At.TYPE)
        for _ in range(_DEEPEST):
            if not isinstance(offset, int):
                return None
            kind = self.dwarf.entry(offset)
            if kind.tag not in _WRAPPERS:
                return kind
            offset = kind.number(At.TYPE)
        return None

    def member(self, kind: Entry | None, *path: str) -> tuple[int, Entry | None] | None:
        """The offset of a structure's member, and its type as in :meth:`type_of`.

        ``path`` names members of members; pointers on the way are followed, and the offset counts
        from the last one. None if there is no such member.
        """
        offset = 0
        try:
            for name in path:
                if kind is not None and kind.tag == Tag.POINTER_TYPE:
                    kind, offset = self._bare_type(kind), 0
                found = [] if kind is None else self.dwarf.children(kind)
                one = next((one for one in found if one.value(At.NAME) == name), None)
                if one is None:
                    return None
                offset += one.number(At.DATA_MEMBER_LOCATION) or 0
                kind = self._bare_type(one)
        except GARBLED:
            return None
        return offset, kind

    def dimensions(self, address: int) -> tuple[int, ...]:
        """The extents of the array at ``address``, outermost first; () for anything else."""
        entry = self.entries.get(address)
        extents: list[int] = []
        try:
            offset = None if entry is None else self.dwarf.follow(entry, At.TYPE)
            for _ in range(_DEEPEST):
                if not isinstance(offset, int):
                    break
                kind = self.dwarf.entry(offset)
                if kind.tag not in _WRAPPERS:
                    break
                if kind.tag == Tag.ARRAY_TYPE:
                    extents += [self._extent(subrange) for subrange in self.dwarf.children(kind)]
                offset = kind.number(At.TYPE)
        except GARBLED:
            return ()
        return tuple(extents)

    @staticmethod
    def _extent(subrange: Entry) -> int:
        """DW_AT_count, or one more than DW_AT_upper_bound; 0 if neither is a number."""
        count = subrange.number(At.COUNT)
        bound = subrange.number(At.UPPER_BOUND)
        return count if count is not None else 0 if bound is None else bound + 1

    def dwarf_name(self, entry: Entry) -> str:
        """The name of a type, "" if it has none."""
        try:
            name = self.dwarf.follow(entry, At.NAME)
        except GARBLED:
            return ""
        return name if isinstance(name, str) else ""

    def may_hold_pointers(self, address: int) -> bool | None:
        """False for arrays of numbers, True for other types, None if DWARF has no type."""
        kind = self.type_of(address)
        if kind is None:
            return None
        return kind.tag not in _PLAIN
