"""Output of a run on the terminal: tables and failures."""

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
from harness.report.problems import console_lines, problem_lines, start_notes

if TYPE_CHECKING:
    from rich.table import Table as DrawnTable

_STYLE: dict[str, str] = {
    Verdict.PASS: "green",
    Verdict.FAIL: "bold red",
    Verdict.FLAKY: "bold red",
    Verdict.FIRMWARE: "bold red",
    Verdict.USAGE: "bold yellow",
    Verdict.ERROR: "bold yellow",
    Verdict.SKIPPED: "yellow",
}
#: Terminal width in characters below which columns of the table are omitted.
_NARROW = 110
_ROOM = 24  # minimum width in characters for a verdict and its reason


def show(stream: TextIO, *parts: str | Grid) -> None:
    """Prints texts and tables, on a terminal in its width, elsewhere with unlimited width.

    On a terminal, a verdict at the beginning of a table's last column is coloured.
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
        for line in part.split("\n"):  # wrapped lines keep the indentation
            text = line.lstrip(" ")
            console.print(Padding(Text(text), (0, 0, 0, len(line) - len(text))))


def _drawn(grid: Grid) -> DrawnTable:
    from rich.table import Table  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    table = Table(box=None, pad_edge=False, header_style="bold")
    for index, head in enumerate(grid.heads[:-1]):
        justify: Literal["left", "right"] = "right" if index in grid.numbers else "left"
        table.add_column(head, justify=justify, no_wrap=True, overflow="ellipsis")
    # Only the last column is shortened on a terminal; print_failures prints its whole text.
    last = len(grid.heads) - 1
    table.add_column(grid.heads[-1], justify="right" if last in grid.numbers else "left")
    for *cells, end in grid.rows:
        word, space, rest = end.partition("  ")
        text = Text(word, style=_STYLE.get(word, ""), no_wrap=True, overflow="ellipsis")
        table.add_row(*map(Text, cells), text.append(space + rest, style="default"))
    return table


def print_table(results: Sequence[CaseResult], stream: TextIO, tally: Tally | None = None) -> None:
    """Prints a row for each case with its measures and its verdict, then the number of cases.

    ``tally`` counts the requested cases; by default those with results are counted.
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
    show(stream, table, *start_notes(results), _summary(results, tally or Tally.of(results)))


def print_images(results: Sequence[CaseResult], stream: TextIO) -> None:
    """Prints the sizes of images that ran together."""
    # A dict removes duplicates in order: a case has the same images on all targets.
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
    rank: int = 0  # a narrow terminal omits the lowest first; 0: never


def _columns(results: Sequence[CaseResult]) -> list[_TableColumn]:
    """The columns of the table: the parts of the case's name that are needed, and figures."""
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
    """Prints problems, hint and transcript of each case that did not pass."""
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
