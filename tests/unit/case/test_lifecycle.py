"""Calls to a custom operator, held against the documented rules."""

from __future__ import annotations

import pytest
from device import lines, told

from harness.base import paths
from harness.base.errors import CheckFailed
from harness.case.lifecycle import Lifecycle, lifecycle, nodes_of

RIGHT = {"init": 1, "prepare": 1, "invoke": 10, "free": 1, "reset": 2}


def violations(order="iprvrf", inferences=10, nodes=1, **calls):
    return list(Lifecycle("Atan", RIGHT | calls, order, inferences).violations(nodes))


def test_a_documented_life_has_no_departures():
    assert violations() == []


def test_a_life_without_inferences_may_end_after_init_or_prepare():
    nothing = {"invoke": 0, "reset": 0}
    assert violations("if", inferences=0, prepare=0, **nothing) == []
    assert violations("ipf", inferences=0, **nothing) == []


@pytest.mark.parametrize("method", ["init", "prepare", "invoke", "free"])
@pytest.mark.parametrize("count", [0, 2])
def test_a_call_too_few_or_too_many_is_a_departure(method, count):
    assert violations(**{method: count})[0].startswith(f"{method} was called {count} times")


def test_calls_are_expected_of_every_node():
    twice = {"init": 2, "prepare": 2, "invoke": 20, "free": 2}
    assert violations(nodes=2, **twice) == []
    assert violations(nodes=1, **twice) != []


@pytest.mark.parametrize("order", ["", "pivf", "ivpf", "ipfv", "ipv", "iprvrfi", "ipvpvf"])
def test_another_order_is_a_departure(order):
    said = f"the calls came in the order {order or '(none)'}"
    assert violations(order) == [said]


@pytest.fixture
def console(tmp_path):
    def write(*records):
        file = tmp_path / "console.bin"
        file.write_bytes(lines(told(kind, **fields) for kind, fields in records))
        return file

    return write


def test_counts_are_read_from_the_record_and_inferences_from_theirs(console):
    file = console(
        ("inference", {"index": 0, "status": 0}),
        ("inference", {"index": 1, "status": 0}),
        ("inference", {"index": 2, "status": 1}),
        ("lifecycle", {"operator": "Atan", **RIGHT, "order": "iprvrf"}),
    )
    assert lifecycle(file, "Atan") == Lifecycle("Atan", RIGHT, "iprvrf", 2)


def test_a_console_without_the_record_fails(console):
    file = console(("lifecycle", {"operator": "Other", **RIGHT, "order": "iprvrf"}))
    with pytest.raises(CheckFailed, match="0 lifecycle records of Atan"):
        lifecycle(file, "Atan")


def test_a_console_with_several_of_the_record_fails(console):
    life = ("lifecycle", {"operator": "Atan", **RIGHT, "order": "iprvrf"})
    with pytest.raises(CheckFailed, match="2 lifecycle records of Atan"):
        lifecycle(console(life, life), "Atan")


def test_nodes_are_counted_in_the_model():
    assert nodes_of(paths.models() / "atan_float32.tflite", "Atan") == 1


def test_a_model_without_the_operator_proves_nothing():
    with pytest.raises(CheckFailed, match="no operator Atan"):
        nodes_of(paths.models() / "hello_world_int8.tflite", "Atan")
