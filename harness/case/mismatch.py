"""The line of tensors that differ from the reference: how many values, why, and the first one."""

from __future__ import annotations

import math
from collections.abc import Iterable

from harness.reference import Comparison
from harness.reference.patterns import INFERENCES
from harness.uart.scrapers.base import Mismatch

#: Characters of a tensor's name.
_NAME = 24


def mismatch_of(count: str, differing: Iterable[tuple[str, Comparison]]) -> Mismatch:
    """``count`` with the comparisons of tensors by name; their first axis counts inferences.

    The cause is one that explains the differences of all tensors.
    """
    compared = [(_cut(name), comparison) for name, comparison in differing]
    causes = {comparison.cause(name) for name, comparison in compared}
    firsts = (
        comparison.notable.sentence(name, INFERENCES)
        for name, comparison in compared
        if comparison.notable is not None
    )
    special = any(
        comparison.notable is not None and not math.isfinite(comparison.notable.obtained)
        for _, comparison in compared
    )
    cause = causes.pop() if len(causes) == 1 else ""
    rows = {comparison.first[0].index[0] for _, comparison in compared if comparison.first}
    return Mismatch(count, next(firsts, ""), cause, tuple(sorted(rows)), special=special)


def _cut(name: str) -> str:
    return name if len(name) <= _NAME else f"{name[:_NAME]}..."
