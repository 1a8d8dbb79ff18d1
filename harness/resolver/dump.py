"""The live table: what every resolver object of a running image really holds.

Read from the memory of any :class:`harness.targets.base.Session`. It shows what the ELF cannot:
the order of registration, refusals, a chain ``A() || B()`` that stopped early. Objects are found
by their vtable pointer in RAM (static ones, and those on a stack); in a stripped image by the
shape of the table itself.
"""

from __future__ import annotations

import struct
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from harness.errors import CheckFailed
from harness.firmware.demangle import demangle, qualified
from harness.firmware.elf import Firmware
from harness.firmware.regions import memories
from harness.footprint.operators import RAM_FROM, RAM_TO
from harness.model.schema import OPERATOR_NAMES
from harness.resolver.declared import vtables
from harness.resolver.layout import WORD, ResolverLayout, find_layout
from harness.targets.base import Memory, Session

_CHUNK = 4096
_LONGEST_NAME = 64
_CUSTOM = OPERATOR_NAMES.index("CUSTOM")
_MOST_SLOTS = 1024


@dataclass(frozen=True)
class LiveRegistration:
    """One filled slot; functions are demangled names, "" for a null pointer.

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


@dataclass(frozen=True)
class LiveResolver:
    """A resolver object in memory. ``slots`` is 0 where a stripped image does not tell."""

    name: str
    address: int
    slots: int
    registrations: tuple[LiveRegistration, ...]
    source: str  # "dwarf", "assumed" (layout), "pattern" (stripped image)

    @property
    def operators(self) -> tuple[str, ...]:
        """What is registered, in the order of registration."""
        return tuple(one.operator for one in self.registrations)

    def to_json(self) -> dict[str, Any]:
        """One row of ``resolver dump --json``."""
        return {**asdict(self), "registered": len(self.registrations)}


def dump(session: Session, firmware: Firmware) -> tuple[LiveResolver, ...]:
    """The resolvers in the memory of ``session``, by address.

    Run the image past its registration before. Raises :class:`CheckFailed` where none is found.
    """
    reader = _Reader(session.memory, firmware)
    found = tuple(reader.by_vtable())
    if not found and not firmware.symbols:
        found = tuple(reader.by_pattern())
    if not found:
        raise CheckFailed(
            f"no operator resolver in the memory of target {session.target!r}",
            hint="run the image past its registration before reading",
        )
    return found


class _Reader:
    def __init__(self, memory: Memory, firmware: Firmware) -> None:
        self.memory = memory
        self.firmware = firmware
        self.layout: ResolverLayout = find_layout(firmware)
        self.objects = sorted(
            (s.address, s.address + s.size, s.name)
            for s in firmware.symbols
            if s.kind == "object" and s.size
        )
        self.starts = [start for start, _, _ in self.objects]
        self.functions = {s.address: s.name for s in firmware.symbols if s.kind == "func"}
        self.code = [
            (s.address, s.address + len(s.data))
            for s in firmware.segments
            if s.data and not RAM_FROM <= s.address < RAM_TO
        ]

    def ram(self) -> Iterator[tuple[int, bytes]]:
        """The RAM regions as the target holds them now."""
        for region in memories(self.firmware):
            if RAM_FROM <= region.origin < RAM_TO:
                parts = [
                    self.memory.read(at, min(_CHUNK, region.end - at))
                    for at in range(region.origin, region.end, _CHUNK)
                ]
                yield region.origin, b"".join(parts)

    def by_vtable(self) -> Iterator[LiveResolver]:
        wanted = {struct.pack("<I", address): slots
                  for address, slots in vtables(self.firmware).items()}  # fmt: skip
        for origin, data in self.ram():
            places = sorted(
                (at, slots) for pattern, slots in wanted.items() for at in _aligned(data, pattern)
            )
            for at, slots in places:
                found = self.resolver(origin + at, slots, data[at:])
                if found is not None:
                    yield found

    def resolver(self, address: int, slots: int, data: bytes) -> LiveResolver | None:
        """The object at ``address``; None where its count makes no sense (a dead stack frame)."""
        members = self.layout.of(slots)
        if len(data) < members.length + WORD:
            return None
        (length,) = struct.unpack_from("<I", data, members.length)
        if length > slots:
            return None
        size = self.layout.registration_bytes
        rows = (
            data[members.registrations + index * size :][:size] for index in range(length)
        )  # fmt: skip
        registrations = tuple(self.registration(row) for row in rows)
        return LiveResolver(self.name(address), address, slots, registrations, self.layout.source)

    def registration(self, row: bytes) -> LiveRegistration:
        words = {
            name: struct.unpack_from("<I", row, offset)[0]
            for name, offset in self.layout.fields.items()
            if offset + WORD <= len(row)
        }
        code = words["builtin_code"]
        custom = code == _CUSTOM
        name = self.text(words.get("custom_name", 0)) if custom else ""
        known = OPERATOR_NAMES[code] if code < len(OPERATOR_NAMES) else f"builtin {code}"
        return LiveRegistration(
            name or known, custom, code, self.function(words["init"]),
            self.function(words["prepare"]), self.function(words["invoke"]), name,
            self.firmware.locate(words["invoke"]).file,
        )  # fmt: skip

    def function(self, pointer: int) -> str:
        if not pointer:
            return ""
        name = self.functions.get(pointer & ~1)
        return demangle(name) if name else f"0x{pointer & ~1:08x}"

    def name(self, address: int) -> str:
        index = bisect_right(self.starts, address) - 1
        if index >= 0 and address < self.objects[index][1]:
            start, _, symbol = self.objects[index]
            offset = f"+{address - start}" if address > start else ""
            return qualified(symbol) + offset
        return f"(at 0x{address:08x})"

    def text(self, address: int) -> str:
        if not address or not self.stored(address):
            return ""
        raw = self.memory.read(address, _LONGEST_NAME)
        return raw.split(b"\0")[0].decode("utf-8", "backslashreplace")

    def stored(self, address: int) -> bool:
        """True for an address inside what the image stores in flash."""
        return any(start <= address < end for start, end in self.code)

    # -- stripped images ---------------------------------------------------------------------------

    def by_pattern(self) -> Iterator[LiveResolver]:
        """Runs of registrations by their shape: prepare and invoke in code, a builtin's number."""
        size = self.layout.registration_bytes
        for origin, data in self.ram():
            at = 0
            while at + size <= len(data):
                run = self.run(data, at) if self.is_object(data, at) else []
                if run:
                    length = len(run)
                    tail = data[at + length * size :][:WORD]
                    count = int.from_bytes(tail, "little")  # registrations_len_ of a full table
                    slots = length if count == length else 0
                    yield LiveResolver(f"(at 0x{origin + at:08x})", origin + at, slots,
                                       tuple(run), "pattern")  # fmt: skip
                    at += length * size
                else:
                    at += WORD

    def is_object(self, data: bytes, at: int) -> bool:
        """True where a vtable pointer stands before the first registration."""
        start = at - self.layout.registrations_at
        table = int.from_bytes(data[start : start + WORD], "little") if start >= 0 else 0
        if table % WORD or not self.stored(table):
            return False
        first = self.firmware.read(table, WORD)
        return first is not None and self.is_code(int.from_bytes(first, "little"))

    def run(self, data: bytes, at: int) -> list[LiveRegistration]:
        size = self.layout.registration_bytes
        found: list[LiveRegistration] = []
        while len(found) < _MOST_SLOTS and self.looks_right(data[at : at + size]):
            found.append(self.registration(data[at : at + size]))
            at += size
        return found

    def looks_right(self, row: bytes) -> bool:
        fields = self.layout.fields
        if len(row) < self.layout.registration_bytes:
            return False
        words = {name: struct.unpack_from("<I", row, at)[0] for name, at in fields.items()}
        pointers = (words.get(name, 0) for name in ("init", "free", "reset"))
        if not all(word == 0 or self.is_code(word) for word in pointers):
            return False
        code, name = words["builtin_code"], words.get("custom_name", 0)
        if not self.is_code(words["invoke"]) or not self.is_code(words["prepare"]):
            return False
        if code >= len(OPERATOR_NAMES):
            return False
        return bool(name and self.stored(name)) if code == _CUSTOM else name == 0

    def is_code(self, word: int) -> bool:
        return bool(word & 1) and self.stored(word)


def _aligned(data: bytes, pattern: bytes) -> Iterable[int]:
    at = data.find(pattern)
    while at >= 0:
        if at % WORD == 0:
            yield at
        at = data.find(pattern, at + 1)


def registered(resolvers: Sequence[LiveResolver]) -> tuple[str, ...]:
    """All operators in the order in which they stand in the resolvers."""
    return tuple(name for resolver in resolvers for name in resolver.operators)
