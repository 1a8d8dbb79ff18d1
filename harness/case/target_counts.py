"""Figures that the target counts while an image runs: the image's own figures are claims.

A target that can look inside sees each call of the interpreter's ``Invoke()``, and its memory can
be read when the image prints its figures: how far its stack was used, what its arena's allocator
has given out, and which bytes of the arena the inferences wrote. Nothing is painted for this: the
image's own paint shows how far its stack was used, or what memory held at power-on.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from harness.base.power_on import pattern
from harness.case.arena import Arena
from harness.case.evidence.known import is_arena
from harness.elf import Image
from harness.elf.file import Symbol
from harness.targets.base import Session
from harness.uart import Console

#: ``tflite::MicroInterpreter::Invoke()``, whose ticks an ``inference`` record claims.
INVOKE = "_ZN6tflite16MicroInterpreter6InvokeEv"
_STACK = "z_main_stack"
#: A stack whose end holds so many bytes as they were was not used so far.
_LEAST_UNUSED = 16


@dataclass(frozen=True)
class TargetCounts:
    """Figures of the target; None for what it cannot count."""

    invoked: tuple[int, ...] | None = None  # ticks of each Invoke(), over all boots
    stack_used: int | None = None  # bytes of the main stack, when the image printed its own figure
    arena_declared: int | None = None  # bytes of the only array that is an arena
    arena_given: int | None = None  # bytes that the arena's allocator has given out
    arena_least: int | None = None  # bytes that it must have, by what the inferences wrote
    arena_strayed: int = 0  # bytes that the inferences wrote where nothing was given out


NO_COUNTS = TargetCounts()


class TargetCounter:
    """Reads memory at the records that claim figures: :meth:`look` is called whenever one came."""

    def __init__(self, session: Session, image: Image, console: Console) -> None:
        self._session, self._image, self._console = session, image, console
        self._arenas = self._stacks = self._inferences = 0  # records that were looked at
        self._first: Arena | None = None  # before the first inference
        self._given: int | None = None
        self._least: int | None = None
        self._strayed = 0
        self._stack_used: int | None = None

    def look(self) -> None:
        """Read what belongs to records that came since the last call."""
        arenas = self._console.of_kind("arena")
        if len(arenas) > self._arenas:
            self._arenas = len(arenas)
            self._remember(arenas[-1].integer("declared"))
        if self._console.of_kind("inference") and not self._inferences:
            self._inferences = 1
            self._compare()
        stacks = self._console.of_kind("stack")
        if len(stacks) > self._stacks:
            self._stacks = len(stacks)
            last = stacks[-1]
            if last.text("name") == "main":
                self._stack_used = self._used(last.integer("size"))
            self._compare(again=True)

    @property
    def has_compared(self) -> bool:
        """Whether the arena has been read after the first inference."""
        return bool(self._inferences)

    def counted(self, functions: Mapping[int, str]) -> TargetCounts:
        """The figures, at the end of the run; of an image that prints none, what memory shows."""
        invoked = None
        if INVOKE in functions.values():
            calls = (one for one in self._session.calls if functions[one.address] == INVOKE)
            invoked = tuple(call.taken for call in calls if call.taken is not None)
        array = self._array()
        if not self._stacks:
            stack = self._image.symbol(_STACK)
            self._stack_used = self._used(stack.size) if stack is not None else None
        if not self._arenas and array is not None and invoked and self._session.stops_exactly:
            division = self._read(array).division()
            self._given = division.used if division is not None else None
        declared = array.size if array is not None and invoked else None
        return TargetCounts(
            invoked, self._stack_used, declared, self._given, self._least, self._strayed
        )

    def _array(self) -> Symbol | None:
        """The image's arena, if one array only can be it."""
        found = [one for one in self._image.symbols if is_arena(one)]
        return found[0] if len(found) == 1 else None

    def _read(self, array: Symbol) -> Arena:
        return Arena(array.address, self._session.memory.read(array.address, array.size))

    def _remember(self, declared: int) -> None:
        """The arena after AllocateTensors, if one array of the image has its size."""
        self._first = self._given = self._least = None
        self._strayed = 0
        found = [one for one in self._image.symbols if is_arena(one) and one.size == declared]
        if len(found) == 1 and not self._console.of_kind("inference"):
            self._first = self._read(found[0])
            division = self._first.division()
            if division is not None and self._session.stops_exactly:
                self._given = division.used

    def _compare(self, *, again: bool = False) -> None:
        """Compare with the arena now; ``again``: unless it was given to another allocator since."""
        first = self._first
        if first is None:
            return
        content = self._session.memory.read(first.address, len(first.content))
        later = Arena(first.address, content)
        if not self._session.stops_exactly:  # memory may be that of a later allocator
            self._least = first.changed(later)
            return
        if again and (first.division() is None or first.division() != later.division()):
            return
        self._least = max(first.least_used(later), self._least or 0)
        self._strayed = max(first.strayed(later), self._strayed)

    def _used(self, size: int) -> int | None:
        """Bytes of the main stack above the untouched ones at its end."""
        symbol = self._image.symbol(_STACK)
        if symbol is None or not 0 < size <= symbol.size:
            return None
        begin = symbol.address + symbol.size - size
        stack = self._session.memory.read(begin, size)
        painted = len(stack) - len(stack.lstrip(stack[:1]))
        unused = max(painted, self._as_at_power_on(begin, stack))
        return size - unused if unused >= _LEAST_UNUSED else None

    def _as_at_power_on(self, address: int, memory: bytes) -> int:
        """How many of the first bytes of ``memory`` hold what they held at power-on."""
        seed = self._session.power_on
        if seed is None:
            return 0
        skip = address % 4
        size = (skip + len(memory) + 3) // 4 * 4
        held = pattern(seed, address - skip, size)[skip : skip + len(memory)]
        same = np.frombuffer(memory, np.uint8) == np.frombuffer(held, np.uint8)
        return int(np.argmin(same)) if not same.all() else len(memory)
