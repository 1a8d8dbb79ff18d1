"""From 32-bit sums to 8 or 16 bits in double precision: bit for bit, although that rounds.

The output never falls if the sum rises, and this holds for each floating-point operation, too. So a
scaling is right for every sum if it is right on both sides of each sum at which the output changes.
This is tried when a scaling is made.

For sums x, a multiplier M = m 2^-31 2^-e and a zero point z:

    single, or e = 0:  y = floor(x M + 1/2) + z
    double:            y = floor(x M + 1/2 + 2^-(e+1)) + z, for x < 0 with - 2^-(e+1)

The second rounding's halves go away from zero, and the first one's up: see
:mod:`harness.reference.folding`. With z counted from the smallest output, y is the index of a
table, and truncation serves as floor. For 16 bits, a floor and a clamp are faster than a table, and
two roundings (see :mod:`harness.reference.rows`) are faster than one that needs the sign.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from harness.reference.activation import Clamp
from harness.reference.bind import Call, Workspace, copied, sums_of
from harness.reference.broadcast import blockwise
from harness.reference.fixedpoint import Array, Multiplier
from harness.reference.folding import SMALL, Finish, WideFinish
from harness.reference.rows import AWAY

#: Magnitudes of 32-bit numbers, and of integers that double precision holds, are below these.
_BITS_32 = 1 << 31
_EXACT = 1 << 53
#: An output changes at most two sums away from a whole x M + 1/2.
_AROUND = np.arange(-2, 3)
#: Changes of the output, of all channels, that can be tried in little memory and time.
_MAX_CHANGES = 1 << 18
#: The outputs of 8 bits: the longest table.
_TABLE = 1 << 8


@dataclass(frozen=True)
class Scaling:
    """``factor``, ``nudge`` and ``base`` are one number, or one per channel, the last axis.

    ``nudge`` is added with the sum's sign. None: it is 0, or part of ``base``, or ``finish`` does
    the second rounding.
    """

    factor: Array
    nudge: Array | None
    base: Array
    finish: Finish | WideFinish

    @classmethod
    def of(
        cls, multiplier: Multiplier, zero_point: int, clamp: Clamp, largest: int
    ) -> Scaling | None:
        """For sums of magnitudes up to ``largest``. None if it would be wrong for one of them."""
        if (clamp.high - clamp.low) * multiplier.shift.size > _MAX_CHANGES:
            return None
        outputs, left = int(clamp.high - clamp.low) + 1, int(multiplier.shift.max(initial=0))
        if left and largest << left >= _BITS_32:
            return None  # the left shift wraps
        factor = np.asarray(multiplier.multiplier * 2.0 ** (multiplier.shift - 31.0))
        wide = outputs > _TABLE
        base = np.full(factor.shape, 0.5 if wide else 0.5 + zero_point - clamp.low)
        nudge = second = None
        if multiplier.rounding == "double" and np.any(multiplier.shift < 0):
            down = 2.0 ** np.minimum(multiplier.shift, 0)
            nudge = np.where(multiplier.shift < 0, down / 2, 0.0)
            if clamp.low >= zero_point:
                base, nudge = np.asarray(base + nudge), None
            elif wide:
                factor, nudge, second = np.asarray(factor / down), None, np.asarray(down * AWAY)
        finish: Finish | WideFinish = WideFinish(second, zero_point, clamp)
        if not wide:
            finish = Finish(None, np.arange(clamp.low, clamp.high + 1).astype(clamp.dtype))
        scaling = cls(factor, nudge, base, finish)
        return scaling if scaling.agrees(multiplier, zero_point, clamp, largest) else None

    def agrees(self, multiplier: Multiplier, zero_point: int, clamp: Clamp, largest: int) -> bool:
        """Whether it agrees with the fixed-point steps around each change of the output."""
        changes = np.arange(clamp.low, clamp.high + 2)[:, None] - zero_point - 0.5
        factor = np.maximum(multiplier.multiplier * 2.0 ** (multiplier.shift - 31.0), 2.0**-60)
        reach = min(largest, _BITS_32 - 1)
        near = np.clip(np.rint(changes / factor), -reach, reach).astype(np.int64)
        sums = np.clip(near + _AROUND[:, None, None], -reach, reach)
        exact = np.clip(multiplier.scale(sums) + zero_point, clamp.low, clamp.high)
        return np.array_equal(self(sums), exact)

    def __call__(self, sums: Array) -> Array:
        """The outputs for ``sums`` (..., channels), of any type that holds them."""
        if self.factor.ndim:
            return self.finished(sums.astype(np.float64))
        return blockwise(lambda x: self.finished(x.astype(np.float64)), [sums], self.finish.dtype)

    def finished(self, u: Array) -> Array:
        """float64 sums ``u`` (..., channels), which are changed, as outputs."""
        u *= self.factor
        if self.nudge is not None:
            u += np.copysign(self.nudge, u)
        u += self.base
        return self.finish(u)

    def calls(self, u: Array, output: Array, work: Workspace, *, wraps: bool) -> list[Call]:
        """Calls from float64 sums ``u`` (rows, channels), which are changed, to ``output``.

        ``wraps``: the sums may have more than 32 bits, and wrap at 32 bits as on the device.
        """
        calls = list[Call]()
        if wraps:
            index = work.share("index", u.shape, np.intp)
            low_half = index.view(np.int32)[:, :: index.itemsize // 4]
            calls = [copied(index, u), copied(u, low_half)]
        calls.append(partial(np.multiply, u, self.factor, u))
        if self.nudge is not None:
            sign = work.share("sign", u.shape, np.float64)
            calls.append(partial(np.copysign, self.nudge, u, sign))
            calls.append(partial(np.add, u, sign, u))
        calls.append(partial(np.add, u, self.base, u))
        return [*calls, *self.finish.calls(u, output, work)]


@dataclass(frozen=True)
class Summed:
    """``matrix`` (depth + 1, channels) takes rows of inputs, each with a 1 behind it, to sums.

    It is :class:`harness.reference.folding.Folded` for sums that may overflow.
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
        """As :meth:`Folded.of`. None if double precision does not hold the sums exactly, or if a
        scaling would be wrong.
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
