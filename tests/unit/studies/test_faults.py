"""Faults on a line, in RAM, and in a decision."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.studies.campaign.baseline import OutputTensor
from harness.studies.campaign.brownout import BrownOut
from harness.studies.campaign.faults import InjectedFault
from harness.studies.campaign.inject import compare
from harness.studies.campaign.line_faults import damaged

#: What a host sends, in as many writes as it likes.
WRITES = st.lists(st.binary(max_size=12), min_size=1, max_size=6)


def fault(model: str, address: int, mask: int) -> InjectedFault:
    return InjectedFault(0, model, 0, address, mask, "line", "run", "", -1)


def arrived(writes: list[bytes], one: InjectedFault) -> bytes:
    """All that arrives of some writes."""
    found, start = b"", 0
    for data in writes:
        found += damaged(data, start, one)
        start += len(data)
    return found


@given(WRITES, st.integers(0, 80), st.integers(1, 9))
def test_lost_bytes_are_missing_however_they_were_written(writes, address, count):
    sent = b"".join(writes)
    expected = sent[:address] + sent[address + count :]
    assert arrived(writes, fault("lost", address, count)) == expected


@given(WRITES, st.integers(0, 80), st.integers(0, 2**40 - 1))
def test_noise_flips_its_bits_however_they_were_written(writes, address, mask):
    sent = b"".join(writes)
    flips = bytes(address) + mask.to_bytes(5, "little")
    expected = bytes(a ^ b for a, b in zip(sent, flips.ljust(len(sent), b"\0"), strict=False))
    assert arrived(writes, fault("noise", address, mask)) == expected


@pytest.mark.parametrize("halvings", range(5))
def test_a_brown_out_loses_its_share_of_bits_and_half_of_those_change(halvings):
    size = 1 << 16
    left = BrownOut(1, 0, halvings).corrupt(bytes(size))
    changed = int.from_bytes(left, "little").bit_count() / (8 * size)
    assert changed == pytest.approx(0.5 / 2**halvings, rel=0.05)


@given(st.integers(0, 2**32 - 1))
def test_a_brown_out_follows_from_its_seed(seed):
    one, same = BrownOut.of(seed), BrownOut.of(seed)
    assert one == same
    assert one.corrupt(b"content") == same.corrupt(b"content")


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
