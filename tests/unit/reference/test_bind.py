"""Buffers of bound operators, and the calls on them."""

from __future__ import annotations

import numpy as np
import pytest

from harness.reference.bind import (
    MAX_BUFFER,
    MAX_KEPT,
    TooLarge,
    Workspace,
    copied,
    every_value,
    looked_up,
    moves,
    product_of,
    value_table,
)


def test_a_kept_buffer_is_nobody_elses_and_filled() -> None:
    work = Workspace()
    one, other = work.keep((2, 3), np.int16, 7), work.keep((2, 3), np.int16)
    assert (one.dtype, one.tolist(), other.tolist()) == (np.int16, [[7] * 3] * 2, [[0] * 3] * 2)
    assert not np.shares_memory(one, other)


def test_a_shared_buffer_is_one_memory_for_each_name() -> None:
    work = Workspace()
    one, again = work.share("sums", (2, 3), np.float64), work.share("sums", (4,), np.int8)
    other = work.share("index", (4,), np.int8)
    assert (one.shape, one.dtype, again.shape, again.dtype) == ((2, 3), np.float64, (4,), np.int8)
    assert np.shares_memory(one, again)
    assert not np.shares_memory(one, other)


@pytest.mark.parametrize("kind", ["keep", "share"])
def test_a_buffer_has_half_a_megabyte_at_most_and_one_element_at_least(kind: str) -> None:
    def make(*shape: int) -> np.ndarray:
        work = Workspace()
        return work.keep(shape, np.int16) if kind == "keep" else work.share("x", shape, np.int16)

    assert make(MAX_BUFFER // 2).nbytes == MAX_BUFFER
    assert make(1).size == 1
    for shape in ((MAX_BUFFER // 2 + 1,), (3, 0)):
        with pytest.raises(TooLarge):
            make(*shape)


def test_kept_buffers_have_sixteen_megabytes_together() -> None:
    work = Workspace()
    for _ in range(MAX_KEPT // MAX_BUFFER):
        work.keep((MAX_BUFFER,), np.uint8)
    with pytest.raises(TooLarge):
        work.keep((1,), np.uint8)


@pytest.mark.parametrize(
    ("rows", "depth", "columns", "fits"),
    [(1, 64, 128, True), (1, 64, 129, False), (2, 1024, 128, True), (2, 1024, 129, False)],
)
def test_a_product_is_bound_where_one_thread_computes_it(
    rows: int, depth: int, columns: int, *, fits: bool
) -> None:
    """Up to 2^13 products of one row, up to 2^18 of several."""
    x, matrix = np.ones((rows, depth)), np.full((depth, columns), 2.0)
    y = np.zeros((rows, columns))
    if not fits:
        with pytest.raises(TooLarge):
            product_of(x, matrix, y)
        return
    product_of(x, matrix, y)()
    assert np.array_equal(y, np.full((rows, columns), 2.0 * depth))


def test_a_copy_takes_the_targets_type() -> None:
    target, source = np.zeros(3, np.int8), np.array([1.9, -1.9, 3])
    call = copied(target, source)
    assert target.tolist() == [0, 0, 0]
    call()
    assert target.tolist() == [1, -1, 3]


def test_a_look_up_goes_no_further_than_its_table_unless_it_wraps() -> None:
    table, index, y = np.array([5, 6, 7], np.int8), np.array([-2, 1, 4]), np.zeros(3, np.int8)
    looked_up(table, index, y)()
    assert y.tolist() == [5, 6, 7]
    looked_up(table, index, y, "wrap")()
    assert y.tolist() == [6, 6, 6]


def test_values_in_the_order_of_their_bits_are_first_the_positive_ones() -> None:
    assert every_value().tolist() == [*range(128), *range(-128, 0)]
    assert every_value("uint8").tolist() == [*range(256)]
    assert every_value("int16")[[0, -1, 1 << 15]].tolist() == [0, -1, -(1 << 15)]


@pytest.mark.parametrize("dtype", ["int8", "int16"])
def test_a_table_of_values_gives_the_same_bound_and_not(dtype: str) -> None:
    operator = value_table((every_value(dtype) // 2).astype(np.int8), dtype)
    x, y = np.array([[-128, -1, 0, 127]], dtype), np.zeros((1, 4), np.int8)
    expected = [[-64, -1, 0, 63]]
    assert operator([x])[0].tolist() == expected
    for call in operator.bind([x], [y], Workspace()) or []:
        call()
    assert y.tolist() == expected


def test_moves_are_views_and_are_not_bound_to_other_shapes() -> None:
    operator = moves(lambda values: [values[0].T, values[0][:1]])
    x, outputs = np.arange(6).reshape(2, 3), [np.zeros((3, 2), int), np.zeros((1, 3), int)]
    for call in operator.bind([x], outputs, Workspace()) or []:
        call()
    assert outputs[0].tolist() == [[0, 3], [1, 4], [2, 5]]
    assert outputs[1].tolist() == [[0, 1, 2]]
    assert [each.tolist() for each in operator([x])] == [each.tolist() for each in outputs]
    assert operator([x])[0].flags.c_contiguous
    assert operator.bind([x], outputs[::-1], Workspace()) is None
