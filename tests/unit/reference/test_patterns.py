"""Patterns of values that differ: each with values that look alike and do not have it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from harness.reference.patterns import (
    INFERENCES,
    RESULTS,
    Rows,
    Values,
    pattern,
    pattern_of_labels,
)

EXPECTED = np.random.default_rng(3).integers(-100, 100, (6, 2, 3)).astype(np.int8)
REALS = EXPECTED / 7.0


def found(obtained: np.ndarray, expected: np.ndarray, allowed: float = 0.0, rows=INFERENCES) -> str:
    wrong = ~(np.abs(obtained.astype(float) - expected) <= allowed)
    return pattern(Values(obtained, expected, wrong, allowed, rows))


def late(x: np.ndarray) -> np.ndarray:
    return np.concatenate([x[:1] + 1, x[:-1]])


def early(x: np.ndarray) -> np.ndarray:
    return np.concatenate([x[1:], x[:1] + 1])


def with_one_wrong(x: np.ndarray) -> np.ndarray:
    y = x.copy()
    at = y.size // 2
    y.flat[at] = 5 if np.isnan(y.flat[at]) else y.flat[at] - 3
    return y


PATTERNS: dict[str, tuple[Callable[[np.ndarray], np.ndarray], np.ndarray, str]] = {
    "late": (late, EXPECTED, "is that of the inference before"),
    "early": (early, EXPECTED, "is that of the inference after"),
    "the same": (lambda x: np.zeros_like(x) + x[:1], EXPECTED, "is the same in each inference"),
    "zeros": (np.zeros_like, EXPECTED, "is 0 everywhere"),
    "saturated": (lambda x: np.full_like(x, 127), EXPECTED, "is 127 everywhere, saturated"),
    "nan": (lambda x: np.full_like(x, np.nan), REALS, "is nan everywhere"),
    "swapped axes": (lambda x: np.swapaxes(x, 1, 2).reshape(x.shape), EXPECTED,
                     "has axis 0 and axis 1 swapped"),
    "swapped bytes": (lambda x: x.byteswap(), EXPECTED.astype(np.int16) * 99,
                      "has the bytes of each element swapped"),
    "reversed": (lambda x: x[..., ::-1], EXPECTED, "has axis 1 reversed"),
    "unsigned": (lambda x: np.where(x < 0, x + 256, x), EXPECTED.astype(np.float64),
                 "is 256 too large where it is negative: signed, read as unsigned"),
    "signed": (lambda x: np.where(x > 127, x - 256, x), EXPECTED.astype(np.float64) + 100,
               "is 256 too small from 128 on: unsigned, read as signed"),
    "offset": (lambda x: x + 2.5, REALS, "is off by 2.5 everywhere"),
    "inverted": (lambda x: 1 - x, REALS, "is inverted: 1 - x for x"),
    "inverted bytes": (lambda x: ~x, EXPECTED, "is inverted: -1 - x for x"),
    "first part": (lambda x: x * (np.arange(6) < 3).reshape(2, 3), EXPECTED,
                   "is right in its first 3 of 6 elements only"),
    "factor": (lambda x: x * 1000, REALS, "is 1000 times what is expected"),
    "fraction": (lambda x: x / 20, REALS, "is 1/20 times what is expected"),
    "sign": (lambda x: -x, REALS, "has the opposite sign"),
    "one step": (lambda x: x ^ np.int8(1), EXPECTED,
                 "differs by 1 LSB at most: a rounding difference?"),
    "from one on": (lambda x: np.concatenate([x[:4], x[4:] * 2 + x[4:] ** 2]), REALS,
                    "is right before, and wrong from inference 4 on"),
}  # fmt: skip


@pytest.mark.parametrize(("change", "expected", "text"), PATTERNS.values(), ids=PATTERNS)
def test_a_pattern_that_predicts_every_value(change, expected, text):
    assert found(change(expected), expected) == text


#: One value that is otherwise leaves of these patterns one that says less.
WEAKER = {"one step", "from one on"}


@pytest.mark.parametrize("name", sorted(PATTERNS.keys() - WEAKER))
def test_one_value_that_is_otherwise_is_no_such_pattern(name):
    change, expected, text = PATTERNS[name]
    assert found(with_one_wrong(change(expected)), expected) != text


@pytest.mark.parametrize("name", sorted(PATTERNS.keys() - WEAKER - {"zeros", "saturated", "nan"}))
def test_two_different_values_show_no_pattern(name):
    change, expected, _ = PATTERNS[name]
    few = np.where(expected > 0, expected.flat[0], expected.flat[1]).astype(expected.dtype)
    assert found(change(few), few) in ("", *(f"is {one:.6g} everywhere" for one in few.flat))


def test_values_are_equal_within_what_is_allowed():
    noise = np.resize([0.004, -0.004, 0.0], REALS.shape)
    assert found(REALS * 3 + noise, REALS, 0.01) == "is 3 times what is expected"
    assert found(REALS * 3 + 20 * noise, REALS, 0.01) == ""


def test_without_rows_the_first_axis_is_one_of_the_tensor():
    shifted = "is shifted by 6 elements towards the end"
    assert found(late(EXPECTED), EXPECTED, rows=None) == shifted
    wrong = EXPECTED.ravel().copy()
    wrong[30:] ^= 5
    assert found(wrong, EXPECTED.ravel(), rows=None) == (
        "is right before, and wrong from element 30 on"
    )


def test_rows_are_counted_from_their_first_number():
    values = np.arange(6.0) ** 2
    wrong = values.copy()
    wrong[3:] += [7, 40, 2]
    assert found(wrong, values, rows=RESULTS) == "is right before, and wrong from result 4 on"
    assert found(wrong, values, rows=Rows("line", 10)).endswith("from line 13 on")


@pytest.mark.parametrize(
    ("obtained", "expected", "text"),
    [
        ("none a b a", "a b c b", "is off by one in the list: 'none' for 'a', 'a' for 'b', "
                                  "'b' for 'c'"),
        ("b b c a c", "a a b c b", "is off by one in the list: 'b' for 'a', 'c' for 'b', "
                                 "'a' for 'c'"),
        ("b a a b", "a b b a", "is 'b' for 'a', 'a' for 'b'"),
        ("x y z", "a b c", ""),  # any labels that come once
        ("x y x", "a b b", ""),
        ("a a a a", "a b c a", "is 'a' everywhere"),
        ("x a b a c", "a b a c d", "is that of the result before"),
    ],
)  # fmt: skip
def test_patterns_of_labels(obtained, expected, text):
    assert pattern_of_labels(obtained.split(), expected.split(), RESULTS) == text
