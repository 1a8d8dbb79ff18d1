"""UNIDIRECTIONAL_SEQUENCE_LSTM without peepholes, projection or layer normalization, as in TFLM.

Per time step, with gates i, f, o (sigmoid) and g (tanh) of W x + b + R h:
c = f * c + i * g, clipped on request; h = o * tanh(c). Source: TensorFlow Lite operator
specification. Quantized: gates and cell in 16 bits (gate inputs Q3.12, outputs Q0.15), the cell's
scale a power of two.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from harness.model import Tensor
from harness.reference.activation import Clamp
from harness.reference.bind import Call, Prepared, Workspace, small_product, unbound
from harness.reference.exact import ExactMatrix
from harness.reference.fixedpoint import Array, Multiplier, wrap32
from harness.reference.folding import Folded
from harness.reference.kernels.activations import log2_of
from harness.reference.kernels.lstm_cells import Cell, IntegerCell, RealCell
from harness.reference.node import Node, Run
from harness.reference.quantization import limits
from harness.reference.requantize import largest_input
from harness.reference.rows import RealScaler, row_scaler
from harness.reference.scaling import Scaling
from harness.reference.tables import sigmoid16, tanh16
from harness.reference.window import check_products

#: Inputs 1-4 are input weights, 5-8 recurrent weights, 12-15 biases, each of the input, forget,
#: cell and output gate. Here the cell gate (tanh) is last, so that the sigmoids are neighbours.
_GATES = (0, 1, 3, 2)
_HIDDEN, _CELL = 18, 19
_ABSENT = (9, 10, 11, 16, 17, 20, 21, 22, 23)
_GATE_INPUT_SCALE = 2.0**-12
_GATE_OUTPUT_SCALE = 2.0**-15
#: Cell scales are 2^-30 to 1; with smaller ones a 16-bit cell is 0 for the gates.
_POWERS = 30
_LOW, _HIGH = -(1 << 15), (1 << 15) - 1

#: The inputs' part of all gates: (steps, N, depth) -> (steps, N, 4 * units).
_Project = Callable[[Array], Array]


def unidirectional_sequence_lstm(node: Node) -> Run:
    """Input (N, time, depth), or (time, N, depth) if ``time_major``; output (..., units).

    int8 (biases int32), int16 (biases int64), float32; int16 or float32 cell state.
    """
    x, units = node.input(0), _check(node)
    time_axis = 1 if node.option("time_major") else 2
    batch = x.shape[2 - time_axis]
    check_products(node, 4 * x.elements * units + 4 * x.shape[time_axis - 1] * batch * units**2)
    project, cell_of = (_real if x.dtype == "float32" else _quantized)(node, batch)

    def run(values: Sequence[Any]) -> list[Array]:
        h, c = (values[place].reshape(batch, units) for place in (_HIDDEN, _CELL))
        steps = np.moveaxis(values[0], time_axis, 1)  # of consecutive runs, one after another
        rows = cell_of(project(steps.reshape(-1, *steps.shape[2:])), h, c)
        return [np.moveaxis(rows.reshape(*steps.shape[:3], units), 1, time_axis)]

    def bind(inputs: Sequence[Any], outputs: Sequence[Array], _: Workspace) -> list[Call]:
        def call() -> None:
            outputs[0][...] = run(inputs)[0]

        return [call]

    gates = 4 * units
    small = small_product(x.elements // x.shape[2], x.shape[2] * gates)
    small &= small_product(batch, (units + 1) * gates)
    bound = bind if small else unbound  # which asks for one thread
    return Prepared(run, bound, quiet=x.dtype != "float32", consecutive=True)


def _check(node: Node) -> int:
    """The number of units. Raises UnsupportedOperator or BadModel for variants that TFLM lacks."""
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


def _real(node: Node, batch: int) -> tuple[_Project, Cell]:
    units = node.input(_HIDDEN).shape[1]
    signs = np.where(np.arange(4 * units) < 3 * units, -1.0, 1.0)
    weights = _stacked(node, 1, "a weight").T * signs
    recurrent = _stacked(node, 5, "a weight").T * signs
    bias = _stacked(node, 12, "a bias") * signs
    clip = float(np.float32(node.option("cell_clip")))

    def project(x: Array) -> Array:
        return np.asarray(x.astype(np.float64) @ weights + bias)

    return project, RealCell(batch, np.ascontiguousarray(recurrent), clip)


def _clamp16(x: Array) -> Array:
    return np.asarray(np.minimum(np.maximum(x, _LOW), _HIGH))


def _quantized(node: Node, batch: int) -> tuple[_Project, Cell]:
    x, hidden, cell = node.input(0), node.input(_HIDDEN), node.input(_CELL)
    scale = node.scale(cell)
    power, _ = log2_of(scale)
    if not -_POWERS <= power <= 0:
        raise node.bad(f"its cell state has the scale {scale}")
    bias = _stacked(node, 12, "a bias").astype(np.int64)
    parts = (x, 1, bias), (hidden, 5, np.zeros_like(bias))
    unit, units = _GATE_OUTPUT_SCALE, hidden.shape[1]
    forget = Multiplier.of(unit * scale / scale, node.rounding)
    update = Multiplier.of(unit * unit / scale, node.rounding)
    output = Multiplier.of(unit * unit / node.scale(hidden), node.rounding)
    low, high = (np.array(end) for end in limits(hidden.dtype))
    clip = int(min(max(float(np.float32(node.option("cell_clip"))) / scale, -32768.0), 32767.0))
    sigmoid, tanh, squash = _gate_table(sigmoid16), _gate_table(tanh16), _cell_table(power)
    ends = (max(_LOW, -clip), min(_HIGH, clip)) if clip > 0 else (_LOW, _HIGH)
    clamp = Clamp(int(low), int(high), np.dtype(hidden.dtype))
    scaling = Scaling.of(output, hidden.zero_point, clamp, 1 << 30)
    if batch == 1 and scaling is not None:
        inputs, recurrent = (_folded(node, *part) for part in parts)
        if inputs is not None and recurrent is not None:
            one = IntegerCell(recurrent, sigmoid, tanh, squash, forget, update, *ends, scaling)
            if one.exact:
                return lambda x: inputs(x[:, 0]), one
    project, recur = (_part(node, *part) for part in parts)

    def in_steps(sums: Array, h: Array, c: Array) -> Array:
        rows = np.empty((len(sums), *h.shape), hidden.dtype)
        for part, row in zip(sums, rows, strict=True):
            index = part + recur(h) + (1 << 15)
            gates = sigmoid.take(index[..., : 3 * units], mode="clip")
            i, f, o = (gates[..., gate * units : (gate + 1) * units] for gate in range(3))
            g = tanh.take(index[..., 3 * units :], mode="clip")
            state = _clamp16(forget.scale(f * c)) + _clamp16(update.scale(i * g))
            c[...] = np.minimum(np.maximum(state, ends[0]), ends[1])
            y = output.scale(squash.take(c.astype(np.intp) + (1 << 15)) * o) + hidden.zero_point
            h[...] = row[...] = np.minimum(np.maximum(y, low), high)
        return rows

    return project, in_steps


@cache
def _gate_table(function: Callable[[Array], Array]) -> Array:
    """A gate's function of every int16 sum in Q3.12, from -2^15 on."""
    table = function(3 * np.arange(-(1 << 15), 1 << 15))
    table.setflags(write=False)
    return table


@cache
def _cell_table(power: int) -> Array:
    """tanh of every int16 cell of scale 2^power, from -2^15 on."""
    state, shift = np.arange(-(1 << 15), 1 << 15), 12 + power
    # In steps of 1/(3 * 2^12).
    if shift >= 0:
        table = tanh16(state * (3 << shift))
    else:
        table = tanh16((state * 3 + (1 << (-shift - 1))) >> -shift)
    table.setflags(write=False)
    return table


def _part(node: Node, source: Tensor, first: int, bias: Array) -> Callable[[Array], Array]:
    """All gates' sums over ``source``, in steps of 2^-12, clamped to 16 bits, as int64."""
    weights, multiplier = _gates_of(node, source, first)
    matrix, zero = ExactMatrix.of(weights, largest_input(source)), source.zero_point
    wide = node.input(0).dtype == "int16"
    largest = matrix.bound + int(np.abs(bias).max(initial=0))
    if not wide and largest < 1 << 31 and int(multiplier.shift.max()) <= 0:
        clamp = Clamp(_LOW, _HIGH, np.dtype(np.int64))
        sums = Tensor(-1, "", (1, len(bias)), "int16")
        rows = row_scaler(multiplier, bias, clamp, sums, largest)
        if isinstance(rows, RealScaler):
            return rows.fused(weights, -int(np.iinfo(source.dtype).min), zero)
        return lambda value: rows(matrix.product(matrix.centred(value, zero)))

    def part(value: Array) -> Array:
        sums = matrix.product(matrix.centred(value, zero)).astype(np.int64) + bias
        return _clamp16(multiplier.scale64(sums) if wide else multiplier.scale(wrap32(sums)))

    return part


def _folded(node: Node, source: Tensor, first: int, bias: Array) -> Folded | None:
    """The same for a single inference of int8."""
    if node.input(0).dtype != "int8":
        return None
    weights, multiplier = _gates_of(node, source, first)
    if largest_input(source) * np.abs(weights).sum(axis=0).max() + np.abs(bias).max() >= 1 << 31:
        return None
    clamp = Clamp(_LOW, _HIGH, np.dtype(np.int16))
    return Folded.of(weights, multiplier, bias, (source.zero_point, 0), clamp)


def _gates_of(node: Node, source: Tensor, first: int) -> tuple[Array, Multiplier]:
    """Integer weights (depth, 4 * units) of all gates, and the multiplier of their sums."""
    tensors = [node.input(first + gate) for gate in _GATES]
    units = tensors[0].shape[0]
    zeros = np.repeat([tensor.zero_point for tensor in tensors], units)[:, None]
    weights = (_stacked(node, first, "a weight").astype(np.int64) - zeros).T
    scales = [node.precise(node.scale(source)) * node.precise(node.scale(w)) for w in tensors]
    reals = [float(each) / _GATE_INPUT_SCALE for each in scales]
    return weights, Multiplier.of(np.repeat(reals, units).tolist(), node.rounding)
