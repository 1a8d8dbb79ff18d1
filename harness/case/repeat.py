"""Several runs of one case: equal runs whose verdicts differ are flaky."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from harness.base import files
from harness.base.text import differing_line
from harness.case.result import CaseResult, Verdict

#: Bytes of a console that are compared with those of another run.
_COMPARED = 4 << 20


@dataclass(frozen=True)
class CaseRun:
    """One run: its result, and its console, whose file the next run replaces."""

    result: CaseResult
    console: bytes

    @classmethod
    def of(cls, result: CaseResult) -> CaseRun:
        """The run of ``result``, whose console is read."""
        path = result.evidence.console
        if path is None or not files.is_file(path):
            return cls(result, b"")
        with path.open("rb") as file:
            return cls(result, file.read(_COMPARED))


def of_repeated(runs: Sequence[CaseRun], repeat: int) -> CaseResult:
    """The result of ``repeat`` runs: the last one, or the first that did not pass.

    Verdicts that differ are *flaky*, with what differed first.
    """
    results = [run.result for run in runs]
    if repeat == 1:
        return results[0]
    verdicts = {result.judgement.verdict for result in results}
    failed = next((run for run in runs if not run.result.passed), None)
    if failed is None:
        judgement = results[-1].judgement
        reason = f"{judgement.reason} in each of {repeat} runs"
        return replace(results[-1], judgement=replace(judgement, reason=reason))
    judgement = failed.result.judgement
    if len(verdicts) == 1 or judgement.verdict in (Verdict.SKIPPED, Verdict.ERROR, Verdict.USAGE):
        return failed.result
    other = next(run for run in runs if run.result.judgement.verdict != judgement.verdict)
    passed = sum(result.passed for result in results)
    reason = f"passed {passed} of {len(runs)} runs; {_difference(other, failed)}"
    problems = (f"{reason}: {judgement.reason}", *judgement.problems)
    judgement = replace(
        judgement, verdict=Verdict.FLAKY, reason=f"{reason}: {judgement.reason}", problems=problems
    )
    return replace(failed.result, judgement=judgement)


def _difference(one: CaseRun, other: CaseRun) -> str:
    """What differed first between two runs: a line of their consoles, else their verdicts."""
    if (line := differing_line(one.console, other.console)) is not None:
        number, text, again = line
        return f"line {number} is {text} in one and {again} in another"
    first, second = one.result.judgement.verdict, other.result.judgement.verdict
    return f"their consoles are equal, one is {first} and another {second}"
