"""Lifecycles, stacks, allocations and the last status: what an image tells at its end."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from device import Told, builtin_run, closing, set_up, told
from evidence_runs import BUILTIN, BYTES, MODEL, OWN, TABLE, found, kinds, messages, with_field

from harness.base import paths
from harness.base.findings import Kind
from harness.build.table import load
from harness.case.case import Case
from harness.case.evidence import Known, Measured, known_of
from harness.case.evidence.builtin import builtin_inputs
from harness.case.lifecycle import METHODS
from harness.case.samples import sample_case
from harness.model import Model
from harness.uart.records import ALLOCATIONS

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


def test_the_inputs_of_a_test_set_are_its_first_rows_and_the_vectors_behind_them():
    model = Model.from_file(paths.models() / "digits_int8.tflite")
    rows = builtin_inputs(load().sample("digits"), model)
    images = np.load(paths.models() / "digits_test.npz")["int8"]
    assert rows is not None
    vectors = np.load(paths.models() / "digits_vectors.npz")["int8"]
    assert [row[0] for row in rows] == [row.tobytes() for row in (*images[:10], *vectors)]


def test_the_noise_of_benchmark_begins_with_the_inference():
    model = Model.from_file(paths.models() / "digits_int8.tflite")
    rows = builtin_inputs(load().sample("benchmark"), model)
    assert rows is not None
    assert len(rows) == 5
    assert [len(row[0]) for row in rows] == [64] * 5
    assert rows[0][0][0] == 1013904223 >> 24
    assert rows[2][0][0] == (2 * 1664525 + 1013904223) >> 24
