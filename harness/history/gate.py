"""What got worse: a run against the median of the last ones of a branch.

A figure without noise is worse when it is above the median at all. A noisy one is worse when it is
above by more than eight times the spread that those runs had and by more than one percent. The
spread is the larger of the standard deviation and of the scaled median absolute deviation: of ten
values of a normal distribution either alone is often far too small, and 200 nights of 110 cases
then raise alarms for nothing (five times the latter: a hundred; this: less than one).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median, stdev

from harness.case.measures import Measure
from harness.history.measures import measure

#: Of normally distributed values: standard deviation over median absolute deviation.
_TO_SIGMA = 1.4826
_SIGMAS = 8.0
_LEAST_SHARE = 0.01
#: Of a noisy figure, fewer values tell no spread.
_LEAST_NOISY = 4


@dataclass(frozen=True)
class Key:
    """A case where it ran; figures of different builders, targets or sources are not compared."""

    case: str
    target: str
    builder: str

    def __str__(self) -> str:
        return f"{self.case} on {self.target}"


@dataclass(frozen=True)
class Regression:
    """What got worse: a verdict (``measure`` "") or a figure."""

    key: Key
    measure: str
    before: float | None
    now: float | None
    text: str


@dataclass(frozen=True)
class Seen:
    """A case in one run: verdict, reason, and figures by (name, source)."""

    verdict: str
    reason: str
    figures: Mapping[tuple[str, str], float]


def regressions(
    now: Mapping[Key, Seen], before: Mapping[Key, Sequence[Seen]]
) -> tuple[Regression, ...]:
    """What is worse in ``now`` than in ``before``, which has the runs to compare with, newest last.

    A case that is new has nothing to be compared with; one that is gone is worse.
    """
    found: list[Regression] = []
    for key, earlier in before.items():
        if key not in now:
            text = "it ran before and does not any more"
            found.append(Regression(key, "", None, None, text))
            continue
        found += _of_case(key, now[key], earlier)
    return tuple(found)


def _of_case(key: Key, now: Seen, earlier: Sequence[Seen]) -> Iterable[Regression]:
    ran = [seen for seen in earlier if seen.verdict not in ("skipped", "error")]
    if now.verdict == "skipped" or not ran:
        return
    if now.verdict != "pass" and ran[-1].verdict == "pass":
        yield Regression(key, "", None, None, f"{now.verdict}: {now.reason}")
        return
    for (name, source), value in now.figures.items():
        values = [s.figures[name, source] for s in ran if (name, source) in s.figures]
        one = measure(name)
        if not values or one is None or not one.gated:
            continue
        usual = median(values)
        if value > usual + noise(one, values):
            unit = one.unit
            share = f" ({100 * (value - usual) / usual:+.1f} %)" if usual else ""
            text = f"{name} {usual:,.6g} -> {value:,.6g} {unit}{share}"
            yield Regression(key, name, usual, value, text)


def noise(of: Measure, values: Sequence[float]) -> float:
    """How far above its median a figure may lie by chance; 0 for figures that have no noise."""
    if not of.noisy:
        return 0.0
    if len(values) < _LEAST_NOISY:
        return float("inf")
    usual = median(values)
    deviation = _TO_SIGMA * median(abs(value - usual) for value in values)
    spread = max(deviation, stdev(values))
    return max(_SIGMAS * spread, _LEAST_SHARE * abs(usual))
