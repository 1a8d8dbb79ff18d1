"""The ELF container, read by pyelftools, with checks that pyelftools leaves out.

pyelftools trusts a file: counts and offsets outside of it give its own errors, or empty bytes. So
every table is checked against the file's size first, and a broken one raises :class:`BadElf`. The
symbol table is decoded here: the ten thousand symbols of a Zephyr image take pyelftools a quarter
of a second.

Names of constants follow the System V ABI, chapters 4 and 5.
"""

from __future__ import annotations

import io
import struct
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from elftools.common.exceptions import ELFError
from elftools.construct import ConstructError
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import Section, SymbolTableSection
from elftools.elf.segments import Segment

from harness.base.errors import BadElf
from harness.base.platforms import DEFAULT_BOARD

T = TypeVar("T")

#: Most section or program headers; a larger count is garbled.
MOST_HEADERS = 100_000
#: Most bytes of a section after decompression: 1 GiB.
MOST_UNCOMPRESSED = 1 << 30
#: The hint for a file that is not an image.
LINKED_IMAGE_HINT = "pass the linked image, e.g. build/zephyr/zephyr.elf"
SHF_WRITE, SHF_ALLOC, SHF_EXECINSTR, SHF_TLS = 0x1, 0x2, 0x4, 0x400

#: Sizes of Elf32_Ehdr, Elf32_Shdr and Elf32_Phdr.
_HEADER_BYTES, _SECTION_BYTES, _SEGMENT_BYTES = 52, 40, 32
_SYMBOL = struct.Struct("<IIIBBH")  # Elf32_Sym
_KINDS = {0: "notype", 1: "object", 2: "func", 3: "section", 4: "file", 5: "common", 6: "tls"}
_BINDINGS = {0: "local", 1: "global", 2: "weak"}
_MACHINES = {3: "x86", 8: "MIPS", 20: "PowerPC", 62: "x86-64", 94: "Xtensa", 183: "AArch64",
             243: "RISC-V"}  # fmt: skip
_EM_ARM = 40
#: Exceptions of pyelftools for a broken file.
_BROKEN = (ELFError, ConstructError, ValueError, KeyError, IndexError, OverflowError, TypeError,
           AttributeError, zlib.error)  # fmt: skip


@dataclass(frozen=True)
class RawSymbol:
    """Elf32_Sym with its name resolved; ``index`` is the number of its section."""

    name: str
    value: int
    size: int
    kind: str
    binding: str
    index: int


def read(data: bytes, where: str) -> ELFFile:
    """``data`` as pyelftools reads it, after a check that all tables are inside the file.

    Raises :class:`BadElf` for anything but a complete 32-bit little-endian Arm ELF; ``where`` names
    the file in the message.
    """
    _check_kind(data, where)
    elf = guarded(lambda: ELFFile(io.BytesIO(data)), where)
    segments = guarded(elf.num_segments, where)
    _check_table(data, where, "program", elf["e_phoff"], elf["e_phentsize"], segments,
                 _SEGMENT_BYTES)  # fmt: skip
    if elf["e_shoff"] + _SECTION_BYTES > len(data):
        raise BadElf(f"{where} is truncated: its section table lies behind its end")
    sections = guarded(elf.num_sections, where)
    _check_table(data, where, "section", elf["e_shoff"], elf["e_shentsize"], sections,
                 _SECTION_BYTES)  # fmt: skip
    for number, segment in enumerate(guarded(lambda: tuple(elf.iter_segments()), where)):
        _check_segment(data, where, number, segment)
    return elf


def guarded(call: Callable[[], T], where: str) -> T:
    """The result of a call of pyelftools. Raises :class:`BadElf` if the file is broken."""
    try:
        return call()
    except _BROKEN as error:
        reason = str(error) or type(error).__name__
        raise BadElf(f"{where} is a broken ELF file: {reason}") from error


def sections(elf: ELFFile, data: bytes, where: str) -> tuple[Section, ...]:
    """All sections, each inside the file. Raises :class:`BadElf`."""
    table = guarded(lambda: tuple(elf.iter_sections()), where)
    for section in table:
        name = section.name or "?"
        stored = section["sh_type"] not in ("SHT_NULL", "SHT_NOBITS")
        end = section["sh_offset"] + section["sh_size"]
        if stored and end > len(data):
            raise BadElf(
                f"{where} is truncated: section {name} needs {end} bytes, the file has {len(data)}"
            )
        if section["sh_flags"] & SHF_ALLOC and section["sh_addr"] + section["sh_size"] > 1 << 32:
            raise BadElf(f"{where} is a broken ELF file: section {name} ends behind 4 GiB")
    return table


def contents(section: Section, where: str) -> bytes:
    """The section's bytes, decompressed. Raises :class:`BadElf` if they do not decompress."""
    if section["sh_type"] == "SHT_NOBITS":
        return b""
    _check_uncompressed(section, guarded(lambda: int(section.data_size), where), where)
    try:
        data: bytes = guarded(section.data, where)
    except BadElf as error:
        raise BadElf(
            f"{where}: section {section.name} does not decompress: {error.__cause__}",
            hint="rewrite it with: objcopy --decompress-debug-sections",
        ) from error
    if section.name.startswith(".zdebug") and data[:4] == b"ZLIB":  # GNU's format before the ABI's
        size = int.from_bytes(data[4:12], "big")
        _check_uncompressed(section, size, where)
        return guarded(lambda: zlib.decompressobj().decompress(data[12:], size), where)
    return data


def _check_uncompressed(section: Section, size: int, where: str) -> None:
    if size > MOST_UNCOMPRESSED:
        raise BadElf(f"{where}: section {section.name} claims {size} bytes uncompressed")


def symbols(table: SymbolTableSection, where: str) -> list[RawSymbol]:
    """The symbols of ``table``, unnamed ones left out, in file order."""
    names = contents(table.stringtable, where)
    data = contents(table, where)
    decoded = []
    for name_at, value, size, info, _, index in _SYMBOL.iter_unpack(
        data[: len(data) // _SYMBOL.size * _SYMBOL.size]
    ):
        name = string(names, name_at) if name_at else ""
        if name:
            kind = _KINDS.get(info & 15, f"type{info & 15}")
            binding = _BINDINGS.get(info >> 4, f"bind{info >> 4}")
            decoded.append(RawSymbol(name, value, size, kind, binding, index))
    return decoded


def string(table: bytes, offset: int) -> str:
    """The NUL-terminated string at ``offset``; "" for an offset outside the table."""
    if not 0 <= offset < len(table):
        return ""
    end = table.find(b"\0", offset)
    return table[offset : end if end >= 0 else len(table)].decode("utf-8", "backslashreplace")


def _check_kind(data: bytes, where: str) -> None:
    if data[:4] != b"\x7fELF":
        model = data[4:8] == b"TFL3"
        hint = "it is a .tflite model: name the image first, then the model"
        hint = hint if model else LINKED_IMAGE_HINT
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
    if len(data) < _HEADER_BYTES:
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


def _check_segment(data: bytes, where: str, number: int, segment: Segment) -> None:
    header = segment.header
    if header["p_type"] != "PT_LOAD":
        return
    stored, size, address = header["p_filesz"], header["p_memsz"], header["p_vaddr"]
    if header["p_offset"] + stored > len(data):
        raise BadElf(
            f"{where} is truncated: a segment needs {header['p_offset'] + stored} bytes, "
            f"the file has {len(data)}"
        )
    if size < stored or address + size > 1 << 32:
        raise BadElf(
            f"{where} is a broken ELF file: segment {number} of {size} bytes at 0x{address:08x} "
            f"does not fit ({stored} bytes in the file)"
        )
