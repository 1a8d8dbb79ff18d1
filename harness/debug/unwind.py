"""Call stacks, without a debugger: walked from the core's registers and memory.

Out of exceptions as the processor left them: Armv8-M ARM, B3.19 to B3.22 (EXC_RETURN, FNC_RETURN,
frames with and without floating-point registers, the secure state's additional context). Whatever
memory holds, a walk ends, and raises nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from harness.base.core_state import (
    EXTENDED_FRAME,
    FRAME,
    IPSR,
    MSP,
    PSP,
    CoreState,
    above_frame,
)
from harness.elf import Image
from harness.elf.call_frames import LR, PC, SP, CallFrames
from harness.elf.image import Location
from harness.simulator.faults import exception_name

#: Frames of the longest walk.
DEEPEST = 64
#: Functions in which a stack begins, whatever lies above.
_ROOTS = ("z_thread_entry", "z_arm_reset", "__start", "_start", "Reset_Handler")
_XPSR = 16
_FNC_RETURN = (0xFEFF_FFFE, 0xFEFF_FFFF)
#: Bits of EXC_RETURN.
_SECURE, _STANDARD, _THREAD, _PROCESS = 1 << 6, 1 << 4, 1 << 3, 1 << 2
_SIGNATURES = (0xFEFA_125A, 0xFEFA_125B)
#: Bytes: the additional context of the secure state, a frame with S0 to S31.
_ADDITIONAL, _SECURE_FLOATS = 0x28, 0xA8


@dataclass(frozen=True)
class StackFrame:
    """One function of a call stack, with the stack pointer of the frame that it is part of.

    ``exception`` names the exception that the function was interrupted by, if it was. ``guess``:
    found without a table of call frames. ``inlined``: into the function behind it.
    """

    location: Location
    sp: int
    exception: str = ""
    guess: bool = False
    inlined: bool = False

    def __str__(self) -> str:
        by = f" (interrupted by {self.exception})" if self.exception else ""
        return f"{self.location}{by}"


class Unwinder:
    """Walks stacks of one image, and of those beside it."""

    def __init__(self, image: Image) -> None:
        self._image = image
        self._images = (image, *image.beside)
        self._tables = {one.path: CallFrames(one) for one in self._images}

    def walk(self, state: CoreState) -> tuple[StackFrame, ...]:
        """The functions that are running, innermost first; inlined ones are among them."""
        return tuple(islice(self._walk(_Unwinding(self._image, state)), DEEPEST))

    def _walk(self, walk: _Unwinding) -> Iterator[StackFrame]:
        seen = set()
        guess = False
        while True:
            pc = walk.registers[PC] or 0
            place = pc if walk.exact else (pc & ~1) - 2
            if (here := (walk.registers[PC], walk.registers[SP])) in seen:
                return
            seen.add(here)
            holder = self._holder(place)
            if holder is None and not walk.exact:
                return
            sp = walk.registers[SP] or 0
            *inlined, function = self._image.frames(place)
            exception = walk.exception
            for location in inlined:
                yield StackFrame(location, sp, exception, guess, inlined=True)
                exception = ""
            yield StackFrame(function, sp, exception, guess)
            if function.function in _ROOTS:
                return
            left = walk.leave_wild() if holder is None else self._leave(walk, holder, place)
            if left is None:
                return
            guess = left == "prologue"

    def _holder(self, address: int) -> Image | None:
        """The image whose code is at ``address``."""
        for one in self._images:
            for section in one.sections:
                if section.executable and section.address <= address < section.end:
                    return one
        return None

    def _leave(self, walk: _Unwinding, image: Image, place: int) -> str | None:
        """Go on in the caller; the source of the rule, or None if there is no caller."""
        rule = self._tables[image.path].rule(place, called=not walk.exact)
        if rule is None or rule.ends:
            return None
        base = walk.registers[rule.register]
        if base is None:
            return None
        cfa = (base + rule.offset) & 0xFFFF_FFFF
        if cfa < (walk.registers[SP] or 0):
            return None
        values = {number: walk.word(cfa + at) for number, at in rule.saved.items()}
        for number, value in values.items():
            walk.registers[number] = value
        walk.registers[SP] = values.get(SP) or cfa
        return rule.source if walk.return_to(walk.registers[LR]) else None


class _Unwinding:
    """The registers as they were in the function that the walk has come to."""

    def __init__(self, image: Image, state: CoreState) -> None:
        self._image, self._state = image, state
        values = (*state.registers, *(0,) * 17)[:17]
        self.registers: list[int | None] = list(values[:16])
        self.exact = True  # pc is the next instruction, not where a call returns to
        self.exception = ""  # what interrupted the function
        self._number = values[_XPSR] & IPSR
        self._nonsecure = state.nonsecure
        self._stacks = dict(state.stacks)

    def word(self, address: int) -> int | None:
        """The word at ``address``, of RAM or of the image."""
        found = self._state.word(address & 0xFFFF_FFFF)
        if found is not None:
            return found
        data = self._image.read(address, 4)
        return None if data is None else int.from_bytes(data, "little")

    def leave_wild(self) -> str | None:
        """pc points nowhere: it was called from where lr says."""
        return "prologue" if self.return_to(self.registers[LR]) else None

    def return_to(self, address: int | None) -> bool:
        """Go on where a function returns to; False if that is nowhere."""
        if address is None:
            return False
        self.exception = ""
        if address >> 24 == 0xFF and address & 2 == 0 and self._number:
            return self._leave_exception(address)
        if address in _FNC_RETURN:
            return self._leave_nonsecure_call()
        if self._state.divided and not self._nonsecure and not address & 1 and address:
            self._enter_world(nonsecure=True)
        self.exact = False
        self.registers[PC], self.registers[LR] = address, None
        return address & ~1 > 1

    def _enter_world(self, *, nonsecure: bool) -> None:
        """The other security state has its own stacks; what the one left has is kept."""
        self._stacks[self._nonsecure, self._stack()] = self.registers[SP] or 0
        self._nonsecure = nonsecure
        self.registers[SP] = self._stacks.get((nonsecure, self._stack()), 0)

    def _stack(self) -> str:
        """The stack that runs in the present mode and state."""
        return MSP if self._number else self._state.threads.get(self._nonsecure, MSP)

    def _leave_nonsecure_call(self) -> bool:
        """FNC_RETURN: secure code had called; its stack holds where to return to, and xPSR."""
        self._enter_world(nonsecure=False)
        sp = self.registers[SP] or 0
        self.registers[PC] = self.word(sp)
        self.registers[LR], self.registers[SP], self.exact = None, sp + 8, False
        return bool(self.registers[PC])

    def _leave_exception(self, code: int) -> bool:
        nonsecure = not code & _SECURE if self._state.divided else self._nonsecure
        self._stacks[self._nonsecure, MSP] = self.registers[SP] or 0
        stack = PSP if code & _THREAD and code & _PROCESS else MSP
        frame = self._stacks.get((nonsecure, stack), 0)
        if self._state.divided and self.word(frame) in _SIGNATURES:
            for number in range(8):
                self.registers[4 + number] = self.word(frame + 8 + 4 * number)
            frame += _ADDITIONAL
        stacked = [self.word(frame + 4 * number) for number in range(8)]
        xpsr, pc = stacked[7], stacked[6]
        if xpsr is None or pc is None:
            return False
        self.exception = exception_name(self._number)
        self.registers[:4] = stacked[:4]
        self.registers[12], self.registers[LR], self.registers[PC] = stacked[4], stacked[5], pc & ~1
        floats = EXTENDED_FRAME if nonsecure or not self._state.secure_floats else _SECURE_FLOATS
        sp = above_frame(frame, xpsr, FRAME if code & _STANDARD else floats)
        self.registers[SP] = self._stacks[nonsecure, stack] = sp
        self._number, self._nonsecure, self.exact = xpsr & IPSR, nonsecure, True
        return True
