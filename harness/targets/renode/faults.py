"""Faults of a core in Renode, as records of :mod:`harness.simulator.faults`.

The agent sends the core's registers and status before and behind each fault (agent/exceptions.py);
here they become what the chip takes. Bits and rules: Armv8-M Architecture Reference Manual
(DDI0553), CFSR, HFSR, SFSR, "Exception numbers and exception priority numbers".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from harness.base.core_state import (
    EXTENDED_FRAME,
    FRAME,
    MSP,
    PSP,
    SPSEL,
    CoreState,
    MpuRegion,
)
from harness.base.exceptions import (
    BUS_FAULT,
    HARD_FAULT,
    IPSR,
    MEM_MANAGE,
    SECURE_FAULT,
    SVCALL,
    USAGE_FAULT,
    exception_name,
)
from harness.base.fault_status import status_names
from harness.base.platforms import ChipTable, Peripheral
from harness.elf import Image
from harness.elf.operand import is_store
from harness.simulator.faults import FaultRecord, target_of
from harness.simulator.mpu_regions import region_of
from harness.simulator.nvic import STATES

_IACCVIOL, _DACCVIOL, _MMARVALID = 1 << 0, 1 << 1, 1 << 7
_IBUSERR, _BFARVALID, _SFARVALID = 1 << 8, 1 << 15, 1 << 6
_UNDEFINSTR, _INVSTATE, _NOCP, _DIVBYZERO = 1 << 16, 1 << 17, 1 << 19, 1 << 25
_JUMPS = 1 << 0 | 1 << 4  # SFSR: INVEP, INVTRAN
_VECTTBL, _DEBUGEVT = 1 << 1, 1 << 31
#: Bits of CFSR of each fault.
_OWN_BITS = {MEM_MANAGE: 0xFF, BUS_FAULT: 0xFF00, USAGE_FAULT: 0xFFFF_0000}
#: What raises an exception, by Renode's number -> the fault, and its bits of CFSR if known.
_CAUSES = {
    1: (USAGE_FAULT, _UNDEFINSTR),
    2: (SVCALL, 0),  # which cannot be taken
    3: (MEM_MANAGE, _IACCVIOL),
    4: (MEM_MANAGE, _DACCVIOL | _MMARVALID),
    7: (HARD_FAULT, 0),  # BKPT without a debugger
    17: (USAGE_FAULT, _NOCP),
    18: (USAGE_FAULT, _INVSTATE),
    19: (SECURE_FAULT, 0),
    20: (USAGE_FAULT, _DIVBYZERO),
    21: (BUS_FAULT, 0),
    0xFE: (BUS_FAULT, _IBUSERR),  # the agent's: NO_MEMORY, NEVER_EXECUTED
    0xFF: (MEM_MANAGE, _IACCVIOL),
}
_BKPT, _INVSTATE_RAISED, _ABORTS = 7, 18, (0xFE, 0xFF)
_FPCA, _THUMB = 1 << 2, 1 << 24  # of CONTROL, EPSR


@dataclass(frozen=True)
class Status:
    """The fault status registers of both security states; those of the secure one stand alone."""

    cfsr: int
    hfsr: int
    sfsr: int
    cfsr_ns: int
    mmfar: int = 0
    bfar: int = 0
    sfar: int = 0
    mmfar_ns: int = 0


@dataclass(frozen=True)
class SeenFault:
    """A fault as the agent tells it.

    ``taken`` is the exception that is taken, 0 for lockup; ``cause`` is Renode's number of what
    raised it, 0 for the entry to, or return from, an exception; ``entered`` is that exception.
    """

    taken: int
    cause: int
    entered: int
    before: Status
    status: Status
    registers: tuple[int, ...]  # r0 to r12, sp, lr, pc, xpsr
    control: int
    process: bool  # SP is PSP
    other_sp: int
    secure: bool

    @staticmethod
    def from_words(words: Sequence[int]) -> SeenFault:
        """Decode the words of a ``fault`` line."""
        taken, cause, entered, *rest = words
        registers = (*rest[12:27], rest[27] & ~1, rest[28])
        control, process, other, secure = rest[29:]
        return SeenFault(
            taken, cause, entered, Status(*rest[:4]), Status(*rest[4:12]), registers,
            control, bool(process), other, bool(secure),
        )  # fmt: skip

    @property
    def below_frame(self) -> int:
        """SP behind the exception's frame."""
        return (self.registers[13] & ~7) - (EXTENDED_FRAME if self.control & _FPCA else FRAME)

    @property
    def new_bits(self) -> int:
        """Bits of CFSR, of either state, that this fault has set."""
        before, now = self.before, self.status
        return (now.cfsr & ~before.cfsr) | (now.cfsr_ns & ~before.cfsr_ns)

    @property
    def new_sfsr(self) -> int:
        """Bits of SFSR that this fault has set; Renode sets SFARVALID for jumps, too."""
        new = self.status.sfsr & ~self.before.sfsr
        return new & ~_SFARVALID if new & _JUMPS else new

    def fault(self) -> tuple[int, int]:
        """The number of the fault, before escalation, and its bits of CFSR."""
        both = self.status.cfsr | self.status.cfsr_ns
        if self.cause:
            number, bits = _CAUSES.get(self.cause, (self.taken, 0))
            return number, bits or (self.new_bits or both) & _OWN_BITS.get(number, 0)
        for number, own in _OWN_BITS.items():
            if bits := self.new_bits & own:
                return number, bits
        if self.new_sfsr:
            return SECURE_FAULT, 0
        return self.taken or HARD_FAULT, both & _OWN_BITS.get(self.taken, 0)


@dataclass(frozen=True)
class SeenState:
    """A ``state`` line of the agent (agent/core.py, Core.state).

    ``attribution`` are the SECATTR bits of the SPU's regions of flash and RAM and of peripherals,
    "" while everything is secure.
    """

    core: CoreState
    attribution: tuple[str, ...]

    @staticmethod
    def from_text(text: str, chip: ChipTable) -> SeenState:
        """Decode the line."""
        context, spu, vectors, secure_floats, regions, memory = text.split(" ")
        *registers, control, process, other, secure = (
            int(number, 16) for number in context.split(",")
        )
        nonsecure = not secure
        attribution = () if spu == "-" else tuple(spu.split(","))
        first, second = (PSP, MSP) if process else (MSP, PSP)
        stacks = {(nonsecure, first): registers[13], (nonsecure, second): other}
        core = CoreState(
            tuple(registers), stacks, {nonsecure: PSP if control & SPSEL else MSP}, nonsecure,
            bool(attribution), ((chip.area("ram").origin, bytes.fromhex(memory)),),
            secure_floats == "1", int(vectors, 16), _regions(regions),
        )  # fmt: skip
        return SeenState(core, attribution)

    def is_secure(self, chip: ChipTable, address: int, block: Peripheral | None) -> bool:
        """Whether an address, perhaps in the peripheral ``block``, is secure."""
        flash, ram, peripherals = self.attribution
        if block and len(block.bases) > 1:  # the SPU decides, not the address
            return peripherals[block.number] == "1"
        for bits, area, size in (
            (flash, chip.area("flash"), chip.flash.region),
            (ram, chip.area("ram"), chip.ram.region),
        ):
            if area.holds(address):
                return bits[(address - area.origin) // size] == "1"
        if any(area.holds(address) for area in chip.areas):
            return True
        return 0 <= address - chip.secure_window < chip.secure_window - chip.nonsecure_window


def record_of(
    seen: SeenFault,
    state: SeenState | None,
    image: Image,
    *,
    executed: int,
    seconds: float,
    divided: bool,
) -> FaultRecord:
    """The record of a fault; ``divided``: something is non-secure."""
    cause, bits = seen.fault()
    taken = HARD_FAULT if seen.cause == _BKPT and seen.taken else seen.taken
    sfsr = seen.new_sfsr or seen.status.sfsr
    hfsr = _DEBUGEVT if seen.cause == _BKPT else seen.status.hfsr & ~seen.before.hfsr & _VECTTBL
    names = status_names(
        0 if cause == SECURE_FAULT else bits, hfsr, sfsr if cause == SECURE_FAULT else 0
    )
    registers = _registers(seen, image, state)
    exception = seen.registers[16] & IPSR
    banked = seen.status.cfsr if seen.secure or cause == BUS_FAULT else seen.status.cfsr_ns
    record = FaultRecord(
        exception_name(taken) if taken else "Lockup",
        exception_name(cause),
        ", ".join(names),
        registers[15],
        registers[14],
        registers[13],
        PSP if seen.process and not (exception or seen.entered) else MSP,
        _address(seen, cause, bits, sfsr),
        registers,
        seen.before.cfsr | bits if seen.cause in _ABORTS else banked,
        seen.status.hfsr | hfsr,
        exception,
        executed,
        _origin(seen, registers),
        world=STATES[not seen.secure] if divided else "",
        sfsr=seen.status.sfsr,
        seconds=seconds,
        state=None if state is None else _core(seen, state, registers),
    )
    if state is None or not state.attribution:
        return record
    target = target_of(
        record,
        image.chip,
        lambda address, block: state.is_secure(image.chip, address, block),
        is_write=is_store(_code(image, record.pc)),
    )
    return replace(record, target=target)


def _code(image: Image, address: int) -> bytes:
    """The instruction at ``address``, of this image or one beside it; zeros if there is none."""
    parts = (image, *image.beside)
    found = (part.read(address, size) for size in (4, 2) for part in parts)
    return next(filter(None, found), bytes(4))


def _registers(seen: SeenFault, image: Image, state: SeenState | None) -> tuple[int, ...]:
    """The registers as the chip has them when it takes the fault.

    Renode tells them before the branch that leaves Thumb state, and before anything is stacked.
    """
    *general, sp, lr, pc, xpsr = seen.registers
    if seen.cause == _INVSTATE_RAISED or seen.new_sfsr & _JUMPS:
        target = _branch_target(_code(image, pc), seen.registers, state)
        if target is not None:
            pc = target & ~1
            xpsr &= ~_THUMB if seen.cause == _INVSTATE_RAISED else -1
    elif seen.entered:
        xpsr |= seen.entered
        sp = seen.other_sp if seen.process else seen.below_frame
    return (*general, sp, lr, pc, xpsr)


def _branch_target(code: bytes, registers: Sequence[int], state: SeenState | None) -> int | None:
    """Where an instruction branches that leaves Thumb state; None if it is of another kind.

    BX and BLX with a register, and the POP of pc, behind which SP is already moved.
    """
    first, second = (int.from_bytes(code[at : at + 2], "little") for at in (0, 2))
    if first & 0xFF07 == 0x4700:  # T1, the register in bits 6 to 3
        return registers[first >> 3 & 15]
    pops = first & 0xFF00 == 0xBD00 or (first == 0xE8BD and bool(second & 0x8000))
    return state.core.word(registers[13] - 4) if pops and state is not None else None


def _origin(seen: SeenFault, registers: tuple[int, ...]) -> tuple[int, ...]:
    """The address of the branch by which the core came to pc; () if it is not known."""
    if registers[15] != seen.registers[15]:
        return (seen.registers[15],)
    return ((registers[14] & ~1) - 2,) if seen.new_sfsr & _JUMPS else ()


def _core(seen: SeenFault, state: SeenState, registers: tuple[int, ...]) -> CoreState:
    """The core's state with ``registers``; behind an entry SP is MSP."""
    if not seen.entered:
        return replace(state.core, registers=registers)
    nonsecure = not seen.secure
    process = seen.below_frame if seen.process else seen.other_sp
    stacks = {(nonsecure, MSP): registers[13], (nonsecure, PSP): process}
    return replace(state.core, registers=registers, stacks=stacks, threads={nonsecure: MSP})


def _regions(text: str) -> tuple[MpuRegion, ...]:
    if text == "-":
        return ()
    rows = (row.split(":") for row in text.split(","))
    return tuple(region_of(*(int(value, 16) for value in row)) for row in rows)


def _address(seen: SeenFault, cause: int, bits: int, sfsr: int) -> int | None:
    """The address of the refused access; None if the status registers do not tell it."""
    status = seen.status
    if cause == MEM_MANAGE and bits & _MMARVALID:
        return status.mmfar if seen.secure else status.mmfar_ns
    if cause == BUS_FAULT and bits & _BFARVALID:
        return status.bfar
    if cause == SECURE_FAULT and sfsr & _SFARVALID:
        return status.sfar
    return None
