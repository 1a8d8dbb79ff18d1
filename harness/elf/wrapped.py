"""A minimal ELF around bytes at addresses, so that a HEX or binary file can be an image."""

from __future__ import annotations

import struct
from collections.abc import Sequence

from harness.elf.hexfile import Block

#: Sizes of Elf32_Ehdr and Elf32_Phdr.
_EHDR, _PHDR = 52, 32
_EM_ARM, _ET_EXEC, _PT_LOAD = 40, 2, 1
_EABI5 = 0x0500_0000


def wrap(blocks: Sequence[Block]) -> bytes:
    """An ELF32 for Arm with one PT_LOAD per block; the entry point is the reset vector.

    Layout: System V ABI, chapter 4 (ELF header, program header), with e_flags of Arm's EABI.
    """
    vectors = next((data for address, data in blocks if address == 0), b"")
    entry = struct.unpack_from("<I", vectors, 4)[0] if len(vectors) >= 8 else 0
    header = b"\x7fELF" + bytes((1, 1, 1)) + bytes(9)
    header += struct.pack(
        "<HHIIIIIHHHHHH",
        *(_ET_EXEC, _EM_ARM, 1, entry, _EHDR, 0, _EABI5),
        *(_EHDR, _PHDR, len(blocks), 0, 0, 0),
    )
    offset = _EHDR + _PHDR * len(blocks)
    table = b""
    for address, data in blocks:
        size = len(data)
        table += struct.pack("<8I", _PT_LOAD, offset, address, address, size, size, 5, 4)
        offset += size
    return header + table + b"".join(data for _, data in blocks)
