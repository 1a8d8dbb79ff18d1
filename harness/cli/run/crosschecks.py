"""``tflm-hil run ... --target A,B``: compares each target of a case with the first one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, TextIO

import click

from harness.case import Case
from harness.case.result import CaseResult
from harness.case.run import Look
from harness.elf import Image
from harness.targets import Session, Stop

if TYPE_CHECKING:
    from harness.case.crosscheck import CrossCheck, TargetRun


class CrossChecks:
    """Collects results while cases run; then compares each target with the first of its case."""

    def __init__(self, cases: Sequence[Case], symbols: Sequence[str] = ()) -> None:
        self._symbols = tuple(symbols) or None
        self._targets: dict[str, list[str]] = {}
        for case in cases:
            targets = self._targets.setdefault(case.name, [])
            if case.target not in targets:  # a target is not compared with itself
                targets.append(case.target)
        self._seen: dict[tuple[str, str], TargetRun] = {}

    @property
    def wanted(self) -> bool:
        """True if a case runs on more than one target."""
        return any(len(targets) > 1 for targets in self._targets.values())

    def look(self, case: Case) -> Look | None:
        """A function for :func:`run_case` to call while the session of ``case`` is still open."""
        if len(self._targets[case.name]) < 2:
            return None
        from harness.case import crosscheck  # noqa: PLC0415 - most runs have one target

        def look(session: Session, firmware: Image, stop: Stop) -> None:
            self._seen[case.name, case.target] = crosscheck.collect(
                session, firmware, stop, self._symbols
            )

        return look

    def note(self, result: CaseResult) -> None:
        """Keeps the verdict of a case that has run."""
        key = result.setup.name, result.setup.target
        if key in self._seen:
            verdict = str(result.judgement.verdict)
            self._seen[key] = replace(self._seen[key], verdict=verdict)

    def results(self) -> Iterator[tuple[str, CrossCheck]]:
        """Case names and comparisons, for the cases that ran on both targets."""
        if not self.wanted:
            return
        from harness.case import crosscheck  # noqa: PLC0415 - most runs have one target

        for name, (first, *others) in self._targets.items():
            for other in others:
                pair = self._seen.get((name, first)), self._seen.get((name, other))
                if pair[0] and pair[1]:
                    yield name, crosscheck.compare(pair[0], pair[1])

    def missing(self) -> Iterator[str]:
        """A line for each comparison that was not possible."""
        for name, (first, *others) in self._targets.items():
            for other in others:
                absent = [target for target in (first, other) if (name, target) not in self._seen]
                if absent:
                    yield f"{name}: {first} and {other} not compared: no run on {absent[0]}"

    @property
    def differ(self) -> bool:
        """True if two targets differ."""
        return any(not result.equal for _, result in self.results())

    @property
    def untested(self) -> str:
        """The reason why objects of ``--symbol`` were not compared, "" if there is none."""
        if not self._symbols:
            return ""
        first = next(self.missing(), "")
        blind = [
            seen.target
            for _, result in self.results()
            for seen in (result.first, result.second)
            if not seen.symbols
        ]
        if first or not blind:
            return first
        return f"the memory of {blind[0]} cannot be read, so --symbol compared nothing"

    def show(self, stream: TextIO) -> None:
        """Prints all comparisons, and the pairs that could not be compared."""
        for name, result in self.results():
            click.echo(f"{name}: {result}", file=stream)
        for line in self.missing():
            click.echo(line, file=stream)

    def to_json(self) -> list[dict[str, object]]:
        """The comparisons as JSON types."""
        return [{"name": name, **result.to_json()} for name, result in self.results()]
