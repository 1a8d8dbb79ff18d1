"""Fault dumps of Zephyr, line by line."""

import re
from pathlib import Path

import needs
import pytest

from harness.base.findings import Kind
from harness.uart import Console
from harness.uart.faults import arm_reason


def read(text: str) -> list:
    console = Console()
    console.feed(text.encode())
    console.finish()
    return console.findings


def dump(pc: int, prefix: str = "<err> os: ", kind: str = "USAGE FAULT") -> str:
    body = (
        f"***** {kind} *****",
        "  Illegal use of the EPSR",
        "r0/a1:  0x00000003  r1/a2:  0x00000002  r2/a3:  0x00000003",
        "r3/a4:  0x00000000 r12/ip:  0x00000001 r14/lr:  0x00005875",
        " xpsr:  0x21000000",
        f"Faulting instruction address (r15/pc): 0x{pc:08x}",
        ">>> ZEPHYR FATAL ERROR 0: CPU exception on CPU 0",
    )
    return "".join(f"{prefix}{line}\n" for line in body)


def faults(text: str) -> list:
    return [finding for finding in read(text) if finding.kind is Kind.FAULT]


def test_a_dump_is_one_finding_with_its_reason_and_place():
    (fault,) = faults("hello\n" + dump(0x56E2))
    assert fault.line == 2
    assert fault.message == "Usage fault: Illegal use of the EPSR: lr 0x00005875, pc 0x000056e2"
    assert dict(fault.values) == {"lr": 0x5875, "pc": 0x56E2}


def test_minimal_logging_prints_the_same_dump_behind_a_letter():
    (fault,) = faults(dump(0x56E2, prefix="E: ", kind="MPU FAULT"))
    assert fault.message.startswith("MPU fault: Illegal use of the EPSR: lr")


def test_two_dumps_are_two_findings_and_the_first_stays_first():
    first, second = faults(dump(0x10) + "between\n" + dump(0x20))
    assert (first.value("pc"), second.value("pc")) == (0x10, 0x20)
    assert (first.line, second.line) == (1, 9)


def test_an_incomplete_dump_is_reported_and_the_next_one_is_read():
    broken = "".join(dump(0x10).splitlines(keepends=True)[:4])
    first, second = faults(broken + dump(0x20))
    assert first.value("pc") is None
    assert first.value("lr") == 0x5875
    assert second.value("pc") == 0x20
    (last,) = faults(broken)
    assert last.value("lr") == 0x5875


def test_a_dump_that_never_ends_is_closed():
    endless = "<err> os: ***** BUS FAULT *****\n" + "<err> os:   again\n" * 100
    (fault,) = faults(endless + dump(0x20).replace("*****", ""))
    assert fault.value("pc") is None
    assert len(fault.message) < 500


@pytest.mark.parametrize(("between", "pc"), [(38, 0x20), (39, 0x20), (40, None)])
def test_a_dump_has_forty_lines_behind_its_banner(between, pc):
    lines = ["hello"] * 50 + ["***** BUS FAULT *****"] + ["noise"] * between
    lines.append("(r15/pc): 0x00000020")
    (fault,) = faults("".join(f"{line}\n" for line in lines))
    assert fault.value("pc") == pc


def test_a_dump_keeps_its_first_eight_details():
    details = "".join(f"<err> os:   detail {n}\n" for n in range(10))
    (fault,) = faults("***** BUS FAULT *****\n" + details)
    assert fault.message == "Bus fault: " + "; ".join(f"detail {n}" for n in range(8))


def test_an_interleaved_line_is_not_part_of_a_dump():
    text = dump(0x10).replace("<err> os: r0/a1", "I: hello\n<err> os: r0/a1")
    (fault,) = faults(text)
    assert fault.message == "Usage fault: Illegal use of the EPSR: lr 0x00005875, pc 0x00000010"


def test_dumps_do_not_share_details():
    first, second = faults(dump(0x10) + "***** BUS FAULT *****\n")
    assert (first.line, second.line) == (1, 8)
    assert (second.message, second.values) == ("Bus fault", ())


def test_line_numbers_of_findings_are_those_of_the_console():
    found = read("one\ntwo\nAllocateTensors() failed\nfour\nInvoke failed")
    assert [finding.line for finding in found] == [3, 5]


def test_an_error_number_below_zero_is_a_panic_too():
    (panic,) = read("E: >>> ZEPHYR FATAL ERROR -2: Unknown error on CPU 0\n")
    assert (panic.kind, panic.value("reason")) == (Kind.KERNEL_PANIC, -2)


@pytest.mark.parametrize(
    ("code", "meaning"),
    [
        (16, "MemManage"),
        (19, "MemManage: a data access was refused"),
        (25, "BusFault: a data access failed"),
        (30, "UsageFault: division by zero"),
        (32, "UsageFault: stack overflow"),
        (36, "UsageFault: undefined instruction"),
        (44, "SecureFault: error of lazy FP state"),
    ],
)
def test_a_reason_code_of_arm_has_its_meaning(code: int, meaning: str) -> None:
    (panic,) = read(f"E: >>> ZEPHYR FATAL ERROR {code}: Unknown error on CPU 0\n")
    assert panic.message.endswith(f"Unknown error on CPU 0 ({meaning})")


@pytest.mark.parametrize("code", [15, 45, 2**31 - 1])
def test_other_reason_codes_are_shown_as_they_are(code: int) -> None:
    (panic,) = read(f"E: >>> ZEPHYR FATAL ERROR {code}: Unknown error on CPU 0\n")
    assert panic.message == f">>> ZEPHYR FATAL ERROR {code}: Unknown error on CPU 0"


def test_reason_codes_are_those_of_the_workspace() -> None:
    header = Path(needs.require("zephyr"), "include/zephyr/arch/arm/arch.h")
    text = header.read_text(encoding="utf-8")
    names = re.findall(r"^\s+K_ERR_ARM_(\w+)", text, re.MULTILINE)
    kinds = {"MEM": "MemManage", "BUS": "BusFault", "USAGE": "UsageFault", "SECURE": "SecureFault"}
    named = [kinds.get(name.split("_")[0]) for name in names]
    told = [arm_reason(16 + index) for index in range(len(names))]
    assert [(what or "").split(" ")[0].rstrip(":") or None for what in told] == named


@pytest.mark.parametrize(
    "detail",
    [
        "Stack overflow (context area not valid)",
        "Stacking error (context area might be not valid)",
    ],
)
def test_registers_that_were_not_stacked_are_no_place(detail: str) -> None:
    (overflow,) = faults(dump(0xBD744385).replace("Illegal use of the EPSR", detail))
    assert (overflow.message, overflow.values) == (f"Usage fault: {detail}", ())


PANIC = (
    "E: r0/a1:  0x00000004  r1/a2:  0x0000000d  r2/a3:  0x00000001\n"
    "E: r3/a4:  0x000092c9 r12/ip:  0x30000000 r14/lr:  0x00005881\n"
    "E:  xpsr:  0x41000000\n"
    "E: Faulting instruction address (r15/pc): 0x0000facc\n"
    "E: >>> ZEPHYR FATAL ERROR 4: Kernel panic on CPU 0\n"
    "E: Current thread: 0x20000830 (worker)\n"
    "E: Halting system\n"
)


def test_a_panic_has_the_place_and_the_thread():
    (panic,) = read(PANIC)
    assert panic.kind is Kind.KERNEL_PANIC
    assert panic.message == (
        ">>> ZEPHYR FATAL ERROR 4: Kernel panic on CPU 0 Current thread: 0x20000830 (worker), "
        "lr 0x00005881, pc 0x0000facc"
    )
    assert (panic.value("reason"), panic.value("pc")) == (4, 0xFACC)


def test_registers_long_before_a_panic_are_not_its_place():
    far = PANIC.replace("E: >>>", "chatter\n" * 20 + "E: >>>")
    (panic,) = read(far)
    assert panic.value("pc") is None


def test_the_registers_of_a_dump_belong_to_its_fault_alone():
    found = {finding.kind: finding for finding in read(dump(0x56E2) + "E: Current thread: 0x1\n")}
    assert found[Kind.FAULT].value("pc") == 0x56E2
    assert found[Kind.KERNEL_PANIC].value("pc") is None


def test_an_assertion_has_the_text_behind_it():
    (failed,) = read("ASSERTION FAIL [n != 3] @ src/faults.hpp:13\n\tinference_count is 3\n")
    assert failed.message == "ASSERTION FAIL [n != 3] @ src/faults.hpp:13 inference_count is 3"


def test_an_assertion_without_a_text_is_a_finding():
    (failed,) = read("ASSERTION FAIL [n != 3] @ src/faults.hpp:13\nE: r0/a1:  0x00000004\n")
    assert failed.message == "ASSERTION FAIL [n != 3] @ src/faults.hpp:13"
