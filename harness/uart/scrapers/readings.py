"""The tensors that were read from printed text, inference by inference."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Elements:
    """The elements of one tensor in all complete inferences, one inference after the other.

    ``units`` holds the worth of each number's last digit, 0 for integers: the image may have cut or
    rounded what it printed.
    """

    real: bool
    values: array[float] = field(default_factory=lambda: array("d"))
    units: array[float] = field(default_factory=lambda: array("d"))


@dataclass(frozen=True)
class Readings:
    """What was read; ``lines`` holds the console line with which each inference was complete."""

    inputs: Sequence[Elements]
    outputs: Sequence[Elements]
    lines: Sequence[int]
