"""The verdict on a run: from a case and an observation to verdict, reason and hint."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from harness.base.findings import FATAL, Finding, Kind
from harness.base.text import count_of
from harness.case.case import SYSTEM_OFF, Case
from harness.case.endings import EXITS
from harness.case.hang import how_it_ended, hung, time_hint, unread, why_unfinished
from harness.case.observe import Observation
from harness.case.outputs import OutputCheck
from harness.case.result import Judgement, Verdict
from harness.elf import Image
from harness.model import Model
from harness.targets.base import Stop
from harness.uart import Console

#: Problems listed in a result; the others are counted.
MOST_PROBLEMS = 50
#: Characters shown of one problem.
_LONGEST = 400
#: Kinds of findings in the console that come with the program counter.
_WITH_PC = (Kind.FAULT, Kind.KERNEL_PANIC, Kind.STACK_OVERFLOW)


def findings_of(
    seen: Observation, model: Model | None, firmware: Image | None = None
) -> tuple[Finding, ...]:
    """The findings of console and target, completed with names from model and ELF."""
    findings = [
        _name_place(_name_custom(finding, model), firmware) for finding in seen.console.findings
    ]
    for fault in seen.faults:
        findings.append(Finding(Kind.FAULT, str(fault), fault.kind, values=(("pc", fault.pc),)))
    last = seen.last_resort
    kinds = {known.kind for known in findings}
    if last and last.kind not in kinds and not _is_status_of_tests(last, seen.console):
        findings.append(last)
    if seen.stop is Stop.RESET_LOOP:
        message = f"the firmware reset itself {seen.counters.resets} times"
        findings.append(Finding(Kind.RESET_LOOP, message))
    elif seen.counters.resets and not any(known.kind is Kind.REBOOTED for known in findings):
        message = f"the firmware reset itself ({seen.counters.resets} times)"
        findings.append(Finding(Kind.REBOOTED, message))
    return (*findings, *seen.findings)


def _is_status_of_tests(last: Finding, console: Console) -> bool:
    """Whether ``last`` is the exit status of a test program that has reported its failures."""
    return last.subject in EXITS and any(one.reports_failures for one in console.scrapers)


def _name_place(finding: Finding, firmware: Image | None) -> Finding:
    """Add the function of a fault's address, which the ELF gives, to ``finding``."""
    if firmware is None or finding.kind not in _WITH_PC:
        return finding
    for name, word in (("pc", "in"), ("lr", "called from")):
        address = finding.value(name)
        place = firmware.locate(address) if address else None
        if place is not None and place.function:
            return replace(finding, message=f"{finding.message}, {word} {place}")
    return finding


def _name_custom(finding: Finding, model: Model | None) -> Finding:
    """Add the model's custom operators to a ``finding`` from TFLM's message, which names none."""
    unnamed = finding.kind is Kind.MISSING_CUSTOM_OPERATOR and not finding.subject
    if not unnamed or model is None or not model.custom_operator_names:
        return finding
    names = " or ".join(model.custom_operator_names)
    return replace(finding, subject=names, message=f"{finding.message} (the model's: {names})")


def judge(
    case: Case,
    seen: Observation,
    findings: Sequence[Finding],
    outputs: OutputCheck,
    over_budget: Sequence[str] = (),
    wrong_model: Sequence[str] = (),
) -> Judgement:
    """Judge whether a run met the case's expectations.

    ``wrong_model`` are messages that the image runs another model than the case's. They come first
    in every reason, because the other problems may follow from it.
    """
    expected = case.expect
    unexpected = expected.unexpected(findings)
    lacking = expected.unmet(findings)
    fatal = [finding for finding in unexpected if finding.kind in FATAL]
    if fatal:
        rest = [finding for finding in unexpected if finding not in fatal]
        messages = [*_messages(fatal), *_messages(rest), *lacking]
        return _negative(Verdict.FIRMWARE, wrong_model, messages, _remedy(unexpected))
    if hung(case, seen, findings, lacking):
        missed = [seen.missed_step] if seen.missed_step else []
        wrong = [outputs.problem] if outputs.mismatches else []
        others = [*missed, *lacking, *wrong, *over_budget]
        return _unfinished(case, seen, outputs, unexpected, others, wrong_model)
    problems = [*_messages(unexpected), *lacking]
    if expected.wants_outputs:
        problems += _output_problems(case, outputs)
    elif outputs.inferences:
        count = count_of(outputs.inferences, "inference")
        problems.append(f"{count} gave outputs, none is expected")
    if case.end == SYSTEM_OFF and not (seen.standing and seen.standing.off):
        problems.append(f"the image should switch the chip off, but {how_it_ended(seen)}")
    problems += [seen.missed_step] if seen.missed_step else []
    problems += over_budget
    if problems or wrong_model:
        hint = outputs.hint or _remedy(unexpected)
        return _negative(Verdict.FAIL, wrong_model, problems, hint)
    return Judgement(Verdict.PASS, _reason_of_pass(case, outputs))


def _negative(
    verdict: Verdict, wrong_model: Sequence[str], problems: Sequence[str], hint: str = ""
) -> Judgement:
    """A judgement whose reason is the first problem, after the wrong models."""
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


def _remedy(unexpected: Sequence[Finding]) -> str:
    """What to do about a finding, if a command of this project says more."""
    if any(finding.kind is Kind.ARENA_TOO_SMALL for finding in unexpected):
        return "declare a larger arena; `tflm-hil arena IMAGE` then finds the smallest that works"
    return ""


def _messages(findings: Sequence[Finding]) -> list[str]:
    return [finding.message for finding in findings]


def _unfinished(
    case: Case,
    seen: Observation,
    outputs: OutputCheck,
    unexpected: Sequence[Finding],
    others: Sequence[str],
    wrong_model: Sequence[str],
) -> Judgement:
    """Judge an image that did not end: by its own findings, or else as hung."""
    # A missing end record is implied by "unfinished" and not a separate problem.
    messages = [one.message for one in unexpected if one.kind is not Kind.RECORD_TRUNCATED]
    reason = why_unfinished(case, seen, outputs)
    problem, hint = unread(case, seen)
    if problem:
        problems = [*messages, f"{problem} ({reason})", *others]
        return _negative(Verdict.FAIL, wrong_model, problems, hint)
    hint = hint or _remedy(unexpected) or time_hint(case, seen)
    if messages and seen.stop is Stop.CONDITION:
        return _negative(Verdict.FAIL, wrong_model, [*messages, *others], _remedy(unexpected))
    if messages:
        first, *rest = messages
        return _negative(Verdict.FAIL, wrong_model, [f"{first} ({reason})", *rest, *others], hint)
    return _negative(Verdict.FIRMWARE, wrong_model, [reason, *others], hint)


def _output_problems(case: Case, outputs: OutputCheck) -> list[str]:
    if outputs.problem:
        return [outputs.problem]
    if outputs.inferences < case.least_results:
        return [
            f"{count_of(outputs.inferences, 'inference')} came, "
            f"at least {case.least_results} are expected"
        ]
    if not outputs.compared:
        return ["nothing was compared, so nothing is proven"]
    return []


def _reason_of_pass(case: Case, outputs: OutputCheck) -> str:
    if not case.expect.wants_outputs and not case.expect.findings:
        return "no outputs, as expected"
    if not case.expect.wants_outputs:
        return "refused as expected: " + ", ".join(
            f"{kind} {subject}".strip() for kind, subject in case.expect.findings
        )
    if outputs.praise:
        return outputs.praise
    how = "equal" if case.tolerance is None else "within tolerance"
    values = count_of(outputs.compared, "value")
    return f"{values} of {count_of(outputs.inferences, 'inference')} {how}"
