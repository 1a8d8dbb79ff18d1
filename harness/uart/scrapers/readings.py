"""Tensors that were read from printed text, by inference."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Elements:
    """The elements of one tensor in all complete inferences, concatenated.

    ``units`` has one unit of each number's last digit, 0 for integers: the image may have cut or
    rounded the printed numbers.
    """

    real: bool
    values: array[float] = field(default_factory=lambda: array("d"))
    units: array[float] = field(default_factory=lambda: array("d"))


@dataclass(frozen=True)
class Readings:
    """The tensors that were read; ``lines`` are the console lines that completed each inference."""

    inputs: Sequence[Elements]
    outputs: Sequence[Elements]
    lines: Sequence[int]
