"""The table of measures: every figure of a case, in the order of the reports' columns.

Terminal, HTML page, JUnit file, JSON document and history take their figures from here: a new
figure is a field of :class:`~harness.case.result.Measures` and a row of :data:`MEASURES`.
:func:`columns` leaves out those that no result has. Before them the HTML page's table has case,
verdict, and builder and target if there are several; the terminal's ends with the verdict.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from harness.case.result import CaseResult


def number(value: int | None) -> str:
    """``12,345``; an empty cell if nothing was measured."""
    return "" if value is None else f"{value:,}"


def _count(value: int, result: CaseResult) -> str:
    """The figure as a whole number."""
    return number(value)


def _spread(value: float, result: CaseResult) -> str:
    return f"{value:,.4g} ± {result.measures.milliseconds_spread or 0:,.2g}"


@dataclass(frozen=True)
class Measure:
    """One figure of a case, smaller is better.

    ``field`` is its name in ``run --json``, ``name`` in a history ("": not kept there), ``label``
    as a property of a test in JUnit files ("": not shown there), ``heading`` that of its column in
    tables ("": no column), ``text`` the text of a cell. A narrow terminal leaves columns out by
    ``rank``, the lowest first. ``source`` is "" if it depends on the target. ``noisy`` figures are
    compared with their earlier spread; all others are the same for the same image. ``gated``: a
    larger value is a regression, not just the machine's load.
    """

    field: str
    unit: str
    name: str = ""
    label: str = ""
    heading: str = ""
    rank: int = 0
    text: Callable[[Any, CaseResult], str] = _count
    source: str = ""
    noisy: bool = False
    gated: bool = True

    def value(self, result: CaseResult) -> Any:
        """The figure of ``result``; None if it was not measured."""
        part = result.measures if hasattr(result.measures, self.field) else result.evidence
        return getattr(part, self.field)

    def cell(self, result: CaseResult) -> str:
        """The figure as a table shows it; "" if it was not measured."""
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
    # Follows from milliseconds or cycles, which are gated.
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
    """The measures that have a column in a table of ``results``: those that some result has."""
    return [one for one in MEASURES if one.heading and any(map(one.cell, results))]


def properties(result: CaseResult) -> dict[str, object]:
    """The figures by their names in JUnit files; a figure that was not measured is left out."""
    values = ((one.label, one.value(result)) for one in MEASURES if one.label)
    return {label: value for label, value in values if value is not None}
