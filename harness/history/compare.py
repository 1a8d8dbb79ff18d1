"""Comparison of two runs of a history."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from harness.base.errors import UsageError
from harness.base.grid import Grid
from harness.base.text import count_of
from harness.history.measures import measure
from harness.history.regression import CaseKey
from harness.history.store import History, RecordedCase, RunRow

_HEADS = ("case", "target", "figure", "before", "now", "change")
_NUMBERS = frozenset({3, 4, 5})


@dataclass(frozen=True)
class FigureDifference:
    """A figure or the verdict of a case that differs between two runs."""

    key: CaseKey
    name: str  # "": the verdict
    source: str
    before: float | str
    now: float | str

    @property
    def percent(self) -> float:
        """Size of the change, in either direction; infinite for a verdict."""
        if isinstance(self.before, str) or isinstance(self.now, str) or not self.before:
            return math.inf
        return 100 * abs(self.now - self.before) / abs(self.before)

    @property
    def row(self) -> tuple[str, ...]:
        """The difference as a row of a table."""
        if isinstance(self.before, str) or isinstance(self.now, str):
            return (self.key.case, self.key.place, "verdict", str(self.before), str(self.now), "")
        by = self.now - self.before
        share = f" ({100 * by / self.before:+.2f} %)" if self.before else ""
        kind = measure(self.name)
        unit = f" {kind.unit}" if kind and kind.unit else ""
        figure = f"{self.name} ({self.source})"
        return (self.key.case, self.key.place, figure, f"{self.before:,.6g}",
                f"{self.now:,.6g}{unit}", f"{by:+,.6g}{share}")  # fmt: skip


@dataclass(frozen=True)
class RunDifference:
    """The differences between two runs, the largest first."""

    before: RunRow
    now: RunRow
    compared: int  # cases of both runs
    left_out: int  # cases of one run only
    smaller: int  # differences below the threshold, not listed
    differences: Sequence[FigureDifference]

    @property
    def table(self) -> Grid:
        """The differences as a table."""
        return Grid(_HEADS, _NUMBERS, [one.row for one in self.differences])

    def to_json(self) -> dict[str, Any]:
        """The document of ``history compare --json``."""
        return {
            "before": self.before.occasion.to_json(),
            "now": self.now.occasion.to_json(),
            "compared": self.compared,
            "left_out": self.left_out,
            "differences": [
                {**vars(one.key), "figure": one.name or "verdict", "source": one.source,
                 "before": one.before, "now": one.now}
                for one in self.differences
            ],
        }  # fmt: skip

    def __str__(self) -> str:
        parts = [
            f"{count_of(len(self.differences), 'difference')} in {count_of(self.compared, 'case')}"
        ]
        if self.smaller:
            parts.append(f"{self.smaller} smaller ones not listed")
        if self.left_out:
            parts.append(f"{count_of(self.left_out, 'case')} of one run only not compared")
        return ", ".join(parts)


def compare(history: History, before: str, now: str, threshold: float = 0.0) -> RunDifference:
    """Compare the newest runs of ``before`` and of ``now``; list changes from ``threshold`` % on.

    Each is a commit (at least four digits of it), a branch or the number of a run. Raises
    :class:`UsageError` if there is no such run, or if no case can be compared.
    """
    runs = history.runs()
    old, new = (_newest(history, runs, text) for text in (before, now))
    cases = history.cases([old, new])
    pairs = {}
    for key, points in cases.items():
        by_run = {point.run.id: point for point in points}
        if len({old.id, new.id} & by_run.keys()) == 2 or (old.id == new.id and by_run):
            pairs[key] = by_run[old.id], by_run[new.id]
    if not pairs:
        raise UsageError(
            f"no case of {now} can be compared with {before}",
            hint="cases are compared with the same target, builder, compiler and machine",
        )
    found = [one for key, pair in pairs.items() for one in _differences(key, *pair)]
    large = [one for one in found if one.percent >= threshold]
    large.sort(key=lambda one: (-one.percent, str(one.key), one.name))
    return RunDifference(
        old, new, len(pairs), len(cases) - len(pairs), len(found) - len(large), large
    )


def _differences(key: CaseKey, old: RecordedCase, new: RecordedCase) -> list[FigureDifference]:
    found = []
    if old.outcome.verdict != new.outcome.verdict:
        found.append(FigureDifference(key, "", "", old.outcome.verdict, new.outcome.verdict))
    for (name, source), value in new.outcome.figures.items():
        before = old.outcome.figures.get((name, source))
        kind = measure(name)
        if before is not None and before != value and kind is not None and not kind.noisy:
            found.append(FigureDifference(key, name, source, before, value))
    return found


def _newest(history: History, runs: Sequence[RunRow], text: str) -> RunRow:
    is_commit = re.fullmatch(r"[0-9a-fA-F]{4,64}\+?", text) is not None
    for run in reversed(runs):
        commit = is_commit and run.occasion.commit.startswith(text.lower())
        if commit or text in (run.occasion.branch, str(run.id)):
            return run
    last = ", ".join(
        f"{run.occasion.commit[:10] or run.id} ({run.occasion.branch})" for run in runs[-3:]
    )
    raise UsageError(
        f"{history.where} holds no run of {text!r}: no such commit, branch or number",
        hint=f"the last ones: {last or 'none'}",
    )
