"""A noisy figure that creeps: a change that no single night shows.

A self-starting CUSUM (Hawkins, Self-Starting CUSUM Charts for Location and Scale, The Statistician
36, 1987): each value is compared with the mean and the deviation of all values before it, brought
to a normal score (:mod:`harness.history.noise`), and what exceeds half a deviation is summed up.
Scores are cut, so that an outlier alone says nothing. The sum is kept from falling below 0; where
it last stood there, the change began.

Simulated (tests/unit/history/test_creep.py): with normal noise of 0.2 or 2 %, 200 clean nights of
130 cases raise no alarm, and a creep over 60 nights that comes to four times the noise is found
when it has come to about twice the noise.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from harness.history.noise import normal_score

#: Half of the smallest shift that is looked for, in deviations.
_ALLOWANCE = 0.5
#: The sum, in deviations, that is an alarm.
_ALARM = 10.0
#: The largest score of one value.
_CUT = 4.0
#: Values that give a mean and a deviation before others are judged by them.
_LEAST = 8
#: Changes by less are not worth a look.
_LEAST_SHARE = 0.002
#: Runs for which an alarm stands.
_STANDS = 3


@dataclass(frozen=True)
class Creep:
    """A change of a figure: its mean before and since, and how many values it had since."""

    before: float
    since: float
    runs: int


def creep(values: Sequence[float]) -> Creep | None:
    """The upward change that one of the last values of a series, oldest first, has made plain."""
    start, alarm = 0, None
    while start < len(values):
        found = _first_alarm(values[start:])
        if found is None:
            break
        began, at = found
        before, since = values[start : start + began], values[start + began : start + at + 1]
        alarm = start + at, Creep(fmean(before), fmean(since), len(values) - start - began)
        start += began  # what came since is the new rule
    if alarm is None or alarm[0] < len(values) - _STANDS:
        return None
    change = alarm[1].since - alarm[1].before
    return alarm[1] if change > _LEAST_SHARE * abs(alarm[1].before) else None


def _first_alarm(values: Sequence[float]) -> tuple[int, int] | None:
    """Where the first change began, and where its sum became an alarm."""
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
        off = value - mean
        mean += off / (count + 1)
        squares += off * (value - mean)
    return None


def _score(off: float, variance: float, count: int) -> float:
    """The normal score of a value that is ``off`` the mean of ``count`` earlier ones."""
    if variance <= 0:
        return math.copysign(_CUT, off) if off else 0.0
    score = normal_score(off * math.sqrt(count / (count + 1) / variance), count - 1)
    return max(-_CUT, min(score, _CUT))
