"""Records held against model, table, ELF, the host's own doing, and each other."""

from __future__ import annotations

import copy
from dataclasses import replace

import pytest
from device import Told, closing, set_up, told
from evidence_runs import (
    BUILTIN,
    FED,
    HOST,
    MODEL,
    OWN,
    ROWS,
    SENT,
    TABLE,
    console_of,
    found,
    kinds,
    messages,
    with_field,
    without,
)
from model_builder import Graph, T, build_graphs

from harness.base.findings import Kind
from harness.case.case import Case
from harness.case.evidence import Fact, Known, Measured, check_evidence, known_of
from harness.case.evidence.known import tensor_bytes
from harness.case.outputs import check_outputs
from harness.model import Model
from harness.uart.records import ALLOCATIONS


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
