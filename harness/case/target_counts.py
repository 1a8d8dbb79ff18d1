"""Figures that the target measures while an image runs, to check those that the image reports.

A target with access to core and memory sees each call of the interpreter's ``Invoke()``. When the
image prints its figures, memory shows the used part of its stack, the allocated bytes of its arena,
and the bytes of the arena that inferences wrote. The unused part of a stack is the one that still
holds the image's own paint, or the contents at power-on.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping

from harness.case.arena import Arena
from harness.case.evidence.known import Measured
from harness.elf import Image
from harness.elf.file import Symbol
from harness.elf.interpreter import INVOKE
from harness.targets.session import Session
from harness.targets.stacks import used_bytes
from harness.uart import Console

_STACK = "z_main_stack"
_WORD = 0xFFFF_FFFF
_ALLOCATOR = "RecordingMicroAllocator"


class TargetCounter:
    """Reads memory when the image prints a figure: call :meth:`look` after each such record."""

    def __init__(self, session: Session, image: Image, console: Console) -> None:
        self._session, self._image, self._console = session, image, console
        self._arenas = self._stacks = self._inferences = 0  # processed records
        self._first: Arena | None = None  # the arena before the first inference
        self._given: int | None = None
        self._least: int | None = None
        self._strayed = 0
        self._stack_used: int | None = None
        self._allocations: tuple[str, ...] | None = None

    def look(self) -> None:
        """Read the memory that belongs to the records since the last call."""
        arenas = self._console.of_kind("arena")
        if len(arenas) > self._arenas:
            self._arenas = len(arenas)
            self._read_allocated(arenas[-1].integer("declared"))
        if self._console.of_kind("inference") and not self._inferences:
            self._inferences = 1
            self._compare()
        stacks = self._console.of_kind("stack")
        if len(stacks) > self._stacks:
            self._stacks = len(stacks)
            last = stacks[-1]
            if last.text("name") == "main":
                self._stack_used = self._used_stack(last.integer("size"))
            self._compare(again=True)
            self._compare_allocations()

    @property
    def has_compared(self) -> bool:
        """Whether the arena has been read after the first inference."""
        return bool(self._inferences)

    def measured(self, functions: Mapping[int, str]) -> Measured:
        """The figures at the end of the run; read those that the image has not printed."""
        invoked = None
        if INVOKE in functions.values():
            calls = (one for one in self._session.calls if functions[one.address] == INVOKE)
            invoked = tuple(call.taken for call in calls if call.taken is not None)
        array = self._array()
        if not self._stacks:
            stack = self._image.symbol(_STACK)
            self._stack_used = self._used_stack(stack.size) if stack is not None else None
        if not self._arenas and array is not None and invoked and self._session.stops_exactly:
            layout = self._read(array).layout()
            self._given = layout.used if layout is not None else None
        declared = array.size if array is not None and invoked else None
        return Measured(
            invoked, self._stack_used, declared, self._given, self._least, self._strayed,
            self._allocations,
        )  # fmt: skip

    def _array(self) -> Symbol | None:
        """The image's arena; None unless exactly one array has the name of one."""
        found = self._image.tensor_arenas
        return found[0] if len(found) == 1 else None

    def _read(self, array: Symbol) -> Arena:
        return Arena(array.address, self._session.memory.read(array.address, array.size))

    def _read_allocated(self, declared: int) -> None:
        """Read the arena after AllocateTensors, if exactly one array has its size."""
        self._first = self._given = self._least = None
        self._strayed = 0
        found = [one for one in self._image.tensor_arenas if one.size == declared]
        if len(found) == 1 and not self._console.of_kind("inference"):
            self._first = self._read(found[0])
            layout = self._first.layout()
            if layout is not None and self._session.stops_exactly:
                self._given = layout.used

    def _compare(self, *, again: bool = False) -> None:
        """Compare the arena with its first reading.

        ``again``: not if its layout has changed since, because another allocator uses it.
        """
        first = self._first
        if first is None:
            return
        content = self._session.memory.read(first.address, len(first.content))
        later = Arena(first.address, content)
        if not self._session.stops_exactly:  # another allocator may already use the arena
            self._least = first.changed(later)
            return
        if again and (first.layout() is None or first.layout() != later.layout()):
            return
        self._least = max(first.least_used(later), self._least or 0)
        self._strayed = max(first.strayed(later), self._strayed)

    def _compare_allocations(self) -> None:
        """Look for the figures of ``allocation`` records in the arena, which holds the allocator.

        RecordingMicroAllocator is an object in the arena that it serves (tflite-micro,
        ``recording_micro_allocator.cc``); it keeps three words for each type: requested bytes, used
        bytes, count.
        """
        records, first = self._console.of_kind("allocation"), self._first
        if not records or first is None or not self._session.stops_exactly:
            return
        content = self._session.memory.read(first.address, len(first.content))
        names = ("requested", "used", "count")
        wrong = [
            record.text("type")
            for record in records
            if struct.pack("<3I", *(record.integer(name) & _WORD for name in names)) not in content
        ]
        used = [record.text("type") for record in records if record.integer("used")]
        # Without a symbol of it the allocator may be elsewhere: then the arena has none of them.
        known = any(_ALLOCATOR in symbol.name for symbol in self._image.symbols)
        if known or any(name not in wrong for name in used):
            self._allocations = tuple(wrong)

    def _used_stack(self, size: int) -> int | None:
        """The bytes of the main stack above the unused ones at its end; None if unknown."""
        symbol = self._image.symbol(_STACK)
        if symbol is None or not 0 < size <= symbol.size:
            return None
        begin = symbol.address + symbol.size - size
        stack = self._session.memory.read(begin, size)
        return used_bytes(stack, begin, self._session.power_on)
