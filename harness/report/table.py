"""The short table at the end of a run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TextIO

from rich.console import Console
from rich.table import Table
from rich.text import Text

from harness.case.result import CaseResult, Verdict

_STYLE = {
    Verdict.PASS: "green",
    Verdict.FAIL: "bold red",
    Verdict.FIRMWARE: "bold red",
    Verdict.ERROR: "bold yellow",
    Verdict.SKIPPED: "yellow",
}
_WIDTH = 120


def _console(stream: TextIO) -> Console:
    """A terminal keeps its own width; a file or a pipe gets lines that are not folded."""
    return Console(file=stream, width=None if stream.isatty() else _WIDTH, highlight=False)


def number(value: int | None) -> str:
    """``12,345``; an empty cell where nothing was measured."""
    return "" if value is None else f"{value:,}"


def print_table(results: Sequence[CaseResult], stream: TextIO) -> None:
    """One row a case: what it cost and how it ended."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("sample", "resolver", "target"):
        table.add_column(name, no_wrap=True)
    cycles = any(result.cycles is not None for result in results)
    for name in ("flash B", "RAM B", "cycles/inf." if cycles else "instr./inf.", "compared"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("verdict")
    for result in results:
        size = result.size
        table.add_row(
            result.sample or result.name,
            result.resolver,
            result.target,
            number(size.flash if size else None),
            number(size.ram if size else None),
            number(result.cycles if cycles else result.instructions),
            number(result.outputs_compared or None),
            _verdict(result),
        )
    console = _console(stream)
    console.print(table)
    passed = sum(result.passed for result in results)
    skipped = sum(result.verdict is Verdict.SKIPPED for result in results)
    more = f", {skipped} skipped" if skipped else ""
    console.print(f"{passed} of {len(results)} cases passed{more}")


def _verdict(result: CaseResult) -> Text:
    text = Text(result.verdict.value, style=_STYLE[result.verdict])
    if not result.passed or not result.outputs_compared:
        text.append(f"  {result.reason.splitlines()[0] if result.reason else ''}", style="default")
    return text


def print_failures(results: Sequence[CaseResult], stream: TextIO) -> None:
    """Reason, findings and details of each case that did not pass."""
    console = _console(stream)
    for result in results:
        if result.passed:
            continue
        title = f"{result.name} on {result.target}: {result.verdict.value}"
        console.print(Text(f"\n{title}", style="bold"))
        console.print(Text(f"  {result.reason}"))
        for finding in result.findings:
            line = f" (console line {finding.line})" if finding.line else ""
            console.print(Text(f"  {finding.kind.value}: {finding.message}{line}"))
        for row in result.details.splitlines():
            console.print(Text(f"  {row}"))
        if result.console:
            console.print(Text(f"  console: {result.console.with_name('transcript.txt')}"))
