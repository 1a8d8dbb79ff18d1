"""Fused activation functions: the clamp at the end of a kernel."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial

import numpy as np

from harness.model import Tensor
from harness.reference.bind import Call, copied
from harness.reference.fixedpoint import Array
from harness.reference.node import NUMPY_TYPES, Node
from harness.reference.quantization import limits, round_away

#: The real range that an activation allows (ActivationFunctionType of the schema).
REAL_RANGES = {
    "NONE": (-math.inf, math.inf),
    "RELU": (0.0, math.inf),
    "RELU_N1_TO_1": (-1.0, 1.0),
    "RELU6": (0.0, 6.0),
}
#: The largest float output of an operator with a fused activation, also with "NONE".
FLOAT_MAX = float(np.finfo(np.float32).max)


@dataclass(frozen=True)
class Clamp:
    """Values limited to [low, high] and stored as ``dtype``."""

    low: float
    high: float
    dtype: np.dtype[np.generic]

    def __call__(self, x: Array) -> Array:
        """Clamp ``x`` of any shape, which is changed."""
        # Two passes, but a third of np.clip's fixed cost, which matters for small layers.
        np.maximum(x, self.low, out=x)
        np.minimum(x, self.high, out=x)
        return x.astype(self.dtype, copy=False)

    def real(self, x: Array) -> Array:
        """Clamp float64 values and round them, in this order: none overflows. ``x`` is changed."""
        return x.clip(self.low, self.high, x).astype(self.dtype)

    def stored(self, x: Array, output: Array) -> list[Call]:
        """The calls that clamp the float64 buffer ``x`` in place and round it into ``output``."""
        low, high = self.low, self.high

        def store_one() -> None:  # takes a third of NumPy's time for one element
            value = x.item()
            output[...] = value if low <= value <= high else min(max(value, low), high)

        if x.size == 1:
            return [store_one]
        return [partial(x.clip, np.array(low), np.array(high), x), copied(output, x)]


def clamp_for(node: Node, output: Tensor, activation: str | None = None) -> Clamp:
    """The clamp of ``output`` under a fused activation (default: the node's own option).

    Quantized limits are zero_point + round(limit / scale), cut to the type's range
    (TensorFlow Lite, ``CalculateActivationRangeQuantized``).
    """
    name = node.option("fused_activation_function") if activation is None else activation
    if name not in REAL_RANGES:
        raise node.unsupported(f"fused activation {name} is not supported")
    low, high = REAL_RANGES[name]
    dtype = NUMPY_TYPES[output.dtype]
    if dtype.kind == "f":
        return Clamp(max(low, -FLOAT_MAX), min(high, FLOAT_MAX), dtype)
    smallest, largest = limits(dtype)
    if name == "NONE":
        return Clamp(smallest, largest, dtype)
    scale = node.scale(output)
    quantized_low = smallest if math.isinf(low) else _quantize(node, low, scale, output.zero_point)
    quantized_high = (
        largest if math.isinf(high) else _quantize(node, high, scale, output.zero_point)
    )
    return Clamp(max(smallest, quantized_low), min(largest, quantized_high), dtype)


def _quantize(node: Node, real: float, scale: float, zero_point: int) -> int:
    steps = float(round_away(np.float32(real) / np.asarray(scale, np.float32)))
    if not abs(steps) < 1 << 31:
        raise node.bad(f"its activation limit {real} is {steps} steps of the scale {scale}")
    return int(steps) + zero_point
