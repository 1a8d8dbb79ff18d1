"""The last results by sample, compiler (with Zephyr's release), builder and target, as a table."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from harness.base.grid import Grid
from harness.case.result import Verdict
from harness.history.regression import CaseKey
from harness.history.store import RecordedCase

_HEADS = ("sample", "compiler", "builder", "target", "passed")
#: Figures in the table -> heads of their columns.
_FIGURES = {
    "flash": "flash B",
    "ram": "RAM B",
    "arena": "arena B",
    "instructions": "instructions",
}
#: Resolver configuration whose figures are shown.
_TYPICAL = "exact"


def setups(cases: Mapping[CaseKey, Sequence[RecordedCase]]) -> Grid:
    """A row for each setup of a sample, or of a case of another image.

    Each case counts with its last result. ``passed`` counts the sample's configurations.
    """
    groups: defaultdict[tuple[str, ...], list[RecordedCase]] = defaultdict(list)
    for key, points in cases.items():
        last = points[-1]
        name = last.sample or key.case
        groups[name, _short(key.compiler), key.builder, key.target].append(last)
    rows = [(*group, *_cells(results)) for group, results in sorted(groups.items())]
    numbers = range(len(_HEADS), len(_HEADS) + len(_FIGURES))
    return Grid((*_HEADS, *_FIGURES.values()), frozenset(numbers), list(rows))


def _cells(results: Sequence[RecordedCase]) -> list[str]:
    passed = sum(one.outcome.verdict == Verdict.PASS for one in results)
    typical = [one for one in results if len(results) == 1 or one.resolver == _TYPICAL]
    values = {
        name: f"{value:,.0f}" for one in typical for (name, _), value in one.outcome.figures.items()
    }
    return [f"{passed} of {len(results)}", *(values.get(name, "") for name in _FIGURES)]


def _short(compiler: str) -> str:
    """A compiler's name without the parts in brackets."""
    words, depth = "", 0
    for letter in compiler:
        depth += letter == "("
        words += letter if not depth else ""
        depth -= letter == ")"
    return " ".join(words.split()).replace(" ,", ",")
