"""FULLY_CONNECTED.

y[b, o] = activation(sum_d x[b, d] * w[o, d] + bias[o]): TensorFlow Lite operator specification,
and for integers its 8-bit quantization specification (weights symmetric, accumulators of 32 bits
for int8, of 64 or 32 bits for int16 activations).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from harness.model import Tensor
from harness.reference.activation import clamp_for
from harness.reference.bind import Call, Prepared, Workspace, sums_of
from harness.reference.exact import FLOAT64_EXACT, ExactMatrix
from harness.reference.fixedpoint import Array
from harness.reference.node import Node, Run
from harness.reference.requantize import (
    Requantizer,
    channel_multiplier,
    check_bias_scale,
    check_weight_types,
    largest_input,
    product_multiplier,
    weight_scales,
)
from harness.reference.window import check_products


def fully_connected(node: Node) -> Run:
    """Input (..., depth), or another shape of batches * depth elements; weights (outputs, depth).

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
    check_products(node, batches * depth * columns)
    if check_weight_types(node, weights) == "float32":
        return _real(node, weights, (batches, depth))
    return _quantized(node, weights, (batches, depth))


def _weight_offset(weights: Tensor) -> int:
    scales = weights.quantization.scales if weights.quantization else ()
    return weights.zero_point if len(scales) == 1 else 0  # TFLM's per-channel form has none


def _product(
    node: Node, weights: Tensor, shape: tuple[int, int], make: Callable[[Array], ExactMatrix]
) -> tuple[Callable[[Sequence[Any]], Array], int]:
    """The product sums (runs, batches, columns), and a bound on their magnitude."""
    columns, zero = node.output().shape[-1], node.input(0).zero_point
    offset = _weight_offset(weights)
    fixed = node.constant(1)
    if fixed is not None and offset:
        fixed = fixed.astype(np.int64) - offset
    # Weights that another operator computes become a matrix for each run.
    matrix = None if fixed is None else make(fixed.reshape(-1, shape[1])[:columns].T)
    outside = None if matrix is None else zero * matrix.matrix.sum(axis=0)

    def product(values: Sequence[Any]) -> Array:
        x = values[0].reshape(len(values[0]), *shape)
        if matrix is not None:
            sums = matrix.product(x.astype(matrix.dtype))
            return sums - outside if zero else sums
        w = values[1].reshape(len(values[1]), -1, shape[1])[:, :columns].astype(np.float64) - offset
        return np.asarray((x.astype(np.float64) - zero) @ np.swapaxes(w, 1, 2))

    return product, FLOAT64_EXACT if matrix is None else matrix.bound


def _real(node: Node, weights: Tensor, shape: tuple[int, int]) -> Run:
    output = node.output()
    columns = output.shape[-1]
    clamp = clamp_for(node, output)
    product, _ = _product(node, weights, shape, ExactMatrix.real)

    def run(values: Sequence[Any]) -> list[Array]:
        y = product(values)
        if node.present(2):
            y = y + values[2][:, None, :columns]
        return [clamp.real(y).reshape(len(y), *output.shape)]

    def bind(inputs: Sequence[Any], outputs: Sequence[Array], work: Workspace) -> list[Call] | None:
        w, bias = (node.constant(index) if node.present(index) else None for index in (1, 2))
        if w is None or (bias is None and node.present(2)):
            return None
        added = np.zeros(columns) if bias is None else bias[:columns]
        matrix = np.vstack([w.reshape(-1, shape[1])[:columns].T, added], dtype=np.float64)
        sums, calls = sums_of(inputs[0].reshape(shape), matrix, work)
        return [*calls, *clamp.stored(sums, outputs[0].reshape(sums.shape))]

    return Prepared(run, bind)


def _quantized(node: Node, weights: Tensor, shape: tuple[int, int]) -> Run:
    x, output = node.input(0), node.output()
    columns = output.shape[-1]
    if len(weight_scales(node, weights)) > 1:
        if weights.dtype == "int4":
            raise node.unsupported("int4 weights with a scale for each channel are not supported")
        multiplier = channel_multiplier(node, weights, weights.shape[-2])
    else:
        multiplier = product_multiplier(node, x, weights)
        if node.present(2):
            check_bias_scale(node, weights, node.input(2))
    largest = largest_input(x)
    product, bound = _product(node, weights, shape, lambda w: ExactMatrix.of(w, largest))
    requantize = Requantizer.of(node, multiplier, columns, bound=bound)

    def run(values: Sequence[Any]) -> list[Array]:
        y = requantize(product(values), values)
        return [y.reshape(len(y), *output.shape)]

    fixed = node.constant(1)
    if fixed is None:
        return run
    w = fixed.reshape(-1, shape[1])[:columns].T.astype(np.int64) - _weight_offset(weights)
    folded = requantize.folded(w, x) or requantize.summed(w, x)
    if folded is None:
        return run

    def small(values: Sequence[Any]) -> list[Array]:
        y = folded(values[0].reshape(-1, shape[1]))
        return [y.reshape(len(values[0]), *output.shape)]

    def bind(inputs: Sequence[Any], outputs: Sequence[Array], work: Workspace) -> list[Call]:
        return folded.bind(inputs[0].reshape(shape), outputs[0], work)

    return Prepared(small if folded.small else run, bind)
