"""The arithmetic of a device, which differs between builds of tflite-micro."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from harness.base.errors import UsageError

#: How a product is rounded when it is requantized.
Rounding = Literal["double", "single"]
#: The precision in which multipliers are computed from the tensors' scales.
Multipliers = Literal["double", "single"]


@dataclass(frozen=True)
class Arithmetic:
    """How a device's kernels compute integers, which a build of TFLM decides.

    ``rounding`` is ``double`` (TFLM's default) or ``single`` (CMSIS-NN's kernels, and builds with
    TFLITE_SINGLE_ROUNDING). ``multipliers`` is ``double``, or ``single`` for devices that run TFLM
    from before autumn 2026. Raises UsageError for anything else.
    """

    rounding: Rounding = "double"
    multipliers: Multipliers = "double"

    def __post_init__(self) -> None:
        for name, known in (
            ("rounding", get_args(Rounding)),
            ("multipliers", get_args(Multipliers)),
        ):
            given = getattr(self, name)
            if not isinstance(given, str) or given not in known:
                choices = " or ".join(map(repr, known))
                raise UsageError(f"{name} is {choices}, not {given!r}")
