"""The figures of a case over time: sparklines for the terminal, and steps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from harness.history.measures import MEASURES, measure
from harness.history.store import RecordedCase

_BLOCKS = "▁▂▃▄▅▆▇█"


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
