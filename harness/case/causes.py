"""Findings as lines of a result: the first cause first, then what followed from it."""

from __future__ import annotations

from collections.abc import Iterable

from harness.base.findings import Finding, Topic, in_order

#: What one mistake may lead to: the interpreter refuses, the firmware ends.
_CONSEQUENCES = (Topic.INTERPRETER, Topic.FIRMWARE)
#: What may lead to it.
_CAUSES = (Topic.RESOLVER, *_CONSEQUENCES, Topic.MISUSE)
#: Begins the line of a finding that followed from an earlier one.
THEN = "then: "


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
