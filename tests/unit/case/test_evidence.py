"""Records held against model, table, ELF, the host's own doing, and each other."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from device import Told, builtin_run, closing, fed_run, lines, parts, set_up, told
from model_builder import Graph, T, build_graphs

from harness import paths
from harness.build.configurations import load
from harness.case.evidence import Fact, Known, Measured, check_evidence, known_of
from harness.case.evidence.builtin import builtin_inputs
from harness.case.evidence.known import tensor_bytes
from harness.case.lifecycle import METHODS
from harness.case.outputs import check_outputs
from harness.case.samples import sample_case
from harness.case.spec import Case
from harness.findings import Finding, Kind
from harness.model import Model
from harness.uart import Console
from harness.uart.records import ALLOCATIONS

MODEL = Model.from_file(paths.models() / "hello_world_int8.tflite")
ROWS = [np.array([[value]], np.int8) for value in (-128, 3, 127)]
BYTES = [[row.tobytes()] for row in ROWS]
BUILTIN = builtin_run(MODEL, ROWS)
FED = fed_run(MODEL, ROWS)

OWN = known_of(Case("own"), None, MODEL, ())
HOST = replace(OWN, inputs=BYTES, fed=True, inferences=3)
TABLE = replace(
    OWN,
    inputs=BYTES,
    inferences=3,
    required=frozenset(("resolver", "stack", "end", "input", "op", "allocation")),
    lifecycles=frozenset(),
)
UNMEASURED = Measured()
SENT = Measured(sent=[1] * 7)


def console_of(records: Sequence[Told]) -> Console:
    console = Console()
    console.feed(lines(records))
    console.finish()
    return console


def found(
    records: Sequence[Told], known: Known = TABLE, measured: Measured = UNMEASURED
) -> list[Finding]:
    console = console_of(records)
    return [*console.findings, *check_evidence(console, known, measured)]


def kinds(*arguments: object) -> set[Kind]:
    return {finding.kind for finding in found(*arguments)}


def messages(*arguments: object) -> list[str]:
    return [finding.message for finding in found(*arguments)]


def with_field(records: Sequence[Told], kind: str, field: str, value: object, nth: int = 0):
    """The records with one field of the ``nth`` record of ``kind`` changed."""
    changed = copy.deepcopy(list(records))
    at = [n for n, one in enumerate(changed) if one[0] == kind][nth]
    changed[at][1][field] = value
    return changed


def without(records: Sequence[Told], kind: str) -> list[Told]:
    return [one for one in records if one[0] != kind]


@pytest.mark.parametrize(
    ("records", "known", "measured"),
    [
        (BUILTIN, TABLE, Measured()),
        (BUILTIN, OWN, Measured()),
        (BUILTIN, Known(), Measured()),
        (FED, HOST, SENT),
    ],
)
def test_a_good_run_has_no_finding(records, known, measured):
    assert found(records, known, measured) == []


def test_a_console_without_records_has_none():
    assert check_evidence(console_of([]), TABLE, Measured()) == []


# --- every record in turn: dropped, repeated, swapped with the next, replayed after the end


def runs() -> list[tuple[str, list[Told], Known, Measured]]:
    return [("builtin", BUILTIN, TABLE, Measured()), ("fed", FED, HOST_TABLE, SENT)]


HOST_TABLE = replace(HOST, required=frozenset(("resolver", "stack", "end", "allocation")))


def outcome(records: list[Told], known: Known, measured: Measured) -> bool:
    """Whether anything at all is wrong with a run: a finding, or an output that differs."""
    if found(records, known, measured):
        return True
    check = check_outputs(console_of(records), Case("c"), MODEL, known.inputs or ())
    return bool(check.problem) or check.compared != len(ROWS)


@pytest.mark.parametrize("run", range(2))
@pytest.mark.parametrize(
    "spoil",
    [
        lambda run, at: run[:at] + run[at + 1 :],
        lambda run, at: run[: at + 1] + run[at:],
        lambda run, at: run[:at] + run[at : at + 2][::-1] + run[at + 2 :],
        lambda run, at: [*run, run[at]],
    ],
    ids=["dropped", "repeated", "swapped with the next", "replayed after the end"],
)
def test_a_record_that_is_not_in_its_place_is_noticed(run, spoil):
    name, records, known, measured = runs()[run]
    assert not outcome(records, known, measured)
    passed = []
    for at in range(len(records)):
        spoilt = spoil(records, at)
        if spoilt != records and not outcome(spoilt, known, measured):
            passed.append((name, at, records[at]))
    assert passed == []


#: What nobody but the image can know, so that another value of it is as good.
FREE = {
    ("boot", "sample"), ("boot", "board"), ("boot", "build"), ("boot", "runtime"),
    ("boot", "model_crc32"),  # compared in harness.case.run, where a wrong model is named
    ("resolver", "name"), ("resolver", "declared"), ("resolver", "registered"),
    ("resolver", "refused"), ("arena", "declared"), ("arena", "used"),
    ("allocation", "requested"), ("allocation", "used"), ("allocation", "count"),
    ("inference", "ticks"), ("inference", "source"), ("op", "ticks"),
    ("stack", "name"), ("stack", "size"), ("stack", "used"),
}  # fmt: skip


def other(value: object) -> object:
    if isinstance(value, int):
        return value + 1
    text = str(value)
    return text[:-1] + ("0" if text[-1] != "0" else "1")


@pytest.mark.parametrize("run", range(2))
def test_a_field_with_another_value_is_noticed(run):
    _, records, known, measured = runs()[run]
    passed = set()
    for at, (kind, fields) in enumerate(records):
        for name, value in fields.items():
            spoilt = copy.deepcopy(records)
            spoilt[at][1][name] = other(value)
            if not outcome(spoilt, known, measured):
                passed.add((kind, name))
    assert passed <= FREE


@pytest.mark.parametrize("at", range(1, len(BUILTIN)))
def test_another_boot_in_the_middle_is_noticed(at):
    assert Kind.REBOOTED in kinds(BUILTIN[:at] + BUILTIN)


# --- the boot and what is set up


def test_an_image_says_that_it_boots():
    assert "no boot record came: nothing says which image ran" in messages(BUILTIN[1:], OWN)


@pytest.mark.parametrize(
    ("kind", "known", "missing"),
    [
        ("resolver", TABLE, True),
        ("resolver", OWN, False),
        ("arena", OWN, True),
        ("allocation", TABLE, True),
        ("allocation", OWN, False),
        ("stack", TABLE, True),
        ("stack", OWN, False),
        ("op", TABLE, True),
        ("op", OWN, False),
    ],
)
def test_what_is_required_must_come_and_what_is_not_may_be_left_out(kind, known, missing):
    assert (Kind.RECORD_MISSING in kinds(without(BUILTIN, kind), known)) is missing


def test_an_image_of_ones_own_must_end_but_not_after_it_failed():
    failed = [told("boot"), told("failed"), told("stack")]
    assert Kind.RECORD_MISSING not in kinds(failed, OWN)
    assert Kind.RECORD_MISSING in kinds(failed, TABLE)


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("type", "uint8", "tensor input 0: the image says type uint8"),
        ("shape", "1,2", "says shape 1,2, hello_world_int8.tflite says 1,1"),
        ("scale", "3cc9d9b6", "scale 0.0246399455, hello_world_int8.tflite says 0.0246399436"),
        ("zero_point", 0, "says zero_point 0, hello_world_int8.tflite says -128"),
        ("index", 1, "says index 1, hello_world_int8.tflite says 0"),
        ("role", "output", "says role output"),
    ],
)
def test_a_tensor_is_the_models(field, value, words):
    assert any(words in one for one in messages(with_field(BUILTIN, "tensor", field, value), OWN))


def test_of_a_long_list_of_allocations_the_beginning_is_shown():
    many = [told("allocation", type=ALLOCATIONS[0]) for _ in range(99)]
    (said,) = [one for one in messages([*without(BUILTIN, "allocation")[:-1], *many, BUILTIN[-1]])
               if one.startswith("allocations of")]  # fmt: skip
    assert len(said) == len("allocations of ") + 200 + len(" came, not each type once and in order")


def test_a_tensor_too_many_is_unexpected():
    more = [*BUILTIN[:4], told("tensor", role="output", index=1), *BUILTIN[4:]]
    assert "tensor output 1: the model has none" in messages(more, OWN)


@pytest.mark.parametrize(
    ("declared", "used", "good"),
    [(3072, 3072, True), (3072, 3073, False), (3072, 0, False), (3072, 16, True), (99, 15, False)],
)
def test_an_arena_holds_what_is_used_of_it(declared, used, good):
    records = with_field(
        with_field(without(BUILTIN, "allocation"), "arena", "declared", declared),
        "arena", "used", used,
    )  # fmt: skip
    assert (Kind.RECORD_CONTRADICTS not in kinds(records, OWN)) is good


def test_an_arena_that_nothing_uses_is_told_once_where_nothing_is_computed():
    graph = Graph([T((1, 1), "int8", 1.0)], [], [0], [0])
    model = Model.from_bytes(build_graphs([graph]), "straight")
    records = [*with_field(set_up(model), "arena", "used", 0), *closing(model, 0)]
    said = messages(records, known_of(Case("own"), None, model, ()))
    assert [one for one in said if one.startswith("arena")] == [
        "arena says 0 of 65536 bytes are used"
    ]


def test_a_tensor_of_a_type_that_numpy_does_not_have_takes_no_bytes():
    (tensor,) = MODEL.inputs
    assert [tensor_bytes(replace(tensor, dtype=name)) for name in ("bfloat16", "int16")] == [0, 2]


def test_an_image_that_was_cut_off_behind_its_arena_has_told_all_of_its_tensors():
    until = next(n for n, one in enumerate(BUILTIN) if one[0] == "arena") + 1
    words = "1 of 2 tensor records came"
    assert words not in messages(BUILTIN[:until], OWN)
    assert words in messages([*BUILTIN[:2], *BUILTIN[3:until]], OWN)
    assert words not in messages(BUILTIN[:3], OWN)  # more may have come


@pytest.mark.parametrize(("declared", "registered", "good"), [(1, 1, 1), (1, 2, 0), (1, 0, 0)])
def test_a_resolver_holds_what_is_registered_and_what_ran(declared, registered, good):
    records = with_field(BUILTIN, "resolver", "declared", declared)
    records = with_field(records, "resolver", "registered", registered)
    assert (Kind.RECORD_CONTRADICTS not in kinds(records, OWN)) == bool(good)


def test_a_field_with_one_right_value_has_it():
    fact = Fact("arena", "declared", (1024, 2048), "the ELF's tensor_arena")
    wanted = "arena says declared 65536, the ELF's tensor_arena says 1024 or 2048"
    assert messages(BUILTIN, replace(OWN, facts=(fact,))) == [wanted]


# --- inferences


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


# --- what was fed


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


# --- the end


ATAN = Model.from_file(paths.models() / "atan_float32.tflite")


def lived(order: str = "iprvrf", **calls: object) -> list[Told]:
    row = np.zeros(ATAN.inputs[0].shape, np.float32)
    whole = builtin_run(ATAN, [row, row])
    at = next(n for n, (kind, _) in enumerate(whole) if kind == "allocation")
    life = told("lifecycle", **{"invoke": 2, "order": order, **calls})
    return [*whole[:at], life, *whole[at:]]


def lives(order: str = "iprvrf", **calls: object) -> list[str]:
    known = known_of(Case("own"), None, ATAN, ())
    return messages(lived(order, **calls), replace(known, lifecycles=frozenset({"Atan"})))


def test_a_lifecycle_is_the_documented_one():
    assert lives() == []


@pytest.mark.parametrize(
    ("order", "calls"),
    [
        ("iprvrf", {"invoke": 3}),
        ("iprvrf", {"init": 2}),
        ("iprvrf", {"free": 0}),
        ("iprvrf", {"reset": 0}),
        ("iprvrf", {"reset": 1}),
        ("ipvf", {}),
        ("pivrf", {}),
        ("", {}),
    ],
)
def test_a_lifecycle_that_is_not_the_documented_one_is_told(order, calls):
    assert lives(order, **calls)


def test_the_kernels_that_count_are_those_of_the_table():
    assert lives(operator="Other") == [
        "no lifecycle of Atan came",
        "lifecycle of Other, which is not an own kernel",
        *lives(operator="Other")[2:],
    ]


def test_an_operator_that_the_model_does_not_have_is_never_called():
    own = known_of(Case("own"), None, ATAN, ())
    assert messages(lived(operator="Other"), own) == [
        "lifecycle of Other: it was called, and the model has no such operator"
    ]
    none = dict.fromkeys(METHODS, 0)
    assert messages(lived("", operator="Other", **none), own) == []


def test_a_kernel_tells_its_life_once():
    twice = lived()
    at = next(n for n, (kind, _) in enumerate(twice) if kind == "lifecycle")
    told_twice = [*twice[: at + 1], *twice[at:]]
    known = replace(known_of(Case("own"), None, ATAN, ()), lifecycles=frozenset({"Atan"}))
    assert messages(told_twice, known) == ["lifecycle of Atan came 2 times"]


@pytest.mark.parametrize(
    ("reset", "own", "good"),
    [
        *[(6, True, True), (4, True, False), (5, True, False), (9, True, True), (3, True, True)],
        *[(6, False, True), (5, False, False), (9, False, False), (3, False, False)],
    ],
)
def test_every_node_of_a_kernel_is_reset_as_often_and_a_samples_as_its_order_says(reset, own, good):
    at = next(n for n, (kind, _) in enumerate(BUILTIN) if kind == "allocation")
    calls = {"init": 3, "prepare": 3, "invoke": 9, "free": 3, "reset": reset}
    life = told("lifecycle", operator="FULLY_CONNECTED", **calls)
    known = replace(TABLE, lifecycles=None if own else frozenset({"FULLY_CONNECTED"}))
    words = f"lifecycle of FULLY_CONNECTED: reset was called {reset} times for 3 nodes"
    said = messages([*BUILTIN[:at], life, *BUILTIN[at:]], known)
    assert said == ([] if good else [words])


@pytest.mark.parametrize(
    ("order", "calls", "words"),
    [
        ("ipf", {"init": 1, "prepare": 1, "free": 1}, None),
        ("if", {"init": 2, "free": 2}, None),
        ("i", {"init": 1}, "init, prepare and free were called 1, 0 and 0 times"),
        ("ipf", {"init": 1, "prepare": 2, "free": 1}, "were called 1, 2 and 1 times"),
        (
            "ipvf",
            {"init": 1, "prepare": 1, "invoke": 1, "free": 1},
            "invoke was called 1 times, and nothing was allocated",
        ),
    ],
)
def test_a_kernel_of_an_image_that_did_not_allocate_is_freed_and_never_invoked(order, calls, words):
    counts = {"init": 0, "prepare": 0, "invoke": 0, "free": 0, "reset": 0} | calls
    life = told("lifecycle", order=order, **counts)
    records = [*set_up(ATAN)[:2], told("failed"), life, told("stack"), told("end", status=1)]
    known = replace(known_of(Case("own"), None, ATAN, ()), lifecycles=frozenset({"Atan"}))
    said = [one for one in messages(records, known) if one.startswith("lifecycle")]
    assert len(said) == (words is not None)
    assert (words or "") in "".join(said)


def test_each_stack_is_told_once_and_fits():
    at = next(n for n, (kind, _) in enumerate(BUILTIN) if kind == "stack")
    assert "stack main came 2 times" in messages([*BUILTIN[:at], told("stack"), *BUILTIN[at:]])
    assert Kind.RECORD_CONTRADICTS in kinds(with_field(BUILTIN, "stack", "used", 4097))
    assert found(with_field(BUILTIN, "stack", "used", 4096)) == []
    assert Kind.RECORD_CONTRADICTS in kinds(with_field(BUILTIN, "stack", "used", 0))
    assert found(BUILTIN, replace(TABLE, stack_bytes=4096)) == []
    smaller = replace(TABLE, stack_bytes=4095)
    assert messages(BUILTIN, smaller) == ["stack main says 4096 bytes, the ELF has 4095"]


def test_another_stack_than_main_may_be_larger_than_that_of_main():
    at = next(n for n, (kind, _) in enumerate(BUILTIN) if kind == "stack")
    for name in ("idle", "worker"):
        more = [*BUILTIN[:at], told("stack", name=name, size=9999), *BUILTIN[at:]]
        assert found(more, replace(TABLE, stack_bytes=4096)) == []


def test_the_last_arena_is_the_one_that_allocations_fit_into():
    at = next(n for n, (kind, _) in enumerate(BUILTIN) if kind == "arena")
    for first, last in ((65536, 60001), (60001, 65536)):
        two = [told("arena", declared=size, used=60000) for size in (first, last)]
        records = [*BUILTIN[:at], *two, *BUILTIN[at + 1 :]]
        taken = sum(fields["used"] for kind, fields in BUILTIN if kind == "allocation")
        over = with_field(records, "allocation", "used", 60002 - taken + 8, nth=6)
        wanted = [f"allocations take 60002 bytes of an arena of {last}"] if last == 60001 else []
        assert [one for one in messages(over) if one.startswith("allocations take")] == wanted


def test_allocations_out_of_order_are_told_at_the_first():
    at = next(n for n, (kind, _) in enumerate(BUILTIN) if kind == "allocation")
    swapped = [*BUILTIN[:at], BUILTIN[at + 1], BUILTIN[at], *BUILTIN[at + 2 :]]
    (finding,) = found(swapped)
    assert finding.message.startswith(f"allocations of {ALLOCATIONS[1]}, {ALLOCATIONS[0]}, ")
    assert finding.line == at + 1


def test_eval_tensors_of_another_size_are_not_the_models():
    counted = next(fields["count"] for kind, fields in BUILTIN if kind == "allocation")
    for size in (12 * counted - 1, 12 * counted + 1):
        records = with_field(BUILTIN, "allocation", "requested", size)
        records = with_field(records, "allocation", "used", 12 * counted + 9)
        words = f"allocation of eval_tensor says {size} bytes for {counted} tensors"
        assert messages(records) == [words]


@pytest.mark.parametrize(
    ("field", "value", "nth"),
    [("count", 9, 0), ("requested", 12, 0), ("count", 4, 5), ("requested", 9, 6), ("used", 7, 6)],
)
def test_allocations_are_the_models(field, value, nth):
    assert Kind.RECORD_CONTRADICTS in kinds(with_field(BUILTIN, "allocation", field, value, nth))


def test_allocations_fit_into_the_arena():
    records = with_field(BUILTIN, "allocation", "used", 65536, nth=6)
    assert any("bytes of an arena of 65536" in one for one in messages(records))


@pytest.mark.parametrize(("status", "good"), [(2, False), (3, True)])
def test_end_has_the_status_of_the_last_failure(status, good):
    failures = [told("failed", status=2), told("failed", status=3)]
    records = [told("boot"), *failures, told("end", status=status)]
    wrong = [one for one in messages(records, Known()) if one.startswith("end says status")]
    assert wrong == ([] if good else ["end says status 2, failed says 3"])


@pytest.mark.parametrize(("status", "good"), [(0, False), (1, True), (2, False)])
def test_end_has_the_status_of_what_failed(status, good):
    records = [told("boot"), told("resolver"), told("failed"), told("stack")]
    records.append(told("end", status=status))
    known = replace(TABLE, model=None, facts=())
    assert (kinds(records, known) == {Kind.ALLOCATION_FAILED}) is good


def test_the_first_end_is_the_one_that_counts():
    again = [*BUILTIN, told("end", inferences=9)]
    assert "end says 9 inferences, 3 ended with status 0" not in messages(again, OWN)
    wrong = [*BUILTIN[:-1], told("end", inferences=9), BUILTIN[-1]]
    assert "end says 9 inferences, 3 ended with status 0" in messages(wrong, OWN)


def test_nothing_fails_with_status_0():
    records = [told("boot"), told("failed", status=0), told("end")]
    assert "failed at 'allocate' with status 0" in messages(records, Known())
    negative = with_field(records, "failed", "status", -1)
    assert not [one for one in messages(negative, Known()) if one.startswith("failed at")]


def test_an_image_that_neither_allocates_nor_fails_is_told():
    records = [*set_up(MODEL)[:2], told("failed", stage="input"), *closing(MODEL, 0)[-2:]]
    assert Kind.RECORD_MISSING in kinds(records, OWN)


# --- what is known


def test_of_an_image_that_nothing_is_known_of_nothing_is_wanted():
    assert Known() == Known(None, (), None, False, None, frozenset(), None, None)
    assert Measured() == Measured(None, None)


VARIANTS = [
    pytest.param(sample, row.name, id=f"{sample.name}-{row.name}") for sample, row in load().pairs()
]


def known_sample(sample: str, resolver: str) -> Known:
    case = sample_case(sample, resolver)
    return known_of(case, None, Model.from_file(case.model), ())


def facts(known: Known, kind: str, field: str) -> set[object]:
    return {value for fact in known.facts if (fact.kind, fact.field) == (kind, field)
            for value in fact.values}  # fmt: skip


def test_the_table_tells_what_a_sample_says():
    known = known_sample("hello_world", "too_large")
    assert facts(known, "boot", "sample") == {"hello_world"}
    assert facts(known, "boot", "runtime") == {"standalone"}
    assert facts(known, "resolver", "name") == {"too_large"}
    assert facts(known, "resolver", "declared") == {32}
    assert facts(known, "resolver", "registered") == {1}
    assert facts(known, "resolver", "refused") == {0}
    assert facts(known, "arena", "declared") == {3072}
    assert known.inferences == 20
    assert len(known.inputs or ()) == 20
    assert known.required >= {"resolver", "stack", "end", "input", "op", "allocation"}


def test_a_console_sample_knows_no_inputs_but_those_that_are_fed():
    case = sample_case("hello_world", "console")
    known = known_of(case, None, MODEL, BYTES)
    assert (known.inputs, known.fed, known.inferences) == (BYTES, True, 3)
    assert "input" not in known.required


def test_a_console_sample_that_nothing_was_fed_knows_no_inputs():
    known = known_of(sample_case("hello_world", "console"), None, MODEL, ())
    assert (known.inputs, known.fed, known.inferences) == (None, False, None)


def test_inputs_that_are_fed_are_the_truth_for_any_sample():
    known = known_of(sample_case("hello_world", "exact"), None, MODEL, BYTES)
    assert (known.inputs, known.fed, known.inferences) == (BYTES, True, 3)


def test_an_arena_that_is_just_enough_records_no_allocations():
    assert "allocation" not in known_sample("hello_world", "arena_fits").required


def test_own_kernels_count_their_calls():
    assert known_sample("atan", "exact").lifecycles == {"Atan"}
    assert known_sample("hello_world", "override").lifecycles == {"FULLY_CONNECTED"}
    assert known_sample("hello_world", "exact").lifecycles == frozenset()


def test_the_inputs_of_hello_world_go_once_around():
    rows = builtin_inputs(load().sample("hello_world"), MODEL)
    assert rows is not None
    assert b"".join(row[0] for row in rows)[:6] == bytes.fromhex("808d9aa6b3c0")
    real = builtin_inputs(
        load().sample("hello_world_float"),
        Model.from_file(paths.models() / "hello_world_float32.tflite"),
    )
    assert real is not None
    assert np.frombuffer(real[5][0], "<f4")[0] == np.float32(6.28318531) * 5 / 20


def test_the_inputs_of_a_test_set_are_its_first_rows():
    model = Model.from_file(paths.models() / "digits_int8.tflite")
    rows = builtin_inputs(load().sample("digits"), model)
    images = np.load(paths.models() / "digits_test.npz")["int8"]
    assert rows is not None
    assert [row[0] for row in rows] == [image.tobytes() for image in images[:10]]


def test_the_noise_of_benchmark_begins_with_the_inference():
    model = Model.from_file(paths.models() / "digits_int8.tflite")
    rows = builtin_inputs(load().sample("benchmark"), model)
    assert rows is not None
    assert len(rows) == 5
    assert [len(row[0]) for row in rows] == [64] * 5
    assert rows[0][0][0] == 1013904223 >> 24
    assert rows[2][0][0] == (2 * 1664525 + 1013904223) >> 24
