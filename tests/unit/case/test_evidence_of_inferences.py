"""Inferences, their profiles and their layers, held against the model and each other."""

from __future__ import annotations

from dataclasses import replace

import pytest
from device import Told, parts, told
from evidence_runs import (
    BUILTIN,
    BYTES,
    FED,
    HOST,
    MODEL,
    OWN,
    SENT,
    TABLE,
    found,
    kinds,
    messages,
    with_field,
    without,
)

from harness.base.findings import Kind
from harness.case.evidence import Known, Measured


def test_every_inference_that_was_asked_for_comes_and_no_other():
    assert "3 inferences came, 2 were asked for" in messages(BUILTIN, replace(OWN, inferences=2))
    assert "3 of 4 inferences came" in messages(BUILTIN, replace(OWN, inferences=4))


def test_an_image_that_failed_owes_no_more_inferences():
    cut = next(n for n, (kind, _) in enumerate(BUILTIN) if kind == "op") + 3
    failed = [*BUILTIN[:cut], told("failed", stage="input"), told("stack")]
    failed.append(told("end", inferences=1, status=1))
    assert kinds(failed, TABLE) == {Kind.INPUT_FAILED}


@pytest.mark.parametrize("status", [1, -1])
def test_a_status_is_a_finding_and_end_does_not_count_it(status):
    records = with_field(BUILTIN, "inference", "status", status, nth=2)
    assert Kind.INFERENCE_FAILED in kinds(records)
    assert "end says 3 inferences, 2 ended with status 0" in messages(records)


def test_the_status_of_the_end_is_that_of_the_failure():
    words = "end says status 1, nothing failed"
    assert words in messages(with_field(BUILTIN, "end", "status", 1), OWN)
    failed = [*BUILTIN[:-1], told("failed", status=2), told("end", inferences=3, status=1)]
    assert "end says status 1, failed says 2" in messages(failed, OWN)


def test_an_inference_is_called_by_its_number():
    assert "inference 1 is called 7" in messages(with_field(BUILTIN, "inference", "index", 7, 1))


def test_outputs_of_inferences_that_there_are_not_are_unexpected():
    at = next(n for n, (kind, _) in enumerate(BUILTIN) if kind == "output")
    for number in (100, 900):
        more = [*BUILTIN[: at + 1], *parts("output", number, 0, b"\1"), *BUILTIN[at + 1 :]]
        assert f"output 0 of inference {number}, which has no inference record" in messages(
            more, OWN
        )


def test_an_output_that_the_model_does_not_have_is_unexpected():
    at = next(n for n, (kind, _) in enumerate(BUILTIN) if kind == "output")
    more = [*BUILTIN[: at + 1], *parts("output", 0, 1, b"\1"), *BUILTIN[at + 1 :]]
    assert "output 1 came, the model has 1 outputs" in messages(more, OWN)


@pytest.mark.parametrize("kind", ["input", "output"])
def test_an_inference_without_a_tensor_says_which(kind):
    at = [n for n, one in enumerate(BUILTIN) if one[0] == kind][1]
    assert f"inference 1 has no {kind} 0" in messages(BUILTIN[:at] + BUILTIN[at + 1 :], OWN)


def test_a_tensor_of_another_size_is_not_the_models():
    at = next(n for n, (kind, _) in enumerate(BUILTIN) if kind == "output")
    records = [*BUILTIN[:at], *parts("output", 0, 0, b"\1\2"), *BUILTIN[at + 1 :]]
    assert "output 0 has 2 bytes, the model's 1" in messages(records, OWN)


def test_the_size_of_one_tensor_is_not_held_against_another():
    at = next(n for n, (kind, _) in enumerate(BUILTIN) if kind == "output")
    more = [*BUILTIN[: at + 1], *parts("output", 0, 1, bytes(3)), *BUILTIN[at + 1 :]]
    assert not any("the model's" in one and "bytes" in one for one in messages(more, OWN))


@pytest.mark.parametrize("kind", ["input", "output"])
def test_a_tensor_stands_before_the_record_of_its_inference(kind):
    late = next(n for n, one in enumerate(BUILTIN) if one[0] == "inference")
    at = next(n for n, one in enumerate(BUILTIN) if one[0] == kind)
    moved = [*BUILTIN[:at], *BUILTIN[at + 1 : late + 1], BUILTIN[at], *BUILTIN[late + 1 :]]
    assert f"{kind} says inference 0 and stands in 1" in messages(moved, OWN)


@pytest.mark.parametrize("number", [0, 2])
def test_a_part_of_a_tensor_names_the_inference_that_it_stands_in(number):
    at = [n for n, one in enumerate(BUILTIN) if one[0] == "output"][1]
    moved = [*BUILTIN[:at], *parts("output", number, 0, b"\1"), *BUILTIN[at + 1 :]]
    assert f"output says inference {number} and stands in 1" in messages(moved, OWN)


def test_inputs_that_nobody_sent_are_the_samples():
    wanted = Known(MODEL, inputs=[*BYTES[:2], [b"\0"]])
    assert "input 0 of inference 2 is not the one that the sample has" in messages(BUILTIN, wanted)


def test_inputs_are_those_that_the_host_knows():
    wanted = replace(TABLE, inputs=[*BYTES[:2], [b"\0"]])
    assert messages(BUILTIN, wanted) == [
        "input 0 of inference 2 is not the one that the sample has"
    ]


def test_inputs_that_a_fed_image_prints_never_replace_what_was_sent():
    at = next(n for n, (kind, _) in enumerate(FED) if kind == "output")
    lied = [*FED[:at], *parts("input", 0, 0, b"\7"), *FED[at:]]
    words = "input 0 of inference 0 is not the one that was sent"
    assert words in messages(lied, HOST, SENT)
    honest = [*FED[:at], *parts("input", 0, 0, BYTES[0][0]), *FED[at:]]
    assert messages(honest, HOST, SENT) == []


def test_ticks_are_more_than_none_and_less_than_all():
    assert Kind.ZERO_TICKS in kinds(with_field(without(BUILTIN, "op"), "inference", "ticks", 0, 1))
    assert found(BUILTIN, OWN, Measured(ticks=3000)) == []
    words = "the inferences took 3,000 ticks, the whole run 2,999"
    assert messages(BUILTIN, OWN, Measured(ticks=2999)) == [words]


def test_what_no_single_record_says_has_no_line():
    (finding,) = found(BUILTIN, OWN, Measured(ticks=2999))
    assert (finding.subject, finding.line) == ("inference", 0)
    (finding,) = found(BUILTIN, replace(OWN, inferences=2))
    assert (finding.kind, finding.line) == (Kind.RECORD_UNEXPECTED, 0)


def test_ticks_are_those_of_the_chip():
    words = "inference says hz 1, the chip says 64000000"
    assert messages(with_field(BUILTIN, "inference", "hz", 1), OWN) == [words]


# --- profile and layers


def test_operators_take_no_longer_than_their_inference():
    records = with_field(BUILTIN, "op", "ticks", 981)
    assert messages(records) == ["the operators of inference 0 took 1,001 ticks, all of it 1,000"]
    assert found(with_field(BUILTIN, "op", "ticks", 980)) == []


def test_an_operator_takes_some_time():
    assert messages(with_field(BUILTIN, "op", "ticks", 0, 1)) == [
        "1 of 9 profiled operators took 0 ticks"
    ]


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("node", 1, "the nodes of inference 0 are not 0, 1, 2, ..."),
        ("operator", "CONV_2D", "node 0 of inference 0 is CONV_2D, the model's is FULLY_CONNECTED"),
        ("inference", 1, "op says inference 1 and stands in 0"),
    ],
)
def test_a_profile_is_the_models_operator_by_operator(field, value, words):
    assert words in messages(with_field(BUILTIN, "op", field, value))


def test_a_profile_that_ends_early_says_so():
    assert "2 of 3 operators of inference 2 were profiled" in messages(
        [one for n, one in enumerate(BUILTIN) if n != max(
            at for at, told_ in enumerate(BUILTIN) if told_[0] == "op")]
    )  # fmt: skip
    last = max(at for at, told_ in enumerate(BUILTIN) if told_[0] == "op")
    counted = with_field(BUILTIN[:last] + BUILTIN[last + 1 :], "op", "untold", 1, nth=7)
    assert found(counted) == []


def test_a_profile_counts_no_more_operators_than_the_model_has():
    last = sum(kind == "op" for kind, _ in BUILTIN) - 1
    more = with_field(BUILTIN, "op", "untold", 1, nth=last)
    assert messages(more) == ["4 of 3 operators of inference 2 were profiled"]


def test_operators_behind_the_models_last_one_are_none_of_its():
    last = max(at for at, one in enumerate(BUILTIN) if one[0] == "op")
    more = told("op", inference=2, node=3, operator="FULLY_CONNECTED")
    words = "node 3 of inference 2 is FULLY_CONNECTED, the model's is none"
    assert words in messages([*BUILTIN[: last + 1], more, *BUILTIN[last + 1 :]])


def test_all_inferences_are_profiled_or_none():
    some = [one for one in BUILTIN if one[0] != "op" or one[1]["inference"] != 1]
    assert messages(some, OWN) == ["inference 1 has no op records"]


def layered(**fields: object) -> list[Told]:
    at = next(n for n, (kind, _) in enumerate(BUILTIN) if kind == "inference")
    chosen = {"node": 0, "operator": "FULLY_CONNECTED", "data": bytes(16), "index": 0, **fields}
    data, index = chosen.pop("data"), chosen.pop("index")
    return [*BUILTIN[: at + 1], *parts("layer", 0, index, data, **chosen), *BUILTIN[at + 1 :]]


def test_a_dumped_layer_is_the_models():
    assert found(layered(), OWN) == []
    for fields in ({"node": 3}, {"operator": "ADD"}, {"index": 1}, {"data": bytes(15)}):
        assert Kind.RECORD_CONTRADICTS in kinds(layered(**fields), OWN)
