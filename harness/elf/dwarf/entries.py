"""DWARF debug information entries, versions 2 to 5.

pyelftools builds an object for every attribute: 20 s for a Zephyr image with tflite-micro. Here an
abbreviation is compiled once into the steps that skip it, subtrees are skipped by DW_AT_sibling,
and an entry is decoded only when it is used.

Source: DWARF Debugging Information Format 5, section 7.5; 4 and 2 for the older forms. Only the
32-bit DWARF format is read; a 32-bit image has no use for the 64-bit one.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property, partial

from harness.elf import reader
from harness.elf.dwarf.format import (
    SIZES,
    STRING,
    ULEB,
    Abbreviation,
    At,
    length_of,
    read_abbreviations,
    skip,
)
from harness.elf.dwarf.leb import GARBLED, sleb, uleb
from harness.elf.dwarf.lines import LineHeader, read_header
from harness.elf.dwarf.ranges import Range, ranges_4, ranges_5
from harness.elf.file import ElfFile

Value = int | str | bytes

_UNIT_REFERENCES = frozenset((0x11, 0x12, 0x13, 0x14, 0x15))  # DW_FORM_ref1 .. ref_udata
#: Forms of an address: DW_FORM_addr, DW_FORM_addrx to addrx4.
_ADDRESSES = frozenset((0x01, 0x1B, 0x29, 0x2A, 0x2B, 0x2C))
_RNGLISTX = 0x23  # DW_FORM_rnglistx
_RANGE_HEADER = 12  # bytes before the offsets of the first list in .debug_rnglists
_DEPTH = 64  # longest chain of references that is followed


@dataclass(frozen=True)
class Unit:
    """A compilation unit: its extent in ``.debug_info`` and its abbreviations."""

    offset: int
    end: int
    version: int
    abbreviations: dict[int, Abbreviation] = field(repr=False)
    first: int  # offset of the unit's own entry


@dataclass(frozen=True)
class Entry:
    """A debug information entry, decoded."""

    unit: Unit
    offset: int
    tag: int
    attributes: dict[int, tuple[int, Value]]  # attribute -> form, value
    children_at: int  # offset of the first child, 0: none

    def value(self, attribute: At) -> Value | None:
        """An attribute's raw value, None if the entry has none."""
        found = self.attributes.get(attribute)
        return found[1] if found else None

    def number(self, attribute: At) -> int | None:
        """An attribute's value if it is a number, else None."""
        value = self.value(attribute)
        return value if isinstance(value, int) else None


class Dwarf:
    """The debug information of one image. Garbled units are left out and counted."""

    def __init__(self, image: ElfFile) -> None:
        self._image = image
        self.info = image.debug_section("info")
        self.broken_units = 0
        self._sections: dict[str, bytes] = {}
        self._abbreviation_tables: dict[int, dict[int, Abbreviation]] = {}
        self._line_headers: dict[int, LineHeader | None] = {}

    def _section(self, name: str) -> bytes:
        """``.debug_<name>``, read and decompressed at first use."""
        if name not in self._sections:
            self._sections[name] = self._image.debug_section(name)
        return self._sections[name]

    @cached_property
    def units(self) -> tuple[Unit, ...]:
        """All compilation units, in file order."""
        units = []
        at = 0
        while at + 11 <= len(self.info):
            length = int.from_bytes(self.info[at : at + 4], "little")
            end = at + 4 + length
            if length >= 0xFFFFFFF0 or end > len(self.info):
                self.broken_units += 1
                break
            try:
                unit = self._unit(at, end)
            except GARBLED:
                self.broken_units += 1
                unit = None
            if unit is not None:
                units.append(unit)
            at = end
        return tuple(units)

    @cached_property
    def _starts(self) -> list[int]:
        return [unit.offset for unit in self.units]

    def unit_at(self, offset: int) -> Unit | None:
        """The unit at ``offset`` of ``.debug_info``."""
        index = bisect_right(self._starts, offset) - 1
        if index < 0 or offset >= self.units[index].end:
            return None
        return self.units[index]

    def _unit(self, at: int, end: int) -> Unit | None:
        info = self.info
        version = int.from_bytes(info[at + 4 : at + 6], "little")
        if not 2 <= version <= 5:
            raise ValueError(f"unit of version {version}")
        if version == 5:
            kind = info[at + 6]
            table = int.from_bytes(info[at + 8 : at + 12], "little")
            first = at + 12
            if kind in (0x04, 0x05):  # DW_UT_skeleton, DW_UT_split_compile: dwo_id
                first += 8
            elif kind in (0x02, 0x06):  # DW_UT_type, DW_UT_split_type: signature, offset
                return None
        else:
            table = int.from_bytes(info[at + 6 : at + 10], "little")
            first = at + 11
        return Unit(at, end, version, self._abbreviations(table), first)

    def _abbreviations(self, at: int) -> dict[int, Abbreviation]:
        cached = self._abbreviation_tables.get(at)
        if cached is not None:
            return cached
        table = self._abbreviation_tables[at] = read_abbreviations(self._section("abbrev"), at)
        return table

    # -- walking ---------------------------------------------------------------------------------

    def scan(self, unit: Unit, tags: frozenset[int], into: frozenset[int]) -> Iterator[int]:
        """Offsets of the unit's entries with one of ``tags``, in subtrees of ``into`` alone.

        A garbled entry ends the unit.
        """
        try:
            yield from self._scan(unit, tags, into)
        except GARBLED:
            self.broken_units += 1

    def _scan(self, unit: Unit, tags: frozenset[int], into: frozenset[int]) -> Iterator[int]:  # noqa: PLR0912
        # - one loop without calls for the common steps: an image has half a million entries.
        info, end, table = self.info, unit.end, unit.abbreviations
        at = unit.first
        depth = 0
        skipping = 0  # depth of skipped entries without DW_AT_sibling (LLVM); 0: none are skipped
        while at < end:
            start = at
            code = info[at]
            at += 1
            if code >= 0x80:
                code, at = uleb(info, start)
            if code == 0:
                depth -= 1
                if depth <= 0:
                    return
                if skipping and depth < skipping:
                    skipping = 0
                continue
            abbreviation = table[code]
            if not skipping and abbreviation.tag in tags:
                yield start
            children = abbreviation.children
            enter = not children or abbreviation.tag in into or depth == 0
            if not enter and abbreviation.sibling >= 0:
                place = at + abbreviation.sibling
                target = unit.offset + int.from_bytes(info[place : place + 4], "little")
                if not at < target <= end:
                    raise ValueError("a sibling that lies before its entry")
                at = target
                continue
            for step in abbreviation.steps:
                if step >= 0:
                    at += step
                elif step == ULEB:
                    while info[at] >= 0x80:
                        at += 1
                    at += 1
                else:
                    at = skip(info, at, step)
            if children:
                depth += 1
                if not enter and not skipping:
                    skipping = depth

    def children(self, entry: Entry) -> Iterator[Entry]:
        """The direct children of an entry."""
        at = entry.children_at
        while at and at < entry.unit.end and self.info[at]:
            child = self.entry(at, entry.unit)
            yield child
            at = self._next_sibling(child)

    def _next_sibling(self, entry: Entry) -> int:
        sibling = entry.number(At.SIBLING)
        if sibling is not None and sibling > entry.offset:
            return sibling
        at = self._after_attributes(entry)
        depth = 1 if entry.children_at else 0
        while depth:
            code, at = uleb(self.info, at)
            if code == 0:
                depth -= 1
                continue
            abbreviation = entry.unit.abbreviations[code]
            for step in abbreviation.steps:
                at = at + step if step >= 0 else skip(self.info, at, step)
            depth += abbreviation.children
        return at

    def _after_attributes(self, entry: Entry) -> int:
        code, at = uleb(self.info, entry.offset)
        for step in entry.unit.abbreviations[code].steps:
            at = at + step if step >= 0 else skip(self.info, at, step)
        return at

    # -- decoding --------------------------------------------------------------------------------

    def entry(self, offset: int, unit: Unit | None = None) -> Entry:
        """The entry at ``offset``; raises one of GARBLED if there is none."""
        unit = unit or self.unit_at(offset)
        if unit is None or not unit.first <= offset < unit.end:
            raise ValueError(f"no entry at 0x{offset:x}")
        code, at = uleb(self.info, offset)
        abbreviation = unit.abbreviations[code]
        attributes: dict[int, tuple[int, Value]] = {}
        for attribute, form, constant in abbreviation.attributes:
            if form == 0x16:  # DW_FORM_indirect
                form, at = uleb(self.info, at)  # noqa: PLW2901
            value, at = self._value(unit, form, constant, at)
            attributes[attribute] = (form, value)
        return Entry(unit, offset, abbreviation.tag, attributes, at if abbreviation.children else 0)

    def _value(self, unit: Unit, form: int, constant: int, at: int) -> tuple[Value, int]:
        info = self.info
        size = SIZES[form]
        if form == 0x21:  # DW_FORM_implicit_const
            return constant, at
        if form == 0x19:  # DW_FORM_flag_present
            return 1, at
        if form == 0x0D:  # DW_FORM_sdata
            return sleb(info, at)
        if size >= 0:
            if at + size > unit.end:
                raise ValueError("an attribute behind the unit's end")
            number = int.from_bytes(info[at : at + size], "little")
            at += size
        elif size == ULEB:
            number, at = uleb(info, at)
        elif size == STRING:
            end = info.index(b"\0", at)
            return info[at:end].decode("utf-8", "backslashreplace"), end + 1
        else:
            end = skip(info, at, size)
            _, start = length_of(info, at, size)
            return info[start:end], end
        return self._resolved(unit, form, number), at

    def _resolved(self, unit: Unit, form: int, number: int) -> Value:
        """The string, address or offset that ``number`` refers to, by its form."""
        if form in _UNIT_REFERENCES:
            return unit.offset + number
        if form == 0x0E:  # DW_FORM_strp
            return reader.string(self._section("str"), number)
        if form == 0x1F:  # DW_FORM_line_strp
            return reader.string(self._section("line_str"), number)
        if form in (0x1A, 0x25, 0x26, 0x27, 0x28):  # DW_FORM_strx, strx1 .. strx4
            return self._indexed_string(unit, number)
        if form in (0x1B, 0x29, 0x2A, 0x2B, 0x2C):  # DW_FORM_addrx, addrx1 .. addrx4
            return self.indexed_address(unit, number)
        return number

    def _base(self, unit: Unit, attribute: At, default: int) -> int:
        """A DW_AT_*_base of the unit's entry, read alone: other attributes may depend on it."""
        code, at = uleb(self.info, unit.first)
        for name, form, _ in unit.abbreviations[code].attributes:
            if name == attribute:
                return int.from_bytes(self.info[at : at + 4], "little")
            size = SIZES[form]
            at = at + size if size >= 0 else skip(self.info, at, size)
        return default

    def _indexed_string(self, unit: Unit, index: int) -> str:
        at = self._base(unit, At.STR_OFFSETS_BASE, 8) + 4 * index
        offset = int.from_bytes(self._section("str_offsets")[at : at + 4], "little")
        return reader.string(self._section("str"), offset)

    def indexed_address(self, unit: Unit, index: int) -> int:
        """Entry ``index`` of the unit's part of ``.debug_addr``."""
        at = self._base(unit, At.ADDR_BASE, 8) + 4 * index
        return int.from_bytes(self._section("addr")[at : at + 4], "little")

    def ranges(self, entry: Entry) -> list[Range]:
        """The addresses of an entry's code, [] if it has none; raises one of GARBLED."""
        low, high = entry.number(At.LOW_PC), entry.number(At.HIGH_PC)
        if low is not None and high is not None:
            is_address = entry.attributes[At.HIGH_PC][0] in _ADDRESSES
            return [(low, high if is_address else low + high)]
        at = entry.number(At.RANGES)
        if at is None:
            return []
        base = self.entry(entry.unit.first, entry.unit).number(At.LOW_PC) or 0
        if entry.unit.version < 5:
            return list(ranges_4(self._section("ranges"), at, base))
        lists = self._section("rnglists")
        if entry.attributes[At.RANGES][0] == _RNGLISTX:
            start = self._base(entry.unit, At.RNGLISTS_BASE, _RANGE_HEADER)
            place = start + 4 * at
            at = start + int.from_bytes(lists[place : place + 4], "little")
        return list(ranges_5(lists, at, base, partial(self.indexed_address, entry.unit)))

    # -- meaning of entries ----------------------------------------------------------------------

    def follow(self, entry: Entry, attribute: At) -> Value | None:
        """An attribute of an entry, or of the entries in its specification or abstract origin."""
        for _ in range(_DEPTH):
            value = entry.value(attribute)
            if value is not None:
                return value
            origin = entry.number(At.SPECIFICATION)
            if origin is None:
                origin = entry.number(At.ABSTRACT_ORIGIN)
            if origin is None:
                return None
            entry = self.entry(origin)
        return None

    def static_address(self, entry: Entry) -> int | None:
        """The address of a variable in static memory, None for any other location."""
        location = entry.value(At.LOCATION)
        if not isinstance(location, bytes) or not location:
            return None
        if location[0] == 0x03 and len(location) == 5:  # DW_OP_addr
            return int.from_bytes(location[1:5], "little")
        if location[0] == 0xA1:  # DW_OP_addrx
            index, end = uleb(location, 1)
            return self.indexed_address(entry.unit, index) if end == len(location) else None
        return None

    def line_header(self, unit: Unit) -> LineHeader | None:
        """The header of the unit's line program (its file table), None if it has none."""
        if unit.offset not in self._line_headers:
            self._line_headers[unit.offset] = self._read_line_header(unit)
        return self._line_headers[unit.offset]

    def _read_line_header(self, unit: Unit) -> LineHeader | None:
        try:
            at = self.entry(unit.first, unit).number(At.STMT_LIST)
            if at is None:
                return None
            strings = self._section("line_str"), self._section("str")
            return read_header(self._section("line"), at, *strings)
        except GARBLED:
            return None

    def declared_in(self, entry: Entry) -> str:
        """The path of the file that declares an entry; "" if DWARF does not have it."""
        index = self.follow(entry, At.DECL_FILE)
        head = self.line_header(entry.unit)
        if not isinstance(index, int) or head is None:
            return ""
        return head.path(index, self.folder(entry.unit))

    def folder(self, unit: Unit) -> str:
        """The folder in which the unit was compiled."""
        value = self.entry(unit.first, unit).value(At.COMP_DIR)
        return value if isinstance(value, str) else ""
