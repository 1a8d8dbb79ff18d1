"""What got worse: a run compared with the median of the last runs of a branch.

A figure without noise is worse if it is above the median at all. A noisy one is worse if it is
above by more than eight times the spread of those runs, and by more than one per cent. The spread
is the larger of the standard deviation and the scaled median absolute deviation. For ten values of
a normal distribution either alone is often far too small: 200 nights of 110 cases then raise a
hundred false alarms (with five times the latter), with this rule less than one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median, stdev

from harness.case.measures import Measure
from harness.history.measures import measure

#: For normally distributed values: standard deviation over median absolute deviation.
_TO_SIGMA = 1.4826
_SIGMAS = 8.0
_LEAST_SHARE = 0.01
#: Fewer values of a noisy figure give no spread.
_LEAST_NOISY = 4


@dataclass(frozen=True)
class Key:
    """A case on a target, built by a builder: figures are compared within these only."""

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
    """What is worse in ``now`` than in the earlier runs ``before``, newest last.

    A new case has nothing to be compared with; one that is gone is worse.
    """
    worse: list[Regression] = []
    for key, earlier in before.items():
        if key not in now:
            text = "it ran before and does not any more"
            worse.append(Regression(key, "", None, None, text))
            continue
        worse += _of_case(key, now[key], earlier)
    return tuple(worse)


def _of_case(key: Key, now: Seen, earlier: Sequence[Seen]) -> Iterable[Regression]:
    judged = [seen for seen in earlier if seen.verdict not in ("skipped", "error")]
    if now.verdict == "skipped" or not judged:
        return
    if now.verdict != "pass" and judged[-1].verdict == "pass":
        yield Regression(key, "", None, None, f"{now.verdict}: {now.reason}")
        return
    for (name, source), value in now.figures.items():
        values = [s.figures[name, source] for s in judged if (name, source) in s.figures]
        kind = measure(name)
        if not values or kind is None or not kind.gated:
            continue
        usual = median(values)
        if value > usual + noise(kind, values):
            share = f" ({100 * (value - usual) / usual:+.1f} %)" if usual else ""
            text = f"{name} {usual:,.6g} -> {value:,.6g} {kind.unit}{share}"
            yield Regression(key, name, usual, value, text)


def noise(kind: Measure, values: Sequence[float]) -> float:
    """How far above its median a figure may lie by chance; 0 for figures without noise."""
    if not kind.noisy:
        return 0.0
    if len(values) < _LEAST_NOISY:
        return float("inf")
    usual = median(values)
    deviation = _TO_SIGMA * median(abs(value - usual) for value in values)
    spread = max(deviation, stdev(values))
    return max(_SIGMAS * spread, _LEAST_SHARE * abs(usual))
