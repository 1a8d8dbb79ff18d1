"""How much of a stack was used, by its unwritten bytes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.base.power_on import pattern
from harness.targets.stacks import used_above_gap, used_bytes

PAINT = 0xA5
BEGIN, SEED = 0x2000_0100, 1
FRESH = pattern(SEED, BEGIN, 256)
WRITTEN = bytes(one ^ 0xFF for one in FRESH)


@pytest.mark.parametrize(
    ("stack", "used"),
    [
        (bytes([PAINT]) * 64, 0),
        (b"\xaa" * 40 + b"\x01" * 24, 24),
        (bytes(60) + b"\7\0\0\0", 4),
        (bytes([PAINT]) * 8 + bytes(56), None),
        (bytes(range(64)), None),
        (b"\x07" * 15 + bytes(range(8, 57)), None),
        (b"\x07" * 16 + bytes(range(8, 56)), 48),
    ],
    ids=["unused", "painted", "cleared", "less than paint", "full", "15 equal", "16 equal"],
)
def test_equal_bytes_at_the_end_are_unused(stack, used):
    assert used_bytes(stack, BEGIN, None) == used


@given(st.integers(16, 300), st.binary(min_size=1, max_size=300))
def test_a_stack_is_used_to_its_deepest_written_byte(free, written):
    stack = bytes([PAINT]) * free + written
    assert used_bytes(stack, BEGIN, None) == len(written.lstrip(bytes([PAINT])))


def test_bytes_with_their_content_of_power_on_are_unused():
    assert used_bytes(FRESH[:100] + WRITTEN[100:], BEGIN, SEED) == 156


@pytest.mark.parametrize(
    ("memory", "used"),
    [
        (WRITTEN[:60] + FRESH[60:200] + WRITTEN[200:], 56),
        (FRESH[:200] + WRITTEN[200:], 56),
        (WRITTEN[:60] + FRESH[60:123] + WRITTEN[123:], None),
        (WRITTEN, None),
        (FRESH, 0),
    ],
    ids=["heap below", "no heap", "row of 63 bytes", "they have met", "unused"],
)
def test_a_gap_separates_a_stack_from_the_heap_below_it(memory, used):
    assert used_above_gap(memory, BEGIN, SEED) == used
