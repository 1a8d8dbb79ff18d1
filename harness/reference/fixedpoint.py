"""Fixed-point requantization as TFLM's integer kernels do it, on whole arrays.

Sources: the TensorFlow Lite 8-bit quantization specification; gemmlowp's ``fixedpoint.h``
(saturating rounding doubling high multiply, rounding divide by a power of two); the rounding
modes are those of TFLM's ``TFLITE_SINGLE_ROUNDING``.

A real multiplier M is held as ``multiplier`` (Q0.31, in [2^30, 2^31) or 0) and ``shift``:
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
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from harness.arithmetic import Rounding

Array = npt.NDArray[Any]
_Q31 = 1 << 31
#: As arrays without axes, which NumPy takes faster than Python's integers.
_Q30, _HIGH, _LARGEST = (np.array(each) for each in (1 << 30, 31, _Q31 - 1))


def quantize_multiplier(real: float, rounding: Rounding = "double") -> tuple[int, int]:
    """``(multiplier, shift)`` of a real multiplier; (0, 0) for one below about 2^-32.

    With ``single`` the shift is at most 30, because of its 64-bit product.
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


def round_half_away(real: float) -> int:
    """The nearest integer, halves away from zero (C's ``round``)."""
    return math.floor(real + 0.5) if real >= 0 else -math.floor(-real + 0.5)


@dataclass(frozen=True)
class Multiplier:
    """One multiplier, or one per index of the last axis (arrays of shape (channels,)).

    ``multiplier`` and ``shift`` are int64 arrays of shape () or (channels,).
    """

    multiplier: Array
    shift: Array
    rounding: Rounding

    @classmethod
    def of(cls, real: float | Iterable[float], rounding: Rounding) -> Multiplier:
        """From real multipliers (already divided by the output's scale)."""
        if isinstance(real, float):
            pair = quantize_multiplier(real, rounding)
            return cls(np.array(pair[0]), np.array(pair[1]), rounding)
        pairs = np.array([quantize_multiplier(each, rounding) for each in real], np.int64)
        return cls(pairs[:, 0], pairs[:, 1], rounding)

    def scale(self, x: Array) -> Array:
        """Scale int32 values, held as int64 of shape (..., channels). Returns int64.

        The left shift wraps at 32 bits, as the C++ does on the machines that TFLM runs on.
        """
        if self.rounding == "single":
            product: Array = x * self.multiplier
            product += self._half_of_single
            product >>= 31 - self.shift
            return product
        if self._left is not None:
            x = wrap32(x << self._left)
        product = x * self.multiplier
        product += 1 << 30
        product >>= 31
        return self._right(product)

    @cached_property
    def _half_of_single(self) -> Array:
        return np.asarray(np.int64(1) << (30 - self.shift))

    @cached_property
    def _left(self) -> Array | None:
        return np.maximum(self.shift, 0) if np.any(self.shift > 0) else None

    @cached_property
    def _right(self) -> RightShift:
        return RightShift.of(np.maximum(-self.shift, 0))

    def first(self, channels: int) -> Multiplier:
        """The same without the channels after the first ``channels``."""
        if self.multiplier.ndim == 0:
            return self
        return Multiplier(self.multiplier[:channels], self.shift[:channels], self.rounding)

    def scale64(self, x: Array) -> Array:
        """Scale accumulators of 48 bits (16-bit activations): the multiplier is cut to 16 bits.

        Both rounding modes give the same here: TFLM has one 64-bit variant, which rounds once.
        """
        reduced = np.where(
            self.multiplier < 0x7FFF0000, (self.multiplier + (1 << 15)) >> 16, 0x7FFF
        )
        total = 15 - self.shift
        product = x * reduced
        product += np.int64(1) << (total - 1)
        product >>= total
        return wrap32(product)


def wrap32(x: Array) -> Array:
    """int64 values reduced to 32 bits, two's complement, as int64."""
    return x.astype(np.int32).astype(np.int64)


@dataclass(frozen=True)
class RightShift:
    """x / 2^exponent, halves away from zero (gemmlowp's RoundingDivideByPOT).

    For x >= 0 that is (x + half) >> exponent, for x < 0 (x + half - 1) >> exponent, and x itself
    if nothing is shifted out. ``correct`` is 0 for those exponents, else -1; None: -1 for all.
    """

    exponent: Array
    half: Array
    correct: Array | None

    @classmethod
    def of(cls, exponent: Array | int) -> RightShift:
        """For one exponent, or for one per index of the last axes."""
        exponent = np.asarray(exponent, np.int64)
        shifts = exponent > 0
        half = np.where(shifts, np.int64(1) << np.maximum(exponent - 1, 0), 0)
        return cls(exponent, half, None if shifts.all() else np.where(shifts, -1, 0))

    def narrowed(self, dtype: np.dtype[Any]) -> RightShift:
        """The same shift for values of type ``dtype``, which must hold all sums."""
        correct = None if self.correct is None else self.correct.astype(dtype)
        return RightShift(self.exponent.astype(dtype), self.half.astype(dtype), correct)

    def __call__(self, x: Array) -> Array:
        """Shift values of the type that this was made for (default: int64); x is changed."""
        sign = x >> (8 * x.dtype.itemsize - 1)
        if self.correct is not None:
            sign &= self.correct
        x += self.half
        x += sign
        x >>= self.exponent
        return x


def rounding_right_shift(x: Array, exponent: Array | int) -> Array:
    """x / 2^exponent, halves away from zero; x is changed."""
    return RightShift.of(exponent)(x)


def doubling_high_multiply(a: Array, b: Array | int) -> Array:
    """gemmlowp's SaturatingRoundingDoublingHighMul: a * b / 2^31 of int32 values, halves up.

    The only overflow, (-2^31)^2, saturates.
    """
    product: Array = a.astype(np.int64, copy=False) * b
    product += _Q30
    product >>= _HIGH
    return np.asarray(np.minimum(product, _LARGEST))
