"""The commits between which a case got worse, and the commands to bisect them."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum
from itertools import pairwise

from harness.base.errors import UsageError
from harness.case.columns import Measure
from harness.history.measures import measure
from harness.history.regression import CaseKey, CaseOutcome
from harness.history.run import Run, git
from harness.history.store import History, RecordedCase

#: Commits listed between the two runs.
_MOST_COMMITS = 40
#: File in the current folder with the results of a bisection step.
_RESULTS = ".bisect.json"
#: The option for the history in a command of tflm-hil, pytest or Robot.
_HISTORY_OPTION = re.compile(
    r" (?:--(?:hil-)?history[= ](?:'[^']*'|\S)+|(?:-v|--variable) (?:'HISTORY:[^']*'|HISTORY:\S*))"
)


class BisectCode(IntEnum):
    """Exit codes for ``git bisect run`` (git-bisect, "Bisect run")."""

    GOOD = 0
    BAD = 1
    SKIP = 125


@dataclass(frozen=True)
class WorseningStep:
    """Two consecutive runs of a case, of which the second is worse."""

    key: CaseKey
    good: RecordedCase
    bad: RecordedCase
    figure: tuple[str, str] | None  # name and source of the larger figure; None: the verdict

    def judge(self, run: Run) -> BisectCode:
        """Whether a run is as good as the first of the two; SKIP if the case did not run."""
        for case in run.cases:
            if (case.name, case.target, case.builder, case.chip) != (
                self.key.case, self.key.target, self.key.builder, self.key.chip
            ):  # fmt: skip
                continue
            figures = {(one.name, one.source): one.value for one in case.figures}
            outcome = CaseOutcome(case.verdict, case.reason, figures)
            if not outcome.answered:
                return BisectCode.SKIP
            if self.figure is None:
                return BisectCode.GOOD if outcome.verdict == "pass" else BisectCode.BAD
            if self.figure not in figures:
                return BisectCode.SKIP
            worse = figures[self.figure] > self.good.outcome.figures[self.figure]
            return BisectCode.BAD if worse else BisectCode.GOOD
        return BisectCode.SKIP

    def lines(self, judge: str) -> Iterator[str]:
        """Yield the step, the commits between, and the commands; ``judge`` judges the results."""
        good, bad = (one.run.occasion.commit.rstrip("+") for one in (self.good, self.bad))
        yield f"{self.key}: {self._change}"
        yield f"good: {good or 'unknown commit'}, bad: {bad or 'unknown commit'}"
        if not good or not bad or good == bad:
            yield "there is no range of commits to search"
            return
        # One line for each commit; none if this repository does not have them.
        commits = git(None, "log", "--oneline", f"{good}..{bad}").splitlines()
        yield from (f"  {line}" for line in commits[:_MOST_COMMITS])
        if len(commits) > _MOST_COMMITS:
            yield f"  and {len(commits) - _MOST_COMMITS} more"
        command = _without_history(self.bad.run.occasion.command) or "tflm-hil run"
        script = (
            f"rm -f {_RESULTS}; {command} --json {_RESULTS}; "
            f"test -s {_RESULTS} || exit {BisectCode.SKIP:d}; {judge} {_RESULTS}"
        )
        yield f"git bisect start {bad} {good}"
        yield f"git bisect run sh -c {shlex.quote(script)}"

    @property
    def _change(self) -> str:
        if self.figure is None:
            return f"{self.good.outcome.verdict} -> {self.bad.outcome.verdict}"
        before, now = (one.outcome.figures[self.figure] for one in (self.good, self.bad))
        name, source = self.figure
        return f"{name} ({source}) {before:,.6g} -> {now:,.6g}"


def last_step(history: History, case: str, figure: str = "", branch: str | None = None
              ) -> WorseningStep:  # fmt: skip
    """The last step at which ``case``, on any target, got worse in ``figure``.

    ``figure`` "" means the verdict, and any figure without noise that `history check` judges.
    Raises :class:`UsageError` if the history has no such case, figure or step.
    """
    runs = history.runs(branch=branch)
    order = {run.id: number for number, run in enumerate(runs)}
    courses = history.cases(runs, [case])
    if not courses:
        raise UsageError(f"{history.where} has no case {case!r}", hint="tflm-hil history show")
    known = {name for points in courses.values() for one in points
             for name, _ in one.outcome.figures}  # fmt: skip
    if figure and figure not in known:
        raise UsageError(
            f"{case} has no figure {figure!r}", hint=f"it has {', '.join(sorted(known))}"
        )
    steps = [step for key, points in courses.items() for step in _steps(key, points, figure)]
    if not steps:
        count = max(map(len, courses.values()))
        raise UsageError(f"{figure or 'nothing'} of {case} got worse in {count} runs")
    return max(steps, key=lambda step: (order[step.bad.run.id], step.figure is None))


def _steps(key: CaseKey, points: Sequence[RecordedCase], figure: str) -> Iterator[WorseningStep]:
    answered = [point for point in points if point.outcome.answered]
    for good, bad in pairwise(answered):
        if not figure and good.outcome.verdict == "pass" != bad.outcome.verdict:
            yield WorseningStep(key, good, bad, None)
        for own, value in bad.outcome.figures.items():
            kind = measure(own[0])
            judged = kind is not None and kind.gated and not kind.noisy
            chosen = own[0] == figure if figure else judged
            before = good.outcome.figures.get(own)
            if chosen and before is not None and _is_worse(kind, value, before):
                yield WorseningStep(key, good, bad, own)


def _is_worse(kind: Measure | None, value: float, before: float) -> bool:
    """Whether ``value`` is worse; a figure that is not known is worse if it is larger."""
    return value > before if kind is None else kind.is_worse(value, before)


def _without_history(command: str) -> str:
    """``command`` without its history, which is not to record the steps of a bisection."""
    return _HISTORY_OPTION.sub("", command)
