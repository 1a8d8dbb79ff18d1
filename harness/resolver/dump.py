"""The live table: the registrations in each resolver object of a running image.

It is read from the memory of any :class:`harness.targets.session.Session`, and shows more than the
ELF: the order of registration, refusals, a chain ``A() || B()`` that stopped early. Objects (static
ones, and those on a stack) are found by their vtable pointer in RAM, those of a stripped image by a
scan for tables (:mod:`harness.resolver.scan`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from harness.base.errors import CannotTell
from harness.elf import Image
from harness.elf.demangle import qualified
from harness.elf.regions import RAM
from harness.footprint.resolver_layout import ResolverLayout, find_layout
from harness.footprint.resolvers import vtables
from harness.model.schema import OPERATOR_NAMES
from harness.model.structures import WORD
from harness.resolver.scan import CUSTOM, Ranges, is_registration, tables, words_in, words_of
from harness.targets.base import MemoryAccess
from harness.targets.session import Session

#: Bytes of RAM that are read at a time.
_CHUNK = 4096
#: Most bytes of a custom operator's name.
_LONGEST_NAME = 64


@dataclass(frozen=True)
class LiveRegistration:
    """One filled slot; functions are qualified names, "" for a null pointer.

    ``file`` is the source file of invoke, "" without debug information.
    """

    operator: str
    custom: bool
    builtin_code: int
    init: str
    prepare: str
    invoke: str
    custom_name: str
    file: str = ""
    invoke_address: int = 0  # identifies invoke among functions of the same name

    def to_json(self) -> dict[str, Any]:
        """One row of ``registrations``."""
        return {name: value for name, value in asdict(self).items() if name != "invoke_address"}


@dataclass(frozen=True)
class LiveResolver:
    """A resolver object in memory."""

    name: str
    address: int
    slots: int
    registrations: tuple[LiveRegistration, ...]
    slot_bytes: int  # RAM of one slot
    source: str  # of the layout: "dwarf", "assumed", "pattern" (found by a scan)

    @property
    def operators(self) -> tuple[str, ...]:
        """The registered operators, in the order of registration."""
        return tuple(row.operator for row in self.registrations)

    def to_json(self) -> dict[str, Any]:
        """One row of ``resolver dump --json``."""
        rows = [row.to_json() for row in self.registrations]
        return {**asdict(self), "registrations": rows, "registered": len(rows)}


def dump(session: Session, image: Image) -> tuple[LiveResolver, ...]:
    """The resolvers in the memory of ``session``, by address.

    The image must have run past its registration. Raises :class:`CannotTell` if none is found.
    """
    reader = TableReader(session.memory, image)
    found = {resolver.address: resolver for resolver in reader.by_vtable()}
    if not found or reader.layout.source == "assumed":
        found |= {resolver.address: resolver for resolver in reader.by_scan()}
    if not found:
        raise CannotTell(
            f"no operator resolver in the memory of target {session.target!r}",
            hint=image.symbols_hint(),
        )
    return tuple(found[address] for address in sorted(found))


class TableReader:
    """Decodes resolvers in ``memory``: a session's, or an image's stored data."""

    def __init__(self, memory: MemoryAccess, image: Image) -> None:
        self.memory = memory
        self.image = image
        self.layout: ResolverLayout = find_layout(image)
        self.objects = [
            (s.address, s.address + s.size, s.name) for s in image.symbols if s.kind == "object"
        ]
        self.functions = {s.address: s.name for s in image.symbols if s.kind == "func"}
        self.ranges = Ranges(image)

    def ram(self) -> Iterator[tuple[int, bytes]]:
        """Origin and current content of each RAM region."""
        for region in self.image.regions:
            if region.origin in RAM:
                parts = [
                    self.memory.read(at, min(_CHUNK, region.end - at))
                    for at in range(region.origin, region.end, _CHUNK)
                ]
                yield region.origin, b"".join(parts)

    def by_vtable(self) -> Iterator[LiveResolver]:
        """The resolvers found by the vtable pointer of their class."""
        slots_of = vtables(self.image)
        for origin, data in self.ram():
            for index, word in enumerate(words_in(data)):
                if word in slots_of:
                    at = index * WORD
                    found = self.resolver(origin + at, slots_of[word], data[at:])
                    if found is not None:
                        yield found

    def resolver(self, address: int, slots: int, data: bytes) -> LiveResolver | None:
        """The object at ``address``; None if its count is impossible (a dead stack frame).

        The rows of a static object are not checked; elsewhere each must be a valid registration.
        """
        members = self.layout.of(slots)
        if len(data) < members.length + WORD:
            return None
        length = int.from_bytes(data[members.length : members.length + WORD], "little")
        if length > slots:
            return None
        size = self.layout.registration_bytes
        rows = [data[members.registrations + index * size :][:size] for index in range(length)]
        if self.object_at(address) is None and not all(
            is_registration(self.layout, self.ranges, row) for row in rows
        ):
            return None
        registrations = tuple(self.registration(self.layout, row) for row in rows)
        return LiveResolver(self.name(address), address, slots, registrations,
                            self.layout.slot_bytes, self.layout.source)  # fmt: skip

    def by_scan(self) -> Iterator[LiveResolver]:
        """The resolvers found without symbols, by the form of their tables."""
        for origin, data in self.ram():
            for table in tables(self.image, self.ranges, origin, data):
                rows = tuple(self.registration(table.layout, row) for row in table.rows)
                yield LiveResolver(self.name(table.address), table.address, table.slots, rows,
                                   table.layout.slot_bytes, "pattern")  # fmt: skip

    def registration(self, layout: ResolverLayout, row: bytes) -> LiveRegistration:
        """The registration in one slot's bytes."""
        words = words_of(layout, row)
        code = words["builtin_code"]
        custom = code == CUSTOM
        name = self.text(words["custom_name"]) if custom else ""
        known = OPERATOR_NAMES[code] if code < len(OPERATOR_NAMES) else f"builtin {code}"
        return LiveRegistration(
            name or known, custom, code, self.function(words["init"]),
            self.function(words["prepare"]), self.function(words["invoke"]), name,
            self.image.locate(words["invoke"]).file, words["invoke"] & ~1,
        )  # fmt: skip

    def function(self, pointer: int) -> str:
        """The name of the function at ``pointer``, its address if it has none; "" for null."""
        if not pointer:
            return ""
        name = self.functions.get(pointer & ~1)
        return qualified(name) if name else f"0x{pointer & ~1:08x}"

    def object_at(self, address: int) -> tuple[int, str] | None:
        """Start and symbol of the innermost object that contains ``address``."""
        return max(
            ((start, name) for start, end, name in self.objects if start <= address < end),
            default=None,
        )

    def name(self, address: int) -> str:
        """The name of the object at ``address``."""
        found = self.object_at(address)
        if found is None:
            return f"(at 0x{address:08x})"
        start, symbol = found
        offset = f"+{address - start}" if address > start else ""
        return qualified(symbol) + offset

    def text(self, address: int) -> str:
        """The string at ``address``; "" if the image stores nothing there."""
        if not self.ranges.is_stored(address):
            return ""
        raw = self.memory.read(address, _LONGEST_NAME)
        return raw.split(b"\0")[0].decode("utf-8", "backslashreplace")
