"""The verdict on a run: from a case and an observation to verdict, reason and hint."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Sequence
from dataclasses import replace

from harness.base import paths
from harness.base.findings import FATAL, Finding, Kind, in_order
from harness.base.hints import Hint, HintText, for_findings
from harness.base.platforms import ChipTable
from harness.base.text import count_of
from harness.case.case import SYSTEM_OFF, Case
from harness.case.causes import in_sequence, with_reasons
from harness.case.effects import JudgedRun, as_reason, without_effect
from harness.case.endings import hung
from harness.case.evidence import check_evidence, known_of
from harness.case.float_printing import missing_floats
from harness.case.hang import Hang, explain_hang, how_it_ended
from harness.case.measure import measure, with_bounds
from harness.case.observation import Observation
from harness.case.outputs import OutputCheck, check_outputs, coverage_of_text
from harness.case.prepare import Prepared
from harness.case.result import (
    BudgetCheck,
    CaseResult,
    Evidence,
    Judgement,
    Measures,
    Verdict,
)
from harness.elf.models import Held, HeldModel, another_given, embedded_models, held_model
from harness.model import Model
from harness.model.refusals import refusals
from harness.targets.base import Stop

#: Problems listed in a result; the others are counted.
MOST_PROBLEMS = 50
#: Characters shown of one problem.
_LONGEST = 400
#: Wrong models named in a reason: an image may report another one at each boot.
_MODELS_SHOWN = 3
#: Fault reports in a result; the findings list all faults.
_FAULTS_SHOWN = 3


def judged(prepared: Prepared, seen: Observation) -> CaseResult:
    """Check all that was seen: the verdict, its evidence and the figures."""
    case, image, model = prepared.case, prepared.image, prepared.model
    known = known_of(case, image, model, () if case.printed else prepared.inputs)
    measured, measures = with_bounds(seen, image.chip.cpu_hz), measure(case, image, model, seen)
    outputs = check_outputs(seen.console, case, model, known.inputs or prepared.inputs)
    records = check_evidence(seen.console, known, measured)
    findings = _all_findings(prepared, seen, records, outputs)
    budgets = _check_budgets(prepared, measures, outputs)
    read = coverage_of_text(seen.console, case)
    held = held_model(image, model) if model is not None else None
    wrong_model = (
        _wrong_model(seen, model)
        or _wrong_copy(held, outputs)
        or _wrong_given(prepared, seen, outputs)
    )
    if held is not None and held.text and not wrong_model:
        findings = (*findings, Finding(Kind.MODEL_UNKNOWN, held.text, "model"))
    unread = [read.problem] if read and read.problem and case.expect.unread == "none" else []
    others = (*unread, *budgets.problems)
    judgement = judge(case, seen, findings, outputs, others, wrong_model, chip=image.chip)
    if judgement.verdict is Verdict.PASS and read is not None and read.numbers:
        judgement = replace(judgement, reason=f"{judgement.reason}; {read} on the console")
    if not wrong_model:
        judgement = _with_refusal(judgement, prepared, outputs)
        judgement = _with_layouts(judgement, prepared, outputs)
    judgement = _without_unused(judgement, JudgedRun(case, seen, outputs))
    if case.count_replaced and case.wants_outputs:
        judgement = _with_count(judgement, case, outputs)
    evidence = Evidence(
        findings=findings,
        outputs_compared=outputs.compared,
        compared_with=outputs.compared_with,
        mismatches=outputs.mismatches,
        inferences=outputs.inferences,
        tests=outputs.tests,
        details="\n\n".join([*_details(seen, outputs), *budgets.tables]),
        budgets=budgets.verdicts,
        stated=outputs.stated,
        mismatch=None if wrong_model else outputs.mismatch,
        read=read,
        numbers_checked=read.checked if read is not None and read.numbers else None,
        listing=outputs.listing,
    )
    if found := budgets.adequacy:
        measures = replace(measures, adequacy=found.share, mistakes_missed=len(found.missed))
    return CaseResult(prepared.setup, judgement, evidence, measures)


def _with_refusal(judgement: Judgement, prepared: Prepared, outputs: OutputCheck) -> Judgement:
    """``judgement``, first what tflite-micro refuses in the model, for a run without outputs."""
    if judgement.verdict is Verdict.PASS or outputs.inferences:
        return judgement
    models = embedded_models(prepared.image) if prepared.model is None else [prepared.model]
    first = next((refusal for model in models for refusal in refusals(model)), None)
    if first is None:
        return judgement
    return _led_by(first.message, Hint.CONVERT_MODEL.told(remedy=first.remedy), judgement)


def _with_layouts(judgement: Judgement, prepared: Prepared, outputs: OutputCheck) -> Judgement:
    """``judgement``, first a structure that files lay out differently, for values that differ."""
    if judgement.verdict is Verdict.PASS or not outputs.mismatches:
        return judgement
    from harness.elf.layouts import two_layouts  # noqa: PLC0415 - reads debug information

    found = next(iter(two_layouts(prepared.image)), None)
    if found is None:
        return judgement
    return _led_by(str(found), Hint.ONE_LAYOUT.told(), judgement)


def _led_by(cause: str, hint: HintText, judgement: Judgement) -> Judgement:
    """``judgement`` with ``cause`` as its first problem."""
    reason, problems = f"{cause}; {judgement.reason}", (cause, *judgement.problems)
    return replace(judgement, reason=reason, problems=problems, hint=hint)


def _all_findings(
    prepared: Prepared, seen: Observation, records: Iterable[Finding], outputs: OutputCheck
) -> tuple[Finding, ...]:
    """The findings of console, target and ``records``, in the order of time."""
    image = prepared.image
    told = with_reasons(seen.findings(prepared.model, image), seen.console)
    if outputs.problem or outputs.inferences < prepared.case.least_results:
        floats = missing_floats(seen.console, image)
        told = told if floats is None else [floats, *told]
    return tuple(in_order([*told, *map(seen.console.timed, records)]))


def _without_unused(judgement: Judgement, run: JudgedRun) -> Judgement:
    """``judgement``; no pass with keys that had no effect, and a note of them beside a failure."""
    unused = without_effect(run)
    if not unused:
        return judgement
    if judgement.verdict is not Verdict.PASS:
        notes = tuple(f"note: {one}" for one in unused)
        return replace(judgement, problems=(*judgement.problems, *notes))
    return Judgement(Verdict.USAGE, as_reason(unused), tuple(unused), Hint.DROP_KEY.told())


def _with_count(judgement: Judgement, case: Case, outputs: OutputCheck) -> Judgement:
    """``judgement`` with how many results came, and which number of a file did not count."""
    counts = f"{count_of(outputs.inferences, 'result')} came and {case.inferences} were asked for"
    told = f"{counts}: {case.count_replaced}"
    if judgement.verdict is Verdict.PASS:
        return replace(judgement, reason=f"{judgement.reason}; {told}")
    return replace(judgement, problems=(*judgement.problems, f"note: {told}"))


def _check_budgets(prepared: Prepared, measures: Measures, outputs: OutputCheck) -> BudgetCheck:
    """Check the case's budgets of sizes and of adequacy."""
    case = prepared.case
    if not case.budgets.limits and case.budgets.adequacy is None:
        return BudgetCheck()
    from harness.case.budgets import check_adequacy, check_budgets  # noqa: PLC0415 - few have them

    sizes = check_budgets(case, prepared.image, measures)
    inputs = check_adequacy(case, prepared.model, outputs)
    return replace(
        sizes,
        problems=(*sizes.problems, *inputs.problems),
        tables=(*sizes.tables, *inputs.tables),
        adequacy=inputs.adequacy,
    )


def judge(
    case: Case,
    seen: Observation,
    findings: Sequence[Finding],
    outputs: OutputCheck,
    others: Sequence[str] = (),
    wrong_model: Sequence[str] = (),
    *,
    chip: ChipTable,
) -> Judgement:
    """Judge whether a run met the case's expectations.

    ``others`` are problems with budgets and unread text. ``wrong_model`` are messages that the
    image runs another model than the case's. They come first in every reason, because the other
    problems may follow from it. ``chip`` is the image's.
    """
    expected = case.expect
    unexpected = expected.unexpected(findings)
    missing = expected.unmet(findings)
    remedy = for_findings(in_order(unexpected), chip.area("ram").size)
    if any(finding.kind in FATAL for finding in unexpected):
        messages = [*in_sequence(unexpected), *missing]
        return _negative(Verdict.FIRMWARE, wrong_model, messages, remedy)
    if hung(seen, missing):
        missed = [seen.missed_step] if seen.missed_step else []
        wrong = [outputs.problem] if outputs.mismatches else []
        also = [*missed, *missing, *wrong, *others]
        hang = explain_hang(case, seen, outputs, chip)
        return _unfinished(hang, seen, unexpected, also, wrong_model, remedy)
    problems = [*in_sequence(unexpected), *missing]
    if case.wants_outputs or _told_by_tests(case, outputs):
        problems += _output_problems(case, outputs)
    elif outputs.inferences:
        count = count_of(outputs.inferences, "inference")
        problems.append(f"{count} gave outputs, none is expected")
    if case.end == SYSTEM_OFF and not (seen.at_rest and seen.at_rest.off):
        instead = how_it_ended(seen.stop, seen.at_rest, chip)
        problems.append(f"the image should switch the chip off, but {instead}")
    problems += [seen.missed_step] if seen.missed_step else []
    problems += others
    if problems or wrong_model:
        return _negative(Verdict.FAIL, wrong_model, problems, remedy or outputs.hint)
    return Judgement(Verdict.PASS, _reason_of_pass(case, outputs))


def _negative(
    verdict: Verdict, wrong_model: Sequence[str], problems: Sequence[str], hint: HintText
) -> Judgement:
    """A judgement whose reason is the first problem, after the wrong models."""
    hint = Hint.NAME_MODEL.told() if wrong_model else hint
    rest = list(dict.fromkeys(map(_one_line, problems)))
    more = f" (and {len(rest) - 1:,} more)" if len(rest) > 1 else ""
    reason = "; ".join([*wrong_model, *rest[:1]]) + more
    if len(rest) > MOST_PROBLEMS:
        rest[MOST_PROBLEMS:] = [f"and {len(rest) - MOST_PROBLEMS:,} more"]
    return Judgement(verdict, reason, (*wrong_model, *rest), hint)


def _one_line(problem: str) -> str:
    """Convert ``problem``, which may contain a device's text, to a line of bounded length."""
    line = " ".join(problem.split())
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]}..."


def _unfinished(
    hang: Hang,
    seen: Observation,
    unexpected: Sequence[Finding],
    others: Sequence[str],
    wrong_model: Sequence[str],
    remedy: HintText,
) -> Judgement:
    """Judge an image that did not end: by its own findings, or else as hung.

    One that printed nothing is the firmware's failure, whatever was found; the finding says why.
    """
    # A missing end record is implied by "unfinished" and not a separate problem.
    messages = in_sequence(one for one in unexpected if one.kind is not Kind.RECORD_TRUNCATED)
    rest = [hang.reason, *hang.others, *others]
    if hang.unread:
        problems = [*messages, hang.unread, *rest]
        return _negative(Verdict.FAIL, wrong_model, problems, hang.read_hint)
    silent = not seen.console.size
    if messages and seen.stop is Stop.CONDITION and not silent:
        return _negative(Verdict.FAIL, wrong_model, [*messages, *others], remedy)
    if messages:
        verdict = Verdict.FIRMWARE if silent else Verdict.FAIL
        problems = [*messages, *hang.causes, *rest]
        return _negative(verdict, wrong_model, problems, remedy or hang.time_hint)
    hint = hang.read_hint or hang.time_hint
    return _negative(Verdict.FIRMWARE, wrong_model, [*hang.causes, *rest], hint)


def _output_problems(case: Case, outputs: OutputCheck) -> list[str]:
    if outputs.problem:
        return [outputs.problem]
    if outputs.inferences < case.least_results:
        return [
            f"{count_of(outputs.inferences, 'inference')} came, "
            f"at least {case.least_results} are expected"
        ]
    if not outputs.compared:
        return ["no output was compared"]
    return []


def _told_by_tests(case: Case, outputs: OutputCheck) -> bool:
    """Whether tests ran although the case expects a finding that often leaves no outputs."""
    return bool(outputs.tests) and case.expect.outputs is None


def _reason_of_pass(case: Case, outputs: OutputCheck) -> str:
    wanted = case.wants_outputs or _told_by_tests(case, outputs)
    if not wanted and not case.expect.findings:
        return "no outputs, as expected"
    if not wanted:
        return "refused as expected: " + ", ".join(
            f"{kind} {subject}".strip() for kind, subject in case.expect.findings
        )
    if outputs.pass_reason:
        return outputs.pass_reason
    how = "equal" if case.tolerance is None else "within tolerance"
    values = count_of(outputs.compared, "value")
    return f"{values} of {count_of(outputs.inferences, 'inference')} {how}"


def _wrong_model(seen: Observation, model: Model | None) -> list[str]:
    """Messages about other models that the image says it runs."""
    if model is None:
        return []
    claimed = set(seen.console.records.numbers("boot", "model_crc32"))
    return [
        f"the image runs {_model_of(f'{crc:08x}')}, not {model.name} (CRC-32 {model.crc32:08x})"
        for crc in sorted(claimed - {model.crc32})[:_MODELS_SHOWN]
    ]


def _wrong_copy(held: HeldModel | None, outputs: OutputCheck) -> list[str]:
    """A message about the model in the image, if it is another one than the case's.

    An image may get its model at run time, and hold another one: its outputs show that.
    """
    if held is None or held.held in (Held.MODEL, Held.NOTHING):
        return []
    right = bool(outputs.compared) and not outputs.mismatches and not outputs.problem
    return [] if held.held is Held.ANOTHER and right else [held.text]


def _wrong_given(prepared: Prepared, seen: Observation, outputs: OutputCheck) -> list[str]:
    """A message about the model that interpreters got, if the image holds the case's, too."""
    model, right = prepared.model, outputs.compared and not outputs.mismatches
    if model is None or not seen.models or (right and not outputs.problem):
        return []
    text = another_given(prepared.image, seen.models, model)
    return [text] if text else []


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
