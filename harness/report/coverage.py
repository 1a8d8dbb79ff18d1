"""The code that a case ran: instructions by function for people, lines as LCOV for tools."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TextIO

from harness.base.grid import Grid, Row
from harness.case.columns import number
from harness.case.result import CaseResult
from harness.elf.call_tree import speedscope_file
from harness.elf.coverage import Coverage
from harness.report.terminal import show

#: Functions that a profile lists; the JSON has them all.
MOST = 20


@dataclass(frozen=True)
class Share:
    """One function of a profile: its instructions, and their share of all, 0 to 1.

    ``inclusive``: with those of what it called; None if that is not known.
    """

    function: str
    instructions: int
    part: float
    inclusive: int | None = None


def profile(coverage: Coverage, most: int = MOST) -> tuple[Share, ...]:
    """The functions that took most instructions, and all others in one row."""
    tree, known = coverage.tree, coverage.calls is not None
    total = tree.total or 1
    rows = [
        Share(name, own, own / total, whole if known else None)
        for name, (own, whole) in tree.functions.items()
        if own
    ]
    if len(rows) > most:
        rest = sum(row.instructions for row in rows[most:])
        name = f"{len(rows) - most} more functions"
        rows = [*rows[:most], Share(name, rest, rest / total)]
    return tuple(rows)


def lines_run(coverage: Coverage) -> str:
    """``1,234 of 5,678 lines of code ran (21.7 %)``."""
    count, total = coverage.lines
    share = f" ({100 * count / total:.1f} %)" if total else ""
    return f"{count:,} of {total:,} lines of code ran{share}"


def print_profiles(results: Sequence[CaseResult], stream: TextIO) -> None:
    """Print, for each case that was traced, instructions by function from boot to end."""
    for result in results:
        if result.evidence.coverage is None:
            continue
        rows: list[Row] = [
            [
                number(row.instructions),
                f"{100 * row.part:.1f} %",
                number(row.inclusive),
                row.function,
            ]
            for row in profile(result.evidence.coverage)
        ]
        head = ["instructions", "share", "with callees", "function"]
        table = Grid(head, frozenset((0, 1, 2)), rows)
        title = f"\n{result.setup}: where the instructions went"
        show(stream, title, table, lines_run(result.evidence.coverage))


def profiles(results: Sequence[CaseResult], *, folded: bool) -> str:
    """Instructions by call stack of all cases that were traced, for speedscope or flamegraph.pl.

    Of several cases each folded stack begins with the case's name.
    """
    trees = [
        (str(result.setup), result.evidence.coverage.tree)
        for result in results
        if result.evidence.coverage is not None
    ]
    if not folded:
        return speedscope_file(trees)
    several = len(trees) > 1
    lines = ((name, line) for name, tree in trees for line in tree.folded().splitlines())
    return "".join(f"{name};{line}\n" if several else f"{line}\n" for name, line in lines)


def lcov(results: Sequence[CaseResult]) -> str:
    """One LCOV tracefile of all cases that were traced, each with a test name of its own."""
    return "".join(
        result.evidence.coverage.lcov().replace("TN:\n", f"TN:{_test_name(result)}\n", 1)
        for result in results
        if result.evidence.coverage is not None
    )


def _test_name(result: CaseResult) -> str:
    """The result's name with letters, digits and underscores only, as geninfo(1) requires."""
    return re.sub(r"\W", "_", f"{result.setup.name}_{result.setup.target}", flags=re.ASCII)
