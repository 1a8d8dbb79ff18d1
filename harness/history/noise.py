"""Noise of a figure over runs, and the largest deviation that it explains.

Noise estimated from few runs is uncertain, which Student's t takes into account. Wallace's
transformation converts a normal score to t (Wallace, Bounds on Normal Approximations to Student's
and the Chi-Square Distributions, Annals of Mathematical Statistics 30, 1959).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from statistics import fmean, median

#: Normal score of the largest deviation by chance: exceeded once in three million values.
_SCORE = 5.0
#: Number of values from which noise can be estimated.
_LEAST = 4


def student_t(score: float, freedom: float) -> float:
    """Student's t, with ``freedom`` degrees of freedom, of a normal score."""
    scaled = score * (8 * freedom + 3) / (8 * freedom + 1)
    return math.sqrt(freedom * math.expm1(scaled * scaled / freedom))


def by_chance(values: Sequence[float], last: int) -> float:
    """The largest deviation by chance of a further value from the median of the ``last``.

    It is infinite for fewer than four values. The noise is estimated from successive differences
    less their median, so that neither a trend nor an earlier step counts as noise (von Neumann,
    Distribution of the Ratio of the Mean Square Successive Difference to the Variance, Annals of
    Mathematical Statistics 12, 1941; the estimate is as good as the variance of two thirds of the
    values).
    """
    if len(values) < _LEAST:
        return math.inf
    differences = [after - before for before, after in pairwise(values)]
    trend = median(differences)
    noise = math.sqrt(fmean((one - trend) ** 2 for one in differences) / 2)
    # The variance of a median is pi / 2 times that of the mean.
    of_median = math.pi / 2 / min(last, len(values))
    return student_t(_SCORE, 2 * (len(values) - 1) / 3) * noise * math.sqrt(1 + of_median)
