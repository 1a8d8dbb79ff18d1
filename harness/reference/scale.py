"""Requantization: scaling and clamping of integer accumulators, for all kernels.

Sources: the TensorFlow Lite 8-bit quantization specification; gemmlowp's ``fixedpoint.h``
(saturating rounding doubling high multiply, rounding divide by a power of two); TFLM's
``TFLITE_SINGLE_ROUNDING`` for the rounding modes.

A real multiplier M is represented by ``multiplier`` (Q0.31, in [2^30, 2^31) or 0) and ``shift``:
M = multiplier / 2^31 * 2^shift. Scaling an accumulator x by M rounds

* ``double`` (TFLM's default) twice: to x * 2^max(shift, 0) * multiplier / 2^31, halves up, then
  by 2^max(-shift, 0), halves away from zero;
* ``single`` (CMSIS-NN, ``TFLITE_SINGLE_ROUNDING``) once: x * multiplier / 2^(31 - shift), halves
  up.

The results differ by at most 1, in few elements.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from harness.base.arithmetic import Rounding
from harness.reference.arrays import Array

_Q31 = 1 << 31
#: Arrays without axes: NumPy handles them twice as fast as Python's integers.
_HALF, _31, _63 = np.array(1 << 30), np.array(31), np.array(63)
#: Accumulators of one block: 128 KiB of int64 fit in the cache.
_BLOCK = 1 << 14
#: Target size of a row: NumPy is slow with many short rows, so pixels are joined up to this size.
_ROW = 1024
#: Most accumulators that are scaled without division into blocks.
_SMALL = 1 << 11


def round_half_away(real: float) -> int:
    """The nearest integer, halves away from zero (C's ``round``)."""
    return math.floor(real + 0.5) if real >= 0 else -math.floor(-real + 0.5)


def quantize_multiplier(real: float, rounding: Rounding = "double") -> tuple[int, int]:
    """``(multiplier, shift)`` of a real multiplier; (0, 0) below about 2^-32.

    With ``single`` rounding the shift is at most 30, because the product has 64 bits.
    """
    if real == 0.0:
        return 0, 0
    mantissa, shift = math.frexp(real)
    multiplier = round_half_away(mantissa * _Q31)
    if multiplier == _Q31:
        multiplier //= 2
        shift += 1
    if shift < -31:
        return 0, 0
    if rounding == "single" and shift > 30:
        return _Q31 - 1, 30
    return multiplier, shift


def wrap32(x: Array) -> Array:
    """int64 values reduced to 32 bits, two's complement, as int64."""
    return x.astype(np.int32).astype(np.int64)


def rounding_right_shift(x: Array, exponent: Array | int) -> Array:
    """x / 2^exponent, halves away from zero (gemmlowp's RoundingDivideByPOT), of int64.

    That is (x + half) >> exponent for x >= 0, (x + half - 1) >> exponent for x < 0, and x for
    exponent 0.
    """
    return _shifted(x, *_half(exponent), exponent)


def _half(exponent: Array | int) -> tuple[Array, Array | None]:
    """Half of 2^exponent, and a mask: 0 for exponent 0, else -1; None if all are -1."""
    half = (np.int64(1) << np.asarray(exponent, np.int64)) >> 1
    return half, None if half.all() else -np.minimum(half, 1)


def _shifted(x: Array, half: Array, mask: Array | None, exponent: Array | int) -> Array:
    """:func:`rounding_right_shift` with the results of :func:`_half` for the exponent."""
    shifted: Array = x >> _63
    if mask is not None:
        shifted &= mask
    shifted += x
    shifted += half
    shifted >>= exponent
    return shifted


def rounded_quotient(sums: Array, count: Array) -> Array:
    """Quotients of integers, halves away from zero."""
    return np.asarray(np.sign(sums) * ((np.abs(sums) + count // 2) // count))


def doubling_high_multiply(a: Array, b: Array | int) -> Array:
    """gemmlowp's SaturatingRoundingDoublingHighMul: a * b / 2^31 of int32 values, halves up.

    (-2^31)^2, the only overflow, saturates.
    """
    product: Array = a.astype(np.int64, copy=False) * b
    product += _HALF
    product >>= _31
    return np.asarray(np.minimum(product, _Q31 - 1))


@dataclass(frozen=True)
class Multiplier:
    """One multiplier, or one per channel (the last axis).

    ``multiplier`` and ``shift`` are int64 arrays of shape () or (channels,).
    """

    multiplier: Array
    shift: Array
    rounding: Rounding
    _rows: dict[int, Multiplier] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    @classmethod
    def of(cls, real: float | Iterable[float], rounding: Rounding) -> Multiplier:
        """The fixed-point form of one real multiplier, or of one per channel."""
        if isinstance(real, float):
            pair = quantize_multiplier(real, rounding)
            return cls(np.array(pair[0]), np.array(pair[1]), rounding)
        pairs = np.array([quantize_multiplier(each, rounding) for each in real], np.int64)
        return cls(pairs[:, 0], pairs[:, 1], rounding)

    def scale(self, x: Array) -> Array:
        """``x``, 32-bit accumulators as int64 (..., channels), times the multiplier, as int64.

        The left shift wraps at 32 bits, as TFLM's C++ does on its targets.
        """
        left, right = self._shifts
        if self.rounding == "single":
            half, _, exponent = right
            return np.asarray((x * self.multiplier + half) >> exponent)
        if left is not None:
            x = wrap32(x << left)
        product: Array = x * self.multiplier  # doubling_high_multiply, which cannot saturate here
        product += _HALF
        product >>= _31
        return _shifted(product, *right)

    @cached_property
    def _shifts(self) -> tuple[Array | None, tuple[Array, Array | None, Array]]:
        """The left shift (None: 0), and half, mask and exponent of the right shift."""
        if self.rounding == "single":
            return None, (*_half(31 - self.shift), 31 - self.shift)
        left = np.maximum(self.shift, 0)
        exponent = left - self.shift
        return left if left.any() else None, (*_half(exponent), exponent)

    @cached_property
    def shrinks(self) -> bool:
        """True if all multipliers are below 1/2: results have fewer than 31 bits."""
        return bool((self.shift < 0).all())

    def scale64(self, x: Array) -> Array:
        """``x``, 48-bit accumulators (16-bit activations), times the multiplier, as int64.

        The multiplier is reduced to 16 bits. Both rounding modes are equal: TFLM's only 64-bit
        variant rounds once.
        """
        reduced = np.where(
            self.multiplier < 0x7FFF0000, (self.multiplier + (1 << 15)) >> 16, 0x7FFF
        )
        product: Array = x * reduced
        product += np.int64(1) << (14 - self.shift)
        product >>= 15 - self.shift
        return wrap32(product)

    def first(self, channels: int) -> Multiplier:
        """The multipliers of the first ``channels`` channels."""
        if self.multiplier.ndim == 0:
            return self
        return replace(self, multiplier=self.multiplier[:channels], shift=self.shift[:channels])

    def repeated(self, times: int) -> Multiplier:
        """The multipliers for rows of ``times`` pixels."""
        if self.multiplier.ndim == 0 or times == 1:
            return self
        if times not in self._rows:
            multiplier, shift = np.tile(self.multiplier, times), np.tile(self.shift, times)
            self._rows[times] = replace(self, multiplier=multiplier, shift=shift)
        return self._rows[times]


@dataclass(frozen=True)
class Clamp:
    """Values limited to [low, high] and stored as ``dtype``."""

    low: float
    high: float
    dtype: np.dtype[np.generic]

    @classmethod
    def whole(cls, dtype: npt.DTypeLike) -> Clamp:
        """The range of an integer type."""
        info = np.iinfo(dtype)
        return cls(int(info.min), int(info.max), np.dtype(dtype))

    @property
    def range(self) -> tuple[float, float]:
        """(low, high)."""
        return self.low, self.high

    def __call__(self, x: Array) -> Array:
        """``x`` of any shape, clamped, as ``dtype``."""
        low, high = self._ends
        clamped = np.maximum(x, low)
        return np.minimum(clamped, high, out=clamped).astype(self.dtype, copy=False)

    @cached_property
    def _ends(self) -> tuple[Array, Array] | tuple[float, float]:
        """(low, high); for integers as arrays, which are faster than Python's numbers."""
        if self.dtype.kind == "f":
            return self.range
        return np.array(self.low), np.array(self.high)


@dataclass(frozen=True)
class Requantizer:
    """Conversion of accumulators to quantized values: bias, multiplier, zero point, clamp.

    ``wide`` accumulators have 64 bits (16-bit activations), others 32 bits, in which sums wrap.
    """

    multiplier: Multiplier
    zero_point: int
    clamp: Clamp
    wide: bool = False

    def __call__(self, accumulators: Array, bias: Array | None = None) -> Array:
        """The output, of the shape of ``accumulators`` and the clamp's type.

        ``accumulators`` (runs, ..., channels) are integers in any dtype; ``bias`` is
        (runs or 1, channels).
        """
        if bias is not None:
            bias = bias.reshape(len(bias), *(1,) * (accumulators.ndim - 2), -1)
        if accumulators.size <= _SMALL:
            return self._output(accumulators, bias, self.multiplier)
        if bias is not None and len(bias) > 1:
            accumulators, bias = accumulators.astype(np.int64) + bias, None
        multiplier, width = self.multiplier, 1
        if bias is not None or multiplier.shift.ndim:
            channels = accumulators.shape[-1]
            pixels = math.gcd(accumulators.size // channels, _ROW >> min(channels.bit_length(), 9))
            multiplier, width = multiplier.repeated(pixels), channels * pixels
            bias = None if bias is None else np.tile(bias.ravel(), pixels)
        rows = accumulators.reshape(-1, width)
        result = np.empty(rows.shape, self.clamp.dtype)
        step = max(1, _BLOCK // width)
        for start in range(0, len(rows), step):
            part = slice(start, start + step)
            result[part] = self._output(rows[part], bias, multiplier)
        return result.reshape(accumulators.shape)

    def _output(self, accumulators: Array, bias: Array | None, multiplier: Multiplier) -> Array:
        sums = accumulators.astype(np.int64)
        if bias is not None:
            sums += bias
        scaled = multiplier.scale64(sums) if self.wide else multiplier.scale(wrap32(sums))
        if self.zero_point:
            scaled += self.zero_point
        return self.clamp(scaled if multiplier.shrinks else wrap32(scaled))
