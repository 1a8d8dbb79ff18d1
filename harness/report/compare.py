"""Two runs of a history side by side, as one HTML page that needs no other files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from harness.history.compare import FigureDifference, RunDifference
from harness.history.run import Occasion
from harness.report.pages import asset, environment


@dataclass(frozen=True)
class CaseDifferences:
    """What differs in one case; ``bars`` are the widths of each figure's two bars in per cent."""

    title: str
    place: str
    rows: Sequence[FigureDifference]

    @staticmethod
    def bars(row: FigureDifference) -> tuple[float, float] | None:
        """Widths in per cent of the larger value; None for a verdict."""
        if isinstance(row.before, str) or isinstance(row.now, str):
            return None
        most = max(abs(row.before), abs(row.now))
        return 100 * abs(row.before) / most, 100 * abs(row.now) / most


def compare_page(found: RunDifference) -> str:
    """Both runs' facts in two columns, and below them the cases, the largest difference first."""
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

    def told(one: Occasion) -> dict[str, str]:
        when = datetime.fromtimestamp(one.started, UTC).strftime("%Y-%m-%d %H:%M UTC")
        return {"commit": one.commit, "branch": one.branch, "when": when, "machine": one.machine,
                "tflm-hil": one.tool, "command": one.command}  # fmt: skip

    old, new = told(before), told(now)
    return [(name, old[name], new[name]) for name in old]
