"""What a run means: an observation and a case -> verdict and reason."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from harness.case.observe import Observation
from harness.case.outputs import OutputCheck
from harness.case.result import Verdict
from harness.case.spec import Case
from harness.findings import Finding, Kind
from harness.model import Model
from harness.targets.base import Stop

#: Findings that say that the firmware itself went down.
_FATAL = frozenset(
    {Kind.FAULT, Kind.ASSERTION, Kind.KERNEL_PANIC, Kind.STACK_OVERFLOW, Kind.RESET_LOOP}
)
_ENDLESS = {
    Stop.DEADLINE: "it ran on to the deadline",
    Stop.GUARD: "the wall-clock guard stopped it",
    Stop.IDLE: "it sleeps and nothing can wake it",
    Stop.LOCKUP: "the core locked up",
    Stop.RESET_LOOP: "it resets itself again and again",
}


def findings_of(seen: Observation, model: Model | None) -> tuple[Finding, ...]:
    """All findings of console and target, with names that only the model knows."""
    found = [_name_custom(finding, model) for finding in seen.console.findings]
    for fault in seen.faults:
        message = f"{fault.kind} ({fault.reason}) at {fault.where or hex(fault.pc)}"
        found.append(Finding(Kind.FAULT, message, fault.kind, values=(("pc", fault.pc),)))
    if seen.stop is Stop.RESET_LOOP:
        message = f"the firmware reset itself {seen.counters.resets} times"
        found.append(Finding(Kind.RESET_LOOP, message))
    return (*found, *seen.findings)


def _name_custom(finding: Finding, model: Model | None) -> Finding:
    """TFLM does not say which custom operator is missing; the model does."""
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
    over_budget: Sequence[str],
) -> tuple[Verdict, str]:
    """The verdict, and why, in one line."""
    expected = case.expected
    unexpected = expected.unexpected(findings)
    fatal = [finding for finding in unexpected if finding.kind in _FATAL]
    if fatal:
        return Verdict.FIRMWARE, fatal[0].message
    lacking = [*expected.unmet(findings), *_resolver_record(case, seen)]
    # An image that ends with the very findings it should end with has said all it had to say.
    if not seen.finished and (expected.outputs or lacking):
        reason = _why_unfinished(seen, outputs)
        if unexpected:
            return Verdict.FAIL, f"{unexpected[0].message} ({reason})"
        return Verdict.FIRMWARE, reason
    problems = [*(finding.message for finding in unexpected), *lacking]
    if expected.outputs:
        problems += _output_problems(case, outputs)
    elif outputs.inferences:
        problems.append(f"{outputs.inferences} inferences gave outputs, none is expected")
    problems += over_budget
    if problems:
        more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
        return Verdict.FAIL, problems[0] + more
    return Verdict.PASS, _praise(case, outputs)


def _output_problems(case: Case, outputs: OutputCheck) -> list[str]:
    if outputs.problem:
        return [outputs.problem]
    if outputs.inferences < case.inferences:
        return [f"{outputs.inferences} inferences came, at least {case.inferences} are expected"]
    if not outputs.compared:
        return ["nothing was compared, so nothing is proven"]
    return []


def _praise(case: Case, outputs: OutputCheck) -> str:
    if not case.expected.outputs:
        return "failed as it should: " + ", ".join(
            f"{kind} {subject}".strip() for kind, subject in case.expected.findings
        )
    how = "equal" if case.tolerance is None else "within tolerance"
    return f"{outputs.compared} values of {outputs.inferences} inferences {how}"


def _resolver_record(case: Case, seen: Observation) -> list[str]:
    """What the image itself says of its resolver, against what the table says."""
    problems = []
    for record in seen.console.of_kind("resolver")[-1:]:
        for name in ("registered", "refused"):
            wanted = getattr(case.expected, name)
            told = record.fields.get(name)
            if wanted is not None and told != str(wanted):
                problems.append(f"the resolver record says {name} {told}, not {wanted}")
    return problems


def _why_unfinished(seen: Observation, outputs: OutputCheck) -> str:
    where = f"; the core is in {seen.where}" if seen.where else ""
    end = seen.complaint or _ENDLESS.get(seen.stop, "it never came to its end")
    if not seen.console.raw:
        return f"the console stayed silent: {end}{where}"
    said = f"{len(seen.console.lines)} lines and {outputs.inferences} results came"
    return f"{said}, then {end}{where}"
