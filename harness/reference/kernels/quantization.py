"""QUANTIZE (real to quantized, and from one quantization to another) and DEQUANTIZE.

Source: TensorFlow Lite operator specification.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from harness.reference.activation import Clamp
from harness.reference.bind import (
    Call,
    Prepared,
    Workspace,
    copied,
    every_value,
    value_table,
)
from harness.reference.fixedpoint import Array, Multiplier, wrap32
from harness.reference.node import Node, Run
from harness.reference.quantization import dequantize as to_real
from harness.reference.quantization import limits
from harness.reference.quantization import quantize as to_quantized
from harness.reference.scaling import Scaling

#: The conversions of TFLM: input type -> output types.
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
        return _from_real(node)
    multiplier = Multiplier.of(node.scale(x) / scale, node.rounding)
    low, high = limits(output.dtype)

    def rescaled(q: Array) -> Array:
        centred = wrap32(q.astype(np.int64) - x.zero_point)
        y = wrap32(multiplier.scale(centred) + output.zero_point)
        return np.asarray(np.clip(y, low, high), output.dtype)

    if x.dtype != "int32":
        return value_table(rescaled(every_value(x.dtype)), x.dtype)
    # A multiplier below 1/2: a zero point does not make a result overflow.
    clamp = Clamp(low, high, np.dtype(output.dtype))
    scaling = Scaling.of(multiplier, output.zero_point, clamp, 1 << 31)
    if scaling is None or multiplier.shift >= 0:
        return lambda values: [rescaled(values[0])]
    return _from_sums(node, scaling)


def _from_sums(node: Node, scaling: Scaling) -> Run:
    """int32 -> int8, int16."""
    x, zero = node.input(0), np.array(node.input(0).zero_point, np.int32)

    def run(values: Sequence[Any]) -> list[Array]:
        return [scaling(values[0] - zero)]  # wraps

    def bind(inputs: Sequence[Any], outputs: Sequence[Array], work: Workspace) -> list[Call]:
        u = work.share("sums", (1, x.elements), np.float64)
        centred = partial(np.subtract, u, np.array(float(zero)), u)
        return [
            copied(u[0], inputs[0].reshape(-1)),
            centred,
            *scaling.calls(u, outputs[0], work, wraps=bool(zero)),
        ]

    return Prepared(run, bind)


def _from_real(node: Node) -> Run:
    """float32 -> int8, int16, as :func:`harness.reference.quantization.quantize`."""
    x, output, scale = node.input(0), node.output(), node.scale(node.output())
    low, high = (np.array(end, np.float64) for end in limits(output.dtype))

    def bind(inputs: Sequence[Any], outputs: Sequence[Array], work: Workspace) -> list[Call]:
        # x + 1/2 is exact in double precision, unless x is so large or small that 1/2 or x is lost.
        ratio = work.share("single", x.shape, np.float32)
        whole, half = (work.share(name, x.shape, np.float64) for name in ("sums", "halves"))
        return [
            partial(np.divide, inputs[0].reshape(x.shape), np.array(scale, np.float32), ratio),
            copied(whole, ratio),
            partial(np.copysign, np.array(0.5), whole, half),
            partial(np.add, whole, half, whole),
            partial(np.trunc, whole, whole),
            partial(np.add, whole, np.array(float(output.zero_point)), whole),
            partial(np.maximum, whole, low, out=whole),
            partial(np.minimum, whole, high, out=whole),
            copied(outputs[0].reshape(x.shape), whole),
        ]

    def run(values: Sequence[Any]) -> list[Array]:
        return [to_quantized(values[0], scale, output.zero_point, output.dtype)]

    return Prepared(run, bind, quiet=False)


def dequantize(node: Node) -> Run:
    """Of any shape. int8, int16, uint8 -> float32."""
    x, output = node.input(0), node.output()
    node.check_output(x.shape)
    if x.dtype not in ("int8", "int16", "uint8") or output.dtype != "float32":
        raise node.unsupported(f"{x.dtype} to {output.dtype} is not supported")
    scale = node.scale(x)
    if x.dtype != "int16":
        return value_table(to_real(every_value(x.dtype), scale, x.zero_point), x.dtype)
    return lambda values: [to_real(values[0], scale, x.zero_point)]
