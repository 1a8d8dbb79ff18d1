"""Resolver objects in the memory of a running image, decoded.

The class of an object is that of its vtable pointer. Without symbols, the table is known by its
form (:mod:`harness.resolver.scan`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import pairwise

from harness.base.errors import HilError
from harness.elf import Image
from harness.elf.demangle import qualified, short_name
from harness.elf.regions import RAM
from harness.footprint.resolver_layout import ResolverLayout, find_layout, known_layouts
from harness.model.schema import OPERATOR_NAMES, identified
from harness.model.structures import WORD
from harness.resolver.resolver import Registered, Resolver
from harness.resolver.scan import (
    CUSTOM,
    FoundTable,
    Ranges,
    has_codes,
    is_registration,
    table_at,
    tables,
    words_in,
    words_of,
)
from harness.targets.base import MemoryAccess

#: Bytes of RAM that are read at a time.
_CHUNK = 4096
#: Most bytes of a custom operator's name.
_LONGEST_NAME = 64
#: Functions of a vtable that are looked at.
_VIRTUALS = 12
#: Bytes before a model's root table in which its first byte is searched.
_ROOT_REACH = 4096
_SLOTS = re.compile(r"MicroMutableOpResolverILj(\d+)E")
#: FindOp(BuiltinOperator) and FindOp(const char*). Older revisions also have those of TensorFlow
#: Lite, with a version, which call them.
_FIND_BUILTIN = re.compile(r"6FindOpE(?:NS_|N6tflite)15BuiltinOperatorE(?:\.|$)")
_FIND_CUSTOM = re.compile(r"6FindOpEPKc(?:\.|$)")


class Tables:
    """Decodes resolvers in ``memory``, that of a session with ``image``."""

    def __init__(self, memory: MemoryAccess, image: Image) -> None:
        self._memory = memory
        self._image = image
        self.layout: ResolverLayout = find_layout(image)
        self._functions = {s.address & ~1: s.name for s in image.symbols if s.kind == "func"}
        self._ranges = Ranges(image)
        self._areas = [range(one.origin, one.end) for one in image.regions]
        self._areas += [range(one.origin, one.origin + one.size) for one in image.chip.areas]

    def peek(self, address: int, size: int) -> bytes:
        """``size`` bytes at ``address``, less what lies behind its memory; none without memory."""
        area = next((one for one in self._areas if address in one), None)
        if area is None:
            return b""
        try:
            return self._memory.read(address, min(size, area.stop - address))
        except HilError:
            return b""

    def word(self, address: int) -> int:
        """The word at ``address``; 0 where there is no memory."""
        return int.from_bytes(self.peek(address, WORD), "little")

    def found(self) -> tuple[Resolver, ...]:
        """All resolvers in RAM, by address: those of known classes, else by their form."""
        found = {resolver.address: resolver for resolver in self._by_vtable()}
        if not found or self.layout.source == "assumed":
            found = {resolver.address: resolver for resolver in self._by_form()} | found
        return tuple(found[address] for address in sorted(found))

    def at(self, address: int) -> Resolver | None:
        """The resolver at ``address``; None if its table cannot be read (another class)."""
        found = self._finders(self.word(address))
        if None in found:
            return None  # the application finds operators its own way
        if found:
            return self._object(address, found[0] or 0)
        data = self.peek(address, _CHUNK)
        table = table_at(self._ranges, address, data, 0) if data else None
        return None if table is None else self._formed(table)

    def lengths(self) -> dict[int, int]:
        """The number of registrations in each resolver of a known class in RAM, by its address."""
        found = ((at, self._table(at, slots)) for at, slots in self._objects())
        return {
            at: len(table[1])
            for at, table in found
            if table is not None and self._is_one(at, len(table[1]))
        }

    def _finders(self, vtable: int) -> list[int | None]:
        """The slots of the classes whose FindOp a vtable has; None for the application's own."""
        names = self.virtuals(vtable).values()
        classes = (
            _SLOTS.search(name)
            for name in names
            if _FIND_BUILTIN.search(name) or _FIND_CUSTOM.search(name)
        )
        return [None if one is None else int(one[1]) for one in classes]

    def virtuals(self, vtable: int) -> dict[int, str]:
        """The functions of a vtable by their addresses, with their linker names, "" if none."""
        if not vtable or not self._ranges.is_stored(vtable):
            return {}
        entries = words_in(self.peek(vtable, _VIRTUALS * WORD))
        found: dict[int, str] = {}
        for entry in entries:
            if not self._ranges.is_code(entry):
                break
            found[entry & ~1] = self._functions.get(entry & ~1, "")
        return found

    def find_op(self, address: int) -> tuple[int, int] | None:
        """The addresses of a resolver's FindOp for builtins and for custom operators.

        Without symbols they are the first two of the class. None if ``address`` has no vtable.
        """
        virtuals = self.virtuals(self.word(address))
        builtin = next((at for at, name in virtuals.items() if _FIND_BUILTIN.search(name)), None)
        custom = next((at for at, name in virtuals.items() if _FIND_CUSTOM.search(name)), None)
        if builtin is None or custom is None:
            if len(virtuals) < 2 or any(virtuals.values()):
                return None
            builtin, custom = list(virtuals)[:2]
        return builtin, custom

    def model_begin(self, root: int) -> int | None:
        """The address of the model whose root table is at ``root``; None if it has none."""
        if root % WORD:
            return None
        area = next((one for one in self._image.chip.areas if one.holds(root)), None)
        if area is None:
            return None
        low = max(root - _ROOT_REACH, area.origin)
        data = self.peek(low, root - low)
        found = (begin for begin, root_at in _models(low, data) if root_at == root)
        return next((begin for begin in found if (root - begin) % WORD == 0), None)

    def given(self, begin: int, size: int) -> tuple[int, int] | None:
        """Model and resolver of the interpreter that lies somewhere in ``size`` bytes.

        An interpreter has the address of its model's root table, then that of its resolver.
        """
        words = words_in(self.peek(begin, size))
        pairs = (pair for pair in pairwise(words) if self.model_begin(pair[0]) is not None)
        return next(pairs, None)

    def interpreters(self) -> list[tuple[int, int]]:
        """Model and resolver of each interpreter in RAM, for the models that memory holds."""
        memory = [(part.address, part.data) for part in self._image.loaded]
        ram = list(self._ram())
        roots = {root for low, data in (*memory, *ram) for _, root in _models(low, data)}
        pairs = (pair for _, data in ram for words in (words_in(data),) for pair in pairwise(words))
        return [
            (model, resolver)
            for model, resolver in pairs
            if model in roots and self.virtuals(self.word(resolver))
        ]

    def registration(self, address: int) -> Registered | None:
        """The registration at ``address``; None if none can be there."""
        row = self.peek(address, self.layout.registration_bytes)
        valid = is_registration(self.layout, self._ranges, row)
        return self._registration(self.layout, row) if valid else None

    def text(self, address: int) -> str:
        """The string at ``address``; "" if there is none."""
        raw = self.peek(address, _LONGEST_NAME) if address else b""
        return raw.split(b"\0")[0].decode("utf-8", "backslashreplace")

    def name(self, address: int) -> str:
        """The name of the object at ``address``."""
        held = self._image.object_at(address)
        if held is None:
            return f"(at 0x{address:08x})"
        offset = f"+{address - held.address}" if address > held.address else ""
        return short_name(held.name) + offset

    def _ram(self) -> Iterator[tuple[int, bytes]]:
        """Origin and content of each RAM region."""
        for region in self._image.regions:
            if region.origin in RAM:
                parts = [
                    self._memory.read(at, min(_CHUNK, region.end - at))
                    for at in range(region.origin, region.end, _CHUNK)
                ]
                yield region.origin, b"".join(parts)

    @cached_property
    def _classes(self) -> dict[int, int]:
        """The slots of resolver classes with tflite-micro's FindOp, by their vtable pointers."""
        pointers = (
            symbol.address + 2 * WORD  # after offset-to-top and type information
            for symbol in self._image.symbols
            if symbol.kind == "object" and symbol.name.startswith("_ZTV")
        )
        found = ((pointer, self._finders(pointer)) for pointer in pointers)
        return {pointer: slots[0] or 0 for pointer, slots in found if slots and None not in slots}

    def _objects(self) -> Iterator[tuple[int, int]]:
        """Addresses in RAM with the vtable pointer of such a class, and its slots."""
        for origin, data in self._ram():
            for pointer, slots in self._classes.items():
                word = pointer.to_bytes(WORD, "little")
                at = data.find(word)
                while at >= 0:
                    if at % WORD == 0:
                        yield origin + at, slots
                    at = data.find(word, at + 1)

    def _is_one(self, address: int, count: int) -> bool:
        """Whether a vtable pointer with ``count`` registrations behind it is a resolver's.

        Without any it may be a register that was saved on a stack: only a variable's counts.
        """
        held = self._image.object_at(address)
        return count > 0 or (held is not None and held.address == address)

    def _by_vtable(self) -> Iterator[Resolver]:
        for address, slots in self._objects():
            found = self._object(address, slots)
            if found is not None and self._is_one(address, len(found.operators)):
                yield found

    def _by_form(self) -> Iterator[Resolver]:
        for origin, data in self._ram():
            for table in tables(self._image, self._ranges, origin, data):
                yield self._formed(table)

    def _formed(self, table: FoundTable) -> Resolver:
        found = self._decoded(table.address, table.slots, table.layout, table.rows)
        return replace(found, source="pattern")

    def _decoded(
        self, address: int, slots: int, layout: ResolverLayout, rows: Sequence[bytes]
    ) -> Resolver:
        registered = tuple(self._registration(layout, row) for row in rows)
        return Resolver(self.name(address), address, slots, registered, (), layout.slot_bytes,
                        layout.source)  # fmt: skip

    def _most_bytes(self, slots: int) -> int:
        return max(self.layout.bytes_of(slots), *(one.bytes_of(slots) for one in known_layouts()))

    def _object(self, address: int, slots: int) -> Resolver | None:
        """The object at ``address``; None if none can be there (a dead stack frame)."""
        table = self._table(address, slots)
        return None if table is None else self._decoded(address, slots, *table)

    def _table(self, address: int, slots: int) -> tuple[ResolverLayout, list[bytes]] | None:
        """Layout and rows of the object at ``address``; None if its count is impossible.

        The rows of a static object are not checked; elsewhere each must be a valid registration.
        Without debug information, the layout is the one that agrees with the builtin codes behind
        the rows, and of several that with the most rows: another one may read a count of 0.
        """
        data = self.peek(address, self._most_bytes(slots))
        known = (self.layout,) if self.layout.source == "dwarf" else tuple(known_layouts())
        tried = [(layout, self._rows(layout, slots, data)) for layout in known]
        tables = [(layout, rows) for layout, rows in tried if rows is not None]
        valid = [
            (layout, rows) for layout, rows in tables
            if all(is_registration(layout, self._ranges, row) for row in rows)
        ]  # fmt: skip
        if not valid and (not tables or self._image.object_at(address) is None):
            return None

        def likely(one: tuple[ResolverLayout, list[bytes]]) -> tuple[bool, int]:
            layout, rows = one
            behind = data[layout.of(slots).length + WORD :]
            return has_codes(layout, self._ranges, behind, slots, rows), len(rows)

        return max(valid or tables[:1], key=likely)

    def _rows(self, layout: ResolverLayout, slots: int, data: bytes) -> list[bytes] | None:
        members = layout.of(slots)
        if len(data) < members.length + WORD:
            return None
        length = int.from_bytes(data[members.length : members.length + WORD], "little")
        if length > slots:
            return None
        size = layout.registration_bytes
        return [data[members.registrations + index * size :][:size] for index in range(length)]

    def _registration(self, layout: ResolverLayout, row: bytes) -> Registered:
        words = words_of(layout, row)
        code = words["builtin_code"]
        custom = code == CUSTOM
        name = self.text(words["custom_name"]) if custom else ""
        known = OPERATOR_NAMES[code] if code < len(OPERATOR_NAMES) else f"builtin {code}"
        init, free, prepare, invoke, reset = (
            self._function(words.get(role, 0))
            for role in ("init", "free", "prepare", "invoke", "reset")
        )
        return Registered(
            name or known, custom, code, init, free, prepare, invoke, reset, name,
            self._image.locate(words["invoke"]).file,
        )  # fmt: skip

    def _function(self, pointer: int) -> str:
        """The name of the function at ``pointer``, its address if it has none; "" for null."""
        if not pointer:
            return ""
        name = self._functions.get(pointer & ~1)
        return qualified(name) if name else f"0x{pointer & ~1:08x}"


def _models(low: int, data: bytes) -> Iterator[tuple[int, int]]:
    """The addresses of the models in ``data``, which lies at ``low``, and of their root tables."""
    for offset in identified(data):
        root = int.from_bytes(data[offset : offset + WORD], "little")
        yield low + offset, low + offset + root
