"""Decoding of faults from the registers and stack words that the agent reads.

The bits are those of the Armv8-M Architecture Reference Manual (DDI0553), CFSR and HFSR. In the
docstrings STATUS are the words of CFSR, HFSR, MMFAR, BFAR, SFSR, SFAR, CFSR_NS and MMFAR_NS.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from harness.base.core_state import (
    EXTENDED_FRAME,
    FRAME,
    MSP,
    PSP,
    SPSEL,
    CoreState,
    above_frame,
)
from harness.base.exceptions import IPSR
from harness.base.fault_status import status_names
from harness.elf import Image
from harness.targets.base import Fault

_KINDS = {3: "HardFault", 4: "MemManage", 5: "BusFault", 6: "UsageFault", 7: "SecureFault"}
_SFARVALID = 1 << 6
_FORCED = 1 << 30
#: EXC_RETURN.S and ES -> the world of a frame that is on the other world's stack.
_WORLDS, _UNSEEN = 0x41, {0x01: "non-secure", 0x40: "secure"}
#: Execute-never areas of the Armv8-M ARM, B8.1 "System address map": Device memory, and all from
#: 0xA000_0000 on.
_EXECUTE_NEVER = (range(0x4000_0000, 0x6000_0000), range(0xA000_0000, 0x1_0000_0000))
_MMARVALID, _BFARVALID = 1 << 7, 1 << 15


def decode(words: Sequence[int], image: Image) -> Fault:
    """Decode a fault whose handler is about to run, from exception number, EXC_RETURN, STATUS and
    the stacked frame: r0-r3, r12, lr, pc, xpsr.
    """
    number, link, *status, r0, r1, r2, r3, r12, lr, pc, xpsr = words
    kind, reason = _KINDS.get(number, f"exception {number}"), _names(status) or "no status bit"
    frame = (r0, r1, r2, r3, r12, lr, pc, xpsr)
    registers = zip(("r0", "r1", "r2", "r3", "r12", "lr", "pc", "xpsr"), frame, strict=True)
    rest = ["  " + " ".join(f"{name}=0x{value:08x}" for name, value in registers)]
    # For a null call pc is the branch's address in Renode, and 0 on the chip: then use the caller.
    where = str(image.frames(pc or lr)[0])
    if world := _UNSEEN.get(link & _WORLDS):
        where = f"a place in the {world} image that Renode does not show"
    return _fault(kind, reason, pc, lr, status, where, image, rest)


def locked_up(words: Sequence[int], image: Image) -> Fault:
    """Decode a lockup, from the core's pc, lr and STATUS."""
    pc, lr, *status = words
    reason = _names(status) or "a fault that could not be taken"
    return _fault("Lockup", reason, pc, lr, status, _place(image, pc, lr), image, [])


def gave_up(words: Sequence[int], image: Image) -> Fault:
    """Decode the abort of a core in Renode, whose pc is outside all memory, from pc, lr, STATUS.

    The chip takes a BusFault there (IBUSERR), or a MemManage fault (IACCVIOL) in an execute-never
    area; Renode models neither.
    """
    pc, lr, *status = words
    where = _place(image, pc, lr)
    rest = ["  Renode ends there, without the fault's handler"]
    never = any(pc in area for area in _EXECUTE_NEVER)
    kind, bit = ("MemManage", "IACCVIOL") if never else ("BusFault", "IBUSERR")
    reason = f"{bit}, branch to 0x{pc & ~1:08x}"
    return _fault(kind, reason, pc, lr, status, where, image, rest)


def left_ram(words: Sequence[int], image: Image) -> Fault:
    """Decode a stack that has left RAM, from the core's pc, lr, STATUS and sp.

    The chip takes a BusFault at the first push; Renode runs on and drops the pushed words.
    """
    pc, lr, *status, sp = words
    where = _place(image, pc, lr)
    rest = ["  Renode ends there, without the fault's handler"]
    reason = f"STKERR, the stack pointer 0x{sp:08x} is outside RAM"
    return _fault("BusFault", reason, pc, lr, status, where, image, rest)


#: Name of the agent's event -> decoder.
DECODERS = {"fault": decode, "lockup": locked_up, "abort": gave_up, "overflow": left_ram}


_XPSR, _LR, _SP = 16, 14, 13
#: EXC_RETURN: the frame has no floats; it lies on PSP.
_STANDARD, _ON_PSP = 1 << 4, 0xC
#: CFSR: MSTKERR, STKERR, STKOF.
_NOT_STACKED = 1 << 4 | 1 << 12 | 1 << 20


def core_state(text: str, ram: int) -> CoreState:
    """The agent's ``REGISTER,... MEMORY``: r0 to r12, sp, lr, pc, xpsr, the other sp, CONTROL."""
    numbers, _, memory = text.partition(" ")
    *registers, other, control = (int(number, 16) for number in numbers.split(","))
    on_psp = bool(control & SPSEL) and not registers[_XPSR] & IPSR
    stacks = {(False, MSP): registers[_SP], (False, PSP): other}
    if on_psp:
        stacks = {(False, MSP): other, (False, PSP): registers[_SP]}
    threads = {False: PSP if control & SPSEL else MSP}
    return CoreState(tuple(registers), stacks, threads, memory=((ram, bytes.fromhex(memory)),))


def interrupted(handler: CoreState, cfsr: int) -> CoreState | None:
    """What a handler interrupted whose first instruction is next; None if no frame was stacked."""
    link = handler.registers[_LR]
    stack = PSP if link & _ON_PSP == _ON_PSP else MSP
    frame = handler.stacks[False, stack]
    words = [handler.word(frame + at) for at in range(0, FRAME, 4)]
    if cfsr & _NOT_STACKED or None in words or not any(words):
        return None
    r0, r1, r2, r3, r12, lr, pc, xpsr = (word or 0 for word in words)
    sp = above_frame(frame, xpsr, FRAME if link & _STANDARD else EXTENDED_FRAME)
    registers = (r0, r1, r2, r3, *handler.registers[4:12], r12, sp, lr, pc, xpsr)
    return replace(handler, registers=registers, stacks={**handler.stacks, (False, stack): sp})


def _place(image: Image, pc: int, lr: int) -> str:
    """Return the place of the core, or of its caller if the core is outside all functions."""
    here, caller = image.locate(pc), image.locate(lr)
    return str(here if here.function or not caller.function else caller)


def _cause(status: Sequence[int]) -> str:
    """Return the fault that escalated to a HardFault; "" if the status registers show none."""
    cfsr, hfsr, _, _, sfsr, _, nonsecure, _ = status
    if not hfsr & _FORCED:
        return ""
    both = cfsr | nonsecure
    bits = {"SecureFault": sfsr, "MemManage": both & 0xFF, "BusFault": both & 0xFF00}
    bits["UsageFault"] = both >> 16
    return next((kind for kind, bit in bits.items() if bit), "")


def _names(status: Sequence[int]) -> str:
    cfsr, hfsr, _, _, sfsr, _, nonsecure, _ = status
    return ", ".join(status_names(cfsr | nonsecure, hfsr, sfsr))


def _fault(
    kind: str,
    reason: str,
    pc: int,
    lr: int,
    status: Sequence[int],
    where: str,
    image: Image,
    rest: list[str],
) -> Fault:
    cfsr, _, mmfar, bfar, sfsr, sfar, nonsecure, mmfar_ns = status
    valid = (
        (cfsr & _MMARVALID, mmfar),
        (cfsr & _BFARVALID, bfar),
        (sfsr & _SFARVALID, sfar),
        (nonsecure & _MMARVALID, mmfar_ns),
    )
    address = next((register for holds, register in valid if holds), None)
    cause = _cause(status) if kind == _KINDS[3] else ""
    first = f"{kind}: {reason}" + (f" (escalated from {cause})" if cause else "")
    lines = [first, f"  at {where}", f"  called from {image.locate(lr)}"]
    return Fault(kind, reason, pc, lr, address, where, "\n".join(lines + rest))
