"""The resolver objects that an image declares: their slots and addresses.

``tflite::MicroMutableOpResolver<N>`` has N in every mangled symbol of its class
(``...MicroMutableOpResolverILj5EE...``) and in its DWARF type. Unless DWARF differs, a slot takes
28 bytes for the registration (7 words), 4 for the builtin code, 4 for its parser.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

from harness.elf import Image
from harness.elf.demangle import qualified
from harness.footprint.resolver_layout import ResolverLayout, find_layout, slots_of

_MANGLED = re.compile(r"MicroMutableOpResolverILj(\d+)E")
_ALL_OPS = re.compile(r"(?:^|::)AllOpsResolver$")


@dataclass(frozen=True)
class Declared:
    """A resolver that an image declares.

    ``address`` is 0 without a static object (one on a stack, or no DWARF); ``slot_bytes`` is the
    RAM of one slot.
    """

    name: str
    slots: int
    address: int
    bytes: int
    slot_bytes: int

    def to_json(self) -> dict[str, Any]:
        """One row of the ``resolvers`` list."""
        return asdict(self)


def find(image: Image) -> tuple[Declared, ...]:
    """The resolvers of an image: static objects, or the classes in its symbols if it has none.

    () if the image has neither (stripped, or without a MicroMutableOpResolver).
    """
    layout = find_layout(image)
    return tuple(_objects(image, layout)) or tuple(
        Declared(f"MicroMutableOpResolver<{n}>", n, 0, layout.bytes_of(n), layout.slot_bytes)
        for n in sorted(slots_in_symbols(image))
    )


def slots_in_symbols(image: Image) -> set[int]:
    """Every N of a ``MicroMutableOpResolver<N>`` in the symbol table."""
    return {int(n) for symbol in image.symbols for n in _MANGLED.findall(symbol.name)}


def _objects(image: Image, layout: ResolverLayout) -> Iterable[Declared]:
    """The static objects of resolver classes, by DWARF."""
    variables = image.variables
    symbols = {s.address: s for s in image.symbols if s.kind == "object" and s.size}
    names = slots_in_symbols(image)
    for address in sorted(variables.entries):
        kind = variables.type_of(address)
        name = None if kind is None else variables.dwarf_name(kind)
        if not name or address not in symbols:
            continue
        slots = slots_of(name)
        if not slots and not _ALL_OPS.search(name):
            continue
        slots = slots or max(names, default=0)
        symbol = symbols[address]
        yield Declared(qualified(symbol.name), slots, address, symbol.size, layout.slot_bytes)
