"""The table of measures: every figure of a case, in the order of the reports' columns.

Terminal, HTML page, JUnit file, JSON schema, budgets, sweeps and history take their figures from
here. A measure is declared with ``key`` where its figure is kept: in
:class:`~harness.case.result.Measures`, :class:`~harness.case.result.Evidence` or
:class:`~harness.case.result.Size`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from harness.base.tables import key_fields
from harness.case.result import CaseResult, Evidence, Measures, Size


def number(value: int | None) -> str:
    """Format a figure as ``12,345``; "" if it was not measured."""
    return "" if value is None else f"{value:,}"


def _count(value: int, result: CaseResult) -> str:
    """Format a figure as a whole number."""
    return number(value)


@dataclass(frozen=True)
class Measure:
    """One figure of a case."""

    field: str  # name in `run --json`
    help: str  # what it is, in one sentence
    unit: str = ""
    better: Literal["less", "more", ""] = "less"  # "": neither
    history: str = ""  # name in a history; "": not kept there
    source: str = ""  # "": depends on the target
    noisy: bool = False  # compared with its earlier spread; others are equal for equal images
    gated: bool = True  # a worse value is a regression, not just the machine's load
    junit: str = ""  # name of a test's property in JUnit files; "": not shown there
    heading: str = ""  # of its column in tables; "": no column
    rank: int = 0  # a narrow terminal leaves out the columns of lowest rank first
    text: Callable[[Any, CaseResult], str] = _count  # of a table's cell
    budget: str = ""  # key in `budgets`, of a whole number; "": none, or a region of the linker's
    sweep: bool = False  # kept in the rows of a sweep
    axis: str = ""  # title in a sweep's plots; "": the points are not compared by it

    def value(self, result: CaseResult) -> Any:
        """The figure of ``result``; None if it was not measured."""
        part = result.measures if hasattr(result.measures, self.field) else result.evidence
        return getattr(part, self.field)

    def cell(self, result: CaseResult) -> str:
        """The text of the figure's table cell; "" if it was not measured."""
        value = self.value(result)
        return "" if value is None else self.text(value, result)

    def is_worse(self, value: float, before: float, noise: float = 0.0) -> bool:
        """Whether ``value`` is worse than ``before`` by more than ``noise``."""
        if self.better == "more":
            return value < before - noise
        return self.better == "less" and value > before + noise


MEASURES = tuple(
    Measure(one.name, **one.metadata)
    for part in (Size, Measures, Evidence)
    for one in key_fields(part)
)
#: Of a sweep's point, whose inputs are a whole test set (:mod:`harness.case.accuracy`).
ACCURACY = Measure(
    "accuracy", "Share of right answers over the whole test set.", better="more", axis="accuracy"
)
#: Column of a sweep's rows -> measure by which its points are compared.
COMPARED = {one.field: one for one in (*MEASURES, ACCURACY) if one.axis}
#: Key in ``budgets`` -> measure of a run that it limits.
BUDGETS = {one.budget: one for one in MEASURES if one.budget}


def columns(results: Sequence[CaseResult]) -> list[Measure]:
    """The measures that have a column in a table of ``results``: those that any has."""
    return [one for one in MEASURES if one.heading and any(map(one.cell, results))]


def properties(result: CaseResult) -> dict[str, object]:
    """The measured figures of ``result`` by their names in JUnit files."""
    values = ((one.junit, one.value(result)) for one in MEASURES if one.junit)
    return {name: value for name, value in values if value is not None}
