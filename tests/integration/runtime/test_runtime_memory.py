"""The arena: errors in TFLM's words, a smallest size that is exact, a plan that never overlaps."""

from __future__ import annotations

import re
from functools import cache
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.base import paths

ALIGNMENT = 16

lifetimes = st.lists(
    st.tuples(st.integers(1, 40), st.integers(0, 12), st.integers(0, 6)), min_size=1, max_size=25
)


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(drawn=lifetimes)
def test_plan_never_overlaps_buffers_that_live_together(host, drawn):
    buffers = [(size * ALIGNMENT, first, first + length) for size, first, length in drawn]
    text = "".join(f"{size} {first} {last}\n" for size, first, last in buffers)
    needed, *offsets = map(int, host.call("plan", data=text.encode()).output.split())
    assert len(offsets) == len(buffers)
    placed = list(zip(buffers, offsets, strict=True))
    assert needed == max(offset + size for (size, _, _), offset in placed)
    for number, ((size, first, last), offset) in enumerate(placed):
        for (other_size, other_first, other_last), other in placed[:number]:
            together = first <= other_last and other_first <= last
            apart = offset + size <= other or other + other_size <= offset
            assert apart or not together


@settings(max_examples=50, deadline=None)
@given(sizes=st.lists(st.integers(1, 40), min_size=2, max_size=20))
def test_buffers_of_a_chain_need_no_more_than_its_largest_neighbours(host, sizes):
    # Node n reads buffer n and writes buffer n + 1.
    text = "".join(f"{16 * size} {max(0, n - 1)} {n}\n" for n, size in enumerate(sizes))
    needed = int(host.call("plan", data=text.encode()).output.split()[0])
    largest = max(16 * (a + b) for a, b in pairwise(sizes))
    assert largest <= needed <= 2 * 16 * max(sizes) + 16 * max(sizes)


SAMPLES = ["hello_world_int8", "digits_int8", "digits_cnn_int8", "residual_int8", "chime_int8"]


@pytest.fixture(params=SAMPLES)
def model(request):
    return paths.models() / f"{request.param}.tflite"


@pytest.fixture(scope="module")
def smallest(host):
    """The smallest arena of a model, searched for once."""

    @cache
    def search(model):
        low, high = 0, 1 << 16
        assert host.run(model, b"", high * ALIGNMENT).status == 0
        while high - low > 1:
            middle = (low + high) // 2
            if host.run(model, b"", middle * ALIGNMENT).status == 0:
                high = middle
            else:
                low = middle
        return high * ALIGNMENT

    return search


def test_one_byte_short_of_the_smallest_arena_fails_and_says_by_how_much(host, smallest, model):
    size = smallest(model)
    ran = host.run(model, b"", size - 1)
    assert ran.status == 3
    assert "failed to prepare" not in ran.log
    told = re.search(
        r"Failed to (?:allocate (?:tail|temp) memory|resize buffer)\. "
        r"Requested: (\d+), available (\d+), missing: (\d+)\r\n",
        ran.log,
    )
    assert told, ran.log
    requested, available, missing = map(int, told.groups())
    assert missing == requested - available > 0


def test_every_arena_below_the_smallest_fails_in_words_and_never_crashes(host, smallest, model):
    size = smallest(model)
    steps = max(ALIGNMENT, size // 60 // ALIGNMENT * ALIGNMENT)
    for arena in range(0, size, steps):
        ran = host.run(model, b"", arena)
        assert ran.status == 3, arena
        assert "Failed to " in ran.log, arena


def test_arena_used_is_at_most_the_smallest_arena(host, smallest, model):
    size = smallest(model)
    used = int(re.search(r"used (\d+)", host.run(model, b"", size).log).group(1))
    assert 0 < used <= size


def test_resolver_refuses_in_tflms_words_and_order(host):
    ran = host.call("resolver")
    assert ran.log == (
        "Calling AddBuiltin with the same op more than \r\n"
        "once is not supported (Op: #9).\r\n"
        "Couldn't register builtin op #25, resolver size \r\n"
        "is too small (1).\r\n"
        "Couldn't register custom op 'Atan', resolver size is toosmall (1)\r\n"
        "Calling AddCustom for the same op more than once \r\n"
        "is not supported (Op: Atan).\r\n"
        "Couldn't register custom op 'Atan', resolver size is toosmall (2)\r\n"
    )
    assert ran.output == b"1 2\n1 0\n1 0\n"


def test_missing_custom_operator_is_not_named(host):
    ran = host.run(paths.models() / "atan_float32.tflite", b"")
    assert ran.status == 3
    assert ran.log == "Failed to get registration from op code CUSTOM\n \r\n"
