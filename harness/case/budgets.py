"""Checks of a case's budgets: sizes and figures of a run, and the adequacy of its inputs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.base import files
from harness.base.errors import UsageError
from harness.base.form import check_format
from harness.base.platforms import DEFAULT_CHIP, chip_called
from harness.case.case import Case
from harness.case.columns import BUDGETS
from harness.case.outputs import OutputCheck
from harness.case.result import BudgetCheck, Measures
from harness.elf import Image
from harness.footprint.budget import BudgetVerdict, check, is_region
from harness.model import Model
from harness.reference import Interpreter

if TYPE_CHECKING:
    from harness.footprint.compare import SizeComparison

#: Rows of a table of grown symbols or files.
_TABLE_ROWS = 10
#: Grown symbols named in the message of an exceeded region.
_SYMBOLS_NAMED = 3
#: Undetected mistakes listed in a result.
_MISTAKES_LISTED = 20
#: Figures of memory in the document of ``tflm-hil run --json``, named like the areas of the chip.
_RUN_AREAS = ("flash", "ram")


def check_adequacy(case: Case, model: Model | None, outputs: OutputCheck) -> BudgetCheck:
    """Check the inputs whose outputs were compared against the case's ``budgets.adequacy``."""
    least = case.budgets.adequacy
    if least is None:
        return BudgetCheck()
    if model is None or not outputs.inputs:
        problem = "the adequacy cannot be checked: no inputs of a model were compared"
        return BudgetCheck(problems=(problem,))
    from harness.reference.adequacy import examine  # noqa: PLC0415 - few cases have this budget

    interpreter = Interpreter.from_model(model, case.arithmetic)
    adequacy = examine(interpreter, list(outputs.inputs), tolerance=case.tolerance)
    if adequacy.share >= least:
        return BudgetCheck(adequacy=adequacy)
    problem = (
        f"the inputs notice {100 * adequacy.share:.1f} % of the mistakes that kernels can have,"
        f" {100 * least:g} % are wanted (tflm-hil vectors finds more)"
    )
    lines = [f"not noticed: {trial}" for trial in adequacy.missed[:_MISTAKES_LISTED]]
    if len(adequacy.missed) > _MISTAKES_LISTED:
        lines.append(f"... and {len(adequacy.missed) - _MISTAKES_LISTED:,} more")
    return BudgetCheck(problems=(problem,), tables=("\n".join(lines),), adequacy=adequacy)


def check_budgets(case: Case, firmware: Image, measures: Measures) -> BudgetCheck:
    """Check the size of an image and the figures of its run against the case's limits.

    Raises :class:`UsageError` for a baseline that cannot be read, and for a budget of an operator
    that the image does not have.
    """
    budgets = case.budgets.limits
    if not budgets:
        return BudgetCheck()
    baseline = _baseline(case) if case.baseline else None
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
    """The footprint document, with the run's figures under ``figures``."""
    from harness import footprint  # noqa: PLC0415 - most cases have no budgets

    figures = {name: getattr(measures, one.field) for name, one in BUDGETS.items()}
    if needs_all:
        return {**footprint.analyse(firmware).to_json(), "figures": figures}
    regions = [region.to_json() for region in footprint.regions(firmware)]
    return {"regions": regions, "figures": figures}


def _baseline(case: Case) -> Mapping[str, Any]:
    """Read the baseline: a footprint document, an ELF, or this case's row of ``run --json``."""
    from harness.footprint.compare import load_baseline  # noqa: PLC0415

    path = case.baseline
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
        "figures": {name: row.get(one.field) for name, one in BUDGETS.items()},
    }


def _run_document(path: Path) -> list[Any] | None:
    """The ``cases`` of a document of ``run --json``; None for any other file."""
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
    """Name the symbols that grew most in a region over its budget, as the end of a message."""
    if verdict.kind != "region":
        return ""
    grown = [
        f"{_short(change.name)} {change.difference:+,}"
        for change in changes.symbols
        if change.difference > 0 and is_region(verdict.name, change.region)
    ]
    return f"; grew most: {', '.join(grown[:_SYMBOLS_NAMED])}" if grown else ""


def _short(name: str) -> str:
    """Shorten a symbol's name by the parameters that all kernels have."""
    return name.replace("(TfLiteContext*, TfLiteNode*)", "").replace("(anonymous namespace)::", "")


def _tables(changes: SizeComparison) -> tuple[str, ...]:
    from harness.footprint.text import comparison_tables  # noqa: PLC0415

    tables = comparison_tables(changes, limit=_TABLE_ROWS)
    return tuple(f"{title} that changed\n{rows.plain()}" for title, rows in tables)
