"""Budgets: limits of an image's cost, absolute or relative to a baseline.

A budget file is TOML. A limit is a number of bytes (``60000``, ``"58 KiB"``), or a step from the
baseline: ``"+512"``, ``"+2 KiB"``, ``"+1.5 %"`` (``"+0"``: no more than the baseline)::

    flash = "+1 %"
    ram = 8192
    [operators]
    CONV_2D = 5000
    [files]
    "tensorflow/lite/micro" = "+256"    # everything below the folder, or one file

``budgets`` of a case in ``hil.toml`` are the same table, and may limit figures that
only a run measures: ``arena``, ``stack``, ``instructions`` (``"3 M"``).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from harness.base import files
from harness.base.errors import UsageError
from harness.elf.regions import RAM

_LIMIT = re.compile(r"\s*(\+)?\s*(\d[\d_]*(?:\.\d+)?)\s*(B|KB|KiB|MB|MiB|k|M|%)?\s*")
_UNITS = {"": 1, "B": 1, "KB": 1024, "KiB": 1024, "MB": 1 << 20, "MiB": 1 << 20,
          "k": 1000, "M": 1_000_000}  # fmt: skip
#: The table of a kind of budget, in a budget file and in a footprint document.
_TABLES = {"operator": "operators", "file": "files"}
_NOT_MEASURED = {
    "region": "the image has no such region",
    "operator": "the budget cannot be checked: the image has no symbols",
    "map": "the budget cannot be checked: a map file does not show operators",
    "file": "the image has no such file",
    "figure": "the budget cannot be checked: it was not measured",
}  # fmt: skip
#: Names of a budget's region in linker scripts.
_OTHER_NAMES = {"ram": ("ram", "sram"), "flash": ("flash", "rom")}


@dataclass(frozen=True)
class Budget:
    """One limit; ``kind`` is ``region``, ``operator``, ``file`` or ``figure``.

    ``bytes`` (of a figure the number in its ``unit``) is absolute, or a step from the baseline if
    ``relative``; ``percent``, if given, replaces it.
    """

    kind: str
    name: str
    bytes: int
    relative: bool = False
    percent: float | None = None
    unit: str = "B"

    @property
    def label(self) -> str:
        """The name of the limited figure in a message."""
        return "one inference" if self.unit == "instructions" else self.name

    def limit(self, baseline: int | None) -> int | None:
        """The most bytes allowed; None for a relative budget without a baseline."""
        if not self.relative:
            return self.bytes
        if baseline is None:
            return None
        if self.percent is not None:
            return int(baseline * (1 + self.percent / 100))
        return baseline + self.bytes


@dataclass(frozen=True)
class BudgetVerdict:
    """The check of one budget; ``limit`` or ``used`` is None if it could not be checked."""

    name: str
    kind: str
    used: int | None
    limit: int | None
    baseline: int | None
    passed: bool
    message: str
    unit: str = "B"

    def to_json(self) -> dict[str, Any]:
        """One row of the ``budgets`` list."""
        return asdict(self)


def parse_limit(kind: str, name: str, value: object, unit: str = "B") -> Budget:
    """The budget for a value in TOML. Raises UsageError if the value is not a limit."""
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return Budget(kind, name, value, unit=unit)
    match = _LIMIT.fullmatch(value) if isinstance(value, str) else None
    if match is None or (match[3] == "%" and not match[1]):
        raise UsageError(
            f"the budget of {name} is {value!r}, which is not a limit",
            hint='write bytes (60000, "58 KiB") or a step from the baseline ("+512", "+1.5 %")',
        )
    number = float(match[2].replace("_", ""))
    if match[3] == "%":
        return Budget(kind, name, 0, relative=True, percent=number, unit=unit)
    limit = round(number * _UNITS[match[3] or ""])
    return Budget(kind, name, limit, relative=bool(match[1]), unit=unit)


def size_limit(value: object, where: str) -> int:
    """Parse a size in bytes (or instructions): ``61440``, ``"60 KB"`` (1024), ``"3 M"`` (10^6)."""
    limit = parse_limit("figure", where, value)
    if limit.relative or not limit.bytes:
        raise UsageError(f"{where}: {value!r} is not a size", hint='write 61440 or "60 KB"')
    return limit.bytes


def from_table(
    table: Mapping[str, Any], figures: Mapping[str, str] | None = None
) -> tuple[Budget, ...]:
    """The budgets of a TOML table; ``figures``: those that only a run can check, and their units.

    Raises UsageError for an unknown table and for a value that is not a limit.
    """
    kinds = {table: kind for kind, table in _TABLES.items()}
    budgets: list[Budget] = []
    for name, value in table.items():
        if not isinstance(value, dict):
            unit = (figures or {}).get(name)
            kind = "region" if unit is None else "figure"
            budgets.append(parse_limit(kind, name, value, "B" if unit is None else unit))
        elif name in kinds:
            budgets += [parse_limit(kinds[name], key, limit) for key, limit in value.items()]
        else:
            raise UsageError(
                f"unknown table of budgets [{name}]", hint="there are [operators] and [files]"
            )
    return tuple(budgets)


def load(path: Path) -> tuple[Budget, ...]:
    """The budgets of a TOML file. Raises UsageError if it is invalid or has none."""
    table = files.read_toml(path)
    if "case" in table or "defaults" in table:
        raise UsageError(f"{path} is a case file, not a budget file", hint=f"tflm-hil run {path}")
    try:
        budgets = from_table(table)
    except UsageError as error:
        raise UsageError(f"{path}: {error.message}", hint=error.hint) from error
    if not budgets:
        raise UsageError(f"{path} has no budget", hint="for example: flash = 60000")
    return budgets


def check(
    budgets: Iterable[Budget], current: Mapping[str, Any], baseline: Mapping[str, Any] | None
) -> tuple[BudgetVerdict, ...]:
    """Check a footprint document against budgets; one that cannot be checked fails.

    Raises UsageError for a budget of an operator that the image does not have.
    """
    budgets = tuple(budgets)
    _refuse_absent_operators(budgets, current)
    return tuple(_check(budget, current, baseline) for budget in budgets)


def _refuse_absent_operators(budgets: Iterable[Budget], current: Mapping[str, Any]) -> None:
    """Refuse budgets of operators that the image does not have: 0 B would always pass.

    A map file has none, and a stripped image may have them: their check fails as one that cannot be
    made.
    """
    if current.get("source") == "map":
        return
    symbols = current.get("symbols")
    if symbols is not None and all(row["kind"] != "function" for row in symbols):
        return
    operators = (budget for budget in budgets if budget.kind == "operator")
    absent = [budget.name for budget in operators if measured(budget, current) is None]
    if absent:
        has = ", ".join(sorted({row["operator"] for row in current.get("operators", ())}))
        raise UsageError(
            f"budgets of operators: the image has no operator {', '.join(absent)}",
            hint=f"its symbols show {has or 'no operator of tflite-micro'}",
        )


def _check(
    budget: Budget, current: Mapping[str, Any], baseline: Mapping[str, Any] | None
) -> BudgetVerdict:
    used = measured(budget, current)
    base = None if baseline is None else measured(budget, baseline)
    if base is None and baseline is not None and _TABLES.get(budget.kind) in baseline:
        base = 0
    limit, unit = budget.limit(base), budget.unit
    if used is None:
        # A misspelt name, a stripped image or a run without output must not pass.
        kind = "map" if (budget.kind, current.get("source")) == ("operator", "map") else budget.kind
        message = f"{budget.label}: {_NOT_MEASURED[kind]}"
        return BudgetVerdict(budget.name, budget.kind, None, limit, base, False, message, unit)
    if limit is None:
        lacking = "there is none (--baseline)" if baseline is None else "it lacks this figure"
        message = f"{budget.label}: the budget is a step from a baseline, and {lacking}"
        return BudgetVerdict(budget.name, budget.kind, used, None, base, False, message, unit)
    passed = used <= limit
    than = "within" if passed else f"{_amount(used - limit, unit)} over"
    origin = f" (baseline {_amount(base, unit)})" if budget.relative and base is not None else ""
    allowed = f"its budget of {_amount(limit, unit)}{origin}"
    message = f"{budget.label}: {_amount(used, unit)}, {than} {allowed}"
    return BudgetVerdict(budget.name, budget.kind, used, limit, base, passed, message, unit)


def _amount(value: int, unit: str) -> str:
    return f"{value:,} {unit}".rstrip()


def measured(budget: Budget, document: Mapping[str, Any]) -> int | None:
    """The figure that a budget limits, None if the document does not have it."""
    if budget.kind == "operator":
        sizes = [
            r["exclusive"] for r in document.get("operators", ()) if r["operator"] == budget.name
        ]
        return sum(sizes) if sizes else None
    if budget.kind == "file":
        rows = [row for row in document.get("files", ()) if _below(row["path"], budget.name)]
        ram = _ram(document)
        if not rows:
            return None
        return sum(int(size) for row in rows for key, size in row.items()
                   if key != "path" and key not in ram)  # fmt: skip
    if budget.kind == "figure":
        figure = document.get("figures", {}).get(budget.name)
        return None if figure is None else int(figure)
    for row in document["regions"]:
        if is_region(budget.name, row["name"]):
            return int(row["used"])
    return None


def is_region(name: str, region: str) -> bool:
    """True if a budget called ``name`` is about the linker's ``region``."""
    return region.lower() in _OTHER_NAMES.get(name.lower(), (name.lower(),))


def _ram(document: Mapping[str, Any]) -> frozenset[str]:
    return frozenset(row["name"] for row in document["regions"] if row["origin"] in RAM)


def _below(path: str, folder: str) -> bool:
    """True if ``path`` is ``folder`` or below it; ``folder`` may omit its leading parts."""
    return f"/{folder.strip('/')}/" in f"/{path.strip('/')}/"
