"""The address that a Thumb load or store accesses, from the registers before it.

UsageFaults do not report an address. Source: Armv8-M Architecture Reference Manual (DDI 0553),
section C2.4, the encodings named below. Tests compare this decoder with capstone.
"""

from __future__ import annotations

from collections.abc import Sequence

_SP, _PC = 13, 15
#: Fixed bits and their value -> bits of the element size, of 16-bit loads and stores with an
#: immediate offset: LDR and STR (T1), LDRB and STRB, LDRH and STRH.
_NARROW = {0x6000: 2, 0x7000: 0, 0x8000: 1}


def accessed(code: bytes, registers: Sequence[int]) -> int | None:
    """The first address that the instruction at the start of ``code`` accesses.

    ``registers`` are r0 to r12, sp, lr and pc before it. None if it neither loads nor stores.
    """
    first, second = (int.from_bytes(code[at : at + 2], "little") for at in (0, 2))
    address = _narrow(first, registers) if first >> 11 < 0x1D else _wide(first, second, registers)
    return None if address is None else address & 0xFFFF_FFFF


def _narrow(first: int, r: Sequence[int]) -> int | None:
    low, offset = r[first >> 3 & 7], first >> 6 & 31
    if (size := _NARROW.get(first & 0xF000 & ~0x800)) is not None:
        return low + (offset << size)
    match first >> 12:
        case 0x5:  # register offset
            return low + r[first >> 6 & 7]
        case 0x9:  # LDR, STR relative to sp
            return r[_SP] + 4 * (first & 0xFF)
        case 0xC:  # LDM, STM
            return r[first >> 8 & 7]
        case 0x4 if first & 0x800:  # LDR literal
            return _literal(r) + 4 * (first & 0xFF)
        case 0xB if first & 0x0E00 == 0x0C00:  # POP
            return r[_SP]
        case 0xB if first & 0x0E00 == 0x0400:  # PUSH
            return r[_SP] - 4 * (first & 0x1FF).bit_count()
    return None


def _literal(r: Sequence[int]) -> int:
    return (r[_PC] + 4) & ~3


def _wide(first: int, second: int, r: Sequence[int]) -> int | None:
    base = r[first & 15] if first & 15 != _PC else _literal(r)
    offset = 4 * (second & 0xFF) * (1 if first & 0x80 else -1)
    before, writes_back = first & 0x100, first & 0x20
    if first & 0xFE40 == 0xE840:  # LDRD, STRD, LDREX, STREX; LDREXB and the like have no offset
        if before or writes_back:
            return base + offset if before else base
        return base + 4 * (second & 0xFF) if first & 0x80 == 0 else base
    if first & 0xFE40 == 0xE800:  # LDM, STM
        return base - 4 * second.bit_count() if before else base
    if first & 0xFE00 == 0xEC00 and second & 0x0E00 == 0x0A00:  # VLDR, VSTR; VLDM, VSTM
        if before and not writes_back:
            return base + offset
        return base + offset if before else base
    if first & 0xFE00 == 0xF800:
        return _single(first, second, base, r)
    return None


def _single(first: int, second: int, base: int, r: Sequence[int]) -> int:
    """LDR, STR and their kinds for bytes and halfwords, with an offset of 12 or 8 bits or none."""
    if first & 15 == _PC:
        return base + (second & 0xFFF) * (1 if first & 0x80 else -1)
    if first & 0x80:
        return base + (second & 0xFFF)
    if not second & 0x800:  # register offset
        return base + (r[second & 15] << (second >> 4 & 3))
    before, up = second & 0x400, second & 0x200
    return base + (second & 0xFF) * (1 if up else -1) if before else base
