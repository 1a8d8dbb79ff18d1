"""The problems of a case, line by line, for all kinds of reports."""

from __future__ import annotations

from collections.abc import Sequence

from harness.base.findings import NOTES, Finding
from harness.case.result import CaseResult


def problem_lines(result: CaseResult) -> list[str]:
    """The problems, the most important first, then the findings that are not problems, notes last.

    A finding is shown with its kind and its console line; equal ones once, with their number.
    """
    findings: dict[str, list[Finding]] = {}
    for finding in result.evidence.findings:
        findings.setdefault(finding.message, []).append(finding)
    lines = [_line(problem, findings.pop(problem, ())) for problem in result.judgement.problems]
    if not lines and not result.passed:
        lines = [result.judgement.reason]
    by_weight = sorted(findings.items(), key=lambda item: item[1][0].kind in NOTES)
    return lines + [_line(message, equal) for message, equal in by_weight]


def _line(message: str, findings: Sequence[Finding]) -> str:
    """``message`` with the kinds, the number and the console lines of its findings."""
    if not findings:
        return message
    subjects = dict.fromkeys(one.subject for one in findings if one.subject not in message)
    kinds = dict.fromkeys(" ".join([finding.kind.value, *subjects]) for finding in findings)
    numbers = [str(finding.line) for finding in findings if finding.line]
    notes = []
    if len(findings) > 1:
        notes.append(f"{len(findings)} times")
    if numbers:
        notes.append(f"console line {numbers[0]}" if len(numbers) == 1 else _lines(numbers))
    kind = "" if message.startswith(tuple(_words(one) for one in findings)) else ", ".join(kinds)
    shown = f"{kind}: {message}" if kind else message
    return shown + (f" ({', '.join(notes)})" if notes else "")


def _words(finding: Finding) -> str:
    """The kind of a finding as a message may begin."""
    return f"{finding.kind.value.replace('_', ' ')}: "


def _lines(numbers: Sequence[str]) -> str:
    shown = ", ".join(numbers[:5])
    return f"console lines {shown}{', ...' if len(numbers) > 5 else ''}"
