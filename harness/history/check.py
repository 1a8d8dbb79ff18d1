"""Comparison of a run with the last ones of a branch: regressions, and cases left out.

A run is compared with runs of the same machine only, a case with those of the same compiler only.
Several labs may share one history.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from harness.base.errors import UsageError
from harness.base.text import count_of
from harness.history.measures import measure
from harness.history.regression import CaseKey, CaseOutcome, Regression, regressions
from harness.history.run import MACHINE_VARIABLE, Occasion, Run
from harness.history.selection import Selection
from harness.history.store import History, RunRow

#: Seconds by which a run may begin before one that was recorded earlier, if machine, branch or
#: selection differ: both may have run at the same time.
_AT_ONCE = 86_400.0
#: Seconds after which a machine without a run counts as retired.
_RETIRED = 7 * 86_400.0
#: Most runs from which noise is estimated.
_NOISE_RUNS = 60
#: Consecutive runs, each of another machine, after which the lab is taken to have no name.
_NAMELESS = 3


@dataclass(frozen=True)
class RunComparison:
    """The regressions against the last runs of a branch on a machine."""

    base: str  # the branch
    machine: str
    compared: int  # number of those runs; 0 for the first run
    regressions: tuple[Regression, ...] = ()
    problems: tuple[str, ...] = ()  # of the run as a whole
    partial: str = ""  # the cases or targets that it leaves out, in words; "" if none
    compilers: str = ""  # changes of compilers, in words; "" if there are none

    @property
    def passed(self) -> bool:
        """Whether there are neither regressions nor problems."""
        return not self.regressions and not self.problems

    def to_json(self) -> dict[str, Any]:
        """The document of ``history check --json``."""
        rows = [
            {**vars(one.key), "measure": one.measure, "before": one.before, "now": one.now,
             "text": one.text}
            for one in self.regressions
        ]  # fmt: skip
        return {"machine": self.machine, "compared_with": self.compared, "partial": self.partial,
                "compilers": self.compilers, "problems": list(self.problems),
                "regressions": rows}  # fmt: skip

    def __str__(self) -> str:
        outcome = f"{len(self.regressions)} worse than the last {self._runs}"
        if not self.compared:
            outcome = self._first
        return "; ".join(filter(None, [*self.problems, outcome, self.partial, self.compilers]))

    @property
    def _runs(self) -> str:
        return f"{count_of(self.compared, 'run')} of {_name(self.base)}{self._where}"

    @property
    def _first(self) -> str:
        where = f"{_name(self.base)}{self._where}"
        return f"the first run of {where}: there is nothing to compare it with"

    @property
    def _where(self) -> str:
        return f" on {self.machine}" if self.machine else ""

    def to_markdown(self) -> str:
        """The text of a comment on a pull request."""
        if not self.compared or not self.regressions:
            nothing = f"nothing is worse than in the last {self._runs}"
            outcome = nothing if self.compared else self._first
            parts = [*self.problems, outcome, self.partial, self.compilers]
            return "\n\n".join(f"{part[0].upper()}{part[1:]}." for part in parts if part) + "\n"
        rows = [
            f"| {one.key.case} | {one.key.place} | {_cell(one.text)} |" for one in self.regressions
        ]
        notes = "".join(
            f"{note}\n\n" for note in (*self.problems, self.partial, self.compilers) if note
        )
        head = f"{notes}**{len(rows)}** worse than the last {self._runs}:\n\n"
        return head + "| case | target | regression |\n|---|---|---|\n" + "\n".join(rows) + "\n"


@dataclass(frozen=True)
class _Recorded:
    """A run with its cases."""

    id: int | None  # None: not in the history
    occasion: Occasion
    cases: Mapping[CaseKey, CaseOutcome]

    @property
    def targets(self) -> set[str]:
        return {key.target for key in self.cases}

    def narrower(self, other: _Recorded) -> bool:
        """Whether this run selected the same sources on fewer targets than ``other``."""
        mine, theirs = _comparable(self.occasion, other.occasion)
        fewer = mine != theirs and self.targets < other.targets
        return fewer and mine.sources == theirs.sources


def check_labs(history: History, base: str, last: int) -> tuple[RunComparison, ...]:
    """Check the newest run of each machine, as :func:`check` does; the newest of all is last.

    Machines without a run in the week before the newest one are retired and left out. Raises
    :class:`UsageError` as :func:`check` does.
    """
    rows = sorted(history.runs(), key=lambda row: row.id)
    if not rows:
        raise _no_run(history)
    newest = {row.occasion.machine: row for row in rows}
    until = max(row.occasion.started for row in rows)
    return tuple(
        _check(history, base, last, _stored(history, row), rows)
        for row in sorted(newest.values(), key=lambda row: row.id)
        if row.occasion.started > until - _RETIRED or row is rows[-1]
    )


def check(history: History, base: str, last: int, run: Run | None = None) -> RunComparison:
    """Compare ``run`` (None: the one recorded last) with the ``last`` runs of ``base`` before it.

    It is compared with complete runs of the same machine only: not with those whose filters left
    cases out, nor with those on fewer targets than another run of the same sources.

    Raises :class:`UsageError` if there is no run, or no complete run of ``base`` to compare with,
    unless ``run`` itself is the first run of ``base`` on its machine.
    """
    rows = sorted(history.runs(), key=lambda row: row.id)  # in the order of recording
    if run is None and not rows:
        raise _no_run(history)
    now = _given(history, run) if run is not None else _stored(history, rows[-1])
    return _check(history, base, last, now, rows)


def _check(
    history: History, base: str, last: int, now: _Recorded, rows: Sequence[RunRow]
) -> RunComparison:
    machine = now.occasion.machine
    rows = [row for row in rows if now.id is None or row.id < now.id]
    everywhere = [row for row in rows if row.occasion.branch == base]
    of_base = [row for row in everywhere if row.occasion.machine == machine]
    of_branch = [row for row in rows if row.occasion.branch == now.occasion.branch]
    problems = tuple(_problems(now, [*of_base[-last:], *of_branch[-last:]]))
    whole = [row for row in of_base if not row.occasion.selected.partial]
    earlier = _widest(_load(history, whole[-last:]))
    is_base, partial = now.occasion.branch == base, now.occasion.selected.partial
    if not earlier and (partial or not is_base):
        only_partial = bool(of_base) or (is_base and not everywhere)
        raise _nothing_to_compare_with(history, base, machine, only_partial=only_partial)
    if not of_base:
        problems = (*problems, *_nameless(machine, everywhere))
    changed = _compilers(now, earlier)
    expected = {key for key in _expected(now, earlier) if key not in changed}
    before = {
        key: outcomes
        for key in now.cases.keys() | expected
        if (outcomes := [one.cases[key] for one in earlier if key in one.cases])
    }
    compilers = _compiler_change(changed)
    if not before and is_base:
        return RunComparison(base, machine, 0, problems=problems,
                             partial=_partial(now, earlier), compilers=compilers)  # fmt: skip
    if not before:
        problems = (*problems, "none of its cases ran before: nothing was compared")
    older = _older(history, whole, last, earlier)
    found = sorted(regressions(now.cases, before, older), key=lambda one: str(one.key))
    return RunComparison(base, machine, len(earlier), tuple(found), problems,
                         _partial(now, earlier), compilers)  # fmt: skip


def _older(
    history: History, whole: Sequence[RunRow], last: int, earlier: Sequence[_Recorded]
) -> Mapping[CaseKey, Sequence[CaseOutcome]]:
    """The outcomes before the ``last`` runs of ``whole``, if those have noisy figures."""
    figures = {name for run in earlier for case in run.cases.values() for name, _ in case.figures}
    if not any(kind.noisy and kind.gated for kind in map(measure, figures) if kind is not None):
        return {}
    found: dict[CaseKey, list[CaseOutcome]] = {}
    for run in _load(history, whole[-_NOISE_RUNS:-last]):
        for key, outcome in run.cases.items():
            if outcome.answered:
                found.setdefault(key, []).append(outcome)
    return found


def _nameless(machine: str, rows: Sequence[RunRow]) -> Iterator[str]:
    """Yield a problem if each of the last runs is the only one of its machine."""
    machines = [row.occasion.machine for row in rows]
    once = [name for name in machines[-_NAMELESS:] if machines.count(name) == 1]
    if len(once) == _NAMELESS:
        yield (
            f"no run of {machine} to compare with, and each of the last {_NAMELESS} runs is of a "
            f"machine of its own: set {MACHINE_VARIABLE} to the lab's name"
        )


def _compilers(now: _Recorded, earlier: Sequence[_Recorded]) -> dict[CaseKey, CaseKey]:
    """The cases of the last run that another compiler built now: old key -> new key."""
    new = {key.any_compiler: key for key in now.cases}
    last = earlier[-1].cases if earlier else {}
    return {key: new[key.any_compiler] for key in last
            if key not in now.cases and key.any_compiler in new}  # fmt: skip


def _compiler_change(changed: Mapping[CaseKey, CaseKey]) -> str:
    if not changed:
        return ""
    pairs = sorted({(old.compiler or "unknown", new.compiler or "unknown")
                    for old, new in changed.items()})  # fmt: skip
    how = ", ".join(f"{old} -> {new}" for old, new in pairs)
    return f"{count_of(len(changed), 'case')} not compared: another compiler built them ({how})"


def _no_run(history: History) -> UsageError:
    return UsageError(f"{history.where} holds no run", hint="tflm-hil history record FILE")


def _nothing_to_compare_with(
    history: History, base: str, machine: str, *, only_partial: bool
) -> UsageError:
    runs = history.runs()
    if only_partial:
        return UsageError(
            f"{history.where} holds only partial runs of {_name(base)}: none to compare with",
            hint="record a run of all cases, without --case, -k or --test",
        )
    elsewhere = sorted({row.occasion.machine for row in runs if row.occasion.branch == base})
    if elsewhere:
        return UsageError(
            f"{history.where} holds no run of {_name(base)} on {machine} to compare with",
            hint=f"it has runs on {', '.join(elsewhere)}; {MACHINE_VARIABLE} names this machine",
        )
    return UsageError(
        f"{history.where} holds no run of {_name(base)} to compare with",
        hint=f"--base BRANCH; it has runs of: {_branches(runs)}",
    )


def _expected(now: _Recorded, earlier: Sequence[_Recorded]) -> set[CaseKey]:
    """The cases that ``now`` should have: those of the last run with the same selection.

    Without such a run, they are those of the last run of the same sources for the same chip, on the
    targets of ``now``. No case is expected of a partial run, whose filters left cases out.
    """
    if now.occasion.selected.partial:
        return set()
    same_sources: set[CaseKey] | None = None
    for run in reversed(earlier):
        mine, theirs = _comparable(now.occasion, run.occasion)
        if mine == theirs:
            return set(run.cases)
        same = (mine.sources, mine.chips) == (theirs.sources, theirs.chips)
        if same and same_sources is None:
            targets = set(mine.targets) or now.targets
            same_sources = {key for key in run.cases if key.target in targets}
    return same_sources or set()


def _partial(now: _Recorded, earlier: Sequence[_Recorded]) -> str:
    """Describe how ``now`` selects less than the runs before it; "" if it does not."""
    wider = [run for run in earlier if now.narrower(run)]
    filters = now.occasion.selected.filters
    if not wider and not filters:
        return ""
    how = ", ".join(filters) or f"only on {', '.join(sorted(now.targets))}"
    last = (wider or earlier)[-1:]
    left_out = len({key for run in last for key in run.cases} - now.cases.keys())
    return f"partial ({how}): {count_of(left_out, 'case')} of the last whole run not compared"


def _problems(now: _Recorded, rows: Sequence[RunRow]) -> Iterator[str]:
    """Yield the problems of a run as a whole; ``rows`` were recorded before it."""
    if not any(outcome.answered for outcome in now.cases.values()):
        yield f"none of {count_of(len(now.cases), 'case')} ran"
    later = [row.occasion for row in rows if _begins_before(now.occasion, row.occasion)]
    if later:
        last = max(occasion.started for occasion in later)
        yield (
            f"it began at {_time(now.occasion.started)}, and a run recorded before it at "
            f"{_time(last)}: these are old results, or a clock is wrong"
        )


def _begins_before(now: Occasion, recorded: Occasion) -> bool:
    mine, theirs = _comparable(now, recorded)
    alike = (now.machine, now.branch, mine) == (recorded.machine, recorded.branch, theirs)
    return now.started < recorded.started - (0 if alike else _AT_ONCE)


def _comparable(one: Occasion, other: Occasion) -> tuple[Selection, Selection]:
    """The selections of two runs, from their commands if one has no other."""
    if one.selection is not None and other.selection is not None:
        return one.selection, other.selection
    return Selection.of_command(one.command), Selection.of_command(other.command)


def _widest(runs: Sequence[_Recorded]) -> list[_Recorded]:
    return [run for run in runs if not any(run.narrower(other) for other in runs)]


def _load(history: History, rows: Sequence[RunRow]) -> list[_Recorded]:
    """Load the runs of ``rows`` with their cases, without those that have none."""
    cases: dict[int, dict[CaseKey, CaseOutcome]] = {row.id: {} for row in rows}
    for key, points in history.cases(rows).items():
        for point in points:
            _add(cases[point.run.id], key, point.outcome)
    return [_Recorded(row.id, row.occasion, cases[row.id]) for row in rows if cases[row.id]]


def _given(history: History, run: Run) -> _Recorded:
    cases: dict[CaseKey, CaseOutcome] = {}
    for case in run.cases:
        figures = {(figure.name, figure.source): figure.value for figure in case.figures}
        machine = run.occasion.machine
        key = CaseKey(case.name, case.target, case.builder, case.compiler, machine, case.chip)
        _add(cases, key, CaseOutcome(case.verdict, case.reason, figures))
    return _Recorded(history.id_of(run), run.occasion, cases)


def _add(cases: dict[CaseKey, CaseOutcome], key: CaseKey, outcome: CaseOutcome) -> None:
    """Add an outcome; of a case that ran several times, keep one that did not pass."""
    if key not in cases or cases[key].verdict == "pass":
        cases[key] = outcome


def _stored(history: History, row: RunRow) -> _Recorded:
    loaded = _load(history, [row])
    if not loaded:
        raise UsageError(f"run {row.id} of {history.where} holds no case: nothing was tested")
    return loaded[0]


def _time(started: float) -> str:
    return f"{datetime.fromtimestamp(started, UTC):%Y-%m-%d %H:%M} UTC"


def _branches(runs: Sequence[RunRow]) -> str:
    return ", ".join(sorted({_name(run.occasion.branch) for run in runs})) or "none"


def _name(branch: str) -> str:
    return branch or "no branch (--base '')"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
