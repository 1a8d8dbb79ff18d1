"""Rates with their uncertainty."""

from __future__ import annotations

from math import sqrt
from statistics import NormalDist

#: 95 of 100 such intervals contain the true rate.
CONFIDENCE = 0.95
_Z = NormalDist().inv_cdf(0.5 + CONFIDENCE / 2)


def wilson(hits: int, of: int) -> tuple[float, float]:
    """Wilson's score interval of a rate (E. B. Wilson, JASA 22, 1927); (0, 1) for no trial."""
    if not of:
        return 0.0, 1.0
    rate, square = hits / of, _Z * _Z
    centre = rate + square / (2 * of)
    half_width = _Z * sqrt(rate * (1 - rate) / of + square / (4 * of * of))
    low, high = ((centre + sign * half_width) / (1 + square / of) for sign in (-1, 1))
    return max(0.0, low) if hits else 0.0, min(1.0, high) if hits < of else 1.0
