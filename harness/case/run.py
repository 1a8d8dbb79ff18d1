"""Run one case from image to verdict, for ``tflm-hil run``, ``hil.toml`` and Robot alike."""

from __future__ import annotations

import os
import time
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from harness import targets
from harness.base import paths
from harness.base.errors import (
    BUG_HINT,
    CannotWrite,
    EnvironmentMissing,
    HilError,
    TargetLost,
    UsageError,
    describe_bug,
    traceback_text,
)
from harness.build.first_error import first_error
from harness.case import artifacts
from harness.case.case import Case
from harness.case.contradictions import refuse_nothing_expected
from harness.case.evidence import Measured, check_evidence, known_of
from harness.case.inputs import load_inputs
from harness.case.judge import findings_of, judge
from harness.case.measure import measure, profiled, size_of
from harness.case.observe import Observation, observe
from harness.case.outputs import OutputCheck, check_outputs
from harness.case.power_on import Behaviour, first_difference, runs_of, seeds_of
from harness.case.result import (
    BudgetCheck,
    CaseResult,
    Evidence,
    Judgement,
    Measures,
    Setup,
    Verdict,
)
from harness.case.samples import as_built, elf_of
from harness.elf import Image, combined
from harness.model import Model
from harness.model.schema import IDENTIFIER
from harness.targets.base import Stop
from harness.targets.opening import TargetPools
from harness.targets.session import Session
from harness.uart.recording import Recording

if TYPE_CHECKING:
    from harness.elf.coverage import Coverage

#: Factor on the ticks that fit into a run's time: a board's crystal is not exact, and a
#: simulator's clock advances in steps.
_CLOCK_TOLERANCE = 1.01
#: Wrong models named in a reason: an image may report another one at each boot.
_MODELS_SHOWN = 3
#: Fault reports in a result; the findings list all faults.
_FAULTS_SHOWN = 3


#: Called after the run, with the session still open.
Look = Callable[[Session, Image, Stop], None]
#: Returns a result with the figures of a lab's calibration added; called before it is written.
Calibrate = Callable[[CaseResult], CaseResult]


def run_case(
    case: Case,
    output: Path,
    *,
    pools: TargetPools | None = None,
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
    how = _How(pools or TargetPools(), look, echo, trace)
    if on_error == "raise":
        return _run_case(case, output, how, calibrate)
    started = time.monotonic()
    try:
        return _run_case(case, output, how, calibrate)
    except passing:
        raise
    except HilError as error:
        reason, hint, details = error.message, error.hint, ""
    except Exception as error:
        reason, hint = describe_bug(error), BUG_HINT
        details = traceback_text() if os.environ.get("TFLM_HIL_DEBUG") else ""
    return CaseResult(
        setup_of(case),
        Judgement(Verdict.ERROR, reason, hint=hint),
        Evidence(details=details),
        Measures(wall_seconds=time.monotonic() - started),
    )


@dataclass(frozen=True)
class _How:
    """What a run shares with others, and what it shows."""

    pools: TargetPools
    look: Look | None
    echo: Callable[[bytes], None] | None
    trace: bool


def _run_case(case: Case, output: Path, how: _How, calibrate: Calibrate | None) -> CaseResult:
    started = time.monotonic()
    refuse_nothing_expected(case)
    folder = artifacts.folder(output, case.name)
    try:
        result = _run(case, folder, how)
    except (UsageError, CannotWrite):
        raise
    except HilError as error:
        reason, details = _one_line(error.message)
        judgement = Judgement(Verdict.of(error), reason, hint=error.hint)
        result = CaseResult(setup_of(case), judgement, Evidence(details=details))
    measures = replace(result.measures, wall_seconds=time.monotonic() - started)
    result = replace(result, measures=measures)
    if calibrate is not None:
        result = calibrate(result)
    artifacts.write_result(folder, result)
    return result


def setup_of(case: Case, firmware: Image | None = None) -> Setup:
    """The setup of ``case``, with the facts of ``firmware`` if it is known."""
    setup = Setup(
        case.name, case.sample, case.resolver, case.builder, case.target, power_on=seeds_of(case)
    )
    if firmware is None:
        return setup
    return replace(
        setup,
        elf=firmware.path,
        chip=firmware.chip.key,
        elf_sha256=firmware.sha256,
        compiler=firmware.compiler,
        model=case.model,
    )


def _run(case: Case, folder: Path, how: _How) -> CaseResult:
    try:
        elf = elf_of(case)
    except EnvironmentMissing as error:  # a missing compiler is an error, a missing target is not
        lacks = targets.target(case.target).lacks()
        judgement = _error(error)
        both = f"{judgement.reason}; {lacks}" if lacks else judgement.reason
        return CaseResult(setup_of(case), replace(judgement, reason=both))
    firmware = combined.read(elf, case.also_load, case.chip)
    case = as_built(case, firmware)
    model = Model.from_file(case.model) if case.model else None
    inputs = _inputs(case, model)
    with artifacts.recording(folder, how.echo) as recording:
        return _run_image(case, RunImage(firmware, model, inputs), recording, how)


def _error(error: HilError) -> Judgement:
    return Judgement(Verdict.ERROR, error.message, hint=error.hint)


@dataclass(frozen=True)
class RunImage:
    """The image of a case, its model, and the input tensors of each inference."""

    firmware: Image
    model: Model | None
    inputs: Sequence[Sequence[bytes]]


def _run_image(case: Case, image: RunImage, recording: Recording, how: _How) -> CaseResult:
    firmware, inputs = image.firmware, image.inputs
    setup = setup_of(case, firmware)

    first, *others = runs_of(case)
    behaviours: list[Behaviour] = []

    def attempt(session: Session) -> tuple[Observation, Coverage | None]:
        recording.restart()  # a run on a board may be repeated from its reset
        if how.trace:
            session.profile()
        seen = observe(session, case, inputs, recording, firmware)
        coverage = session.coverage() if how.trace else None
        if how.look is not None:
            how.look(session, firmware, seen.stop)
        if others:
            behaviours[:] = [Behaviour.of(session, seen.stop)]
        return seen, coverage

    def again(session: Session) -> None:
        seen = observe(session, case, inputs, None, firmware)
        behaviours.append(Behaviour.of(session, seen.stop))

    try:
        seen, coverage = targets.run_on_target(
            case.target, firmware, attempt, **how.pools.options(case.target, first.target_options)
        )
        for other in others:
            options = how.pools.options(case.target, other.target_options)
            targets.run_on_target(case.target, firmware, again, **options)
    except TargetLost as lost:
        return CaseResult(setup, _error(lost), measures=Measures(size=size_of(firmware)))
    seen = replace(seen, findings=(*seen.findings, *first_difference(behaviours)))
    result = judge_seen(case, setup, image, seen)
    evidence = replace(result.evidence, console=recording.path, coverage=coverage)
    measures = replace(result.measures, profiled=profiled(firmware, coverage))
    return replace(result, evidence=evidence, measures=measures)


def judge_seen(case: Case, setup: Setup, image: RunImage, seen: Observation) -> CaseResult:
    """The result of an observed run: the verdict, its evidence and the figures."""
    firmware, model, inputs = image.firmware, image.model, image.inputs
    fed = () if case.printed else inputs
    known = known_of(case, firmware, model, fed)
    contradictions = check_evidence(seen.console, known, measured_of(seen, firmware.chip.cpu_hz))
    findings = (*findings_of(seen, model, firmware), *contradictions)
    outputs = check_outputs(seen.console, case, model, known.inputs or inputs)
    measures = replace(
        measure(firmware, seen.console, case.target, model, case.builder, seen.counted),
        total_instructions=seen.counters.instructions,
        virtual_seconds=seen.counters.virtual_seconds,
    )
    budgets = _check_budgets(case, image, measures, outputs)
    judgement = judge(case, seen, findings, outputs, budgets.problems, _wrong_model(seen, model))
    if model and outputs.mismatches and not judgement.hint and _holds_another(firmware, model):
        hint = f"is {model.name} the model of this image? The image holds another one"
        judgement = replace(judgement, hint=hint)
    evidence = Evidence(
        findings=findings,
        outputs_compared=outputs.compared,
        compared_with=outputs.compared_with,
        mismatches=outputs.mismatches,
        inferences=outputs.inferences,
        tests=outputs.tests,
        details="\n\n".join([*_details(seen, outputs), *budgets.tables]),
        budgets=budgets.verdicts,
    )
    if budgets.adequacy:
        found = budgets.adequacy
        measures = replace(measures, adequacy=found.share, mistakes_missed=len(found.missed))
    return CaseResult(setup, judgement, evidence, measures)


def _check_budgets(
    case: Case, image: RunImage, measures: Measures, outputs: OutputCheck
) -> BudgetCheck:
    """Check the case's budgets of sizes and of adequacy."""
    if not case.budgets.limits and case.budgets.adequacy is None:
        return BudgetCheck()
    from harness.case.budgets import check_adequacy, check_budgets  # noqa: PLC0415 - few have them

    sizes = check_budgets(case, image.firmware, measures)
    inputs = check_adequacy(case, image.model, outputs)
    return replace(
        sizes,
        problems=(*sizes.problems, *inputs.problems),
        tables=(*sizes.tables, *inputs.tables),
        adequacy=inputs.adequacy,
    )


def _one_line(message: str) -> tuple[str, str]:
    """Split a message with a tool's output into a reason of one line, and details.

    The reason is the first line with the tool's first error, or its last line.
    """
    first, _, rest = message.partition("\n")
    cause = first_error(rest)
    return (f"{first.rstrip(' :')}: {cause}" if cause else first), rest


def _inputs(case: Case, model: Model | None) -> Sequence[Sequence[bytes]]:
    if case.input_file is None and case.vectors is None:
        return []
    if model is None:
        raise UsageError(f"case {case.name!r} has inputs but no model, which gives their shapes")
    rows = load_inputs(case.input_file, model) if case.input_file is not None else []
    more = load_inputs(case.vectors, model) if case.vectors is not None else []
    return [*(rows[: case.rows] if case.rows else rows), *more]


def measured_of(seen: Observation, hertz: int) -> Measured:
    """The measurements of a run by target and host; ``hertz`` is the core's clock.

    The run's ticks are at most its instructions, or its time at the core's clock.
    """
    counters, counted = seen.counters, seen.counted
    own = (
        counted.invoked,
        counted.stack_used,
        counted.arena_given,
        counted.arena_least,
        counted.arena_strayed,
    )
    if counters.source == "simulator":
        # Without virtual time (the virtual board) records have the wall clock's times, which the
        # simulated core may outrun.
        bound = None if counters.virtual_seconds is None else hertz
        return Measured(counters.instructions, seen.sent, *own, hertz=bound)
    seconds = (
        counters.wall_seconds if counters.virtual_seconds is None else counters.virtual_seconds
    )
    return Measured(int(seconds * hertz * _CLOCK_TOLERANCE), seen.sent, *own)


def _wrong_model(seen: Observation, model: Model | None) -> list[str]:
    """Messages about other models that the image says it runs."""
    if model is None:
        return []
    claimed = set(seen.console.records.numbers("boot", "model_crc32"))
    return [
        f"the image runs {_model_of(f'{crc:08x}')}, not {model.name} (CRC-32 {model.crc32:08x})"
        for crc in sorted(claimed - {model.crc32})[:_MODELS_SHOWN]
    ]


def _holds_another(firmware: Image, model: Model) -> bool:
    """True if the image's file has a .tflite in it, but not this one."""
    return IDENTIFIER in firmware.data and model.data not in firmware.data


def _model_of(crc: str) -> str:
    """Describe the model with this CRC-32, by its name if it is one of this project's."""
    for path in sorted(paths.models().glob("*.tflite")):
        if f"{zlib.crc32(path.read_bytes()):08x}" == crc:
            return f"{path.name} (CRC-32 {crc})"
    return f"a model with CRC-32 {crc}"


def _details(seen: Observation, outputs: OutputCheck) -> list[str]:
    """Tables and fault reports; repeated faults at one place are reported once."""
    reports: dict[tuple[str, int], str] = {}
    for fault in seen.faults:
        reports.setdefault((fault.kind, fault.pc), fault.report)
    shown = list(reports.values())[:_FAULTS_SHOWN]
    if len(seen.faults) > len(shown):
        shown.append(f"{len(seen.faults) - len(shown)} more faults")
    return [text for text in (outputs.details, *shown, seen.stacks) if text]
