"""SVDF: a rank-decomposed filter over time with a state of past features.

Each inference shifts the state of every filter by one, puts the new feature (input . feature
weights) at its end, and sums state * time weights over time and over the filters of a unit.
Source: TensorFlow Lite operator specification.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from harness.reference.activation import Clamp, clamp_for
from harness.reference.bind import Bind, Call, Prepared, Workspace, copied, product_of, unbound
from harness.reference.exact import ExactMatrix
from harness.reference.fixedpoint import Array, Multiplier, wrap32
from harness.reference.folding import Finish, Folded
from harness.reference.node import Node, Run
from harness.reference.quantization import limits
from harness.reference.requantize import largest_input
from harness.reference.scaling import Scaling

_BIAS_TOLERANCE = 1e-5


def svdf(node: Node) -> Run:
    """Inputs: x (N, depth), feature weights (filters, depth), time weights (filters, memory),
    optional bias (units,), state (N, filters * memory), a variable. Output (N, units).

    int8 with an int8 or int16 state, float32. There are units * rank filters; those of a unit are
    neighbours.
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
        return _real(node, memory, rank)
    return _quantized(node, memory, rank)


def _advance(state: Array, memory: int, feature: Array) -> Array:
    """Shift the state (1, N, filters * memory) and append ``feature`` (runs, N, filters).

    Runs are consecutive. Returns the state in each of them: (runs, N, filters, memory).
    """
    view = state.reshape(*state.shape[:2], -1, memory)
    runs = len(feature)
    if runs == 1:
        view[..., :-1] = view[..., 1:]
        view[..., -1] = feature
        return view
    sequence = np.concatenate([view[0, ..., 1:], np.moveaxis(feature, 0, -1)], axis=-1)
    view[0] = sequence[..., runs - 1 :]
    step = sequence.strides[-1]
    windows = as_strided(sequence, (runs, *view.shape[1:]), (step, *sequence.strides))
    return np.ascontiguousarray(windows)


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

    return Prepared(run, unbound, consecutive=True)


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
    folded = _folded(node, first)
    feature_of, filters = _feature(node, first, folded), _Filters.of(node, second)

    def run(values: Sequence[Any]) -> list[Array]:
        bias, past = values[3:5]
        if filters is not None:
            return [filters(past, feature_of(values))]
        past = _advance(past, memory, feature_of(values))
        y = _total(node, memory * rank, past, values[2])
        if bias is not None:
            y += bias[:, None]
        y = second.scale(wrap32(y))
        y += output.zero_point
        return [np.minimum(np.maximum(y, -128), 127).astype(np.int8)]

    if folded is None or filters is None:
        return Prepared(run, unbound, consecutive=True)
    return Prepared(run, _bind(node, folded, filters), consecutive=True)


@dataclass(frozen=True)
class _Filters:
    """Constant time weights and bias: from the state to the outputs.

    ``weights`` are (memory, filters), ``bias`` (units,) is without the share of the state's zero
    point. Both have 32 bits, as the device's sums, which ``scaling`` takes.
    """

    weights: Array
    bias: Array
    scaling: Scaling
    wraps: bool

    @classmethod
    def of(cls, node: Node, second: Multiplier) -> _Filters | None:
        """None if weights or bias are computed, or if a scaling would be wrong."""
        time, state, output = node.constant(2), node.input(4), node.output()
        units = output.shape[1]
        bias = node.constant(3) if node.present(3) else np.zeros(units, np.int64)
        if time is None or bias is None:
            return None
        rows = time.reshape(units, -1).astype(np.int64)
        bias = bias.astype(np.int64) - state.zero_point * rows.sum(axis=1)
        largest = -int(np.iinfo(state.dtype).min)
        reach = int((np.abs(rows).sum(axis=1) * largest + np.abs(bias)).max())
        clamp = Clamp(-128, 127, np.dtype(np.int8))
        scaling = Scaling.of(second, output.zero_point, clamp, reach)
        if scaling is None:
            return None
        weights = np.ascontiguousarray(time.T, np.int32)
        return cls(weights, bias.astype(np.int32), scaling, reach >= 1 << 31)

    def __call__(self, state: Array, feature: Array) -> Array:
        """New features (runs, N, filters) of consecutive runs to outputs; the state is advanced.

        Numbers of 32 bits wrap as on the device.
        """
        runs, count, filters = feature.shape
        memory, width = len(self.weights), count * filters
        view = state.reshape(width, memory)
        sequence = np.empty((memory - 1 + runs, width), np.int32)
        sequence[: memory - 1] = view[:, 1:].T
        sequence[memory - 1 :] = feature.reshape(runs, width)
        view[...] = sequence[runs - 1 :].T
        shape, (step, one) = (runs, memory, count, filters), sequence.strides
        windows = np.ndarray(shape, np.int32, sequence, 0, (step, step, one * filters, one))
        sums = np.einsum("rmnf,mf->rnf", windows, self.weights)
        units = len(self.bias)
        if units < filters:
            sums = sums.reshape(runs, count, units, -1).sum(axis=-1, dtype=np.int32)
        sums += self.bias
        return self.scaling(sums)

    def calls(self, state: Array, output: Array, work: Workspace) -> list[Call]:
        """The same for one run and a ``state`` that is advanced already."""
        units = len(self.bias)
        terms = self.weights.size // units
        rows = work.keep((output.size, terms + 1), np.float64, 1.0)
        weights = work.keep(rows.shape, np.float64)
        weights.reshape(-1, units, terms + 1)[...] = np.c_[
            self.weights.T.reshape(units, terms), self.bias
        ]
        products = work.share("terms", rows.shape, np.float64)
        u = work.share("sums", (output.size, 1), np.float64)
        return [
            copied(rows[:, :-1], state.reshape(output.size, terms)),
            partial(np.multiply, rows, weights, products),
            product_of(products, np.ones((terms + 1, 1)), u),
            *self.scaling.calls(u, output, work, wraps=self.wraps),
        ]


def _bind(node: Node, folded: Folded, filters: _Filters) -> Bind:
    """One inference; see :func:`_quantized`."""
    x, time = node.input(0), node.input(2)

    def bind(inputs: Sequence[Any], outputs: Sequence[Array], work: Workspace) -> list[Call]:
        flat = inputs[4].reshape(-1)
        state = flat.reshape(-1, time.shape[1])
        feature = work.keep((x.shape[0], time.shape[0]), flat.dtype)
        return [
            *folded.bind(inputs[0].reshape(x.shape), feature, work),
            copied(flat[:-1], flat[1:]),  # the element of the next filter is overwritten
            copied(state[:, -1], feature.reshape(-1)),
            *filters.calls(state, outputs[0], work),
        ]

    return bind


def _folded(node: Node, first: Multiplier) -> Folded | None:
    """Features and their scaling in one, for constant weights."""
    x, state, fixed = node.input(0), node.input(4), node.constant(1)
    if fixed is None:
        return None
    clamp = Clamp(*limits(state.dtype), np.dtype(state.dtype))
    bias = np.zeros(len(fixed), np.int64)
    folded = Folded.of(fixed.T, first, bias, (x.zero_point, 0), clamp)
    if folded is None or not state.zero_point:
        return folded
    if not isinstance(folded.finish, Finish):
        return None
    # The zero point is added behind the clamp, and wraps.
    table = (folded.finish.table.astype(np.int64) + state.zero_point).astype(clamp.dtype)
    return replace(folded, finish=replace(folded.finish, table=table))


def _feature(
    node: Node, first: Multiplier, folded: Folded | None
) -> Callable[[Sequence[Any]], Array]:
    """The new features (runs, N, filters), of the state's type."""
    x, state, dot = node.input(0), node.input(4), _dot(node)
    low, high = (np.array(end) for end in limits(state.dtype))
    dtype, shape = np.dtype(state.dtype), (x.shape[0], node.input(1).shape[0])

    def feature(values: Sequence[Any]) -> Array:
        if folded is not None:
            rows = folded(values[0].reshape(-1, x.shape[1]))
            return rows.reshape(-1, *shape)
        new = first.scale(dot(values))
        new = np.minimum(np.maximum(new, low), high) + state.zero_point
        return np.asarray(new.astype(dtype))

    return feature


def _dot(node: Node) -> Callable[[Sequence[Any]], Array]:
    """Features: x . feature weights, wrapped to 32 bits, (runs, N, filters)."""
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


def _total(node: Node, terms: int, past: Array, weights: Array) -> Array:
    """State * time weights summed over time and a unit's filters, not yet cut to 32 bits.

    The filters of a unit are neighbours, so each unit is one stretch of ``terms`` products, each
    below 2^33.
    """
    past = past.reshape(len(past), node.input(4).shape[0], -1, terms)
    products = (past - np.float64(node.input(4).zero_point)) * weights.reshape(
        -1, 1, *past.shape[2:]
    )
    return np.asarray(products.sum(axis=-1), np.int64)
