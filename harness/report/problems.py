"""The problems of a case, line by line, for all reports."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.base import files
from harness.base.findings import NOTES, Finding
from harness.case.artifacts import TRANSCRIPT
from harness.case.causes import THEN
from harness.case.result import CaseResult
from harness.elf.vectors import is_start_note

#: Number of shown console lines, characters of each, and bytes read from the end of the file.
_SHOWN, _WIDTH, _TAIL = 6, 160, 8192
#: ``result 1: right is -10, expected -11``; ``[0, 3]: obtained 4, expected 5, 0.1 allowed``.
_PAIR = re.compile(r"\s*(.{1,200}?)(?: is |: obtained )([^,]{1,80}), expected (.{1,100})")


@dataclass(frozen=True)
class ValuePair:
    """A value that differs from the expected one; ``where`` names the result and the value."""

    where: str
    obtained: str
    expected: str


def value_pairs(text: str) -> tuple[list[ValuePair], str]:
    """The differing values in the details of a result, and the remaining lines."""
    pairs, rest = [], []
    for line in text.splitlines():
        match = _PAIR.fullmatch(line)
        if match:
            pairs.append(ValuePair(*match.groups()))
        else:
            rest.append(line)
    return pairs, "\n".join(rest)


def problem_lines(result: CaseResult) -> list[str]:
    """The problems, the first cause first, then other findings, notes last.

    A finding has its kind and its console line; equal ones are combined, with their number.
    """
    findings: dict[str, list[Finding]] = {}
    for finding in result.evidence.findings:
        findings.setdefault(finding.message, []).append(finding)
    lines = []
    for problem in result.judgement.problems:
        message = problem.removeprefix(THEN)
        then = problem[: len(problem) - len(message)]
        lines.append(then + _line(message, findings.pop(message, ())))
    if not lines and not result.passed:
        lines = [result.judgement.reason]
    by_weight = sorted(findings.items(), key=lambda item: item[1][0].kind in NOTES)
    return lines + [_line(message, equal) for message, equal in by_weight]


def start_notes(results: Sequence[CaseResult]) -> list[str]:
    """A line for each image that the core was not started in where the chip looks."""
    notes = (
        f"note: {result.setup.name}: {finding.message}"
        for result in results
        for finding in result.evidence.findings
        if is_start_note(finding)
    )
    return list(dict.fromkeys(notes))


def console_lines(result: CaseResult) -> list[str]:
    """The path of the transcript and, if the case did not pass, its last lines."""
    if result.evidence.console is None:
        return []
    path = result.evidence.console.with_name(TRANSCRIPT)
    lines = [f"console: {path}"]
    if not result.passed:
        lines += [f"  {text}" for text in _last(path, _SHOWN)]
    return lines


def result_files(result: CaseResult) -> list[Path]:
    """The files of a case, the transcript first."""
    if result.evidence.console is None:
        return []
    names = (TRANSCRIPT, result.evidence.console.name, "result.json", "coverage.info")
    paths = (result.evidence.console.with_name(name) for name in names)
    return [path for path in paths if files.is_file(path)]


def _last(path: Path, count: int) -> list[str]:
    """The last ``count`` lines of a transcript, shortened; empty if the file is missing."""
    try:
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - _TAIL))
            lines = file.read().decode("utf-8", "replace").splitlines()
    except OSError:
        return []
    return [text if len(text) <= _WIDTH else f"{text[:_WIDTH]}..." for text in lines[-count:]]


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
    """The kind of a finding as the beginning of a message."""
    return f"{finding.kind.value.replace('_', ' ')}: "


def _lines(numbers: Sequence[str]) -> str:
    shown = ", ".join(numbers[:5])
    return f"console lines {shown}{', ...' if len(numbers) > 5 else ''}"
