"""Counts of a campaign, their groups, and the intervals of rates."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.studies.campaign.baseline import Baseline, FaultSite
from harness.studies.campaign.summary import CampaignSummary, wilson

WEIGHTS = (
    FaultSite("kernel", "weights", 0, 100, 1, 1, (0,)),
    FaultSite("bias", "weights", 100, 4, 2, 4, (0,)),
)
BASELINE = Baseline(0, 0, 0, 1000, 1000, 0, (), (), WEIGHTS, (), (), ())


def record(**fields) -> dict:
    usual = {
        "model": "weights", "region": "weights", "tensor": "kernel", "operator": "0 CONV_2D",
        "offset": 0, "bit": 0, "outcome": "masked", "detail": "", "verdict": "",
    }  # fmt: skip
    return usual | fields


@pytest.fixture
def summary() -> CampaignSummary:
    return CampaignSummary(BASELINE)


def groups(summary, wanted):
    return [value for _, group, value, _ in summary.groups() if group == wanted]


def test_numbers_in_names_are_in_the_order_of_numbers(summary):
    for number in (10, 2, 1):
        summary.add(record(operator=f"{number} CONV_2D"))
    assert groups(summary, "operator") == ["1 CONV_2D", "2 CONV_2D", "10 CONV_2D"]


def test_the_same_bit_of_elements_of_other_widths_is_another_bit(summary):
    for tensor in ("bias", "kernel"):
        summary.add(record(tensor=tensor, bit=7))
    assert groups(summary, "bit") == ["8-bit, 7", "32-bit, 7"]


def test_group_of_one_value_is_left_out(summary):
    summary.add(record())
    assert groups(summary, "tensor") == []


def test_exposures_are_sorted_by_rate_times_size(summary):
    for tensor, outcome in [
        ("bias", "critical"),
        *[("kernel", "masked")] * 9,
        ("kernel", "critical"),
    ]:
        summary.add(record(tensor=tensor, outcome=outcome))
    assert [(one.name, one.share) for one in summary.exposures()] == [
        ("kernel", 10.0),
        ("bias", 4.0),
    ]


def test_a_verdict_that_passes_is_counted_against_the_harness(summary):
    summary.add(record(outcome="critical", verdict="fail"))
    assert not summary.passed
    summary.add(record(outcome="critical", verdict="pass"))
    assert summary.passed == 1


# -- intervals of rates ------------------------------------------------------------------------


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


def test_interval_without_trials_is_0_to_1():
    assert wilson(0, 0) == (0.0, 1.0)


@given(st.integers(1, 10_000).flatmap(lambda of: st.tuples(st.integers(0, of), st.just(of))))
def test_an_interval_holds_the_rate_and_lies_between_zero_and_one(pair):
    hits, of = pair
    low, high = wilson(hits, of)
    assert 0 <= low <= hits / of <= high <= 1
