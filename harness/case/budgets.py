"""A case's budgets, checked against its image and its run; with a baseline, what grew."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.base import files
from harness.base.errors import UsageError
from harness.base.form import check_format
from harness.base.platforms import DEFAULT_CHIP, chip_called
from harness.case.case import Case
from harness.case.result import Measures
from harness.elf import Image
from harness.footprint.budget import FIGURES, BudgetVerdict, check, is_region

if TYPE_CHECKING:
    from harness.footprint.compare import SizeComparison

_SHOWN = 10
_NAMED = 3
#: Figures of a result in the document of ``tflm-hil run --json``.
_RUN_FIGURES = {"arena": "arena_used", "stack": "stack_used", "instructions": "instructions"}
#: Figures of a run's memory; each has the name of its area of the chip.
_RUN_AREAS = ("flash", "ram")


@dataclass(frozen=True)
class BudgetCheck:
    """A line for each budget that is exceeded or cannot be checked, and tables of what grew.

    ``verdicts`` are those of all budgets, kept or not.
    """

    verdicts: tuple[BudgetVerdict, ...] = ()
    problems: tuple[str, ...] = ()
    tables: tuple[str, ...] = ()


def check_budgets(case: Case, firmware: Image, measures: Measures) -> BudgetCheck:
    """Check what an image takes and what its run measured against the case's budgets.

    Raises :class:`UsageError` for a baseline that cannot be read, and for a budget of an operator
    that the image does not have.
    """
    budgets = case.budgets.limits
    if not budgets:
        return BudgetCheck()
    baseline = _baseline(case) if case.budgets.baseline else None
    needs_all = baseline is not None or any(b.kind in ("operator", "file") for b in budgets)
    current = _document(firmware, measures, needs_all)
    verdicts = check(budgets, current, baseline)
    over = [verdict for verdict in verdicts if not verdict.passed]
    sizes = any(verdict.kind != "figure" for verdict in over)
    if not sizes or baseline is None or "symbols" not in baseline:
        return BudgetCheck(verdicts, tuple(verdict.message for verdict in over))
    from harness.footprint.compare import compare  # noqa: PLC0415

    changes = compare(baseline, current)
    problems = tuple(verdict.message + _why(verdict, changes) for verdict in over)
    return BudgetCheck(verdicts, problems, _tables(changes))


def _document(firmware: Image, measures: Measures, needs_all: bool) -> dict[str, Any]:
    """The footprint document, with what the run measured under ``figures``."""
    from harness import footprint  # noqa: PLC0415 - only a case with budgets needs it

    figures = {"arena": measures.arena_used, "stack": measures.stack_used,
               "instructions": measures.instructions}  # fmt: skip
    if needs_all:
        return {**footprint.analyse(firmware).to_json(), "figures": figures}
    regions = [region.to_json() for region in footprint.regions(firmware)]
    return {"regions": regions, "figures": figures}


def _baseline(case: Case) -> Mapping[str, Any]:
    """A footprint document, an ELF, or the row of this case in what ``run --json`` wrote."""
    from harness.footprint.compare import load_baseline  # noqa: PLC0415

    path = case.budgets.baseline
    assert path is not None
    cases = _run_document(path)
    if cases is None:
        return load_baseline(path)
    namesakes = [row for row in cases if isinstance(row, dict) and row.get("name") == case.name]
    row = next((row for row in namesakes if row.get("target") == case.target), None)
    if row is None:
        raise UsageError(
            f"{path} has no case {case.name!r} on target {case.target!r}",
            hint="pass what `tflm-hil run hil.toml --json FILE` wrote of this case",
        )
    return {
        "elf": str(path),
        "regions": [
            {
                "name": name.upper(),
                "origin": chip_called(str(row.get("chip") or DEFAULT_CHIP)).area(name).origin,
                "used": row[name],
            }
            for name in _RUN_AREAS
            if isinstance(row.get(name), int)
        ],
        "figures": {name: row.get(_RUN_FIGURES[name]) for name in FIGURES},
    }


def _run_document(path: Path) -> list[Any] | None:
    """The ``cases`` of a document of ``run --json``; None if the file is something else."""
    data = files.read(path)
    try:
        document = json.loads(data)
    except (ValueError, RecursionError):
        return None
    cases = document.get("cases") if isinstance(document, dict) else None
    if isinstance(document, dict):
        check_format(document, str(path))
    return cases if isinstance(cases, list) else None


def _why(verdict: BudgetVerdict, changes: SizeComparison) -> str:
    """For a region over its budget: the symbols that grew most, as the end of a message."""
    if verdict.kind != "region":
        return ""
    grown = [
        f"{_short(change.name)} {change.difference:+,}"
        for change in changes.symbols
        if change.difference > 0 and is_region(verdict.name, change.region)
    ]
    return f"; grew most: {', '.join(grown[:_NAMED])}" if grown else ""


def _short(name: str) -> str:
    """A symbol's name without the parameters that all kernels have."""
    return name.replace("(TfLiteContext*, TfLiteNode*)", "").replace("(anonymous namespace)::", "")


def _tables(changes: SizeComparison) -> tuple[str, ...]:
    from harness.footprint.text import comparison_tables  # noqa: PLC0415

    tables = comparison_tables(changes, limit=_SHOWN)
    return tuple(f"{title} that changed\n{rows.plain()}" for title, rows in tables)
