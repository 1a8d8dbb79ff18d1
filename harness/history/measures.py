"""The figures of a case that a history keeps, and where each comes from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from harness import targets
from harness.case.measures import MEASURES as MEASURED
from harness.case.measures import Measure

#: By their names in a history.
MEASURES: Mapping[str, Measure] = {one.name: one for one in MEASURED if one.name}

#: An operator's share of an inference is a figure of its own, called by this and its name.
OPERATOR = "operator "
#: So are the instructions of a profile, from boot to end.
PROFILED = "profiled "
_LONGEST_NAME = 64


def measure(name: str) -> Measure | None:
    """What the figure called ``name`` is of; None for one that a newer version keeps."""
    if name.startswith((OPERATOR, PROFILED)):
        return Measure(name, "operators", "", gated=False)
    return MEASURES.get(name)


@dataclass(frozen=True)
class Figure:
    """A measured value and where it comes from."""

    name: str
    source: str
    value: float


def figures(case: Mapping[str, Any]) -> Iterator[Figure]:
    """The figures of one case of a ``run --json`` document; what was not measured is left out."""
    target = str(case["target"])
    for one in MEASURES.values():
        value = case.get(one.field)
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            yield Figure(one.name, one.source or _own_source(target), float(value))
    operators: Counter[str] = Counter()
    for row in case.get("operators") or ():
        operators[f"{OPERATOR}{row['operator']}"[:_LONGEST_NAME]] += row["ticks"]
    for row in case.get("profiled") or ():
        operators[f"{PROFILED}{row['group']}"[:_LONGEST_NAME]] += row["instructions"]
    for name, ticks in operators.items():
        yield Figure(name, _own_source(target), float(ticks))


def _own_source(target: str) -> str:
    """Who counted a target's own figures: a virtual board's instructions are the simulator's."""
    known = targets.TARGETS.get(target)
    counts = known is not None and known.instructions
    return "renode" if target == "renode" else "simulator" if counts else "dwt"
