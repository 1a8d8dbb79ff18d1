"""A scan of memory for resolvers, by the form of their registrations and tables.

Zeroed memory looks like a registration of ADD (builtin 0). So ``invoke`` must be a Thumb address in
the image's code, and each other function must be such an address or null.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile

from harness.elf import Image
from harness.elf.regions import RAM
from harness.footprint.resolver_layout import ResolverLayout, known_layouts
from harness.model.schema import OPERATOR_NAMES
from harness.model.structures import WORD

CUSTOM = OPERATOR_NAMES.index("CUSTOM")
#: Most slots of a resolver; the schema has about 200 operators.
_MOST_SLOTS = 1024
_FUNCTIONS = ("init", "free", "prepare", "reset")


class Ranges:
    """The address ranges of an image's code, and of all that it stores in flash."""

    def __init__(self, image: Image) -> None:
        self.stored = [
            (s.address, s.address + len(s.data))
            for s in image.segments
            if s.data and s.address not in RAM
        ]
        executable = [(s.address, s.end) for s in image.sections if s.executable and s.loaded]
        self.code = executable or self.stored

    def is_code(self, word: int) -> bool:
        """True for a function pointer: a Thumb address in executable memory."""
        return bool(word & 1) and any(start <= word < end for start, end in self.code)

    def is_stored(self, address: int) -> bool:
        """True for the address of a byte that the image stores in flash."""
        return any(start <= address < end for start, end in self.stored)


def words_in(data: bytes) -> Sequence[int]:
    """The words of ``data``; an incomplete last one is left out."""
    return memoryview(data)[: len(data) // WORD * WORD].cast("I")


def words_of(layout: ResolverLayout, row: bytes) -> dict[str, int]:
    """The fields of a registration."""
    return {name: _number(row, at) for name, at in layout.fields.items()}


def is_registration(layout: ResolverLayout, ranges: Ranges, row: bytes) -> bool:
    """True for a row that tflite-micro could have registered."""
    if len(row) < layout.registration_bytes:
        return False
    words = words_of(layout, row)
    functions = (words.get(name, 0) for name in _FUNCTIONS)
    if not ranges.is_code(words["invoke"]):
        return False
    if not all(word == 0 or ranges.is_code(word) for word in functions):
        return False
    code, name = words["builtin_code"], words["custom_name"]
    if code == CUSTOM:
        return ranges.is_stored(name)
    return code < len(OPERATOR_NAMES) and (name == 0 or ranges.is_stored(name))


@dataclass(frozen=True)
class FoundTable:
    """A resolver that was found: address, layout, number of slots and filled rows."""

    address: int
    layout: ResolverLayout
    slots: int
    rows: tuple[bytes, ...]


def tables(image: Image, ranges: Ranges, origin: int, data: bytes) -> Iterator[FoundTable]:
    """The resolvers in RAM ``data`` from ``origin`` on.

    A resolver is a vtable pointer, the slots of registrations, their count, their builtin codes and
    their parsers; unused elements are 0. All of these must agree. (An object on a stack is not
    found if old data is in its unused slots.)
    """
    for index, word in enumerate(words_in(data)):
        if word and _is_vtable(image, ranges, word):
            found = table_at(ranges, origin, data, index * WORD)
            if found is not None:
                yield found


def _is_vtable(image: Image, ranges: Ranges, word: int) -> bool:
    if word % WORD or not ranges.is_stored(word):
        return False
    first = image.read(word, WORD)
    return first is not None and ranges.is_code(int.from_bytes(first, "little"))


def table_at(ranges: Ranges, origin: int, data: bytes, at: int) -> FoundTable | None:
    """The resolver at offset ``at`` of ``data``, which lies at ``origin``; None if none is."""
    for layout in known_layouts():
        table = data[at + layout.registrations_at :]
        rows = _rows(layout, ranges, table)
        slots = _slots(layout, ranges, table, rows) if rows else 0
        if slots:
            return FoundTable(origin + at, layout, slots, rows)
    return None


def _rows(layout: ResolverLayout, ranges: Ranges, data: bytes) -> tuple[bytes, ...]:
    """The registrations at the beginning of ``data``."""
    size = layout.registration_bytes
    places = range(0, _MOST_SLOTS * size, size)
    rows = (data[at : at + size] for at in places)
    return tuple(takewhile(lambda row: is_registration(layout, ranges, row), rows))


def _slots(layout: ResolverLayout, ranges: Ranges, data: bytes, rows: Sequence[bytes]) -> int:
    """The number of slots that agrees with the bytes after them, 0 for none."""
    size = layout.registration_bytes
    for slots in range(len(rows), _MOST_SLOTS + 1):
        at = slots * size
        if slots > len(rows) and any(data[at - size : at]):
            return 0
        if _number(data, at) == len(rows) and _agrees(
            layout, ranges, data[at + WORD :], slots, rows
        ):
            return slots
    return 0


def _agrees(
    layout: ResolverLayout, ranges: Ranges, data: bytes, slots: int, rows: Sequence[bytes]
) -> bool:
    """True if ``data`` has the builtin codes and parsers of ``rows``, their number, and zeros."""
    if not has_codes(layout, ranges, data, slots, rows):
        return False
    number, width = len(_builtins(layout, rows)), layout.code_bytes
    parsers = _parsers_at(layout, slots)
    unused = data[number * width : slots * width]
    return not any(unused + data[parsers + number * WORD : parsers + slots * WORD])


def has_codes(
    layout: ResolverLayout, ranges: Ranges, data: bytes, slots: int, rows: Sequence[bytes]
) -> bool:
    """True if ``data``, behind the count of ``rows``, has their builtin codes and parsers."""
    builtins, width = _builtins(layout, rows), layout.code_bytes
    number, parsers = len(builtins), _parsers_at(layout, slots)
    return (
        len(data) >= parsers + (slots + 1) * WORD
        and _number(data, parsers + slots * WORD) == number
        and [_number(data, i * width, width) for i in range(number)] == builtins
        and all(ranges.is_code(_number(data, parsers + i * WORD)) for i in range(number))
    )


def _builtins(layout: ResolverLayout, rows: Sequence[bytes]) -> list[int]:
    """The codes of ``rows`` that are no custom operators."""
    codes = (words_of(layout, row)["builtin_code"] for row in rows)
    return [code for code in codes if code != CUSTOM]


def _parsers_at(layout: ResolverLayout, slots: int) -> int:
    """The offset of the parsers behind the builtin codes."""
    return -(-slots * layout.code_bytes // WORD) * WORD


def _number(data: bytes, at: int, size: int = WORD) -> int:
    return int.from_bytes(data[at : at + size], "little")
