"""Intervals of rates."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.studies.campaign.summary import wilson


@pytest.mark.parametrize(
    ("hits", "of", "low", "high"),
    [
        (0, 10, 0.0, 0.2775),
        (5, 10, 0.2366, 0.7634),
        (10, 10, 0.7225, 1.0),
        (1, 100, 0.0018, 0.0545),
    ],
)
def test_intervals_are_those_of_the_textbook(hits, of, low, high):
    assert wilson(hits, of) == pytest.approx((low, high), abs=5e-5)


def test_nothing_tried_says_nothing():
    assert wilson(0, 0) == (0.0, 1.0)


@given(st.integers(1, 10_000).flatmap(lambda of: st.tuples(st.integers(0, of), st.just(of))))
def test_an_interval_holds_the_rate_and_lies_between_zero_and_one(pair):
    hits, of = pair
    low, high = wilson(hits, of)
    assert 0 <= low <= hits / of <= high <= 1
