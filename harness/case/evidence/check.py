"""All checks of an image's records, boot by boot."""

from __future__ import annotations

from collections.abc import Sequence

from harness.base.findings import Finding, Findings
from harness.case.evidence.answers import check_answers
from harness.case.evidence.closing import check_closing
from harness.case.evidence.inferences import check_inferences
from harness.case.evidence.known import Fact, Known, Measured
from harness.case.evidence.ledger import Ledger
from harness.case.evidence.profile import check_profile
from harness.case.evidence.setup import check_setup
from harness.uart import Console
from harness.uart.records import FROM_DEVICE


def check_evidence(console: Console, known: Known, measured: Measured) -> list[Finding]:
    """Check every record against the known facts and measurements; return the contradictions.

    All boots are read, and the last one must be complete. (An image that boots more than once is
    another check's finding.) A console without records gives no findings.
    """
    findings = Findings()
    boots = console.boots
    for number, (start, stop) in enumerate(boots, 1):
        ledger = Ledger(console.records, start, stop, findings)
        last = number == len(boots)
        ended = last and (ledger.has("end") or ledger.has("failed"))
        for fact in known.facts:
            if ledger.has(fact.kind):
                _check_fact(ledger, fact)
        check_setup(ledger, known, measured if last else Measured(), whole=ended)
        check_inferences(ledger, known, measured, whole=ended)
        check_profile(ledger, known)
        check_answers(ledger, known, measured, whole=ended)
        check_closing(ledger, known, measured if last else Measured(), whole=ended)
        ledger.close()
    return [*findings, *(known.notes if boots else ())]


def _check_fact(ledger: Ledger, fact: Fact) -> None:
    """Check that the fact's field has one of its values in every record."""
    numbers = FROM_DEVICE[fact.kind][fact.field].type is int
    values: Sequence[int | str] = (
        ledger.numbers(fact.kind, fact.field) if numbers else ledger.texts(fact.kind, fact.field)
    )
    for number, value in enumerate(values):
        if not fact.holds(value):
            expected = " or ".join(map(str, fact.values))
            message = f"{fact.kind} says {fact.field} {value}, {fact.source} says {expected}"
            ledger.contradicts(message, fact.kind, ledger.line(fact.kind, number))
