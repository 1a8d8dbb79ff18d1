"""Data processing: moves, logic, sums, shifts, products, bit fields, and their flags."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

from capstone import arm

from harness.resolver.static.alu import (
    BITS,
    add,
    shift,
    signed_quotient,
    subtract,
    unsigned_quotient,
)
from harness.resolver.static.operands import (
    REGISTERS,
    Reader,
    carry_of,
    read_operand,
    single_numbers,
)
from harness.resolver.static.operation import Builder, Event, Operation, write_register
from harness.resolver.static.state import PC, State
from harness.resolver.static.system import without_rule
from harness.resolver.static.values import MASK, Unknown, Value, derived, offset, signed

_EXTENDS = {
    "uxtb": (8, False), "uxth": (16, False), "sxtb": (8, True), "sxth": (16, True),
    "uxtab": (8, False), "uxtah": (16, False), "sxtab": (8, True), "sxtah": (16, True),
}  # fmt: skip
_LOGIC: dict[str, Callable[[int, int], int]] = {
    "and": operator.and_, "orr": operator.or_, "eor": operator.xor,
    "bic": lambda a, b: a & ~b, "orn": lambda a, b: a | ~b & MASK,
}  # fmt: skip
_TESTS = {"tst": "and", "teq": "eor"}
_SUMS = frozenset(("add", "addw", "adc", "sub", "subw", "sbc", "rsb"))
_COMPARISONS = {"cmp": "sub", "cmn": "add"}


def _move(found: Any, name: str, following: int) -> Operation:
    read = read_operand(found, 1)
    if name == "mvn":
        source = read

        def read(state: State) -> Value:
            value = source(state)
            return value ^ MASK if isinstance(value, int) else derived(value)

    return _with_logic_flags(found, following, read, 1)


def _with_logic_flags(
    found: Any, following: int, value: Reader, last: int, *, keep: bool = True
) -> Operation:
    if not _sets_flags(found):
        return write_register(found, following, value)
    carry = carry_of(found, last)
    target = REGISTERS[found.operands[0].reg] if keep else -1

    def write(state: State) -> Event:
        result, c = value(state), carry(state)
        if isinstance(result, int):
            state.n, state.z, state.c = result >> 31, int(result == 0), c
        else:
            v = state.v
            state.flags_unknown(result.cause)
            state.c, state.v = c, v
        if keep:
            state.r[target] = result
        state.pc = following
        return None

    return write


def _wide_move(found: Any, name: str, following: int) -> Operation:
    register, high = REGISTERS[found.operands[0].reg], (found.operands[1].imm & 0xFFFF) << 16

    def move(state: State) -> Event:
        value = state.r[register]
        state.r[register] = value & 0xFFFF | high if isinstance(value, int) else derived(value)
        state.pc = following
        return None

    return move


def _adr(found: Any, name: str, following: int) -> Operation:
    value = (found.address + 4 & ~3) + found.operands[1].imm & MASK
    return write_register(found, following, lambda state: value)


def _logic(found: Any, name: str, following: int) -> Operation:
    compute = _LOGIC[_TESTS.get(name, name)]
    test = name in _TESTS
    count = len(found.operands)
    first = read_operand(found, 0 if count == 2 else 1)
    second = read_operand(found, count - 1)

    def value(state: State) -> Value:
        a, b = first(state), second(state)
        if isinstance(a, int) and isinstance(b, int):
            return compute(a, b)
        if name in ("and", "tst") and (a == 0 or b == 0):
            return 0
        return derived(a, b)

    return _with_logic_flags(found, following, value, count - 1, keep=not test)


def _sum(found: Any, name: str, following: int) -> Operation:
    count, compared = len(found.operands), name in _COMPARISONS
    kind = _COMPARISONS.get(name, name).removesuffix("w")
    first = read_operand(found, 0 if count == 2 else 1)
    second = read_operand(found, count - 1)
    if kind == "rsb":
        kind, first, second = "sub", second, first
    if not compared and not _sets_flags(found) and kind in ("add", "sub"):
        pc_relative = count == 3 and REGISTERS.get(found.operands[1].reg) == PC
        if pc_relative:
            first = lambda state: found.address + 4 & ~3  # noqa: E731
        compute = add if kind == "add" else subtract
        return write_register(found, following, lambda s: compute(first(s), second(s)))
    target = -1 if compared else REGISTERS[found.operands[0].reg]
    flags = compared or _sets_flags(found)

    def write(state: State) -> Event:
        a, b = first(state), second(state)
        c = {"add": 0, "sub": 1}.get(kind, state.c)
        if isinstance(a, int) and isinstance(b, int) and c is not None:
            if kind in ("sub", "sbc"):
                b ^= MASK
            total = a + b + c
            result = total & MASK
            if flags:
                state.n, state.z = result >> 31, int(result == 0)
                state.c = total >> 32
                state.v = ((a ^ result) & (b ^ result)) >> 31
            if not compared:
                state.r[target] = result
        else:
            unknown = (
                derived(a, b)
                if not isinstance(a, int) or not isinstance(b, int)
                else Unknown(state.flags_cause, external=True)
            )
            if flags:
                state.flags_unknown(unknown.cause)
            if not compared:
                state.r[target] = offset(a, b) if kind in ("add", "sub") else unknown
        state.pc = following
        return None

    return write


def _shift(found: Any, name: str, following: int) -> Operation:
    if len(found.operands) == 2 and found.operands[1].shift.type != arm.ARM_SFT_INVALID:
        return _with_logic_flags(found, following, read_operand(found, 1), 1)
    count = len(found.operands)
    first = read_operand(found, 0 if count == 2 and name != "rrx" else 1)
    second = read_operand(found, count - 1) if name != "rrx" else lambda state: 1
    target, flags = REGISTERS[found.operands[0].reg], _sets_flags(found)

    def write(state: State) -> Event:
        value, amount = first(state), second(state)
        if (
            isinstance(value, int)
            and isinstance(amount, int)
            and (name != "rrx" or state.c is not None)
        ):
            result, carry = shift(name, value, amount & 0xFF, state.c)
            state.r[target] = result
            if flags:
                state.n, state.z, state.c = result >> 31, int(result == 0), carry
        else:
            unknown = Unknown(state.flags_cause) if name == "rrx" else derived(value, amount)
            state.r[target] = unknown
            if flags:
                v = state.v
                state.flags_unknown(unknown.cause)
                state.v = v
        state.pc = following
        return None

    return write


def _pure(
    found: Any, following: int, compute: Callable[..., int], sources: Sequence[int]
) -> Operation:
    """A result of registers alone; MULS sets N and Z."""
    readers = [read_operand(found, number) for number in sources]
    target = REGISTERS[found.operands[0].reg]
    flags = found.size == 2 and found.update_flags  # MULS

    def write(state: State) -> Event:
        values = [read(state) for read in readers]
        numbers = [value for value in values if isinstance(value, int)]
        if len(numbers) == len(values):
            result = compute(*numbers) & MASK
            state.r[target] = result
            if flags:
                state.n, state.z = result >> 31, int(result == 0)
        else:
            unknown = state.r[target] = derived(*values)
            if flags:
                c, v = state.c, state.v
                state.flags_unknown(unknown.cause)
                state.c, state.v = c, v
        state.pc = following
        return None

    return write


def _multiply(found: Any, name: str, following: int) -> Operation:
    if name == "mul":
        sources = (1, 2) if len(found.operands) == 3 else (0, 1)
        return _pure(found, following, operator.mul, sources)
    if name == "mla":
        return _pure(found, following, lambda a, b, c: a * b + c, (1, 2, 3))
    return _pure(found, following, lambda a, b, c: c - a * b, (1, 2, 3))


def _divide(found: Any, name: str, following: int) -> Operation:
    sources = (1, 2) if len(found.operands) == 3 else (0, 1)
    quotient = unsigned_quotient if name == "udiv" else signed_quotient
    return _pure(found, following, quotient, sources)


def _long(found: Any, name: str, following: int) -> Operation:
    low, high = (REGISTERS[found.operands[n].reg] for n in (0, 1))
    first, second = read_operand(found, 2), read_operand(found, 3)
    convert: Callable[[int], int] = signed if name.startswith("s") else int
    adds = name.endswith("mlal")

    def write(state: State) -> Event:
        values = [first(state), second(state)]
        if adds:
            values += [state.r[low], state.r[high]]
        numbers = [value for value in values if isinstance(value, int)]
        if len(numbers) == len(values):
            total = convert(numbers[0]) * convert(numbers[1])
            if adds:
                total += numbers[2] | numbers[3] << 32
            state.r[low], state.r[high] = total & MASK, total >> 32 & MASK
        else:
            state.r[low] = state.r[high] = derived(*values)
        state.pc = following
        return None

    return write


def _extend(found: Any, name: str, following: int) -> Operation:
    bits, keeps_sign = _EXTENDS[name]
    count = len(found.operands)
    operand = found.operands[count - 1]
    rotated = operand.shift.value if operand.shift.type == arm.ARM_SFT_ROR else 0
    register = REGISTERS[operand.reg]

    def extended(value: int) -> int:
        if rotated:
            value = value >> rotated | value << 32 - rotated
        value &= (1 << bits) - 1
        return value - (1 << bits) if keeps_sign and value >> bits - 1 else value

    accumulate = read_operand(found, 1) if name[3] == "a" else lambda state: 0

    def value(state: State) -> Value:
        number, to = state.r[register], accumulate(state)
        if isinstance(number, int) and isinstance(to, int):
            return to + extended(number) & MASK
        return derived(number, to)

    return write_register(found, following, value)


def _field(found: Any, name: str, following: int) -> Operation:
    low, width = int(found.operands[-2].imm), int(found.operands[-1].imm)
    mask = (1 << width) - 1
    if name in ("bfi", "bfc"):
        source = read_operand(found, 1) if name == "bfi" else lambda state: 0
        target = read_operand(found, 0)

        def inserted(state: State) -> Value:
            a, b = target(state), source(state)
            if isinstance(a, int) and isinstance(b, int):
                return a & ~(mask << low) & MASK | (b & mask) << low
            return derived(a, b)

        return write_register(found, following, inserted)

    def extract(value: int) -> int:
        part = value >> low & mask
        return part - (1 << width) if name == "sbfx" and part >> width - 1 else part

    return _pure(found, following, extract, (1,))


def _bits(found: Any, name: str, following: int) -> Operation:
    return _pure(found, following, BITS[name], (len(found.operands) - 1,))


def _float_move(found: Any, name: str, following: int) -> Operation:
    places: list[tuple[bool, int]] = []
    for operand in found.operands:
        if operand.type != arm.ARM_OP_REG:
            return without_rule(found, name, following)
        if operand.reg in REGISTERS:
            places.append((False, REGISTERS[operand.reg]))
        else:
            places += [(True, number) for number in single_numbers(operand.reg)]
    half = len(places) // 2

    def write(state: State) -> Event:
        values = [state.s[n] if single else state.r[n] for single, n in places[half:]]
        for (single, number), value in zip(places[:half], values, strict=True):
            (state.s if single else state.r)[number] = value
        state.pc = following
        return None

    return write if 2 * half == len(places) else without_rule(found, name, following)


def _sets_flags(found: Any) -> bool:
    """True if a data-processing instruction sets flags: its S bit (Capstone is wrong for ADC.W)."""
    return bool(found.update_flags if found.size == 2 else found.bytes[0] & 0x10)


#: The builders of operations, by mnemonic.
BUILDERS: dict[str, Builder] = {
    **dict.fromkeys(_LOGIC, _logic), **dict.fromkeys(_TESTS, _logic),
    **dict.fromkeys(_SUMS, _sum), **dict.fromkeys(_COMPARISONS, _sum),
    **dict.fromkeys(_EXTENDS, _extend), **dict.fromkeys(BITS, _bits),
    **dict.fromkeys(("lsl", "lsr", "asr", "ror", "rrx"), _shift),
    **dict.fromkeys(("mul", "mla", "mls"), _multiply),
    **dict.fromkeys(("udiv", "sdiv"), _divide),
    **dict.fromkeys(("umull", "smull", "umlal", "smlal"), _long),
    **dict.fromkeys(("ubfx", "sbfx", "bfi", "bfc"), _field),
    **dict.fromkeys(("mov", "movs", "mvn", "movw"), _move),
    "movt": _wide_move, "adr": _adr, "vmov": _float_move,
}  # fmt: skip
