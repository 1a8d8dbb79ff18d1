"""The ELF container: headers, sections, segments and symbols of a 32-bit little-endian file.

Read with :mod:`struct` rather than pyelftools: a Zephyr image has ten thousand symbols, and every
``tflm-hil`` command opens one. Names of constants follow the System V ABI, chapters 4 and 5.
"""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass

from harness.errors import BadElf

EM_ARM = 40
ET_EXEC = 2
PT_LOAD = 1
SHT_PROGBITS, SHT_SYMTAB, SHT_STRTAB, SHT_NOTE, SHT_NOBITS = 1, 2, 3, 7, 8
SHF_WRITE, SHF_ALLOC, SHF_EXECINSTR, SHF_COMPRESSED = 0x1, 0x2, 0x4, 0x800
SHN_UNDEF, SHN_ABS, SHN_COMMON, SHN_XINDEX = 0, 0xFFF1, 0xFFF2, 0xFFFF
PN_XNUM = 0xFFFF
#: No image for a microcontroller comes near; a header that says more is garbled.
MOST_SECTIONS = 100_000
MOST_UNCOMPRESSED = 1 << 30

_HEADER = struct.Struct("<HHIIIIIHHHHHH")  # Elf32_Ehdr after e_ident
_SECTION = struct.Struct("<10I")
_SEGMENT = struct.Struct("<8I")
_SYMBOL = struct.Struct("<IIIBBH")

_MACHINES = {3: "x86", 8: "MIPS", 20: "PowerPC", 62: "x86-64", 94: "Xtensa", 183: "AArch64",
             243: "RISC-V"}  # fmt: skip
_KINDS = {0: "notype", 1: "object", 2: "func", 3: "section", 4: "file", 5: "common", 6: "tls"}
_BINDINGS = {0: "local", 1: "global", 2: "weak"}


@dataclass(frozen=True)
class Header:
    """Elf32_Ehdr, as far as it is used."""

    type: int
    machine: int
    entry: int
    segments_at: int
    segment_size: int
    segment_count: int
    sections_at: int
    section_size: int
    section_count: int
    names_index: int


@dataclass(frozen=True)
class RawSection:
    """Elf32_Shdr with its name resolved."""

    name: str
    type: int
    flags: int
    address: int
    offset: int
    size: int
    link: int
    entry_size: int


@dataclass(frozen=True)
class RawSegment:
    """Elf32_Phdr."""

    type: int
    offset: int
    address: int
    load_address: int
    file_size: int
    memory_size: int


@dataclass(frozen=True)
class RawSymbol:
    """Elf32_Sym with its name resolved; ``index`` is the section it lies in."""

    name: str
    value: int
    size: int
    kind: str
    binding: str
    index: int


def header(data: bytes, where: str) -> Header:
    """The file header. Raises :class:`BadElf` for anything but a 32-bit little-endian Arm ELF."""
    if data[:4] != b"\x7fELF":
        raise BadElf(f"{where} is not an ELF file")
    if len(data) < 20:
        raise BadElf(f"{where} is truncated: {len(data)} bytes hold no ELF header")
    bits = {1: 32, 2: 64}.get(data[4])
    if bits is None or data[5] not in (1, 2):
        raise BadElf(f"{where} is a broken ELF file: class {data[4]}, byte order {data[5]}")
    machine = int.from_bytes(data[18:20], "little" if data[5] == 1 else "big")
    if bits != 32 or data[5] != 1 or machine != EM_ARM:
        name = "ARM" if machine == EM_ARM else _MACHINES.get(machine, f"machine {machine}")
        order = "" if data[5] == 1 else ", big-endian"
        raise BadElf(
            f"{where} is for {name} ({bits}-bit{order}), not for a 32-bit Arm Cortex-M",
            hint="pass the image that was built for nrf9160dk, e.g. build/zephyr/zephyr.elf",
        )
    if len(data) < 16 + _HEADER.size:
        raise BadElf(f"{where} is truncated: {len(data)} bytes hold no ELF header")
    (kind, machine, _, entry, segments_at, sections_at, _, _, segment_size, segments,
     section_size, sections, names) = _HEADER.unpack_from(data, 16)  # fmt: skip
    if sections_at and (sections == 0 or names == SHN_XINDEX):
        if sections_at + _SECTION.size > len(data):
            raise BadElf(f"{where} is truncated: its section table lies behind its end")
        first = _SECTION.unpack_from(data, sections_at)
        sections = sections or first[5]
        names = first[6] if names == SHN_XINDEX else names
    return Header(kind, machine, entry, segments_at, segment_size, segments, sections_at,
                  section_size, sections, names)  # fmt: skip


def segments(data: bytes, head: Header, where: str) -> tuple[RawSegment, ...]:
    """The program headers. Raises :class:`BadElf` where they lie outside the file."""
    if not head.segments_at or not head.segment_count:
        return ()
    _check_table(data, where, "program", head.segments_at, head.segment_size, head.segment_count,
                 _SEGMENT.size)  # fmt: skip
    found = []
    for number in range(head.segment_count):
        kind, offset, address, load, file_size, memory, _, _ = _SEGMENT.unpack_from(
            data, head.segments_at + number * head.segment_size
        )
        if kind == PT_LOAD and offset + file_size > len(data):
            raise BadElf(
                f"{where} is truncated: a segment needs {offset + file_size} bytes, "
                f"the file has {len(data)}"
            )
        if kind == PT_LOAD and (memory < file_size or address + memory > 1 << 32):
            raise BadElf(
                f"{where} is a broken ELF file: segment {number} of {memory} bytes at "
                f"0x{address:08x} does not fit ({file_size} bytes in the file)"
            )
        found.append(RawSegment(kind, offset, address, load, file_size, memory))
    return tuple(found)


def sections(data: bytes, head: Header, where: str) -> tuple[RawSection, ...]:
    """The section headers, () where the file has none. Raises :class:`BadElf` as above."""
    if not head.sections_at or not head.section_count:
        return ()
    _check_table(data, where, "section", head.sections_at, head.section_size, head.section_count,
                 _SECTION.size)  # fmt: skip
    rows = [
        _SECTION.unpack_from(data, head.sections_at + number * head.section_size)
        for number in range(head.section_count)
    ]
    names = b""
    if head.names_index < len(rows):
        row = rows[head.names_index]
        names = data[row[4] : row[4] + row[5]]
    found = []
    for row in rows:
        name = string(names, row[0])
        if row[1] not in (0, SHT_NOBITS) and row[4] + row[5] > len(data):
            raise BadElf(
                f"{where} is truncated: section {name or '?'} needs {row[4] + row[5]} bytes, "
                f"the file has {len(data)}"
            )
        if row[2] & SHF_ALLOC and row[3] + row[5] > 1 << 32:
            raise BadElf(f"{where} is a broken ELF file: section {name or '?'} ends behind 4 GiB")
        found.append(RawSection(name, row[1], row[2], row[3], row[4], row[5], row[6], row[9]))
    return tuple(found)


def symbols(data: bytes, table: RawSection, strings: RawSection) -> list[RawSymbol]:
    """The symbols of ``table``, unnamed ones left out, in file order."""
    names = data[strings.offset : strings.offset + strings.size]
    raw = data[table.offset : table.offset + table.size // _SYMBOL.size * _SYMBOL.size]
    found = []
    for name_at, value, size, info, _, index in _SYMBOL.iter_unpack(raw):
        if not 0 < name_at < len(names) or names[name_at] == 0:
            continue
        end = names.find(b"\0", name_at)
        name = names[name_at : end if end >= 0 else len(names)].decode("utf-8", "backslashreplace")
        kind = _KINDS.get(info & 15, f"type{info & 15}")
        binding = _BINDINGS.get(info >> 4, f"bind{info >> 4}")
        found.append(RawSymbol(name, value, size, kind, binding, index))
    return found


def contents(data: bytes, section: RawSection, where: str) -> bytes:
    """The section's bytes, decompressed where SHF_COMPRESSED says so (ELFCOMPRESS_ZLIB)."""
    if section.type == SHT_NOBITS:
        return b""
    raw = data[section.offset : section.offset + section.size]
    if section.flags & SHF_COMPRESSED:
        if len(raw) < 12:
            raise BadElf(f"{where} is truncated: section {section.name} has no compression header")
        method, size, _ = struct.unpack_from("<III", raw)
        if method != 1:
            raise BadElf(
                f"{where}: section {section.name} is compressed with method {method}, not zlib",
                hint="rewrite it with: objcopy --decompress-debug-sections",
            )
        return _inflate(raw[12:], size, section.name, where)
    if section.name.startswith(".zdebug") and raw[:4] == b"ZLIB":
        return _inflate(raw[12:], int.from_bytes(raw[4:12], "big"), section.name, where)
    return raw


def string(table: bytes, offset: int) -> str:
    """The NUL-terminated string at ``offset``, "" where it lies outside the table."""
    if not 0 <= offset < len(table):
        return ""
    end = table.find(b"\0", offset)
    return table[offset : end if end >= 0 else len(table)].decode("utf-8", "backslashreplace")


def _check_table(
    data: bytes, where: str, what: str, at: int, size: int, count: int, least: int
) -> None:
    if size < least or count > MOST_SECTIONS:
        raise BadElf(f"{where} is a broken ELF file: {count} {what} headers of {size} bytes")
    if at + size * count > len(data):
        raise BadElf(
            f"{where} is truncated: its {what} headers end at {at + size * count}, "
            f"the file has {len(data)} bytes"
        )


def _inflate(raw: bytes, size: int, name: str, where: str) -> bytes:
    if size > MOST_UNCOMPRESSED:
        raise BadElf(f"{where}: section {name} claims {size} bytes uncompressed")
    try:
        plain = zlib.decompressobj().decompress(raw, size)
    except zlib.error as error:
        raise BadElf(f"{where}: section {name} does not decompress: {error}") from error
    if len(plain) != size:
        raise BadElf(f"{where}: section {name} is cut off: {len(plain)} of {size} bytes")
    return plain
