"""The rules for a regression: one run compared with the last runs of a branch.

A figure without noise is worse if it is above the median of those runs at all. For a noisy one
(a board's cycles) a straight line is fitted to them. Their distance from it is their noise, so a
figure that creeps up has the same noise as one that stands still. Such a figure is worse if

* it is above the median by more than eight times the noise, or
* it creeps: with the new value the line rises by more than eight times its standard error,

and in both cases by more than one per cent. The noise is the larger of the residuals' standard
deviation and their scaled median absolute deviation; for ten values the latter alone is often far
too small. Simulated with 0.2 to 2 % of noise, 200 nights of 110 noisy cases raise one false alarm;
a creep of 0.4 % a night is found in every window with 0.3 % of noise, and within 30 nights with
0.5 %.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean, median

from harness.case.columns import Measure
from harness.history.measures import measure

#: For normally distributed values: standard deviation over median absolute deviation.
_TO_SIGMA = 1.4826
_SIGMAS = 8.0
_LEAST_SHARE = 0.01
#: Fewer values of a noisy figure give no noise.
_LEAST_NOISY = 4
#: Verdicts of a run that gave no answer about the case.
_UNANSWERED = ("skipped", "error")


@dataclass(frozen=True)
class CaseKey:
    """A case on a target, with builder, compiler, machine, chip: only like is compared with like.

    ``compiler``, ``machine`` and ``chip`` are "" if unknown.
    """

    case: str
    target: str
    builder: str
    compiler: str = ""
    machine: str = ""
    chip: str = ""

    @property
    def any_compiler(self) -> CaseKey:
        """The key without its compiler."""
        return replace(self, compiler="")

    def __str__(self) -> str:
        return f"{self.case} on {self.target}"


@dataclass(frozen=True)
class Regression:
    """A figure or verdict (``measure`` "") that got worse; ``now`` is None if it vanished."""

    key: CaseKey
    measure: str
    before: float | None
    now: float | None
    text: str


@dataclass(frozen=True)
class CaseOutcome:
    """A case in one run: verdict, reason, and figures by (name, source)."""

    verdict: str
    reason: str
    figures: Mapping[tuple[str, str], float]

    @property
    def answered(self) -> bool:
        """True if the case ran."""
        return self.verdict not in _UNANSWERED


def regressions(
    now: Mapping[CaseKey, CaseOutcome], before: Mapping[CaseKey, Sequence[CaseOutcome]]
) -> tuple[Regression, ...]:
    """The regressions of ``now`` against in the earlier runs ``before``, newest last.

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


def _of_case(
    key: CaseKey, now: CaseOutcome, earlier: Sequence[CaseOutcome]
) -> Iterator[Regression]:
    answered = [outcome for outcome in earlier if outcome.answered]
    if not answered:
        return
    if now.verdict != "pass" and answered[-1].verdict == "pass":
        yield Regression(key, "", None, None, f"{now.verdict}: {now.reason}")
    elif now.answered:
        yield from _larger(key, now, answered)
        yield from _vanished(key, now, answered)


def _larger(key: CaseKey, now: CaseOutcome, earlier: Sequence[CaseOutcome]) -> Iterator[Regression]:
    for (name, source), value in now.figures.items():
        values = [one.figures[name, source] for one in earlier if (name, source) in one.figures]
        kind = measure(name)
        if not values or kind is None or not kind.gated:
            continue
        usual = median(values)
        share = f" ({100 * (value - usual) / usual:+.1f} %)" if usual else ""
        change = f"{usual:,.6g} -> {value:,.6g} {kind.unit}{share}"
        if value > usual + allowed_noise(kind, values):
            yield Regression(key, name, usual, value, f"{name} {change}")
        elif kind.noisy and creeps([*values, value]):
            text = f"{name} creeps up: {change} in {len(values) + 1} runs"
            yield Regression(key, name, usual, value, text)


def _vanished(
    key: CaseKey, now: CaseOutcome, earlier: Sequence[CaseOutcome]
) -> Iterator[Regression]:
    """The gated figures that the last run had, or most of them, and ``now`` has from no source."""
    measured = {name for name, _ in now.figures}
    for name, source in dict.fromkeys(figure for one in earlier for figure in one.figures):
        values = [one.figures.get((name, source)) for one in earlier]
        known = [value for value in values if value is not None]
        usual = values[-1] is not None or 2 * len(known) >= len(values)
        kind = measure(name)
        if usual and name not in measured and kind is not None and kind.gated:
            text = f"{name} was {median(known):,.6g} {kind.unit} ({source}) and is not measured now"
            yield Regression(key, name, median(known), None, text)


def allowed_noise(kind: Measure, values: Sequence[float]) -> float:
    """How far above its median a figure may lie by chance; 0 for figures without noise."""
    if not kind.noisy:
        return 0.0
    if len(values) < _LEAST_NOISY:
        return math.inf
    return max(_SIGMAS * _line(values).noise, _LEAST_SHARE * abs(median(values)))


def creeps(values: Sequence[float]) -> bool:
    """Whether ``values``, oldest first, rise steadily and by more than chance explains."""
    if len(values) <= _LEAST_NOISY:
        return False
    line = _line(values)
    rise = line.slope * (len(values) - 1)
    return line.slope > _SIGMAS * line.error and rise > _LEAST_SHARE * abs(median(values))


@dataclass(frozen=True)
class _Line:
    """The least-squares line through values: its slope a run, the slope's standard error."""

    slope: float
    error: float
    noise: float  # how far the values lie off the line, one standard deviation


def _line(values: Sequence[float]) -> _Line:
    """The line through at least three ``values``."""
    count, mean = len(values), fmean(values)
    places = [number - (count - 1) / 2 for number in range(count)]
    spread = sum(place * place for place in places)
    slope = sum(p * (v - mean) for p, v in zip(places, values, strict=True)) / spread
    off = [v - mean - slope * p for p, v in zip(places, values, strict=True)]
    deviation = math.sqrt(sum(one * one for one in off) / (count - 2))
    scaled = _TO_SIGMA * median(map(abs, off))
    return _Line(slope, deviation / math.sqrt(spread), max(deviation, scaled))
