"""Results as Markdown, for the summary of a job and for a comment on a pull request."""

from __future__ import annotations

from collections.abc import Sequence

from harness.base.grid import Grid, Row
from harness.case.columns import columns
from harness.case.result import CaseResult
from harness.case.tally import Tally
from harness.report.problems import console_lines, problem_lines, start_notes

_MAX_FAILURES = 20  # shown with details
_MAX_LENGTH = 6000  # characters of each


def markdown(results: Sequence[CaseResult], tally: Tally | None = None) -> str:
    """A table of the cases, failures first, and the details of each failure."""
    ordered = sorted(results, key=lambda result: result.passed)
    shown = columns(results)
    heads = ["", "case", "target", *(one.heading for one in shown), "verdict"]
    rows: list[Row] = [
        [
            "✅" if result.passed else "❌",
            result.setup.name,
            result.setup.place,
            *(one.cell(result) for one in shown),
            _verdict(result),
        ]
        for result in ordered
    ]
    numbers = frozenset(range(3, 3 + len(shown)))
    passed = sum(result.passed for result in results)
    counted = f"**{passed} of {len(results)} passed**; {tally or Tally.of(results)}"
    failed = [result for result in ordered if not result.passed]
    parts = [counted, "", Grid(heads, numbers, rows).markdown(), ""]
    if notes := start_notes(results):
        parts += [*(f"* {_html(note)}" for note in notes), ""]
    for result in failed[:_MAX_FAILURES]:
        parts += _details(result)
    if len(failed) > _MAX_FAILURES:
        parts += [f"... and {len(failed) - _MAX_FAILURES} more that did not pass.", ""]
    return "\n".join(parts)


def _verdict(result: CaseResult) -> str:
    verdict, reason = result.judgement.verdict.value, result.judgement.reason
    return verdict if result.passed else f"{verdict}: {reason}"


def _details(result: CaseResult) -> list[str]:
    """The details of a failure, folded; as a code block, so that console text is not Markdown."""
    hint = [f"hint: {result.judgement.hint}"] if result.judgement.hint else []
    lines = [*problem_lines(result), *hint, *result.evidence.details.splitlines(),
             *console_lines(result)]  # fmt: skip
    text = "\n".join(lines)[:_MAX_LENGTH]
    return [
        "<details>",
        f"<summary>{_html(str(result.setup))}: {result.judgement.verdict}</summary>",
        "",
        *(f"    {line}" for line in text.splitlines()),
        "",
        "</details>",
        "",
    ]


def _html(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
