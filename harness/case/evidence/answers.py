"""The image's side of feeding: ready, ack and nak records, checked against what the host sent."""

from __future__ import annotations

from collections.abc import Sequence

from harness.case.evidence.known import Known, Measured
from harness.case.evidence.ledger import Ledger
from harness.uart.record_reader import KIND_NUMBERS


def check_answers(ledger: Ledger, known: Known, measured: Measured, *, whole: bool) -> None:
    """Check that every host record was acknowledged, in order, and nothing else was answered."""
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
        ledger.contradicts(f"{message} and one after the last", "ready")


def _in_order(ledger: Ledger, sent: Sequence[int]) -> None:
    """Check that acks count up by one, and that no record has more answers than transmissions."""
    acks, naks = iter(ledger.numbers("ack", "of")), iter(ledger.numbers("nak", "of"))
    kinds = ledger.records.kinds
    places = sorted((*ledger.places("ack"), *ledger.places("nak")))
    expected, answers = 0, 0  # number of the next record to acknowledge; answers so far
    for place in places:
        line = ledger.records.lines[place]
        if kinds[place] == KIND_NUMBERS["nak"]:
            number = next(naks)
            answers += 1
            if number not in (0, expected, expected - 1):
                message = f"record {number} was refused, {expected} was sent"
                ledger.contradicts(message, "nak", line)
        else:
            number = next(acks)
            if number == expected < len(sent):
                expected, answers = expected + 1, answers + 1
            elif number == expected - 1:
                answers += 1
            else:
                message = f"record {number} was acknowledged, {expected} was to be next"
                ledger.contradicts(message, "ack", line)
    if answers > sum(sent):
        message = f"{answers} answers came for {sum(sent)} lines that the host sent"
        ledger.unexpected(message, "ack")
