"""The rules for a regression: one run compared with the last runs of a branch.

A figure without noise is worse if it is above the median of those runs at all. A noisy one (a
board's cycles) is worse if

* it is above the median by more than chance explains (:mod:`harness.history.noise`) and by more
  than one per cent, or
* it creeps, over more runs than these (:mod:`harness.history.creep`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median
from types import MappingProxyType

from harness.base.platforms import place
from harness.case.columns import Measure
from harness.history.creep import creep
from harness.history.measures import measure
from harness.history.noise import by_chance

_LEAST_SHARE = 0.01
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

    @property
    def place(self) -> str:
        """The target, and the chip if it is not the default one."""
        return place(self.target, self.chip)

    def __str__(self) -> str:
        return f"{self.case} on {self.place}"


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
    now: Mapping[CaseKey, CaseOutcome],
    before: Mapping[CaseKey, Sequence[CaseOutcome]],
    older: Mapping[CaseKey, Sequence[CaseOutcome]] = MappingProxyType({}),
) -> tuple[Regression, ...]:
    """The regressions of ``now`` against the earlier runs ``before``, newest last.

    ``older`` are runs before those, in which a creep may have begun.

    A new case has nothing to be compared with; one that is gone is worse.
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
        yield from _larger(key, now, answered, older)
        yield from _creeping(key, [*older, *answered, now])
        yield from _vanished(key, now, answered)


def _larger(
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
        usual = median(values)
        share = f" ({100 * (value - usual) / usual:+.1f} %)" if usual else ""
        change = f"{usual:,.6g} -> {value:,.6g} {kind.unit}{share}"
        if value > usual + allowed_noise(kind, [*before, *values], len(values)):
            yield Regression(key, name, usual, value, f"{name} {change}")


def _creeping(key: CaseKey, outcomes: Sequence[CaseOutcome]) -> Iterator[Regression]:
    """The noisy figures of the last outcome that have crept up."""
    for name, source in outcomes[-1].figures:
        kind = measure(name)
        if kind is None or not (kind.noisy and kind.gated):
            continue
        values = [one.figures[name, source] for one in outcomes if (name, source) in one.figures]
        found = creep(values)
        if found is not None:
            share = 100 * (found.since - found.before) / found.before
            text = (
                f"{name} creeps up: {found.before:,.6g} -> {found.since:,.6g} {kind.unit} "
                f"({share:+.1f} %), the mean of the last {found.runs} runs"
            )
            yield Regression(key, name, found.before, found.since, text)


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


def allowed_noise(kind: Measure, values: Sequence[float], last: int) -> float:
    """How far above the median of the ``last`` values a figure may lie by chance; 0 without noise.

    ``values`` are those and older ones, which tell more of the noise.
    """
    if not kind.noisy:
        return 0.0
    return max(by_chance(values, last), _LEAST_SHARE * abs(median(values[-last:])))
