"""A run on the terminal: the tables at its end, and the failures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from io import StringIO
from typing import Literal, TextIO

from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from harness.base.text import UNFOLDED, count_of
from harness.case.columns import columns, number
from harness.case.result import CaseResult, ImageSize, Verdict
from harness.case.tally import Tally
from harness.report.problems import problem_lines

_STYLE = {
    Verdict.PASS: "green",
    Verdict.FAIL: "bold red",
    Verdict.FIRMWARE: "bold red",
    Verdict.ERROR: "bold yellow",
    Verdict.SKIPPED: "yellow",
}
#: A terminal with fewer columns than this shows fewer columns of the table.
_NARROW = 110
_ROOM = 24  # characters for a verdict and its reason


def show(stream: TextIO, *parts: RenderableType) -> None:
    """Print in the width of a terminal; into a file or a pipe with unfolded lines."""
    if stream.isatty():
        console = Console(file=stream, highlight=False)
        for part in parts:
            console.print(part)
        return
    text = StringIO()
    console = Console(file=text, width=UNFOLDED, highlight=False)
    for part in parts:
        console.print(part)
    stream.write("".join(f"{line.rstrip()}\n" for line in text.getvalue().splitlines()))


def print_table(results: Sequence[CaseResult], stream: TextIO, tally: Tally | None = None) -> None:
    """Print a row for each case with its measures and its verdict; then the number of cases.

    ``tally`` counts the requested cases; without one those with results.
    """
    width = Console(file=stream).width if stream.isatty() else UNFOLDED
    shown = _columns(results)
    if width < _NARROW:
        shown = _fitting(shown, results, width)
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in shown:
        table.add_column(column.name, justify=column.justify, no_wrap=True)
    # Only this column is cut on a terminal; print_failures shows its whole text.
    table.add_column("verdict")
    for result in results:
        cells = (_short(column.cell(result), width // 4) for column in shown)
        table.add_row(*(Text(cell) for cell in cells), _verdict(result))
    show(stream, table, Text(_summary(results, tally or Tally.of(results))))


def print_images(results: Sequence[CaseResult], stream: TextIO) -> None:
    """If several images ran together, print the size of each."""
    if not any(result.measures.images for result in results):
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("case", "image", "world"):
        table.add_column(name, no_wrap=True, overflow="ellipsis")
    for name in ("flash B", "RAM B"):
        table.add_column(name, justify="right", no_wrap=True)
    seen: set[tuple[str, ImageSize]] = set()
    for result in results:
        for image in result.measures.images:
            row = result.setup.name, image
            if row not in seen:  # the same case on another target has the same images
                seen.add(row)
                texts = (Text(text) for text in (result.setup.name, image.name, image.world))
                table.add_row(*texts, number(image.flash), number(image.ram))
    show(stream, Text(), table)


@dataclass(frozen=True)
class _Column:
    name: str
    cell: Callable[[CaseResult], str]
    justify: Literal["left", "right"] = "left"
    rank: int = 0  # a narrow terminal leaves the lowest out first; 0: never


def _columns(results: Sequence[CaseResult]) -> list[_Column]:
    """The case's name in its parts, as far as they differ or are known, and its figures."""
    names = [_Column("sample", lambda r: r.setup.sample or r.setup.name)]
    if any(result.setup.resolver for result in results):
        names.append(_Column("resolver", lambda r: r.setup.resolver))
    if len({result.setup.builder for result in results}) > 1:
        names.append(_Column("builder", lambda r: r.setup.builder, rank=1))
    names.append(_Column("target", lambda r: r.setup.target))
    return names + [
        _Column(measure.heading, measure.cell, "right", measure.rank)
        for measure in columns(results)
    ]


def _fitting(shown: list[_Column], results: Sequence[CaseResult], width: int) -> list[_Column]:
    """The columns that leave room for the verdict and its reason."""
    longest = max((len(_verdict(result)) for result in results), default=0)
    for left_out in sorted((column for column in shown if column.rank), key=lambda one: one.rank):
        widths = (
            max(len(column.name), *(len(_short(column.cell(r), width // 4)) for r in results)) + 2
            for column in shown
        )
        if width - sum(widths) >= min(longest, _ROOM):
            break
        shown = [column for column in shown if column is not left_out]
    return shown


def _short(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _summary(results: Sequence[CaseResult], tally: Tally) -> str:
    passed = sum(result.passed for result in results)
    return f"{passed} of {count_of(len(results), 'case')} passed; {tally}"


def _verdict(result: CaseResult) -> Text:
    verdict, reason = result.judgement.verdict, result.judgement.reason
    text = Text(verdict.value, style=_STYLE[verdict], no_wrap=True, overflow="ellipsis")
    if not result.passed or not result.evidence.outputs_compared:
        text.append(f"  {reason.splitlines()[0] if reason else ''}", style="default")
    return text


def print_failures(results: Sequence[CaseResult], stream: TextIO) -> None:
    """Print problems, hint and transcript of each case that did not pass."""
    for result in results:
        if result.passed:
            continue
        title = f"\n{result.setup}: {result.judgement.verdict.value}"
        rows = problem_lines(result)
        if result.judgement.hint:
            rows.append(f"hint: {result.judgement.hint}")
        rows += result.evidence.details.splitlines()
        if result.evidence.console:
            rows.append(f"console: {result.evidence.console.with_name('transcript.txt')}")
        indented = (Padding(Text(row), (0, 0, 0, 2)) for row in rows)
        show(stream, Text(title, style="bold"), *indented)
