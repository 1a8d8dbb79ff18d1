"""Results as one HTML page that needs nothing else: no scripts, no fonts, no network."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, select_autoescape

from harness import __version__
from harness.case.result import CaseResult, Verdict
from harness.report.table import number


def html(results: Sequence[CaseResult]) -> str:
    """The page: a summary, a table, and a section for each case."""
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=select_autoescape(["html"]),
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["number"] = number
    template = environment.get_template("page.html")
    counts = {verdict.value: 0 for verdict in Verdict}
    for result in results:
        counts[result.verdict.value] += 1
    return template.render(
        results=results,
        counts=counts,
        version=__version__,
        largest=max((r.size.flash for r in results if r.size), default=1),
        transcripts=[_transcript(result) for result in results],
    )


def _transcript(result: CaseResult) -> str:
    """The time-stamped console of a case, shortened in the middle where it is long."""
    if result.console is None:
        return ""
    lines = (
        result.console.with_name("transcript.txt")
        .read_text(encoding="utf-8", errors="backslashreplace")
        .splitlines()
    )
    if len(lines) > 200:
        lines = [*lines[:120], f"... {len(lines) - 180} lines ...", *lines[-60:]]
    return "\n".join(lines)
