"""Keys of a case that had no effect on its run: a pass would claim what nothing has checked.

A key has an effect if a check, or the target's set-up, used its value in a decision; a limit counts
as used. Keys that a layer for several cases wrote ([defaults], the environment, a door that runs
several cases) may be for another case.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from harness.base.text import count_of, short
from harness.case.case import Case
from harness.case.observation import Observation
from harness.case.outputs import OutputCheck
from harness.targets.registry import target
from harness.uart.scrapers.base import RANGES, REFERENCE


@dataclass(frozen=True)
class JudgedRun:
    """A run, as the rules see it."""

    case: Case
    seen: Observation
    outputs: OutputCheck

    @property
    def lacks_results(self) -> bool:
        """Whether results are expected and none came: then nothing could be compared."""
        return self.case.wants_outputs and not self.outputs.inferences

    @property
    def compares_with_reference(self) -> bool:
        """Whether an output was compared with the model's reference."""
        return REFERENCE in self.outputs.compared_with


def without_effect(run: JudgedRun) -> list[str]:
    """A sentence for each key that somebody wrote for this case and that had no effect."""
    written = run.case.written
    return [
        f"`{key}` is not used: {reason}"
        for key, rule in _RULES.items()
        if key in written
        for reason in rule(run)
    ]


def _model(run: JudgedRun) -> Iterator[str]:
    case = run.case
    needed = not case.wants_outputs or case.budgets.adequacy is not None
    if needed or run.lacks_results or run.compares_with_reference or run.seen.console.records:
        return
    if case.reference == "none":
        yield 'reference = "none" compares nothing with it'
    elif case.scraper:
        yield f"the scraper {short(case.scraper_text)} reads no tensors"


def _comparison(run: JudgedRun) -> Iterator[str]:
    if not run.compares_with_reference and not run.lacks_results:
        yield "no output was compared with the reference"


def _tolerance(run: JudgedRun) -> Iterator[str]:
    if not run.outputs.compared and not run.lacks_results:
        yield "no number was compared"
    elif run.outputs.compared_with == RANGES:
        yield "only ranges were compared"


def _inferences(run: JudgedRun) -> Iterator[str]:
    if not run.case.wants_outputs:
        yield "no outputs are expected"


def _rows(run: JudgedRun) -> Iterator[str]:
    if run.case.input_file is None:
        yield "it limits the rows of `inputs`, and the case names no file of inputs"


def _inputs(run: JudgedRun) -> Iterator[str]:
    if run.case.input_file is not None and run.seen.sent is None and not run.case.outputs:
        yield "nothing was sent to the image"


def _baseline(run: JudgedRun) -> Iterator[str]:
    if not any(budget.relative for budget in run.case.budgets.limits):
        yield "no budget is a step from it"


def _press(run: JudgedRun) -> Iterator[str]:
    seconds = run.seen.counters.virtual_seconds
    end = "the run ended before" if seconds is None else f"the run ended at {seconds:.3g} s"
    for number in run.seen.not_pressed:
        yield f"{run.case.press[number]}: {end}"


def _expect(run: JudgedRun) -> Iterator[str]:
    case = run.case
    for name, given in (("values", case.expect.values), ("tests", case.expect.tests)):
        if given and not case.scraper:
            yield f"{name} are of a scraper's results, and the case has none"
    for name, text in (("unread", case.expect.unread == "none"), ("ignored", case.expect.ignored)):
        if text and not case.reads_text:
            yield f"{name} is about text, and the case reads none"
    if case.expect.tests and case.scraper and not run.outputs.tests:
        yield f"the scraper {short(case.scraper_text)} reads no tests"


def _start(run: JudgedRun) -> Iterator[str]:
    if target(run.case.target).option("start") is None:
        yield f"{run.case.target} starts where the chip looks"


_RULES: dict[str, Callable[[JudgedRun], Iterator[str]]] = {
    "model": _model,
    "inputs": _inputs,
    "rows": _rows,
    "vectors": _inputs,
    "inferences": _inferences,
    "rounding": _comparison,
    "multipliers": _comparison,
    "tolerance": _tolerance,
    "expect": _expect,
    "baseline": _baseline,
    "press": _press,
    "start": _start,
}


def as_reason(unused: list[str]) -> str:
    """One line of all sentences."""
    more = f" (and {count_of(len(unused) - 1, 'other key')})" if len(unused) > 1 else ""
    return unused[0] + more
