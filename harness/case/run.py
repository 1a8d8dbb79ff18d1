"""Run one case from image to verdict: prepare, open and observe, measure, judge."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from harness.base.errors import (
    BUG_HINT,
    CannotWrite,
    HilError,
    Unsupported,
    UsageError,
    describe_bug,
    traceback_text,
)
from harness.base.findings import Finding, Kind
from harness.base.hints import HintText
from harness.build.first_error import first_error
from harness.case import artifacts
from harness.case.case import Case
from harness.case.contradictions import refuse_nothing_expected
from harness.case.judge import judged
from harness.case.layers import DeviceInference, compare_with_device, device_inferences
from harness.case.measure import profiled, size_of
from harness.case.observation import Observation
from harness.case.observe import observe
from harness.case.power_on import Behaviour, first_difference, runs_of
from harness.case.prepare import Prepared, prepare, setup_of
from harness.case.result import CaseResult, Evidence, Judgement, Measures, Verdict
from harness.case.trials import Trials
from harness.case.uninitialised import Uninitialised, uninitialised
from harness.case.wrong_side import WrongSide, wrong_side
from harness.elf import Image
from harness.elf.coverage import Coverage
from harness.reference import Interpreter, LayerReport
from harness.targets.base import Stop
from harness.targets.opening import Targets
from harness.targets.registry import Ability, target
from harness.targets.session import Session
from harness.uart.recording import Recording
from harness.uart.scrapers.base import Mismatch, Stated

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

    ``pools`` are shared by several runs. ``look`` is called with the session after the run,
    ``echo`` with console output during it. ``trace`` counts what runs, by function and line. A
    missing target gives the verdict *skipped*, a broken environment the verdict *error*.

    Raises :class:`UsageError` for an invalid case, :class:`CannotWrite` if its files cannot be
    written. With ``on_error="record"`` these errors, and bugs of this package, give the verdict
    *error* too, so that one of several cases does not end the others. Exceptions of the types in
    ``passing``, such as the caller's timeout, are raised in any case.
    """
    how = _How(time.monotonic(), pools or Targets(), look, echo, trace)
    try:
        return _run_case(case, output, how, calibrate)
    except Exception as error:
        if on_error == "raise" or isinstance(error, passing):
            raise
        return _timed(_failed(case, error), how.started)


#: Inferences whose tensors are read to explain outputs that differ.
_EXPLAINED = 8
#: Characters of a cause in the first line.
_LONGEST_CAUSE = 100
#: Said beside a mistake of the application.
_KERNELS_RIGHT = "the kernels are right: they compute the reference's outputs for their inputs"
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
    result = judged(prepared, watched.seen)
    unwritten = _unwritten(prepared, result, watched.seen.stop, targets)
    if unwritten is not None:
        result = _with_unwritten(result, unwritten)
    elif result.evidence.mismatches:
        explained = _explained(prepared, result, targets)
        result = _tried(prepared, result, targets) if explained is result else explained
    evidence = replace(result.evidence, console=watched.console, coverage=watched.coverage)
    measures = replace(result.measures, profiled=profiled(prepared.image, watched.coverage))
    return replace(result, evidence=evidence, measures=measures)


def _unwritten(
    prepared: Prepared, result: CaseResult, stop: Stop, targets: Targets
) -> Uninitialised | None:
    try:
        return uninitialised(prepared, result, stop, targets)
    except HilError:  # the target cannot be opened again
        return None


def _with_unwritten(result: CaseResult, unwritten: Uninitialised) -> CaseResult:
    """``result`` with what was read before it was written: first if that decides, else last."""
    text, judgement, mismatch = unwritten.text, result.judgement, result.mismatch
    finding = Finding(Kind.UNINITIALISED_MEMORY, text, "power-on")
    evidence = replace(result.evidence, findings=(*result.findings, finding))
    if unwritten.values and mismatch is not None:
        judgement = _with_cause(judgement, mismatch, text)
    elif unwritten.passes:
        reason, problems = f"{text}; {judgement.reason}", (text, *judgement.problems)
        judgement = replace(judgement, reason=reason, problems=problems)
    else:
        judgement = replace(judgement, problems=(*judgement.problems, text))
    if unwritten.passes:
        judgement = replace(judgement, problems=(*judgement.problems, unwritten.passes))
    return replace(result, judgement=judgement, evidence=evidence)


def _with_cause(judgement: Judgement, mismatch: Mismatch, cause: str) -> Judgement:
    """``judgement`` with ``cause`` in the line of values that differ."""
    old, new = str(mismatch), str(replace(mismatch, cause=cause))
    problems = tuple(one.replace(old, new, 1) for one in judgement.problems)
    return replace(judgement, reason=judgement.reason.replace(old, new, 1), problems=problems)


def _tried(prepared: Prepared, result: CaseResult, targets: Targets) -> CaseResult:
    """``result`` with the mistake of the application without which the case passes, if any."""
    from harness.case.first_nan import first_nan  # noqa: PLC0415 - only where values differ
    from harness.case.what_if import mistake  # noqa: PLC0415

    mismatch = result.mismatch
    if mismatch is None:
        return result
    try:
        found = mistake(prepared, result, targets)
        origin = first_nan(prepared, result, targets) if mismatch.special and not found else ()
    except HilError:  # the target cannot be opened again
        return result
    whole = "; ".join(origin)
    if found is not None:
        cause, *notes = found.text, found.evidence
    elif origin:
        cause, *notes = (whole,) if len(whole) <= _LONGEST_CAUSE else origin
    else:
        return result
    judgement = _with_cause(result.judgement, mismatch, cause)
    notes += filter(None, [mismatch.cause])
    judgement = replace(judgement, problems=(*judgement.problems, *notes))
    return replace(result, judgement=judgement)


def _explained(prepared: Prepared, result: CaseResult, targets: Targets) -> CaseResult:
    """``result`` with the side that is wrong, if further runs, which read tensors, show it."""
    case, mismatch = prepared.case, result.evidence.mismatch
    if mismatch is None or not target(case.target).can(Ability.STEP):
        return result
    try:
        side = _wrong_side(prepared, result, targets)
    except (HilError, Unsupported):  # stripped, another runtime, a target that cannot look
        return result
    if side is None:
        return result
    kernels = side.inference is not None
    cause = f"{side.text}: {mismatch.cause}" if kernels and mismatch.cause else side.text
    judgement = _with_cause(result.judgement, mismatch, cause)
    if not kernels:
        judgement = replace(judgement, problems=(*judgement.problems, _KERNELS_RIGHT))
    return replace(result, judgement=judgement)


def _wrong_side(prepared: Prepared, result: CaseResult, targets: Targets) -> WrongSide | None:
    """The side that is wrong, and the first operator if the kernels are."""
    case, image, model = prepared.case, prepared.image, prepared.model
    stated = result.evidence.stated
    if model is None or stated is None:
        return None
    interpreter = Interpreter.from_model(model, case.arithmetic)
    options = runs_of(case)[0].target_options
    if (prepared.inputs and not case.outputs) or case.steps or case.presses:
        return _wrong_side_while_fed(prepared, stated, interpreter, targets)

    def read(session: Session) -> list[DeviceInference]:
        deadline = session.deadline(case.timeout, guard=case.guard)
        return device_inferences(session, image, model, _EXPLAINED, deadline)

    side = wrong_side(targets.run(case.target, image, read, options), stated, interpreter, image)
    if side is None or side.inference is None:
        return side
    number = side.inference

    def compare(session: Session) -> LayerReport:
        deadline = session.deadline(case.timeout, guard=case.guard)
        return compare_with_device(
            session, image, interpreter, inference=number, deadline=deadline,
            tolerance=case.tolerance,
        )  # fmt: skip

    try:
        first = targets.run(case.target, image, compare, options).first
    except HilError:  # a model of several subgraphs
        return side
    if first is None or not first.own_fault:
        return side
    return replace(side, text=f"{first.operator} computes something else for its inputs")


def _wrong_side_while_fed(
    prepared: Prepared, stated: Stated, interpreter: Interpreter, targets: Targets
) -> WrongSide | None:
    """The side that is wrong in a run that the host takes part in; None if nothing shows it."""
    from harness.case.invoke_watch import watched_inferences  # noqa: PLC0415 - loads the simulator

    first = replace(prepared, inputs=prepared.inputs[:_EXPLAINED])
    read = watched_inferences(Trials(first, targets), interpreter.model, _EXPLAINED)
    return wrong_side(read, stated, interpreter, prepared.image)


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

    The reason is the first line with the tool's first error, or its last line.
    """
    first, _, rest = message.partition("\n")
    cause = first_error(rest)
    return (f"{first.rstrip(' :')}: {cause}" if cause else first), rest
