"""FULLY_CONNECTED and BATCH_MATMUL.

y[b, o] = activation(sum_d x[b, d] * w[o, d] + bias[o]): TensorFlow Lite operator specification,
and for integers its 8-bit quantization specification (weights symmetric, accumulators of 32 bits
for int8, of 64 or 32 bits for int16 activations).
"""

from __future__ import annotations

import math

import numpy as np

from harness.model import Tensor
from harness.reference.arrays import Array, aligned
from harness.reference.node import Node, Run
from harness.reference.products import (
    centred,
    channel_multiplier,
    check_bias_scale,
    check_products,
    check_weight_types,
    integer_output,
    product_multiplier,
    real_output,
    weight_scales,
)
from harness.reference.scale import Multiplier

#: Double precision represents all integers up to this one.
_EXACT = 1 << 53


def fully_connected(node: Node) -> Run:
    """Input (..., depth), or another shape of batches * depth elements; weights (outputs, depth);
    optional bias (outputs,).

    int8 x int8, int8 x int4, int16 x int8, float32.
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
    check_products(node, batches * depth * columns)
    if check_weight_types(node, weights) == "float32":
        finish = real_output(node, columns)
    else:
        finish = integer_output(node, _multiplier(node, weights), columns)
    zero, offset = x.zero_point, _weight_offset(weights)

    def matrix(w: Array) -> Array:
        """(runs, ..., depth) to (runs, depth, columns)."""
        return np.swapaxes(centred(w.reshape(len(w), -1, depth)[:, :columns], offset), 1, 2)

    value = node.constant(1)
    fixed = None if value is None else np.ascontiguousarray(matrix(value[None])[0])

    def run(x: Array, weights: Array, bias: Array | None = None) -> Array:
        rows = centred(x, zero).reshape(len(x), batches, depth)
        if fixed is None:
            sums = rows @ matrix(weights)
        else:  # a single matrix product is faster
            sums = (rows.reshape(-1, depth) @ fixed).reshape(len(x), batches, columns)
        return finish(sums.reshape(len(sums), *output.shape), bias)

    return run


def _multiplier(node: Node, weights: Tensor) -> Multiplier:
    if len(weight_scales(node, weights)) > 1:
        if weights.dtype == "int4":
            raise node.unsupported("int4 weights with a scale for each channel are not supported")
        return channel_multiplier(node, weights, weights.shape[-2])
    multiplier = product_multiplier(node, node.input(0), weights)
    if node.present(2):
        check_bias_scale(node, weights, node.input(2))
    return multiplier


def _weight_offset(weights: Tensor) -> int:
    scales = weights.quantization.scales if weights.quantization else ()
    return weights.zero_point if len(scales) == 1 else 0  # TFLM's per-channel form has none


def batch_matmul(node: Node) -> Run:
    """Inputs (..., rows, depth) and (..., depth, columns), or transposed (``adj_x``, ``adj_y``).

    Leading axes broadcast; both inputs may have a zero point. int8 (32-bit sums), int16 (64-bit
    sums, zero points 0), float32.
    """
    x, y, output = node.input(0), node.input(1), node.output()
    dtype = node.check_types("int8 int16 float32")
    if y.dtype != dtype:
        raise node.unsupported(f"{dtype} times {y.dtype} is not supported")
    depth = _check_shapes(node)
    check_products(node, output.elements * depth)
    if dtype == "int16" and (x.zero_point or y.zero_point or output.zero_point):
        raise node.bad("int16 tensors must have the zero point 0")
    if dtype != "float32" and _largest(x) * _largest(y) * depth > _EXACT:
        raise node.unsupported(f"sums of {depth} products are not supported")
    rank = len(output.shape)
    transpose_x, transpose_y = node.option("adj_x"), node.option("adj_y")

    def operand(value: Array, tensor: Tensor, transpose: bool) -> Array:
        matrix = centred(aligned(value, rank), tensor.zero_point)
        return np.swapaxes(matrix, -1, -2) if transpose else matrix

    def product(a: Array, b: Array) -> Array:
        return np.asarray(operand(a, x, transpose_x) @ operand(b, y, transpose_y))

    if dtype == "float32":
        return lambda a, b: product(a, b).astype(np.float32)
    clamp, multiplier = node.clamp("NONE"), product_multiplier(node, x, y)
    requantize = node.rescaled(multiplier, output.zero_point, clamp, wide=dtype == "int16")
    return lambda a, b: requantize(product(a, b))


def _largest(x: Tensor) -> int:
    """The largest |value - zero point| of the type of ``x``."""
    info = np.iinfo(x.dtype)
    return max(int(info.max) - x.zero_point, x.zero_point - int(info.min))


def _check_shapes(node: Node) -> int:
    """The depth of the product; checks the output's shape."""
    x, y = list(node.input(0).shape), list(node.input(1).shape)
    if not 2 <= min(len(x), len(y)) <= max(len(x), len(y)) <= 5:
        raise node.bad(f"its inputs have the shapes {x} and {y}")
    if node.option("adj_x"):
        x[-2:] = x[:-3:-1]
    if node.option("adj_y"):
        y[-2:] = y[:-3:-1]
    try:
        lead = np.broadcast_shapes(tuple(x[:-2]), tuple(y[:-2]))
    except ValueError:
        raise node.bad(f"{x} and {y} do not broadcast") from None
    if x[-1] != y[-2] or 0 in x + y:
        raise node.bad(f"the shapes {x} and {y} cannot be multiplied")
    node.check_output((*lead, x[-2], y[-1]))
    return x[-1]
