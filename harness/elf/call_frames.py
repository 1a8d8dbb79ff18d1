"""Unwinding rules of functions, from .debug_frame, .ARM.exidx, or the prologue.

Sources: DWARF 5, section 6.4; Exception Handling ABI for the Arm Architecture (EHABI32), sections 6
and 10.3; DWARF for the Arm Architecture (AADWARF32), section 4.1, for register numbers. A garbled
table gives no rule.
"""

from __future__ import annotations

import io
import struct
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from elftools.common.exceptions import DWARFError, ELFError
from elftools.construct import ConstructError
from elftools.dwarf.callframe import FDE, CallFrameInfo
from elftools.dwarf.structs import DWARFStructs

from harness.elf import prologue
from harness.elf.image import Image

SP, LR, PC = 13, 14, 15
#: Most table rows, or bytes of unwinding instructions, that one function may have.
_MOST_ROWS = 4096
#: Exceptions of pyelftools and struct for a garbled table.
_BROKEN = (ELFError, DWARFError, ConstructError, ValueError, KeyError, IndexError, TypeError,
           AttributeError, OverflowError, AssertionError, struct.error)  # fmt: skip
#: EHABI32, section 5: EXIDX_CANTUNWIND, and the flag of a compact model's word.
_CANTUNWIND, _COMPACT = 1, 1 << 31
#: The unwinding instruction that ends the others.
_FINISH = 0xB0


@dataclass(frozen=True)
class FrameRule:
    """The canonical frame address (CFA) is a register's value plus ``offset`` bytes.

    ``saved``: the place of the caller's value of a register, in bytes from the CFA. ``ends``: the
    function has no caller. ``source``: "debug_frame", "exidx" or "prologue" (a guess).
    """

    register: int
    offset: int
    saved: dict[int, int] = field(default_factory=dict)
    ends: bool = False
    source: str = ""


class CallFrames:
    """The call frames of one image."""

    def __init__(self, image: Image) -> None:
        self._image = image

    def rule(self, pc: int, *, called: bool) -> FrameRule | None:
        """The rule that unwinds the function at ``pc``; None if none is known.

        ``called``: ``pc`` is at a call; .ARM.exidx is valid only there. A function that has called
        another one has saved lr; a table without its place (naked functions) is ignored.
        """
        found = self._by_debug_frame(pc)
        if called and not _returns(found):
            found = self._by_index(pc)
            found = found if _returns(found) else None
        return found or self._by_prologue(pc)

    # .debug_frame

    @cached_property
    def _descriptions(self) -> tuple[list[int], list[FDE]]:
        data = self._image.debug_section("frame")
        structs = DWARFStructs(little_endian=True, dwarf_format=32, address_size=4)
        try:
            entries = CallFrameInfo(io.BytesIO(data), len(data), 0, structs).get_entries()
            found = [entry for entry in entries if isinstance(entry, FDE)]
            found.sort(key=lambda entry: entry.header["initial_location"])
        except _BROKEN:
            return [], []
        return [entry.header["initial_location"] for entry in found], found

    def _by_debug_frame(self, pc: int) -> FrameRule | None:
        starts, descriptions = self._descriptions
        index = bisect_right(starts, pc) - 1
        if index < 0:
            return None
        entry = descriptions[index]
        if pc >= starts[index] + entry.header["address_range"]:
            return None
        try:
            return _rule_of(entry.get_decoded().table[:_MOST_ROWS], pc)
        except _BROKEN:
            return None

    # .ARM.exidx

    @cached_property
    def _index(self) -> tuple[list[int], list[int]]:
        """The functions' start addresses, and the addresses of their entries' second words."""
        for section in self._image.sections:
            if section.name == ".ARM.exidx":
                words = sorted(
                    (_prel31(section.data, at, section.address), section.address + at + 4)
                    for at in range(0, len(section.data) - 7, 8)
                )
                return [start for start, _ in words], [word for _, word in words]
        return [], []

    def _by_index(self, pc: int) -> FrameRule | None:
        starts, words = self._index
        index = bisect_right(starts, pc) - 1
        if index < 0:
            return None
        code = self._instructions(words[index])
        return None if code is None else execute(code)

    def _instructions(self, at: int) -> bytes | None:
        """The unwinding instructions of the index entry whose second word is at ``at``."""
        word = self._word(at)
        if word is None or word == _CANTUNWIND:
            return None
        if word & _COMPACT:
            return word.to_bytes(4, "big")[1:] if not word >> 24 & 0x7F else None
        table = _prel31(word.to_bytes(4, "little"), 0, at)
        first = self._word(table)
        if first is None:
            return None
        if not first & _COMPACT:  # a personality routine of its own; GNU's C++ tables follow
            table += 4
            first = self._word(table)
            if first is None:
                return None
            more, head = first >> 24, 1
        else:
            model = first >> 24 & 0xF
            if model > 2:
                return None
            more, head = (0, 1) if model == 0 else (first >> 16 & 0xFF, 2)
        code = first.to_bytes(4, "big")[head:]
        for number in range(1, more + 1):
            word = self._word(table + 4 * number)
            if word is None:
                return None
            code += word.to_bytes(4, "big")
        return code

    def _word(self, address: int) -> int | None:
        data = self._image.read(address, 4)
        return None if data is None else int.from_bytes(data, "little")

    # the prologue

    def _by_prologue(self, pc: int) -> FrameRule | None:
        location = self._image.locate(pc)
        if not location.function:
            return None
        start = pc - location.offset
        code = self._image.read(start, min(location.offset, prologue.LONGEST) & ~1)
        if code is None:
            return None
        depth, saved, frame = prologue.read(code)
        if frame is not None:
            return FrameRule(frame[0], depth - frame[1], _from_cfa(saved), source="prologue")
        return FrameRule(SP, depth, _from_cfa(saved), source="prologue")


def _returns(rule: FrameRule | None) -> bool:
    """Whether a rule has the return address of a function that has called another one."""
    return rule is not None and (rule.ends or LR in rule.saved)


def _from_cfa(saved: dict[int, int]) -> dict[int, int]:
    return {register: -depth for register, depth in saved.items()}


def _prel31(data: bytes, at: int, base: int) -> int:
    """The address that the 31-bit relative offset at ``at`` names."""
    offset = int(struct.unpack_from("<I", data, at)[0]) & 0x7FFF_FFFF
    return (base + at + (offset ^ 1 << 30) - (1 << 30)) & 0xFFFF_FFFF


def _rule_of(rows: list[dict[Any, Any]], pc: int) -> FrameRule | None:
    """The rule of the last of ``rows`` (a decoded FDE) that begins at or before ``pc``."""
    row = next((row for row in reversed(rows) if int(row["pc"]) <= pc), None)
    if row is None:
        return None
    cfa = row["cfa"]
    register, offset = getattr(cfa, "reg", None), getattr(cfa, "offset", None)
    if register is None or offset is None or not 0 <= register < PC:
        return None
    saved, ends = {}, False
    for number, rule in row.items():
        if not isinstance(number, int):
            continue
        kind = getattr(rule, "type", "")
        if kind == "OFFSET" and 0 <= number <= PC:
            saved[number] = int(rule.arg)
        elif kind == "UNDEFINED" and number == LR:
            ends = True
    return FrameRule(register, offset, saved, ends, "debug_frame")


def execute(code: bytes) -> FrameRule | None:  # noqa: PLR0912 - one for each instruction
    """The rule of unwinding instructions (EHABI32, section 10.3); None if they refuse to unwind.

    ``vsp`` starts as ``sp``, or as the register that an instruction names; its last value is the
    CFA.
    """
    base, vsp = SP, 0
    saved: dict[int, int] = {}  # register -> its place, in bytes from `base`
    stream = iter(code[:_MOST_ROWS])
    try:
        for byte in stream:
            if byte == _FINISH:
                break
            if byte < 0x80:
                step = ((byte & 0x3F) << 2) + 4
                vsp += -step if byte & 0x40 else step
            elif byte < 0x90:
                mask = (byte & 0xF) << 8 | next(stream)
                if not mask:
                    return None
                vsp = _pop(saved, vsp, [4 + n for n in range(12) if mask >> n & 1])
                if mask >> (SP - 4) & 1:
                    return None
            elif byte < 0xA0:
                if byte & 0xF in (SP, PC) or saved:
                    return None
                base, vsp = byte & 0xF, 0
            elif byte < 0xB0:
                registers = list(range(4, 5 + (byte & 7))) + [LR] * (byte >> 3 & 1)
                vsp = _pop(saved, vsp, registers)
            elif byte == 0xB1:
                mask = next(stream)
                if not 0 < mask < 16:
                    return None
                vsp = _pop(saved, vsp, [n for n in range(4) if mask >> n & 1])
            elif byte == 0xB2:
                vsp += 0x204 + (_uleb128(stream) << 2)
            elif byte == 0xB4:  # the return address' authentication code
                vsp += 4
            else:
                size = _floating(byte, stream)
                if size is None:
                    return None
                vsp += size
    except StopIteration:
        return None
    if PC in saved:
        saved[LR] = saved.pop(PC)
    from_cfa = {register: place - vsp for register, place in saved.items()}
    return FrameRule(base, vsp, from_cfa, source="exidx")


def _pop(saved: dict[int, int], vsp: int, registers: list[int]) -> int:
    for register in registers:
        saved[register] = vsp
        vsp += 4
    return vsp


def _uleb128(stream: Iterator[int]) -> int:
    value = shift = 0
    for byte in stream:
        value |= (byte & 0x7F) << shift
        shift += 7
        if not byte & 0x80 or shift > 28:
            return value
    raise StopIteration


def _floating(byte: int, stream: Iterator[int]) -> int | None:
    """Bytes of floating-point registers that an instruction pops; None for a reserved one."""
    if byte == 0xB3:  # FSTMFDX has a word beside the registers
        return 8 * ((next(stream) & 0xF) + 1) + 4
    if 0xB8 <= byte < 0xC0:
        return 8 * ((byte & 7) + 1) + 4
    if byte in (0xC8, 0xC9):
        return 8 * ((next(stream) & 0xF) + 1)
    if 0xD0 <= byte < 0xD8:
        return 8 * ((byte & 7) + 1)
    return None
