"""Which mistake of an application makes values differ: each is undone in a run of its own.

A mistake is named if the case passes with it undone. Constant arrays are tried as numbers of the
other byte order or signedness, and as read one element or row too far or too early; bytes as read
with the other sign; functions without C source as taking floats in core registers; initialised
variables as not overwritten.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, islice

import numpy as np

from harness.case.further_runs import what_if_code
from harness.case.further_runs.trials import Change, Trials, is_short
from harness.case.prepare import Prepared
from harness.case.result import CaseResult
from harness.elf import Image
from harness.elf.dwarf.entries import Entry
from harness.elf.dwarf.format import At, Tag
from harness.model.schema import IDENTIFIER
from harness.reference.patterns import LEAST
from harness.targets.opening import Targets
from harness.targets.session import Session
from harness.targets.simulator import SimulatorSession

#: Arrays that are tried, the application's own first; their size in bytes.
_MOST_ARRAYS, _SMALLEST, _LARGEST = 16, 4, 64 << 10
#: Types of their elements.
_KINDS = (Tag.BASE_TYPE, Tag.POINTER_TYPE, Tag.STRUCTURE_TYPE)
#: Instructions of all runs together.
_MOST_INSTRUCTIONS = 200_000_000
#: Bytes of a variable that is tried.
_LARGEST_VARIABLE = 1 << 10
#: DW_ATE_unsigned and DW_ATE_unsigned_char: on Arm plain char is one.
_UNSIGNED = (7, 8)


@dataclass(frozen=True)
class UndoneMistake:
    """A mistake of the application, and what shows it."""

    text: str
    evidence: str


@dataclass(frozen=True)
class _Array:
    """A constant array: where its bytes are stored, and what they are."""

    name: str
    address: int
    stored: int
    data: bytes
    item: int  # bytes of an element
    row: int  # bytes of what the outermost index selects
    whole: bool  # its elements are pointers or structures, and not numbers
    signs: str  # how bytes are read; "" for other numbers


def mistake(prepared: Prepared, result: CaseResult, targets: Targets) -> UndoneMistake | None:
    """The mistake without which the case passes; None if none of those tried is it."""
    image, mismatch = prepared.image, result.mismatch
    if prepared.case.target != SimulatorSession.target or not is_short(result):
        return None
    if mismatch is None or result.mismatches < LEAST - 1:
        return None
    trials = Trials(prepared, targets).brief()
    most = _MOST_INSTRUCTIONS // (result.measures.total_instructions or 1)
    for text, change in islice(chain(_mistakes(image), _overwritten(image, trials)), most):
        changed = trials.run(change)
        if changed.passed:
            return UndoneMistake(text, "the case passes with that undone")
        if _only_last(result, changed) and "too far" in text:
            return UndoneMistake(text, "with that undone all values are right but those of the end")
    return None


def _only_last(result: CaseResult, changed: CaseResult) -> bool:
    """Whether ``changed`` has differences in the last row alone, where ``result`` has more.

    What was read too far comes from behind the array there, which is not moved.
    """
    before, after = result.mismatch, changed.mismatch
    if before is None or after is None or changed.mismatches >= result.mismatches:
        return False
    return after.rows == (after.last_row,) and len(before.rows) >= LEAST


def _mistakes(image: Image) -> Iterator[tuple[str, Change]]:
    for array in _arrays(image):
        if array.signs and max(array.data) > 127:  # before what often looks like it
            addresses = range(array.address, array.address + len(array.data))
            yield f"{array.name} {array.signs}", what_if_code.otherwise_signed(image, addresses)
        for text, data in _other_contents(array):
            yield f"{array.name} {text}", _stores(array.stored, data)
    for name, address in what_if_code.functions_with_floats(image):
        text = f"{name}() takes floats in core registers (softfp), its callers pass them in s0"
        yield text, what_if_code.core_registers(address)


def _overwritten(image: Image, trials: Trials) -> Iterator[tuple[str, Change]]:
    """Initialised variables that the run stores to, each as if it were not."""
    candidates = {}
    for address in image.variables.entries:
        for name, begin, size in image.variables.numbers(address):
            data, stored = _stored(image, begin, size)
            if any(data) and stored != begin and size <= _LARGEST_VARIABLE:
                candidates[begin] = name, data
    found: dict[int, int] = {}
    ranges = [range(begin, begin + len(data)) for begin, (_, data) in candidates.items()]
    trials.run(what_if_code.writers(image, ranges, found))
    for begin, place in found.items():
        name, data = candidates[begin]
        text = f"{name} is overwritten in {image.locate(place)}"
        yield text, what_if_code.kept(begin, data)


def _stores(address: int, data: bytes) -> Change:
    def change(session: Session) -> None:
        session.memory.write(address, data)

    return change


def _other_contents(array: _Array) -> Iterator[tuple[str, bytes]]:
    """What an array would hold if one mistake in reading it were none."""
    data, steps = array.data, {"element": array.item}
    if array.row > array.item:
        steps["row"] = array.row
    for name, size in steps.items():
        yield f"is read one {name} too far", data[:size] + data[:-size]
        yield f"is read one {name} too early", data[size:] + data[-size:]
    if array.whole:
        return
    for size in (2, 4):
        if array.item in (1, size) and len(data) % size == 0:
            swapped = np.frombuffer(data, f"u{size}").byteswap().tobytes()
            yield f"has the bytes of its {8 * size}-bit numbers in the other order", swapped
    if array.item == 1:
        flipped = (np.frombuffer(data, np.uint8) ^ 0x80).tobytes()
        yield "is off by 128: signed bytes for unsigned ones, or the other way", flipped


def _arrays(image: Image) -> list[_Array]:
    variables = image.variables
    found = []
    for address, entry in variables.entries.items():
        kind, extents = variables.type_of(address), variables.dimensions(address)
        if kind is None or not extents or kind.tag not in _KINDS:
            continue
        item = kind.number(At.BYTE_SIZE) or 4
        size = item * math.prod(extents)
        data, stored = _stored(image, address, size) if _SMALLEST <= size <= _LARGEST else (b"", 0)
        if not data or data[4:8] == IDENTIFIER or len(set(data)) == 1:
            continue
        whole = kind.tag != Tag.BASE_TYPE
        signs = _signs(variables.dwarf_name(kind), kind) if item == 1 else ""
        found.append(_Array(variables.dwarf_name(entry), address, stored, data, item,
                            size // extents[0], whole, signs))  # fmt: skip
    main = image.symbol("main")
    own = f"/{image.locate(main.address).file}" if main is not None else ""
    found.sort(key=lambda one: not variables.declared_in(one.address).endswith(own))
    return found[:_MOST_ARRAYS]


def _signs(name: str, kind: Entry) -> str:
    """How bytes of a type are read."""
    unsigned = kind.number(At.ENCODING) in _UNSIGNED
    if name == "char" and unsigned:
        return "is plain char, which is unsigned on Arm: -1 is read as 255"
    return "is read as unsigned: -1 as 255" if unsigned else "is read as signed: 255 as -1"


def _stored(image: Image, address: int, size: int) -> tuple[bytes, int]:
    """Bytes at ``address`` once start-up code has run, and where they are stored before."""
    for segment in image.loaded:
        at = address - segment.address
        if at >= 0 and at + size <= len(segment.data):
            return bytes(segment.data[at : at + size]), segment.load_address + at
    return b"", 0
