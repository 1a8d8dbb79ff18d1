"""RAM by purpose: tensor arenas, resolver objects, stacks, models that are copied into RAM.

The ELF has their sizes; :mod:`measure` measures their use in a run.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from harness.elf import Image
from harness.elf.demangle import qualified
from harness.elf.layout import LayoutPart
from harness.footprint import resolvers

_ARENA = re.compile(r"(?:^|[^a-z])(?:tensor_?)?arena(?:$|[^a-z])|TensorArena", re.IGNORECASE)
_STACK = re.compile(r"stack", re.IGNORECASE)
_NOT_A_STACK = re.compile(
    r"stack_(?:size|guard|info|chk|top|limit|trace)|stack_?frame", re.IGNORECASE
)
#: The least size of an arena or a stack, in bytes; smaller objects are pointers or counters.
_LEAST_BYTES = 64
_TFLITE_MARK = b"TFL3"


@dataclass(frozen=True)
class RamObject:
    """A named piece of RAM; ``purpose`` is ``arena``, ``resolver``, ``stack`` or ``model copy``.

    ``used`` is the high-water mark of a stack, ``arena_used_bytes()`` of an arena; ``least`` is the
    smallest size that works, ``wasted`` the bytes that could be saved; each is None if unknown. A
    run measures those of arenas and stacks.
    """

    purpose: str
    name: str
    address: int
    bytes: int
    used: int | None = None
    least: int | None = None
    wasted: int | None = None
    note: str = ""

    def to_json(self) -> dict[str, Any]:
        """One row of the ``ram`` list."""
        return asdict(self)


def purposes(image: Image, parts: Sequence[LayoutPart], registered: int) -> tuple[RamObject, ...]:
    """The arenas, resolvers, stacks and model copies in RAM.

    ``parts`` are those of RAM regions; ``registered`` is the number of registered operators.
    """
    return (
        *arenas_and_stacks(parts),
        *_resolvers(image, registered),
        *_model_copies(image, parts),
    )


def _resolvers(image: Image, registered: int) -> Iterable[RamObject]:
    """Resolver objects; the number of filled slots is known only of a single one."""
    objects = [resolver for resolver in resolvers.find(image) if resolver.address]
    for resolver in objects:
        slots = f"{resolver.slots} slots of {resolver.slot_bytes} B"
        if len(objects) > 1 or not registered:
            yield RamObject("resolver", resolver.name, resolver.address, resolver.bytes, note=slots)
            continue
        spare = max(resolver.slots - registered, 0)
        note = f"{slots}, {min(registered, resolver.slots)} filled"
        wasted = spare * resolver.slot_bytes
        least = resolver.bytes - wasted
        yield RamObject("resolver", resolver.name, resolver.address, resolver.bytes, least, least,
                     wasted, note)  # fmt: skip


def arenas_and_stacks(parts: Iterable[LayoutPart]) -> Iterable[RamObject]:
    """Objects whose name tells that they are an arena or a stack."""
    for part in parts:
        if part.kind != "object" or part.copy or part.size < _LEAST_BYTES:
            continue
        name = qualified(part.name)
        own_name = name.rpartition("::")[2]
        if _ARENA.search(own_name):
            yield RamObject("arena", name, part.address, part.size)
        elif _STACK.search(own_name) and not _NOT_A_STACK.search(own_name):
            yield RamObject("stack", name, part.address, part.size)


def _model_copies(image: Image, parts: Iterable[LayoutPart]) -> Iterable[RamObject]:
    """Initialised RAM objects that are .tflite files, which have their identifier at offset 4."""
    for part in parts:
        if part.kind != "object" or part.copy or part.size < 16:
            continue
        data = image.read(part.address, part.size)
        if data is not None and data[4:8] == _TFLITE_MARK:
            yield RamObject(
                "model copy",
                qualified(part.name),
                part.address,
                part.size,
                wasted=part.size,
                note=f"a .tflite model (CRC-32 {zlib.crc32(data):08x}) in RAM; "
                "declare it const and it stays in flash alone",
            )
