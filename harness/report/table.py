"""The short table at the end of a run."""

from __future__ import annotations

from collections.abc import Sequence
from io import StringIO
from typing import TextIO

from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from harness.case.result import CaseResult, Verdict
from harness.report.problems import problem_lines

_STYLE = {
    Verdict.PASS: "green",
    Verdict.FAIL: "bold red",
    Verdict.FIRMWARE: "bold red",
    Verdict.ERROR: "bold yellow",
    Verdict.SKIPPED: "yellow",
}
#: Columns of a file or a pipe: rows there are not folded, so that they can be searched.
_WIDE = 2000
_LONGEST_NAME = 36


def _show(stream: TextIO, *parts: RenderableType) -> None:
    """Print on a terminal in its own width; into a file or a pipe line by line, unfolded."""
    if stream.isatty():
        console = Console(file=stream, highlight=False)
        for part in parts:
            console.print(part)
        return
    text = StringIO()
    console = Console(file=text, width=_WIDE, highlight=False)
    for part in parts:
        console.print(part)
    stream.write("".join(f"{line.rstrip()}\n" for line in text.getvalue().splitlines()))


def number(value: int | None) -> str:
    """``12,345``; an empty cell where nothing was measured."""
    return "" if value is None else f"{value:,}"


def print_table(results: Sequence[CaseResult], stream: TextIO) -> None:
    """One row a case: what it cost and how it ended."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("sample", no_wrap=True, max_width=_LONGEST_NAME if stream.isatty() else None)
    resolvers = any(result.resolver for result in results)
    for name in ("resolver", "target") if resolvers else ("target",):
        table.add_column(name, no_wrap=True)
    cycles = any(result.cycles is not None for result in results)
    for name in ("flash B", "RAM B", "cycles/inf." if cycles else "instr./inf.", "compared"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("verdict", no_wrap=True, overflow="ellipsis")
    for result in results:
        size = result.size
        table.add_row(
            Text(result.sample or result.name),
            *([Text(result.resolver)] if resolvers else []),
            result.target,
            number(size.flash if size else None),
            number(size.ram if size else None),
            number(result.cycles if cycles else result.instructions),
            number(result.outputs_compared or None),
            _verdict(result),
        )
    _show(stream, table, Text(_summary(results)))


def _summary(results: Sequence[CaseResult]) -> str:
    passed = sum(result.passed for result in results)
    skipped = sum(result.verdict is Verdict.SKIPPED for result in results)
    more = f", {skipped} skipped" if skipped else ""
    return f"{passed} of {len(results)} case{'' if len(results) == 1 else 's'} passed{more}"


def _verdict(result: CaseResult) -> Text:
    text = Text(result.verdict.value, style=_STYLE[result.verdict])
    if not result.passed or not result.outputs_compared:
        text.append(f"  {result.reason.splitlines()[0] if result.reason else ''}", style="default")
    return text


def print_failures(results: Sequence[CaseResult], stream: TextIO) -> None:
    """What is wrong with each case that did not pass, what to try, and where its console lies."""
    for result in results:
        if result.passed:
            continue
        title = f"\n{result.name} on {result.target}: {result.verdict.value}"
        rows = problem_lines(result)
        if result.hint:
            rows.append(f"hint: {result.hint}")
        rows += result.details.splitlines()
        if result.console:
            rows.append(f"console: {result.console.with_name('transcript.txt')}")
        indented = (Padding(Text(row), (0, 0, 0, 2)) for row in rows)
        _show(stream, Text(title, style="bold"), *indented)
