"""Budgets: how much an image may cost, in all or beyond a baseline.

A budget file is TOML. A limit is a number of bytes (``60000``, ``"58 KiB"``), or one beyond the
baseline: ``"+512"``, ``"+2 KiB"``, ``"+1.5 %"`` (``"+0"``: no more than the baseline)::

    flash = "+1 %"
    ram = 8192
    [operators]
    CONV_2D = 5000
    [files]
    "tensorflow/lite/micro" = "+256"    # everything below the folder, or one file
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from harness.errors import UsageError

_LIMIT = re.compile(r"\s*(\+)?\s*(\d+(?:\.\d+)?)\s*(B|KB|KiB|MB|MiB|%)?\s*$")
_UNITS = {None: 1, "B": 1, "KB": 1024, "KiB": 1024, "MB": 1 << 20, "MiB": 1 << 20}
#: What linkers call the region that a budget calls by its usual name.
_OTHER_NAMES = {"ram": ("ram", "sram"), "flash": ("flash", "rom")}


@dataclass(frozen=True)
class Budget:
    """A limit on one thing: ``kind`` is ``region``, ``operator`` or ``file``.

    ``bytes`` is absolute, or beyond the baseline where ``relative``; ``percent`` replaces it.
    """

    kind: str
    name: str
    bytes: int
    relative: bool = False
    percent: float | None = None

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
class Verdict:
    """One budget checked; ``limit`` or ``used`` is None where it could not be."""

    name: str
    kind: str
    used: int | None
    limit: int | None
    baseline: int | None
    passed: bool
    message: str

    def to_json(self) -> dict[str, Any]:
        """One row of the ``budgets`` list."""
        return asdict(self)


def parse_limit(kind: str, name: str, value: object) -> Budget:
    """A budget from its value in TOML. Raises UsageError for anything that is no limit."""
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return Budget(kind, name, value)
    match = _LIMIT.match(value) if isinstance(value, str) else None
    if match is None or (match[3] == "%" and not match[1]):
        raise UsageError(
            f"the budget of {name} is {value!r}, which is no limit",
            hint='write bytes (60000, "58 KiB") or a step from the baseline ("+512", "+1.5 %")',
        )
    number = float(match[2])
    if match[3] == "%":
        return Budget(kind, name, 0, relative=True, percent=number)
    return Budget(kind, name, round(number * _UNITS[match[3]]), relative=bool(match[1]))


def load(path: Path) -> tuple[Budget, ...]:
    """The budgets of a TOML file. Raises UsageError for a broken one, and for one without any."""
    try:
        table = tomllib.loads(path.read_text("utf-8"))
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} is no TOML: {error}") from error
    found: list[Budget] = []
    for name, value in table.items():
        if isinstance(value, dict):
            if name not in ("operators", "files"):
                raise UsageError(
                    f"{path} has a table [{name}]", hint="known are [operators] and [files]"
                )
            kind = name.removesuffix("s")
            found.extend(parse_limit(kind, key, limit) for key, limit in value.items())
        else:
            found.append(parse_limit("region", name, value))
    if not found:
        raise UsageError(f"{path} holds no budget", hint="for example: flash = 60000")
    return tuple(found)


def check(
    budgets: Iterable[Budget], current: Mapping[str, Any], baseline: Mapping[str, Any] | None
) -> tuple[Verdict, ...]:
    """Hold a footprint document against budgets; what cannot be checked has not passed."""
    return tuple(_check(budget, current, baseline) for budget in budgets)


def _check(
    budget: Budget, current: Mapping[str, Any], baseline: Mapping[str, Any] | None
) -> Verdict:
    used = measured(budget, current)
    before = None if baseline is None else measured(budget, baseline)
    if used is None and budget.kind == "operator":
        used = 0  # an operator that is not linked costs nothing
    if before is None and baseline is not None and budget.kind != "region":
        before = 0
    limit = budget.limit(before)
    if used is None:
        return Verdict(budget.name, budget.kind, None, limit, before, False,
                       f"{budget.name}: the image has no such {budget.kind}")  # fmt: skip
    if limit is None:
        return Verdict(budget.name, budget.kind, used, None, before, False,
                       f"{budget.name}: the budget is a step from a baseline, "
                       "and there is none (--baseline)")  # fmt: skip
    passed = used <= limit
    than = "within" if passed else f"{used - limit:,} B over"
    origin = f" (baseline {before:,} B)" if budget.relative and before is not None else ""
    message = f"{budget.name}: {used:,} B, {than} its budget of {limit:,} B{origin}"
    return Verdict(budget.name, budget.kind, used, limit, before, passed, message)


def measured(budget: Budget, document: Mapping[str, Any]) -> int | None:
    """The bytes that a budget limits, None where the document has no such thing."""
    if budget.kind == "operator":
        rows = [
            r["exclusive"] for r in document.get("operators", ()) if r["operator"] == budget.name
        ]
        return sum(rows) if rows else None
    if budget.kind == "file":
        rows = [row for row in document.get("files", ()) if _below(row["path"], budget.name)]
        ram = _ram(document)
        if not rows:
            return None
        return sum(int(size) for row in rows for key, size in row.items()
                   if key != "path" and key not in ram)  # fmt: skip
    wanted = _OTHER_NAMES.get(budget.name.lower(), (budget.name.lower(),))
    for row in document["regions"]:
        if row["name"].lower() in wanted:
            return int(row["used"])
    return None


def _ram(document: Mapping[str, Any]) -> frozenset[str]:
    return frozenset(
        row["name"] for row in document["regions"] if 0x2000_0000 <= row["origin"] < 0x4000_0000
    )


def _below(path: str, wanted: str) -> bool:
    """True where ``path`` is or lies below ``wanted``, whose leading folders may be left out."""
    return f"/{wanted.strip('/')}/" in f"/{path.strip('/')}/"
