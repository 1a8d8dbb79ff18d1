"""The exploration of all paths from a state."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from harness.elf import Image
from harness.resolver.static.core import Core
from harness.resolver.static.flow import Flow, Functions
from harness.resolver.static.operation import CALLED, ENDED, JUMPED, Fork
from harness.resolver.static.state import Decision, LoopMark, Lost, Objects, State
from harness.resolver.static.values import Cause

#: Most instructions of an exploration.
_MOST_STEPS = 4_000_000
#: Rounds of a loop that stores nothing outside its frame; beyond, any number of rounds is assumed.
_MOST_ROUNDS = 2048
#: The same for loops around such a loop.
_FEW_ROUNDS = 4
#: Most variants of the states at one place; more are joined into one state.
_MOST_VARIANTS = 16
#: Most joins of the states at a loop until they no longer change.
_MOST_WIDENINGS = 64
#: Most nested calls, and most nested open branches.
_DEEPEST = 150
#: The first round after which a loop is checked for a state that no longer changes.
_CHECKED_FROM = 16
_ARRIVED = "arrived"

#: Called at the start of a function: True ends the path, False returns from the function, None
#: follows it.
Hook = Callable[[State], bool | None]


@dataclass(frozen=True)
class _Stops:
    """The ends of paths: ``places`` (depth, address), and any return from ``depth``."""

    places: frozenset[tuple[int, int]] = frozenset()
    depth: int = 0


class Explorer:
    """Follows paths. States of different ``variant`` are not joined.

    ``hooks`` are called at the start of the functions at their addresses; ``entered`` are the
    functions that were called.
    """

    def __init__(
        self, image: Image, objects: Objects, hooks: dict[int, Hook],
        variant: Callable[[State], object],
    ) -> None:  # fmt: skip
        self.core = Core(image, objects)
        self.functions = Functions(image)
        self.entered: set[int] = set()
        self._flow = Flow(self.core, self.functions)
        self._objects = objects
        self.hooks = hooks
        self._variant = variant
        self._steps = 0
        self._nesting = 0

    def explore(self, state: State) -> None:
        """Follow all paths from ``state``. Raises :class:`Lost` if one cannot be followed."""
        self._follow(state, _Stops())

    def call(self, state: State, function: int) -> State:
        """The state after a call of ``function``. Raises :class:`Lost` unless there is one."""
        origin, depth = state.pc, len(state.frames)
        state.enter(function, origin)
        self.entered.add(function)
        states = self._follow(state, _Stops(frozenset({(depth, origin)})))
        if len(states) != 1:
            raise Lost(Cause("a constructor with more than one result", function))
        return states[0]

    def _follow(self, state: State, stops: _Stops) -> list[State]:
        """The states in which paths from ``state`` arrive at ``stops``."""
        waiting, arrived = [state], []
        while waiting:
            current = waiting.pop()
            try:
                end = self._straight(current, stops)
            except Lost as error:
                error.state = error.state or current
                raise
            if isinstance(end, Fork):
                waiting.extend(self._both_sides(current, end, stops))
            elif end is _ARRIVED:
                arrived.append(current)
        return arrived

    def _straight(self, state: State, stops: _Stops) -> Fork | str:
        """Follow ``state`` to a stop, to an open branch, or to its end."""
        operations, operation = self.core.operations, self.core.operation
        places, depth, frames = stops.places, stops.depth, state.frames
        while True:
            if len(frames) < depth or (len(frames), state.pc) in places:
                return _ARRIVED
            self._steps += 1
            op = operations.get(state.pc) or operation(state.pc)
            at = state.pc
            event = op(state)
            if event is None:
                continue
            if event is CALLED:
                if self._called(state):
                    return ENDED
            elif event is JUMPED:
                if self._steps > _MOST_STEPS:
                    raise Lost(Cause("no end after some million instructions", at))
                fork = self._jumped(state, at)
                if fork is not None:
                    return fork
            else:
                return event

    def _called(self, state: State) -> bool:
        """Call the hook of the function at the program counter; True if it ends the path."""
        function = state.pc
        self.entered.add(function)
        if len(state.frames) > _DEEPEST:
            raise Lost(Cause("calls itself without an end", function), final=True)
        hook = self.hooks.get(function)
        if hook is None:
            return False
        done = hook(state)
        if done is False:
            state.leave()
        return done is True

    def _jumped(self, state: State, at: int) -> Fork | str | None:
        """Handle a jump: a call in tail position, or another round of a loop."""
        frame = state.frames[-1]
        start, end = self.functions.at(at)
        if not start <= state.pc < end:
            inside = self.functions.at(state.pc)[0]
            if inside == state.pc and frame.function != inside:
                frame.function = inside
                frame.jumps = {}
                if self._called(state):
                    return ENDED
            return None
        if state.pc > at:
            return None
        rounds, outside, mark = frame.jumps.get(at, (0, 0, None))
        if outside != state.outside:
            rounds = 0
        rounds += 1
        if rounds >= _CHECKED_FROM and rounds & rounds - 1 == 0:
            mark = LoopMark(state.registers(), state.memory.fork())
        elif (
            mark is not None
            and mark.registers == state.registers()
            and mark.memory.equals(state.memory)
        ):
            return ENDED  # the state no longer changes: an endless loop
        frame.jumps[at] = (rounds, state.outside, mark)
        if rounds > (_FEW_ROUNDS if frame.long else _MOST_ROUNDS):
            frame.long = True
            again, following = state.pc, at + self.core.instruction(at).size
            state.pc = at
            sides = (again,) if self.core.always_jumps(at) else (again, following)
            return Fork(sides, Cause("how often a long loop goes round", at))
        return None

    # ------------------------------------------------------------------ branches

    def _both_sides(self, state: State, fork: Fork, stops: _Stops) -> list[State]:
        """Follow all sides of an open branch to their meeting point, and join them there."""
        self._nesting += 1
        if self._nesting > _DEEPEST:
            raise Lost(Cause("too many open branches one within the other", state.pc))
        branch, depth = state.pc, len(state.frames)
        meeting = self._flow.meeting_point(branch) if len(fork.targets) > 1 else None
        places = {(depth, branch)} | ({(depth, meeting)} if meeting is not None else set())
        inner = _Stops(stops.places | places, depth)
        base = state
        for _ in range(_MOST_WIDENINGS):
            arrived: list[State] = []
            again: list[State] = []
            for target in fork.targets:
                side = base.fork()
                for each in self._side(side, target, fork.cause, inner):
                    at_branch = (len(each.frames), each.pc) == (depth, branch)
                    (again if at_branch else arrived).append(each)
            if not again:
                break
            wider = base.fork()
            before = wider.memory.version, _registers(wider)
            for each in again:
                wider.join(each, fork.cause, self._objects)
            if (wider.memory.version, _registers(wider)) == before:
                break
            base = wider
        else:
            raise Lost(Cause("a loop whose state does not settle", branch))
        self._nesting -= 1
        merged = self._merged(arrived, fork.cause)
        if len(merged) == 1:
            merged[0].decisions = state.decisions
        return merged

    def _side(self, state: State, target: int, cause: Cause, stops: _Stops) -> list[State]:
        """Follow one side of the branch at the program counter to ``stops``."""
        branch = state.pc
        state.decisions += (Decision(branch, target, cause),)
        if target == branch:  # a conditional instruction that is carried out
            state.pc = branch
            event = self.core.carried_out(branch)(state)
            if event is ENDED or (event is CALLED and self._called(state)):
                return []
            if isinstance(event, Fork):
                sides = self._both_sides(state, event, stops)
                return [each for side in sides for each in self._follow(side, stops)]
            if event is JUMPED and self._jumped(state, branch) is ENDED:
                return []
        else:
            state.pc = target
        return self._follow(state, stops)

    def _merged(self, states: Iterable[State], cause: Cause) -> list[State]:
        """The states joined to one for each place and variant."""
        places: dict[object, list[State]] = {}
        for state in states:
            key = tuple((f.function, f.returns_to) for f in state.frames), state.pc
            places.setdefault(key, []).append(state)
        merged: list[State] = []
        for group in places.values():
            variants: dict[object, list[State]] = {}
            for state in group:
                variants.setdefault(self._variant(state), []).append(state)
            if len(variants) > _MOST_VARIANTS:
                variants = {None: group}
            for alike in variants.values():
                first = alike[0]
                for other in alike[1:]:
                    first.join(other, cause, self._objects)
                merged.append(first)
        return merged


def _registers(state: State) -> tuple[object, ...]:
    """Flags and registers, also the preserved ones; unknown values by identity."""
    kept = (value for frame in state.frames for value in frame.preserved)
    values = (*state.r, *state.s, *kept, state.psp)
    return state.n, state.z, state.c, state.v, *(v if isinstance(v, int) else id(v) for v in values)
