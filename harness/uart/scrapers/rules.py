"""How one value that was read compares with the one that a case lists, or with a range."""

from __future__ import annotations

import math

from harness.base.expected import ValueRule
from harness.uart.lines import last_digit, number

#: One value of a result, read or expected.
Value = float | str

#: Relative error of decimal numbers, and of mantissa * 2^exponent, in binary.
_BINARY = 1e-12


def difference(
    got: Value | None, expected: Value | None, rule: ValueRule, tolerance: float = 0.0
) -> str:
    """What is wrong with ``got``, "" if nothing is. Without ``expected`` the rule is a range.

    ``tolerance`` is that of the case; the rule's own replaces it.
    """
    if expected is None:
        return _outside(got, rule)
    if got is None:
        return f"not there, expected {shown(expected)}"
    if isinstance(expected, str):
        return "" if got == expected else f"{shown(got)}, expected {expected!r}"
    read = number_of(got, rule)
    if read is not None and _agrees(got, read, expected, rule, tolerance):
        return ""
    digits = ", rounded or cut off to its digits" if rule.rounded else ""
    return f"{_as_read(got, rule)}, expected {shown(expected)}{digits}"


def number_of(got: Value, rule: ValueRule) -> float | None:
    """The number that ``got`` stands for; None if it is a text."""
    read = number(got) if isinstance(got, str) else got
    return None if read is None else read * rule.factor


def allowed(rule: ValueRule, tolerance: float) -> float:
    """The largest difference of a number; ``tolerance`` is that of the case."""
    return tolerance if rule.tolerance is None else rule.tolerance


def shown(value: Value) -> str:
    """A value in a message."""
    return repr(value[:80]) if isinstance(value, str) else f"{value:.9g}"


def _agrees(got: Value, read: float, expected: float, rule: ValueRule, tolerance: float) -> bool:
    if rule.rounded and isinstance(got, str):
        return _has_digits(read, expected, last_digit(got) * abs(rule.factor))
    return abs(read - expected) <= allowed(rule, tolerance) + _slack(read, expected)


def _has_digits(read: float, expected: float, unit: float) -> bool:
    """Whether ``expected`` is ``read`` if it is rounded, or cut off, to multiples of ``unit``."""
    slack = _slack(read, expected)
    rounded = abs(expected - read) <= unit / 2 + slack
    rest = abs(expected) - abs(read)
    return rounded or (read * expected >= 0 and -slack <= rest < unit - slack)


def _outside(got: Value | None, rule: ValueRule) -> str:
    read = None if got is None else number_of(got, rule)
    low = -math.inf if rule.min is None else rule.min
    high = math.inf if rule.max is None else rule.max
    if got is None or (read is not None and low - _slack(low) <= read <= high + _slack(high)):
        return ""
    wanted = f"{low:.9g} to {high:.9g}"
    if rule.min is None or rule.max is None:
        wanted = f"at most {high:.9g}" if rule.min is None else f"at least {low:.9g}"
    return f"{_as_read(got, rule)}, expected {wanted}"


def _slack(*numbers: float) -> float:
    return _BINARY * max(map(abs, numbers))


def _as_read(got: Value, rule: ValueRule) -> str:
    if not isinstance(got, str) or number(got) is None:
        return shown(got)
    return got[:80] if rule.factor == 1 else f"{got[:80]} * {rule.factor:g}"
