"""The RAM that an image uses, measured on the simulator.

Stacks are painted before the image starts; the lowest bytes that still have one value were never
used. If an image paints (Zephyr's CONFIG_INIT_STACKS) or clears its stacks itself, its filler
counts. If the deepest words of a stack equal the filler, its use is underestimated by them.
"""

from __future__ import annotations

from dataclasses import replace

from harness.base.errors import FirmwareFailed, UsageError
from harness.elf import Image
from harness.footprint.arena import Open, minimum
from harness.footprint.ram import RamObject
from harness.targets.base import ConsoleMatch
from harness.targets.stacks import used_bytes
from harness.uart.records import pattern

#: The byte with which stacks are painted.
PAINT = 0xA5
_END = pattern("end")


def measure(
    image: Image,
    memories: tuple[RamObject, ...],
    open_session: Open,
    *,
    seconds: float = 5.0,
    guard: float = 60.0,
) -> tuple[RamObject, ...]:
    """``memories`` with the high-water marks of stacks, and used and least bytes of the arena.

    The image runs to its ``end`` record or for ``seconds`` (virtual). If a memory cannot be
    measured, its note has the reason.
    """
    marks = _high_water(image, memories, open_session, seconds, guard)
    measured = [
        _stack(memory, marks[memory.address]) if memory.address in marks else memory
        for memory in memories
    ]
    arenas = [memory for memory in measured if memory.purpose == "arena"]
    if not arenas:
        return tuple(measured)
    try:
        least = minimum(image, open_session, seconds=seconds, guard=guard)
    except (FirmwareFailed, UsageError) as error:
        return tuple(
            replace(memory, note=error.message) if memory.purpose == "arena" else memory
            for memory in measured
        )
    # The constructor may get a little less than the array, such as an aligned part of it.
    chosen = min(arenas, key=lambda memory: abs(memory.bytes - least.declared))
    arena = replace(chosen, used=least.used, least=least.minimum,
                    wasted=chosen.bytes - least.minimum)  # fmt: skip
    return tuple(arena if memory is chosen else memory for memory in measured)


def _stack(stack: RamObject, marks: tuple[int, ...]) -> RamObject:
    """A stack (or an array of stacks) with the high-water mark of each."""
    size = stack.bytes // len(marks)
    full = [index for index, mark in enumerate(marks) if mark >= size]
    note = "" if len(marks) == 1 else f"{len(marks)} of {size:,} B: " + ", ".join(map(str, marks))
    if full:
        note = f"{note}; used to its end: it may have overflowed".lstrip("; ")
    return replace(stack, used=max(marks) if len(marks) == 1 else sum(marks),
                   wasted=stack.bytes - sum(marks), note=note)  # fmt: skip


def _high_water(
    image: Image,
    memories: tuple[RamObject, ...],
    open_session: Open,
    seconds: float,
    guard: float,
) -> dict[int, tuple[int, ...]]:
    """Used bytes by a stack's address; one figure for each stack of an array."""
    stacks = [stack for stack in memories if stack.purpose == "stack"]
    if not stacks:
        return {}
    with open_session(image) as session:
        for stack in stacks:
            session.memory.write(stack.address, bytes([PAINT]) * stack.bytes)
        session.run(ConsoleMatch(_END, lines=True), session.deadline(seconds, guard=guard))
        data = {stack.address: session.memory.read(stack.address, stack.bytes) for stack in stacks}
    marks = {}
    for stack in stacks:
        dimensions = image.variables.dimensions(stack.address)
        count = dimensions[0] if len(dimensions) > 1 else 1  # an array of stacks
        size = stack.bytes // count if count and stack.bytes % count == 0 else stack.bytes
        marks[stack.address] = tuple(
            _used(data[stack.address][start : start + size])
            for start in range(0, stack.bytes, size)
        )
    return marks


def _used(stack: bytes) -> int:
    """The used bytes of a painted stack; all of them if no paint is left."""
    used = used_bytes(stack, 0, None)
    return len(stack) if used is None else used
