"""Static variables in DWARF: the declaring file and the type."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator
from functools import cached_property

from harness.elf.dwarf.entries import Dwarf, Entry
from harness.elf.dwarf.format import At, Tag
from harness.elf.dwarf.leb import GARBLED
from harness.elf.file import ElfFile

#: Entries that may contain static variables.
_BLOCKS = frozenset((Tag.NAMESPACE, Tag.SUBPROGRAM, Tag.LEXICAL_BLOCK, Tag.INLINED_SUBROUTINE))
_STRUCTURES = frozenset((Tag.STRUCTURE_TYPE,))
_VARIABLES = frozenset((Tag.VARIABLE,))
_WRAPPERS = frozenset((Tag.TYPEDEF, Tag.CONST_TYPE, Tag.VOLATILE_TYPE, Tag.ARRAY_TYPE))
#: Types without pointers.
_PLAIN = frozenset((Tag.BASE_TYPE, Tag.ENUMERATION_TYPE))
#: Most nested wrappers of a type that are followed.
_DEEPEST = 32


class Variables:
    """The static variables of an image, read from DWARF at first use."""

    def __init__(self, image: ElfFile, dwarf: Dwarf | None = None) -> None:
        self.dwarf = dwarf or Dwarf(image)

    @cached_property
    def entries(self) -> dict[int, Entry]:
        """DWARF entries of variables in static memory, by address, without dropped ones (at 0)."""
        entries: dict[int, Entry] = {}
        for unit in self.dwarf.units:
            for offset in self.dwarf.scan(unit, _VARIABLES, _BLOCKS):
                try:
                    entry = self.dwarf.entry(offset, unit)
                    address = self.dwarf.static_address(entry)
                except GARBLED:
                    continue  # this variable is left out; the scan itself counts broken units
                if address:
                    entries.setdefault(address, entry)
        return entries

    def declared_in(self, address: int) -> str:
        """The path of the file that declares the variable at ``address``, "" if unknown."""
        entry = self.entries.get(address)
        if entry is None:
            return ""
        try:
            return self.dwarf.declared_in(entry)
        except GARBLED:
            return ""

    def type_of(self, address: int) -> Entry | None:
        """The type of the variable at ``address``, without typedefs, qualifiers and arrays."""
        entry = self.entries.get(address)
        try:
            return None if entry is None else self.bare_type(entry)
        except GARBLED:
            return None

    def _types(self, entry: Entry) -> Iterator[Entry]:
        """The type of ``entry``: its wrappers, outermost first, then the bare type."""
        offset = self.dwarf.follow(entry, At.TYPE)
        for _ in range(_DEEPEST):
            if not isinstance(offset, int):
                return
            kind = self.dwarf.entry(offset)
            yield kind
            if kind.tag not in _WRAPPERS:
                return
            offset = kind.number(At.TYPE)

    def bare_type(self, entry: Entry) -> Entry | None:
        """The type of a variable, parameter or function, without typedefs, qualifiers, arrays."""
        return next((kind for kind in self._types(entry) if kind.tag not in _WRAPPERS), None)

    def member(self, kind: Entry | None, *path: str) -> tuple[int, Entry | None] | None:
        """The offset of a structure's member, and its type as in :meth:`type_of`.

        ``path`` may name members of members; pointers between them are followed, and the offset
        counts from the last one. None if there is no such member.
        """
        offset = 0
        try:
            for name in path:
                if kind is not None and kind.tag == Tag.POINTER_TYPE:
                    kind, offset = self.bare_type(kind), 0
                members = [] if kind is None else self.dwarf.children(kind)
                member = next((each for each in members if each.value(At.NAME) == name), None)
                if member is None:
                    return None
                offset += member.number(At.DATA_MEMBER_LOCATION) or 0
                kind = self.bare_type(member)
        except GARBLED:
            return None
        return offset, kind

    def sizes_of(self, structure: str) -> frozenset[int]:
        """The sizes in bytes of the structures of this name, one for each layout."""
        entries = self.structures.get(structure, ())
        return frozenset(size for one in entries if (size := one.number(At.BYTE_SIZE)))

    @cached_property
    def structures(self) -> dict[str, list[Entry]]:
        """The structures by name, as each unit has them; without those that are declared only."""
        found: dict[str, list[Entry]] = defaultdict(list)
        for unit in self.dwarf.units:
            for offset in self.dwarf.scan(unit, _STRUCTURES, _BLOCKS):
                try:
                    entry = self.dwarf.entry(offset, unit)
                    name, size = entry.value(At.NAME), entry.number(At.BYTE_SIZE)
                except GARBLED:
                    continue
                if isinstance(name, str) and size:
                    found[name].append(entry)
        return found

    def dimensions(self, address: int) -> tuple[int, ...]:
        """The extents of the array at ``address``, outermost first; () for anything else."""
        entry = self.entries.get(address)
        return () if entry is None else self.extents(entry)

    def extents(self, entry: Entry) -> tuple[int, ...]:
        """The extents of a variable or member that is an array; () for anything else."""
        try:
            arrays = [kind for kind in self._types(entry) if kind.tag == Tag.ARRAY_TYPE]
            return tuple(
                self._extent(subrange)
                for array in arrays
                for subrange in self.dwarf.children(array)
            )
        except GARBLED:
            return ()

    def numbers(self, address: int) -> Iterator[tuple[str, int, int]]:
        """Name, address and size of the numbers in the variable there, and of its members."""
        entry, kind = self.entries.get(address), self.type_of(address)
        if entry is None or kind is None:
            return
        name = self.dwarf_name(entry)
        if kind.tag in _PLAIN:
            yield name, address, self._size(entry, kind)
        elif kind.tag in _STRUCTURES and not self.extents(entry):
            for member in self.dwarf.children(kind):
                inner, offset = self.bare_type(member), member.number(At.DATA_MEMBER_LOCATION)
                if inner is not None and inner.tag in _PLAIN and offset is not None:
                    size = self._size(member, inner)
                    yield f"{name}.{self.dwarf_name(member)}", address + offset, size

    def _size(self, entry: Entry, kind: Entry) -> int:
        return (kind.number(At.BYTE_SIZE) or 0) * math.prod(self.extents(entry))

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
        """False for numbers and arrays of them, True for other types, None if DWARF has no type."""
        kind = self.type_of(address)
        if kind is None:
            return None
        return kind.tag not in _PLAIN
