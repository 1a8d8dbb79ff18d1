"""The format of DWARF's entries: tags, attributes, forms, and abbreviations compiled into steps.

An abbreviation lists the attributes of an entry and their forms. It is compiled into steps that
skip them: a number of bytes, or a code such as ``ULEB`` for a variable size.

Source: DWARF Debugging Information Format 5, sections 7.5.3 to 7.5.6; 4 and 2 for older forms.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from harness.elf.dwarf.leb import sleb, uleb


class Tag(IntEnum):
    """The DW_TAG_* that are used."""

    ARRAY_TYPE = 0x01
    CLASS_TYPE = 0x02
    ENUMERATION_TYPE = 0x04
    FORMAL_PARAMETER = 0x05
    LEXICAL_BLOCK = 0x0B
    MEMBER = 0x0D
    POINTER_TYPE = 0x0F
    REFERENCE_TYPE = 0x10
    STRUCTURE_TYPE = 0x13
    TYPEDEF = 0x16
    UNSPECIFIED_PARAMETERS = 0x18
    INLINED_SUBROUTINE = 0x1D
    BASE_TYPE = 0x24
    CONST_TYPE = 0x26
    SUBPROGRAM = 0x2E
    VARIABLE = 0x34
    VOLATILE_TYPE = 0x35
    NAMESPACE = 0x39


class At(IntEnum):
    """The DW_AT_* that are used."""

    SIBLING = 0x01
    LOCATION = 0x02
    NAME = 0x03
    BYTE_SIZE = 0x0B
    STMT_LIST = 0x10
    LOW_PC = 0x11
    HIGH_PC = 0x12
    COMP_DIR = 0x1B
    UPPER_BOUND = 0x2F
    ABSTRACT_ORIGIN = 0x31
    COUNT = 0x37
    DATA_MEMBER_LOCATION = 0x38
    DECL_FILE = 0x3A
    DECL_LINE = 0x3B
    DECLARATION = 0x3C
    ENCODING = 0x3E
    SPECIFICATION = 0x47
    TYPE = 0x49
    RANGES = 0x55
    CALL_FILE = 0x58
    CALL_LINE = 0x59
    LINKAGE_NAME = 0x6E
    STR_OFFSETS_BASE = 0x72
    ADDR_BASE = 0x73
    RNGLISTS_BASE = 0x74


#: Steps that skip attributes of variable size.
ULEB, STRING, BLOCK1, BLOCK2, BLOCK4, BLOCK, INDIRECT = -1, -2, -3, -4, -5, -6, -7

#: The step that skips each form: a size in bytes, or one of those above (DWARF 5, section 7.5.6).
SIZES = {
    0x01: 4, 0x03: BLOCK2, 0x04: BLOCK4, 0x05: 2, 0x06: 4, 0x07: 8, 0x08: STRING, 0x09: BLOCK,
    0x0A: BLOCK1, 0x0B: 1, 0x0C: 1, 0x0D: ULEB, 0x0E: 4, 0x0F: ULEB, 0x10: 4, 0x11: 1, 0x12: 2,
    0x13: 4, 0x14: 8, 0x15: ULEB, 0x16: INDIRECT, 0x17: 4, 0x18: BLOCK, 0x19: 0, 0x1A: ULEB,
    0x1B: ULEB, 0x1C: 4, 0x1D: 4, 0x1E: 16, 0x1F: 4, 0x20: 8, 0x21: 0, 0x22: ULEB, 0x23: ULEB,
    0x24: 8, 0x25: 1, 0x26: 2, 0x27: 3, 0x28: 4, 0x29: 1, 0x2A: 2, 0x2B: 3, 0x2C: 4,
    0x1F20: 4, 0x1F21: 4,  # DW_FORM_GNU_ref_alt, DW_FORM_GNU_strp_alt
}  # fmt: skip


@dataclass(frozen=True)
class Abbreviation:
    """One entry of ``.debug_abbrev``; ``steps`` skip an entry's attributes."""

    tag: int
    children: bool
    attributes: tuple[tuple[int, int, int], ...]  # attribute, form, implicit constant
    steps: tuple[int, ...]
    sibling: int  # offset of a DW_FORM_ref4 DW_AT_sibling from the first attribute, -1: none


def read_abbreviations(data: bytes, at: int) -> dict[int, Abbreviation]:
    """The table at offset ``at`` of ``.debug_abbrev``, by code; raises one of GARBLED."""
    table: dict[int, Abbreviation] = {}
    while True:
        code, at = uleb(data, at)
        if code == 0:
            return table
        tag, at = uleb(data, at)
        children = data[at] != 0
        at += 1
        attributes = []
        while True:
            attribute, at = uleb(data, at)
            form, at = uleb(data, at)
            constant = 0
            if form == 0x21:  # DW_FORM_implicit_const
                constant, at = sleb(data, at)
            if attribute == 0 and form == 0:
                break
            attributes.append((attribute, form, constant))
        table[code] = _compile(tag, children, tuple(attributes))


def _compile(
    tag: int, children: bool, attributes: tuple[tuple[int, int, int], ...]
) -> Abbreviation:
    steps: list[int] = []
    sibling = -1
    for attribute, form, _ in attributes:
        size = SIZES[form]
        if attribute == At.SIBLING and form == 0x13 and all(step >= 0 for step in steps):
            sibling = sum(steps)
        if size >= 0 and steps and steps[-1] >= 0:
            steps[-1] += size
        else:
            steps.append(size)
    return Abbreviation(tag, children, attributes, tuple(steps), sibling)


def length_of(data: bytes, at: int, step: int) -> tuple[int, int]:
    """The length of a block, and the offset of its bytes."""
    if step == BLOCK:
        return uleb(data, at)
    width = {BLOCK1: 1, BLOCK2: 2, BLOCK4: 4}[step]
    return int.from_bytes(data[at : at + width], "little"), at + width


def skip(data: bytes, at: int, step: int) -> int:
    """The offset after an attribute of variable size."""
    if step == ULEB:
        return uleb(data, at)[1]
    if step == STRING:
        return data.index(b"\0", at) + 1
    if step == INDIRECT:
        form, at = uleb(data, at)
        size = SIZES[form]
        return at + size if size >= 0 else skip(data, at, size)
    size, at = length_of(data, at, step)
    if at + size > len(data):
        raise ValueError("a block behind the section's end")
    return at + size
