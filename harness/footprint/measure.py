"""What of its RAM an image uses, measured while it runs on the simulator.

Stacks are painted before the image starts; the lowest bytes that still hold one value were never
used. An image that paints (Zephyr's CONFIG_INIT_STACKS) or clears its stacks itself is measured
with its own filler: a stack whose deepest words happen to equal it seems a little smaller.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace

from harness.elf import Firmware
from harness.errors import FirmwareFailed, UsageError
from harness.footprint.arena import MachineSession, minimum
from harness.footprint.ram import Memory
from harness.targets.base import ConsoleMatch
from harness.uart.records import pattern

PAINT = 0xA5
_END = pattern("end")
_FILLER_BYTES = 16  # so many equal bytes at a stack's far end are filler
Open = Callable[[Firmware], AbstractContextManager[MachineSession]]


def measure(
    firmware: Firmware,
    found: tuple[Memory, ...],
    open_session: Open,
    *,
    seconds: float = 5.0,
    guard: float = 60.0,
) -> tuple[Memory, ...]:
    """``found`` with the high-water marks of stacks, and used and least bytes of the arena.

    The image runs to its ``end`` record or for ``seconds`` (virtual). What cannot be measured says
    why in its note.
    """
    marks = _high_water(firmware, found, open_session, seconds, guard)
    rows = [_stack(one, marks[one.address]) if one.address in marks else one for one in found]
    arenas = [one for one in rows if one.purpose == "arena"]
    if not arenas:
        return tuple(rows)
    try:
        least = minimum(firmware, open_session, seconds=seconds, guard=guard)
    except (FirmwareFailed, UsageError) as error:
        return tuple(
            replace(one, note=error.message) if one.purpose == "arena" else one for one in rows
        )
    # The constructor may get a little less than the array: an aligned part of it.
    chosen = min(arenas, key=lambda one: abs(one.bytes - least.declared))
    margin = replace(chosen, used=least.used, least=least.minimum,
                     wasted=chosen.bytes - least.minimum)  # fmt: skip
    return tuple(margin if one is chosen else one for one in rows)


def _stack(one: Memory, marks: tuple[int, ...]) -> Memory:
    """A stack (or an array of them) with the marks of each."""
    each = one.bytes // len(marks)
    full = [index for index, mark in enumerate(marks) if mark >= each]
    note = "" if len(marks) == 1 else f"{len(marks)} of {each:,} B: " + ", ".join(map(str, marks))
    if full:
        note = f"{note}; used to its end: it may have overflowed".lstrip("; ")
    return replace(one, used=max(marks) if len(marks) == 1 else sum(marks),
                   wasted=one.bytes - sum(marks), note=note)  # fmt: skip


def _high_water(
    firmware: Firmware,
    found: tuple[Memory, ...],
    open_session: Open,
    seconds: float,
    guard: float,
) -> dict[int, tuple[int, ...]]:
    """The deepest use of each stack, by address: one figure a stack of an array."""
    stacks = [one for one in found if one.purpose == "stack"]
    if not stacks:
        return {}
    with open_session(firmware) as session:
        for one in stacks:
            session.memory.write(one.address, bytes([PAINT]) * one.bytes)
        session.run(ConsoleMatch(_END), session.deadline(seconds, guard=guard))
        data = {one.address: session.memory.read(one.address, one.bytes) for one in stacks}
    marks = {}
    for one in stacks:
        dimensions = firmware.variables.dimensions(one.address)
        count = dimensions[0] if len(dimensions) > 1 else None
        count = count if count and one.bytes % count == 0 else 1
        each = one.bytes // count
        marks[one.address] = tuple(
            high_water(data[one.address][at : at + each]) for at in range(0, one.bytes, each)
        )
    return marks


def high_water(stack: bytes) -> int:
    """Bytes used of a full-descending stack, whose unused bytes all hold the same value."""
    filler = stack[:1]
    if not stack.startswith(filler * _FILLER_BYTES):
        return len(stack)
    return len(stack.lstrip(filler))
