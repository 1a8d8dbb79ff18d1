"""What a core does, in words: its call stack, the thread, and how far the stack was used."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from harness.base import power_on
from harness.base.core_state import MSP, PSP, CoreState
from harness.base.errors import BadElf
from harness.base.text import folded
from harness.debug.unwind import StackFrame, Unwinder
from harness.debug.zephyr import Thread, Zephyr, told_apart
from harness.elf import Image, vectors
from harness.targets.base import Fault

#: Callers that one line names, and threads that it names if none runs.
_CALLERS, _WAITING = 3, 2
#: Threads of a report.
_THREADS_SHOWN = 16
#: Bytes below a stack in which a refused access is an overflow: guards and frames.
_BELOW = 256
#: As many bytes at a stack's end that nobody wrote are no coincidence.
_LEAST_UNUSED = 4
_OVERFLOWS = ("STKOF", "MSTKERR", "STKERR")
#: How names of the kernel's own functions begin, which a line about a waiting thread leaves out.
_KERNEL = ("arch_", "z_")
_IMPLEMENTATION = "z_impl_"
#: Zephyr's stack of handlers; the kernel's start uses another.
_HANDLERS = "z_interrupt_stacks"


@dataclass(frozen=True)
class Stack:
    """``size`` bytes from ``begin``; ``used``: its high-water mark, None if unknown."""

    name: str
    begin: int
    size: int
    used: int | None = None

    def __str__(self) -> str:
        used = "" if self.used is None else f", high-water mark {self.used:,}"
        return f"{self.name} ({self.size:,} bytes from 0x{self.begin:08x}{used})"


class Narrator:
    """Tells what a core with one image does."""

    def __init__(self, image: Image, seed: int | None = None) -> None:
        self._image, self._seed = image, seed
        self._unwinder, self._zephyr = Unwinder(image), Zephyr(image)

    def fault(self, fault: Fault) -> Fault:
        """``fault`` with its callers, its thread and its stack; as it was without a state."""
        state = fault.state
        if state is None:
            return fault
        frames, thread = self._unwinder.walk(state), self._running(state)
        stack = self.stack(state, thread, refused=_refused(fault.reason))
        overflow = self.overflow(state, stack, fault.reason, fault.address)
        wild = frames[0].location.function == ""  # its place is the caller's already
        words = _callers(frames[1:] if wild else frames) + (
            f", thread {thread.name}" if thread is not None else ""
        )
        title = "  call stack" + (f" of thread {thread.name}" if thread is not None else "")
        lines = [f"{title}, innermost first:", *_lines(frames)]
        lines += [f"  stack {stack}"] if stack is not None else []
        lines += [f"  {overflow}"] if overflow else []
        report = "\n".join([fault.report, *lines])
        return replace(
            fault, report=report, callers=words, overflow=overflow, state=None
        )  # fmt: skip

    def place(self, state: CoreState) -> str:
        """Where the core is, and what its threads wait for, in one line."""
        thread, frames = self._running(state), self._unwinder.walk(state)
        at = _interrupted_at(frames)
        here = str(frames[0]) + _callers(frames if at <= _CALLERS else frames[at - 1 :])
        if thread is None:
            return here
        if any(told_apart([thread])) or state.registers[16] & 0x1FF:
            return f"{here}, thread {thread.name}"
        here = f"{next(_outlined(frames))}, thread {thread.name}"
        waiting = [self._waits(state, one) for one in told_apart(self._zephyr.threads(state))]
        waiting = [one for one in waiting if one]
        more = f", and {len(waiting) - _WAITING} more" if len(waiting) > _WAITING else ""
        return "; ".join([here, *waiting[:_WAITING]]) + more

    def _waits(self, state: CoreState, thread: Thread) -> str:
        saved = self._zephyr.waiting(state, thread)
        if saved is None:
            return ""
        frames = self._unwinder.walk(saved)
        first = next((one for one in _outlined(frames) if not _is_kernel(one)), frames[0])
        own = frames[frames.index(first) :]
        if len(own) > 1 and _name(own[1]) == _name(own[0]):  # the wrapper of a system call
            own = (own[0], *own[2:])
        cause = self._zephyr.waits_for(state, thread)
        return f"thread {thread.name} waits in {_function(own[0])}{cause}{_callers(own)}"

    def interrupted(self, state: CoreState) -> str:
        """What the handler that runs has interrupted, and the thread; "" for none."""
        frames, thread = self._unwinder.walk(state), self._running(state)
        at = _interrupted_at(frames)
        words = _callers(frames[at - 1 :]) if at else ""
        return words + (f", thread {thread.name}" if words and thread is not None else "")

    def threads(self, state: CoreState) -> str:
        """The call stack of each thread, several lines; of the core, if there is no kernel."""
        threads = self._zephyr.threads(state)
        if not threads:
            return "\n".join(["call stack, innermost first:", *_lines(self._unwinder.walk(state))])
        lines = []
        for thread in threads[:_THREADS_SHOWN]:
            own = state if thread.running else self._zephyr.waiting(state, thread)
            if own is None:
                continue
            runs = "runs" if thread.running else "does not run"
            stack = self._of_thread(state, thread)
            lines += [
                f"thread {thread.name} {runs}; stack {stack}",
                *_lines(self._unwinder.walk(own)),
            ]
        return "\n".join(lines)

    def _running(self, state: CoreState) -> Thread | None:
        return next((one for one in self._zephyr.threads(state) if one.running), None)

    # stacks

    def stack(self, state: CoreState, thread: Thread | None, *, refused: str = "") -> Stack | None:
        """The stack that sp is of; None if nobody says where it is.

        If the processor ``refused`` to use a stack: that one, of those of MSP and PSP, whose
        pointer is nearer to its end.
        """
        nonsecure = state.nonsecure
        process = None
        if thread is not None and thread.size:
            process = self._of_thread(state, thread)
        elif state.threads.get(nonsecure) == PSP:
            process = self._object(state, state.stacks.get((nonsecure, PSP), 0))
        main = self._main_stack(state)
        if refused and process is not None and main is not None:
            psp, msp = (state.stacks.get((nonsecure, one), 0) for one in (PSP, MSP))
            return min((psp - process.begin, 1, process), (msp - main.begin, 0, main))[2]
        handler = bool(state.registers[16] & 0x1FF)
        if handler or state.threads.get(nonsecure, MSP) == MSP:
            return main
        return process

    def _of_thread(self, state: CoreState, thread: Thread) -> Stack:
        known = self._object(state, thread.begin + thread.size)
        name = known.name if known is not None else f"of thread {thread.name}"
        used = self._used(state, thread.begin, thread.size)
        return Stack(name, thread.begin, thread.size, used)

    def _object(self, state: CoreState, sp: int) -> Stack | None:
        """The variable in which a stack pointer lies; a stack grows down from its end."""
        for symbol in self._image.symbols:
            end = symbol.address + symbol.size
            if symbol.kind == "object" and symbol.address < sp <= end:
                used = self._used(state, symbol.address, symbol.size)
                return Stack(symbol.name, symbol.address, symbol.size, used)
        return None

    def _main_stack(self, state: CoreState) -> Stack | None:
        """The stack of reset and of handlers: it ends where the vector table says."""
        top = self._top
        if top is None:
            return None
        known = self._object(state, top)
        handlers, msp = self._image.symbol(_HANDLERS), state.stacks.get((state.nonsecure, MSP), 0)
        if handlers is not None and 0 < handlers.address + handlers.size - msp + 1 <= (
            handlers.size + _BELOW
        ):
            known = self._object(state, handlers.address + handlers.size)
        if known is not None:
            return known
        ram = self._image.chip.area("ram")
        ends = [s.end for s in self._image.sections if s.writable and ram.origin <= s.end <= top]
        begin = max([ram.origin, *(end for end in ends if end < top)])
        return Stack("main stack", begin, top - begin, self._used(state, begin, top - begin))

    @cached_property
    def _top(self) -> int | None:
        try:
            return vectors.find(self._image).stack
        except BadElf:
            return None

    def _used(self, state: CoreState, begin: int, size: int) -> int | None:
        """Bytes above those at the stack's end that nobody wrote; None if that cannot be told."""
        memory = state.read(begin, size)
        if not memory:
            return None
        painted = len(memory) - len(memory.lstrip(memory[:1]))
        unused = max(painted, self._as_at_power_on(begin, memory))
        return size - unused if unused >= _LEAST_UNUSED else size

    def _as_at_power_on(self, begin: int, memory: bytes) -> int:
        if self._seed is None:
            return 0
        skip = begin % 4
        size = (skip + len(memory) + 3) // 4 * 4
        held = power_on.pattern(self._seed, begin - skip, size)[skip : skip + len(memory)]
        same = np.frombuffer(memory, np.uint8) == np.frombuffer(held, np.uint8)
        return int(np.argmin(same)) if not same.all() else len(memory)

    def _room_below(self, stack: Stack) -> int:
        """Bytes from the begin of RAM to a stack, which a stack without a guard runs through."""
        return max(stack.begin - self._image.chip.area("ram").origin, 0) + _BELOW

    def overflow(
        self, state: CoreState, stack: Stack | None, reason: str, address: int | None
    ) -> str:
        """That a stack overflowed, and how that is known; "" if it did not."""
        caught = _refused(reason)
        if stack is None:
            return f"stack overflow ({caught})" if caught else ""
        sp = state.registers[13]
        if caught:
            how = f"{caught}: the processor refused it"
        elif sp < stack.begin and stack.begin - sp < stack.size + self._room_below(stack):
            how = f"sp is {stack.begin - sp:,} bytes below it"
        elif address is not None and 0 < stack.begin - address <= _BELOW:
            how = f"the refused access is {stack.begin - address:,} bytes below it"
        elif stack.used == stack.size:
            return f"likely a stack overflow: {stack} was used to its end"
        else:
            return ""
        return f"stack overflow of {stack}: {how}"


def _refused(reason: str) -> str:
    """The status bit with which the processor refuses to use a stack, "" for none."""
    return next((bit for bit in _OVERFLOWS if bit in reason.split(", ")), "")


def _outlined(frames: Sequence[StackFrame]) -> Iterator[StackFrame]:
    """The functions that were not inlined."""
    return (one for one in frames if not one.inlined)


def _interrupted_at(frames: Sequence[StackFrame]) -> int:
    """The number of the frame that the running handler has interrupted, 0 for none."""
    return next((number for number, one in enumerate(frames) if one.exception), 0)


def _is_kernel(frame: StackFrame) -> bool:
    name = frame.location.function
    return name.startswith(_KERNEL) and not name.startswith(_IMPLEMENTATION)


def _function(frame: StackFrame) -> str:
    """Name and place; of a system call the name that the firmware calls."""
    name = _name(frame)
    return str(replace(frame.location, function=name)) if name else str(frame.location)


def _name(frame: StackFrame) -> str:
    return frame.location.function.removeprefix(_IMPLEMENTATION)


def _callers(frames: Sequence[StackFrame]) -> str:
    """``, called from f at a.c:1, g at b.c:2``."""
    words = ""
    for number, frame in enumerate(frames[1 : 1 + _CALLERS]):
        verb = "called from " if not number else ""
        if frame.exception:
            verb = f"in the handler of {frame.exception}, which interrupted "
        elif words and not verb and frames[number].exception:
            verb = "called from "
        words += f", {verb}{_function(frame)}"
    return words


def _lines(frames: Sequence[StackFrame]) -> list[str]:
    shown = []
    for frame in frames:
        sure = " (guessed: no call-frame table)" if frame.guess else ""
        by = f"  <- {frame.exception}" if frame.exception else ""
        shown.append(f"    {frame.location}{by}{sure}")
    return [line if line.startswith(" ") else f"    {line}" for line in folded(shown)]
