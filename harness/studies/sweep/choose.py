"""The Pareto front of a sweep, and the best within a budget."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

#: Measures that are weighed: -1 where less is better, 1 where more is.
MEASURES = {"flash": -1, "ram": -1, "instructions": -1, "accuracy": 1}

Row = Mapping[str, Any]


def front(rows: Sequence[Row]) -> list[int]:
    """Indices of the passing rows that no other row of the same task beats.

    Rows of another sample, model or target do another task, or are counted otherwise. A row beats
    another that it is nowhere worse than, and somewhere better; of equal rows all stay.
    """
    able = [index for index, row in enumerate(rows) if row["verdict"] == "pass"]
    return [
        index
        for index in able
        if not any(_beats(rows[other], rows[index]) for other in able if other != index)
    ]


def task(row: Row) -> tuple[str, str, str, str]:
    """Sample, model, target and builder: rows of different tasks are not compared."""
    parameters = row["parameters"]
    return parameters["sample"], parameters["model"], parameters["target"], parameters["builder"]


def _beats(one: Row, other: Row) -> bool:
    if task(one) != task(other):
        return False
    better = False
    for name, sign in MEASURES.items():
        mine, its = one[name], other[name]
        if mine is None or its is None:
            if mine is not its:
                return False  # what was not measured cannot be worse
            continue
        if sign * mine < sign * its:
            return False
        better = better or mine != its
    return better


def best(rows: Sequence[Row], limits: Mapping[str, float], by: str = "instructions") -> int | None:
    """The index of the passing row within ``limits`` that is best ``by`` a measure; None for none.

    A limit of ``accuracy`` is the least, of anything else the most. What was not measured is not
    within a limit. Of equal rows the first is taken.
    """
    fitting = [
        index
        for index, row in enumerate(rows)
        if row["verdict"] == "pass"
        and row[by] is not None
        and all(_within(row[name], name, limit) for name, limit in limits.items())
    ]
    return max(fitting, key=lambda index: (MEASURES[by] * rows[index][by], -index), default=None)


def best_of_each(
    rows: Sequence[Row], limits: Mapping[str, float], by: str = "instructions"
) -> dict[tuple[Any, ...], int | None]:
    """:func:`best` of each task (sample, model, target, builder) by itself."""
    found: dict[tuple[Any, ...], int | None] = {}
    for one in dict.fromkeys(map(task, rows)):
        indices = [index for index, row in enumerate(rows) if task(row) == one]
        chosen = best([rows[index] for index in indices], limits, by)
        found[one] = None if chosen is None else indices[chosen]
    return found


def _within(value: float | None, name: str, limit: float) -> bool:
    return value is not None and MEASURES[name] * value >= MEASURES[name] * limit
