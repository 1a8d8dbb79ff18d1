"""Branches and calls."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from capstone import arm

from harness.resolver.static.alu import ALWAYS, condition
from harness.resolver.static.operands import REGISTERS, read_operand
from harness.resolver.static.operation import (
    CALLED,
    ENDED,
    JUMPED,
    Builder,
    Event,
    Fork,
    Operation,
    goto,
    jump_to,
)
from harness.resolver.static.state import PC, Lost, State
from harness.resolver.static.values import MASK, Cause

#: The targets of the jump table at an address.
Targets = Callable[[int], tuple[int, ...]]


def _branch(found: Any, name: str, following: int) -> Operation:
    target, at = found.operands[0].imm & ~1 & MASK, found.address
    if found.cc in ALWAYS:
        if target == at:
            return lambda state: ENDED
        return lambda state: goto(state, target)
    holds = condition(found.cc)
    open_sides = (following,) if target == at else (target, following)

    def branch(state: State) -> Event:
        taken = holds(state)
        if taken is None:
            return Fork(open_sides, state.flags_cause)
        if not taken:
            state.pc = following
            return None
        state.pc = target
        return JUMPED if target <= at else None

    return branch


def _call(found: Any, name: str, following: int) -> Operation:
    operand = found.operands[0]
    if operand.type == arm.ARM_OP_IMM:
        target = operand.imm & ~1 & MASK

        def call(state: State) -> Event:
            state.enter(target, following)
            return CALLED

        return call
    register = REGISTERS[operand.reg]

    def through(state: State) -> Event:
        value = state.r[register]
        if not isinstance(value, int):
            raise Lost(Cause("calls a function through a pointer that is not known", found.address))
        if not value & ~1:
            return ENDED
        state.enter(value & ~1, following)
        return CALLED

    return through


def _exchange(found: Any, name: str, following: int) -> Operation:
    return jump_to(read_operand(found, 0), found.address)


def _zero(found: Any, name: str, following: int) -> Operation:
    register, wanted = REGISTERS[found.operands[0].reg], name == "cbz"
    target = found.operands[1].imm & MASK

    def compare(state: State) -> Event:
        value = state.r[register]
        if not isinstance(value, int):
            return Fork((target, following), value.cause)
        state.pc = target if (value == 0) is wanted else following
        return None

    return compare


def _table(targets_at: Targets, found: Any, name: str, following: int) -> Operation:
    memory = found.operands[0].mem
    base, index = REGISTERS[memory.base], REGISTERS[memory.index]
    size = 1 if name == "tbb" else 2

    def branch(state: State) -> Event:
        start = found.address + 4 if base == PC else state.r[base]
        value = state.r[index]
        if not isinstance(start, int):
            raise Lost(start.cause)
        if not isinstance(value, int):
            targets = targets_at(found.address)
            if not targets:
                raise Lost(Cause("a jump table of unknown length", found.address))
            return Fork(targets, value.cause)
        entry = state.memory.load(start + value * size, size, found.address)
        if not isinstance(entry, int):
            raise Lost(entry.cause)
        state.pc = found.address + 4 + 2 * entry
        return None

    return branch


def builders(targets_at: Targets) -> dict[str, Builder]:
    """The builders of operations, by mnemonic."""
    table = partial(_table, targets_at)
    return {
        "b": _branch, "bl": _call, "blx": _call, "bx": _exchange, "cbz": _zero, "cbnz": _zero,
        "tbb": table, "tbh": table,
    }  # fmt: skip
