"""Creep: a slow change of a noisy figure that no single run shows.

A self-starting CUSUM (Hawkins, Self-Starting CUSUM Charts for Location and Scale, The Statistician
36, 1987) detects it: the deviation of each value from the mean of all values before it is converted
to a normal score (:mod:`harness.history.noise`), and the excess over half a standard deviation is
summed up. Scores are limited, so that a single outlier raises no alarm. The sum is never below 0;
the change began where it was last 0.

Simulated (tests/unit/history/test_creep.py): with normal noise of 0.2 or 2 %, 200 nights of 130
cases without a change raise no alarm, and a creep over 60 nights to four times the noise is
detected at about twice the noise.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from harness.history.noise import normal_score

#: Half of the smallest shift to detect, in standard deviations.
_ALLOWANCE = 0.5
#: The sum of scores, in standard deviations, that raises an alarm.
_ALARM = 10.0
#: Limit of the score of one value.
_LIMIT = 4.0
#: Values from which mean and deviation are estimated before later ones are compared with them.
_LEAST = 8
#: Smallest relative change that is reported.
_LEAST_SHARE = 0.002
#: Runs for which an alarm is reported.
_REPORTED_RUNS = 3


@dataclass(frozen=True)
class Creep:
    """A change of a figure: its mean before and since, and the number of runs since."""

    before: float
    since: float
    runs: int


def creep(values: Sequence[float]) -> Creep | None:
    """The increase that one of the last values, given oldest first, has revealed."""
    start, alarm = 0, None
    while start < len(values):
        found = _first_alarm(values[start:])
        if found is None:
            break
        began, at = found
        before, since = values[start : start + began], values[start + began : start + at + 1]
        alarm = start + at, Creep(fmean(before), fmean(since), len(values) - start - began)
        start += began  # the values since then are the new baseline
    if alarm is None or alarm[0] < len(values) - _REPORTED_RUNS:
        return None
    change = alarm[1].since - alarm[1].before
    return alarm[1] if change > _LEAST_SHARE * abs(alarm[1].before) else None


def _first_alarm(values: Sequence[float]) -> tuple[int, int] | None:
    """The indices at which the first change began, and at which it raised the alarm."""
    mean = squares = total = 0.0
    began = _LEAST
    for count, value in enumerate(values):
        if count >= _LEAST:
            score = _score(value - mean, squares / (count - 1), count)
            total = max(0.0, total + score - _ALLOWANCE)
            if total == 0:
                began = count + 1
            elif total >= _ALARM:
                return began, count
        deviation = value - mean
        mean += deviation / (count + 1)
        squares += deviation * (value - mean)
    return None


def _score(deviation: float, variance: float, count: int) -> float:
    """The normal score of a deviation from the mean of ``count`` earlier values."""
    if variance <= 0:
        return math.copysign(_LIMIT, deviation) if deviation else 0.0
    score = normal_score(deviation * math.sqrt(count / (count + 1) / variance), count - 1)
    return max(-_LIMIT, min(score, _LIMIT))
