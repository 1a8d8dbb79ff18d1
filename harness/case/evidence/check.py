"""All checks of an image's records, boot by boot."""

from __future__ import annotations

from harness.base.findings import Finding, Findings
from harness.case.evidence.answers import check_answers
from harness.case.evidence.closing import check_closing
from harness.case.evidence.facts import check_facts
from harness.case.evidence.inferences import check_inferences
from harness.case.evidence.known import Known, Measured
from harness.case.evidence.ledger import Ledger
from harness.case.evidence.profile import check_profile
from harness.case.evidence.setup import check_setup
from harness.uart import Console


def check_evidence(console: Console, known: Known, measured: Measured) -> list[Finding]:
    """Check every record against what is known and measured; a finding for each contradiction.

    All boots are read, and the last one must be complete. (That an image booted more than once is
    another finding.) A console without records gives no findings.
    """
    findings = Findings()
    boots = console.boots
    for number, (start, stop) in enumerate(boots, 1):
        ledger = Ledger(console.records, start, stop, findings)
        last = number == len(boots)
        ended = last and (ledger.has("end") or ledger.has("failed"))
        check_facts(ledger, known)
        check_setup(ledger, known, measured if last else Measured(), whole=ended)
        check_inferences(ledger, known, measured, whole=ended)
        check_profile(ledger, known)
        check_answers(ledger, known, measured, whole=ended)
        check_closing(ledger, known, measured if last else Measured(), whole=ended)
        ledger.close()
    return [*findings, *(known.notes if boots else ())]
