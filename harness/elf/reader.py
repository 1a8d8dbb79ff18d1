"""The ELF container: header, segments, sections, symbols, compressed contents.

Every count and offset of a file is checked against the file's size before it is used; a broken one
raises :class:`BadElf`. Names of constants follow the System V ABI, chapters 4 and 5.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass

from harness.base.errors import BadElf
from harness.base.platforms import DEFAULT_BOARD

#: Far more than any image for a microcontroller has; a larger count is garbled.
MOST_HEADERS = 100_000
MOST_UNCOMPRESSED = 1 << 30
SHF_WRITE, SHF_ALLOC, SHF_EXECINSTR, SHF_COMPRESSED = 0x1, 0x2, 0x4, 0x800
SHT_NULL, SHT_SYMTAB, SHT_STRTAB, SHT_NOBITS = 0, 2, 3, 8
PT_LOAD = 1
ET_EXEC = 2

_HEADER = struct.Struct("<16sHHIIIIIHHHHHH")  # Elf32_Ehdr
_SEGMENT = struct.Struct("<IIIIIIII")  # Elf32_Phdr
_SECTION = struct.Struct("<IIIIIIIIII")  # Elf32_Shdr
_SYMBOL = struct.Struct("<IIIBBH")  # Elf32_Sym
_COMPRESSION = struct.Struct("<III")  # Elf32_Chdr
_ELFCOMPRESS_ZLIB = 1
#: The counts in the header overflow into section 0 beyond these.
_PN_XNUM, _SHN_XINDEX = 0xFFFF, 0xFFFF
_TYPES = {1: "ET_REL", 2: "ET_EXEC", 3: "ET_DYN", 4: "ET_CORE"}
_KINDS = {0: "notype", 1: "object", 2: "func", 3: "section", 4: "file", 5: "common", 6: "tls"}
_BINDINGS = {0: "local", 1: "global", 2: "weak"}
_MACHINES = {3: "x86", 8: "MIPS", 20: "PowerPC", 62: "x86-64", 94: "Xtensa", 183: "AArch64",
             243: "RISC-V"}  # fmt: skip
_EM_ARM = 40


@dataclass(frozen=True)
class RawSegment:
    """Elf32_Phdr of a PT_LOAD segment: bytes of the file, and where they go."""

    offset: int
    address: int
    load_address: int
    stored: int
    size: int


@dataclass(frozen=True)
class RawSection:
    """Elf32_Shdr with its name resolved; ``link`` is the section that it refers to."""

    name: str
    type: int
    flags: int
    address: int
    offset: int
    size: int
    link: int


@dataclass(frozen=True)
class RawSymbol:
    """Elf32_Sym with its name resolved; ``index`` is the section it lies in."""

    name: str
    value: int
    size: int
    kind: str
    binding: str
    index: int


@dataclass(frozen=True)
class Container:
    """The tables of an ELF. ``headers`` are the bytes at its start that the tables occupy."""

    type: int
    entry: int
    headers: int
    segments: tuple[RawSegment, ...]
    sections: tuple[RawSection, ...]

    @property
    def type_name(self) -> str:
        """``ET_EXEC`` and its like."""
        return _TYPES.get(self.type, f"{self.type:#x}")


def read(data: bytes, where: str) -> Container:
    """The tables of an ELF, each inside the file.

    Raises :class:`BadElf` for anything but a whole 32-bit little-endian Arm ELF; ``where`` names
    the file in the message.
    """
    _check_kind(data, where)
    (_, type_, _, _, entry, segments_at, sections_at, _, header_bytes, segment_bytes,
     segment_count, section_bytes, section_count, names) = _HEADER.unpack_from(data)  # fmt: skip
    if sections_at + _SECTION.size > len(data):
        raise BadElf(f"{where} is truncated: its section table lies behind its end")
    if sections_at:  # counts that the header has no room for stand in section 0
        first = _SECTION.unpack_from(data, sections_at)
        section_count = section_count or first[5]
        segment_count = first[7] if segment_count == _PN_XNUM else segment_count
        names = first[6] if names == _SHN_XINDEX else names
    else:
        section_count = 0
    _check_table(data, where, "program", segments_at, segment_bytes, segment_count, _SEGMENT.size)
    _check_table(data, where, "section", sections_at, section_bytes, section_count, _SECTION.size)
    segments = []
    for number in range(segment_count if segments_at else 0):
        row = _SEGMENT.unpack_from(data, segments_at + number * segment_bytes)
        if row[0] == PT_LOAD:
            segments.append(RawSegment(*row[1:6]))
            _check_segment(data, where, number, segments[-1])
    rows = [
        _SECTION.unpack_from(data, sections_at + n * section_bytes) for n in range(section_count)
    ]
    headers = header_bytes
    if segments_at <= headers:
        headers = max(headers, segments_at + segment_bytes * segment_count)
    return Container(
        type_, entry, headers, tuple(segments), tuple(_sections(rows, names, data, where))
    )


def _sections(
    rows: Sequence[tuple[int, ...]], names: int, data: bytes, where: str
) -> list[RawSection]:
    """The sections of ``rows``, each inside the file; section ``names`` holds their names."""
    if rows and names >= len(rows):
        raise BadElf(f"{where} is a broken ELF file: section {names} with its names is missing")
    table = data[rows[names][4] : rows[names][4] + rows[names][5]] if rows and names else b""
    sections = []
    for name_at, type_, flags, address, offset, size, link, *_ in rows:
        section = RawSection(string(table, name_at), type_, flags, address, offset, size, link)
        name = section.name or "?"
        end = offset + size
        if type_ not in (SHT_NULL, SHT_NOBITS) and end > len(data):
            raise BadElf(
                f"{where} is truncated: section {name} needs {end} bytes, the file has {len(data)}"
            )
        if flags & SHF_ALLOC and address + size > 1 << 32:
            raise BadElf(f"{where} is a broken ELF file: section {name} ends behind 4 GiB")
        sections.append(section)
    return sections


def contents(section: RawSection, data: bytes, where: str) -> bytes:
    """The section's bytes, decompressed. Raises :class:`BadElf` if they do not decompress."""
    if section.type == SHT_NOBITS:
        return b""
    stored = data[section.offset : section.offset + section.size]
    if section.flags & SHF_COMPRESSED:
        if len(stored) < _COMPRESSION.size:
            raise BadElf(f"{where} is a broken ELF file: section {section.name} is cut off")
        kind, size, _ = _COMPRESSION.unpack_from(stored)
        if kind != _ELFCOMPRESS_ZLIB:
            raise _not_decompressed(section, where, f"compression type {kind} is unknown")
        return _decompressed(section, stored[_COMPRESSION.size :], size, where)
    if section.name.startswith(".zdebug") and stored[:4] == b"ZLIB":  # GNU's form, before the ABI's
        size = int.from_bytes(stored[4:12], "big")
        return _decompressed(section, stored[12:], size, where)
    return stored


def _decompressed(section: RawSection, stored: bytes, size: int, where: str) -> bytes:
    if size > MOST_UNCOMPRESSED:
        raise BadElf(f"{where}: section {section.name} claims {size} bytes uncompressed")
    try:
        data = zlib.decompressobj().decompress(stored, size) if size else b""
    except zlib.error as error:
        raise _not_decompressed(section, where, str(error)) from error
    if len(data) != size:
        raise _not_decompressed(section, where, f"{len(data)} bytes of {size}")
    return data


def _not_decompressed(section: RawSection, where: str, reason: str) -> BadElf:
    return BadElf(
        f"{where}: section {section.name} does not decompress: {reason}",
        hint="rewrite it with: objcopy --decompress-debug-sections",
    )


def symbols(sections: Sequence[RawSection], data: bytes, where: str) -> list[RawSymbol]:
    """The symbols of the symbol table, unnamed ones left out, in file order; [] without a table."""
    table = next((section for section in sections if section.type == SHT_SYMTAB), None)
    if table is None:
        return []
    if table.link >= len(sections) or sections[table.link].type != SHT_STRTAB:
        raise BadElf(f"{where} is a broken ELF file: its symbol table has no string table")
    names = contents(sections[table.link], data, where)
    rows = contents(table, data, where)
    decoded = []
    for name_at, value, size, info, _, index in _SYMBOL.iter_unpack(
        rows[: len(rows) // _SYMBOL.size * _SYMBOL.size]
    ):
        name = string(names, name_at) if name_at else ""
        if name:
            kind = _KINDS.get(info & 15, f"type{info & 15}")
            binding = _BINDINGS.get(info >> 4, f"bind{info >> 4}")
            decoded.append(RawSymbol(name, value, size, kind, binding, index))
    return decoded


def string(table: bytes, offset: int) -> str:
    """The NUL-terminated string at ``offset``, "" if it lies outside the table."""
    if not 0 <= offset < len(table):
        return ""
    end = table.find(b"\0", offset)
    return table[offset : end if end >= 0 else len(table)].decode("utf-8", "backslashreplace")


def _check_kind(data: bytes, where: str) -> None:
    if data[:4] != b"\x7fELF":
        model = data[4:8] == b"TFL3"
        hint = "it is a .tflite model: name the image first, then the model" if model else ""
        raise BadElf(f"{where} is not an ELF file", hint=hint)
    if len(data) < 20:
        raise BadElf(f"{where} is truncated: {len(data)} bytes hold no ELF header")
    bits = {1: 32, 2: 64}.get(data[4])
    if bits is None or data[5] not in (1, 2):
        raise BadElf(f"{where} is a broken ELF file: class {data[4]}, byte order {data[5]}")
    machine = int.from_bytes(data[18:20], "little" if data[5] == 1 else "big")
    if bits != 32 or data[5] != 1 or machine != _EM_ARM:
        name = "ARM" if machine == _EM_ARM else _MACHINES.get(machine, f"machine {machine}")
        order = "" if data[5] == 1 else ", big-endian"
        raise BadElf(
            f"{where} is for {name} ({bits}-bit{order}), not for a 32-bit Arm Cortex-M",
            hint=f"pass the image that was built for {DEFAULT_BOARD}, e.g. build/zephyr/zephyr.elf",
        )
    if len(data) < _HEADER.size:
        raise BadElf(f"{where} is truncated: {len(data)} bytes hold no ELF header")


def _check_table(
    data: bytes, where: str, kind: str, offset: int, size: int, count: int, least: int
) -> None:
    if not offset or not count:
        return
    if size < least or count > MOST_HEADERS:
        raise BadElf(f"{where} is a broken ELF file: {count} {kind} headers of {size} bytes")
    if offset + size * count > len(data):
        raise BadElf(
            f"{where} is truncated: its {kind} headers end at {offset + size * count}, "
            f"the file has {len(data)} bytes"
        )


def _check_segment(data: bytes, where: str, number: int, segment: RawSegment) -> None:
    end = segment.offset + segment.stored
    if end > len(data):
        raise BadElf(f"{where} is truncated: a segment needs {end} bytes, the file has {len(data)}")
    if segment.size < segment.stored or segment.address + segment.size > 1 << 32:
        raise BadElf(
            f"{where} is a broken ELF file: segment {number} of {segment.size} bytes at "
            f"0x{segment.address:08x} does not fit ({segment.stored} bytes in the file)"
        )
