"""A matrix product and its requantization folded together: a product, a rounding, a table.

For weights w and bias b of a channel, inputs x of zero point z0, multiplier m, shift -e, output
zero point z (see :mod:`harness.reference.rows`), and with a 1 behind the inputs of each row,

    u = sum x w m / 2^31 + (b - z0 sum w) m / 2^31 + 1/2          r = floor(u)
    single:  y = floor(u') + z,                 u' = (u - 1/2) / 2^e + 1/2
    double:  y = round(r / 2^e) + z,            halves away from zero

A multiplier above 1 has a shift to the left, by which m is multiplied, and e = 0. Every term is a
multiple of 2^-31 (u) or 2^-(31 + e) (u'), times 2^shift. As long as the magnitudes of all terms
together stay below 2^52 such units, double precision holds every partial sum in any order.

If all results below the zero point are clamped to it (RELU), the two roundings of ``double`` can be
one: r, a floor, reaches a whole number where u does. For k >= 1 and e >= 1

    y - z >= k  <=>  r >= k 2^e - 2^(e-1)  <=>  u' + 2^-(e+1) >= k

so that y = floor(u' + 2^-(e+1)) + z. For e = 0 there is no second rounding, and y = floor(u') + z
for all k. If all channels have the same e, r is the index of a table that does the second rounding.
The clamp, the zero point and the output's type are always part of the table.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

import numpy as np

from harness.reference.activation import Clamp
from harness.reference.bind import Call, Workspace, copied, looked_up, sums_of
from harness.reference.fixedpoint import Array, Multiplier, rounding_right_shift
from harness.reference.rows import AWAY

_EXACT = 2.0**52
#: If results of a multiplier above 1 are smaller, the left shift of their sums does not overflow.
_UNSHIFTED = 2.0**30
#: Elements of the largest matrix for which the scaled product is the faster one.
SMALL = 1 << 13
#: Entries of the longest table.
_LONGEST = 1 << 17


def _spread(channels: Array, u: Array, work: Workspace) -> Array:
    """``channels`` in each row of ``u``: broadcasting takes longer than small layers."""
    if channels.ndim == 0:
        return channels
    spread = work.keep(u.shape, np.float64)
    spread[...] = channels
    return spread


@dataclass(frozen=True)
class Finish:
    """From u, or u' moved to the table's first entry, to the output.

    ``second`` is the second rounding's factor, one per channel. None: the table does it, or there
    is none. A value below such a table takes its first entry, so that truncation serves as floor.
    """

    second: Array | None
    table: Array

    @property
    def dtype(self) -> np.dtype[Any]:
        """The outputs' type."""
        return self.table.dtype

    def __call__(self, u: Array) -> Array:
        """The outputs for ``u`` (rows, channels), which is changed."""
        if self.second is None:
            return self.table.take(u.astype(np.intp), mode="clip")
        np.floor(u, out=u)
        np.multiply(u, self.second, out=u)
        np.rint(u, out=u)
        return self.table.take(u.astype(np.intp), mode="wrap")

    def calls(self, u: Array, output: Array, work: Workspace) -> list[Call]:
        """Calls from ``u`` (rows, channels), which is changed, to ``output`` of as many values."""
        index = work.share("index", u.shape, np.intp)
        flat = output.reshape(u.shape)
        if self.second is None:
            return [copied(index, u), looked_up(self.table, index, flat)]
        second = _spread(self.second, u, work)
        return [
            partial(np.floor, u, u),
            partial(np.multiply, u, second, u),
            partial(np.rint, u, u),
            copied(index, u),
            looked_up(self.table, index, flat, "wrap"),
        ]


@dataclass(frozen=True)
class WideFinish:
    """From u to outputs for which a table would be too long.

    ``second`` is the second rounding's factor, one or one per channel. None: there is none.
    """

    second: Array | None
    zero_point: int
    clamp: Clamp

    @property
    def dtype(self) -> np.dtype[Any]:
        """The outputs' type."""
        return self.clamp.dtype

    def __call__(self, u: Array) -> Array:
        """As :class:`Finish`."""
        np.floor(u, out=u)
        if self.second is not None:
            u *= self.second
            np.rint(u, out=u)
        if self.zero_point:
            u += self.zero_point
        return self.clamp.real(u)

    def calls(self, u: Array, output: Array, work: Workspace) -> list[Call]:
        """As :class:`Finish`."""
        calls: list[Call] = [partial(np.floor, u, u)]
        if self.second is not None:
            second = _spread(self.second, u, work)
            calls += [partial(np.multiply, u, second, u), partial(np.rint, u, u)]
        if self.zero_point:
            calls.append(partial(np.add, u, np.array(float(self.zero_point)), u))
        return [*calls, *self.clamp.stored(u, output.reshape(u.shape))]


@dataclass(frozen=True)
class Folded:
    """``matrix`` (depth + 1, channels) takes rows of inputs, each with a 1 behind it, to u."""

    matrix: Array
    finish: Finish | WideFinish

    @classmethod
    def of(
        cls,
        weights: Array,
        multiplier: Multiplier,
        bias: Array,
        zero_points: tuple[int, int],
        clamp: Clamp,
        largest: int = 128,
    ) -> Folded | None:
        """Integer ``weights`` (depth, channels), ``bias`` (channels,).

        ``zero_points`` are the input's and the output's, ``largest`` is the largest magnitude of an
        input. None if the sums are not exact.
        """
        weights = weights.astype(np.int64)
        shift = np.broadcast_to(multiplier.shift, bias.shape).astype(np.float64)
        left, exponent = np.maximum(shift, 0), np.maximum(-shift, 0)
        seen_above = clamp.low >= zero_points[1]
        once = multiplier.rounding == "single" or seen_above or not exponent.any()
        down = 2.0**-exponent if once else np.ones(bias.shape)
        unit = 2.0 ** (left - 31) * down
        factor = np.broadcast_to(multiplier.multiplier, bias.shape) * unit
        offset = (bias - zero_points[0] * weights.sum(axis=0)) * factor + 0.5
        if multiplier.rounding == "double" and seen_above:
            offset += np.where(exponent > 0, down / 2, 0)
        matrix = np.vstack([weights * factor, offset])
        reach = np.abs(matrix[:-1]).sum(axis=0) * largest + np.abs(offset)
        if np.any(reach >= _EXACT * unit) or np.any(reach[left > 0] >= _UNSHIFTED):
            return None
        right = 0 if once else int(exponent[0])
        low, high = (int(end) - zero_points[1] for end in (clamp.low, clamp.high))
        if (once or (exponent == right).all()) and (high - low) << right < _LONGEST:
            matrix[-1] -= low << right
            first, entries = low << right, ((high - low) << right) + 1
            table = _table(first, entries, right, zero_points[1], clamp.dtype)
            return cls(matrix, Finish(None, table))
        results = float((reach * 2.0**-exponent).max(initial=0)) + 2
        if results > _LONGEST // 2:
            return cls(matrix, WideFinish(2.0**-exponent * AWAY, zero_points[1], clamp))
        half = 1 << int(results).bit_length()
        index = np.clip(np.roll(np.arange(-half, half), half), low, high) + zero_points[1]
        return cls(matrix, Finish(2.0**-exponent * AWAY, index.astype(clamp.dtype)))

    @property
    def small(self) -> bool:
        """True if one product in double precision is faster than steps in single precision."""
        return self.matrix.size <= SMALL

    def __call__(self, rows: Array) -> Array:
        """Rows of inputs (rows, depth) to outputs (rows, channels)."""
        u = np.matmul(rows, self.matrix[:-1])
        np.add(u, self.matrix[-1], out=u)
        return self.finish(u)

    def bind(self, rows: Array, output: Array, work: Workspace) -> list[Call]:
        """``rows`` of inputs is a view with any number of axes; the last ones are one row."""
        sums, calls = sums_of(rows, self.matrix, work)
        return [*calls, *self.finish.calls(sums, output, work)]


@lru_cache(maxsize=64)
def _table(first: int, entries: int, shift: int, zero_point: int, dtype: np.dtype[Any]) -> Array:
    """The second rounding of each r from ``first`` on, and the zero point."""
    table = rounding_right_shift(np.arange(first, first + entries), shift) + zero_point
    table = table.astype(dtype)
    table.setflags(write=False)
    return table
