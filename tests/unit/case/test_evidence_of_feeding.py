"""What was sent held against what was answered."""

from __future__ import annotations

from dataclasses import replace

import pytest
from device import Told, closing, set_up, told
from evidence_runs import BUILTIN, FED, HOST, MODEL, OWN, SENT, found, kinds, messages, with_field

from harness.base.findings import Kind
from harness.case.evidence import Measured


def test_answers_are_those_to_what_was_sent():
    words = "record 5 was acknowledged, 0 was to be next"
    assert words in messages(with_field(FED, "ack", "of", 5), HOST, SENT)


def test_an_answer_that_nobody_asked_for_is_unexpected():
    assert "7 answers came, and the host sent nothing" in messages(FED, replace(OWN, inferences=3))


def resent(first: Told, *, times: int) -> set[Kind]:
    at = next(n for n, (kind, _) in enumerate(FED) if kind == "ack")
    return kinds([*FED[:at], first, *FED[at:]], HOST, Measured(sent=[times, *[1] * 6]))


def test_a_record_that_was_sent_twice_may_be_answered_twice():
    assert resent(told("nak", of=0), times=2) == set()
    assert resent(told("ack", of=0), times=2) == set()


def test_a_record_that_was_sent_once_is_answered_once():
    assert resent(told("nak", of=0), times=1) == {Kind.RECORD_UNEXPECTED}
    assert resent(told("ack", of=0), times=1) == {Kind.RECORD_UNEXPECTED}


@pytest.mark.parametrize(("of", "good"), [(1, True), (2, True), (0, True), (3, False), (7, False)])
def test_refused_is_the_record_that_is_waited_for_or_the_one_before(of, good):
    """Or 0, for a line that was too broken to have a number."""
    at = [n for n, (kind, _) in enumerate(FED) if kind == "ack"][1] + 1
    spoilt = [*FED[:at], told("nak", of=of), *FED[at:]]
    found_kinds = kinds(spoilt, HOST, Measured(sent=[1, 2, 2, *[1] * 4]))
    assert (Kind.RECORD_CONTRADICTS not in found_kinds) is good


def test_a_refusal_names_what_was_sent():
    assert Kind.RECORD_CONTRADICTS in resent(told("nak", of=4), times=2)


def test_each_refusal_is_read_in_turn():
    at = next(n for n, (kind, _) in enumerate(FED) if kind == "ack")
    two = [*FED[:at], told("nak", of=0), told("nak", of=9), *FED[at:]]
    (wrong,) = found(two, HOST, Measured(sent=[3, *[1] * 6]))
    assert (wrong.message, wrong.line) == ("record 9 was refused, 0 was sent", at + 2)
    assert found(with_field(two, "nak", "of", 0, nth=1), HOST, Measured(sent=[3, *[1] * 6])) == []


def test_an_answer_in_the_middle_that_nobody_asked_for_is_named_with_its_line():
    at = next(n for n, (kind, _) in enumerate(BUILTIN) if kind == "inference")
    said = found([*BUILTIN[:at], *[told("nak", of=0)] * 2, *BUILTIN[at:]])
    (one,) = [one for one in said if one.message == "2 answers came, and the host sent nothing"]
    assert (one.subject, one.line) == ("nak", at + 1)


READIES = [n for n, (kind, _) in enumerate(FED) if kind == "ready"]


def test_one_ready_comes_before_each_inference_and_one_behind_the_last():
    without_last = FED[: READIES[-1]] + FED[READIES[-1] + 1 :]
    words = "ready records came for 3 inferences, not one before each and one after the last"
    assert f"3 {words}" in messages(without_last, HOST, SENT)
    twice_first = [*FED[: READIES[0]], FED[READIES[0]], *FED[READIES[0] :]]
    assert f"5 {words}" in messages(twice_first, HOST, SENT)


def test_an_image_that_was_fed_nothing_is_ready_once():
    records = [*set_up(MODEL), told("ready", input_bytes=1), told("ack"), *closing(MODEL, 0)]
    assert messages(records, OWN, Measured(sent=[1])) == []


def test_an_image_that_failed_on_the_way_is_not_asked_for_the_rest_of_its_readies():
    failed = [*FED[: READIES[1] + 1], told("failed", stage="input"), told("stack")]
    said = messages(failed, replace(HOST, required=frozenset()), Measured(sent=[1, 1]))
    assert not [one for one in said if "ready records" in one]


def test_the_line_of_a_later_record_is_its_own():
    wrong = with_field(with_field(BUILTIN, "op", "ticks", 0, nth=4), "op", "ticks", 0, nth=6)
    at = [n for n, (kind, _) in enumerate(BUILTIN) if kind == "op"][4]
    assert [(one.kind, one.line) for one in found(wrong)] == [(Kind.ZERO_TICKS, at + 1)]


def test_an_old_answer_that_comes_again_is_not_the_next_one():
    last = max(n for n, (kind, _) in enumerate(FED) if kind == "ack")
    old = [*FED[:last], told("ack", of=2), *FED[last:]]
    words = "record 2 was acknowledged, 6 was to be next"
    assert messages(old, HOST, Measured(sent=[1, 1, 2, *[1] * 4])) == [words]


def test_every_record_that_was_sent_is_acknowledged():
    words = "7 of 8 host records were acknowledged"
    assert words in messages(FED, HOST, Measured(sent=[1] * 8))


def test_ready_names_the_inputs_of_the_model():
    words = "ready says input_bytes 2, hello_world_int8.tflite says 1"
    assert words in messages(with_field(FED, "ready", "input_bytes", 2), HOST, SENT)
