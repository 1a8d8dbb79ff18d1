"""Shared parts of the Signal operators: types, bit lengths, a fixed-point Fourier transform.

Source of the transform: KISS FFT 1.3.0 (``kiss_fft.c``, ``kiss_fftr.c``, FIXED_POINT 16 and 32),
which TFLM's Signal operators use. A transform of 2n real values is one of n complex values and a
final stage. Each stage first divides by its radix against overflow, so the results are the Fourier
transform divided by the length. Lengths are powers of two: radix 4 and 2 suffice.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from harness.reference.arrays import Array
from harness.reference.node import Node

#: The longest transform of the reference.
MAX_LENGTH = 1 << 16


def most_significant_bit(x: Array) -> Array:
    """The number of the highest bit of values below 2^53, counted from 1; 32 for 0."""
    bits = np.frexp(x.astype(np.float64))[1].astype(np.int64)
    return np.where(x == 0, 32, bits)


#: The schema's types by their number in the option ``T``.
_TYPES = {7: "int16", 2: "int32", 0: "float32"}


def typed(node: Node, allowed: str) -> str:
    """The type of the option ``T``. Raises BadModel if the tensors have another one."""
    number = node.number("T", 0, 127)
    dtype = _TYPES.get(number, "")
    if dtype not in allowed.split():
        raise node.unsupported(f"the type {dtype or number} is not supported")
    if (node.input(0).dtype, node.output().dtype) != (dtype, dtype):
        raise node.bad(f"it is for {dtype}, its tensors are {node.input(0).dtype}")
    return dtype


@dataclass(frozen=True)
class Transform:
    """The transform of ``length`` real values (a power of two, at least 4) of 16 or 32 ``bits``.

    Complex values are int64 arrays whose first axis has the real and imaginary parts. Sums wrap
    once, at the end of a stage, which equals wrapping after each sum and rotation.
    """

    length: int
    bits: int
    inverse: bool

    @property
    def half(self) -> int:
        """The length of the complex transform."""
        return self.length // 2

    @cached_property
    def _factors(self) -> tuple[int, ...]:
        remaining, factors = self.half, []
        while remaining > 1:
            factors.append(4 if remaining % 4 == 0 else 2)
            remaining //= factors[-1]
        return tuple(factors)

    def _unit(self, phase: Array) -> Array:
        """exp(i * phase), conjugated for the inverse, in fixed point."""
        top = (1 << (self.bits - 1)) - 1
        sign = -1 if self.inverse else 1
        parts = np.stack([np.cos(sign * phase), np.sin(sign * phase)])
        return np.floor(0.5 + top * parts).astype(np.int64)

    @cached_property
    def _twiddles(self) -> list[Array]:
        """The twiddle factors of each stage, the last one first: (2, radix - 1, part size)."""
        roots = self._unit(-2 * math.pi * np.arange(self.half) / self.half)
        stages, stride = [], 1
        for p in self._factors:
            k = stride * np.arange(self.half // (stride * p))
            stages.append(roots[:, np.arange(1, p)[:, None] * k])
            stride *= p
        return stages

    @cached_property
    def _last_twiddles(self) -> Array:
        k = np.arange(1, self.half // 2 + 1)
        return self._unit(-math.pi * (k / self.half + 0.5))

    def forward(self, x: Array) -> Array:
        """The transform of ``x`` (..., length): (..., length + 2), the real and imaginary parts of
        length / 2 + 1 bins.
        """
        n, mid = self.half, self.half // 2
        z = self._complex(np.moveaxis(x.astype(np.int64).reshape(*x.shape[:-1], n, 2), -1, 0), 0)
        y = np.zeros((*x.shape[:-1], n + 1, 2), np.int64)
        bins = np.moveaxis(y, -1, 0)
        real, imaginary = self._divided(z[..., 0], 2)
        bins[0, ..., 0], bins[0, ..., n] = self._wrap(
            np.stack([real + imaginary, real - imaginary])
        )
        total, turned = self._split(z, mid)
        # C adds 16-bit values in 32 bits, which cannot overflow, and 32-bit values in 32 bits.
        above, below = total + turned, _conjugated(total - turned)
        if self.bits == 32:
            above, below = self._wrap(above), self._wrap(below)
        bins[..., 1 : mid + 1], bins[..., n - 1 : n - mid - 1 : -1] = above >> 1, below >> 1
        return y.reshape(*x.shape[:-1], 2 * n + 2)

    def backward(self, y: Array) -> Array:
        """The inverse transform of ``y`` (..., length + 2): (..., length)."""
        n, mid = self.half, self.half // 2
        bins = np.moveaxis(y.astype(np.int64).reshape(*y.shape[:-1], n + 1, 2), -1, 0)
        z = np.empty((2, *y.shape[:-1], n), np.int64)
        first, last = bins[0, ..., 0], bins[0, ..., n]
        z[..., 0] = self._divided(self._wrap(np.stack([first + last, first - last])), 2)
        even, odd = self._split(bins[..., :n], mid)
        z[..., 1 : mid + 1] = self._wrap(even + odd)
        z[..., n - 1 : n - mid - 1 : -1] = self._wrap(_conjugated(even - odd))
        return np.moveaxis(self._complex(z, 0), 0, -1).reshape(*y.shape[:-1], 2 * n)

    def _split(self, z: Array, mid: int) -> tuple[Array, Array]:
        """The sums of bins and their mirror images, and their rotated differences."""
        a = self._divided(z[..., 1 : mid + 1], 2)
        b = self._divided(self._wrap(_conjugated(z[..., : -mid - 1 : -1])), 2)
        return self._wrap(a + b), self._wrap(self._product(self._wrap(a - b), self._last_twiddles))

    def _complex(self, z: Array, stage: int) -> Array:
        """The complex transform by decimation in time: parts i, i + p, ... are joined."""
        if stage == len(self._factors):
            return z
        p, twiddles = self._factors[stage], self._twiddles[stage]
        parts = np.swapaxes(z.reshape(*z.shape[:-1], -1, p), -1, -2)
        parts = self._divided(self._complex(parts, stage + 1), p)
        a, turned = parts[..., 0, :], self._product(parts[..., 1:, :], twiddles)
        joined = np.empty_like(parts)
        if p == 2:
            joined[..., 0, :], joined[..., 1, :] = a + turned[..., 0, :], a - turned[..., 0, :]
        else:
            b, c, d = (turned[..., i, :] for i in range(3))
            minus, plus, both, apart = a - c, a + c, b + d, b - d
            quarter = np.stack([apart[1], -apart[0]])  # -i * apart
            first, third = (3, 1) if self.inverse else (1, 3)
            joined[..., 0, :], joined[..., 2, :] = plus + both, plus - both
            joined[..., first, :], joined[..., third, :] = minus + quarter, minus - quarter
        return self._wrap(joined).reshape(z.shape)

    def _wrap(self, x: Array) -> Array:
        return x.astype(np.int16 if self.bits == 16 else np.int32).astype(np.int64)

    def _divided(self, x: Array, by: int) -> Array:
        return self._rounded(x * (((1 << (self.bits - 1)) - 1) // by))

    def _product(self, z: Array, w: Array) -> Array:
        return self._rounded(np.stack([z[0] * w[0] - z[1] * w[1], z[0] * w[1] + z[1] * w[0]]))

    def _rounded(self, x: Array) -> Array:
        fraction = self.bits - 1
        x += 1 << (fraction - 1)
        x >>= fraction
        return x


def _conjugated(z: Array) -> Array:
    return np.stack([z[0], -z[1]])
