"""The cause in the first line of a verdict, from further runs in a fixed order.

Whether RAM that was never written decides, which side is wrong, which mistake undone lets the case
pass, where the first NaN comes from.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from harness.base.errors import HilError, Unsupported
from harness.base.findings import Finding, Kind
from harness.case.further_runs.trials import Trials
from harness.case.further_runs.uninitialised import Uninitialised, uninitialised
from harness.case.further_runs.wrong_side import WrongSide, wrong_side
from harness.case.layers import DeviceInference, compare_with_device, device_inferences
from harness.case.power_on import runs_of
from harness.case.prepare import Prepared
from harness.case.result import CaseResult
from harness.reference import Interpreter, LayerReport
from harness.targets.base import Stop
from harness.targets.opening import Targets
from harness.targets.registry import Ability, target
from harness.targets.session import Session
from harness.uart.scrapers.base import Stated

#: Inferences whose tensors are read to explain outputs that differ: so many, or up to the first
#: that differs.
_EXPLAINED, _MOST_EXPLAINED = 8, 200
#: Characters of a cause in the first line.
_LONGEST_CAUSE = 100
#: Said beside a mistake of the application.
_KERNELS_RIGHT = "the kernels are right: they compute the reference's outputs for their inputs"


def with_cause(prepared: Prepared, result: CaseResult, stop: Stop, targets: Targets) -> CaseResult:
    """``result`` of a run that ended with ``stop``, with what further runs show of its cause."""
    unwritten = _unwritten(prepared, result, stop, targets)
    if unwritten is not None:
        return _with_unwritten(result, unwritten)
    if not result.evidence.mismatches:
        return result
    explained = _explained(prepared, result, targets)
    return _tried(prepared, result, targets) if explained is result else explained


def _unwritten(
    prepared: Prepared, result: CaseResult, stop: Stop, targets: Targets
) -> Uninitialised | None:
    try:
        return uninitialised(prepared, result, stop, targets)
    except HilError:  # the target cannot be opened again
        return None


def _with_unwritten(result: CaseResult, unwritten: Uninitialised) -> CaseResult:
    """``result`` with what was read before it was written: first if that decides, else last."""
    text, judgement = unwritten.text, result.judgement
    finding = Finding(Kind.UNINITIALISED_MEMORY, text, "power-on")
    evidence = replace(result.evidence, findings=(*result.findings, finding))
    result = replace(result, evidence=evidence)
    if unwritten.values:
        return _with_cause(result, text, notes=(unwritten.passes,))
    problems = (*judgement.problems, text)
    reason = judgement.reason
    if unwritten.passes:
        reason = f"{text}; {reason}"
        problems = (text, *judgement.problems, unwritten.passes)
    return replace(result, judgement=replace(judgement, reason=reason, problems=problems))


def _with_cause(
    result: CaseResult, cause: str, beside: str = "", notes: Sequence[str] = ()
) -> CaseResult:
    """``result`` with ``cause`` in the line of values that differ, and ``notes`` at the end.

    ``beside`` goes into that line if it is short enough, or is the first note.
    """
    mismatch, judgement = result.mismatch, result.judgement
    assert mismatch is not None
    whole = f"{cause}; {beside}" if beside else cause
    if len(whole) > _LONGEST_CAUSE:
        whole, notes = cause, (beside, *notes)
    old, new = str(mismatch), str(replace(mismatch, cause=whole))
    problems = [one.replace(old, new, 1) for one in judgement.problems]
    problems += filter(None, notes)
    reason = judgement.reason.replace(old, new, 1)
    return replace(result, judgement=replace(judgement, reason=reason, problems=tuple(problems)))


def _tried(prepared: Prepared, result: CaseResult, targets: Targets) -> CaseResult:
    """``result`` with the mistake of the application without which the case passes, if any."""
    from harness.case.further_runs.first_nan import first_nan  # noqa: PLC0415 - only where values differ
    from harness.case.further_runs.what_if import mistake  # noqa: PLC0415

    mismatch = result.mismatch
    if mismatch is None:
        return result
    try:
        found = mistake(prepared, result, targets)
        origin = first_nan(prepared, result, targets) if mismatch.special and not found else ()
    except HilError:  # the target cannot be opened again
        return result
    if found is not None:
        return _with_cause(result, found.text, notes=(found.evidence, mismatch.cause))
    if not origin:
        return result
    cause, *before = origin
    return _with_cause(result, cause, *before)


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
    if side.inference is not None:
        return _with_cause(result, side.text, mismatch.cause)
    return _with_cause(result, side.text, notes=(_KERNELS_RIGHT,))


def _wrong_side(prepared: Prepared, result: CaseResult, targets: Targets) -> WrongSide | None:
    """The side that is wrong, and the first operator if the kernels are."""
    case, image, model = prepared.case, prepared.image, prepared.model
    stated = result.evidence.stated
    if model is None or stated is None:
        return None
    interpreter = Interpreter.from_model(model, case.arithmetic)
    options = runs_of(case)[0].target_options
    count = _count(result)
    if prepared.hosted:
        return _wrong_side_while_fed(prepared, stated, interpreter, targets, count)

    def read(session: Session) -> list[DeviceInference]:
        deadline = session.deadline(case.timeout, guard=case.guard)
        return device_inferences(session, image, model, count, deadline)

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


def _count(result: CaseResult) -> int:
    """The number of inferences to read."""
    rows = () if result.mismatch is None else result.mismatch.rows
    first = min(rows, default=0) + 1
    return max(_EXPLAINED, first) if first <= _MOST_EXPLAINED else _EXPLAINED


def _wrong_side_while_fed(
    prepared: Prepared, stated: Stated, interpreter: Interpreter, targets: Targets, count: int
) -> WrongSide | None:
    """The side that is wrong in a run that the host takes part in; None if nothing shows it."""
    from harness.case.further_runs.invoke_watch import watched_inferences  # noqa: PLC0415 - loads the simulator

    first = replace(prepared, inputs=prepared.inputs[:count])
    read = watched_inferences(Trials(first, targets), interpreter.model, count)
    return wrong_side(read, stated, interpreter, prepared.image)
