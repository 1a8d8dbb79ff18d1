"""The state of one path: registers, memory, active functions."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from harness.elf import Image
from harness.elf.regions import RAM
from harness.resolver.static.frames import Locals
from harness.resolver.static.memory import POWER_ON, Cell, WordMemory
from harness.resolver.static.values import Cause, Unknown, Value

SP, LR, PC = 13, 14, 15
UNSET = Unknown(Cause("a register that nothing has set", 0), external=True)
#: Registers that a function preserves (AAPCS, section 6.1.1).
_PRESERVED = range(4, 12)


class Lost(Exception):
    """The path cannot be followed, because of ``cause``; ``state`` is the state there.

    ``final``: the function may not return, so it must not be skipped.
    """

    def __init__(self, cause: Cause, *, final: bool = False) -> None:
        super().__init__(cause.what)
        self.cause = cause
        self.final = final
        self.state: State | None = None


class Frame:
    """An active function: its return address, arguments, and its caller's registers.

    ``function`` was called, or jumped to in tail position by ``called``. ``top`` is the stack
    pointer at the call; the frame is below it, down to ``low``. ``saved`` is the range in which it
    saved registers with lr. ``jumps`` counts backward jumps; ``long`` is true once a loop was
    followed for any number of rounds.
    """

    __slots__ = ("arguments", "called", "function", "jumps", "long", "low", "preserved",
                 "returns_to", "saved", "top")  # fmt: skip

    def __init__(
        self, function: int, returns_to: int, top: int, preserved: tuple[Value, ...] = (),
        arguments: tuple[Value, ...] = (),
    ) -> None:  # fmt: skip
        self.function = self.called = function
        self.returns_to = returns_to
        self.top = self.low = top
        self.preserved = preserved
        self.arguments = arguments
        self.saved: tuple[int, int] | None = None
        self.long = False
        self.jumps: dict[int, tuple[int, int, LoopMark | None]] = {}

    def fork(self) -> Frame:
        """A copy with its own counts."""
        other = Frame(self.function, self.returns_to, self.top, self.preserved, self.arguments)
        other.called, other.low, other.saved = self.called, self.low, self.saved
        other.long, other.jumps = self.long, dict(self.jumps)
        return other


@dataclass(frozen=True)
class LoopMark:
    """Registers and memory in one round of a loop."""

    registers: tuple[object, ...]
    memory: WordMemory


@dataclass(frozen=True)
class Decision:
    """A branch at ``at``, open because of ``cause``, that was followed to ``to``."""

    at: int
    to: int
    cause: Cause


class State:
    """The machine on one path. A flag is 0, 1 or None (unknown, because of ``flags_cause``).

    ``calls`` are the watched functions that were called so far, ``objects`` the addresses at which
    a watched word was stored.
    """

    def __init__(self, image: Image, pc: int, stack: int) -> None:
        self.memory = WordMemory(image)
        self.r: list[Value] = [UNSET] * 15
        self.r[SP] = stack
        self.s: list[Value] = [UNSET] * 32
        self.pc = pc
        self.n: int | None = 0
        self.z: int | None = 0
        self.c: int | None = 0
        self.v: int | None = 0
        self.flags_cause = UNSET.cause
        self.psp: Value = 0
        self.control = 0
        self.frames = [Frame(pc, 0, stack)]
        self.decisions: tuple[Decision, ...] = ()
        self.calls: tuple[tuple[str, bool], ...] = ()
        self.objects: frozenset[int] = frozenset()
        self.outside = 0  # version of the memory at its last change outside of the frame

    def fork(self) -> State:
        """A copy of everything; memory is copied when it is written."""
        other = State.__new__(State)
        other.__dict__.update(self.__dict__)
        other.memory = self.memory.fork()
        other.r, other.s = list(self.r), list(self.s)
        other.frames = [frame.fork() for frame in self.frames]
        return other

    @property
    def depth(self) -> int:
        """The number of active functions."""
        return len(self.frames)

    def enter(self, function: int, returns_to: int) -> None:
        """Call ``function``."""
        stack = self.r[SP]
        if not isinstance(stack, int):
            raise Lost(stack.cause)
        preserved = tuple(self.r[n] for n in _PRESERVED)
        self.frames.append(Frame(function, returns_to, stack, preserved, tuple(self.r[:4])))
        self.r[LR] = returns_to | 1
        self.pc = function

    def leave(self) -> None:
        """Return from the innermost function; its caller's registers are as before the call."""
        frame = self.frames.pop()
        if frame.low < frame.top:
            self.memory.forget(frame.low, frame.top, POWER_ON)
        for number, value in zip(_PRESERVED, frame.preserved, strict=True):
            if not isinstance(self.r[number], int):
                self.r[number] = value
        self.r[SP] = frame.top
        self.pc = frame.returns_to

    def frame_of(self, address: int) -> tuple[int, Frame] | None:
        """The start of the active frame that contains ``address``, and the frame."""
        start = self.r[SP]
        for frame in reversed(self.frames):
            if isinstance(start, int) and start <= address < frame.top:
                return start, frame
            start = frame.top
        return None

    def flags_unknown(self, cause: Cause) -> None:
        """Forget the condition flags."""
        self.n = self.z = self.c = self.v = None
        self.flags_cause = cause

    def registers(self) -> tuple[object, ...]:
        """Registers and flags for comparisons, with None for unknown ones."""
        numbers = (v if isinstance(v, int) else None for v in (*self.r, *self.s))
        return self.n, self.z, self.c, self.v, *numbers

    def join(self, other: State, cause: Cause, objects: Objects) -> None:
        """Make this state stand for both itself and ``other``, which is at the same place."""

        def common(first: int, second: int) -> int | None:
            return objects.common(self, first, second)

        def merge(a: Cell, b: Cell) -> Cell:
            return _merged(a, b, cause, common)

        def both(mine: Iterable[Value], theirs: Iterable[Value]) -> list[Value]:
            pairs = zip(mine, theirs, strict=True)
            return [a if a == b else _merged_values(a, b, cause, common) for a, b in pairs]

        self.r, self.s = both(self.r, other.r), both(self.s, other.s)
        for flag in "nzcv":
            if getattr(self, flag) != getattr(other, flag):
                setattr(self, flag, None)
                self.flags_cause = cause
        (self.psp,) = both([self.psp], [other.psp])
        self.memory.join(other.memory, merge)
        self.outside = max(self.outside, other.outside)
        self.objects |= other.objects
        if self.calls != other.calls:
            self.calls = max(self.calls, other.calls, key=len)
        for mine, theirs in zip(self.frames, other.frames, strict=True):
            mine.preserved = tuple(both(mine.preserved, theirs.preserved))
            mine.low = min(mine.low, theirs.low)
            if mine.top != theirs.top or mine.returns_to != theirs.returns_to:
                raise Lost(cause)


class Objects:
    """The static objects of an image, and the variables in its stack frames, by address."""

    def __init__(self, image: Image) -> None:
        self.locals = Locals(image)
        self._spans = sorted(
            (s.address, s.address + s.size)
            for s in image.symbols
            if s.kind == "object" and s.size and s.address in RAM
        )
        self._starts = [start for start, _ in self._spans]

    def at(self, state: State, address: int) -> tuple[int, int] | None:
        """Start and end of the variable at ``address``; a whole frame without DWARF."""
        if address not in RAM:
            return None
        frame = state.frame_of(address)
        if frame is not None:
            return self._in_frame(address, *frame)
        index = bisect_right(self._starts, address) - 1
        if index < 0 or address >= self._spans[index][1]:
            return None
        start, end = self._spans[index]
        stack = state.r[SP]
        is_stack = isinstance(stack, int) and start <= stack <= end  # unused, below sp
        return None if is_stack else (start, end)

    def _in_frame(self, address: int, start: int, frame: Frame) -> tuple[int, int] | None:
        end = frame.top
        span = self.locals.around(frame.function, address - frame.top)
        if span is not None:
            start, end = max(frame.top + span[0], start), min(frame.top + span[1], end)
        if frame.saved is not None:
            low, high = frame.saved
            if low <= address < high:
                return None
            if address < low:
                end = min(end, low)
            else:
                start = max(start, high)
        return start, end

    def common(self, state: State, first: int, second: int) -> int | None:
        """An address in the object that contains both addresses, None without one."""
        if first not in RAM or second not in RAM:
            return None
        found = self.at(state, first)
        if found is not None and found[0] <= second <= found[1]:
            return first
        found = self.at(state, second)
        return second if found is not None and found[0] <= first <= found[1] else None


def _merged(a: Cell, b: Cell, cause: Cause, common: Callable[[int, int], int | None]) -> Cell:
    """A cell for both ``a`` and ``b``, which differ; ``a`` itself if it includes ``b``."""
    if isinstance(a, tuple) or isinstance(b, tuple):
        return a if _is_any(a) else b if _is_shared(b) else Unknown(cause)
    if isinstance(a, Unknown) and a.shared:
        return a
    if _is_shared(b):
        return b
    return _merged_values(a, b, cause, common)


def _merged_values(
    a: Value, b: Value, cause: Cause, common: Callable[[int, int], int | None]
) -> Value:
    """A value for both ``a`` and ``b``, which differ; ``a`` itself if it includes ``b``."""
    if _is_any(a):
        return a
    unknown = next((value for value in (a, b) if isinstance(value, Unknown)), None)
    kept = unknown.cause if unknown is not None else cause
    bases = [value if isinstance(value, int) else value.base for value in (a, b)]
    first, second = bases
    if first is not None and second is not None and first in RAM and second in RAM:
        base = common(first, second)
        if isinstance(a, Unknown) and base is not None:
            return a
        return Unknown(kept, base=base)
    outside = all(
        v not in RAM if isinstance(v, int) else v.external and v.base is None for v in (a, b)
    )
    if outside and isinstance(a, Unknown):
        return a
    return Unknown(kept, external=outside)


def _is_any(cell: Cell) -> bool:
    """True for a value about which nothing is known."""
    return isinstance(cell, Unknown) and not cell.external and cell.base is None


def _is_shared(cell: Cell) -> bool:
    return isinstance(cell, Unknown) and cell.shared
