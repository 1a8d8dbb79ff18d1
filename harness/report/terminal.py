"""A run on the terminal: the tables at its end, and the failures."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TextIO

from harness.base.grid import Grid, Row
from harness.base.text import UNFOLDED, count_of
from harness.case.columns import columns, number
from harness.case.result import CaseResult, Verdict
from harness.case.tally import Tally
from harness.report.problems import console_lines, problem_lines

if TYPE_CHECKING:
    from rich.table import Table as DrawnTable

_STYLE: dict[str, str] = {
    Verdict.PASS: "green",
    Verdict.FAIL: "bold red",
    Verdict.FIRMWARE: "bold red",
    Verdict.ERROR: "bold yellow",
    Verdict.SKIPPED: "yellow",
}
#: A terminal with fewer columns than this shows fewer columns of the table.
_NARROW = 110
_ROOM = 24  # characters for a verdict and its reason


def show(stream: TextIO, *parts: str | Grid) -> None:
    """Print texts and tables: on a terminal in its width, in a file or a pipe with whole rows.

    On a terminal the first word of a table's last column has a colour if it is a verdict.
    """
    if not stream.isatty():
        texts = (part if isinstance(part, str) else part.plain() for part in parts)
        stream.write("".join(f"{text}\n" for text in texts))
        return
    from rich.console import Console  # noqa: PLC0415 - takes longer to import than a short run
    from rich.padding import Padding  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    console = Console(file=stream, highlight=False)
    for part in parts:
        if isinstance(part, Grid):
            console.print(_drawn(part))
            continue
        for line in part.split("\n"):  # a long line goes on below its own beginning
            text = line.lstrip(" ")
            console.print(Padding(Text(text), (0, 0, 0, len(line) - len(text))))


def _drawn(grid: Grid) -> DrawnTable:
    from rich.table import Table  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    table = Table(box=None, pad_edge=False, header_style="bold")
    for index, head in enumerate(grid.heads[:-1]):
        justify: Literal["left", "right"] = "right" if index in grid.numbers else "left"
        table.add_column(head, justify=justify, no_wrap=True, overflow="ellipsis")
    # Only this column is cut on a terminal; print_failures shows its whole text.
    last = len(grid.heads) - 1
    table.add_column(grid.heads[-1], justify="right" if last in grid.numbers else "left")
    for *cells, end in grid.rows:
        word, space, rest = end.partition("  ")
        text = Text(word, style=_STYLE.get(word, ""), no_wrap=True, overflow="ellipsis")
        table.add_row(*map(Text, cells), text.append(space + rest, style="default"))
    return table


def print_table(results: Sequence[CaseResult], stream: TextIO, tally: Tally | None = None) -> None:
    """Print a row for each case with its measures and its verdict; then the number of cases.

    ``tally`` counts the requested cases; without one those with results.
    """
    width = shutil.get_terminal_size().columns if stream.isatty() else UNFOLDED
    shown = _columns(results)
    if width < _NARROW:
        shown = _fitting(shown, results, width)
    numbers = frozenset(index for index, column in enumerate(shown) if column.number)
    rows: list[Row] = [
        [*(_short(column.cell(result), width // 4) for column in shown), _verdict(result)]
        for result in results
    ]
    table = Grid([*(column.name for column in shown), "verdict"], numbers, rows)
    show(stream, table, _summary(results, tally or Tally.of(results)))


def print_images(results: Sequence[CaseResult], stream: TextIO) -> None:
    """If several images ran together, print the size of each."""
    # A dict keeps the order; the same case on another target has the same images.
    images = {(r.setup.name, image): None for r in results for image in r.measures.images}
    if images:
        rows: list[Row] = [
            [name, image.name, image.world, number(image.flash), number(image.ram)]
            for name, image in images
        ]
        heads = ["case", "image", "world", "flash B", "RAM B"]
        show(stream, "", Grid(heads, frozenset((3, 4)), rows))


@dataclass(frozen=True)
class _TableColumn:
    name: str
    cell: Callable[[CaseResult], str]
    number: bool = False
    rank: int = 0  # a narrow terminal leaves the lowest out first; 0: never


def _columns(results: Sequence[CaseResult]) -> list[_TableColumn]:
    """The case's name in its parts, as far as they differ or are known, and its figures."""
    names = [_TableColumn("sample", lambda r: r.setup.sample or r.setup.name)]
    if any(result.setup.resolver for result in results):
        names.append(_TableColumn("resolver", lambda r: r.setup.resolver))
    if len({result.setup.builder for result in results}) > 1:
        names.append(_TableColumn("builder", lambda r: r.setup.builder, rank=1))
    names.append(_TableColumn("target", lambda r: r.setup.place))
    return names + [
        _TableColumn(measure.heading, measure.cell, number=True, rank=measure.rank)
        for measure in columns(results)
    ]


def _fitting(
    shown: list[_TableColumn], results: Sequence[CaseResult], width: int
) -> list[_TableColumn]:
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


def _verdict(result: CaseResult) -> str:
    verdict, reason = result.judgement.verdict, result.judgement.reason
    if result.passed and result.evidence.outputs_compared:
        return verdict.value
    return f"{verdict.value}  {reason.splitlines()[0] if reason else ''}".rstrip()


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
        rows += console_lines(result)
        show(stream, title, *(f"  {row}" for row in rows))
