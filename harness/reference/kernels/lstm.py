"""UNIDIRECTIONAL_SEQUENCE_LSTM without peepholes, projection or layer normalization, as in TFLM.

Per time step, with gates i, f, o (sigmoid) and g (tanh) of W x + b + R h:
c = f * c + i * g, clipped on request; h = o * tanh(c). Source: TensorFlow Lite operator
specification. Quantized: gates and cell in 16 bits (gate inputs Q3.12, outputs Q0.15), the cell's
scale a power of two.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from harness.model import Tensor
from harness.reference.exact import ExactMatrix
from harness.reference.fixedpoint import Array, Multiplier, wrap32
from harness.reference.kernels.activations import log2_of, real_logistic
from harness.reference.node import Node, Run
from harness.reference.quantization import limits
from harness.reference.requantize import largest_input
from harness.reference.tables import sigmoid16, tanh16
from harness.reference.window import check_products

#: Inputs: 1-4 input weights, 5-8 recurrent weights, 12-15 biases; each input, forget, cell, output.
_GATES = ("input", "forget", "cell", "output")
_HIDDEN, _CELL = 18, 19
_ABSENT = (9, 10, 11, 16, 17, 20, 21, 22, 23)
_GATE_INPUT_SCALE = 2.0**-12
_GATE_OUTPUT_SCALE = 2.0**-15
#: Cell scales are 2^-30 to 1; below that a 16-bit cell is 0 for the gates.
_POWERS = 30

#: From x, h, c of one time step (runs, N, ...) to the new h and c.
_Step = Callable[[Array, Array, Array], tuple[Array, Array]]


def unidirectional_sequence_lstm(node: Node) -> Run:
    """Input (N, time, depth), or (time, N, depth) if ``time_major``; output (..., units).

    int8 (biases int32), int16 (biases int64), float32; int16 or float32 cell state.
    """
    x, hidden, cell = node.input(0), node.input(_HIDDEN), node.input(_CELL)
    units = _check(node)
    time_axis = 1 if node.option("time_major") else 2
    step = _real_step(node) if x.dtype == "float32" else _quantized_step(node)
    batch = x.shape[2 - time_axis]
    check_products(node, 4 * x.elements * units + 4 * x.shape[time_axis - 1] * batch * units**2)

    def run(values: Sequence[Any]) -> list[Array]:
        h = values[_HIDDEN].reshape(-1, batch, units)
        c = values[_CELL].reshape(-1, batch, units)
        outputs = []
        for moment in np.moveaxis(values[0], time_axis, 0):
            h, c = step(moment, h, c)
            outputs.append(h)
        values[_HIDDEN][...] = h.reshape(-1, *hidden.shape)
        values[_CELL][...] = c.reshape(-1, *cell.shape)
        return [np.stack(outputs, axis=time_axis)]

    return run


def _check(node: Node) -> int:
    """The number of units; raises for variants that TFLM does not have."""
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


def _real_step(node: Node) -> _Step:
    f32 = np.float32
    input_weights, recurrent = (
        [node.required_constant(first + gate, "a weight").astype(np.float64).T for gate in range(4)]
        for first in (1, 5)
    )
    biases = [node.required_constant(12 + gate, "a bias") for gate in range(4)]
    clip = f32(node.option("cell_clip"))

    def gate(number: int, x: Array, h: Array) -> Array:
        total = (x.astype(np.float64) @ input_weights[number] + biases[number]).astype(f32)
        total = total + (h.astype(np.float64) @ recurrent[number]).astype(f32)
        squash = np.tanh if number == 2 else real_logistic
        return squash(total.astype(np.float64)).astype(f32)

    def step(x: Array, h: Array, c: Array) -> tuple[Array, Array]:
        i, f, g, o = (gate(number, x, h) for number in range(4))
        c = f * c + i * g
        if clip > 0:
            c = np.clip(c, -clip, clip)
        return np.tanh(c.astype(np.float64)).astype(f32) * o, c

    return step


@dataclass(frozen=True)
class _Gate:
    """clamp16(input part) + clamp16(recurrent part), through the gate's function."""

    parts: tuple[tuple[ExactMatrix, int, Multiplier], ...]
    bias: Array
    wide: bool
    function: Callable[[Array], Array]

    def __call__(self, x: Array, h: Array) -> Array:
        total: Array | int = 0
        for (matrix, zero, multiplier), value in zip(self.parts, (x, h), strict=True):
            sums = matrix.product(matrix.centred(value, zero)).astype(np.int64)
            if value is x:
                sums += self.bias
            scaled = multiplier.scale64(sums) if self.wide else multiplier.scale(wrap32(sums))
            total = total + _clamp16(scaled)
        return self.function(3 * _clamp16(np.asarray(total)))


def _clamp16(x: Array) -> Array:
    return np.asarray(np.clip(x, -(1 << 15), (1 << 15) - 1))


def _quantized_step(node: Node) -> _Step:
    hidden, cell = node.input(_HIDDEN), node.input(_CELL)
    scale = node.scale(cell)
    power, _ = log2_of(scale)
    if not -_POWERS <= power <= 0:
        raise node.bad(f"its cell state has the scale {scale}")
    gates = [_gate(node, number) for number in range(4)]
    unit = _GATE_OUTPUT_SCALE
    forget = Multiplier.of(unit * scale / scale, node.rounding)
    update = Multiplier.of(unit * unit / scale, node.rounding)
    output = Multiplier.of(unit * unit / node.scale(hidden), node.rounding)
    low, high = limits(hidden.dtype)
    clip = int(min(max(float(np.float32(node.option("cell_clip"))) / scale, -32768.0), 32767.0))

    def step(x: Array, h: Array, c: Array) -> tuple[Array, Array]:
        i, f, g, o = (gate(x, h) for gate in gates)
        kept = _clamp16(forget.scale(f * c.astype(np.int64)))
        state = _clamp16(kept + _clamp16(update.scale(i * g)))
        if clip > 0:
            state = np.clip(state, -clip, clip)
        squashed = tanh16(_table_steps(state, power))
        h = np.clip(output.scale(squashed * o) + hidden.zero_point, low, high)
        return h.astype(hidden.dtype), state.astype(np.int16)

    return step


def _table_steps(state: Array, power: int) -> Array:
    """A cell of scale 2^power in steps of 1/(3 * 2^12)."""
    shift = 12 + power
    if shift >= 0:
        return np.asarray(state * (3 << shift))
    return np.asarray((state * 3 + (1 << (-shift - 1))) >> -shift)


def _gate(node: Node, number: int) -> _Gate:
    x, hidden = node.input(0), node.input(_HIDDEN)
    parts = tuple(
        _part(node, source, node.input(index + number), index + number)
        for source, index in ((x, 1), (hidden, 5))
    )
    bias = node.required_constant(12 + number, "a bias").astype(np.int64)
    function = tanh16 if _GATES[number] == "cell" else sigmoid16
    return _Gate(parts, bias, x.dtype == "int16", function)


def _part(
    node: Node, source: Tensor, weights: Tensor, index: int
) -> tuple[ExactMatrix, int, Multiplier]:
    value = node.required_constant(index, "a weight").astype(np.int64) - weights.zero_point
    product = node.precise(node.scale(source)) * node.precise(node.scale(weights))
    multiplier = Multiplier.of(float(product) / _GATE_INPUT_SCALE, node.rounding)
    return ExactMatrix.of(value.T, largest_input(source)), source.zero_point, multiplier
