"""The figures of a case in a history, with their sources."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from harness import targets
from harness.case.columns import MEASURES as MEASURED
from harness.case.columns import Measure

#: Name in a history -> measure.
MEASURES: Mapping[str, Measure] = {kind.history: kind for kind in MEASURED if kind.history}

OPERATOR = "operator "  # prefix of a figure: ticks of one operator in an inference
PROFILED = "profiled "  # prefix of a figure: its instructions from boot to end, in a profile


def measure(name: str) -> Measure | None:
    """The measure of the figure called ``name``; None for one of a newer version."""
    if name.startswith((OPERATOR, PROFILED)):
        return Measure("operators", "Ticks of one operator.", history=name, gated=False)
    return MEASURES.get(name)


@dataclass(frozen=True)
class Figure:
    """A measured value and its source."""

    name: str
    source: str
    value: float


def figures(case: Mapping[str, Any]) -> Iterator[Figure]:
    """Yield the measured figures of one case of a ``run --json`` document."""
    target = str(case["target"])
    for kind in MEASURES.values():
        value = case.get(kind.field)
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            yield Figure(kind.history, kind.source or _own_source(target), float(value))
    operators: Counter[str] = Counter()
    for row in case.get("operators") or ():
        operators[f"{OPERATOR}{row['operator']}"] += row["ticks"]
    for row in case.get("profiled") or ():
        operators[f"{PROFILED}{row['group']}"] += row["instructions"]
    for name, ticks in operators.items():
        yield Figure(name, _own_source(target), float(ticks))


def _own_source(target: str) -> str:
    """The source of a target's figures: a virtual board counts as the simulator."""
    known = targets.TARGETS.get(target)
    counts = known is not None and known.instructions
    return "renode" if target == "renode" else "simulator" if counts else "dwt"
