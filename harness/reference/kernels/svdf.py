"""SVDF: a rank-decomposed filter over time with a state of past features.

Each inference shifts the state of every filter by one, puts the new feature (input . feature
weights) at its end, and sums state * time weights over time and over the filters of a unit.
Source: TensorFlow Lite operator specification.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from harness.reference.activation import clamp_for
from harness.reference.exact import ExactMatrix
from harness.reference.fixedpoint import Array, Multiplier, wrap32
from harness.reference.node import Node, Run
from harness.reference.quantization import limits
from harness.reference.requantize import largest_input

_BIAS_TOLERANCE = 1e-5


def svdf(node: Node) -> Run:
    """Inputs: x (N, depth), feature weights (filters, depth), time weights (filters, memory),
    optional bias (units,), state (N, filters * memory), a variable. Output (N, units).

    int8 with an int8 or int16 state, float32. Filters are units * rank, one unit's together.
    """
    x, feature, time, state = (node.input(i) for i in (0, 1, 2, 4))
    rank = node.option("rank")
    shapes = [tensor.shape for tensor in (x, feature, time)]
    if any(len(shape) != 2 or 0 in shape for shape in shapes) or rank < 1:
        raise node.bad(f"shapes {[list(shape) for shape in shapes]}, rank {rank}")
    filters, memory = time.shape
    units, rest = divmod(filters, rank)
    if rest or feature.shape != (filters, x.shape[1]):
        raise node.bad(f"{filters} filters of rank {rank}, feature weights {list(feature.shape)}")
    if not state.variable or state.shape != (x.shape[0], filters * memory):
        raise node.bad(f"its state has the shape {list(state.shape)} or is no variable")
    if node.present(3) and node.input(3).elements != units:
        raise node.bad(f"its bias has {node.input(3).elements} elements for {units} units")
    node.check_output((x.shape[0], units))
    if node.check_types("int8 float32") == "float32":
        return _real(node, memory, rank)
    return _quantized(node, memory, rank)


def _advance(state: Array, memory: int, feature: Array) -> Array:
    """Shift the state (runs, N, filters * memory) and append ``feature``; a view by filter."""
    view = state.reshape(*state.shape[:2], -1, memory)
    view[..., :-1] = view[..., 1:]
    view[..., -1] = feature
    return view


def _real(node: Node, memory: int, rank: int) -> Run:
    if any(node.input(i).dtype != "float32" for i in (1, 2, 4)):
        raise node.unsupported("float32 with other weights or state is not supported")
    if node.present(3) and node.input(3).dtype != "float32":
        raise node.refused(f"float32 with an {node.input(3).dtype} bias")
    clamp = clamp_for(node, node.output())
    weights = node.constant(1)
    fixed = None if weights is None else weights.astype(np.float64)[None]

    def run(values: Sequence[Any]) -> list[Array]:
        x, weights, time, bias, state = values[:5]
        matrix = weights.astype(np.float64) if fixed is None else fixed
        feature = x.astype(np.float64) @ np.swapaxes(matrix, 1, 2)
        past = _advance(state, memory, feature.astype(np.float32)).astype(np.float64)
        sums = np.einsum("rnfm,rfm->rnf", past, time)
        y = sums.reshape(*sums.shape[:2], -1, rank).sum(axis=-1)
        if bias is not None:
            y = y + bias[:, None]
        return [clamp(y.astype(np.float32))]

    return run


def _quantized(node: Node, memory: int, rank: int) -> Run:
    x, feature, time, state, output = *(node.input(i) for i in (0, 1, 2, 4)), node.output()
    if feature.dtype != "int8" or time.dtype != state.dtype or state.dtype not in ("int8", "int16"):
        raise node.unsupported(f"{feature.dtype} and {time.dtype} weights are not supported")
    scales = [node.precise(node.scale(t)) for t in (x, feature, state, time, output)]
    first = Multiplier.of(float(scales[0] * scales[1] / scales[2]), node.rounding)
    second = Multiplier.of(float(scales[2] * scales[3] / scales[4]), node.rounding)
    if node.present(3):
        if node.input(3).dtype != "int32":
            raise node.unsupported(f"an {node.input(3).dtype} bias is not supported")
        if not abs(node.input(3).scale - float(scales[2] * scales[3])) < _BIAS_TOLERANCE:
            raise node.bad("its bias has another scale than state times time weights")
    low, high = (np.array(end) for end in limits(state.dtype))
    dot, total = _dot(node), _total(node, memory * rank)

    def run(values: Sequence[Any]) -> list[Array]:
        bias, past = values[3:5]
        new = first.scale(dot(values))
        new = np.minimum(np.maximum(new, low), high) + state.zero_point
        _advance(past, memory, new.astype(past.dtype))
        y = total(values)
        if bias is not None:
            y += bias[:, None]
        y = second.scale(wrap32(y))
        y += output.zero_point
        return [np.minimum(np.maximum(y, -128), 127).astype(np.int8)]

    return run


def _dot(node: Node) -> Callable[[Sequence[Any]], Array]:
    """Features: x . feature weights, of 32 bits, (runs, N, filters)."""
    x, zero, fixed = node.input(0), node.input(0).zero_point, node.constant(1)
    if fixed is None:
        return lambda values: wrap32(
            (values[0].astype(np.int64) - zero) @ np.swapaxes(values[1].astype(np.int64), 1, 2)
        )
    matrix = ExactMatrix.of(fixed.T, largest_input(x))

    def dot(values: Sequence[Any]) -> Array:
        sums = matrix.product(matrix.centred(values[0], zero)).astype(np.int64)
        return sums if matrix.bound < 1 << 31 else wrap32(sums)

    return dot


def _total(node: Node, terms: int) -> Callable[[Sequence[Any]], Array]:
    """State * time weights summed over time and a unit's filters, not yet cut to 32 bits.

    A unit's filters lie together, so each unit is one stretch of ``terms`` products, none of which
    reaches 2^33.
    """
    zero, runs, fixed = node.input(4).zero_point, node.input(4).shape[0], node.constant(2)
    ready = None if fixed is None else fixed.reshape(1, 1, -1, terms).astype(np.float64)

    def total(values: Sequence[Any]) -> Array:
        past = values[4].reshape(-1, runs, values[4][0, 0].size // terms, terms)
        times = values[2].reshape(-1, 1, *past.shape[2:]) if ready is None else ready
        products = (past - np.float64(zero)) * times
        return np.asarray(products.sum(axis=-1), np.int64)

    return total
