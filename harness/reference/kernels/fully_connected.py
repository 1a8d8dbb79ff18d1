"""FULLY_CONNECTED.

y[b, o] = activation(sum_d x[b, d] * w[o, d] + bias[o]): TensorFlow Lite operator specification,
and for integers its 8-bit quantization specification (weights symmetric, int32 accumulators for
int8, int64 or int32 for int16 activations).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from harness.model import Tensor
from harness.reference.activation import clamp_for
from harness.reference.exact import ExactMatrix
from harness.reference.fixedpoint import Array, Multiplier
from harness.reference.node import Node, Run
from harness.reference.requantize import Requantizer, largest_input, product_scales


def fully_connected(node: Node) -> Run:
    """Input (..., depth) or anything of batches * depth elements, weights (outputs, depth).

    Optional bias (outputs,). int8 x int8, int8 x int4, int16 x int8, float32.
    """
    x, weights, output = node.input(0), node.input(1), node.output()
    if len(weights.shape) < 2 or not output.shape or 0 in weights.shape:
        raise node.bad(f"its weights have the shape {list(weights.shape)}")
    depth, columns = weights.shape[-1], output.shape[-1]
    batches = math.prod(output.shape[:-1])
    if x.elements != batches * depth or columns > weights.shape[-2]:
        raise node.bad(
            f"input {list(x.shape)}, weights {list(weights.shape)} and output"
            f" {list(output.shape)} do not fit"
        )
    if node.check_types("int8 int16 float32") == "float32":
        return _real(node, weights, (batches, depth))
    return _quantized(node, weights, (batches, depth))


def _real(node: Node, weights: Tensor, shape: tuple[int, int]) -> Run:
    if weights.dtype != "float32":
        raise node.unsupported(f"float32 with {weights.dtype} weights is not supported")
    output = node.output()
    columns = output.shape[-1]
    clamp = clamp_for(node, output)

    def run(values: Sequence[Any]) -> list[Array]:
        x = values[0].reshape(len(values[0]), *shape).astype(np.float64)
        w = values[1].reshape(len(values[1]), -1, shape[1])[:, :columns].astype(np.float64)
        y = x @ np.swapaxes(w, 1, 2)
        if node.present(2):
            y = y.astype(np.float32) + values[2][:, None, :columns]
        return [clamp(y.astype(np.float32)).reshape(len(y), *output.shape)]

    return run


def _quantized(node: Node, weights: Tensor, shape: tuple[int, int]) -> Run:
    x, output = node.input(0), node.output()
    allowed = ("int8", "int4") if x.dtype == "int8" else ("int8",)
    if weights.dtype not in allowed:
        raise node.unsupported(f"{x.dtype} with {weights.dtype} weights is not supported")
    columns = output.shape[-1]
    zero = x.zero_point
    requantize = Requantizer.of(node, _multiplier(node, weights), columns)
    bound = largest_input(x)
    fixed = node.constant(1)
    if fixed is not None:
        matrix = ExactMatrix.of(fixed.reshape(-1, shape[1])[:columns].T, bound)

    def product(values: Sequence[Any]) -> Array:
        centred = values[0].reshape(len(values[0]), *shape).astype(np.int64) - zero
        if fixed is not None:
            return matrix.product(centred)
        w = values[1].reshape(len(values[1]), -1, shape[1])[:, :columns].astype(np.float64)
        return np.asarray(centred.astype(np.float64) @ np.swapaxes(w, 1, 2), np.int64)

    def run(values: Sequence[Any]) -> list[Array]:
        bias = values[2][:, None, :columns] if node.present(2) else None
        y = requantize(product(values), bias)
        return [y.reshape(len(y), *output.shape)]

    return run


def _multiplier(node: Node, weights: Tensor) -> Multiplier:
    per_channel = weights.quantization is not None and len(weights.quantization.scales) > 1
    if per_channel and weights.dtype == "int4":
        raise node.unsupported("int4 weights with a scale for each channel are not supported")
    reals = product_scales(node, weights, channels=weights.shape[-2] if per_channel else 0)
    return Multiplier.of(reals, node.rounding)
