"""Numbers that a user may give: what is one, and what is none."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.base import numbers
from harness.base.errors import UsageError

NO_NUMBERS = [None, True, "", "soon", [], "1e999", math.nan, math.inf, -math.inf, -1, 10**400]


@pytest.mark.parametrize("value", [*NO_NUMBERS, 0, 1e308, "-5", "nan"])
def test_a_time_is_finite_above_zero_and_at_most_a_year(value: object) -> None:
    with pytest.raises(ValueError, match=r"is no|too long"):
        numbers.seconds(value)


@pytest.mark.parametrize("value", [1, 0.001, "5", "1e3", numbers.MOST_SECONDS])
def test_times(value: object) -> None:
    assert numbers.seconds(value) == float(str(value))


def test_zero_seconds_are_a_time_where_waiting_may_be_left_out() -> None:
    assert numbers.seconds_or_zero(0) == 0


@pytest.mark.parametrize("value", [*NO_NUMBERS, 0, 1.5, 10**12])
def test_a_count_is_a_whole_number_from_one(value: object) -> None:
    with pytest.raises(ValueError, match="is not a whole number from 1"):
        numbers.count(value)


@pytest.mark.parametrize("value", [*NO_NUMBERS, 0, -5, 1.5, 10**9])
def test_a_baud_rate_is_one_that_a_serial_port_may_have(value: object) -> None:
    with pytest.raises(ValueError, match="is not a baud rate"):
        numbers.baud(value)
    assert numbers.baud(115200) == 115200


@pytest.mark.parametrize("value", NO_NUMBERS)
def test_a_tolerance_is_finite_and_not_negative(value: object) -> None:
    with pytest.raises(ValueError, match="is not a tolerance"):
        numbers.tolerance(value)
    assert numbers.tolerance(0) == 0


@pytest.mark.parametrize("value", [None, True, "", [], math.nan, math.inf, 10**400, 0])
def test_a_factor_is_finite_and_not_zero(value: object) -> None:
    with pytest.raises(ValueError, match="is not a factor"):
        numbers.factor(value)
    assert numbers.factor(-0.01) == -0.01


@pytest.mark.parametrize("value", [None, True, "", [], math.nan, -math.inf, 10**400])
def test_a_limit_is_finite(value: object) -> None:
    with pytest.raises(ValueError, match="is not a finite number"):
        numbers.finite(value)
    assert numbers.finite(-5) == -5


ANYTHING = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(), st.binary())


@pytest.mark.parametrize("check", [numbers.seconds, numbers.count, numbers.baud, numbers.tolerance])
@given(value=ANYTHING)
def test_whatever_is_given_a_number_comes_or_a_sentence(
    check: Callable[[object], float], value: object
) -> None:
    try:
        assert math.isfinite(check(value))
    except ValueError as refused:
        assert "\n" not in str(refused)
        assert len(str(refused)) < 200


def test_a_wrong_number_is_a_usage_error_with_its_place() -> None:
    with pytest.raises(UsageError, match=r"^case 'a': timeout: -1 is not a time"):
        numbers.given(numbers.seconds, -1, "case 'a': timeout")
    assert numbers.given(numbers.baud, numbers.whole("9600"), "baud") == 9600
    with pytest.raises(UsageError, match="'fast' is not a baud rate"):
        numbers.given(numbers.baud, numbers.whole("fast"), "baud")
