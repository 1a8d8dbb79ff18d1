"""Special registers, hints, barriers, traps, and instructions without a rule."""

from __future__ import annotations

from functools import partial
from typing import Any

import capstone
from capstone import arm

from harness.resolver.static.operands import REGISTERS, read_operand, single_numbers
from harness.resolver.static.operation import ENDED, Builder, Event, Operation
from harness.resolver.static.state import PC, SP, Lost, State
from harness.resolver.static.values import Cause, Unknown, Value

_NOTHING = frozenset(
    ("nop", "dmb", "dsb", "isb", "sev", "wfe", "wfi", "yield", "pld", "pli", "cpsie", "cpsid",
     "cps", "clrex", "dbg", "csdb", "hint", "pldw", "vlstm", "vlldm", "sg")
)  # fmt: skip
_FAULTS = frozenset(("udf", "bkpt"))


def _nothing(found: Any, name: str, following: int) -> Operation:
    def skip(state: State) -> Event:
        state.pc = following
        return None

    return skip


def _fault(found: Any, name: str, following: int) -> Operation:
    return lambda state: ENDED


def without_rule(found: Any, name: str, following: int) -> Operation:
    """An instruction without a rule, whose results are unknown."""
    written = [REGISTERS[r] for r in found.regs_access()[1] if r in REGISTERS]
    singles = [n for r in found.regs_access()[1] for n in single_numbers(r)]
    flags = found.update_flags
    cause = Cause(f"{name}, an instruction that is not followed", found.address)
    touches = any(o.type == arm.ARM_OP_MEM and o.access & capstone.CS_AC_WRITE
                  for o in found.operands)  # fmt: skip
    if PC in written or SP in written or touches:
        return _raise(cause)
    unknown = Unknown(cause, external=True)

    def forget(state: State) -> Event:
        for number in written:
            state.r[number] = unknown
        for number in singles:
            state.s[number] = unknown
        if flags or name in ("vmrs", "vcmp"):
            state.flags_unknown(cause)
        state.pc = following
        return None

    return forget


def _raise(cause: Cause) -> Operation:
    def lost(state: State) -> Event:
        raise Lost(cause)

    return lost


def _special_read(found: Any, name: str, following: int) -> Operation:
    system = found.op_str.partition(",")[2].strip().lower()
    target, cause = REGISTERS[found.operands[0].reg], Cause(f"reads {system}", found.address)

    def read(state: State) -> Event:
        value: Value = Unknown(cause, external=True)
        if system == "psp":
            value = state.r[SP] if state.control & 2 else state.psp
        elif system == "msp":
            value = state.psp if state.control & 2 else state.r[SP]
        elif system == "control":
            value = state.control
        state.r[target] = value
        state.pc = following
        return None

    return read


def _special_write(stacks: set[int], found: Any, name: str, following: int) -> Operation:
    system = found.op_str.partition(",")[0].strip().lower()
    source, at = read_operand(found, 1), found.address

    def switch(state: State, stack: Value) -> None:
        if not isinstance(stack, int):
            raise Lost(Cause("sets a stack pointer that is not known", at))
        state.r[SP] = stack
        stacks.add(stack)
        for frame in state.frames:  # the old stack is not used again
            frame.top = frame.low = stack

    def write(state: State) -> Event:
        value = source(state)
        if system in ("psp", "msp"):
            if (system == "psp") == bool(state.control & 2):
                switch(state, value)
            else:
                state.psp = value
        elif system == "control" and isinstance(value, int):
            if (value ^ state.control) & 2:
                other, state.psp = state.psp, state.r[SP]
                switch(state, other)
            state.control = value
        elif system.startswith("apsr"):
            state.flags_unknown(Cause("sets the flags", at))
        state.pc = following
        return None

    return write


def builders(stacks: set[int]) -> dict[str, Builder]:
    """The builders of operations, by mnemonic; ``stacks`` gets the tops of selected stacks."""
    return {
        **dict.fromkeys(_NOTHING, _nothing),
        **dict.fromkeys(_FAULTS, _fault),
        "it": _nothing,
        "mrs": _special_read,
        "msr": partial(_special_write, stacks),
    }
