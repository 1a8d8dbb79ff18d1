"""Figures that the target counts while an image runs: the image's own figures are claims.

A target that can look inside sees each call of the interpreter's ``Invoke()``, and its memory can
be read when the image prints its figures: how far its stack was used, and which bytes of its arena
changed from the first inference on.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from harness.case.evidence.known import is_arena
from harness.elf import Image
from harness.targets.base import Session
from harness.uart import Console

#: ``tflite::MicroInterpreter::Invoke()``, whose ticks an ``inference`` record claims.
INVOKE = "_ZN6tflite16MicroInterpreter6InvokeEv"
_STACK = "z_main_stack"
#: A stack whose end holds one byte so often was painted with it, or never used so far.
_LEAST_PAINT = 16


@dataclass(frozen=True)
class TargetCounts:
    """Figures of the target; None for what it cannot count."""

    invoked: tuple[int, ...] | None = None  # ticks of each Invoke(), over all boots
    stack_used: int | None = None  # bytes of the main stack, when the image printed its own figure
    arena_changed: int | None = None  # bytes of the arena that changed since the first inference


NO_COUNTS = TargetCounts()


class TargetCounter:
    """Reads memory at the records that claim figures: :meth:`look` is called whenever one came."""

    def __init__(self, session: Session, image: Image, console: Console) -> None:
        self._session, self._image, self._console = session, image, console
        self._arenas = self._stacks = 0  # records that were looked at
        self._first: bytes | None = None  # the arena before the first inference
        self._at = (0, 0)  # its address and size
        self._stack_used: int | None = None
        self._changed: int | None = None

    def look(self) -> None:
        """Read what belongs to records that came since the last call."""
        arenas = self._console.of_kind("arena")
        if len(arenas) > self._arenas:
            self._arenas = len(arenas)
            self._remember(arenas[-1].integer("declared"))
        stacks = self._console.of_kind("stack")
        if len(stacks) > self._stacks:
            self._stacks = len(stacks)
            last = stacks[-1]
            if last.text("name") == "main":
                self._stack_used = self._used(last.integer("size"))
            self._compare()

    def counted(self, functions: Mapping[int, str]) -> TargetCounts:
        """The figures, at the end of the run."""
        invoked = None
        if INVOKE in functions.values():
            calls = (one for one in self._session.calls if functions[one.address] == INVOKE)
            invoked = tuple(call.taken for call in calls if call.taken is not None)
        return TargetCounts(invoked, self._stack_used, self._changed)

    def _remember(self, declared: int) -> None:
        """The arena's content after AllocateTensors, if one array of the image has its size."""
        self._first = self._changed = None
        found = [one for one in self._image.symbols if is_arena(one) and one.size == declared]
        if len(found) == 1 and not self._console.of_kind("inference"):
            self._at = found[0].address, found[0].size
            self._first = self._session.memory.read(*self._at)

    def _compare(self) -> None:
        if self._first is not None:
            before = np.frombuffer(self._first, np.uint8)
            now = np.frombuffer(self._session.memory.read(*self._at), np.uint8)
            self._changed = int(np.count_nonzero(before != now))

    def _used(self, size: int) -> int | None:
        """Bytes of the main stack above the painted ones at its end."""
        symbol = self._image.symbol(_STACK)
        if symbol is None or not 0 < size <= symbol.size:
            return None
        end = symbol.address + symbol.size
        stack = self._session.memory.read(end - size, size)
        unused = len(stack) - len(stack.lstrip(stack[:1]))
        return size - unused if unused >= _LEAST_PAINT else None
