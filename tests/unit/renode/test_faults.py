"""The core's words become faults with names, places and addresses."""

from __future__ import annotations

import pytest
from elf_writer import MadeSection, MadeSymbol, write_elf

from harness.elf import Image
from harness.targets.base import Fault
from harness.targets.renode.faults import DECODERS

CALLER, CALLEE = 0x101, 0x200
THREAD = 0xFFFFFFFD
#: Every status bit: its name, in CFSR, its number (Armv8-M ARM, DDI0553).
CFSR = {
    "IACCVIOL": 0, "DACCVIOL": 1, "MUNSTKERR": 3, "MSTKERR": 4, "MLSPERR": 5, "MMARVALID": 7,
    "IBUSERR": 8, "PRECISERR": 9, "IMPRECISERR": 10, "UNSTKERR": 11, "STKERR": 12, "LSPERR": 13,
    "BFARVALID": 15, "UNDEFINSTR": 16, "INVSTATE": 17, "INVPC": 18, "NOCP": 19, "STKOF": 20,
    "UNALIGNED": 24, "DIVBYZERO": 25,
}  # fmt: skip
HFSR = {"VECTTBL": 1, "FORCED": 30, "DEBUGEVT": 31}


@pytest.fixture
def image(tmp_path) -> Image:
    path = tmp_path / "made.elf"
    path.write_bytes(write_elf(
        [MadeSection(".text", 0x100, bytes(0x200), load=0x100, executable=True)],
        [MadeSymbol("caller", CALLER, 0x100, "func"), MadeSymbol("callee", CALLEE | 1, 16, "func")],
    ))  # fmt: skip
    return Image.from_elf(path)


def taken(image: Image, number: int = 6, link: int = THREAD, *, cfsr: int = 0, hfsr: int = 0,
          mmfar: int = 0, bfar: int = 0, sfsr: int = 0, sfar: int = 0,
          cfsr_ns: int = 0, mmfar_ns: int = 0,
          lr: int = CALLER, pc: int = CALLEE) -> Fault:  # fmt: skip
    """A fault at a handler's first instruction."""
    frame = (0x10, 0x11, 0x12, 0x13, 0x1C, lr, pc, 0x6100_0000)
    return DECODERS["fault"](
        (number, link, cfsr, hfsr, mmfar, bfar, sfsr, sfar, cfsr_ns, mmfar_ns, *frame), image
    )


@pytest.mark.parametrize(
    ("number", "kind"),
    [(3, "HardFault"), (4, "MemManage"), (5, "BusFault"), (6, "UsageFault"), (7, "SecureFault"),
     (12, "exception 12")],
)  # fmt: skip
def test_a_fault_is_named_by_its_exceptions_number(image: Image, number: int, kind: str) -> None:
    assert taken(image, number).kind == kind


@pytest.mark.parametrize(("name", "bit"), CFSR.items())
def test_each_bit_of_cfsr_is_a_reason(image: Image, name: str, bit: int) -> None:
    assert taken(image, cfsr=1 << bit).reason == name


@pytest.mark.parametrize(("name", "bit"), HFSR.items())
def test_each_bit_of_hfsr_is_a_reason(image: Image, name: str, bit: int) -> None:
    assert taken(image, hfsr=1 << bit).reason == name


def test_several_reasons_are_listed_in_order(image: Image) -> None:
    assert taken(image, cfsr=0x82, hfsr=1 << 30).reason == "DACCVIOL, MMARVALID, FORCED"
    assert taken(image).reason == "no status bit"


@pytest.mark.parametrize(
    ("cfsr", "address"),
    [(0, None), (1, None), (1 << 7, 0x111), (1 << 15, 0x222), (1 << 7 | 1 << 15, 0x111)],
)
def test_fault_address_is_reported_if_its_register_is_valid(
    image: Image, cfsr: int, address: int | None
) -> None:
    assert taken(image, cfsr=cfsr, mmfar=0x111, bfar=0x222).address == address


def test_fault_report_has_place_caller_and_stacked_registers(image: Image) -> None:
    fault = taken(image, cfsr=1 << 16)
    assert (fault.pc, fault.lr, fault.where) == (CALLEE, CALLER, "callee")
    assert fault.report.splitlines() == [
        "UsageFault: UNDEFINSTR",
        "  at callee",
        "  called from caller",
        "  r0=0x00000010 r1=0x00000011 r2=0x00000012 r3=0x00000013 r12=0x0000001c "
        "lr=0x00000101 pc=0x00000200 xpsr=0x61000000",
    ]


def test_null_call_is_located_by_its_caller(image: Image) -> None:
    for lr in (CALLER, CALLER + 2):
        assert taken(image, pc=0, lr=lr).where == str(image.locate(lr))


@pytest.mark.parametrize(
    ("link", "told"),
    [(0xFFFFFFFD, ""), (0xFFFFFFBC, ""), (0xFFFFFFBD, "non-secure"), (0xFFFFFFFC, "secure")],
)
def test_a_place_is_not_shown_where_the_handler_is_of_the_other_world(
    image: Image, link: int, told: str
) -> None:
    """EXC_RETURN.S is the world of the frame's stack, ES the handler's."""
    where = taken(image, link=link).where
    place = f"a place in the {told} image that Renode does not show"
    assert where == (place if told else "callee")


@pytest.mark.parametrize(
    ("status", "cause"),
    [
        ({"cfsr": 1 << 16}, "UsageFault"),
        ({"cfsr": 1 << 9}, "BusFault"),
        ({"cfsr": 1 << 1}, "MemManage"),
        ({"cfsr_ns": 1 << 1}, "MemManage"),
        ({"sfsr": 1 << 3}, "SecureFault"),
    ],
)
def test_forced_hardfault_names_its_cause_as_on_the_simulator(image, status, cause) -> None:
    first, *_ = taken(image, 3, hfsr=1 << 30, **status).report.splitlines()
    assert first.startswith("HardFault: ")
    assert first.endswith(f", FORCED (escalated from {cause})")


@pytest.mark.parametrize(("number", "hfsr"), [(3, 1 << 1), (6, 1 << 30), (3, 0)])
def test_fault_that_was_not_forced_has_no_other_cause(image, number: int, hfsr: int) -> None:
    assert "escalated" not in taken(image, number, cfsr=1 << 16, hfsr=hfsr).report


def test_svc_that_became_a_hardfault_has_no_status_bit(image: Image) -> None:
    assert taken(image, 3, hfsr=1 << 30).report.startswith("HardFault: FORCED\n")


def test_lockup_is_located_where_the_core_stands(image: Image) -> None:
    fault = DECODERS["lockup"]((CALLEE | 1, CALLER, 1 << 17, *[0] * 7), image)
    assert (fault.kind, fault.reason, fault.where) == ("Lockup", "INVSTATE", "callee")
    silent = DECODERS["lockup"]((CALLEE, CALLER, *[0] * 8), image)
    assert silent.reason == "a fault that could not be taken"
    assert silent.report.splitlines()[1:] == ["  at callee", "  called from caller"]


@pytest.mark.parametrize(
    ("pc", "lr", "where"),
    [(CALLEE, CALLER, "callee"), (0x8001, CALLER, "caller"), (0x8001, 0x9001, "0x00008000")],
)
def test_core_outside_all_functions_is_located_by_its_caller(
    image: Image, pc: int, lr: int, where: str
) -> None:
    fault = DECODERS["abort"]((pc, lr, *[0] * 8), image)
    assert fault.where == where
    assert (fault.kind, fault.pc, fault.lr) == ("BusFault", pc, lr)


def test_branch_outside_memory_is_a_bus_fault(image: Image) -> None:
    fault = DECODERS["abort"]((0x3000_0001, CALLER, *[0] * 8), image)
    assert fault.reason == "IBUSERR, branch to 0x30000000"
    assert fault.report.splitlines()[-1] == "  Renode ends there, without the fault's handler"


def test_a_stack_that_left_ram_is_a_bus_fault(image: Image) -> None:
    fault = DECODERS["overflow"]((CALLEE, CALLER, *[0] * 8, 0x1FFF_FFF8), image)
    assert (fault.kind, fault.where) == ("BusFault", "callee")
    assert fault.reason == "STKERR, the stack pointer 0x1ffffff8 is outside RAM"
    assert fault.report.splitlines()[-1] == "  Renode ends there, without the fault's handler"


@pytest.mark.parametrize(("bit", "name"), list(enumerate(
    ("INVEP", "INVIS", "INVER", "AUVIOL", "INVTRAN", "LSPERR", "SFARVALID", "LSERR")
)))  # fmt: skip
def test_each_bit_of_sfsr_is_a_reason(image: Image, bit: int, name: str) -> None:
    assert taken(image, 7, sfsr=1 << bit).reason == name


def test_a_secure_faults_address_and_a_non_secure_cause_are_told(image: Image) -> None:
    assert taken(image, 7, sfsr=0x48, sfar=0x2000_0000).address == 0x2000_0000
    fault = taken(image, 4, cfsr_ns=0x82, mmfar_ns=0x111)
    assert (fault.reason, fault.address) == ("DACCVIOL, MMARVALID", 0x111)


@pytest.mark.parametrize("pc", [0x4000_0001, 0x5FFF_FFFF, 0xA000_0001, 0xF000_0001])
def test_branch_to_an_execute_never_area_is_a_memory_fault(image: Image, pc: int) -> None:
    fault = DECODERS["abort"]((pc, CALLER, *[0] * 8), image)
    assert fault.kind == "MemManage"
    assert fault.reason == f"IACCVIOL, branch to 0x{pc & ~1:08x}"


def test_branch_to_external_ram_that_is_not_there_is_a_bus_fault(image: Image) -> None:
    assert DECODERS["abort"]((0x6000_0001, CALLER, *[0] * 8), image).kind == "BusFault"
