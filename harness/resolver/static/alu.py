"""Results of data-processing instructions, and conditions of instructions."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING

from capstone import arm

from harness.elf.regions import RAM
from harness.resolver.static.values import MASK, Value, derived, offset, signed

if TYPE_CHECKING:
    from harness.resolver.static.state import State

#: The conditions of an instruction that is always executed.
ALWAYS = (arm.ARM_CC_AL, arm.ARM_CC_INVALID)


def add(a: Value, b: Value) -> Value:
    """The sum of two words."""
    return a + b & MASK if isinstance(a, int) and isinstance(b, int) else offset(a, b)


def subtract(a: Value, b: Value) -> Value:
    """The difference of two words."""
    if isinstance(a, int) and isinstance(b, int):
        return a - b & MASK
    both = all(v in RAM if isinstance(v, int) else v.base is not None for v in (a, b))
    return derived(a, b) if both else offset(a, b)


def shift(kind: str, value: int, amount: int, carry: int | None) -> tuple[int, int | None]:
    """The shifted word and the carry."""
    if kind == "rrx":
        return (carry or 0) << 31 | value >> 1, value & 1
    if not amount:
        return value, carry
    if kind == "lsl":
        wide = value << amount
        return wide & MASK, wide >> 32 & 1
    if kind == "lsr":
        return value >> amount, value >> amount - 1 & 1
    if kind == "asr":
        number = signed(value)
        return number >> amount & MASK, number >> amount - 1 & 1
    by = amount % 32
    result = (value >> by | value << 32 - by) & MASK
    return result, result >> 31


def unsigned_quotient(a: int, b: int) -> int:
    """UDIV: 0 for a division by zero."""
    return a // b if b else 0


def signed_quotient(a: int, b: int) -> int:
    """SDIV: rounded towards zero, 0 for a division by zero."""
    if not b:
        return 0
    quotient = abs(signed(a)) // abs(signed(b))
    return quotient if (signed(a) < 0) == (signed(b) < 0) else -quotient


BITS: dict[str, Callable[[int], int]] = {
    "clz": lambda value: 32 - value.bit_length(),
    "rev": lambda value: int.from_bytes(value.to_bytes(4, "little"), "big"),
    "rev16": lambda value: (value & 0x00FF_00FF) << 8 | value >> 8 & 0x00FF_00FF,
    "revsh": lambda value: (
        ((value & 0xFF) << 8 | value >> 8 & 0xFF) - (1 << 16 if value & 0x80 else 0)
    ),
    "rbit": lambda value: int(f"{value:032b}"[::-1], 2),
}


@cache
def condition(code: int) -> Callable[[State], bool | None]:
    """A condition as a function of the state; None if its flags are unknown."""
    if code in ALWAYS:
        return lambda state: True
    base = code - arm.ARM_CC_EQ
    negated = base & 1

    def holds(state: State) -> bool | None:
        answer = _flags(base >> 1, state)
        return None if answer is None else answer != negated

    return holds


def _flags(kind: int, state: State) -> bool | None:
    n, z, c, v = state.n, state.z, state.c, state.v
    if kind < 4:
        flag = (z, c, n, v)[kind]
        return None if flag is None else bool(flag)
    if kind == 4:  # HI
        if z == 1 or c == 0:
            return False
        return None if z is None or c is None else True
    if kind == 6 and z == 1:  # GT
        return False
    if n is None or v is None or (kind == 6 and z is None):
        return None
    return n == v
