"""RAM by purpose: tensor arena, resolver objects, stacks, a model that was copied into RAM."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from harness.firmware.demangle import qualified
from harness.firmware.elf import Firmware
from harness.footprint.layout import Part

_ARENA = re.compile(r"(?:^|[^a-z])(?:tensor_?)?arena(?:$|[^a-z])|TensorArena", re.IGNORECASE)
_STACK = re.compile(r"stack", re.IGNORECASE)
_NOT_A_STACK = re.compile(
    r"stack_(?:size|guard|info|chk|top|limit|trace)|stack_?frame", re.IGNORECASE
)
_TFLITE_MARK = b"TFL3"


@dataclass(frozen=True)
class Memory:
    """A named piece of RAM; ``purpose`` is ``arena``, ``stack`` or ``model copy``."""

    purpose: str
    name: str
    address: int
    bytes: int
    note: str = ""

    def to_json(self) -> dict[str, Any]:
        """One row of the ``ram`` list."""
        return asdict(self)


def purposes(firmware: Firmware, parts: Sequence[Part]) -> tuple[Memory, ...]:
    """The arenas, stacks and model copies among the objects of RAM (``parts`` of RAM regions)."""
    return tuple(_named(firmware, parts)) + tuple(_model_copies(firmware, parts))


def _named(firmware: Firmware, parts: Iterable[Part]) -> Iterable[Memory]:
    for part in parts:
        if part.kind != "object" or part.copy:
            continue
        name = qualified(part.name)
        last = name.rpartition("::")[2]
        if _ARENA.search(last) and part.size >= 64:
            yield Memory("arena", name, part.address, part.size)
        elif _STACK.search(last) and not _NOT_A_STACK.search(last) and part.size >= 64:
            yield Memory("stack", name, part.address, part.size)


def _model_copies(firmware: Firmware, parts: Iterable[Part]) -> Iterable[Memory]:
    """Initialised RAM objects that hold a .tflite file (its identifier stands at offset 4)."""
    for part in parts:
        if part.kind != "object" or part.copy or part.size < 16:
            continue
        data = firmware.read(part.address, part.size)
        if data is not None and data[4:8] == _TFLITE_MARK:
            yield Memory(
                "model copy",
                qualified(part.name),
                part.address,
                part.size,
                f"a .tflite model (CRC-32 {zlib.crc32(data):08x}) in RAM; "
                "declare it const and it stays in flash alone",
            )
