"""Records of faults: the registers at that time, decoded into a report."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from harness.base.core_state import CoreState
from harness.base.exceptions import exception_name, is_exception_return
from harness.base.platforms import ChipTable, Peripheral
from harness.base.text import folded
from harness.elf import Image
from harness.simulator.nvic import STATES

#: MMARVALID and BFARVALID, SFARVALID: MMFAR, BFAR or SFAR has the address of the access.
_CFSR_VALID, _SFSR_VALID = 1 << 7 | 1 << 15, 1 << 6

_MEANINGS = {
    "IACCVIOL": "fetched an instruction from memory that is not executable",
    "DACCVIOL": "the MPU refused a load or store",
    "MSTKERR": "the MPU refused the exception frame: stack overflow into a guard",
    "MUNSTKERR": "the MPU refused the exception frame on return",
    "MLSPERR": "the MPU refused floating-point registers that were to be stacked later",
    "IBUSERR": "fetched an instruction from an address where nothing answers",
    "PRECISERR": "loaded or stored where nothing answers",
    "STKERR": "the exception frame does not fit the stack's memory",
    "LSPERR": "floating-point registers that were to be stacked later do not fit the memory",
    "UNSTKERR": "the exception frame cannot be read back",
    "UNDEFINSTR": "an undefined instruction",
    "INVSTATE": "a branch to an address without the Thumb bit (often a null call)",
    "INVPC": "an invalid exception return",
    "NOCP": "a floating-point instruction while CPACR disables the FPU",
    "STKOF": "the stack pointer went below its limit: stack overflow",
    "UNALIGNED": "an unaligned access that must be aligned",
    "DIVBYZERO": "a division by zero",
    "INVEP": "non-secure code went to secure memory where no gateway is",
    "INVIS": "the integrity signature of a secure exception frame is wrong",
    "INVER": "non-secure code returned from a secure exception",
    "AUVIOL": "non-secure code accessed secure memory",
    "INVTRAN": "secure code went to non-secure memory without BXNS or BLXNS",
    "LSERR": "floating-point registers of another context are not stacked yet",
    "FORCED": "a fault that could not be taken itself: disabled, or not urgent enough",
    "VECTTBL": "the vector table cannot be read",
    "DEBUGEVT": "a breakpoint instruction without a debugger",
}


#: Faults of a jump -> the end of their message. pc is the target of the jump.
JUMPS = {"INVEP": ", where no gateway is", "INVTRAN": " without BXNS or BLXNS"}

#: Name of an area -> its name in reports.
_MEMORIES = {"flash": "flash", "ram": "RAM", "ficr": "FICR", "uicr": "UICR"}
#: Faults whose address is that of a load or store.
_ACCESSES = ("BusFault", "SecureFault")

#: Blocks of code in a fault's record: the last ones before the handler.
BLOCKS_KEPT = 256
#: Lines for these blocks in a report; loops are folded.
_BLOCKS_SHOWN = 16


@dataclass(frozen=True)
class FaultRecord:
    """One fault, as the processor took it."""

    kind: str  # the exception taken: "UsageFault", "HardFault", ..., or "Lockup"
    cause: str  # the fault itself, before escalation
    reason: str  # the named status bits
    pc: int
    lr: int
    sp: int
    stack: str  # "PSP" or "MSP"
    address: int | None
    registers: tuple[int, ...]  # r0-r12, sp, lr, pc, xpsr
    cfsr: int
    hfsr: int
    exception: int  # exception number that was active, 0 in thread mode
    instructions: int
    blocks: tuple[int, ...] = ()  # addresses of the last blocks that ran before it, oldest first
    world: str = ""  # "secure" or "non-secure", with images of both
    sfsr: int = 0
    target: str = ""  # with images of both worlds: the access or jump, "read of secure RAM"
    seconds: float = 0.0  # virtual time
    #: Registers and memory at that time; kept for the first faults only.
    state: CoreState | None = field(default=None, repr=False, compare=False)

    @property
    def status(self) -> str:
        """The named status bits, with FORCED if the fault became a HardFault."""
        forced = self.kind == "HardFault" and self.cause != "HardFault"
        return ", ".join(name for name in (self.reason, "FORCED" * forced) if name)


def target_of(
    record: FaultRecord,
    chip: ChipTable,
    is_secure: Callable[[int, Peripheral | None], bool],
    *,
    is_write: bool,
) -> str:
    """Describe the target of an access or jump: ``read of secure RAM``, ``secure flash``.

    "" for other faults. ``is_secure`` returns whether an address, perhaps in a peripheral, is
    secure.
    """
    is_jump = record.reason in JUMPS
    address = record.pc if is_jump else record.address
    if address is None or not (is_jump or record.cause in _ACCESSES):
        return ""
    name = next((_MEMORIES[area.name] for area in chip.areas if area.holds(address)), "address")
    block = chip.peripheral_at(address)
    owned = f"{STATES[not is_secure(address, block)]} {block.name if block else name}"
    if is_jump:
        return owned
    return f"{'write to' if is_write else 'read of'} {owned}"


def blamed(record: FaultRecord) -> int:
    """The address of the faulty code: pc, or the origin of a jump into the other world."""
    if record.reason not in JUMPS:
        return record.pc
    return next((one for one in reversed(record.blocks) if one != record.pc), record.pc)


def image_of(record: FaultRecord, image: Image) -> str:
    """The name of the faulty image of two worlds; "" with one world."""
    return (image.locate(blamed(record)).image or image.name) if record.world else ""


def refused_access(record: FaultRecord) -> str:
    """Describe the refused access or jump between two worlds; "" if it is unknown."""
    if record.target and record.reason in JUMPS:
        return f"jump to {record.target} 0x{record.pc:08x}{JUMPS[record.reason]}"
    if record.target and record.address is not None:
        return f"{record.target} 0x{record.address:08x}"
    return next((_MEANINGS[name] for name in record.reason.split(", ") if name in _MEANINGS), "")


def where(record: FaultRecord, image: Image) -> str:
    """Function, file and line of the faulty code: of pc, or of lr if pc is not in code."""
    location, *_ = image.frames(blamed(record))
    if location.function or location.file:
        # With two worlds image_of() names the image.
        return str(replace(location, image="") if record.world else location)
    if "INVPC" in record.reason or is_exception_return(record.pc):
        return f"the exception return 0x{record.pc:08x}"
    if is_exception_return(record.lr):
        return f"0x{record.pc:08x}"
    caller, *_ = image.frames((record.lr & ~1) - 2)
    return f"{caller} (the caller; pc is 0x{record.pc:08x})"


def report(record: FaultRecord, image: Image) -> str:
    """The whole decoded report, several lines."""
    lines = [f"{record.kind}: {record.status or 'no status bit'}"]
    if record.kind not in (record.cause, "Lockup"):
        lines[0] += f" (escalated from {record.cause})"
    if record.world:
        lines.append(
            f"  in the {record.world} image {image_of(record, image)}: {refused_access(record)}"
        )
    names = record.reason.split(", ") if record.reason else []
    lines += [f"  {_MEANINGS[name]}" for name in names if name in _MEANINGS]
    valid = record.cfsr & _CFSR_VALID or record.sfsr & _SFSR_VALID
    if record.address is not None and valid:
        lines.append(f"  address 0x{record.address:08x}")
    lines.append(f"  pc 0x{record.pc:08x}  {image.locate(record.pc)}")
    back = is_exception_return(record.lr)
    caller = "exception return" if back else image.locate((record.lr & ~1) - 2)
    lines.append(f"  lr 0x{record.lr:08x}  {caller}")
    lines.append(
        f"  sp 0x{record.sp:08x}  {record.stack}, in {exception_name(record.exception, image.chip)}"
    )
    for first in range(0, 13, 4):
        part = record.registers[first : min(first + 4, 13)]
        values = (f"r{number:<2} {value:08x}" for number, value in enumerate(part, first))
        lines.append("  " + "  ".join(values))
    lines.append(
        f"  xpsr {record.registers[16]:08x}  cfsr {record.cfsr:08x}  hfsr {record.hfsr:08x}"
        f"  after {record.instructions} instructions"
    )
    if record.blocks:
        lines.append("  last blocks before it, oldest first:")
        blocks = [f"    0x{address:08x}  {image.locate(address)}" for address in record.blocks]
        shown = folded(blocks)[-_BLOCKS_SHOWN:]
        shown = shown if shown[0].startswith(" ") else shown[1:]  # "repeated" without its lines
        lines += [line if line.startswith(" ") else f"    {line}" for line in shown]
    return "\n".join(lines)
