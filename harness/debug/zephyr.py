"""Zephyr's threads, read from memory: names, stacks, and the saved registers of waiting threads.

The layout of the kernel's structures ``_kernel``, ``k_thread`` and Arm's ``_callee_saved`` is that
of the image's DWARF. Member names: Zephyr's include/zephyr/kernel/thread.h and
include/zephyr/arch/arm/thread.h.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

from harness.base.core_state import EXTENDED_FRAME, FRAME, CoreState, above_frame
from harness.elf import Image
from harness.elf.dwarf.entries import Entry

#: Most threads that are read from the kernel's list.
_MOST_THREADS = 64
_LONGEST_NAME = 64
_XPSR = 1 << 24


@dataclass(frozen=True)
class Thread:
    """A thread; its stack has ``size`` bytes (0: unknown) from ``begin``."""

    address: int
    name: str
    running: bool
    begin: int = 0
    size: int = 0


class Zephyr:
    """The kernel of one image; without DWARF no threads are found."""

    def __init__(self, image: Image) -> None:
        self._image = image
        symbol = image.symbol("_kernel")
        self._kernel = symbol.address if symbol is not None else 0

    @cached_property
    def _kind(self) -> Entry | None:
        """The type of ``_kernel``."""
        return self._image.variables.type_of(self._kernel) if self._kernel else None

    def _of_kernel(self, *path: str) -> tuple[int, Entry | None] | None:
        """Offset and type of a member of ``_kernel``."""
        return self._image.variables.member(self._kind, *path) if self._kind is not None else None

    @cached_property
    def _current(self) -> tuple[int, Entry | None] | None:
        """Offset in ``_kernel`` and type of the pointer to the running thread."""
        cpus = self._of_kernel("cpus")
        own = self._image.variables.member(cpus[1], "current") if cpus is not None else None
        return (cpus[0] + own[0], own[1]) if cpus is not None and own is not None else None

    def _field(self, *path: str) -> int | None:
        """The offset of a member of ``k_thread``."""
        if self._current is None:
            return None
        found = self._image.variables.member(self._current[1], *path)
        return None if found is None else found[0]

    def threads(self, state: CoreState) -> list[Thread]:
        """The running thread, then those of the kernel's list (CONFIG_THREAD_MONITOR)."""
        if self._current is None:
            return []
        running = state.word(self._kernel + self._current[0]) or 0
        addresses = [running] if running else []
        first, following = self._of_kernel("threads"), self._field("next_thread")
        if first is not None and following is not None:
            address = state.word(self._kernel + first[0])
            for _ in range(_MOST_THREADS):
                if not address or address in addresses[1:]:
                    break
                addresses += [address] * (address != running)
                address = state.word(address + following)
        return [self._thread(state, one, running=one == running) for one in addresses]

    def _thread(self, state: CoreState, address: int, *, running: bool) -> Thread:
        begin, size = self._field("stack_info", "start"), self._field("stack_info", "size")
        if begin is None or size is None:
            return Thread(address, self._name(state, address), running)
        stack = state.word(address + begin) or 0, state.word(address + size) or 0
        return Thread(address, self._name(state, address), running, *stack)

    def _name(self, state: CoreState, address: int) -> str:
        at = self._field("name")
        raw = state.read(address + at, _LONGEST_NAME) if at is not None else None
        name = (raw or b"").split(b"\0")[0]
        if name and name.isascii() and name.decode("ascii").isprintable():
            return name.decode("ascii")
        symbol = self._image.object_at(address)
        return symbol.name if symbol is not None else f"0x{address:08x}"

    def waiting(self, state: CoreState, thread: Thread) -> CoreState | None:
        """The state in which a waiting thread resumes; None if unknown."""
        saved = self._field("callee_saved")
        if saved is None or thread.running:
            return None
        kept = [state.word(thread.address + saved + 4 * number) for number in range(9)]
        frame = kept[8]
        if frame is None or None in kept:
            return None
        stacked = [state.word(frame + 4 * number) for number in range(8)]
        if None in stacked:
            return None
        values = [word or 0 for word in stacked]
        sp = above_frame(frame, values[7], self._frame_size(state, thread))
        registers = [*values[:4], *(word or 0 for word in kept[:8]), values[4], sp, *values[5:7]]
        return replace(state, registers=(*registers, _XPSR))

    def waits_for(self, state: CoreState, thread: Thread) -> str:
        """The object that a thread waits for: `` for NAME, which thread OTHER holds``, or ""."""
        at = self._field("base", "pended_on")
        queue = state.word(thread.address + at) if at is not None else 0
        symbol = self._image.object_at(queue) if queue else None
        if symbol is None:
            return ""
        kind = self._image.variables.type_of(symbol.address)
        owner = self._image.variables.member(kind, "owner")  # of struct k_mutex
        holder = state.word(queue + owner[0]) if queue and owner is not None else 0
        held = f", which thread {self._name(state, holder)} holds" if holder else ""
        return f" for {symbol.name}{held}"

    def _frame_size(self, state: CoreState, thread: Thread) -> int:
        """The size of the thread's exception frame, from its EXC_RETURN that the kernel saves."""
        mode = self._field("arch", "mode_exc_return")
        data = state.read(thread.address + mode, 1) if mode is not None else None
        standard = data is None or data[0] & 1 << 4
        return FRAME if standard else EXTENDED_FRAME


def without_idle(threads: list[Thread]) -> Iterator[Thread]:
    """The threads except idle threads."""
    return (one for one in threads if not one.name.startswith(("idle", "z_idle")))
