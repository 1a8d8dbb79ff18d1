"""One run compared with the last ones of a branch: what got worse."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from harness.errors import UsageError
from harness.history.gate import Key, Regression, Seen, regressions
from harness.history.run import Occasion, Run
from harness.history.store import History, RunRow
from harness.words import count_of


@dataclass(frozen=True)
class Checked:
    """What is worse than in the last ``compared`` runs of ``base`` (0: this is its first run)."""

    base: str
    compared: int
    regressions: tuple[Regression, ...]

    def to_json(self) -> dict[str, Any]:
        """The document of ``history check --json``."""
        rows = [
            {**vars(one.key), "measure": one.measure, "before": one.before, "now": one.now,
             "text": one.text}
            for one in self.regressions
        ]  # fmt: skip
        return {"compared_with": self.compared, "regressions": rows}

    def __str__(self) -> str:
        if not self.compared:
            return f"the first run of {_name(self.base)}: there is nothing to compare it with"
        return f"{len(self.regressions)} worse than the last {self._runs}"

    @property
    def _runs(self) -> str:
        return f"{count_of(self.compared, 'run')} of {_name(self.base)}"

    def to_markdown(self) -> str:
        """The text of a comment on a pull request."""
        if not self.compared:
            return f"{self!s}.\n".capitalize()
        if not self.regressions:
            return f"Nothing is worse than in the last {self._runs}.\n"
        rows = [
            f"| {one.key.case} | {one.key.target} | {_cell(one.text)} |" for one in self.regressions
        ]
        head = f"**{len(rows)}** worse than the median of the last {self._runs}:\n\n"
        return head + "| case | target | what |\n|---|---|---|\n" + "\n".join(rows) + "\n"


def check(history: History, base: str, last: int, run: Run | None = None) -> Checked:
    """Compare ``run`` (None: the newest in the history) with the ``last`` runs of ``base``.

    Raises :class:`UsageError` if there is no run, or no run of ``base`` to compare with, unless
    ``run`` itself is the first run of ``base``.
    """
    occasion, now = _seen(run) if run is not None else _newest(history)
    others = [row for row in history.runs(branch=base, last=last + 1) if row.occasion != occasion]
    earlier = others[-last:]
    if not earlier:
        if occasion.branch == base:
            return Checked(base, 0, ())
        raise UsageError(
            f"{history.where} holds no run of {_name(base)} to compare with",
            hint=f"--base BRANCH; it has runs of: {_branches(history.runs())}",
        )
    cases = history.cases(earlier)
    # Another command runs other cases: only a run of the same command shows which are gone.
    same = [row for row in earlier if row.occasion.command == occasion.command][-1:]
    wanted = now.keys() | {key for key, points in cases.items() if points[-1].run in same}
    before = {key: [point.seen for point in cases[key]] for key in cases if key in wanted}
    return Checked(base, len(earlier), regressions(now, before))


def _seen(run: Run) -> tuple[Occasion, dict[Key, Seen]]:
    return run.occasion, {
        Key(case.name, case.target, case.builder): Seen(
            case.verdict,
            case.reason,
            {(figure.name, figure.source): figure.value for figure in case.figures},
        )
        for case in run.cases
    }


def _newest(history: History) -> tuple[Occasion, dict[Key, Seen]]:
    newest = history.runs(last=1)
    if not newest:
        raise UsageError(f"{history.where} holds no run", hint="tflm-hil history record FILE")
    now = {key: points[-1].seen for key, points in history.cases(newest).items()}
    return newest[0].occasion, now


def _branches(runs: Sequence[RunRow]) -> str:
    return ", ".join(sorted({_name(run.occasion.branch) for run in runs})) or "none"


def _name(branch: str) -> str:
    return branch or "no branch (--base '')"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
