"""Call stacks without a debugger: stack unwinding from the core's registers and memory.

Exception frames are those of the Armv8-M ARM, B3.19 to B3.22 (EXC_RETURN, FNC_RETURN, frames with
and without floating-point registers, the additional context of the secure state). A walk ends and
raises nothing for any content of memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from harness.base.core_state import (
    EXTENDED_FRAME,
    FRAME,
    MSP,
    PSP,
    CoreState,
    above_frame,
)
from harness.base.exceptions import IPSR, exception_name, is_exception_return
from harness.elf import Image
from harness.elf.call_frames import LR, PC, SP, CallFrames
from harness.elf.image import Location

#: Most frames of a call stack.
DEEPEST = 64
#: Functions at the base of a stack: the walk ends there.
ROOTS = ("z_thread_entry", "z_arm_reset", "__start", "_start", "Reset_Handler")
_XPSR = 16
_FNC_RETURN = (0xFEFF_FFFE, 0xFEFF_FFFF)
#: Bits of EXC_RETURN: S, FType, Mode, SPSEL.
_SECURE, _STANDARD, _THREAD, _PROCESS = 1 << 6, 1 << 4, 1 << 3, 1 << 2
#: Integrity signatures of the additional state context.
_SIGNATURES = (0xFEFA_125A, 0xFEFA_125B)
#: Bytes of the additional state context, and of a frame with S0 to S31.
_ADDITIONAL, _SECURE_FLOATS = 0x28, 0xA8


@dataclass(frozen=True)
class StackFrame:
    """One function of a call stack, and the stack pointer in it.

    ``exception`` is the name of the exception that interrupted the function, or "". ``guess``:
    found without a call-frame table. ``inlined``: into the function of the next frame.
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
    """Unwinds stacks of an image and the images beside it."""

    def __init__(self, image: Image) -> None:
        self._image = image
        self._images = (image, *image.beside)
        self._tables = {one.path: CallFrames(one) for one in self._images}

    def walk(self, state: CoreState) -> tuple[StackFrame, ...]:
        """The call stack, innermost first, with inlined functions; at most DEEPEST frames."""
        return tuple(islice(self._walk(_Unwinding(self._image, state)), DEEPEST))

    def _walk(self, walk: _Unwinding) -> Iterator[StackFrame]:
        """The frames, until a root function, a loop, or an address without code."""
        seen = set()
        guess = False
        while True:
            pc = walk.registers[PC] or 0
            place = pc if walk.exact else (pc & ~1) - 2
            if (here := (walk.registers[PC], walk.registers[SP])) in seen:
                return
            seen.add(here)
            image = self._image_at(place)
            if image is None and not walk.exact:
                return
            sp = walk.registers[SP] or 0
            *inlined, function = self._image.frames(place)
            exception = walk.exception
            for location in inlined:
                yield StackFrame(location, sp, exception, guess, inlined=True)
                exception = ""
            yield StackFrame(function, sp, exception, guess)
            if function.function in ROOTS:
                return
            if image is None:  # an invalid pc: it was called from lr
                source = "prologue" if walk.return_to(walk.registers[LR]) else None
            else:
                source = self._leave(walk, image, place)
            if source is None:
                return
            guess = source == "prologue"

    def _image_at(self, address: int) -> Image | None:
        """The image with code at ``address``."""
        for one in self._images:
            for section in one.sections:
                if section.executable and section.address <= address < section.end:
                    return one
        return None

    def _leave(self, walk: _Unwinding, image: Image, place: int) -> str | None:
        """Continues in the caller; returns the source of the rule, None if there is no caller."""
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
    """The registers in the function that the walk has reached; None: unknown."""

    def __init__(self, image: Image, state: CoreState) -> None:
        self._image, self._state = image, state
        values = (*state.registers, *(0,) * 17)[:17]
        self.registers: list[int | None] = list(values[:16])
        self.exact = True  # pc is the next instruction, not a return address
        self.exception = ""  # the exception that interrupted the function
        self._number = values[_XPSR] & IPSR
        self._nonsecure = state.nonsecure
        self._stacks = dict(state.stacks)

    def word(self, address: int) -> int | None:
        """The word at ``address`` in RAM or in the image; None if unknown."""
        found = self._state.word(address & 0xFFFF_FFFF)
        if found is not None:
            return found
        data = self._image.read(address, 4)
        return None if data is None else int.from_bytes(data, "little")

    def return_to(self, address: int | None) -> bool:
        """Continues at a return address; False if it is invalid."""
        if address is None:
            return False
        self.exception = ""
        if is_exception_return(address) and self._number:
            return self._leave_exception(address)
        if address in _FNC_RETURN:
            return self._leave_nonsecure_call()
        if self._state.divided and not self._nonsecure and not address & 1 and address:
            self._switch_state(nonsecure=True)
        self.exact = False
        self.registers[PC], self.registers[LR] = address, None
        return address & ~1 > 1

    def _switch_state(self, *, nonsecure: bool) -> None:
        """Switches to the other security state and its stack."""
        self._stacks[self._nonsecure, self._stack()] = self.registers[SP] or 0
        self._nonsecure = nonsecure
        self.registers[SP] = self._stacks.get((nonsecure, self._stack()), 0)

    def _stack(self) -> str:
        """The stack pointer of the current mode and state, MSP or PSP."""
        return MSP if self._number else self._state.threads.get(self._nonsecure, MSP)

    def _leave_nonsecure_call(self) -> bool:
        """Continues in secure code after FNC_RETURN; its stack has the return address and xPSR."""
        self._switch_state(nonsecure=False)
        sp = self.registers[SP] or 0
        self.registers[PC] = self.word(sp)
        self.registers[LR], self.registers[SP], self.exact = None, sp + 8, False
        return bool(self.registers[PC])

    def _leave_exception(self, code: int) -> bool:
        """Continues in the interrupted function; ``code`` is EXC_RETURN."""
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
        self.exception = exception_name(self._number, self._image.chip)
        self.registers[:4] = stacked[:4]
        self.registers[12], self.registers[LR], self.registers[PC] = stacked[4], stacked[5], pc & ~1
        floats = EXTENDED_FRAME if nonsecure or not self._state.secure_floats else _SECURE_FLOATS
        sp = above_frame(frame, xpsr, FRAME if code & _STANDARD else floats)
        self.registers[SP] = self._stacks[nonsecure, stack] = sp
        self._number, self._nonsecure, self.exact = xpsr & IPSR, nonsecure, True
        return True
