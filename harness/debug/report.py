"""Text about the state of a core: call stacks, threads, and the use of stacks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

from harness.base.core_state import MSP, PSP, CoreState
from harness.base.exceptions import IPSR
from harness.base.text import folded
from harness.debug.fault_cause import cause_of
from harness.debug.unwind import ROOTS, StackFrame, Unwinder
from harness.debug.zephyr import Thread, Zephyr, without_idle
from harness.elf import Image
from harness.elf.main_stack import MainStack, main_stack, object_ending_at
from harness.targets.base import Fault
from harness.targets.stacks import used_above_gap, used_bytes

#: Waiting threads in one line.
_WAITING = 2
#: Libraries, whose functions a line omits between a place and the application's call.
_LIBRARIES = ("tflite::", "flatbuffers::", "std::", "__gnu_")
#: Threads in a report of several lines.
_THREADS_SHOWN = 16
_LIKELY = "likely a stack overflow"
#: A refused access up to so many bytes below a stack is an overflow: the size of guards and frames.
_BELOW = 256
#: Bits of CFSR for stacking errors.
_OVERFLOWS = ("STKOF", "MSTKERR", "STKERR")
#: Prefixes of kernel functions, which a line about a waiting thread omits; of system calls.
_KERNEL = ("arch_", "z_")
_IMPLEMENTATION = "z_impl_"
#: Zephyr's stack of interrupt handlers; the kernel starts on another one.
_HANDLERS = "z_interrupt_stacks"


@dataclass(frozen=True)
class Stack:
    """A stack of ``size`` bytes at ``begin``; ``used`` is its high-water mark, None if unknown."""

    name: str
    begin: int
    size: int
    used: int | None = None

    def __str__(self) -> str:
        used = "" if self.used is None else f", high-water mark {self.used:,}"
        return f"{self.name} ({self.size:,} bytes from 0x{self.begin:08x}{used})"


class StateReporter:
    """Describes states of a core that runs ``image``.

    ``seed`` is that of the RAM's content at power-on, by which unwritten bytes are recognized.
    """

    def __init__(self, image: Image, seed: int | None = None) -> None:
        self._image, self._seed = image, seed
        self._unwinder, self._zephyr = Unwinder(image), Zephyr(image)

    def fault(self, fault: Fault) -> Fault:
        """``fault`` with its call stack, thread and stack; unchanged if it has no state."""
        state = fault.state
        if state is None:
            return fault
        frames, thread = self._unwinder.walk(state), self._running(state)
        stack = self.stack(state, thread, refused=_stacking_error(fault.reason))
        # For an invalid pc the place of the fault is that of the caller already, if it was called.
        entry = any(frame.exception and frame.location.function for frame in frames[1:2])
        callers = _callers(frames if frames[0].location.function or entry else frames[1:])
        title = "  call stack"
        if thread is not None:
            callers += f", thread {thread.name}"
            title += f" of thread {thread.name}"
        overflow = self.overflow(state, stack, fault.reason, fault.address)
        cause = cause_of(fault, self._image, self._seed)
        if overflow.startswith(_LIKELY) and cause.text:
            overflow = ""  # what was hit is known
        text = "" if overflow else cause.text
        lines = [fault.report, *([f"  {text}"] if text else [])]
        lines += [f"{title}, innermost first:", *_lines(frames)]
        lines += [f"  stack {stack}"] if stack is not None else []
        lines += [f"  {overflow}"] if overflow else []
        return replace(
            fault,
            report="\n".join(lines),
            callers=callers,
            overflow=overflow,
            cause=text,
            by_value=cause.by_value and not overflow,
            state=None,
        )

    def place(self, state: CoreState) -> str:
        """The place of the core with its callers and thread; if idle, the waiting threads.

        One line.
        """
        thread, frames = self._running(state), self._unwinder.walk(state)
        here = str(frames[0]) + _callers(frames)
        if thread is None:
            return here
        if any(without_idle([thread])) or state.registers[16] & IPSR:
            return f"{here}, thread {thread.name}"
        here = f"{next(_outlined(frames))}, thread {thread.name}"
        waiting = [self._waits(state, one) for one in without_idle(self._zephyr.threads(state))]
        waiting = [one for one in waiting if one]
        more = f", and {len(waiting) - _WAITING} more" if len(waiting) > _WAITING else ""
        return "; ".join([here, *waiting[:_WAITING]]) + more

    def _waits(self, state: CoreState, thread: Thread) -> str:
        """The place where a thread waits, and the object that it waits for; "" if unknown."""
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
        """The function and thread that the running handler has interrupted; "" for none."""
        frames, thread = self._unwinder.walk(state), self._running(state)
        at = _interrupted_at(frames)
        if not at:
            return ""
        return _callers(frames[at - 1 :]) + (f", thread {thread.name}" if thread else "")

    def threads(self, state: CoreState) -> str:
        """The call stack of each thread, several lines; without a kernel that of the core."""
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
        """The stack of the current sp; None if its location is unknown.

        If the processor ``refused`` to stack: the one of MSP and PSP closer to its end.
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
        if state.registers[16] & IPSR or state.threads.get(nonsecure, MSP) == MSP:
            return main
        return process

    def _of_thread(self, state: CoreState, thread: Thread) -> Stack:
        known = self._object(state, thread.begin + thread.size)
        name = known.name if known is not None else f"of thread {thread.name}"
        used = self._used(state, thread.begin, thread.size)
        return Stack(name, thread.begin, thread.size, used)

    def _object(self, state: CoreState, sp: int) -> Stack | None:
        """The variable that contains a stack pointer; its end counts, as stacks grow down."""
        symbol = object_ending_at(self._image, sp)
        if symbol is None:
            return None
        used = self._used(state, symbol.address, symbol.size)
        return Stack(symbol.name, symbol.address, symbol.size, used)

    def _main_stack(self, state: CoreState) -> Stack | None:
        """The stack of reset and handlers; of Zephyr's handlers if sp is there."""
        main = self._main
        if main is None:
            return None
        known = self._object(state, main.top)
        handlers, msp = self._image.symbol(_HANDLERS), state.stacks.get((state.nonsecure, MSP), 0)
        if handlers is not None:
            end = handlers.address + handlers.size
            if -1 < end - msp < handlers.size + _BELOW:
                known = self._object(state, end)
        if known is not None:
            return known
        size = main.top - main.begin
        return Stack("main stack", main.begin, size, self._above_heap(state, main.begin, size))

    def _above_heap(self, state: CoreState, begin: int, size: int) -> int | None:
        """The used bytes of a stack with a heap below it; its size if they have met."""
        memory = state.read(begin, size)
        if not memory:
            return None
        used = used_above_gap(memory, begin, self._seed)
        return size if used is None else used

    @cached_property
    def _main(self) -> MainStack | None:
        return main_stack(self._image)

    def _used(self, state: CoreState, begin: int, size: int) -> int | None:
        """The used bytes of a stack, its size if none is unwritten; None if memory is unknown."""
        memory = state.read(begin, size)
        if not memory:
            return None
        used = used_bytes(memory, begin, self._seed)
        return size if used is None else used

    def overflow(
        self, state: CoreState, stack: Stack | None, reason: str, address: int | None
    ) -> str:
        """A description of a stack overflow with the evidence for it; "" if there is none.

        ``reason`` and ``address`` are those of a fault.
        """
        error = _stacking_error(reason)
        if stack is None:
            return f"stack overflow ({error})" if error else ""
        sp = state.registers[13]
        # Without a guard sp may run below the stack down to the begin of RAM.
        below = max(stack.begin - self._image.chip.area("ram").origin, 0) + _BELOW
        if error:
            how = f"{error}: the processor refused it"
        elif 0 < stack.begin - sp < stack.size + below:
            how = f"sp is {stack.begin - sp:,} bytes below it"
        elif (
            address is not None
            and 0 < stack.begin - address <= _BELOW
            and sp - address <= _BELOW  # what the stack pointer reaches
        ):
            how = f"the refused access is {stack.begin - address:,} bytes below it"
        elif stack.used == stack.size:
            return f"{_LIKELY}: {stack} was used to its end"
        else:
            return ""
        return f"stack overflow of {stack}: {how}"


def _stacking_error(reason: str) -> str:
    """The bit of CFSR for a stacking error or stack limit in a fault's reason; "" for none."""
    return next((bit for bit in _OVERFLOWS if bit in reason.split(", ")), "")


def _outlined(frames: Sequence[StackFrame]) -> Iterator[StackFrame]:
    """The frames of functions that are not inlined."""
    return (one for one in frames if not one.inlined)


def _interrupted_at(frames: Sequence[StackFrame]) -> int:
    """The index of the frame that the running handler has interrupted; 0 for none."""
    return next((number for number, one in enumerate(frames) if one.exception), 0)


def _is_kernel(frame: StackFrame) -> bool:
    name = frame.location.function
    return name.startswith(_KERNEL) and not name.startswith(_IMPLEMENTATION)


def _function(frame: StackFrame) -> str:
    """Name and place of a function; a system call has the name that firmware calls."""
    name = _name(frame)
    return str(replace(frame.location, function=name)) if name else str(frame.location)


def _name(frame: StackFrame) -> str:
    return frame.location.function.removeprefix(_IMPLEMENTATION)


def _callers(frames: Sequence[StackFrame]) -> str:
    """``, called from f at a.c:1, in the handler of SysTick, which interrupted g at b.c:2``.

    The caller of ``frames[0]`` is the nearest one outside libraries. The call stack has the others.
    """
    text, shown = "", _told(frames)
    for number, frame in enumerate(shown[1:], 1):
        if frame.exception:
            text += f", in the handler of {frame.exception}, which interrupted {_function(frame)}"
        else:
            verb = "called from " if number == 1 or shown[number - 1].exception else ""
            text += f", {verb}{_function(frame)}"
    return text


def _told(frames: Sequence[StackFrame]) -> list[StackFrame]:
    """The frames that :func:`_callers` names: the first of each context, and one caller of it."""
    told = []
    for first, *others in _contexts(frames):
        callers = [one for one in others if one.location.function not in ROOTS]
        own = (one for one in callers if not str(one.location).startswith(_LIBRARIES))
        told += [first, *(next(own, callers[0]) for _ in callers[:1])]
    return told


def _contexts(frames: Sequence[StackFrame]) -> Iterator[Sequence[StackFrame]]:
    """The frames of the running handler, then those of what it has interrupted, and so on."""
    begins = [number for number, one in enumerate(frames) if number == 0 or one.exception]
    return (frames[begin:end] for begin, end in pairwise([*begins, len(frames)]))


def _lines(frames: Sequence[StackFrame]) -> list[str]:
    """One indented line for each frame; repeated lines are folded."""
    shown = []
    for frame in frames:
        guess = " (guessed: no call-frame table)" if frame.guess else ""
        by = f"  <- {frame.exception}" if frame.exception else ""
        shown.append(f"    {frame.location}{by}{guess}")
    return [line if line.startswith(" ") else f"    {line}" for line in folded(shown)]
