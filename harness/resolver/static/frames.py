"""The extents of local variables in stack frames, from DWARF."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from harness.elf import Image
from harness.elf.dwarf.entries import Dwarf, Entry
from harness.elf.dwarf.format import At, Tag
from harness.elf.dwarf.leb import GARBLED, sleb
from harness.model.structures import WORD

_FRAME_BASE = 0x91  # DW_OP_fbreg
_BLOCKS = frozenset((Tag.NAMESPACE, Tag.CLASS_TYPE, Tag.STRUCTURE_TYPE))
_FUNCTIONS = frozenset((Tag.SUBPROGRAM,))
_VARIABLES = (Tag.VARIABLE, Tag.FORMAL_PARAMETER)
_SCOPES = (Tag.LEXICAL_BLOCK, Tag.INLINED_SUBROUTINE)
_POINTERS = (Tag.POINTER_TYPE, Tag.REFERENCE_TYPE)
_CLASSES = (Tag.CLASS_TYPE, Tag.STRUCTURE_TYPE)
_QUALIFIERS = (Tag.CONST_TYPE, Tag.VOLATILE_TYPE, Tag.TYPEDEF)
#: Most nested scopes, and longest chain of types, that are followed.
_DEEPEST = 16


@dataclass(frozen=True)
class Parameters:
    """The parameters of a function, in words; ``variadic``: more may follow (``...``).

    ``objects`` are the sizes of classes to which pointers and references refer, by the index of the
    argument's word.
    """

    words: int
    variadic: bool
    objects: Mapping[int, int]


class Locals:
    """Spans of local variables: offsets from the stack pointer at the call (the CFA)."""

    def __init__(self, image: Image) -> None:
        self._dwarf: Dwarf = image.variables.dwarf
        self._spans: dict[int, list[tuple[int, int]]] = {}

    @cached_property
    def _functions(self) -> dict[int, Entry]:
        found: dict[int, Entry] = {}
        for unit in self._dwarf.units:
            for offset in self._dwarf.scan(unit, _FUNCTIONS, _BLOCKS):
                try:
                    entry = self._dwarf.entry(offset, unit)
                except GARBLED:
                    continue
                start = entry.number(At.LOW_PC)
                if start is not None:
                    found[start & ~1] = entry
        return found

    def around(self, function: int, offset: int) -> tuple[int, int] | None:
        """The extent of the variables at ``offset``, or of the gap between variables there.

        None if DWARF does not describe the function.
        """
        spans = self._spans_of(function)
        if not spans:
            return None
        here = [span for span in spans if span[0] <= offset < span[1]]
        if here:
            return min(start for start, _ in here), max(end for _, end in here)
        below = max((end for _, end in spans if end <= offset), default=None)
        above = min((start for start, _ in spans if start > offset), default=0)
        return None if below is None else (below, above)

    def parameters(self, function: int) -> Parameters | None:
        """The parameters of a function, None if DWARF does not have them."""
        entry = self._functions.get(function)
        if entry is None:
            return None
        words, variadic, objects = 0, False, {}
        try:
            for child in self._dwarf.children(entry):
                variadic |= child.tag == Tag.UNSPECIFIED_PARAMETERS
                if child.tag == Tag.FORMAL_PARAMETER:
                    size = self._size(child)
                    if not size:
                        return None
                    words = aligned(words, size)
                    objects[words] = self._pointee(child)
                    words += -(-size // WORD)
        except GARBLED:
            return None
        return Parameters(words, variadic, {at: size for at, size in objects.items() if size})

    def _pointee(self, variable: Entry) -> int:
        """Bytes of the class that a pointer or reference refers to, 0 for any other type."""
        kind = self._type(variable)
        if kind is None or kind.tag not in _POINTERS:
            return 0
        target = self._type(kind)
        return target.number(At.BYTE_SIZE) or 0 if target and target.tag in _CLASSES else 0

    def _type(self, entry: Entry) -> Entry | None:
        """The type of an entry without const, volatile and typedefs."""
        offset = self._dwarf.follow(entry, At.TYPE)
        for _ in range(_DEEPEST):
            if not isinstance(offset, int):
                return None
            kind = self._dwarf.entry(offset)
            if kind.tag not in _QUALIFIERS:
                return kind
            offset = kind.number(At.TYPE)
        return None

    def _spans_of(self, function: int) -> list[tuple[int, int]]:
        if function not in self._spans:
            entry = self._functions.get(function)
            try:
                spans = [] if entry is None else list(self._spans_in(entry, 0))
            except GARBLED:
                spans = []
            self._spans[function] = spans
        return self._spans[function]

    def _spans_in(self, scope: Entry, depth: int) -> Iterator[tuple[int, int]]:
        for child in self._dwarf.children(scope):
            if child.tag in _VARIABLES:
                location = child.value(At.LOCATION)
                if isinstance(location, bytes) and location[:1] == bytes((_FRAME_BASE,)):
                    start, end = sleb(location, 1)
                    size = self._size(child) if end == len(location) else 0
                    if size:
                        yield start, start + size
            elif child.tag in _SCOPES and depth < _DEEPEST:
                yield from self._spans_in(child, depth + 1)

    def _size(self, variable: Entry) -> int:
        """Bytes of a variable's type, 0 if DWARF does not have it."""
        offset = self._dwarf.follow(variable, At.TYPE)
        count = 1
        for _ in range(_DEEPEST):
            if not isinstance(offset, int):
                return 0
            kind = self._dwarf.entry(offset)
            size = kind.number(At.BYTE_SIZE)
            if size is not None:
                return size * count
            if kind.tag == Tag.ARRAY_TYPE:
                for subrange in self._dwarf.children(kind):
                    bound = subrange.number(At.UPPER_BOUND)
                    count *= subrange.number(At.COUNT) or (0 if bound is None else bound + 1)
            offset = kind.number(At.TYPE)
        return 0


def aligned(words: int, size: int) -> int:
    """The first word of an argument of ``size`` bytes after ``words`` words (AAPCS, 6.5)."""
    return words + (words & 1 if size == 2 * WORD else 0)
