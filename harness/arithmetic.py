"""Which arithmetic a device has, where builds of tflite-micro differ."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from harness.errors import UsageError

#: How a product is rounded when it is requantized.
Rounding = Literal["double", "single"]
#: In which precision multipliers are computed from the tensors' scales.
Multipliers = Literal["double", "single"]


@dataclass(frozen=True)
class Arithmetic:
    """What TFLM's build decides about the integers that its kernels compute.

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
                told = " or ".join(repr(each) for each in known)
                raise UsageError(f"{name} is {told}, not {given!r}")
