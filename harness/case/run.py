"""Run one case from image to verdict: prepare, open and observe, measure, judge."""

from __future__ import annotations

import os
import textwrap
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from harness.base.errors import (
    BUG_HINT,
    CannotWrite,
    HilError,
    UsageError,
    describe_bug,
    traceback_text,
)
from harness.base.hints import HintText
from harness.build.first_error import first_error
from harness.case import artifacts
from harness.case.case import Case
from harness.case.contradictions import refuse_nothing_expected
from harness.case.further_runs import with_cause
from harness.case.judge import judged
from harness.case.measure import profiled, size_of
from harness.case.observation import Observation
from harness.case.observe import observe
from harness.case.power_on import Behaviour, first_difference, runs_of
from harness.case.prepare import Prepared, prepare, setup_of
from harness.case.result import CaseResult, Evidence, Judgement, Measures, Verdict
from harness.elf import Image
from harness.elf.coverage import Coverage
from harness.targets.base import Stop
from harness.targets.opening import Targets
from harness.targets.session import Session
from harness.uart.recording import Recording

#: Called after the run, with the session still open.
Look = Callable[[Session, Image, Stop], None]
#: Returns a result with the figures of a lab's calibration added; called before it is written.
Calibrate = Callable[[CaseResult], CaseResult]


def run_case(
    case: Case,
    output: Path,
    *,
    pools: Targets | None = None,
    look: Look | None = None,
    calibrate: Calibrate | None = None,
    echo: Callable[[bytes], None] | None = None,
    trace: bool = False,
    on_error: Literal["raise", "record"] = "raise",
    passing: tuple[type[Exception], ...] = (),
) -> CaseResult:
    """Build or read the image, run and judge it, and write the case's files below ``output``.

    ``pools`` are shared by several runs; without them the run has its own, and ends what they
    started. ``look`` is called with the session after the run,
    ``echo`` with console output during it. ``trace`` counts what runs, by function and line. A
    missing target gives the verdict *skipped*, a broken environment the verdict *error*.

    Raises :class:`UsageError` for an invalid case, :class:`CannotWrite` if its files cannot be
    written. With ``on_error="record"`` these errors, and bugs of this package, give the verdict
    *error* too, so that one of several cases does not end the others. Exceptions of the types in
    ``passing``, such as the caller's timeout, are raised in any case.
    """
    with ExitStack() as own:
        shared = pools or own.enter_context(Targets())
        how = _How(time.monotonic(), shared, look, echo, trace)
        try:
            return _run_case(case, output, how, calibrate)
        except Exception as error:
            if on_error == "raise" or isinstance(error, passing):
                raise
            return _timed(_failed(case, error), how.started)


#: Errors of the caller, not of the run.
_CALLERS = (UsageError, CannotWrite)


@dataclass(frozen=True)
class _How:
    """What a run shares with others, when it began, and what it shows."""

    started: float
    targets: Targets
    look: Look | None
    echo: Callable[[bytes], None] | None
    trace: bool


def _run_case(case: Case, output: Path, how: _How, calibrate: Calibrate | None) -> CaseResult:
    refuse_nothing_expected(case)
    folder = artifacts.folder(output, case.name)
    prepared: Prepared | None = None
    try:
        prepared = prepare(case)
        with artifacts.recording(folder, how.echo) as recording:
            result = _result(prepared, _watch(prepared, recording, how), how.targets)
    except _CALLERS:
        raise
    except HilError as error:
        result = _failed(case, error, prepared)
    result = _timed(result, how.started)
    if calibrate is not None:
        result = calibrate(result)
    artifacts.write_result(folder, result)
    return result


@dataclass(frozen=True)
class _Watched:
    """What was seen of the runs of a case."""

    seen: Observation
    console: Path | None
    coverage: Coverage | None


def _watch(prepared: Prepared, recording: Recording, how: _How) -> _Watched:
    """Open the target and observe the image: twice if memory at power-on must not matter."""
    case, image = prepared.case, prepared.image
    first, *others = runs_of(case)
    behaviours: list[Behaviour] = []

    def attempt(session: Session) -> tuple[Observation, Coverage | None]:
        recording.restart()  # a run on a board may be repeated from its reset
        if how.trace:
            session.profile()
        seen = observe(session, case, prepared.inputs, recording, image)
        coverage = session.coverage() if how.trace else None
        if how.look is not None:
            how.look(session, image, seen.stop)
        behaviours[:] = [Behaviour.of(session, seen.stop)] if others else []
        return seen, coverage

    def again(session: Session) -> None:
        seen = observe(session, case, prepared.inputs, None, image)
        behaviours.append(Behaviour.of(session, seen.stop))

    seen, coverage = how.targets.run(case.target, image, attempt, first.target_options)
    for other in others:
        how.targets.run(case.target, image, again, other.target_options)
    findings = (*seen.target_findings, *first_difference(behaviours))
    return _Watched(replace(seen, target_findings=findings), recording.path, coverage)


def _result(prepared: Prepared, watched: _Watched, targets: Targets) -> CaseResult:
    """Measure and judge what was seen."""
    result = with_cause(prepared, judged(prepared, watched.seen), watched.seen.stop, targets)
    evidence = replace(result.evidence, console=watched.console, coverage=watched.coverage)
    measures = replace(result.measures, profiled=profiled(prepared.image, watched.coverage))
    return replace(result, evidence=evidence, measures=measures)


def _failed(case: Case, error: Exception, prepared: Prepared | None = None) -> CaseResult:
    """The result of a case that an error has ended: the one place where errors become verdicts."""
    if isinstance(error, HilError):
        reason, details = _one_line(error.message)
        judgement = Judgement(Verdict.of(error), reason, hint=HintText(error.hint))
    else:
        details = traceback_text() if os.environ.get("TFLM_HIL_DEBUG") else ""
        judgement = Judgement(Verdict.ERROR, describe_bug(error), hint=HintText(BUG_HINT))
    if prepared is None or judgement.verdict is Verdict.SKIPPED:
        return CaseResult(setup_of(case), judgement, Evidence(details=details))
    measures = Measures(size=size_of(prepared.image))
    return CaseResult(prepared.setup, judgement, Evidence(details=details), measures)


def _timed(result: CaseResult, started: float) -> CaseResult:
    measures = replace(result.measures, wall_seconds=time.monotonic() - started)
    return replace(result, measures=measures)


def _one_line(message: str) -> tuple[str, str]:
    """Split a message with a tool's output into a reason of one line, and details.

    The reason is the first line with the tool's first error, or its last line, unless the first
    line is that error.
    """
    first, _, rest = message.partition("\n")
    if first_error(textwrap.dedent(rest)) == first:
        return first, rest
    cause = first_error(rest)
    return (f"{first.rstrip(' :')}: {cause}" if cause else first), rest
