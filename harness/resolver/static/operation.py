"""Instructions as functions of the state, and the events that end straight code."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from harness.resolver.static.operands import REGISTERS, Reader
from harness.resolver.static.state import PC, SP, Lost, State
from harness.resolver.static.values import Cause


@dataclass(frozen=True)
class Fork:
    """An open branch: its condition or its target is unknown."""

    targets: tuple[int, ...]
    cause: Cause


CALLED = "called"  # the program counter is at the start of a function
JUMPED = "jumped"  # backwards, or to another function
ENDED = "ended"  # nothing more happens on this path
Event = Fork | str | None
Operation = Callable[[State], Event]
#: Makes an operation from Capstone's instruction, its mnemonic and the next one's address.
Builder = Callable[[Any, str, int], Operation]


def write_register(found: Any, following: int, value: Reader, number: int = 0) -> Operation:
    """Write operand ``number``, a register; a write of PC is a jump."""
    target = REGISTERS[found.operands[number].reg]
    if target == PC:
        return jump_to(value, found.address)
    if target == SP:
        return _move_stack(value, following)

    def write(state: State) -> Event:
        state.r[target] = value(state)
        state.pc = following
        return None

    return write


def _move_stack(value: Reader, following: int) -> Operation:
    def move(state: State) -> Event:
        stack = state.r[SP] = value(state)
        if isinstance(stack, int):
            frame = state.frames[-1]
            frame.low = min(frame.low, stack)
        state.pc = following
        return None

    return move


def jump_to(value: Reader, at: int) -> Operation:
    """A jump to a computed address: a return, or a call in tail position."""

    def jump(state: State) -> Event:
        target = value(state)
        frame = state.frames[-1]
        if not isinstance(target, int):
            if target.base is None and frame.returns_to and state.r[SP] == frame.top:
                state.leave()
                return JUMPED
            raise Lost(Cause("jumps to an address that is not known", at))
        return goto(state, target & ~1)

    return jump


def goto(state: State, target: int) -> Event:
    """Jump to ``target``: within the function, back to the caller, or a call in tail position."""
    frame = state.frames[-1]
    if target == frame.returns_to and frame.returns_to and state.r[SP] == frame.top:
        state.leave()
    elif target >= 0xF000_0000:
        raise Lost(Cause("returns from an exception", state.pc))
    else:
        state.pc = target
    return JUMPED
