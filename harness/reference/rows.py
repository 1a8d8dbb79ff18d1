"""The hot loop of requantization: whole rows at a time, in blocks that stay in the cache.

This is :meth:`Multiplier.scale`, with the bias before it and the zero point and the clamp after it,
in fewer passes over the values. With multiplier m, bias b, zero point z, shift e:

    double:  r = (x + b) m + 2^30 >> 31           =  x m + (b m + 2^30) >> 31
             y = (r + half + (r < 0 ? -1 : 0) >> e) + z  =  r + (half + z 2^e) + (r >> 63) >> e
    single:  y = ((x + b) m + half >> 31 + e) + z

(Shifts bind weakest here.) No sum leaves 64 bits: |x + b| < 2^31 and m < 2^31.

If no numerator above reaches 2^53, double precision holds them all exactly, scaled by a power of
two, and is faster: >> is floor. The second rounding of ``double``, halves away from zero, is rint
of r 2^-e (1 + d) with 1 / 2^53 << d < 1 / |r|: the factor moves halves away from zero, and changes
the rounding of nothing else.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from harness.model import Tensor
from harness.reference.activation import Clamp
from harness.reference.fixedpoint import Array, Multiplier, RightShift

#: Rows with fewer values are joined: many short rows are slow.
_ROW = 512
#: Values in one block: a quarter of a megabyte of int64.
_BLOCK = 1 << 15
_WIDE, _NARROW = np.dtype(np.int64), np.dtype(np.int32)


#: Numerators below this are exact in double precision.
_EXACT = 1 << 53
#: The factor that moves halves away from zero: r stays below 2^33 wherever it is used.
AWAY = 1 + 2.0**-40


def row_scaler(
    multiplier: Multiplier, bias: Array, clamp: Clamp, output: Tensor, largest: int
) -> Callable[[Array], Array]:
    """The faster scaler that is exact; see :meth:`RowScaler.of` for the parameters."""
    half = 1 << (
        30 + (int(-multiplier.shift.min(initial=0)) if multiplier.rounding == "single" else 0)
    )
    if largest * int(multiplier.multiplier.max(initial=0)) + half < _EXACT:
        return RealScaler.of(multiplier, bias, clamp, output)
    return RowScaler.of(multiplier, bias, clamp, output, largest)


@dataclass(frozen=True)
class RealScaler:
    """As :class:`RowScaler`, in double precision; numerators must stay below 2^53.

    ``second`` is the second rounding's factor, None for a single rounding. All numbers before the
    first rounding are multiples of ``unit``.
    """

    width: int
    factor: Array
    offset: Array
    second: Array | None
    zero_point: Array
    low: Array
    high: Array
    dtype: np.dtype[np.generic]
    unit: float

    @classmethod
    def of(cls, multiplier: Multiplier, bias: Array, clamp: Clamp, output: Tensor) -> RealScaler:
        """For ``output``; ``bias`` has one element per channel, the last axis."""
        times = _pixels(output.shape)
        exponent = np.broadcast_to(multiplier.shift.astype(np.float64), bias.shape)
        factor = np.broadcast_to(multiplier.multiplier * 2.0**-31, bias.shape)
        second: Array | None = None
        if multiplier.rounding == "single":
            factor = factor * 2.0**exponent
        else:
            second = np.tile(2.0**exponent * AWAY, times)
        offset = np.tile(bias * factor + 0.5, times)
        return cls(
            len(offset),
            np.tile(factor, times),
            offset,
            second,
            np.array(float(output.zero_point)),
            np.array(float(clamp.low)),
            np.array(float(clamp.high)),
            clamp.dtype,
            2.0**-31 * (float(2.0 ** exponent.min(initial=0)) if second is None else 1.0),
        )

    def __call__(self, accumulators: Array) -> Array:
        """Accumulators (..., channels) of any type that holds them exactly."""
        return _in_blocks(self._block, accumulators, self.width, self.dtype)

    def fused(self, weights: Array, largest: int, zero_point: int) -> Callable[[Array], Array]:
        """Matrix product, bias and scaling in one, which is faster for a small matrix.

        ``weights`` (depth, columns) are integers, inputs (rows, depth) have magnitudes of up to
        ``largest`` and that ``zero_point``. If the product would not be exact, it is done apart.
        """
        sums = np.abs(weights.astype(np.float64)).sum(axis=0).max(initial=0)
        room = float(self.factor.max(initial=0)) * sums * (largest + abs(zero_point))
        matrix = weights * self.factor
        offset = self.offset - zero_point * matrix.sum(axis=0)
        if room + float(np.abs(self.offset).max(initial=0)) >= self.limit:
            apart = np.ascontiguousarray(weights, np.float64)
            return lambda x: self._block((x.astype(np.float64) - zero_point) @ apart)

        def product(x: Array) -> Array:
            y = np.matmul(x, matrix)
            np.add(y, offset, out=y)
            return self._finish(y)

        return product

    @property
    def limit(self) -> float:
        """Scaled numerators below this are exact."""
        return 2.0**53 * self.unit

    def _block(self, rows: Array) -> Array:
        x: Array = np.multiply(rows, self.factor)
        np.add(x, self.offset, out=x)
        return self._finish(x)

    def _finish(self, x: Array) -> Array:
        np.floor(x, out=x)
        if self.second is not None:
            np.multiply(x, self.second, out=x)
            np.rint(x, out=x)
        np.add(x, self.zero_point, out=x)
        np.maximum(x, self.low, out=x)
        np.minimum(x, self.high, out=x)
        return x.astype(self.dtype)


def _in_blocks(
    block: Callable[[Array], Array], accumulators: Array, width: int, dtype: np.dtype[Any]
) -> Array:
    rows = accumulators.reshape(-1, width)
    step = max(1, _BLOCK // width)
    if len(rows) <= step:
        return block(rows).reshape(accumulators.shape)
    result = np.empty(rows.shape, dtype)
    for start in range(0, len(rows), step):
        result[start : start + step] = block(rows[start : start + step])
    return result.reshape(accumulators.shape)


@dataclass(frozen=True)
class RowScaler:
    """Accumulators without overflow, multipliers below 1, a constant bias.

    Arrays have one element per value of a row (or are one number for all).
    """

    width: int
    multiplier: Array
    offset: Array
    shift: Array
    right: RightShift | None
    zero_point: int
    clamp: Clamp
    narrow: np.dtype[np.signedinteger]

    @classmethod
    def of(
        cls, multiplier: Multiplier, bias: Array, clamp: Clamp, output: Tensor, largest: int
    ) -> RowScaler:
        """For ``output``; ``bias`` has one element per channel, the last axis.

        ``largest`` is the largest magnitude of an accumulator with its bias.
        """
        times, zero_point = _pixels(output.shape), output.zero_point
        factor = np.broadcast_to(multiplier.multiplier, bias.shape)
        exponent = np.broadcast_to(-multiplier.shift, bias.shape)
        offset = np.tile(bias * factor, times)
        factor, exponent = np.tile(factor, times), np.tile(exponent, times)
        if multiplier.rounding == "single":
            offset += np.int64(1) << (30 + exponent)
            shift = 31 + exponent
            return cls(len(offset), factor, offset, shift, None, zero_point, clamp, _WIDE)
        right = RightShift.of(exponent)
        half = right.half + (np.int64(zero_point) << exponent)
        # After the high multiplication 32 bits are enough for nearly every layer, and faster.
        narrow = _NARROW if largest + int(np.abs(half).max(initial=0)) < 1 << 30 else _WIDE
        right = RightShift(exponent, half, right.correct).narrowed(narrow)
        offset += 1 << 30
        return cls(len(offset), factor, offset, np.array(31), right, 0, clamp, narrow)

    def __call__(self, accumulators: Array) -> Array:
        """Accumulators (..., channels) of any type that holds them exactly."""
        return _in_blocks(self._block, accumulators, self.width, self.clamp.dtype)

    def _block(self, rows: Array) -> Array:
        x = rows.astype(np.int64)
        x *= self.multiplier
        x += self.offset
        x >>= self.shift
        if self.right is not None:
            x = self.right(x.astype(self.narrow, copy=False))
        if self.zero_point:
            x += self.zero_point
        return self.clamp(x)


def _pixels(shape: tuple[int, ...]) -> int:
    """How many pixels are joined to one row; a pixel is one index of all axes but the last."""
    pixels = 1
    for size in reversed(shape[1:-1]):
        if pixels * shape[-1] >= _ROW:
            break
        pixels *= size
    return pixels
