"""Fields that have one right value, or one of a few."""

from __future__ import annotations

from collections.abc import Sequence

from harness.case.evidence.known import Fact, Known
from harness.case.evidence.ledger import Ledger
from harness.uart.records import FROM_DEVICE


def check_facts(ledger: Ledger, known: Known) -> None:
    """Each field in ``known.facts`` must have the value that its source says."""
    for fact in known.facts:
        if ledger.has(fact.kind):
            _check(ledger, fact)


def _check(ledger: Ledger, fact: Fact) -> None:
    numbers = FROM_DEVICE[fact.kind][fact.field].type is int
    values: Sequence[int | str] = (
        ledger.numbers(fact.kind, fact.field) if numbers else ledger.texts(fact.kind, fact.field)
    )
    for number, value in enumerate(values):
        if not fact.holds(value):
            wanted = " or ".join(map(str, fact.values))
            message = f"{fact.kind} says {fact.field} {value}, {fact.source} says {wanted}"
            ledger.contradicts(message, fact.kind, ledger.line(fact.kind, number))
