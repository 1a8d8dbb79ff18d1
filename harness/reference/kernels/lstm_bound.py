"""One inference of an int8 LSTM, one sequence at a time, on fixed buffers.

The integers of :mod:`harness.reference.kernels.lstm` in double precision: products of gates and
cells stay below 2^31. A cell's scale must be a power of two, as TensorFlow Lite's quantizer writes
it; then both products are scaled by one, and halves are all that there is to round.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from harness.reference.bind import Call, TooLarge, Workspace, copied, looked_up
from harness.reference.fixedpoint import Array, Multiplier
from harness.reference.folding import Folded
from harness.reference.scaling import Scaling

#: What a power of two is in Q0.31.
_POWER = 1 << 30
#: Steps of a longer sequence would be too many calls to keep.
_MAX_STEPS = 256
#: Moves halves, and nothing else, off the half, for numbers below 2^33.
_AWAY = 1 + 2.0**-33


@dataclass(frozen=True)
class BoundCell:
    """The parts of one cell; gates are input, forget, output (``sigmoid``) and cell (``tanh``).

    ``inputs`` and ``recurrent`` give the gates' sums, from which on the tables are looked up;
    ``squash`` is the table of a cell's tanh, all three begin with what -2^15 gives. ``forget`` and
    ``update`` scale the products of the cell, which is kept within ``low`` and ``high``; ``output``
    scales the hidden state.
    """

    inputs: Folded
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
        """Whether this is right: products scaled by powers of two, and not beyond 16 bits."""
        scales = (self.forget, self.update)
        return all(each.multiplier == _POWER and -29 <= each.shift <= -14 for each in scales)

    def calls(
        self, x: Array, hidden: Array, cell: Array, rows: Array, work: Workspace
    ) -> list[Call]:
        """``x`` (time, depth), the states (units,), and the output's ``rows`` (time, units)."""
        time, units = rows.shape
        sums = work.keep((time, 4 * units), np.int16)
        places = work.keep(sums.shape, np.intp)
        pair = work.keep((2, units), np.float64)  # the cell gate, and the cell
        if time > _MAX_STEPS:
            raise TooLarge
        calls: list[Call] = [
            *self.inputs.bind(x, sums, work),
            copied(places, sums),
            partial(np.add, places, np.array(1 << 15), places),
            copied(pair[1], cell),
        ]
        # Half of a product is what is rounded first: the gates are halved.
        squash = np.roll(self.squash, 1 << 15).astype(np.float64)  # from what 0 gives on
        tables = self.sigmoid / 2, self.tanh.astype(np.float64)
        output = replace(self.output, factor=2 * self.output.factor)
        before = hidden
        for step in range(time):
            gates = self._gates(before, places[step], pair, tables, work)
            calls += [*gates, *self._cell(pair, work)]
            calls += self._hidden(pair[1], rows[step], squash, output, work)
            before = rows[step]
        return [*calls, copied(hidden, before), copied(cell, pair[1])]

    def _gates(
        self,
        hidden: Array,
        places: Array,
        pair: Array,
        tables: tuple[Array, Array],
        work: Workspace,
    ) -> list[Call]:
        """From the hidden state to the gates."""
        units = len(hidden)
        sums = work.share("recurrent", (1, 4 * units), np.int16)
        index = work.share("gates", (4 * units,), np.intp)
        gates = work.share("open", (3 * units,), np.float64)
        return [
            *self.recurrent.bind(hidden[None], sums, work),
            copied(index, sums[0]),
            partial(np.add, index, places, index),
            looked_up(tables[0], index[: 3 * units], gates),
            looked_up(tables[1], index[3 * units :], pair[0]),
        ]

    def _cell(self, pair: Array, work: Workspace) -> list[Call]:
        """The new cell, into its row of ``pair``."""
        units = pair.shape[1]
        gates = work.share("open", (3 * units,), np.float64)[: 2 * units].reshape(2, units)
        products = work.share("products", pair.shape, np.float64)
        powers = 2.0 ** np.array([[self.update.shift], [self.forget.shift]], np.float64)
        half, low, high = (np.array(float(each)) for each in (0.5, self.low, self.high))
        calls: list[Call] = [partial(np.multiply, gates, pair, products)]
        if self.forget.rounding == "single":
            calls.append(partial(np.multiply, products, powers, products))
        calls += [partial(np.add, products, half, products), partial(np.floor, products, products)]
        if self.forget.rounding == "double":
            calls.append(partial(np.multiply, products, powers * _AWAY, products))
            calls.append(partial(np.rint, products, products))
        calls.append(partial(np.add, products[0], products[1], pair[1]))
        return [*calls, partial(pair[1].clip, low, high, pair[1])]

    def _hidden(
        self, cell: Array, row: Array, squash: Array, output: Scaling, work: Workspace
    ) -> list[Call]:
        """From the cell to the hidden state, which is the output."""
        units = len(cell)
        index = work.share("cell", (units,), np.intp)
        gate = work.share("open", (3 * units,), np.float64)[2 * units :]
        u = work.share("squashed", (1, units), np.float64)
        return [
            copied(index, cell),
            looked_up(squash, index, u[0], "wrap"),
            partial(np.multiply, u[0], gate, u[0]),
            *output.calls(u, row[None], work, wraps=False),
        ]


def bind(
    cell: BoundCell,
    states: tuple[int, int],
    inputs: Sequence[Any],
    outputs: Sequence[Array],
    work: Workspace,
) -> list[Call]:
    """The :data:`~harness.reference.bind.Bind` of one sequence; ``states`` are inputs' places."""
    hidden, memory = (inputs[place].reshape(-1) for place in states)
    depth, units = inputs[0].shape[-1], len(hidden)
    x, rows = inputs[0].reshape(-1, depth), outputs[0].reshape(-1, units)
    return cell.calls(x, hidden, memory, rows, work)
