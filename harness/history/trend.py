"""Cases over time: the steps and sparkline of a figure, a table of the last results."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from harness.base.grid import Grid
from harness.case.result import Verdict
from harness.history.measures import MEASURES, measure
from harness.history.regression import CaseKey
from harness.history.store import RecordedCase

_BLOCKS = "▁▂▃▄▅▆▇█"
#: Figures of the table of last results, with the heads of their columns.
_LAST = {"flash": "flash B", "ram": "RAM B", "arena": "arena B", "instructions": "instructions"}
#: The resolver configuration whose figures are in that table.
_TYPICAL = "exact"
#: Brackets in a compiler's name, which may hold further ones.
_BRACKETS = re.compile(r"\s*\((?:[^()]|\([^()]*\))*\)")


@dataclass(frozen=True)
class TrendStep:
    """A change of a figure between two runs."""

    at: int  # index of the later one
    before: float
    now: float


@dataclass(frozen=True)
class Trend:
    """One figure of one case over its runs; None if a run did not measure it."""

    name: str
    source: str
    values: tuple[float | None, ...]

    @property
    def unit(self) -> str:
        """The unit of the values."""
        kind = measure(self.name)
        return kind.unit if kind else ""

    @property
    def last(self) -> float | None:
        """The newest value; None if no run measured the figure."""
        return next((value for value in reversed(self.values) if value is not None), None)

    @property
    def noisy(self) -> bool:
        """Whether the figure differs from run to run by chance."""
        kind = measure(self.name)
        return kind is not None and kind.noisy

    @property
    def steps(self) -> tuple[TrendStep, ...]:
        """The changes of the figure; () for a noisy one."""
        if self.noisy:
            return ()
        steps: list[TrendStep] = []
        last: float | None = None
        for index, value in enumerate(self.values):
            if value is not None:
                if last is not None and value != last:
                    steps.append(TrendStep(index, last, value))
                last = value
        return tuple(steps)


def trends(points: Sequence[RecordedCase]) -> tuple[Trend, ...]:
    """The trend of every figure in ``points``, in the order of :data:`MEASURES`."""
    keys = {key for point in points for key in point.outcome.figures}
    order = {name: number for number, name in enumerate(MEASURES)}
    return tuple(
        Trend(name, source, tuple(point.outcome.figures.get((name, source)) for point in points))
        for name, source in sorted(keys, key=lambda key: (order.get(key[0], len(order)), key))
    )


def sparkline(values: Sequence[float | None], width: int = 40) -> str:
    """Format the last ``width`` values as blocks of different heights; a missing one is a blank."""
    shown = values[-width:]
    known = [value for value in shown if value is not None]
    if not known:
        return ""
    least, most = min(known), max(known)
    span = most - least
    return "".join(
        " " if value is None
        else _BLOCKS[round((value - least) / span * (len(_BLOCKS) - 1)) if span else 3]
        for value in shown
    )  # fmt: skip


def last_results(cases: Mapping[CaseKey, Sequence[RecordedCase]]) -> Grid:
    """A row for each sample, compiler (with Zephyr's release), builder and target.

    ``passed`` counts the sample's configurations by their last results. A case of an image that is
    not of a sample has a row of its own.
    """
    groups: defaultdict[tuple[str, ...], list[RecordedCase]] = defaultdict(list)
    for key, points in cases.items():
        last, compiler = points[-1], _BRACKETS.sub("", key.compiler)
        groups[last.sample or key.case, compiler, key.builder, key.target].append(last)
    rows = []
    for group, results in sorted(groups.items()):
        passed = sum(one.outcome.verdict == Verdict.PASS for one in results)
        typical = [one for one in results if len(results) == 1 or one.resolver == _TYPICAL]
        figures = {
            name: f"{value:,.0f}"
            for one in typical
            for (name, _), value in one.outcome.figures.items()
        }
        cells = (figures.get(name, "") for name in _LAST)
        rows.append([*group, f"{passed} of {len(results)}", *cells])
    heads = ["sample", "compiler", "builder", "target", "passed", *_LAST.values()]
    return Grid(heads, frozenset(range(5, len(heads))), list(rows))
