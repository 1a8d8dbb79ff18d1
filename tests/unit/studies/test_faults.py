"""Whether changed outputs are the same decision."""

from __future__ import annotations

import struct

import pytest

from harness.studies.campaign.baseline import OutputTensor
from harness.studies.campaign.inject import compare


def output(dtype: str, scale: float = 0.0) -> OutputTensor:
    return OutputTensor(0, dtype, scale, 0, "")


@pytest.mark.parametrize(
    ("before", "after", "changed", "same"),
    [
        ([1, 5, 2], [1, 5, 2], 0, True),
        ([1, 5, 2], [3, 5, 4], 2, True),  # tolerable: still the second
        ([1, 5, 2], [1, 5, 9], 1, False),
        ([1, 5, 2], [1, 1, 2], 1, False),
        ([-5, 5, -5], [5, 5, -5], 1, False),  # as large as the first: the first is taken
    ],
)
def test_the_largest_of_several_values_is_the_decision(before, after, changed, same):
    given, got = struct.pack("3b", *before), struct.pack("3b", *after)
    assert compare(output("int8"), given, got, 100.0) == (changed, same)


@pytest.mark.parametrize(("after", "same"), [(10, True), (12, True), (13, False), (7, False)])
def test_a_single_value_may_move_by_the_tolerance_in_its_own_unit(after, same):
    given, got = struct.pack("b", 10), struct.pack("b", after)
    assert compare(output("int8", 0.5), given, got, 1.0) == (int(after != 10), same)


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_nan_is_not_a_decision(value):
    given, got = struct.pack("2f", 1, 2), struct.pack("2f", 1, value)
    assert compare(output("float32"), given, got, 1e9) == (1, False)
