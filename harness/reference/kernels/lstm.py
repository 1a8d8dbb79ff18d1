"""UNIDIRECTIONAL_SEQUENCE_LSTM without peepholes, projection or layer normalization, as in TFLM.

Per time step, with gates i, f, o (sigmoid) and g (tanh) of W x + b + R h:
c = f * c + i * g, clipped to ``cell_clip``; h = o * tanh(c). Source: TensorFlow Lite operator
specification. Quantized: gates and cell have 16 bits (gate inputs Q3.12, outputs Q0.15), and the
scale of the cell is a power of two.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np

from harness.model import Tensor
from harness.reference.arrays import Array
from harness.reference.functions import log2_of, sigmoid16, tanh16
from harness.reference.node import Node, Run
from harness.reference.products import centred, check_products
from harness.reference.scale import Clamp

#: Inputs 1-4 are input weights, 5-8 recurrent weights, 12-15 biases, each of the input, forget,
#: cell and output gate. This order puts the cell gate (tanh) after the sigmoids.
_GATES = (0, 1, 3, 2)
_HIDDEN, _CELL = 18, 19
_ABSENT = (9, 10, 11, 16, 17, 20, 21, 22, 23)
_GATE_INPUT_SCALE = 2.0**-12
_GATE_OUTPUT_SCALE = 2.0**-15
#: Cell scales are 2^-30 to 1: with a smaller one the tanh of a 16-bit cell is 0.
_POWERS = 30
_LOW, _HIGH = Clamp.whole(np.int16).range
#: 16-bit values as int64, the type of their products.
_INT16 = Clamp(_LOW, _HIGH, np.dtype(np.int64))

#: The input's contribution to all gates: (time, N, depth) -> (time, N, 4 * units).
_Project = Callable[[Array], Array]
#: One time step: contribution (N, 4 * units), hidden state and cell (N, units) -> new states.
_Step = Callable[[Array, Array, Array], tuple[Array, Array]]


def unidirectional_sequence_lstm(node: Node) -> Run:
    """Input (N, time, depth), or (time, N, depth) if ``time_major``; output (..., units).

    int8 (biases int32), int16 (biases int64), float32; int16 or float32 cell state.
    """
    x, output, units = node.input(0), node.output(), _check(node)
    time_axis = 0 if node.option("time_major") else 1
    batch = x.shape[1 - time_axis]
    check_products(node, 4 * x.elements * units + 4 * x.shape[time_axis] * batch * units**2)
    project, step = (_real if x.dtype == "float32" else _quantized)(node)

    def run(*values: Array) -> Array:
        hidden, cell = (values[place].reshape(batch, units) for place in (_HIDDEN, _CELL))
        h, c = hidden, cell
        gates = project(np.moveaxis(values[0][0], time_axis, 0))
        y = np.empty((1, *output.shape), hidden.dtype)
        for part, row in zip(gates, np.moveaxis(y[0], time_axis, 0), strict=True):
            h, c = step(part, h, c)
            row[...] = h
        hidden[...], cell[...] = h, c
        return y

    return run


def _check(node: Node) -> int:
    """The number of units. Raises UnsupportedOperator for variants that TFLM lacks, BadModel."""
    x, hidden, cell = node.input(0), node.input(_HIDDEN), node.input(_CELL)
    if any(node.present(index) for index in _ABSENT):
        raise node.unsupported("peepholes, projection and layer normalization are not supported")
    if node.option("fused_activation_function") != "TANH":
        raise node.unsupported("a cell gate other than tanh is not supported")
    if len(x.shape) != 3 or len(hidden.shape) != 2 or 0 in x.shape + hidden.shape:
        raise node.bad(f"input {list(x.shape)}, hidden state {list(hidden.shape)}")
    node.check_types("int8 int16 float32")
    units, depth = hidden.shape[1], x.shape[2]
    batch = x.shape[1 if node.option("time_major") else 0]
    weights = "float32" if x.dtype == "float32" else "int8"
    bias = {"int8": "int32", "int16": "int64", "float32": "float32"}[x.dtype]
    for gate in range(4):
        for index, shape, dtype in (
            (1 + gate, (units, depth), weights),
            (5 + gate, (units, units), weights),
            (12 + gate, (units,), bias),
        ):
            tensor = node.input(index)
            if tensor.shape != shape or tensor.dtype != dtype:
                raise node.bad(f"its input {index} is {tensor.dtype} {list(tensor.shape)}")
    for state, dtype in ((hidden, x.dtype), (cell, "float32" if weights == "float32" else "int16")):
        if not state.variable or state.elements != batch * units or state.dtype != dtype:
            raise node.bad(f"its state {state.index} is {state.dtype} {list(state.shape)}")
    node.check_output((*x.shape[:2], units))
    return units


def _stacked(node: Node, first: int, what: str) -> Array:
    """The constants of the four gates, one after another along the first axis."""
    return np.concatenate([node.required_constant(first + gate, what) for gate in _GATES])


def _real(node: Node) -> tuple[_Project, _Step]:
    units = node.input(_HIDDEN).shape[1]
    weights, recurrent, bias = (
        _stacked(node, first, what).T.astype(np.float64)
        for first, what in ((1, "a weight"), (5, "a weight"), (12, "a bias"))
    )
    clip = float(np.float32(node.option("cell_clip")))

    def project(x: Array) -> Array:
        return np.asarray(x @ weights + bias)

    def step(part: Array, h: Array, c: Array) -> tuple[Array, Array]:
        gates = h @ recurrent + part
        i, f, o = _thirds(1 / (1 + np.exp(-gates[:, : 3 * units])))
        cell = f * c + i * np.tanh(gates[:, 3 * units :])
        if clip > 0:
            cell = np.minimum(np.maximum(cell, -clip), clip)
        c = cell.astype(np.float32)  # states are rounded in each step
        return (o * np.tanh(c.astype(np.float64))).astype(np.float32), c

    return project, step


def _quantized(node: Node) -> tuple[_Project, _Step]:
    x, hidden, cell = node.input(0), node.input(_HIDDEN), node.input(_CELL)
    units, scale, unit = hidden.shape[1], node.scale(cell), _GATE_OUTPUT_SCALE
    power, _ = log2_of(scale)
    if not -_POWERS <= power <= 0:
        raise node.bad(f"its cell state has the scale {scale}")
    bias = _stacked(node, 12, "a bias")[None]
    project, recur = _gates(node, x, 1), _gates(node, hidden, 5)
    # The products of the cell: forget gate and cell, input gate and cell gate.
    products = node.multiplier([unit * scale / scale] * units + [unit * unit / scale] * units)
    clip = int(min(max(float(np.float32(node.option("cell_clip"))) / scale, -32768.0), 32767.0))
    ends = (max(_LOW, -clip), min(_HIGH, clip)) if clip > 0 else _INT16.range
    keep, squash = Clamp(*ends, np.dtype(np.int64)), _cell_table(power)
    sigmoid, tanh = _gate_table(sigmoid16), _gate_table(tanh16)
    multiplier = node.multiplier(unit * unit / node.scale(hidden))
    output = node.rescaled(multiplier, hidden.zero_point, Clamp.whole(hidden.dtype))

    def step(part: Array, h: Array, c: Array) -> tuple[Array, Array]:
        sums = _INT16(part + recur(h, None))
        i, f, o = _thirds(sigmoid.take(sums[:, : 3 * units]))
        g = tanh.take(sums[:, 3 * units :])
        terms = _INT16(products.scale(np.concatenate([f * c, i * g], axis=1)))
        c = keep(terms[:, :units] + terms[:, units:])
        return output(o * squash.take(c)), c

    return lambda x: project(x, bias), step


def _thirds(gates: Array) -> tuple[Array, Array, Array]:
    """Input, forget and output gate; np.split takes ten times as long."""
    units = gates.shape[1] // 3
    return gates[:, :units], gates[:, units : 2 * units], gates[:, 2 * units :]


@cache
def _gate_table(function: Callable[[Array], Array]) -> Array:
    """A gate's function of every int16 sum in Q3.12, indexed by the sum."""
    return function(3 * _every_int16())


@cache
def _cell_table(power: int) -> Array:
    """tanh of every int16 cell of scale 2^power, indexed by the cell."""
    state, shift = 3 * _every_int16(), 12 + power  # in steps of 1/(3 * 2^12)
    return tanh16(state << shift if shift >= 0 else (state + (1 << (-shift - 1))) >> -shift)


def _every_int16() -> Array:
    """All int16 values in the order of NumPy's indices: 0 to 2^15 - 1, then -2^15 to -1."""
    return np.arange(1 << 16).astype(np.int16).astype(np.int64)


def _gates(node: Node, source: Tensor, first: int) -> Callable[[Array, Array | None], Array]:
    """A function for the sums of all gates over ``source`` and a bias: Q3.12, clamped to int16.

    ``first`` is the index of the first gate's weights.
    """
    tensors = [node.input(first + gate) for gate in _GATES]
    units = tensors[0].shape[0]
    zeros = np.repeat([tensor.zero_point for tensor in tensors], units)
    weights = (_stacked(node, first, "a weight").T - zeros).astype(np.float64)
    scales = [node.precise(node.scale(source)) * node.precise(node.scale(w)) for w in tensors]
    reals = np.repeat([float(each) / _GATE_INPUT_SCALE for each in scales], units)
    wide = node.input(0).dtype == "int16"
    requantize = node.rescaled(node.multiplier(reals.tolist()), 0, _INT16, wide)
    return lambda x, bias: requantize(centred(x, source.zero_point) @ weights, bias)
