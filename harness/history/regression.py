"""The rules for a regression: one run compared with the last runs of a branch.

A figure without noise is worse if it is above the median of those runs (below it if more is
better). A noisy one (a board's cycles) is worse if it is above the median by more than chance
explains (:mod:`harness.history.noise`) and by more than one per cent.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median
from types import MappingProxyType

from harness.base.platforms import place
from harness.case.columns import Measure
from harness.history.measures import measure
from harness.history.noise import by_chance

#: Smallest relative increase of a noisy figure that is a regression.
_LEAST_SHARE = 0.01
#: Verdicts on a case that did not run.
_UNANSWERED = ("skipped", "error")


@dataclass(frozen=True)
class CaseKey:
    """The identity of a case: only results with the same key are compared."""

    case: str
    target: str
    builder: str
    compiler: str = ""  # "": unknown, also for machine and chip
    machine: str = ""
    chip: str = ""

    @property
    def any_compiler(self) -> CaseKey:
        """The key without its compiler."""
        return replace(self, compiler="")

    @property
    def place(self) -> str:
        """The target, and the chip if it is not the default one."""
        return place(self.target, self.chip)

    def __str__(self) -> str:
        return f"{self.case} on {self.place}"


@dataclass(frozen=True)
class Regression:
    """A figure or verdict that got worse."""

    key: CaseKey
    measure: str  # "": the verdict
    before: float | None
    now: float | None  # None: not measured any more
    text: str


@dataclass(frozen=True)
class CaseOutcome:
    """A case in one run: verdict, reason, and figures by (name, source)."""

    verdict: str
    reason: str
    figures: Mapping[tuple[str, str], float]

    @property
    def answered(self) -> bool:
        """Whether the case ran."""
        return self.verdict not in _UNANSWERED


def regressions(
    now: Mapping[CaseKey, CaseOutcome],
    before: Mapping[CaseKey, Sequence[CaseOutcome]],
    older: Mapping[CaseKey, Sequence[CaseOutcome]] = MappingProxyType({}),
) -> tuple[Regression, ...]:
    """The regressions of ``now`` against the earlier runs ``before``, newest last.

    ``older`` are runs before those, for a better estimate of the noise. A new case cannot be
    compared; a missing one is a regression.
    """
    worse: list[Regression] = []
    for key, earlier in before.items():
        if key not in now:
            text = "it ran before and does not any more"
            worse.append(Regression(key, "", None, None, text))
            continue
        worse += _of_case(key, now[key], earlier, older.get(key, ()))
    return tuple(worse)


def _of_case(
    key: CaseKey,
    now: CaseOutcome,
    earlier: Sequence[CaseOutcome],
    older: Sequence[CaseOutcome],
) -> Iterator[Regression]:
    answered = [outcome for outcome in earlier if outcome.answered]
    if not answered:
        return
    if now.verdict != "pass" and answered[-1].verdict == "pass":
        yield Regression(key, "", None, None, f"{now.verdict}: {now.reason}")
    elif now.answered:
        yield from _worse_figures(key, now, answered, older)
        yield from _vanished(key, now, answered)


def _worse_figures(
    key: CaseKey,
    now: CaseOutcome,
    earlier: Sequence[CaseOutcome],
    older: Sequence[CaseOutcome],
) -> Iterator[Regression]:
    for (name, source), value in now.figures.items():
        values, before = (
            [one.figures[name, source] for one in outcomes if (name, source) in one.figures]
            for outcomes in (earlier, older)
        )
        kind = measure(name)
        if not values or kind is None or not kind.gated:
            continue
        typical = median(values)
        share = f" ({100 * (value - typical) / typical:+.1f} %)" if typical else ""
        change = f"{typical:,.6g} -> {value:,.6g} {kind.unit}{share}"
        noise = allowed_noise(kind, [*before, *values], len(values))
        if kind.is_worse(value, typical, noise):
            yield Regression(key, name, typical, value, f"{name} {change}")


def _vanished(
    key: CaseKey, now: CaseOutcome, earlier: Sequence[CaseOutcome]
) -> Iterator[Regression]:
    """Yield the gated figures of the last run, or of half of the runs, that ``now`` lacks."""
    measured = {name for name, _ in now.figures}
    for name, source in dict.fromkeys(figure for one in earlier for figure in one.figures):
        values = [one.figures.get((name, source)) for one in earlier]
        known = [value for value in values if value is not None]
        regular = values[-1] is not None or 2 * len(known) >= len(values)
        kind = measure(name)
        if regular and name not in measured and kind is not None and kind.gated:
            text = f"{name} was {median(known):,.6g} {kind.unit} ({source}) and is not measured now"
            yield Regression(key, name, median(known), None, text)


def allowed_noise(kind: Measure, values: Sequence[float], last: int) -> float:
    """The allowed excess over the median of the ``last`` values; 0 for an exact figure.

    ``values`` are those and older ones, for a better estimate of the noise.
    """
    if not kind.noisy:
        return 0.0
    return max(by_chance(values, last), _LEAST_SHARE * abs(median(values[-last:])))
