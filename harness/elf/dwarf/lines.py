"""DWARF line programs, versions 2 to 5: the source file and line of each address.

Source: DWARF Debugging Information Format 5, section 6.2; version 4, section 6.2 for the older
header. Sequences that start at address 0 belong to functions that the linker dropped: on a
Cortex-M, address 0 has the vector table, never code.
"""

from __future__ import annotations

import posixpath
import struct
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from harness.elf import reader
from harness.elf.dwarf.leb import GARBLED, sleb, uleb

if TYPE_CHECKING:
    from harness.elf.file import ElfFile

#: Standard opcodes (DW_LNS_*), 0 for an extended one.
_EXTENDED, _COPY, _ADVANCE_PC, _ADVANCE_LINE, _SET_FILE = 0, 1, 2, 3, 4
_CONST_ADD_PC, _FIXED_ADVANCE_PC = 8, 9
#: Extended opcodes (DW_LNE_*).
_END_SEQUENCE, _SET_ADDRESS = 1, 2
#: Contents of a file table (DW_LNCT_*).
_CONTENT_PATH, _CONTENT_DIRECTORY = 1, 2
_ADDRESSES = 1 << 32  # the size of the address space

Row = tuple[int, int, int]  # address, file index, line


@dataclass(frozen=True)
class LineHeader:
    """A line-number program header; ``names`` and ``folders`` are indexed by DW_AT_decl_file."""

    version: int
    names: tuple[str, ...]
    folders: tuple[str, ...]  # of each file, "" for the compilation folder
    program: int
    end: int
    least_instruction: int
    line_base: int
    line_range: int
    opcode_base: int
    lengths: bytes
    folder: str = ""  # the compilation folder, which version 5 has in the header

    def path(self, index: int, comp_dir: str = "") -> str:
        """The normalized path of file ``index``, "" if the table has none."""
        if not 0 <= index < len(self.names) or not self.names[index]:
            return ""
        joined = posixpath.join(comp_dir or self.folder, self.folders[index], self.names[index])
        return posixpath.normpath(joined)

    def name(self, index: int) -> str:
        """The name of file ``index`` as the table spells it, "" if it has none."""
        return self.names[index] if 0 <= index < len(self.names) else ""


def read_header(data: bytes, at: int, line_strings: bytes, strings: bytes) -> LineHeader:
    """The header at offset ``at`` of ``.debug_line``; raises one of GARBLED for a broken one."""
    length = int.from_bytes(data[at : at + 4], "little")
    if length >= 0xFFFFFFF0 or at + 4 + length > len(data):
        raise ValueError("the line program is cut off")
    end = at + 4 + length
    version = int.from_bytes(data[at + 4 : at + 6], "little")
    if not 2 <= version <= 5:
        raise ValueError(f"line program of version {version}")
    at += 6
    if version >= 5:
        at += 2  # address_size, segment_selector_size
    program = at + 4 + int.from_bytes(data[at : at + 4], "little")
    at += 4
    least = data[at]
    at += 1 if version < 4 else 2  # version 4 added maximum_operations_per_instruction
    base, spread, opcode_base = struct.unpack_from("<bBB", data, at + 1)
    at += 4
    lengths = data[at : at + max(opcode_base - 1, 0)]
    at += max(opcode_base - 1, 0)
    folder = ""
    if version >= 5:
        names, folders, folder = _tables_5(data, at, line_strings, strings)
    else:
        names, folders = _tables_2(data, at, program)
    if program > end:
        raise ValueError("the line program starts behind its end")
    return LineHeader(version, tuple(names), tuple(folders), program, end, least, base, spread,
                      opcode_base, lengths, folder)  # fmt: skip


def _text(data: bytes, at: int) -> tuple[str, int]:
    end = data.index(b"\0", at)
    return data[at:end].decode("utf-8", "backslashreplace"), end + 1


def _tables_2(data: bytes, at: int, limit: int) -> tuple[list[str], list[str]]:
    directories = [""]
    while at < limit and data[at]:
        text, at = _text(data, at)
        directories.append(text)
    at += 1
    names, folders = [""], [""]
    while at < limit and data[at]:
        text, at = _text(data, at)
        directory, at = uleb(data, at)
        _, at = uleb(data, at)
        _, at = uleb(data, at)
        names.append(text)
        folders.append(directories[directory] if directory < len(directories) else "")
    return names, folders


def _tables_5(data: bytes, at: int, line_strings: bytes, strings: bytes
              ) -> tuple[list[str], list[str], str]:  # fmt: skip
    directories, at = _entries_5(data, at, line_strings, strings)
    files, at = _entries_5(data, at, line_strings, strings)
    paths = [str(entry.get(_CONTENT_PATH, "")) for entry in directories]
    names, folders = [], []
    for entry in files:
        names.append(str(entry.get(_CONTENT_PATH, "")))
        index = entry.get(_CONTENT_DIRECTORY, 0)
        folders.append(paths[index] if isinstance(index, int) and index < len(paths) else "")
    return names, folders, paths[0] if paths else ""


def _entries_5(data: bytes, at: int, line_strings: bytes, strings: bytes
               ) -> tuple[list[dict[int, str | int]], int]:  # fmt: skip
    formats = []
    count = data[at]
    at += 1
    for _ in range(count):
        content, at = uleb(data, at)
        form, at = uleb(data, at)
        formats.append((content, form))
    total, at = uleb(data, at)
    if total > len(data):
        raise ValueError("more files than bytes")
    entries = []
    for _ in range(total):
        entry: dict[int, str | int] = {}
        for content, form in formats:
            entry[content], at = _value_5(data, at, form, line_strings, strings)
        entries.append(entry)
    return entries, at


def _value_5(data: bytes, at: int, form: int, line_strings: bytes, strings: bytes
             ) -> tuple[str | int, int]:  # fmt: skip
    if form == 0x08:  # DW_FORM_string
        return _text(data, at)
    if form in (0x1F, 0x0E):  # DW_FORM_line_strp, DW_FORM_strp
        offset = int.from_bytes(data[at : at + 4], "little")
        table = line_strings if form == 0x1F else strings
        return reader.string(table, offset), at + 4
    fixed = {0x0B: 1, 0x05: 2, 0x06: 4, 0x07: 8, 0x1E: 16}.get(form)
    if fixed:  # DW_FORM_data1, 2, 4, 8, 16
        return int.from_bytes(data[at : at + fixed], "little"), at + fixed
    if form == 0x0F:  # DW_FORM_udata
        return uleb(data, at)
    if form == 0x09:  # DW_FORM_block
        size, at = uleb(data, at)
        return 0, at + size
    raise ValueError(f"form 0x{form:x} in a file table")


@dataclass(frozen=True)
class Sequence:
    """A run of instructions: ``rows`` by address; a row is valid up to the next one or ``end``."""

    rows: tuple[Row, ...]
    end: int

    @property
    def start(self) -> int:
        """The address of the first row."""
        return self.rows[0][0]


def sequences(data: bytes, head: LineHeader) -> list[Sequence]:
    """The sequences of a line program; those before a garbled place are kept.

    Sequences that cover no address, or address 0 (dropped by the linker), are left out.
    """
    decoded: list[Sequence] = []
    try:
        for rows, end in _runs(data, head):
            if rows and 0 < rows[0][0] < end <= _ADDRESSES:
                decoded.append(Sequence(tuple(rows), end))
    except GARBLED:
        return decoded
    return decoded


def _runs(data: bytes, head: LineHeader) -> Iterator[tuple[list[Row], int]]:  # noqa: PLR0912 - one
    # state machine, and the hottest loop of the package: 300 KB of opcodes in a Zephyr image.
    at, end = head.program, head.end
    least, base = head.least_instruction, head.opcode_base
    line_base, line_range = head.line_base, head.line_range
    steps = [
        ((op - base) // line_range * least, line_base + (op - base) % line_range)
        if line_range and op >= base else (0, 0)
        for op in range(256)
    ]  # fmt: skip
    address, file, line = 0, 1, 1
    rows: list[Row] = []
    while at < end:
        op = data[at]
        at += 1
        if op >= base:
            advance, step = steps[op]
            address += advance
            line += step
            rows.append((address, file, line))
        elif op == _COPY:
            rows.append((address, file, line))
        elif op == _ADVANCE_LINE:
            step, at = sleb(data, at)
            line += step
        elif op == _ADVANCE_PC:
            advance, at = uleb(data, at)
            address += advance * least
        elif op == _SET_FILE:
            file, at = uleb(data, at)
        elif op == _CONST_ADD_PC:
            address += steps[255][0]
        elif op == _FIXED_ADVANCE_PC:
            address += int.from_bytes(data[at : at + 2], "little")
            at += 2
        elif op == _EXTENDED:
            size, at = uleb(data, at)
            code = data[at] if size else 0
            if code == _END_SEQUENCE:
                yield rows, address
                address, file, line, rows = 0, 1, 1, []
            elif code == _SET_ADDRESS:
                address = int.from_bytes(data[at + 1 : at + size], "little") & 0xFFFFFFFF
            at += size
        else:
            for _ in range(head.lengths[op - 1]):
                _, at = uleb(data, at)


class LineTable:
    """All line programs of an image, sorted by address.

    ``starts`` are the addresses at which another line begins, ``places`` those lines: header
    number, file index, line; or -1, 0, 0 where no program covers the addresses.
    """

    def __init__(self, image: ElfFile) -> None:
        data = image.debug_section("line")
        line_strings = image.debug_section("line_str")
        strings = image.debug_section("str")
        self.headers: list[LineHeader] = []
        self.offsets: list[int] = []  # of each header in .debug_line
        self.broken = 0
        decoded: list[tuple[Sequence, int]] = []
        at = 0
        while at + 6 <= len(data):
            try:
                head = read_header(data, at, line_strings, strings)
            except GARBLED:
                self.broken += 1
            else:
                decoded += [(sequence, len(self.headers)) for sequence in sequences(data, head)]
                self.headers.append(head)
                self.offsets.append(at)
            at += 4 + int.from_bytes(data[at : at + 4], "little")
        table = _table(decoded)
        self.starts = sorted(table)
        self.places = [table[start] for start in self.starts]

    def find(self, address: int) -> tuple[int, int, int] | None:
        """Header number, file index and line of an address, None if no program covers it."""
        index = bisect_right(self.starts, address) - 1
        place = self.places[index] if index >= 0 else None
        return place if place and place[0] >= 0 else None

    def named(self) -> tuple[list[int], list[tuple[str, int]]]:
        """Start addresses, and their (file name, line); ("", 0) ends a sequence."""
        return self.starts, [
            (self.headers[number].name(file), line) if number >= 0 else ("", 0)
            for number, file, line in self.places
        ]


def _table(decoded: list[tuple[Sequence, int]]) -> dict[int, tuple[int, int, int]]:
    """The place that begins at each address; of overlapping sequences the first one wins.

    Of several rows at one address the last one wins; a row at a sequence's end covers nothing.
    """
    decoded.sort(key=lambda pair: (pair[0].start, -pair[0].end))
    table: dict[int, tuple[int, int, int]] = {}
    covered = 0
    for sequence, number in decoded:
        if sequence.end <= covered:
            continue
        place = None
        for address, file, line in sequence.rows:
            if covered <= address < sequence.end:
                table[address] = (number, file, line)
            elif address < covered:
                place = (number, file, line)
        if place is not None and table[covered][0] < 0:  # the row that continues at `covered`
            table[covered] = place
        covered = sequence.end
        table[covered] = (-1, 0, 0)
    return table
