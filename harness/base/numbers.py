"""The rules for numbers that a user may give: times, rates, counts."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TypeVar

from harness.base.errors import UsageError
from harness.base.text import short

Number = TypeVar("Number", int, float)

#: A year. Virtual clocks, which count ticks of 1/64,000,000 s in 63 bits, go much further.
MOST_SECONDS = 366 * 24 * 3600.0
#: Most results, rows, inferences or jobs.
MOST_COUNT = 1_000_000_000
#: Baud rates; the nRF9160's UARTE goes up to a million, USB bridges further.
LEAST_BAUD, MOST_BAUD = 50, 12_000_000


def seconds(value: object, *, zero: bool = False) -> float:
    """A time: a finite number of seconds above zero (or zero, with ``zero``); a year at most.

    Raises ValueError that says so.
    """
    number = _number(value)
    if number is None:
        raise ValueError(f"{short(value)} is not a number of seconds")
    if number < 0 or (number == 0 and not zero) or not math.isfinite(number):
        least = "zero or more" if zero else "above zero"
        raise ValueError(f"{short(value)} is not a time: a finite number of seconds, {least}")
    if number > MOST_SECONDS:
        raise ValueError(f"{short(value)} is too long a time: at most {MOST_SECONDS:.0f} seconds")
    return number


def count(value: object, *, zero: bool = False) -> int:
    """A count: a whole number from 1 (or 0, with ``zero``). Raises ValueError that says so."""
    return _whole(value, "number", 0 if zero else 1, MOST_COUNT)


def baud(value: object) -> int:
    """A baud rate. Raises ValueError that says so."""
    return _whole(value, "baud rate", LEAST_BAUD, MOST_BAUD)


def tolerance(value: object) -> float:
    """The largest difference of a value: finite, zero or more. Raises ValueError that says so."""
    number = _number(value)
    if number is None or not math.isfinite(number) or number < 0:
        raise ValueError(f"{short(value)} is not a tolerance: a finite number, zero or more")
    return number


def given(check: Callable[[object], Number], value: object, what: str) -> Number:
    """``check(value)``; its ValueError becomes a :class:`UsageError` that begins with ``what``."""
    try:
        return check(value)
    except ValueError as error:
        raise UsageError(f"{what}: {error}") from error


def whole(text: object) -> object:
    """``text`` as a whole number if it is one, for options that are numbers or text."""
    try:
        return int(text) if isinstance(text, str) else text
    except ValueError:
        return text


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
