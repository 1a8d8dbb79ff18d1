"""The Pareto front of a sweep, and the best point within a budget."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from harness.case.columns import COMPARED
from harness.case.result import Verdict

Row = Mapping[str, Any]


def front(rows: Sequence[Row]) -> list[int]:
    """The indices of the Pareto-optimal rows of each task, among those that pass.

    A row dominates another one of its task if it is worse in no measure and better in one. Equal
    rows are all on the front.
    """
    passing = [index for index, row in enumerate(rows) if row["verdict"] == "pass"]
    return [
        index
        for index in passing
        if not any(_dominates(rows[other], rows[index]) for other in passing if other != index)
    ]


def task(row: Row) -> tuple[str, str, str, str]:
    """Sample, model, target and builder; rows of different tasks are not compared."""
    parameters = row["parameters"]
    return parameters["sample"], parameters["model"], parameters["target"], parameters["builder"]


def _dominates(first: Row, second: Row) -> bool:
    if task(first) != task(second):
        return False
    better = False
    for name, measure in COMPARED.items():
        left, right = first[name], second[name]
        if left is None or right is None:
            if left is not right:
                return False  # one of them does not have the measure
            continue
        if measure.is_worse(left, right):
            return False
        better = better or left != right
    return better


def verdict(rows: Sequence[Row]) -> Verdict:
    """*pass* if each task has a point that passes, so that it can be shipped.

    Otherwise return the worst verdict in the tasks that have none; *fail* without any rows.
    """
    failed = without_pass(rows)
    found = {Verdict(row["verdict"]) for row in rows if task(row) in failed}
    if not rows:
        found = {Verdict.FAIL}
    worst = (Verdict.FIRMWARE, Verdict.FAIL, Verdict.FLAKY, Verdict.USAGE, Verdict.ERROR)
    return next((one for one in worst if one in found), Verdict.PASS)


def without_pass(rows: Sequence[Row]) -> list[tuple[str, str, str, str]]:
    """The tasks of which no point passes."""
    passing = {task(row) for row in rows if row["verdict"] == "pass"}
    return [each for each in dict.fromkeys(map(task, rows)) if each not in passing]


def best(rows: Sequence[Row], limits: Mapping[str, float], by: str = "instructions") -> int | None:
    """The index of the passing row within ``limits`` that is best ``by`` a measure, or None.

    A limit is a lower bound of a measure of which more is better, else an upper bound. A missing
    measure is never within a limit. The first of equal rows is taken.
    """
    fitting = [
        index
        for index, row in enumerate(rows)
        if row["verdict"] == "pass"
        and row[by] is not None
        and all(_within(row[name], name, limit) for name, limit in limits.items())
    ]
    sign = 1 if COMPARED[by].better == "more" else -1
    return max(fitting, key=lambda index: (sign * rows[index][by], -index), default=None)


def best_of_each(
    rows: Sequence[Row], limits: Mapping[str, float], by: str = "instructions"
) -> dict[tuple[Any, ...], int | None]:
    """The result of :func:`best` for each task (sample, model, target, builder)."""
    chosen: dict[tuple[Any, ...], int | None] = {}
    for each in dict.fromkeys(map(task, rows)):
        indices = [index for index, row in enumerate(rows) if task(row) == each]
        number = best([rows[index] for index in indices], limits, by)
        chosen[each] = None if number is None else indices[number]
    return chosen


def _within(value: float | None, name: str, limit: float) -> bool:
    return value is not None and not COMPARED[name].is_worse(value, limit)
