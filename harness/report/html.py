"""Results as one HTML page that needs nothing else: no scripts, no fonts, no network.

jinja2 is imported when a page is made: most runs on the command line make none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from harness import __version__
from harness.case.result import CaseResult, Verdict
from harness.report.problems import problem_lines
from harness.report.ran import Share, lines_run, profile
from harness.report.table import number

_HEAD, _TAIL = 120, 60


@dataclass(frozen=True)
class Row:
    """One line of a transcript; ``noted`` where a finding was read from it."""

    text: str
    noted: bool = False


@dataclass(frozen=True)
class Section:
    """One case as the page shows it."""

    index: int
    result: CaseResult
    problems: Sequence[str]
    transcript: Sequence[Row]
    profile: Sequence[Share] = ()


def html(results: Sequence[CaseResult]) -> str:
    """The page: a summary, a table, and a section for each case, failures first."""
    from jinja2 import Environment, FileSystemLoader, select_autoescape  # noqa: PLC0415

    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=select_autoescape(["html"]),
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["number"] = number
    environment.filters["lines_run"] = lines_run
    template = environment.get_template("page.html")
    counts = {verdict.value: 0 for verdict in Verdict}
    for result in results:
        counts[result.verdict.value] += 1
    sections = [
        Section(index, result, problem_lines(result), _transcript(result), _profile(result))
        for index, result in enumerate(results, 1)
    ]
    return template.render(
        sections=sections,
        failed=[one for one in sections if not one.result.passed],
        passed=[one for one in sections if one.result.passed],
        counts=counts,
        builders=sorted({result.builder for result in results}),
        targets=sorted({result.target for result in results}),
        version=__version__,
        written=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        largest=max((r.size.flash for r in results if r.size), default=1) or 1,
    )


def _profile(result: CaseResult) -> tuple[Share, ...]:
    return profile(result.coverage) if result.coverage else ()


def _transcript(result: CaseResult) -> list[Row]:
    """The time-stamped console of a case, shortened in the middle where it is long."""
    if result.console is None:
        return []
    text = result.console.with_name("transcript.txt").read_text("utf-8", "backslashreplace")
    noted = {finding.line for finding in result.findings}
    lines = text.removesuffix("\n").split("\n") if text else []
    rows = [Row(line, number in noted) for number, line in enumerate(lines, 1)]
    if len(rows) <= _HEAD + _TAIL + 1:
        return rows
    left_out = rows[_HEAD:-_TAIL]
    gap = [Row(f"... {len(left_out):,} lines left out; transcript.txt has them ...")]
    return [*rows[:_HEAD], *gap, *(row for row in left_out if row.noted), *rows[-_TAIL:]]
