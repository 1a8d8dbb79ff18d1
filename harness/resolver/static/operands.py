"""The operands of Capstone's instructions as functions of the state."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from capstone import arm

from harness.resolver.static.alu import add, shift
from harness.resolver.static.state import LR, PC, SP, State
from harness.resolver.static.values import MASK, Cause, Unknown, Value, derived

Reader = Callable[[State], Value]

REGISTERS = {getattr(arm, f"ARM_REG_R{n}"): n for n in range(13)} | {
    arm.ARM_REG_SP: SP, arm.ARM_REG_LR: LR, arm.ARM_REG_PC: PC,
}  # fmt: skip
_SINGLES = {getattr(arm, f"ARM_REG_S{n}"): n for n in range(32)}
_DOUBLES = {getattr(arm, f"ARM_REG_D{n}"): n for n in range(16)}
_SHIFTS = {
    arm.ARM_SFT_ASR: "asr", arm.ARM_SFT_LSL: "lsl", arm.ARM_SFT_LSR: "lsr", arm.ARM_SFT_ROR: "ror",
    arm.ARM_SFT_RRX: "rrx",
}  # fmt: skip


def read_operand(found: Any, number: int) -> Reader:
    """The value of an operand, with its shift."""
    operand = found.operands[number]
    if operand.type == arm.ARM_OP_IMM:
        value = operand.imm & MASK
        return lambda state: value
    register = REGISTERS.get(operand.reg)
    if register is None:
        cause = Cause("an operand that is not followed", found.address)
        return lambda state: Unknown(cause)
    if register == PC:
        value = found.address + 4
        return lambda state: value
    kind = _SHIFTS.get(operand.shift.type)
    if kind is None or (kind != "rrx" and not operand.shift.value):
        return lambda state: state.r[register]
    amount = operand.shift.value

    def shifted(state: State) -> Value:
        value = state.r[register]
        if not isinstance(value, int) or (kind == "rrx" and state.c is None):
            return derived(value) if not isinstance(value, int) else Unknown(state.flags_cause)
        return shift(kind, value, amount, state.c or 0)[0]

    return shifted


def carry_of(found: Any, number: int) -> Callable[[State], int | None]:
    """The carry out of an operand's shift."""
    operand = found.operands[number]
    kind = _SHIFTS.get(operand.shift.type) if operand.type == arm.ARM_OP_REG else None
    if operand.type == arm.ARM_OP_IMM:
        value = operand.imm & MASK
        if found.size == 2 or value <= 0xFF or not _is_rotated(value):
            return lambda state: state.c
        return lambda state: value >> 31
    if kind is None:
        return lambda state: state.c
    register, amount = REGISTERS[operand.reg], operand.shift.value

    def carry(state: State) -> int | None:
        value = state.r[register]
        if not isinstance(value, int):
            return None
        return shift(kind, value, amount, state.c or 0)[1]

    return carry


def address_of(found: Any, number: int) -> Reader:
    """The address of a memory operand: base, and displacement or scaled index."""
    operand = found.operands[number]
    memory = operand.mem
    base = REGISTERS[memory.base]
    if base == PC:
        constant = (found.address + 4 & ~3) + memory.disp & MASK
        return lambda state: constant
    index = REGISTERS.get(memory.index)
    if index is None:
        disp = memory.disp
        if not disp:
            return lambda state: state.r[base]
        return lambda state: add(state.r[base], disp & MASK)
    by = operand.shift.value if operand.shift.type == arm.ARM_SFT_LSL else memory.lshift

    def indexed(state: State) -> Value:
        value = state.r[index]
        scaled = value << by & MASK if isinstance(value, int) else value
        return add(state.r[base], scaled)

    return indexed


def access_of(found: Any, number: int) -> Reader:
    """The address of a memory operand, with the update of the base register."""
    address = address_of(found, number)
    if not found.writeback:
        return address
    base = REGISTERS[found.operands[number].mem.base]
    if len(found.operands) > number + 1:
        step = found.operands[number + 1].imm
        if found.operands[number + 1].subtracted:
            step = -step

        def post(state: State) -> Value:
            value = state.r[base]
            state.r[base] = add(value, step & MASK)
            return value

        return post

    def pre(state: State) -> Value:
        value = state.r[base] = address(state)
        return value

    return pre


def single_numbers(register: int) -> list[int]:
    """The numbers of the S registers in a floating-point register."""
    if register in _SINGLES:
        return [_SINGLES[register]]
    double = _DOUBLES.get(register)
    return [] if double is None else [2 * double, 2 * double + 1]


def _is_rotated(value: int) -> bool:
    """True for an immediate encoded by rotation, which sets the carry, not by repeated bytes."""
    low, high = value & 0xFF, value >> 8 & 0xFF
    return value not in (low | low << 16, high << 8 | high << 24, low * 0x0101_0101)
