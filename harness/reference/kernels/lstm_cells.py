"""Cells of an LSTM that run step by step on buffers of their own.

NumPy takes longer to find out what is asked of it than a small cell takes to compute, so what can
be known is worked out once, as in :mod:`harness.reference.bind`. Gates are input, forget, output
(sigmoid) and cell (tanh).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from threading import Lock

import numpy as np

from harness.reference.bind import MAX_BUFFER, Call, Workspace, copied, looked_up
from harness.reference.fixedpoint import Array, Multiplier
from harness.reference.folding import Finish, Folded
from harness.reference.rows import AWAY
from harness.reference.scaling import Scaling

#: The inputs' parts of the gates (steps, N, 4 * units) and the states h and c (N, units), which
#: are changed, to the outputs (steps, N, units).
Cell = Callable[[Array, Array, Array], Array]

#: What a power of two is in Q0.31.
_POWER = 1 << 30
#: Bytes of the largest number in a buffer.
_WIDEST = 8


def _step_by_step(
    before: Sequence[Call],
    gates: Array,
    parts: Array,
    after: Sequence[Call],
    hidden: Array,
    rows: Array,
) -> None:
    """``before`` is from the hidden state to its part of ``gates``, ``after`` from them back."""
    for part, row in zip(parts, rows, strict=True):
        for call in before:
            call()
        np.add(gates, part, gates)
        for call in after:
            call()
        row[...] = hidden


def _kept_within(x: Array, low: float, high: float) -> list[Call]:
    """What limits ``x`` where it stands; ``clip`` takes longer than both."""
    return [
        partial(np.maximum, x, np.array(float(low)), out=x),
        partial(np.minimum, x, np.array(float(high)), out=x),
    ]


@dataclass(frozen=True)
class IntegerCell:
    """A cell of int8, of one sequence at a time, in double precision.

    Products of gates and cells stay below 2^31. The cell's scale must be a power of two, as
    TensorFlow Lite's quantizer writes it; then both products are scaled by one, and halves are all
    that there is to round.

    ``recurrent`` gives the hidden state's part of the gates, from -2^15 on tables are looked up:
    ``sigmoid``, ``tanh``, and ``squash``, of a cell's tanh. ``forget`` and ``update`` scale the
    products of the cell, which is kept within ``low`` and ``high``; ``output`` scales the hidden
    state.
    """

    recurrent: Folded
    sigmoid: Array
    tanh: Array
    squash: Array
    forget: Multiplier
    update: Multiplier
    low: int
    high: int
    output: Scaling

    @property
    def exact(self) -> bool:
        """Whether this is right: products scaled by powers of two, and not beyond 16 bits.

        And small enough for the buffers.
        """
        scales = (self.forget, self.update)
        right = all(each.multiplier == _POWER and -29 <= each.shift <= -14 for each in scales)
        return right and self.recurrent.matrix.shape[1] * _WIDEST <= MAX_BUFFER

    def __call__(self, parts: Array, h: Array, c: Array) -> Array:
        """The :data:`Cell`; ``parts`` are int16, N is 1."""
        return self._loop(parts, h, c)

    @cached_property
    def _loop(self) -> Cell:
        units, work, lock = self.recurrent.matrix.shape[1] // 4, Workspace(), Lock()
        hidden = np.zeros((1, units), self.output.finish.dtype)
        index = np.zeros((1, 4 * units), np.intp)
        open_gates = np.zeros(5 * units)  # and the cell behind them
        cell = open_gates[4 * units :]
        gates = self._recurrent(hidden, index, work)
        states = [*self._cell(index, open_gates), *self._hidden(open_gates, hidden, work)]

        def loop(parts: Array, h: Array, c: Array) -> Array:
            places = parts.reshape(len(parts), 1, -1).astype(np.intp) + (1 << 15)
            rows = np.empty((len(parts), *h.shape), hidden.dtype)
            with lock:
                hidden[...], cell[...] = h, c[0]
                _step_by_step(gates, index, places, states, hidden, rows)
                h[...], c[0] = hidden, cell
            return rows

        return loop

    def _recurrent(self, hidden: Array, index: Array, work: Workspace) -> list[Call]:
        """From the hidden state to its part of the gates."""
        matrix, finish = self.recurrent.matrix, self.recurrent.finish
        if isinstance(finish, Finish):
            finish = replace(finish, table=finish.table.astype(np.intp))
        x, sums = np.ones((1, len(matrix))), np.empty((1, matrix.shape[1]))
        finished = finish.calls(sums, index, work)
        return [copied(x[:, :-1], hidden), partial(x.dot, matrix, sums), *finished]

    def _cell(self, index: Array, open_gates: Array) -> list[Call]:
        """From the gates' sums to the new cell."""
        units = len(open_gates) // 5
        cell, shape = open_gates[4 * units :], (2, units)
        lets, let = open_gates[: 2 * units].reshape(shape), open_gates[3 * units :].reshape(shape)
        products, powers = np.empty(shape), np.empty(shape)
        powers[...] = 2.0 ** np.array([[self.update.shift], [self.forget.shift]], np.float64)
        sigmoids, tanh = open_gates[: 3 * units], open_gates[3 * units : 4 * units]
        calls: list[Call] = [
            # Half of a product is what is rounded first: the sigmoids are halved.
            looked_up(self.sigmoid / 2, index[0, : 3 * units], sigmoids),
            looked_up(self.tanh.astype(np.float64), index[0, 3 * units :], tanh),
            partial(np.multiply, lets, let, products),
        ]
        if self.forget.rounding == "single":
            calls.append(partial(np.multiply, products, powers, products))
        calls.append(partial(np.add, products, np.array(0.5), products))
        calls.append(partial(np.floor, products, products))
        if self.forget.rounding == "double":
            calls.append(partial(np.multiply, products, powers * AWAY, products))
            calls.append(partial(np.rint, products, products))
        calls.append(partial(np.add, products[0], products[1], cell))
        return [*calls, *_kept_within(cell, self.low, self.high)]

    def _hidden(self, open_gates: Array, hidden: Array, work: Workspace) -> list[Call]:
        """From the cell to the hidden state, which is the output."""
        units = hidden.shape[1]
        gate, cell = open_gates[2 * units : 3 * units], open_gates[4 * units :]
        index, u = np.empty(units, np.intp), np.empty((1, units))
        row = u[0]
        squash = np.roll(self.squash, 1 << 15).astype(np.float64)  # from what 0 gives on
        output = replace(self.output, factor=np.asarray(2 * self.output.factor))
        return [
            copied(index, cell),
            looked_up(squash, index, row, "wrap"),
            partial(np.multiply, row, gate, row),
            *output.calls(u, hidden, work, wraps=False),
        ]


@dataclass(frozen=True)
class RealCell:
    """A cell of float32 of ``count`` sequences; states are rounded to it in each step.

    ``recurrent`` (units, 4 * units) has the sigmoids' weights with the other sign, and so have the
    parts of their gates. ``clip`` limits the cell where it is positive.
    """

    count: int
    recurrent: Array
    clip: float

    def __call__(self, parts: Array, h: Array, c: Array) -> Array:
        """The :data:`Cell`; ``parts`` are float64."""
        return self._loop(parts, h, c)

    @cached_property
    def _loop(self) -> Cell:
        shape, lock = (self.count, len(self.recurrent)), Lock()
        hidden, cell = (np.empty(shape, np.float32) for _ in range(2))
        x, gates, wide = np.empty(shape), np.empty((self.count, 4 * shape[1])), np.empty(shape)
        before: list[Call] = [copied(x, hidden), partial(x.dot, self.recurrent, gates)]
        states = [*self._open(gates), *self._states(gates, wide, hidden, cell)]

        def loop(parts: Array, h: Array, c: Array) -> Array:
            rows = np.empty((len(parts), *shape), np.float32)
            with lock:
                hidden[...], wide[...] = h, c
                _step_by_step(before, gates, parts, states, hidden, rows)
                h[...], c[...] = hidden, cell
            return rows

        return loop

    def _open(self, gates: Array) -> list[Call]:
        """From the sums of the gates to what they let through."""
        units = len(self.recurrent)
        sigmoids, tanh = gates[:, : 3 * units], gates[:, 3 * units :]
        return [
            partial(np.exp, sigmoids, sigmoids),
            partial(np.add, sigmoids, np.array(1.0), sigmoids),
            partial(np.reciprocal, sigmoids, sigmoids),
            partial(np.tanh, tanh, tanh),
        ]

    def _states(self, gates: Array, wide: Array, hidden: Array, cell: Array) -> list[Call]:
        """From the gates and the cell, which is in ``wide``, to the new states."""
        units = len(self.recurrent)
        squashed = np.empty_like(wide)
        i, f, o, g = (gates[:, gate * units : (gate + 1) * units] for gate in range(4))
        return [
            partial(np.multiply, i, g, g),
            partial(np.multiply, f, wide, wide),
            partial(np.add, wide, g, wide),
            *(_kept_within(wide, -self.clip, self.clip) if self.clip > 0 else []),
            copied(cell, wide),
            copied(wide, cell),
            partial(np.tanh, wide, squashed),
            partial(np.multiply, squashed, o, squashed),
            copied(hidden, squashed),
        ]
