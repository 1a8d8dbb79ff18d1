"""Exact integer matrix products at the speed of floating-point ones.

A float of p bits of significand (float32: 24, float64: 53) holds every integer up to 2^p exactly.
A product sum whose terms and partial sums, in any order, all stay within 2^p is therefore exact
in floating point: nothing is rounded, in any order and with fused operations of a BLAS. With
|x| <= X every partial sum of sum_k x_k w_k is bounded by X * sum_k |w_k|, so

    X * max over columns of sum_k |w_k| <= 2^24  ->  float32
    X * max over columns of sum_k |w_k| <= 2^53  ->  float64

For int8 the first holds for up to 514 terms of any value (255 * 128 * 514 < 2^24), and for several
thousand terms with trained weights. For int16 activations the second holds for 2^31 terms.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from harness.reference.fixedpoint import Array

FLOAT32_EXACT = 1 << 24
FLOAT64_EXACT = 1 << 53


def exact_float(bound: int) -> np.dtype[Any]:
    """The fastest float type with exact integer sums of magnitudes up to ``bound``.

    Raises OverflowError if float64 has none.
    """
    if bound <= FLOAT32_EXACT:
        return np.dtype(np.float32)
    if bound <= FLOAT64_EXACT:
        return np.dtype(np.float64)
    raise OverflowError(f"sums up to {bound} do not fit a float64 exactly")


@dataclass(frozen=True)
class ExactMatrix:
    """A constant matrix (depth, columns), the right factor of products.

    For integers ``bound`` is the largest magnitude of any partial sum. A matrix of real numbers
    (``bound`` 0) is held in double precision, so that a product of float32 values is rounded once,
    when it is stored.
    """

    matrix: Array
    bound: int

    @classmethod
    def of(cls, weights: Array, largest_input: int) -> ExactMatrix:
        """Integer ``weights`` (depth, columns), inputs of magnitude up to ``largest_input``."""
        sums = np.abs(weights.astype(np.int64)).sum(axis=0)
        bound = max(largest_input, 1) * int(sums.max(initial=0))
        return cls(np.ascontiguousarray(weights, exact_float(bound)), bound)

    @classmethod
    def real(cls, weights: Array) -> ExactMatrix:
        """float32 ``weights`` (depth, columns)."""
        return cls(np.ascontiguousarray(weights, np.float64), 0)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The float type in which the product is computed."""
        return self.matrix.dtype

    def centred(self, x: Array, zero_point: int) -> Array:
        """x - zero_point in the product's type."""
        moved = x.astype(self.dtype)
        if zero_point:
            moved -= zero_point
        return moved

    def product(self, x: Array) -> Array:
        """x @ matrix for x of shape (..., depth) and type :attr:`dtype`: (..., columns)."""
        return np.asarray(x @ self.matrix)
