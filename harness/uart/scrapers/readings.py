"""Tensors that were read from printed text, by inference."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple


class PrintedValue(NamedTuple):
    """A printed number and the unit of its last digit, 0 for an integer.

    ``place`` is that of a label among the tensor's elements, -1 for a number without a label. A
    label without a number has the value 0.
    """

    value: float
    unit: float
    place: int = -1


@dataclass(frozen=True)
class Elements:
    """The elements of one tensor in all complete inferences, concatenated.

    ``units`` has one unit of each number's last digit, 0 for integers: the image may have cut or
    rounded the printed numbers.
    """

    real: bool
    values: array[float] = field(default_factory=lambda: array("d"))
    units: array[float] = field(default_factory=lambda: array("d"))

    def add(self, items: Iterable[PrintedValue]) -> None:
        """Add the elements of one inference."""
        for value, unit, _ in items:
            self.values.append(value)
            self.units.append(unit)


@dataclass(frozen=True)
class Labels:
    """The names of one tensor's largest elements in all complete inferences, concatenated.

    ``names`` are those of all elements. An inference has ``count`` of them, in the order of rank:
    ``places`` among the elements, and if ``scored`` their ``scores``, with the units of the last
    digits.
    """

    names: tuple[str, ...]
    count: int
    real: bool
    scored: bool
    places: array[int] = field(default_factory=lambda: array("q"))
    scores: array[float] = field(default_factory=lambda: array("d"))
    units: array[float] = field(default_factory=lambda: array("d"))

    def add(self, items: Iterable[PrintedValue]) -> None:
        """Add the labels of one inference."""
        for score, unit, place in items:
            self.places.append(place)
            self.scores.append(score)
            self.units.append(unit)


@dataclass(frozen=True)
class Readings:
    """The tensors that were read; ``lines`` are the console lines that completed each inference."""

    inputs: Sequence[Elements]
    outputs: Sequence[Elements | Labels]
    lines: Sequence[int]
