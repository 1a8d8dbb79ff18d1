"""The hot loop of requantization: whole rows at a time, in blocks that stay in the cache.

Computes what :meth:`Multiplier.scale` does, with the bias before and the zero point and the clamp
after it, in fewer passes over the values. With multiplier m, bias b, zero point z, shift e:

    double:  r = (x + b) m + 2^30 >> 31           =  x m + (b m + 2^30) >> 31
             y = (r + half + (r < 0 ? -1 : 0) >> e) + z  =  r + (half + z 2^e) + (r >> 63) >> e
    single:  y = ((x + b) m + half >> 31 + e) + z

(Shifts bind weakest here.) No sum leaves 64 bits: |x + b| < 2^31 and m < 2^31.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from harness.model import Tensor
from harness.reference.activation import Clamp
from harness.reference.fixedpoint import Array, Multiplier, RightShift

#: Rows of fewer values than this are joined: many short rows are slow.
_ROW = 512
#: Values in one block: a quarter of a megabyte of int64.
_BLOCK = 1 << 15
_WIDE, _NARROW = np.dtype(np.int64), np.dtype(np.int32)


@dataclass(frozen=True)
class RowScaler:
    """Accumulators without overflow, multipliers below 1, a constant bias.

    Arrays have one element for each value of a row (or are one number for all).
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
        """For ``output``; ``bias`` has an element for each channel, the last axis.

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
        narrow = _NARROW if largest + int(np.abs(half).max()) < 1 << 30 else _WIDE
        right = RightShift(exponent, half, right.correct).narrowed(narrow)
        offset += 1 << 30
        return cls(len(offset), factor, offset, np.array(31), right, 0, clamp, narrow)

    def __call__(self, accumulators: Array) -> Array:
        """Accumulators (..., channels) of any type that holds them exactly."""
        rows = accumulators.reshape(-1, self.width)
        step = max(1, _BLOCK // self.width)
        if len(rows) <= step:
            return self._block(rows).reshape(accumulators.shape)
        result = np.empty(rows.shape, self.clamp.dtype)
        for start in range(0, len(rows), step):
            result[start : start + step] = self._block(rows[start : start + step])
        return result.reshape(accumulators.shape)

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
    """How many pixels (all axes but the last) make one row."""
    pixels = 1
    for size in reversed(shape[1:-1]):
        if pixels * shape[-1] >= _ROW:
            break
        pixels *= size
    return pixels
