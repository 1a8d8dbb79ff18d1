"""The figures of a case that a history keeps, and where each comes from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from harness import targets
from harness.case.columns import MEASURES as MEASURED
from harness.case.columns import Measure

#: By their names in a history.
MEASURES: Mapping[str, Measure] = {kind.name: kind for kind in MEASURED if kind.name}

#: How the names begin of figures for the ticks of one operator in an inference,
OPERATOR = "operator "
#: and for its instructions in a profile, from boot to end.
PROFILED = "profiled "


def measure(name: str) -> Measure | None:
    """The measure of the figure called ``name``; None for one that only a newer version knows."""
    if name.startswith((OPERATOR, PROFILED)):
        return Measure("operators", "", name, gated=False)
    return MEASURES.get(name)


@dataclass(frozen=True)
class Figure:
    """A measured value and where it comes from."""

    name: str
    source: str
    value: float


def figures(case: Mapping[str, Any]) -> Iterator[Figure]:
    """The measured figures of one case of a ``run --json`` document."""
    target = str(case["target"])
    for kind in MEASURES.values():
        value = case.get(kind.field)
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            yield Figure(kind.name, kind.source or _own_source(target), float(value))
    operators: Counter[str] = Counter()
    for row in case.get("operators") or ():
        operators[f"{OPERATOR}{row['operator']}"] += row["ticks"]
    for row in case.get("profiled") or ():
        operators[f"{PROFILED}{row['group']}"] += row["instructions"]
    for name, ticks in operators.items():
        yield Figure(name, _own_source(target), float(ticks))


def _own_source(target: str) -> str:
    """Who counted a target's own figures: a virtual board's instructions are the simulator's."""
    known = targets.TARGETS.get(target)
    counts = known is not None and known.instructions
    return "renode" if target == "renode" else "simulator" if counts else "dwt"
