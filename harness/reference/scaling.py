"""From 32-bit sums to 8 or 16 bits in double precision, right although it rounds.

The output rises with the sum, and so does every operation of floating point. What gives the right
outputs on both sides of each sum at which the output changes therefore gives them for every sum.
Whether it does is tried when it is made.

For sums x, a multiplier M = m 2^-31 2^-e and a zero point z:

    single, or e = 0:  y = floor(x M + 1/2) + z
    double:            y = floor(x M + 1/2 + 2^-(e+1)) + z, for x < 0 with - 2^-(e+1)

The second rounding's halves go away from zero, and the first one's up: see
:mod:`harness.reference.folding`. With the smallest output's place for z, y is the index of a table,
and truncation serves as floor. A table of 16 bits is slower than a floor and a clamp, and finding a
sign slower than both roundings apart (see :mod:`harness.reference.rows`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from harness.reference.activation import Clamp
from harness.reference.bind import Call, Workspace, copied, looked_up, sums_of
from harness.reference.broadcast import blockwise
from harness.reference.fixedpoint import Array, Multiplier
from harness.reference.folding import SMALL

#: 32-bit numbers are smaller, integers in double precision exact below these.
_BITS_32 = 1 << 31
_EXACT = 1 << 53
#: An output changes within so many sums of where x M + 1/2 is whole.
_AROUND = np.arange(-2, 3)
#: More changes, of all channels, take too much memory and time to be tried.
_MAX_CHANGES = 1 << 18
#: The outputs of 8 bits: the longest table.
_TABLE = 1 << 8
#: What moves halves off the half: the first rounding's results stay below 2^32.
_AWAY = 1 + 2.0**-40


@dataclass(frozen=True)
class Scaling:
    """``factor``, ``nudge`` and ``base`` are one number, or one for each channel, the last axis.

    ``nudge`` takes the sum's sign. None: there is none, or outputs of one sign only, or ``second``
    is the second rounding's factor. Without a ``table`` ``clamp`` makes the outputs.
    """

    factor: Array
    nudge: Array | None
    base: Array
    second: Array | None
    clamp: Clamp
    table: Array | None

    @classmethod
    def of(
        cls, multiplier: Multiplier, zero_point: int, clamp: Clamp, largest: int
    ) -> Scaling | None:
        """For sums of magnitudes up to ``largest``. None where it would be wrong for one."""
        if (clamp.high - clamp.low) * multiplier.shift.size > _MAX_CHANGES:
            return None
        outputs, left = int(clamp.high - clamp.low) + 1, int(multiplier.shift.max(initial=0))
        if left and largest << left >= _BITS_32:
            return None  # the left shift wraps
        factor = np.asarray(multiplier.multiplier * 2.0 ** (multiplier.shift - 31.0))
        first = int(clamp.low) if outputs <= _TABLE else 0
        base = np.full(factor.shape, 0.5 + zero_point - first)
        nudge = second = None
        if multiplier.rounding == "double" and np.any(multiplier.shift < 0):
            down = 2.0 ** np.minimum(multiplier.shift, 0)
            nudge = np.where(multiplier.shift < 0, down / 2, 0.0)
            if clamp.low >= zero_point:
                base, nudge = np.asarray(base + nudge), None
            elif outputs > _TABLE and zero_point == 0:
                factor, nudge, second = np.asarray(factor / down), None, np.asarray(down * _AWAY)
        table = np.arange(first, first + outputs).astype(clamp.dtype)
        scaling = cls(factor, nudge, base, second, clamp, table if outputs <= _TABLE else None)
        return scaling if scaling.agrees(multiplier, zero_point, clamp, largest) else None

    def agrees(self, multiplier: Multiplier, zero_point: int, clamp: Clamp, largest: int) -> bool:
        """Whether it gives what the fixed-point steps give around all places of change."""
        changes = np.arange(clamp.low, clamp.high + 2)[:, None] - zero_point - 0.5
        factor = self.factor if self.second is None else self.factor * self.second
        factor, reach = np.maximum(factor, 2.0**-60), min(largest, _BITS_32 - 1)
        near = np.clip(np.rint(changes / factor), -reach, reach).astype(np.int64)
        sums = np.clip(near + _AROUND[:, None, None], -reach, reach)
        exact = np.clip(multiplier.scale(sums) + zero_point, clamp.low, clamp.high)
        return np.array_equal(self(sums), exact)

    def __call__(self, sums: Array) -> Array:
        """``sums`` (..., channels) of any type that holds them, as outputs."""
        if self.factor.ndim:
            return self.finished(sums.astype(np.float64))
        return blockwise(lambda x: self.finished(x.astype(np.float64)), [sums], self.clamp.dtype)

    def finished(self, u: Array) -> Array:
        """float64 sums ``u`` (..., channels), which are changed, as outputs."""
        u *= self.factor
        if self.nudge is not None:
            u += np.copysign(self.nudge, u)
        u += self.base
        if self.table is not None:
            return self.table.take(u.astype(np.intp), mode="clip")
        np.floor(u, out=u)
        if self.second is not None:
            u *= self.second
            np.rint(u, out=u)
        return self.clamp.real(u)

    def calls(self, u: Array, output: Array, work: Workspace, *, wraps: bool) -> list[Call]:
        """float64 sums ``u`` (rows, channels), which are changed, into ``output``.

        ``wraps``: they have more than 32 bits, and are cut to 32 as the device does.
        """
        index, calls = work.share("index", u.shape, np.intp), list[Call]()
        if wraps:
            low_half = index.view(np.int32)[:, :: index.itemsize // 4]
            calls = [copied(index, u), copied(u, low_half)]
        calls.append(partial(np.multiply, u, self.factor, u))
        if self.nudge is not None:
            sign = work.share("sign", u.shape, np.float64)
            calls.append(partial(np.copysign, self.nudge, u, sign))
            calls.append(partial(np.add, u, sign, u))
        calls.append(partial(np.add, u, self.base, u))
        if self.table is not None:
            return [*calls, copied(index, u), looked_up(self.table, index, output.reshape(u.shape))]
        calls.append(partial(np.floor, u, u))
        if self.second is not None:
            calls += [partial(np.multiply, u, self.second, u), partial(np.rint, u, u)]
        return [*calls, *self.clamp.stored(u, output.reshape(u.shape))]


@dataclass(frozen=True)
class Summed:
    """``matrix`` (depth + 1, channels) takes rows of inputs, each with a 1 behind it, to sums.

    What :class:`harness.reference.folding.Folded` does, where sums may overflow.
    """

    matrix: Array
    scaling: Scaling
    wraps: bool

    @classmethod
    def of(
        cls,
        weights: Array,
        multiplier: Multiplier,
        bias: Array,
        zero_points: tuple[int, int],
        clamp: Clamp,
        largest: int,
    ) -> Summed | None:
        """As :meth:`Folded.of`. None where double precision does not hold the sums, or all
        outputs.
        """
        weights = weights.astype(np.int64)
        offset = bias - zero_points[0] * weights.sum(axis=0)
        reach = int((np.abs(weights).sum(axis=0) * largest + np.abs(offset)).max(initial=0))
        if reach >= _EXACT:
            return None
        scaling = Scaling.of(multiplier, zero_points[1], clamp, reach)
        if scaling is None:
            return None
        return cls(np.vstack([weights, offset]).astype(np.float64), scaling, reach >= _BITS_32)

    @property
    def small(self) -> bool:
        """As :attr:`Folded.small`."""
        return self.matrix.size <= SMALL

    def __call__(self, rows: Array) -> Array:
        """Rows of inputs (rows, depth) to outputs (rows, channels)."""
        sums = np.matmul(rows, self.matrix[:-1])
        sums += self.matrix[-1]
        return self.scaling(sums.astype(np.int64).astype(np.int32) if self.wraps else sums)

    def bind(self, rows: Array, output: Array, work: Workspace) -> list[Call]:
        """As :meth:`Folded.bind`."""
        sums, calls = sums_of(rows, self.matrix, work)
        return [*calls, *self.scaling.calls(sums, output, work, wraps=self.wraps)]
