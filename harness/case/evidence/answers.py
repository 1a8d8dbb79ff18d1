"""The image's side of feeding: ready, ack, nak, against what the host sent."""

from __future__ import annotations

from collections.abc import Sequence

from harness.case.evidence.known import Known, Measured
from harness.case.evidence.ledger import Ledger
from harness.uart.store import KIND_NUMBERS


def check_answers(ledger: Ledger, known: Known, measured: Measured, *, whole: bool) -> None:
    """Every host record was acknowledged, in order, and nothing else was answered."""
    ready = len(ledger.rows("ready"))
    acks, naks = ledger.numbers("ack", "of"), ledger.numbers("nak", "of")
    ledger.texts("nak", "reason")
    sent = measured.sent
    if sent is None:
        if acks or naks:
            kind = "ack" if acks else "nak"
            message = f"{len(acks) + len(naks)} answers came, and the host sent nothing"
            ledger.unexpected(message, kind, ledger.line(kind, 0))
        return
    _in_order(ledger, sent)
    if whole and len(set(acks)) < len(sent):
        ledger.missing(f"{len(set(acks))} of {len(sent)} host records were acknowledged", "ack")
    inferences = known.inferences or 0
    if whole and not ledger.has("failed") and ready != inferences + 1:
        message = f"{ready} ready records came for {inferences} inferences, not one before each"
        ledger.contradicts(f"{message} and one behind the last", "ready")


def _in_order(ledger: Ledger, sent: Sequence[int]) -> None:
    """Answers go up by one; as many come for a record as it was sent."""
    acks, naks = list(ledger.numbers("ack", "of")), list(ledger.numbers("nak", "of"))
    kinds = ledger.records.kinds
    places = sorted((*ledger.places("ack"), *ledger.places("nak")))
    expected, answers = 0, 0  # the record that is waited for, and answers to the one before it
    next_ack = next_nak = 0
    for place in places:
        line = ledger.records.lines[place]
        if kinds[place] == KIND_NUMBERS["nak"]:
            of, next_nak = naks[next_nak], next_nak + 1
            answers += 1
            if of not in (0, expected, expected - 1):
                ledger.contradicts(f"record {of} was refused, {expected} was sent", "nak", line)
        else:
            of, next_ack = acks[next_ack], next_ack + 1
            if of == expected < len(sent):
                expected, answers = expected + 1, answers + 1
            elif of == expected - 1:
                answers += 1
            else:
                message = f"record {of} was acknowledged, {expected} was to be next"
                ledger.contradicts(message, "ack", line)
    if answers > sum(sent):
        message = f"{answers} answers came to {sum(sent)} lines that the host sent"
        ledger.unexpected(message, "ack")
