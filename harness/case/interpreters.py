"""Interpreters as the target saw them made and used: where their arena and resolver lie.

Evidence is in the arguments of the constructor, and in the stack pointer then and at a later call.
What lay above the stack pointer was in the frame of a running function; what lies below it now is
in no frame.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from harness.base.findings import Finding, Kind
from harness.elf import Image
from harness.elf.demangle import short_name
from harness.elf.interpreter import ALLOCATE, INPUT, INVOKE, OUTPUT, TAKES_ARENA
from harness.elf.main_stack import stack_at
from harness.targets.calls import Call

_USES = {ALLOCATE: "AllocateTensors()", INVOKE: "Invoke()"}
_TENSORS = {INPUT: "input()", OUTPUT: "output()"}


def arena_of(name: str, call: Call) -> range | None:
    """The arena that ``call`` of the function ``name`` gives to an interpreter; None for others."""
    if not TAKES_ARENA.match(name) or not call.others:
        return None
    made = _Made.by(call)
    return range(made.arena, made.arena + made.size)


@dataclass(frozen=True)
class _Made:
    """The call that made an interpreter."""

    call: Call
    this: int
    model: int
    resolver: int
    arena: int
    size: int

    @classmethod
    def by(cls, call: Call) -> _Made:
        return cls(call, call.argument, *call.others)

    def shares_with(self, other: _Made) -> bool:
        return self.arena < other.arena + other.size and other.arena < self.arena + self.size


def models_given(calls: Sequence[Call], functions: Mapping[int, str]) -> tuple[int, ...]:
    """The models that constructors among ``calls`` got: addresses of root tables, in order."""
    made = (call for call in calls if TAKES_ARENA.match(functions[call.address]) and call.others)
    return tuple(dict.fromkeys(_Made.by(call).model for call in made))


def arena_findings(
    calls: Sequence[Call], functions: Mapping[int, str], image: Image
) -> tuple[Finding, ...]:
    """What is wrong with arenas and resolvers in ``calls`` of ``functions``: the first finding."""
    first = next(_wrong(calls, functions, image), None)
    if first is None:
        return ()
    kind, text, call = first
    return (Finding(kind, f"{text} (in {image.locate(call.caller - 2)})", time=call.begun),)


def _wrong(
    calls: Sequence[Call], functions: Mapping[int, str], image: Image
) -> Iterator[tuple[Kind, str, Call]]:
    made: dict[int, _Made] = {}  # by the interpreter's address, in the order of time
    asked: dict[int, Call] = {}  # the first call of each interpreter for a tensor
    allocated: set[int] = set()
    for call in calls:
        name = functions[call.address]
        if TAKES_ARENA.match(name) and call.others:
            one = _Made.by(call)
            made.pop(one.this, None)
            asked.pop(one.this, None)
            allocated.discard(one.this)
            made[one.this] = one
            if not one.arena:
                yield Kind.ALLOCATION_FAILED, _no_arena(one, image), call
            if text := _overstated(one, image):
                yield Kind.ARENA_OVERSTATED, text, call
        elif name in _TENSORS and call.argument in made:
            asked.setdefault(call.argument, call)
        elif name in _USES and (used := made.get(call.argument)) is not None:
            early = asked.get(used.this)
            if name == ALLOCATE and early is not None and used.this not in allocated:
                function = _TENSORS[functions[early.address]]
                text = f"{function} is called before AllocateTensors(): there is no tensor yet"
                yield Kind.NOT_ALLOCATED, text, early
            allocated.add(used.this)
            later = list(made.values())[list(made).index(used.this) + 1 :]
            if any(used.shares_with(other) for other in later):
                yield Kind.ARENA_SHARED, _shared(used, image), call
            if gone := _gone(used, call, image):
                text = f"the {gone} lies in the stack frame of a function that has returned"
                yield Kind.FRAME_LEFT, f"{text}: make it static; {_USES[name]} uses it", call


def _no_arena(made: _Made, image: Image) -> str:
    text = f"the arena of {made.size:,} bytes is a null pointer"
    ram = image.chip.area("ram").size
    return f"{text}: the chip has {ram:,} bytes of RAM" if made.size > ram else text


def _overstated(made: _Made, image: Image) -> str:
    """That the interpreter is told of more than the rest of the array that holds its arena."""
    held = image.object_at(made.arena)
    rest = held.address + held.size - made.arena if held is not None else made.size
    if held is None or made.size <= rest:
        return ""
    return (
        f"the interpreter is told of {made.size:,} bytes at {short_name(held.name)},"
        f" which has {rest:,} there"
    )


def _shared(made: _Made, image: Image) -> str:
    """The arena by its symbol, or by its address."""
    held = image.object_at(made.arena)
    name = f"at 0x{made.arena:08x}" if held is None else short_name(held.name)
    return f"two interpreters share the arena {name}: the second overwrites what the first keeps"


def _gone(made: _Made, use: Call, image: Image) -> str:
    """The part of an interpreter that was on the stack when it was made, and now is below it."""
    stack = stack_at(image, made.call.sp)
    if stack is None or stack != stack_at(image, use.sp) or use.exception != made.call.exception:
        return ""
    # Nodes point to the registrations in the resolver.
    parts = {
        "interpreter": made.this,
        "arena": made.arena,
        "op resolver": made.resolver,
        "model": made.model,
    }
    lost = range(made.call.sp, use.sp)
    return next((name for name, address in parts.items() if address in lost), "")
