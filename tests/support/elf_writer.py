"""Writes small ELF files for tests: sections at chosen addresses, and symbols."""

from __future__ import annotations

import struct
from dataclasses import dataclass


@dataclass(frozen=True)
class MadeSection:
    """A section; ``load`` (LMA) makes it stored, None makes it NOBITS of ``size`` bytes.

    ``reserved`` is the LMA of a NOBITS section that has one; ``tls`` is for thread-local variables,
    which are in no segment.
    """

    name: str
    address: int
    data: bytes = b""
    size: int = 0
    load: int | None = None
    executable: bool = False
    reserved: int | None = None
    tls: bool = False

    @property
    def bytes(self) -> int:
        return len(self.data) if self.load is not None else self.size


@dataclass(frozen=True)
class MadeSymbol:
    """A symbol of section number ``section`` (0-based; None is absolute)."""

    name: str
    value: int
    size: int = 0
    kind: str = "object"
    section: int | None = 0
    binding: str = "global"


_KINDS = {"notype": 0, "object": 1, "func": 2, "tls": 6}
_BINDINGS = {"local": 0, "global": 1, "weak": 2}


def write_elf(sections: list[MadeSection], symbols: list[MadeSymbol], *, entry: int = 1) -> bytes:
    """The bytes of an executable 32-bit Arm ELF."""
    body = bytearray(52 + 32 * len(sections))
    headers = [bytes(40)]
    names = bytearray(b"\0")
    programs = []
    for section in sections:
        offset = len(body)
        body += section.data
        stored = section.load is not None
        flags = (
            0x2 | 0x1 * (not section.executable) | 0x4 * section.executable | 0x400 * section.tls
        )
        headers.append(struct.pack("<10I", len(names), 1 if stored else 8, flags, section.address,
                                   offset, section.bytes, 0, 0, 4, 0))  # fmt: skip
        names += section.name.encode() + b"\0"
        load = section.address if section.reserved is None else section.reserved
        load = section.load if stored else load
        if section.tls:
            continue
        file_size = len(section.data) if stored else 0
        programs.append(struct.pack("<8I", 1, offset, section.address, load, file_size,
                                    section.bytes, 7, 4))  # fmt: skip
    strings, table = bytearray(b"\0"), bytearray(16)
    for symbol in symbols:
        index = 0xFFF1 if symbol.section is None else symbol.section + 1
        info = _BINDINGS[symbol.binding] << 4 | _KINDS[symbol.kind]
        table += struct.pack("<IIIBBH", len(strings), symbol.value, symbol.size, info, 0, index)
        strings += symbol.name.encode() + b"\0"
    if symbols:
        link = len(sections) + 2
        for name, kind, content, linked, size in (
            (".symtab", 2, table, link, 16), (".strtab", 3, strings, 0, 0),
        ):  # fmt: skip
            headers.append(struct.pack("<10I", len(names), kind, 0, 0, len(body), len(content),
                                       linked, 0, 1, size))  # fmt: skip
            names += name.encode() + b"\0"
            body += content
    headers.append(struct.pack("<10I", len(names), 3, 0, 0, len(body), len(names) + 10, 0, 0, 1, 0))
    names += b".shstrtab\0"
    body += names
    section_table = len(body)
    body += b"".join(headers)
    body[:52] = struct.pack("<16sHHIIIIIHHHHHH", b"\x7fELF\1\1\1" + bytes(9), 2, 40, 1, entry, 52,
                            section_table, 0x5000400, 52, 32, len(programs), 40, len(headers),
                            len(headers) - 1)  # fmt: skip
    body[52 : 52 + 32 * len(programs)] = b"".join(programs)
    return bytes(body)
