"""What a fault hit, by the name of an object, and what to change: one short line, or none.

A line is given only for evidence in the fault, the registers, the image or the chip's table.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

from harness.base import power_on
from harness.base.core_state import MSP
from harness.base.errors import BadElf
from harness.base.exceptions import IPSR, exception_name
from harness.base.platforms import chip_names, chip_table, foreign_peripheral
from harness.elf import Image, vectors
from harness.elf.demangle import short_name
from harness.elf.main_stack import main_stack
from harness.elf.operand import accessed, is_store
from harness.model.schema import IDENTIFIER
from harness.targets.base import Fault

#: The longest line, in characters.
LONGEST = 100
_VECTOR = 4  # bytes
_ERASED = b"\xff" * _VECTOR
#: Alignment of a model: what flatbuffers and kernels assume of it.
_MODEL_ALIGNMENT = 16
#: An access up to so many bytes behind the end of RAM ran over it.
_BEYOND = 1 << 16
#: Variables in which implementations of _sbrk() keep the end of the heap.
_HEAP_END = re.compile(r"_*(?:heap_end|brk|curbrk|sbrk_heap_end|current_heap_end)(?:\.\d+)?$")
#: UDF, which compilers place where a program must not come (Armv8-M ARM, C2.4.288, T1).
_UDF, _UDF_MASK = 0xDE00, 0xFF00
#: BLX of a register (C2.4.24, T1).
_BLX, _BLX_MASK = 0x4780, 0xFF87
_PAGE = 0x1000
#: Bytes of a section that are compared with its content at power-on; with fewer it is no evidence.
_LOOKED_AT, _LEAST_UNWRITTEN = 64, 16
#: A store below this address, into the vector table, is one through a null pointer.
_NULL = 0x100


@dataclass(frozen=True)
class FaultCause:
    """The cause of a fault in a line of at most LONGEST characters; "" if it is not known.

    ``by_value``: it is told by the value of a bad pointer alone.
    """

    text: str
    by_value: bool


def cause_of(fault: Fault, image: Image, seed: int | None = None) -> FaultCause:
    """The cause of ``fault``; ``seed`` is that of RAM at power-on, of which unwritten words are."""
    scene = _Scene(fault, image, seed)
    for rule in _RULES:
        if line := rule(scene):
            return FaultCause(shortened(line), rule in _BY_VALUE and not scene.in_memory)
    return FaultCause("", by_value=True)


def shortened(line: str) -> str:
    """``line`` cut to LONGEST characters."""
    return line if len(line) <= LONGEST else f"{line[: LONGEST - 3]}..."


@dataclass(frozen=True)
class _Scene:
    """A fault with what is known around it."""

    fault: Fault
    image: Image
    seed: int | None

    @property
    def bits(self) -> Sequence[str]:
        """The named status bits."""
        return self.fault.reason.split(", ")

    @property
    def registers(self) -> Sequence[int]:
        """r0 to r12, sp, lr, pc, xpsr; () if they are not known."""
        return self.fault.state.registers if self.fault.state is not None else ()

    @cached_property
    def code(self) -> bytes:
        """The four bytes at pc, if the image stores them."""
        return self.image.read(self.fault.pc & ~1, 4) or b""

    @cached_property
    def address(self) -> int | None:
        """The address of the access: as the core reports it, or by the instruction."""
        if self.fault.address is not None:
            return self.fault.address
        return accessed(self.code, self.registers) if self.code and self.registers else None

    @property
    def in_memory(self) -> bool:
        """Whether the access has an address that some memory has."""
        return self.address is not None and bool(self.area(self.address))

    @property
    def stores(self) -> bool:
        """Whether the instruction at pc stores."""
        return bool(self.code) and is_store(self.code)

    def is_code(self, address: int) -> bool:
        """Whether ``address`` lies in an executable section of the image."""
        return any(
            section.executable and section.address <= address < section.end
            for one in (self.image, *self.image.beside)
            for section in one.sections
        )

    def area(self, address: int) -> str:
        """``flash``, ``ram`` or another memory of the chip; "" for none."""
        return next((one.name for one in self.image.chip.areas if one.holds(address)), "")


# rules, in the order in which they are asked


def _vector(scene: _Scene) -> str:
    """An exception whose vector is not the address of a handler."""
    number = scene.registers[16] & IPSR if len(scene.registers) > 16 else 0
    state = scene.fault.state
    table = _table(scene.image) if state is None or state.vectors is None else state.vectors
    if not number or table is None:
        return ""
    at = table + _VECTOR * number
    stored = scene.image.read(at, _VECTOR) or (state and state.read(at, _VECTOR))
    entry = int.from_bytes(stored or _ERASED, "little")
    if entry & ~1 != scene.fault.pc & ~1 or (entry & 1 and scene.is_code(entry)):
        return ""
    what = exception_name(number, scene.image.chip)
    if not stored:
        return f"the vector of {what} is read from erased flash: VTOR is 0x{table:08x}"
    return f"the vector of {what} at 0x{at:x} is 0x{entry:08x}, not a handler"


def _table(image: Image) -> int | None:
    try:
        return vectors.find(image, anywhere=True).address
    except BadElf:
        return None


def _unconstructed(scene: _Scene) -> str:
    """A virtual call through an object whose constructor never ran."""
    state = scene.fault.state
    if state is None or scene.is_code(scene.fault.pc) or not _has_constructors(scene.image):
        return ""
    this = scene.image.object_at(scene.registers[0])
    if this is None or this.address != scene.registers[0] or state.word(this.address) != 0:
        return ""
    return f"{short_name(this.name)} was never constructed: the start-up code runs no constructors"


def _has_constructors(image: Image) -> bool:
    return any(section.name.startswith((".init_array", ".ctors")) for section in image.sections)


def _null_call(scene: _Scene) -> str:
    if scene.fault.pc & ~1:
        return ""
    return "a null function pointer is called" + _pointer_of(scene)


def _pointer_of(scene: _Scene) -> str:
    """``: r3 is 0``: the register of the call before lr."""
    call = scene.image.read((scene.fault.lr & ~1) - 2, 2)
    word = int.from_bytes(call or b"\0\0", "little")
    return f" (r{word >> 3 & 15} is 0)" if word & _BLX_MASK == _BLX else ""


def _executes_data(scene: _Scene) -> str:
    pc = scene.fault.pc & ~1
    refused = {"IBUSERR", "IACCVIOL", "INVSTATE", "UNDEFINSTR"} & set(scene.bits)
    if scene.is_code(pc) or not refused:
        return ""
    if (held := scene.image.object_at(pc)) is not None:
        return f"a branch into data: 0x{pc:08x} lies in {short_name(held.name)}"
    where = scene.area(pc)
    place = f"in {_MEMORIES.get(where, where)} without code" if where else "where no memory is"
    return f"a branch to 0x{pc:08x}, {place}: a bad function pointer or return address"


_MEMORIES = {"flash": "flash", "ram": "RAM"}


def _trap(scene: _Scene) -> str:
    first = int.from_bytes(scene.code[:2], "little")
    if "UNDEFINSTR" in scene.bits and scene.code and first & _UDF_MASK == _UDF:
        return "UDF, placed by the compiler: undefined behaviour, or a missing return"
    return ""


def _coprocessor(scene: _Scene) -> str:
    if "NOCP" not in scene.bits:
        return ""
    return "the FPU is off: enable CP10 and CP11 in CPACR before the first float"


def _division(scene: _Scene) -> str:
    return "a division by zero (CCR.DIV_0_TRP is set)" if "DIVBYZERO" in scene.bits else ""


def _unaligned(scene: _Scene) -> str:
    address = scene.address
    if "UNALIGNED" not in scene.bits or address is None:
        return ""
    deed = "store to" if scene.stores else "load at"
    held = scene.image.object_at(address)
    if held is None and not scene.area(address):
        return f"the {deed} 0x{address:08x}, where nothing is: a pointer not set, or overwritten"
    if held is None:
        return f"the {deed} 0x{address:x} is not aligned to 4"
    name = short_name(held.name)
    if held.address % 4 == 0:
        offset = address - held.address
        return f"the {deed} 0x{address:x} is byte {offset:,} of {name}: use memcpy, or align it"
    data = scene.image.read(held.address, 8) or b""
    alignment = _MODEL_ALIGNMENT if data[4:8] == IDENTIFIER else 4
    begin = f"{name}, which begins at 0x{held.address:x}"
    return f"the {deed} 0x{address:x} lies in {begin}: align it to {alignment}"


def _mpu(scene: _Scene) -> str:
    """An access that a region of the MPU refuses, or that no region allows."""
    refused, state = {"DACCVIOL", "IACCVIOL"} & set(scene.bits), scene.fault.state
    executes = "IACCVIOL" in refused
    address = scene.fault.pc & ~1 if executes else scene.address
    if not refused or state is None or not state.mpu or address is None:
        return ""
    regions = [one for one in state.mpu if one.first <= address <= one.last]
    held = scene.image.object_at(address)
    what = f"0x{address:08x} ({short_name(held.name)})" if held else f"0x{address:08x}"
    if not regions:
        return f"no MPU region allows an access to {what}"
    numbers = " and ".join(str(one.number) for one in regions)
    if len(regions) > 1:
        return f"{what} lies in the MPU's regions {numbers}: where two overlap, nothing is allowed"
    (region,) = regions
    if executes and region.never_executed:
        why = "is not executable"
    elif scene.stores and region.read_only:
        why = "is read-only"
    else:
        why = "is for privileged code"
    span = f"0x{region.first:08x} to 0x{region.last:08x}"
    return f"{what}: MPU region {numbers}, {span}, {why}"


def _heap_over_stack(scene: _Scene) -> str:
    """A heap whose end, as _sbrk() keeps it, is above the main stack's pointer."""
    state, main = scene.fault.state, main_stack(scene.image)
    sp = state.stacks.get((state.nonsecure, MSP), 0) if state is not None else 0
    if state is None or main is None or main.name or not main.begin <= sp <= main.top:
        return ""
    for symbol in scene.image.symbols:
        if symbol.kind == "object" and symbol.size == _VECTOR and _HEAP_END.match(symbol.name):
            end = state.word(symbol.address) or 0
            if sp < end <= scene.image.chip.area("ram").end + _BEYOND:
                return (
                    f"the heap has grown over the stack: it ends at 0x{end:08x}, sp is 0x{sp:08x}"
                )
    return ""


def _beyond_ram(scene: _Scene) -> str:
    address, ram = scene.address, scene.image.chip.area("ram")
    if address is None or not 0 <= address - ram.end < _BEYOND or not _is_refused(scene):
        return ""
    sp = scene.registers[13] if scene.registers else 0
    if sp > ram.end:
        return f"the stack pointer is 0x{sp:08x}, beyond the end of RAM at 0x{ram.end:08x}"
    if address < ram.end + 8:
        return f"0x{address:08x} is beyond the end of RAM (0x{ram.end:08x})"
    return f"0x{address:08x} is {address - ram.end:,} bytes beyond the end of RAM (0x{ram.end:08x})"


def _below_ram(scene: _Scene) -> str:
    address, ram = scene.address, scene.image.chip.area("ram")
    if address is None or not 0 < ram.origin - address <= _PAGE or not _is_refused(scene):
        return ""
    below = ram.origin - address
    return f"0x{address:08x} is {below:,} bytes below the start of RAM (0x{ram.origin:08x})"


def _is_refused(scene: _Scene) -> bool:
    """Whether an access was refused, not an instruction."""
    refused = ("PRECISERR", "IMPRECISERR", "DACCVIOL", "STKERR", "MSTKERR", "AUVIOL")
    return bool(set(refused) & set(scene.bits))


def _store_to_flash(scene: _Scene) -> str:
    address = scene.address
    if address is None or scene.area(address) != "flash" or not _is_refused(scene):
        return ""
    if not scene.stores:
        return ""
    if address < _NULL:
        return f"a store to 0x{address:x}, in flash: a null pointer"
    held = scene.image.object_at(address)
    if held is not None:
        name = short_name(held.name)
        placed = any(one.name == held.section and one.writable for one in scene.image.sections)
        why = f"placed in flash (section {held.section})" if placed else "which is const"
        return f"a store to flash: 0x{address:x} lies in {name}, {why}"
    return f"a store to flash at 0x{address:x}, which only NVMC writes"


def _foreign_peripheral(scene: _Scene) -> str:
    """An access to the place of a peripheral of another chip, or of the other world."""
    address, chip = scene.address, scene.image.chip
    if address is None or not _is_refused(scene) or scene.area(address):
        return ""
    other = address ^ chip.secure_window ^ chip.nonsecure_window
    if (block := chip.peripheral_at(address)) is None and (mirror := chip.peripheral_at(other)):
        return (
            f"0x{address:08x} is no {mirror.name} of the {chip.name}: it answers at 0x{other:08x}"
        )
    family, name = foreign_peripheral(address & ~(_PAGE - 1))
    if block is None and name:
        return f"0x{address:08x} is {name} of an {family}; the {chip.name} has nothing there"
    for key in chip_names():
        table = chip_table(key)
        if block is None and (theirs := table.peripheral_at(address)) is not None:
            return f"0x{address:08x} is {theirs.name} of the {table.name}, not of the {chip.name}"
    return ""


def _never_copied(scene: _Scene) -> str:
    """Initialized variables that still hold what RAM held at power-on."""
    state = scene.fault.state
    if state is None or scene.seed is None:
        return ""
    for section in scene.image.sections:
        moved = section.loaded and section.load_address != section.address
        size = min(section.size, _LOOKED_AT) & ~3
        if not moved or not section.writable or section.executable or size < _LEAST_UNWRITTEN:
            continue
        begin = -(-section.address // 4) * 4
        if state.read(begin, size - 4) == power_on.pattern(scene.seed, begin, size - 4):
            return f"{section.name} holds what RAM held at power-on: it was never copied from flash"
    return ""


def _unwritten_pointer(scene: _Scene) -> str:
    """A pointer with a value that RAM held at power-on."""
    refused = _is_refused(scene) or "UNALIGNED" in scene.bits
    if scene.address is None or scene.seed is None or not refused:
        return ""
    near = (one for one in scene.registers[:13] if abs(scene.address - one) < _PAGE)
    ram = scene.image.chip.area("ram")
    content = power_on.pattern(scene.seed, ram.origin, ram.size)
    for value in (scene.address, *near):
        at = content.find(value.to_bytes(4, "little"))
        if at >= 0 and at % 4 == 0 and not scene.area(value):
            return f"the pointer 0x{value:08x} is what RAM held at power-on: nothing has written it"
    return ""


def _overwritten(scene: _Scene) -> str:
    """A pointer or return address that consists of text, or of equal bytes."""
    wild = scene.fault.pc if not scene.is_code(scene.fault.pc) else scene.address
    if wild is None or scene.area(wild):
        return ""
    values = [wild, *(one for one in scene.registers[:13] if abs(wild - one) < _NULL)]
    for value in values:
        data = value.to_bytes(4, "little")
        if len(set(data)) == 1 and data[0] not in (0, 0xFF):
            return f"the pointer 0x{value:08x} is overwritten: each of its bytes is 0x{data[0]:02x}"
        if all(32 <= byte < 127 for byte in data):
            return f"the pointer 0x{value:08x} is overwritten with the text {data.decode()!r}"
    return ""


def _through_null(scene: _Scene) -> str:
    """An access through word 0 of flash, the initial stack pointer: what a null pointer gives."""
    address, table = scene.address, _table(scene.image)
    if address is None or table != 0:
        return ""
    word = int.from_bytes(scene.image.read(0, 4) or b"", "little")
    if not 8 <= address - word < _NULL or not _is_refused(scene) or scene.area(address):
        return ""
    return f"0x{word:08x} is word 0 of flash: a pointer was read through a null pointer"


def _nowhere(scene: _Scene) -> str:
    address = scene.address
    if address is None or "PRECISERR" not in scene.bits or scene.area(address):
        return ""
    if scene.image.chip.peripheral_at(address) is not None:
        return ""
    deed = "a store to" if scene.stores else "a load from"
    return (
        f"{deed} 0x{address:08x}, where nothing answers: a pointer that is not set, or overwritten"
    )


_RULES: tuple[Callable[[_Scene], str], ...] = (
    _vector, _mpu, _unconstructed, _never_copied, _null_call, _overwritten, _executes_data, _trap,
    _coprocessor, _division, _heap_over_stack, _through_null, _unwritten_pointer, _unaligned,
    _beyond_ram, _below_ram, _store_to_flash, _foreign_peripheral, _nowhere,
)  # fmt: skip
_BY_VALUE = frozenset((_overwritten, _executes_data, _unaligned, _beyond_ram, _below_ram, _nowhere))
