"""What a Thumb instruction accesses and from which registers, by the registers before it.

UsageFaults do not report an address. Source: Armv8-M Architecture Reference Manual (DDI 0553),
section C2.4, the encodings named below. Tests compare this decoder with capstone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

_SP, _LR, _PC = 13, 14, 15
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


@dataclass(frozen=True)
class Transfer:
    """A load or store: ``words`` are register -> address, of words in core registers."""

    loads: bool
    base: int  # the register from which the addresses are formed
    indexed: bool  # another register is added to it
    words: Mapping[int, int]


def transferred(code: bytes, registers: Sequence[int]) -> Transfer | None:
    """What the instruction at the start of ``code`` transfers; None if it accesses no memory.

    ``registers`` are r0 to r12, sp, lr and pc before it.
    """
    first, second = (int.from_bytes(code[at : at + 2], "little") for at in (0, 2))
    start = accessed(code, registers)
    if start is None:
        return None
    narrow = first >> 11 < 0x1D
    loads, base, numbers = _narrow_form(first) if narrow else _wide_form(first, second)
    words = {number: start + 4 * at & 0xFFFF_FFFF for at, number in enumerate(numbers)}
    by_index = first & 0xFE80 == 0xF800 and not second & 0x0800 and base != _PC
    indexed = first >> 12 == 0x5 if narrow else by_index
    return Transfer(loads, base, indexed, words)


def _narrow_form(first: int) -> tuple[bool, int, Sequence[int]]:
    """Whether it loads, the base register, and registers of words by rising addresses."""
    low, loads = first >> 3 & 7, bool(first & 0x800)
    match first >> 12:
        case 0x6:
            return loads, low, (first & 7,)
        case 0x5:  # register offset: STR, STRH, STRB, LDRSB, LDR, LDRH, LDRB, LDRSH
            kind = first >> 9 & 7
            return kind > 2, low, (first & 7,) if kind in (0, 4) else ()
        case 0x9:
            return loads, _SP, (first >> 8 & 7,)
        case 0x4:
            return True, _PC, (first >> 8 & 7,)
        case 0xC:
            return loads, first >> 8 & 7, _listed(first & 0xFF)
        case 0xB:
            extra = first >> 8 & 1
            return loads, _SP, _listed(first & 0xFF | extra << (_PC if loads else _LR))
    return loads, low, ()


def _wide_form(first: int, second: int) -> tuple[bool, int, Sequence[int]]:
    base, loads = first & 15, bool(first & 0x10)
    if first & 0xFE40 == 0xE840 and first & 0x120:  # LDRD, STRD
        return loads, base, (second >> 12, second >> 8 & 15)
    if first & 0xFE40 == 0xE800:  # LDM, STM
        return loads, base, _listed(second)
    if first & 0xFF60 == 0xF840:  # LDR, STR
        return loads, base, (second >> 12,)
    return loads, base, ()


def _listed(bits: int) -> Sequence[int]:
    return tuple(number for number in range(16) if bits >> number & 1)


def sources(code: bytes) -> tuple[int, ...]:
    """The registers from which a move, an addition or a subtraction computes its result."""
    first, second = (int.from_bytes(code[at : at + 2], "little") for at in (0, 2))
    low = first >> 3 & 7
    if first >> 11 >= 0x1D:
        if first & 0xFFEF == 0xEA4F:  # MOV
            return (second & 15,)
        if first & 0xFFC0 in (0xEB00, 0xEB80):  # ADD, SUB of a register
            return first & 15, second & 15
        immediate = first & 0xFBE0 in (0xF100, 0xF1A0) or first & 0xFBF0 in (0xF200, 0xF2A0)
        return (first & 15,) if immediate and not second & 0x8000 else ()  # ADD, SUB
    match first >> 11:
        case 0x0:
            return (low,)
        case 0x3:
            return (low,) if first & 0x400 else (low, first >> 6 & 7)
        case 0x6 | 0x7:
            return (first >> 8 & 7,)
        case 0x8 if first >> 8 in (0x44, 0x46):
            return (first & 7 | first >> 4 & 8, first >> 3 & 15)[first >> 9 & 1 :]
        case 0x15:
            return (_SP,)
    return ()


def is_store(code: bytes) -> bool:
    """Whether an instruction stores (the L bit of its encoding is 0; Armv8-M ARM, C2.2)."""
    first = int.from_bytes(code[:2], "little")
    if first >> 11 < 0x1D:
        if first >> 12 == 0x5:  # register offset: STR, STRH, STRB
            return first >> 9 & 7 < 3
        return not first & 0x800 and first >> 12 in (0x6, 0x7, 0x8, 0x9, 0xC)
    return not first & 0x10 and first >> 9 & 0x7F in (0x74, 0x76, 0x7C)
