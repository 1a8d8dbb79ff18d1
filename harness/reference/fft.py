"""The fast Fourier transform of real signals in fixed point, bit for bit.

Source: KISS FFT 1.3.0 (``kiss_fft.c``, ``kiss_fftr.c``, FIXED_POINT 16 and 32), which TFLM's Signal
operators use. A transform of 2n real values is one of n complex values and a last stage. Each
stage first divides by its radix, so that nothing overflows; the results are those of the definition
divided by the length. Lengths are powers of two, so radix 4 and 2 are enough.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from harness.reference.fixedpoint import Array

#: The longest transform; a longer one does not fit any microcontroller.
MAX_LENGTH = 1 << 16


@dataclass(frozen=True)
class Pair:
    """Complex values: real and imaginary part, int64 arrays of one shape."""

    r: Array
    i: Array

    def __getitem__(self, index: Any) -> Pair:
        return Pair(self.r[index], self.i[index])


@dataclass(frozen=True)
class Transform:
    """``length`` real values (a power of two, at least 4) of ``bits`` 16 or 32."""

    length: int
    bits: int
    inverse: bool

    @property
    def half(self) -> int:
        """The length of the complex transform."""
        return self.length // 2

    @cached_property
    def _factors(self) -> tuple[int, ...]:
        left, factors = self.half, []
        while left > 1:
            factors.append(4 if left % 4 == 0 else 2)
            left //= factors[-1]
        return tuple(factors)

    def _unit(self, phase: Array) -> Pair:
        top = (1 << (self.bits - 1)) - 1
        sign = -1 if self.inverse else 1
        parts = (np.floor(0.5 + top * f(sign * phase)) for f in (np.cos, np.sin))
        return Pair(*(part.astype(np.int64) for part in parts))

    @cached_property
    def _twiddles(self) -> Pair:
        return self._unit(-2 * math.pi * np.arange(self.half) / self.half)

    @cached_property
    def _last_twiddles(self) -> Pair:
        k = np.arange(1, self.half // 2 + 1)
        return self._unit(-math.pi * (k / self.half + 0.5))

    def forward(self, x: Array) -> Array:
        """(..., length) -> (..., length + 2): real and imaginary parts of length / 2 + 1 bins."""
        n, mid = self.half, self.half // 2
        x = x.astype(np.int64)
        z = self._complex(Pair(x[..., 0::2], x[..., 1::2]), self._factors, 1)
        zero = self._divided(z[..., 0], 2)
        up, down = slice(1, mid + 1), slice(n - 1, n - mid - 1, -1)
        a = self._divided(z[..., up], 2)
        b = self._divided(Pair(z.r[..., down], self._wrap(-z.i[..., down])), 2)
        total = self._add(a, b)
        turned = self._product(self._sub(a, b), self._last_twiddles)
        y = np.zeros((*x.shape[:-1], n + 1, 2), np.int64)
        y[..., 0, 0], y[..., n, 0] = self._wrap(zero.r + zero.i), self._wrap(zero.r - zero.i)
        y[..., up, 0] = self._halved(total.r + turned.r)
        y[..., up, 1] = self._halved(total.i + turned.i)
        y[..., down, 0] = self._halved(total.r - turned.r)
        y[..., down, 1] = self._halved(turned.i - total.i)
        return y.reshape(*x.shape[:-1], 2 * n + 2)

    def backward(self, y: Array) -> Array:
        """(..., length + 2) -> (..., length)."""
        n, mid = self.half, self.half // 2
        bins = y.astype(np.int64).reshape(*y.shape[:-1], n + 1, 2)
        f = Pair(bins[..., 0], bins[..., 1])
        ends = Pair(self._wrap(f.r[..., 0] + f.r[..., n]), self._wrap(f.r[..., 0] - f.r[..., n]))
        up, down = slice(1, mid + 1), slice(n - 1, n - mid - 1, -1)
        a = self._divided(f[..., up], 2)
        b = self._divided(Pair(f.r[..., down], self._wrap(-f.i[..., down])), 2)
        even = self._add(a, b)
        odd = self._product(self._sub(a, b), self._last_twiddles)
        z = Pair(*(np.zeros((*y.shape[:-1], n), np.int64) for _ in range(2)))
        first = self._divided(ends, 2)
        z.r[..., 0], z.i[..., 0] = first.r, first.i
        above, below = self._add(even, odd), self._sub(even, odd)
        z.r[..., up], z.i[..., up] = above.r, above.i
        z.r[..., down], z.i[..., down] = below.r, self._wrap(-below.i)
        x = self._complex(z, self._factors, 1)
        return np.stack([x.r, x.i], axis=-1).reshape(*y.shape[:-1], 2 * n)

    def _complex(self, z: Pair, factors: tuple[int, ...], stride: int) -> Pair:
        """Decimation in time: the parts i, i + p, ... are transformed, then joined."""
        if not factors:
            return z
        p = factors[0]
        shape = z.r.shape
        m = shape[-1] // p
        parts = Pair(*(np.swapaxes(v.reshape(*shape[:-1], m, p), -1, -2) for v in (z.r, z.i)))
        parts = self._divided(self._complex(parts, factors[1:], stride * p), p)
        k = np.arange(m) * stride
        terms = [parts[..., 0, :]]
        terms += [self._product(parts[..., i, :], self._twiddles[i * k]) for i in range(1, p)]
        joined = self._two(*terms) if p == 2 else self._four(*terms)
        return Pair(
            np.concatenate([each.r for each in joined], axis=-1),
            np.concatenate([each.i for each in joined], axis=-1),
        )

    def _two(self, a: Pair, b: Pair) -> list[Pair]:
        return [self._add(a, b), self._sub(a, b)]

    def _four(self, a: Pair, b: Pair, c: Pair, d: Pair) -> list[Pair]:
        minus, plus = self._sub(a, c), self._add(a, c)
        both, apart = self._add(b, d), self._sub(b, d)
        turned = Pair(self._wrap(apart.i), self._wrap(-apart.r))  # -i times
        first, third = self._add(minus, turned), self._sub(minus, turned)
        if self.inverse:
            first, third = third, first
        return [self._add(plus, both), first, self._sub(plus, both), third]

    def _wrap(self, x: Array) -> Array:
        return x.astype(np.int16 if self.bits == 16 else np.int32).astype(np.int64)

    def _add(self, a: Pair, b: Pair) -> Pair:
        return Pair(self._wrap(a.r + b.r), self._wrap(a.i + b.i))

    def _sub(self, a: Pair, b: Pair) -> Pair:
        return Pair(self._wrap(a.r - b.r), self._wrap(a.i - b.i))

    def _rounded(self, x: Array) -> Array:
        fraction = self.bits - 1
        return self._wrap((x + (1 << (fraction - 1))) >> fraction)

    def _divided(self, a: Pair, by: int) -> Pair:
        factor = ((1 << (self.bits - 1)) - 1) // by
        return Pair(self._rounded(a.r * factor), self._rounded(a.i * factor))

    def _product(self, a: Pair, b: Pair) -> Pair:
        return Pair(self._rounded(a.r * b.r - a.i * b.i), self._rounded(a.r * b.i + a.i * b.r))

    def _halved(self, x: Array) -> Array:
        """Half of a sum: C adds 16-bit values in 32 bits, and 32-bit values in 32 bits, too."""
        return (x if self.bits == 16 else self._wrap(x)) >> 1
