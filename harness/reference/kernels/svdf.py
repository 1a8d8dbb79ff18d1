"""SVDF: a rank-decomposed filter over time with a state of past features.

Each inference shifts the state of every filter by one, appends the new feature (input . feature
weights), and sums state * time weights over time and over the filters of a unit. Source: TensorFlow
Lite operator specification.
"""

from __future__ import annotations

import numpy as np

from harness.reference.arrays import Array
from harness.reference.node import Node, Run
from harness.reference.products import centred
from harness.reference.quantization import limits
from harness.reference.scale import Clamp

_BIAS_TOLERANCE = 1e-5


def svdf(node: Node) -> Run:
    """Inputs: x (N, depth), feature weights (filters, depth), time weights (filters, memory),
    optional bias (units,), state (N, filters * memory), a variable. Output (N, units).

    int8 with an int8 or int16 state, float32. There are units * rank filters; the filters of a unit
    are adjacent.
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
        raise node.bad(f"its state has the shape {list(state.shape)} or is not a variable")
    if node.present(3) and node.input(3).elements != units:
        raise node.bad(f"its bias has {node.input(3).elements} elements for {units} units")
    node.check_output((x.shape[0], units))
    if node.check_types("int8 float32") == "float32":
        return _real(node, rank)
    return _quantized(node, rank)


def _advance(state: Array, feature: Array, memory: int) -> Array:
    """The state (1, N, filters * memory), shifted by one in place, with ``feature`` (1, N, filters)
    appended: (1, N, filters, memory).
    """
    past = state.reshape(*state.shape[:2], -1, memory)
    past[..., :-1] = past[..., 1:]
    past[..., -1] = feature
    return past


def _sums(past: Array, time: Array, rank: int) -> Array:
    """The sums of state * time weights over time and the filters of a unit: float64 (1, N, units).

    Products of integers are below 2^33, so the sums are exact.
    """
    sums = np.einsum("rnfm,rfm->rnf", past, time.astype(np.float64))
    return np.asarray(sums.reshape(*sums.shape[:2], -1, rank).sum(axis=-1))


def _real(node: Node, rank: int) -> Run:
    if any(node.input(i).dtype != "float32" for i in (1, 2, 4)):
        raise node.refused("float32 with other weights or another state")
    if node.present(3) and node.input(3).dtype != "float32":
        raise node.refused(f"its bias is {node.input(3).dtype}, beside float32 activations")
    clamp = node.clamp()

    def run(x: Array, weights: Array, time: Array, bias: Array | None, state: Array) -> Array:
        feature = x.astype(np.float64) @ np.swapaxes(weights, 1, 2).astype(np.float64)
        past = _advance(state, feature.astype(np.float32), time.shape[-1])
        y = _sums(past.astype(np.float64), time, rank)
        return clamp(y if bias is None else y + bias[:, None])

    return run


def _quantized(node: Node, rank: int) -> Run:
    x, feature, time, state, output = *(node.input(i) for i in (0, 1, 2, 4)), node.output()
    if feature.dtype != "int8" or time.dtype not in ("int8", "int16"):
        raise node.refused(f"{feature.dtype} and {time.dtype} weights")
    if time.dtype != state.dtype:
        raise node.bad(f"TFLM reads its {state.dtype} state as {time.dtype}, as its time weights")
    scales = [node.precise(node.scale(t)) for t in (x, feature, state, time, output)]
    # The zero point of the state is added after the clamp, and wraps.
    stored = Clamp(*limits(state.dtype), np.dtype(np.int64))
    first = node.rescaled(node.multiplier(float(scales[0] * scales[1] / scales[2])), 0, stored)
    second = node.requantizer(float(scales[2] * scales[3] / scales[4]))
    if node.present(3):
        if node.input(3).dtype != "int32":
            raise node.refused(f"its bias is {node.input(3).dtype}, beside int8 activations")
        if not abs(node.input(3).scale - float(scales[2] * scales[3])) < _BIAS_TOLERANCE:
            raise node.bad("its bias has another scale than state times time weights")

    def run(q: Array, weights: Array, time: Array, bias: Array | None, past: Array) -> Array:
        sums = centred(q, x.zero_point) @ np.swapaxes(weights, 1, 2).astype(np.float64)
        new = (first(sums) + state.zero_point).astype(past.dtype)
        past = _advance(past, new, time.shape[-1])
        return second(_sums(centred(past, state.zero_point), time, rank), bias)

    return run
