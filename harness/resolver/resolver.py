"""An operator resolver: what it declares, what was registered in it, and what it refused."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from harness.footprint.resolvers import Declared

#: An operator's name, and whether it is a custom one.
Key = tuple[str, bool]


def plain(name: str) -> str:
    """``name`` as all spellings of it have it: small letters and digits."""
    return re.sub(r"[^a-z0-9]", "", name.lower())


def same(one: Key, other: Key) -> bool:
    """Whether two names mean one operator: a custom one may have another spelling in C++."""
    return one == other or (one[1] and other[1] and plain(one[0]) == plain(other[0]))


def in_place(place: str) -> str:
    """The end of a sentence that names a place; "" for none."""
    return f" (in {place})" if place else ""


@dataclass(frozen=True)
class Registered:
    """A registered operator; functions are qualified names, "" for a null pointer.

    ``file`` is the source file of invoke, "" without debug information, and ``added`` the place of
    the call that registered it, "" if that was not seen.
    """

    operator: str
    custom: bool
    builtin_code: int
    init: str
    free: str
    prepare: str
    invoke: str
    reset: str
    custom_name: str
    file: str = ""
    added: str = ""

    @property
    def key(self) -> Key:
        """Its operator."""
        return self.operator, self.custom


@dataclass(frozen=True)
class Refused:
    """A registration that was refused, ``at`` a place of the image.

    It is a ``duplicate``, or found no slot.
    """

    operator: str
    custom: bool
    duplicate: bool
    at: str

    @property
    def key(self) -> Key:
        """Its operator."""
        return self.operator, self.custom


@dataclass(frozen=True)
class Resolver:
    """A resolver, as far as it is known.

    ``slots`` is the number that it declares, None if it has none (a class of the application).
    ``registered`` is None if the image was not run. ``source`` says where the layout of its table
    comes from: ``dwarf``, ``assumed``, ``pattern`` (the form of the table), or ``FindOp`` for a
    class whose table is not read, but asked for each operator.
    """

    name: str
    address: int
    slots: int | None
    registered: tuple[Registered, ...] | None
    refused: tuple[Refused, ...] = ()
    slot_bytes: int = 0
    source: str = ""

    @property
    def operators(self) -> tuple[str, ...]:
        """The registered operators, in the order of registration."""
        return tuple(row.operator for row in self.registered or ())

    @property
    def refusals(self) -> tuple[str, ...]:
        """A sentence for each registration that was refused."""
        return tuple(self.refusal(one) for one in self.refused)

    def refusal(self, one: Refused) -> str:
        """Why a registration was refused, and where."""
        if one.duplicate:
            again = f"{one.operator} is registered again, and refused as a duplicate"
            return f"{again}{in_place(one.at)}"
        return f"{one.operator} is refused: {self.is_full(one)}"

    def is_full(self, one: Refused) -> str:
        """That no slot was left for a registration, and where."""
        return f"all {self.slots} slots are taken{in_place(one.at)}"

    @classmethod
    def of(cls, declared: Declared) -> Resolver:
        """A resolver of which only the declaration is known."""
        return cls(
            declared.name, declared.address, declared.slots, None, (), declared.slot_bytes
        )  # fmt: skip

    def to_json(self) -> dict[str, Any]:
        """One row of ``resolvers``."""
        return {
            "name": self.name,
            "address": self.address,
            "declared": self.slots,
            "registered": _rows(self.registered),
            "refused": _rows(self.refused),
            "slot_bytes": self.slot_bytes,
            "source": self.source,
        }


def _rows(rows: Sequence[Registered | Refused] | None) -> list[dict[str, Any]] | None:
    return None if rows is None else [asdict(row) for row in rows]
