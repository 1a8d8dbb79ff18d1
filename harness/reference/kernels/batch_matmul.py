"""BATCH_MATMUL: matrix products over broadcast leading axes.

Source: TensorFlow Lite operator specification. Both inputs may have a zero point. The sums are
exact in double precision: |x| |y| is 2^30 at most, so that 2^23 terms stay within 2^53.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from harness.reference.activation import clamp_for
from harness.reference.broadcast import aligned
from harness.reference.exact import FLOAT64_EXACT
from harness.reference.fixedpoint import Array
from harness.reference.node import Node, Run
from harness.reference.requantize import (
    Requantizer,
    largest_input,
    product_multiplier,
)
from harness.reference.window import check_products


def batch_matmul(node: Node) -> Run:
    """Inputs (..., rows, depth) and (..., depth, columns), either one transposed on request.

    int8 (32-bit sums), int16 (64-bit sums, zero points 0), float32.
    """
    x, y, output = node.input(0), node.input(1), node.output()
    dtype = node.check_types("int8 int16 float32")
    if y.dtype != dtype:
        raise node.unsupported(f"{dtype} times {y.dtype} is not supported")
    depth = _check_shapes(node)
    check_products(node, output.elements * depth)
    adjoint = (node.option("adj_x"), node.option("adj_y"))
    zeros = (x.zero_point, y.zero_point)
    rank = len(output.shape)

    def product(values: Sequence[Any]) -> Array:
        sides = []
        for value, zero, turn in zip(values, zeros, adjoint, strict=True):
            side = aligned(value, rank).astype(np.float64)
            if dtype != "float32":
                side -= zero
            sides.append(np.swapaxes(side, -1, -2) if turn else side)
        return np.asarray(sides[0] @ sides[1])

    if dtype == "float32":
        return lambda values: [product(values).astype(np.float32)]
    if dtype == "int16" and (any(zeros) or output.zero_point):
        raise node.bad("int16 tensors must have the zero point 0")
    bound = largest_input(x) * largest_input(y) * depth
    if bound > FLOAT64_EXACT:
        raise node.unsupported(f"sums of {depth} products are not supported")
    clamp = clamp_for(node, output, "NONE")
    requantize = Requantizer(
        product_multiplier(node, x, y),
        output.zero_point,
        clamp,
        wide=dtype == "int16",
        wraps=bound >= 1 << 31,
        bias=-1,
    )
    return lambda values: [requantize(product(values), values)]


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
        raise node.bad(f"{x} times {y}")
    node.check_output((*lead, x[-2], y[-1]))
    return x[-1]
