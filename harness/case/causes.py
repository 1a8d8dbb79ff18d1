"""Findings as lines of a result: the first cause first, then what followed from it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import islice

from harness.base.findings import Finding, Kind, Topic, in_order
from harness.uart import Console

#: What one mistake may lead to: the interpreter refuses, the firmware ends.
_CONSEQUENCES = (Topic.INTERPRETER, Topic.FIRMWARE)
#: What may lead to it.
_CAUSES = (Topic.RESOLVER, *_CONSEQUENCES, Topic.MISUSE)
#: Begins the line of a finding that followed from an earlier one.
THEN = "then: "


#: Kinds whose message names a node only: the kernel has said why on the line before.
_OF_A_NODE = (Kind.PREPARE_FAILED, Kind.INVOKE_FAILED)
_NODE = "Node "
#: Words of a kernel that refuses something, and the place of a failed TF_LITE_ENSURE.
_REFUSES = re.compile(r"support|requir|must|invalid|expect|not |!=|==|fail|\.cc?:\d", re.IGNORECASE)
_WIDTH = 200  # characters of that line


def with_reasons(findings: Sequence[Finding], console: Console) -> list[Finding]:
    """``findings``; a refused node with what its kernel printed on the line before."""
    told = {one.line for one in findings}
    wanted = {
        one.line - 1
        for one in findings
        if one.kind in _OF_A_NODE and one.message.startswith(_NODE) and one.line - 1 not in told
    }
    if not wanted:
        return list(findings)
    lines = islice(console.read_lines(), max(wanted))
    before = {one.number: one.text.strip() for one in lines if one.number in wanted}
    return [_with_reason(one, before.get(one.line - 1, "")) for one in findings]


def _with_reason(finding: Finding, before: str) -> Finding:
    if not before or finding.kind not in _OF_A_NODE or not _REFUSES.search(before):
        return finding
    return replace(finding, message=f"{before[:_WIDTH]} {finding.message}")


def in_sequence(findings: Iterable[Finding]) -> list[str]:
    """A line for each finding, in the order of time; one that followed says so.

    A refusal or an end of the firmware after another finding is taken for its consequence.
    """
    lines, caused = [], False
    for finding in in_order(findings):
        followed = caused and finding.kind.topic in _CONSEQUENCES
        lines.append(THEN + finding.message if followed else finding.message)
        caused = caused or finding.kind.topic in _CAUSES
    return lines
