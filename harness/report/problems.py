"""What is wrong with a case, line by line: the same words in text, JUnit and HTML."""

from __future__ import annotations

from collections.abc import Sequence

from harness.case.result import CaseResult
from harness.findings import Finding


def problem_lines(result: CaseResult) -> list[str]:
    """All that is wrong, the weightiest first, then the findings that are no problem.

    What is a finding carries its kind and the console line it was read from; what came several
    times stands there once, with the number of times.
    """
    findings: dict[str, list[Finding]] = {}
    for finding in result.evidence.findings:
        findings.setdefault(finding.message, []).append(finding)
    lines = [_line(problem, findings.pop(problem, ())) for problem in result.judgement.problems]
    if not lines and not result.passed:
        lines = [result.judgement.reason]
    return lines + [_line(message, found) for message, found in findings.items()]


def _line(message: str, found: Sequence[Finding]) -> str:
    if not found:
        return message
    subjects = dict.fromkeys(one.subject for one in found if one.subject not in message)
    kinds = dict.fromkeys(" ".join([finding.kind.value, *subjects]) for finding in found)
    places = [str(finding.line) for finding in found if finding.line]
    notes = []
    if len(found) > 1:
        notes.append(f"{len(found)} times")
    if places:
        notes.append(f"console line {places[0]}" if len(places) == 1 else _lines(places))
    return f"{', '.join(kinds)}: {message}" + (f" ({', '.join(notes)})" if notes else "")


def _lines(places: Sequence[str]) -> str:
    shown = ", ".join(places[:5])
    return f"console lines {shown}{', ...' if len(places) > 5 else ''}"
