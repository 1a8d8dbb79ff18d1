"""The references of a Thumb-2 function: branches out of it and addresses that it loads.

Only the few encodings that form addresses are decoded: a whole image takes tens of milliseconds,
with a full disassembler seconds. Tests compare this decoder with capstone.

Source: Armv8-M Architecture Reference Manual (DDI 0553), section C2.4, the encodings named below.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

#: The top five bits of 16-bit encodings that form addresses: LDR literal, ADR, B T1 (two), B T2.
_NARROW = frozenset((0x4800, 0xA000, 0xD000, 0xD800, 0xE000))


class ReferenceKind(StrEnum):
    """How a reference is formed."""

    CALL = "call"  # BL, BLX immediate
    BRANCH = "branch"  # B, conditional or not
    LITERAL = "literal"  # a word loaded from a literal pool
    CONSTANT = "constant"  # MOVW and MOVT
    ADDRESS = "address"  # ADR


@dataclass(frozen=True)
class CodeReference:
    """An address that an instruction refers to; ``at`` is the instruction's own address."""

    at: int
    kind: ReferenceKind
    target: int


def instruction_length(first: int) -> int:
    """Bytes of the Thumb instruction whose first halfword is ``first`` (Armv8-M ARM, C2.1)."""
    return 4 if first >> 11 >= 0x1D else 2


def instructions(code: bytes) -> Iterator[tuple[int, int, int]]:
    """Offset, first and second halfword of each instruction; ``second`` is 0 behind a short one."""
    at = 0
    while at + 2 <= len(code):
        first = int.from_bytes(code[at : at + 2], "little")
        length = instruction_length(first)
        if at + length > len(code):
            return
        yield at, first, int.from_bytes(code[at + 2 : at + length], "little")
        at += length


def without_literals(code: bytes, address: int) -> Iterator[tuple[int, int, int]]:
    """Like :func:`instructions`, without the words that those before them load relative to pc.

    ``code`` runs at ``address``.
    """
    decoder = _Decoder(code, address)
    at = 0
    while at + 2 <= len(code):
        if at in decoder.pool:
            at += 4
            continue
        first = int.from_bytes(code[at : at + 2], "little")
        length = instruction_length(first)
        if at + length > len(code):
            return
        second = int.from_bytes(code[at + 2 : at + length], "little")
        for _ in decoder.narrow(at, first) if length == 2 else decoder.wide(at, first, second):
            pass  # the decoder notes the words that are loaded
        yield at, first, second
        at += length


def references(
    code: bytes, address: int, data_ranges: Sequence[tuple[int, int]] = ()
) -> Iterator[CodeReference]:
    """All references of the instructions in ``code``, which runs at ``address``.

    ``data_ranges`` are sorted (start, end) addresses of data (literal pools and jump tables, from
    the image's mapping symbols). Words that an instruction loads relative to pc are data, too, and
    are skipped. Branch targets are even; literals and constants are 32-bit values, with the Thumb
    bit of function pointers.
    """
    decoder = _Decoder(code, address)
    gaps = [(max(start - address, 0), end - address) for start, end in data_ranges]
    gap = at = 0
    while at + 2 <= len(code):
        while gap < len(gaps) and gaps[gap][1] <= at:
            gap += 1
        if gap < len(gaps) and gaps[gap][0] <= at:
            at = gaps[gap][1]
        elif at in decoder.pool:
            at += 4
        else:
            first = code[at] | code[at + 1] << 8
            if first < 0xE800:
                if first & 0xF800 in _NARROW:
                    yield from decoder.narrow(at, first)
                at += 2
            else:
                if at + 4 <= len(code):
                    yield from decoder.wide(at, first, code[at + 2] | code[at + 3] << 8)
                at += 4


def returned_constant(code: bytes) -> int | None:
    """The constant that a function returns in r0; None if it does not only move registers.

    Prologue and epilogue are followed; a branch, a load or a store gives None.
    """
    values: dict[int, int | None] = {}
    words = [int.from_bytes(code[at : at + 2], "little") for at in range(0, len(code) - 1, 2)]
    queue = iter(words)
    for word in queue:
        if word == 0x4770 or word & 0xFF00 == 0xBD00:  # BX lr; POP {..., pc}
            return None if word & 1 else values.get(0)
        if word & 0xF800 == 0x2000:  # MOVS Rd, #imm8
            values[word >> 8 & 7] = word & 0xFF
        elif word & 0xFFC0 == 0x0000:  # MOVS Rd, Rm
            values[word & 7] = values.get(word >> 3 & 7)
        elif word & 0xFF00 == 0x4600 and word & 0x87 != 0x87:  # MOV Rd, Rm; not a branch
            values[word & 7 | word >> 4 & 8] = values.get(word >> 3 & 15)
        elif word == 0xF04F:  # MOV.W Rd, #imm8
            second = next(queue, 0x7000)
            if second & 0x7000:
                return None
            values[second >> 8 & 15] = second & 0xFF
        elif word == 0xF85D and (second := next(queue, 0)) & 0x0FFF == 0x0B04:  # POP {Rt}
            values[second >> 12] = None
        elif word & 0xFF00 == 0xBC00:  # POP {...}
            values.update(dict.fromkeys((n for n in range(8) if word >> n & 1), None))
        elif word & 0xF800 == 0xA800:  # ADD Rd, SP, #imm
            values[word >> 8 & 7] = None
        elif word != 0xBF00 and word & 0xFF00 not in (0xB000, 0xB400, 0xB500):  # NOP, SP, PUSH
            return None
    return None


class _Decoder:
    """One pass over a function: its literals and the halves of addresses found so far."""

    def __init__(self, code: bytes, address: int) -> None:
        self.code = code
        self.address = address
        self.pool: set[int] = set()  # offsets of words known to be literals
        self.low: dict[int, int] = {}  # register -> low half from a MOVW

    def narrow(self, at: int, first: int) -> Iterator[CodeReference]:
        """A 16-bit instruction at offset ``at``."""
        here = self.address + at
        op = first & 0xF800
        if op == 0x4800:  # LDR (literal) T1
            yield from self._loaded(here, _aligned(here) + (first & 0xFF) * 4)
        elif op == 0xA000:  # ADR T1
            yield CodeReference(
                here, ReferenceKind.ADDRESS, _aligned(here) + (first & 0xFF) * 4 & 0xFFFFFFFF
            )
        elif op == 0xE000:  # B T2
            yield _branch_to(here, ReferenceKind.BRANCH, (first & 0x7FF) << 1, 12)
        elif first & 0x0F00 < 0x0E00:  # B T1; the conditions 14 and 15 are UDF and SVC
            yield _branch_to(here, ReferenceKind.BRANCH, (first & 0xFF) << 1, 9)

    def wide(self, at: int, first: int, second: int) -> Iterator[CodeReference]:
        """A 32-bit instruction at offset ``at``."""
        here = self.address + at
        if second & 0x8000:
            if first & 0xF800 == 0xF000:
                yield from _branch(here, first, second)
        elif first & 0xFBF0 == 0xF240:  # MOVW T3
            self.low[second >> 8 & 15] = _immediate16(first, second)
        elif first & 0xFBF0 == 0xF2C0:  # MOVT T1
            low = self.low.get(second >> 8 & 15)
            if low is not None:
                yield CodeReference(
                    here, ReferenceKind.CONSTANT, _immediate16(first, second) << 16 | low
                )
        elif first & 0xFBFF in (0xF20F, 0xF2AF):  # ADR T3, T2
            offset = _immediate12(first, second) * (-1 if first & 0x00A0 == 0x00A0 else 1)
            yield CodeReference(here, ReferenceKind.ADDRESS, _aligned(here) + offset & 0xFFFFFFFF)
        yield from self._wide_load(here, first, second)

    def _wide_load(self, here: int, first: int, second: int) -> Iterator[CodeReference]:
        sign = 1 if first & 0x80 else -1
        if first & 0xFF7F == 0xF85F:  # LDR (literal) T2
            yield from self._loaded(here, _aligned(here) + sign * (second & 0xFFF))
        elif first & 0xFF7F == 0xE95F:  # LDRD (literal) T1
            place = _aligned(here) + sign * (second & 0xFF) * 4
            yield from self._loaded(here, place)
            yield from self._loaded(here, place + 4)
        elif first & 0xFF3F == 0xED1F and second & 0x0E00 == 0x0A00:  # VLDR (literal)
            start = _aligned(here) + sign * (second & 0xFF) * 4 - self.address
            self.pool.update((start, start + 4) if second & 0x0100 else (start,))

    def _loaded(self, here: int, place: int) -> Iterator[CodeReference]:
        start = place - self.address
        if 0 <= start <= len(self.code) - 4:
            self.pool.add(start)
            word = int.from_bytes(self.code[start : start + 4], "little")
            yield CodeReference(here, ReferenceKind.LITERAL, word)


def _branch(here: int, first: int, second: int) -> Iterator[CodeReference]:
    sign, j1, j2 = first >> 10 & 1, second >> 13 & 1, second >> 11 & 1
    if second & 0x1000:  # BL T1, B T4
        offset = sign << 24 | (~(j1 ^ sign) & 1) << 23 | (~(j2 ^ sign) & 1) << 22
        offset |= (first & 0x3FF) << 12 | (second & 0x7FF) << 1
        yield _branch_to(
            here, ReferenceKind.CALL if second & 0x4000 else ReferenceKind.BRANCH, offset, 25
        )
    elif not second & 0x4000 and first & 0x0380 != 0x0380:  # B T3
        offset = sign << 20 | j2 << 19 | j1 << 18 | (first & 0x3F) << 12 | (second & 0x7FF) << 1
        yield _branch_to(here, ReferenceKind.BRANCH, offset, 21)


def _branch_to(here: int, kind: ReferenceKind, offset: int, bits: int) -> CodeReference:
    signed = offset - (1 << bits) if offset >> (bits - 1) & 1 else offset
    return CodeReference(here, kind, here + 4 + signed & 0xFFFFFFFF)


def _aligned(here: int) -> int:
    return (here + 4) & ~3


def _immediate12(first: int, second: int) -> int:
    return (first & 0x0400) << 1 | (second & 0x7000) >> 4 | second & 0xFF


def _immediate16(first: int, second: int) -> int:
    return (first & 15) << 12 | _immediate12(first, second)
