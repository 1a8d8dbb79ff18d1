"""What the agent sees of the core becomes the fault that the chip takes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from elf_writer import MadeSection, MadeSymbol, write_elf

from harness.base.core_state import MSP, PSP
from harness.elf import Image
from harness.elf.combined import compose
from harness.simulator.faults import FaultRecord
from harness.targets.renode.faults import SeenFault, SeenState, record_of

#: Instructions, in the order of their places from 0x100 on.
CODE = {
    "udf": "00de", "bx r3": "1847", "blx r3": "9847", "bx lr": "7047", "pop {pc}": "00bd",
    "pop {r1, pc} wide": "bde80280", "ldr": "1b68", "str": "1960", "svc": "00df",
}  # fmt: skip
PLACES = {name: 0x100 + 16 * number for number, name in enumerate(CODE)}
SP, OTHER, LR, THUMB = 0x2000FFF0, 0x20008000, 0x10D, 1 << 24
#: The second region of flash, the upper half of RAM and UARTE1 are non-secure.
ATTRIBUTION = ",".join(("10" + "1" * 30, "1" * 16 + "0" * 16, "1" * 9 + "0" + "1" * 57))


def made(path: Path, address: int, text: bytes) -> Image:
    """An image of one function."""
    path.write_bytes(write_elf(
        [MadeSection(".text", address, text, load=address, executable=True)],
        [MadeSymbol("code", address | 1, len(text), "func")],
    ))  # fmt: skip
    return Image.from_elf(path)


@pytest.fixture
def image(tmp_path: Path) -> Image:
    text = b"".join(bytes.fromhex(code).ljust(16, b"\xbf") for code in CODE.values())
    return made(tmp_path / "made.elf", 0x100, text)


@dataclass(frozen=True)
class Told:
    """What the agent tells of a fault, by name instead of by place.

    ``taken``, ``cause`` and ``entered`` are numbers of exceptions and of Renode's causes; ``at`` is
    an instruction of CODE or an address. ``stack`` are the words at and below SP, the lowest first.
    """

    taken: int
    cause: int = 0
    entered: int = 0
    at: str | int = "udf"
    cfsr: int = 0
    hfsr: int = 0
    sfsr: int = 0
    cfsr_ns: int = 0
    mmfar: int = 0
    bfar: int = 0
    sfar: int = 0
    mmfar_ns: int = 0
    before: tuple[int, int, int, int] = (0, 0, 0, 0)  # CFSR, HFSR, SFSR, CFSR_NS
    r3: int = 0
    lr: int = LR
    handler: int = 0  # that executes
    control: int = 0
    process: bool = False
    secure: bool = True
    below: int = 0  # the word below SP
    divided: bool = False

    @property
    def context(self) -> list[int]:
        """Registers, CONTROL, whether SP is PSP, the other stack pointer, the state."""
        pc = PLACES[self.at] if isinstance(self.at, str) else self.at
        registers = [*range(3), self.r3, *range(4, 13), SP, self.lr, pc, THUMB | self.handler]
        return [*registers, self.control, int(self.process), OTHER, int(self.secure)]

    def state(self, image: Image) -> SeenState:
        """Its ``state`` line, with the words around SP as RAM."""
        context = ",".join(f"{word:x}" for word in self.context)
        spu = ATTRIBUTION if self.divided else "-"
        ram = bytes(SP - 4 - 0x20000000) + self.below.to_bytes(4, "little") + bytes(16)
        return SeenState.from_text(f"{context} {spu} 0 0 - {ram.hex()}", image.chip)

    def record(self, image: Image) -> FaultRecord:
        """The record of its ``fault`` line."""
        status = (self.cfsr, self.hfsr, self.sfsr, self.cfsr_ns)
        addresses = (self.mmfar, self.bfar, self.sfar, self.mmfar_ns)
        words = [self.taken, self.cause, self.entered, *self.before, *status, *addresses]
        return record_of(
            SeenFault.from_words([*words, *self.context]), self.state(image), image,
            executed=7, seconds=0.5, divided=self.divided,
        )  # fmt: skip


#: Bits of CFSR, and FORCED of HFSR.
IACCVIOL, DACCVIOL, MSTKERR, MLSPERR = 0x1, 0x82, 0x10, 0x20
PRECISERR, UNSTKERR, STKERR, LSPERR = 0x8200, 0x800, 0x1000, 0x2000
UNDEFINSTR, INVSTATE, INVPC, NOCP, DIVBYZERO = 1 << 16, 1 << 17, 1 << 18, 1 << 19, 1 << 25
FORCED = 1 << 30
#: name: (what is told, the exception taken, the fault before escalation, the named status bits)
KINDS = {
    "undefined": (Told(6, 1, cfsr=UNDEFINSTR), "UsageFault", "UsageFault", "UNDEFINSTR"),
    "no coprocessor": (Told(6, 17, cfsr=NOCP), "UsageFault", "UsageFault", "NOCP"),
    "division": (Told(6, 20, cfsr=DIVBYZERO), "UsageFault", "UsageFault", "DIVBYZERO"),
    "null call": (Told(6, 18, at="blx r3", cfsr=INVSTATE), "UsageFault", "UsageFault", "INVSTATE"),
    "load": (Told(5, 21, at="ldr", cfsr=PRECISERR), "BusFault", "BusFault", "PRECISERR, BFARVALID"),
    "mpu, load": (Told(4, 4, cfsr=DACCVIOL), "MemManage", "MemManage", "DACCVIOL, MMARVALID"),
    "mpu, fetch": (Told(4, 3, cfsr=IACCVIOL), "MemManage", "MemManage", "IACCVIOL"),
    "breakpoint": (Told(12, 7), "HardFault", "HardFault", "DEBUGEVT"),
    "breakpoint in a handler": (Told(3, 7, handler=14, hfsr=FORCED), "HardFault", "HardFault",
                                "DEBUGEVT"),
    "disabled": (Told(3, 1, cfsr=UNDEFINSTR, hfsr=FORCED), "HardFault", "UsageFault", "UNDEFINSTR"),
    "disabled bus fault": (Told(3, 21, cfsr=PRECISERR, hfsr=FORCED), "HardFault", "BusFault",
                           "PRECISERR, BFARVALID"),
    "svc while masked": (Told(3, 2, at="svc", hfsr=FORCED), "HardFault", "SVCall", ""),
    "locked up": (Told(0, 1, cfsr=UNDEFINSTR), "Lockup", "UsageFault", "UNDEFINSTR"),
    "in a hard fault": (Told(0, 1, handler=3, cfsr=UNDEFINSTR, before=(UNDEFINSTR, FORCED, 0, 0)),
                        "Lockup", "UsageFault", "UNDEFINSTR"),
    "the second of a kind": (Told(6, 1, cfsr=UNDEFINSTR | NOCP, before=(NOCP, 0, 0, 0)),
                             "UsageFault", "UsageFault", "UNDEFINSTR"),
    "frame of an interrupt": (Told(5, 0, 43, cfsr=STKERR), "BusFault", "BusFault", "STKERR"),
    "frame of a fault": (Told(5, 0, 6, cfsr=UNDEFINSTR | STKERR, before=(UNDEFINSTR, 0, 0, 0)),
                         "BusFault", "BusFault", "STKERR"),
    "frame in a guard": (Told(4, 0, 43, cfsr=MSTKERR, process=True), "MemManage", "MemManage",
                         "MSTKERR"),
    "frame while masked": (Told(3, 0, 43, cfsr=STKERR, hfsr=FORCED), "HardFault", "BusFault",
                           "STKERR"),
    "vector": (Told(3, 0, 43, hfsr=2), "HardFault", "HardFault", "VECTTBL"),
    "frame on return": (Told(5, cfsr=UNSTKERR, handler=43), "BusFault", "BusFault", "UNSTKERR"),
    "return": (Told(6, cfsr=INVPC, handler=43), "UsageFault", "UsageFault", "INVPC"),
    "floats nowhere": (Told(5, cfsr=LSPERR, handler=11), "BusFault", "BusFault", "LSPERR"),
    "floats in a guard": (Told(4, cfsr=MLSPERR, handler=11), "MemManage", "MemManage", "MLSPERR"),
    "abort where nothing is": (Told(5, 0xFE, at=0x30000000, cfsr=0x8200), "BusFault", "BusFault",
                               "IBUSERR"),
    "abort in a device": (Told(4, 0xFF, at=0x50008000), "MemManage", "MemManage", "IACCVIOL"),
    "abort, escalated": (Told(3, 0xFE, at=0x30000000), "HardFault", "BusFault", "IBUSERR"),
    "secure RAM read": (Told(7, 19, at="ldr", sfsr=0x48, secure=False), "SecureFault",
                        "SecureFault", "AUVIOL, SFARVALID"),
    "no gateway": (Told(7, 19, at="blx r3", sfsr=0x41, secure=False), "SecureFault",
                   "SecureFault", "INVEP"),
    "secure frame": (Told(7, 0, sfsr=0x2, handler=43), "SecureFault", "SecureFault", "INVIS"),
    "non-secure": (Told(6, 1, cfsr_ns=UNDEFINSTR, secure=False), "UsageFault", "UsageFault",
                   "UNDEFINSTR"),
    "non-secure, disabled": (Told(3, 1, cfsr_ns=UNDEFINSTR, hfsr=FORCED, secure=False),
                             "HardFault", "UsageFault", "UNDEFINSTR"),
    "non-secure guard": (Told(4, 0, 43, cfsr_ns=MSTKERR, secure=False), "MemManage", "MemManage",
                         "MSTKERR"),
    "no bit at all": (Told(6, 0), "UsageFault", "UsageFault", ""),
    "an unknown cause": (Told(5, 99, cfsr=PRECISERR), "BusFault", "BusFault",
                         "PRECISERR, BFARVALID"),
}  # fmt: skip


@pytest.mark.parametrize("name", KINDS)
def test_a_fault_has_its_kind_its_cause_and_its_reason(image, name):
    told, kind, cause, reason = KINDS[name]
    record = told.record(image)
    assert (record.kind, record.cause, record.reason) == (kind, cause, reason)


@pytest.mark.parametrize(
    ("told", "pc", "origin", "in_thumb"),
    [
        (Told(6, 1, cfsr=UNDEFINSTR), PLACES["udf"], (), True),
        (Told(6, 18, at="bx r3", r3=0x2000), 0x2000, (PLACES["bx r3"],), False),
        (Told(6, 18, at="blx r3"), 0, (PLACES["blx r3"],), False),
        (Told(6, 18, at="bx lr", lr=0x3000), 0x3000, (PLACES["bx lr"],), False),
        (Told(6, 18, at="pop {pc}", below=0x4000), 0x4000, (PLACES["pop {pc}"],), False),
        (Told(6, 18, at="pop {r1, pc} wide", below=0x4000), 0x4000,
         (PLACES["pop {r1, pc} wide"],), False),
        (Told(6, 18, at="ldr"), PLACES["ldr"], (), True),
        (Told(6, 18, at=0x3000_0000), 0x3000_0000, (), True),
        (Told(7, 19, at="blx r3", r3=0x101, sfsr=0x41), 0x100, (PLACES["blx r3"],), True),
        (Told(7, 19, at=0x2000, sfsr=0x41), 0x2000, (LR - 3,), True),
        (Told(6, at=0xFFFFFFF1, cfsr=INVPC, handler=43), 0xFFFFFFF0, (), True),
    ],
    ids=["none", "BX", "BLX", "BX LR", "POP", "POP wide", "no branch", "no code", "gateway, BLX",
         "gateway, behind it", "an exception return"],
)  # fmt: skip
def test_a_branch_that_leaves_thumb_state_or_the_world_has_its_target(
    image, told, pc, origin, in_thumb
):
    record = told.record(image)
    assert (record.pc, record.blocks) == (pc, origin)
    assert bool(record.registers[16] & THUMB) is in_thumb


@pytest.mark.parametrize(
    ("told", "address"),
    [
        (Told(4, 4, cfsr=DACCVIOL, mmfar=0x111, bfar=0x222), 0x111),
        (Told(5, 21, cfsr=PRECISERR, mmfar=0x111, bfar=0x222), 0x222),
        (Told(5, 21, cfsr=PRECISERR | DACCVIOL, before=(DACCVIOL, 0, 0, 0), mmfar=1, bfar=2), 2),
        (Told(3, 21, cfsr=PRECISERR, hfsr=FORCED, bfar=0x222), 0x222),
        (Told(7, 19, sfsr=0x48, sfar=0x333, secure=False), 0x333),
        (Told(7, 19, sfsr=0x41, sfar=0x333, secure=False), None),
        (Told(4, 4, cfsr_ns=DACCVIOL, mmfar=0x111, mmfar_ns=0x444, secure=False), 0x444),
        (Told(6, 1, cfsr=UNDEFINSTR, mmfar=0x111), None),
        (Told(5, 0, 43, cfsr=STKERR, bfar=0x222), None),
        (Told(4, 3, cfsr=IACCVIOL, mmfar=0x111), None),
    ],
)
def test_the_address_is_that_of_the_refused_access_if_a_register_has_it(image, told, address):
    assert told.record(image).address == address


@pytest.mark.parametrize(
    ("told", "sp", "stack", "exception"),
    [
        (Told(6, 1, cfsr=UNDEFINSTR), SP, MSP, 0),
        (Told(6, 1, cfsr=UNDEFINSTR, process=True), SP, PSP, 0),
        (Told(6, 1, cfsr=UNDEFINSTR, handler=14), SP, MSP, 14),
        (Told(5, 0, 43, cfsr=STKERR), SP - 0x20, MSP, 43),
        (Told(5, 0, 43, cfsr=STKERR, control=4), SP - 0x68, MSP, 43),
        (Told(4, 0, 43, cfsr=MSTKERR, process=True), OTHER, MSP, 43),
    ],
    ids=["main", "process", "a handler", "main, late", "with floats, late", "process, late"],
)
def test_the_stack_is_that_of_the_core_when_it_takes_the_fault(image, told, sp, stack, exception):
    record = told.record(image)
    assert (record.sp, record.stack) == (sp, stack)
    assert record.registers[16] & 0x1FF == exception


def test_state_behind_a_frame_that_was_refused_has_both_stack_pointers_moved(image):
    record = Told(4, 0, 43, cfsr=MSTKERR, process=True).record(image)
    assert record.state is not None
    assert record.state.stacks == {(False, MSP): OTHER, (False, PSP): SP - 0x20}
    assert record.state.threads == {False: MSP}
    assert record.state.registers == record.registers


@pytest.mark.parametrize(
    ("told", "cfsr", "hfsr"),
    [
        (Told(6, 1, cfsr=UNDEFINSTR), UNDEFINSTR, 0),
        (Told(6, 1, cfsr=DACCVIOL, cfsr_ns=UNDEFINSTR, secure=False), UNDEFINSTR, 0),
        (Told(5, 21, cfsr=PRECISERR, cfsr_ns=PRECISERR, secure=False), PRECISERR, 0),
        (Told(5, 0xFE, at=0x30000000, cfsr=PRECISERR), 0x100, 0),
        (Told(4, 0xFF, at=0x50000000, before=(NOCP, 0, 0, 0)), NOCP | 1, 0),
        (Told(12, 7), 0, 1 << 31),
        (Told(3, 1, cfsr=UNDEFINSTR, hfsr=FORCED), UNDEFINSTR, FORCED),
    ],
    ids=["secure", "non-secure", "a bus fault has no bank", "abort", "abort behind another",
         "breakpoint", "forced"],
)  # fmt: skip
def test_status_registers_are_as_the_chip_has_them(image, told, cfsr, hfsr):
    record = told.record(image)
    assert (record.cfsr, record.hfsr) == (cfsr, hfsr)


@pytest.mark.parametrize(
    ("told", "world", "target"),
    [
        (Told(5, 21, at="ldr", cfsr=PRECISERR, bfar=0x30000000), "secure",
         "read of non-secure address"),
        (Told(7, 19, at="ldr", sfsr=0x48, sfar=0x20000100, secure=False), "non-secure",
         "read of secure RAM"),
        (Told(7, 19, at="str", sfsr=0x48, sfar=0x100, secure=False), "non-secure",
         "write to secure flash"),
        (Told(5, 21, at="str", cfsr=PRECISERR, bfar=0x20030000), "secure",
         "write to non-secure RAM"),
        (Told(7, 19, at="ldr", sfsr=0x48, sfar=0x50008000, secure=False), "non-secure",
         "read of secure UARTE0"),
        (Told(7, 19, at="blx r3", r3=0x101, sfsr=0x41, secure=False), "non-secure",
         "secure flash"),
        (Told(7, 19, at="bx r3", r3=0x8001, sfsr=0x10), "secure", "non-secure flash"),
        (Told(6, 1, cfsr=UNDEFINSTR), "secure", ""),
    ],
)  # fmt: skip
def test_between_two_worlds_the_access_is_told(image, told, world, target):
    record = replace(told, divided=True).record(image)
    assert (record.world, record.target) == (world, target)


@pytest.mark.parametrize(
    ("code", "told", "target"),
    [
        ("1960", Told(5, 21, at=0x8100, cfsr=PRECISERR, bfar=0x100), "write to secure flash"),
        ("1847", Told(7, 19, at=0x8100, r3=0x101, sfsr=0x41, secure=False), "secure flash"),
    ],
    ids=["STR", "BX, the last instruction"],
)
def test_code_of_an_image_beside_is_read_too(image, tmp_path, code, told, target):
    pair = compose([image, made(tmp_path / "beside.elf", 0x8100, bytes.fromhex(code))])
    assert replace(told, divided=True).record(pair).target == target


def test_with_one_world_no_world_is_named(image):
    record = Told(5, 21, at="ldr", cfsr=PRECISERR, bfar=0x30000000).record(image)
    assert (record.world, record.target) == ("", "")


def test_a_fault_without_the_state_before_it_is_told_all_the_same(image):
    words = [6, 18, 0, *[0] * 4, INVSTATE, *[0] * 7, *Told(6, at="pop {pc}").context]
    record = record_of(
        SeenFault.from_words(words), None, image, executed=7, seconds=0.5, divided=False
    )
    assert (record.kind, record.reason, record.pc) == ("UsageFault", "INVSTATE", PLACES["pop {pc}"])
    assert (record.state, record.instructions, record.seconds) == (None, 7, 0.5)


@pytest.mark.parametrize(
    ("address", "block", "is_secure"),
    [
        (0x7FFF, "", True), (0x8000, "", False), (0x10000, "", True),
        (0x20000000, "", True), (0x20020000, "", False), (0xFF0000, "", True),
        (0x50008000, "UARTE0", True), (0x40008000, "UARTE0", True),
        (0x50009000, "UARTE1", False), (0x40009000, "UARTE1", False),
        (0x50003000, "SPU", True), (0x40000000, "", False), (0x50FFFFFF, "", True),
        (0x60000000, "", False), (0x30000000, "", False),
    ],
)  # fmt: skip
def test_attribution_is_the_spus(image, address, block, is_secure):
    state = Told(6, divided=True).state(image)
    chip = image.chip
    assert state.is_secure(chip, address, chip.peripheral(block) if block else None) is is_secure
