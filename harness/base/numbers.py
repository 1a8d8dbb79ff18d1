"""Checks of numbers that a user may give: times, rates, counts.

Each check returns the number, or raises ValueError with the value and the rule.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TypeVar

from harness.base.errors import UsageError
from harness.base.tables import check
from harness.base.text import short

Number = TypeVar("Number", int, float)

#: The longest time in seconds, a year; a virtual clock (63 bits of 1/64,000,000 s) reaches further.
MOST_SECONDS = 366 * 24 * 3600.0
#: Most results, rows, inferences or jobs.
MOST_COUNT = 1_000_000_000
#: Baud rates; the nRF9160's UARTE goes up to a million, USB bridges further.
LEAST_BAUD, MOST_BAUD = 50, 12_000_000


@check("seconds above 0")
def seconds(value: object) -> float:
    """A finite number of seconds above 0, a year at most."""
    return _seconds(value, zero=False)


@check("seconds, 0 or more")
def seconds_or_zero(value: object) -> float:
    """A finite number of seconds from 0 to a year."""
    return _seconds(value, zero=True)


@check("a whole number from 1")
def count(value: object) -> int:
    """A count of at least 1."""
    return _whole(value, "whole number", 1, MOST_COUNT)


@check("a whole number from 0")
def count_or_zero(value: object) -> int:
    """A count, or an index that begins with 0."""
    return _whole(value, "whole number", 0, MOST_COUNT)


@check(f"a whole number from {LEAST_BAUD} to {MOST_BAUD:,}")
def baud(value: object) -> int:
    """A baud rate."""
    return _whole(value, "baud rate", LEAST_BAUD, MOST_BAUD)


@check("a number, 0 or more")
def tolerance(value: object) -> float:
    """The largest allowed difference: finite, 0 or more."""
    number = _number(value)
    if number is None or not math.isfinite(number) or number < 0:
        raise ValueError(f"{short(value)} is not a tolerance: a finite number, zero or more")
    return number


@check("a finite number")
def finite(value: object) -> float:
    """A number that is neither infinite nor "not a number"."""
    number = _number(value)
    if number is None or not math.isfinite(number):
        raise ValueError(f"{short(value)} is not a finite number")
    return number


@check("a number other than 0")
def factor(value: object) -> float:
    """A finite number by which printed ones are multiplied."""
    number = _number(value)
    if number is None or not math.isfinite(number) or number == 0:
        raise ValueError(f"{short(value)} is not a factor: a finite number other than zero")
    return number


def given(rule: Callable[[object], Number], value: object, what: str) -> Number:
    """``rule(value)``; its ValueError becomes a :class:`UsageError` that begins with ``what``."""
    try:
        return rule(value)
    except ValueError as error:
        raise UsageError(f"{what}: {error}") from error


def whole(text: object) -> object:
    """``text`` as a whole number if it is one, for options that are numbers or text."""
    try:
        return int(text) if isinstance(text, str) else text
    except ValueError:
        return text


def _seconds(value: object, *, zero: bool) -> float:
    number = _number(value)
    if number is None:
        raise ValueError(f"{short(value)} is not a number of seconds")
    if number < 0 or (number == 0 and not zero) or not math.isfinite(number):
        least = "zero or more" if zero else "above zero"
        raise ValueError(f"{short(value)} is not a time: a finite number of seconds, {least}")
    if number > MOST_SECONDS:
        raise ValueError(f"{short(value)} is too long a time: at most {MOST_SECONDS:.0f} seconds")
    return number


def _whole(value: object, what: str, least: int, most: int) -> int:
    if isinstance(value, int) and not isinstance(value, bool) and least <= value <= most:
        return value
    raise ValueError(f"{short(value)} is not a {what} from {least} to {most:,}")


def _number(value: object) -> float | None:
    """``value`` as a float, infinite if it is too large for one; None if it is not a number."""
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    try:
        return float(value)
    except OverflowError:
        return math.inf
    except ValueError:
        return None
