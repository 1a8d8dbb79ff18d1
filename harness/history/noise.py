"""Noise of a figure that each run measures anew, and what of it chance explains.

Wallace's transformation brings Student's t to a normal score: few runs tell little of the noise, so
they must show more (Wallace, Bounds on Normal Approximations to Student's and the Chi-Square
Distributions, Annals of Mathematical Statistics 30, 1959).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from statistics import fmean, median

#: The score that chance does not reach in years of nights: once in three million.
_SCORE = 5.0
#: Fewer values give no noise.
_LEAST = 4


def normal_score(t: float, freedom: float) -> float:
    """The normal score of Student's ``t`` with so many degrees of freedom."""
    size = math.sqrt(freedom * math.log1p(t * t / freedom))
    return math.copysign(size * (8 * freedom + 1) / (8 * freedom + 3), t)


def student_t(score: float, freedom: float) -> float:
    """The t that has a normal score: the inverse of :func:`normal_score`."""
    scaled = score * (8 * freedom + 3) / (8 * freedom + 1)
    return math.sqrt(freedom * math.expm1(scaled * scaled / freedom))


def by_chance(values: Sequence[float], last: int) -> float:
    """How far a further value may lie from the median of the ``last`` ones; infinite for few.

    The noise is that of the differences between neighbours, without their median: neither a trend
    nor a step that is long past counts as noise (von Neumann, Distribution of the Ratio of the
    Mean Square Successive Difference to the Variance, Annals of Mathematical Statistics 12, 1941;
    it is as good as the variance of two thirds of the values).
    """
    if len(values) < _LEAST:
        return math.inf
    differences = [after - before for before, after in pairwise(values)]
    usual = median(differences)
    noise = math.sqrt(fmean((one - usual) ** 2 for one in differences) / 2)
    # The variance of a median is pi / 2 of that of the mean.
    of_median = math.pi / 2 / min(last, len(values))
    return student_t(_SCORE, 2 * (len(values) - 1) / 3) * noise * math.sqrt(1 + of_median)
