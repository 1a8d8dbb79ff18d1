"""A self-contained HTML page that compares two runs of a history."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from harness.history.compare import FigureDifference, RunDifference
from harness.history.run import Occasion
from harness.report.pages import asset, environment


@dataclass(frozen=True)
class CaseDifferences:
    """The differences of a case."""

    title: str
    place: str
    rows: Sequence[FigureDifference]

    @staticmethod
    def bars(row: FigureDifference) -> tuple[float, float] | None:
        """Both values in per cent of the larger one; None for a verdict."""
        if isinstance(row.before, str) or isinstance(row.now, str):
            return None
        most = max(abs(row.before), abs(row.now))
        return 100 * abs(row.before) / most, 100 * abs(row.now) / most


def compare_page(found: RunDifference) -> str:
    """The page: facts of both runs in two columns, then the cases, largest difference first."""
    cases: dict[tuple[str, str], list[FigureDifference]] = {}
    for row in found.differences:
        cases.setdefault((row.key.case, row.key.place), []).append(row)
    text: str = environment().get_template("compare.html").render(
        found=found,
        facts=_facts(found.before.occasion, found.now.occasion),
        cases=[CaseDifferences(*key, rows) for key, rows in cases.items()],
        style=asset("style.css"),
    )  # fmt: skip
    return text


def _facts(before: Occasion, now: Occasion) -> list[tuple[str, str, str]]:
    """Rows of name, value before, value now."""

    def facts_of(one: Occasion) -> dict[str, str]:
        when = datetime.fromtimestamp(one.started, UTC).strftime("%Y-%m-%d %H:%M UTC")
        return {"commit": one.commit, "branch": one.branch, "when": when, "machine": one.machine,
                "tflm-hil": one.tool, "command": one.command}  # fmt: skip

    old, new = facts_of(before), facts_of(now)
    return [(name, old[name], new[name]) for name in old]
