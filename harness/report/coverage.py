"""Profile and coverage of a case: instructions by function, lines as LCOV."""

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

#: Number of functions listed in a profile.
MAX_ROWS = 20


@dataclass(frozen=True)
class Share:
    """A function in a profile: its instructions, and their share of all, 0 to 1.

    ``inclusive``: its instructions with those of its callees; None if unknown.
    """

    function: str
    instructions: int
    part: float
    inclusive: int | None = None


def profile(coverage: Coverage, most: int = MAX_ROWS) -> tuple[Share, ...]:
    """The ``most`` functions with most instructions, and a row for all others."""
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
    """Prints the instructions by function, from boot to end, of each traced case."""
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
        title = f"\n{result.setup}: instructions by function"
        show(stream, title, table, lines_run(result.evidence.coverage))


def profiles(results: Sequence[CaseResult], *, folded: bool) -> str:
    """Instructions by call stack of all traced cases, for speedscope or flamegraph.pl.

    With several cases, each folded stack begins with the name of the case.
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
    """An LCOV tracefile of all traced cases, each with its own test name."""
    return "".join(
        result.evidence.coverage.lcov().replace("TN:\n", f"TN:{_test_name(result)}\n", 1)
        for result in results
        if result.evidence.coverage is not None
    )


def _test_name(result: CaseResult) -> str:
    """The name of a result in letters, digits and underscores, as required by geninfo(1)."""
    return re.sub(r"\W", "_", f"{result.setup.name}_{result.setup.target}", flags=re.ASCII)
