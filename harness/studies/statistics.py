"""Rates with their uncertainty."""

from __future__ import annotations

from math import sqrt
from statistics import NormalDist

#: Of 100 such intervals 95 hold the true rate.
CONFIDENCE = 0.95
_Z = NormalDist().inv_cdf(0.5 + CONFIDENCE / 2)


def wilson(hits: int, of: int) -> tuple[float, float]:
    """Wilson's score interval of a rate (E. B. Wilson, JASA 22, 1927); (0, 1) for no trial."""
    if not of:
        return 0.0, 1.0
    rate, square = hits / of, _Z * _Z
    middle = rate + square / (2 * of)
    reach = _Z * sqrt(rate * (1 - rate) / of + square / (4 * of * of))
    low, high = (middle - reach) / (1 + square / of), (middle + reach) / (1 + square / of)
    return max(0.0, low) if hits else 0.0, min(1.0, high) if hits < of else 1.0
