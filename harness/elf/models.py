"""Whether an image holds a model, and what it holds instead."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum
from itertools import islice

import numpy as np

from harness.base import paths
from harness.base.errors import BadModel
from harness.base.text import count_of
from harness.elf.demangle import short_name
from harness.elf.file import Symbol
from harness.elf.image import Image
from harness.model.differences import described, different_parts, same_graph
from harness.model.model import Model
from harness.model.schema import IDENTIFIER, IDENTIFIER_AT, identified
from harness.model.types import shown

#: Most places of a segment that are looked at.
_MOST_PLACES = 32
#: Places in the model from which an altered copy is looked for, bytes of each, and how many
#: different values these must have to be worth it.
_ANCHORS, _ANCHOR_BYTES, _ANCHOR_VALUES = 8, 24, 6
#: Bytes from the start on that a damaged copy has in common with the model, or its share of all.
_COMMON_BYTES, _COMMON_SHARE = 64, 0.75
#: Bytes of the words in which a copy may be reversed.
_WORDS = (4, 2, 8)
#: Bytes by which a variable for a model may be larger than it, and of a word.
_ROUNDED, _WORD = 64, 4
#: Operators that a description of another model names.
_SHOWN = 4


class Held(IntEnum):
    """What an image holds of a model, the nearest first."""

    MODEL = 0  # the model
    OTHER_VALUES = 1  # the same graph with other bytes
    DAMAGED = 2  # a copy of it that is no model any more
    ANOTHER = 3  # another graph
    NOTHING = 4  # no model that can be read: a compiled one, one that is loaded at run time


@dataclass(frozen=True)
class HeldModel:
    """What an image holds of a model; ``text`` says how that differs, "" for the file itself."""

    held: Held
    text: str = ""

    @property
    def altered(self) -> bool:
        """True for a copy of the model with other bytes."""
        return self.held in (Held.OTHER_VALUES, Held.DAMAGED)

    @property
    def wrong(self) -> bool:
        """True for such a copy, or another model."""
        return self.altered or self.held is Held.ANOTHER


def held_model(image: Image, model: Model) -> HeldModel:
    """What the stored bytes of ``image``, and of the images beside it, have of ``model``.

    A file that was written again by another tool is the same model: names, metadata and the order
    of its parts do not count.
    """
    stored = [segment.data for segment in image.loaded]
    if any(model.data in data for data in stored):
        return HeldModel(Held.MODEL)
    for size in _WORDS:
        if any(_reversed(model.data, size) in data for data in stored):
            copy = f"its copy has the bytes of each {8 * size}-bit word reversed"
            return HeldModel(Held.DAMAGED, f"the image does not hold {model.name}: {copy}")
    found = (_compared(data[start:], model) for data in stored for start in _places(data, model))
    return min(found, key=lambda one: one.held, default=_nothing(model))


def _reversed(data: bytes, size: int) -> bytes:
    """``data`` with the bytes of each word of ``size`` bytes in the other order."""
    words = np.frombuffer(data[: len(data) // size * size], np.dtype(f"<u{size}"))
    return words.byteswap().tobytes()


def incomplete_copy(
    image: Image, model: Model, read: Callable[[int, int], bytes]
) -> tuple[str, int] | None:
    """A variable with the first bytes of ``model`` and zeros in place of the others.

    Its name, and the number of bytes that it has. ``read`` reads memory. None if there is none.
    """
    ram, sizes = image.chip.area("ram"), range(model.size, model.size + _ROUNDED)
    for symbol in image.symbols:
        if symbol.kind != "object" or symbol.size not in sizes or not ram.holds(symbol.address):
            continue
        content = read(symbol.address, model.size)
        count = -(-len(content.rstrip(b"\0")) // _WORD) * _WORD
        lacks = len(model.data.rstrip(b"\0")) - count >= _WORD
        if count and lacks and content[:count] == model.data[:count]:
            return symbol.name, count
    return None


def another_given(image: Image, roots: Sequence[int], model: Model) -> str:
    """That interpreters got other models of ``image`` than ``model``; "" if it is not known.

    ``roots`` are the addresses of the root tables that they got.
    """
    given = [_rooted_at(image, root) for root in roots]
    others = [one for one in given if one is not None and not same_graph(model, one)]
    names = [short_name(one.name) for one in others]
    if not names or len(names) < len(given):
        return ""
    return f"the interpreter gets {' and '.join(names)}, which is not {model.name}"


def _rooted_at(image: Image, root: int) -> Model | None:
    """The readable model of the image whose root table lies at ``root``."""
    symbol = image.object_at(root)
    model = _embedded(image, symbol) if symbol is not None else None
    if symbol is None or model is None:
        return None
    begin = int.from_bytes(model.data[:IDENTIFIER_AT], "little")
    return model if symbol.address + begin == root else None


def embedded_models(image: Image) -> Iterator[Model]:
    """The readable models that are variables of the image, named after these."""
    found = (_embedded(image, one) for one in image.symbols if one.kind == "object")
    return (model for model in found if model is not None)


def _embedded(image: Image, symbol: Symbol) -> Model | None:
    """The model that a variable holds, named after it; None if it holds none that is readable."""
    data = image.read(symbol.address, symbol.size)
    if data is None or data[IDENTIFIER_AT:][: len(IDENTIFIER)] != IDENTIFIER:
        return None
    try:
        return Model.from_bytes(data, symbol.name)
    except BadModel:
        return None


def _places(data: bytes, model: Model) -> Iterator[int]:
    """Where in ``data`` a model may begin: before an identifier, or around a part of ``model``."""
    places = dict.fromkeys(islice(identified(data), _MOST_PLACES))
    for anchor in range(0, model.size, max(model.size // _ANCHORS, 1)):
        part = model.data[anchor : anchor + _ANCHOR_BYTES]
        if len(set(part)) >= _ANCHOR_VALUES and (at := data.find(part)) >= 0:
            places[at - anchor] = None
    return (place for place in places if place >= 0)


def _compared(data: bytes, model: Model) -> HeldModel:
    """What ``data``, which is as long as the segment, has at its start."""
    try:
        other = Model.from_bytes(data, "the image's model")
    except BadModel:
        return _damaged(data, model)
    if not same_graph(model, other):
        damaged = _damaged(data, model)
        return damaged if damaged.altered else _another(data, other, model)
    parts = different_parts(model, other)
    if not parts:
        text = (
            f"the image's copy of {model.name} differs from the file in bytes that no kernel reads"
        )
        return HeldModel(Held.MODEL, text)
    text = f"the image does not hold {model.name}: its copy differs in {described(parts)}"
    return HeldModel(Held.OTHER_VALUES, text)


def _nothing(model: Model) -> HeldModel:
    text = "the image holds no .tflite that can be read; that it runs"
    return HeldModel(Held.NOTHING, f"{text} {model.name} rests on its outputs")


def _damaged(data: bytes, model: Model) -> HeldModel:
    """A copy with other bytes in its structure, or one that is cut off; NOTHING if it is none."""
    size, common = model.size, min(model.size, len(data))
    ours, theirs = (np.frombuffer(one, np.uint8, common) for one in (model.data, data))
    changed = np.flatnonzero(ours != theirs)
    wrong = len(changed) + size - common
    first = int(changed[0]) if len(changed) else common
    copy = f"the image does not hold {model.name}: its copy"
    if first >= min(_COMMON_BYTES, size // 2) and wrong > (1 - _COMMON_SHARE) * (size - first):
        where = f"equals it in the first {first:,} of {size:,} bytes only"
        return HeldModel(Held.DAMAGED, f"{copy} {where}")
    if wrong <= (1 - _COMMON_SHARE) * size:
        where = f"differs in {count_of(wrong, 'byte')}, the first at offset {first:,}"
        return HeldModel(Held.DAMAGED, f"{copy} {where}")
    return _nothing(model)


def _another(data: bytes, other: Model, model: Model) -> HeldModel:
    return HeldModel(Held.ANOTHER, f"the image holds {_called(data, other)}, not {model.name}")


def _called(data: bytes, other: Model) -> str:
    """The name of a model, if it is one of this project's, or what it looks like."""
    for path in sorted(paths.models().glob("*.tflite")):
        if data.startswith(path.read_bytes()):
            return path.name
    names = [shown(name) for name in other.operator_names]
    more = [f"{len(names) - _SHOWN} more"] if len(names) > _SHOWN else []
    inputs = " and ".join(f"{one.dtype} {list(one.shape)}" for one in other.inputs) or "no input"
    return f"another model ({', '.join([*names[:_SHOWN], *more])}; input {inputs})"
