"""The table of measures: every figure of a case, in the order of the reports' columns.

Terminal, HTML page, JUnit file, JSON document and history take their figures from here: a new
figure is a field of :class:`~harness.case.result.Measures` and a row of :data:`MEASURES`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from harness.case.result import CaseResult


def number(value: int | None) -> str:
    """Format a figure as ``12,345``; "" if it was not measured."""
    return "" if value is None else f"{value:,}"


def _count(value: int, result: CaseResult) -> str:
    """Format a figure as a whole number."""
    return number(value)


def _spread(value: float, result: CaseResult) -> str:
    return f"{value:,.4g} ± {result.measures.milliseconds_spread or 0:,.2g}"


@dataclass(frozen=True)
class Measure:
    """One figure of a case, smaller is better."""

    field: str  # name in `run --json`
    unit: str
    name: str = ""  # in a history; "": not kept there
    label: str = ""  # of a test's property in JUnit files; "": not shown there
    heading: str = ""  # of its column in tables; "": no column
    rank: int = 0  # a narrow terminal leaves out the columns of lowest rank first
    text: Callable[[Any, CaseResult], str] = _count  # of a table's cell
    source: str = ""  # "": depends on the target
    noisy: bool = False  # compared with its earlier spread; others are equal for equal images
    gated: bool = True  # a larger value is a regression, not just the machine's load

    def value(self, result: CaseResult) -> Any:
        """The figure of ``result``; None if it was not measured."""
        part = result.measures if hasattr(result.measures, self.field) else result.evidence
        return getattr(part, self.field)

    def cell(self, result: CaseResult) -> str:
        """The text of the figure's table cell; "" if it was not measured."""
        value = self.value(result)
        return "" if value is None else self.text(value, result)


MEASURES = (
    Measure("flash", "B", "flash", "flash_bytes", "flash B", 8, source="elf"),
    Measure("ram", "B", "ram", "ram_bytes", "RAM B", 4, source="elf"),
    Measure("arena_used", "B", "arena", "arena_used_bytes", "arena B", 2, source="uart"),
    Measure("stack_used", "B", "stack", "stack_used_bytes", "stack B", 1, source="uart"),
    Measure(
        "instructions", "instr.", "instructions", "instructions_per_inference", "instr./inf.", 5
    ),
    Measure("total_instructions", "instr.", "total_instructions"),
    Measure(
        "cycles", "cycles", "cycles", "cycles_per_inference", "cycles/inf.", 6,
        source="dwt", noisy=True,
    ),
    Measure(
        "milliseconds", "ms", "milliseconds", "milliseconds_per_inference", "ms/inf.", 7,
        text=_spread, source="calibrated",
    ),
    # Derived from milliseconds or cycles, which are gated.
    Measure(
        "microjoules", "µJ", "microjoules", "microjoules_per_inference",
        source="calibrated", noisy=True, gated=False,
    ),
    Measure("wall_seconds", "s", "wall_seconds", source="host", noisy=True, gated=False),
    Measure("mistakes_missed", "", "mistakes_missed", heading="missed", rank=2, source="numpy"),
    Measure(
        "outputs_compared", "", label="values_compared", heading="compared", rank=3,
        text=lambda value, _: number(value or None), gated=False,
    ),
)  # fmt: skip


def columns(results: Sequence[CaseResult]) -> list[Measure]:
    """The measures that have a column in a table of ``results``: those that any has."""
    return [one for one in MEASURES if one.heading and any(map(one.cell, results))]


def properties(result: CaseResult) -> dict[str, object]:
    """The measured figures of ``result`` by their labels in JUnit files."""
    values = ((one.label, one.value(result)) for one in MEASURES if one.label)
    return {label: value for label, value in values if value is not None}
