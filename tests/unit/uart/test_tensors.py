"""Tensors that are joined from records: by their parts, in the order of their inferences."""

import pytest
from device import console_of, kinds, lines, parts, told
from hypothesis import given
from hypothesis import strategies as st

from harness.base.findings import Kind
from harness.uart import TensorKey


@given(st.binary(min_size=1, max_size=100))
def test_a_tensor_is_joined_from_its_parts(data):
    told_parts = parts("output", 3, 0, data)
    console = console_of(lines([told("boot"), *told_parts]))
    assert dict(console.tensors) == {TensorKey("output", 3, 0): data}


def test_tensors_are_found_by_kind_inference_index_and_node():
    console = console_of(
        lines(
            [
                *parts("input", 0, 0, b"a"), *parts("input", 0, 1, b"b"),
                *parts("output", 0, 0, b"c"), *parts("input", 2, 0, b"d"),
                *parts("layer", 0, 0, b"e", node=1, operator="ADD"),
            ]
        )
    )  # fmt: skip
    tensors = console.tensors
    assert tensors[TensorKey("input", 0, 0)] == b"a"
    assert tensors[TensorKey("input", 2, 0)] == b"d"
    assert tensors[TensorKey("input", 0, 1)] == b"b"
    assert tensors[TensorKey("layer", 0, 0, 1)] == b"e"
    assert list(tensors.inferences("input", 0)) == [0, 2]
    assert list(tensors.inferences("input", 5)) == []
    assert tensors.places("input") == [(0, -1), (1, -1)]
    assert len(tensors) == 5
    for missing in (("input", 1, 0), ("input", 9, 0), ("input", 0, 7), ("layer", 0, 0)):
        assert TensorKey(*missing) not in tensors


def torn(*offsets: int) -> list[Kind]:
    """The findings about an 8-byte tensor of 4-byte parts."""
    made = [told("output", offset=offset, total=8) for offset in offsets]
    return kinds(console_of(lines([told("boot"), told("failed"), *made])))


@pytest.mark.parametrize("offsets", [(0,), (4,), (4, 0), (0, 0), (4, 4), (0, 4, 4), (0, 2)])
def test_parts_out_of_order_are_a_finding(offsets):
    found = torn(*offsets)
    assert Kind.RECORD_TRUNCATED in found


def test_parts_in_order_have_no_finding():
    assert Kind.RECORD_TRUNCATED not in torn(0, 4)


@pytest.mark.parametrize("totals", [(8, 9), (12, 8, 12)])
def test_a_part_with_another_total_is_a_finding(totals):
    made = [told("output", offset=4 * n, total=total) for n, total in enumerate(totals)]
    console = console_of(lines([told("boot"), told("failed"), *made]))
    assert Kind.RECORD_TRUNCATED in kinds(console)
    assert not console.tensors


def test_a_tensor_with_parts_too_many_is_one_finding():
    sizes = (4, 8, 4)
    made = [told("output", offset=0, total=8, hex="00" * size) for size in sizes]
    console = console_of(lines([told("boot"), *made, told("end")]))
    torn = [f for f in console.findings if f.kind is Kind.RECORD_TRUNCATED]
    message = "output 0 of inference 0: 16 of 8 bytes, or not in order"
    assert [(f.line, f.message) for f in torn] == [(2, message)]


@pytest.mark.parametrize("node", [0, 3])
def test_an_incomplete_layer_is_reported_with_its_node(node):
    console = console_of(lines([told("boot"), told("layer", node=node, total=8), told("end")]))
    torn = next(f for f in console.findings if f.kind is Kind.RECORD_TRUNCATED)
    assert torn.subject == "layer"
    message = f"layer 0 of inference 0, node {node}: 4 of 8 bytes, or not in order"
    assert torn.message == message


def test_a_repeated_tensor_is_a_finding_and_the_first_is_kept():
    again = [*parts("output", 0, 0, b"a"), *parts("output", 0, 0, b"b")]
    console = console_of(lines([told("boot"), *again]))
    assert Kind.RECORD_REPEATED in kinds(console)
    assert dict(console.tensors) == {TensorKey("output", 0, 0): b"a"}


def test_a_tensor_of_an_earlier_inference_is_a_finding_and_is_not_taken():
    console = console_of(
        lines([told("boot"), *parts("output", 1, 0, b"a"), *parts("output", 0, 0, b"b")])
    )
    again = next(f for f in console.findings if f.kind is Kind.RECORD_REPEATED)
    assert (again.subject, again.line) == ("output", 3)
    assert again.message == "output 0 of inference 0 came again, or after a later one"
    assert dict(console.tensors) == {TensorKey("output", 1, 0): b"a"}
