"""QUANTIZE (real to quantized, and from one quantization to another) and DEQUANTIZE.

Source: TensorFlow Lite operator specification.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from harness.reference.fixedpoint import Array, Multiplier, wrap32
from harness.reference.node import Node, Run
from harness.reference.quantization import dequantize as to_real
from harness.reference.quantization import limits
from harness.reference.quantization import quantize as to_quantized

#: What TFLM converts: input type -> output types.
_CONVERSIONS = {
    "float32": "int8 int16",
    "int32": "int8 int16",
    "int16": "int8 int16 int32",
    "int8": "int8 uint8 int16 int32",
    "uint8": "int8",
}


def quantize(node: Node) -> Run:
    """Of any shape. float32 -> int8, int16; between the integer types with a new scale."""
    x, output = node.input(0), node.output()
    node.check_output(x.shape)
    if output.dtype not in _CONVERSIONS.get(x.dtype, "").split():
        raise node.unsupported(f"{x.dtype} to {output.dtype} is not supported")
    scale = node.scale(output)
    if x.dtype == "float32":
        return lambda values: [to_quantized(values[0], scale, output.zero_point, output.dtype)]
    multiplier = Multiplier.of(node.scale(x) / scale, node.rounding)
    low, high = limits(output.dtype)

    def run(values: Sequence[Any]) -> list[Array]:
        centred = wrap32(values[0].astype(np.int64) - x.zero_point)
        y = wrap32(multiplier.scale(centred) + output.zero_point)
        return [np.clip(y, low, high).astype(output.dtype)]

    return run


def dequantize(node: Node) -> Run:
    """Of any shape. int8, int16, uint8 -> float32."""
    x, output = node.input(0), node.output()
    node.check_output(x.shape)
    if x.dtype not in ("int8", "int16", "uint8") or output.dtype != "float32":
        raise node.unsupported(f"{x.dtype} to {output.dtype} is not supported")
    scale = node.scale(x)
    return lambda values: [to_real(values[0], scale, x.zero_point)]
