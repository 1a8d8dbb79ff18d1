"""Reports on a core: callers, threads, stacks and stack overflows."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import needs
import pytest
from bare_images import BareImages

from harness.base.core_state import CoreState
from harness.base.text import folded
from harness.build.standalone import build_standalone
from harness.debug.report import Stack, StateReporter
from harness.elf import Image
from harness.targets import simulator
from harness.targets.base import Fault, SymbolReached


def zephyr(name: str) -> Image:
    return Image.from_elf(Path(needs.require("zephyr images"), f"3.7.1-{name}.elf"))


def told(image: Image, seconds: float = 1.0, *, limit: bool = False) -> list[Fault]:
    with simulator.open(image) as session:
        if limit:
            session.run(SymbolReached("Main"), session.deadline(seconds))
            results = image.symbol("results")
            assert results is not None
            session.memory.write(results.address + 4, b"\1\0\0\0")
        session.run(None, session.deadline(seconds))
        reporter = StateReporter(image, session.power_on)
        return [reporter.fault(one) for one in session.faults]


def test_a_fault_names_its_caller_and_the_interrupted_function(
    build: Callable[[str], Image],
) -> None:
    first, *_ = told(build("deep"))
    assert "at Divide at deep.c:" in str(first)
    assert ", called from Handle at deep.c:" in str(first)
    assert "Egu0" not in str(first)
    assert ", in the handler of EGU0 (IRQ27), which interrupted Inner at deep.c:" in str(first)
    assert str(first).endswith(", called from Outer at deep.c:32")
    lines = first.report.partition("call stack, innermost first:\n")[2].splitlines()
    assert [line.split()[0] for line in lines[:6]] == [
        "Divide", "Handle", "Egu0", "Inner", "Outer", "Thread",
    ]  # fmt: skip
    assert "<- EGU0 (IRQ27)" in lines[3]
    assert first.state is None


def test_the_place_in_a_nested_handler_has_the_interrupted_function(
    build: Callable[[str], Image],
) -> None:
    image = build("deep")
    with simulator.open(image) as session:
        session.run(None, session.deadline(0.1))
        told = StateReporter(image).place(session.core_state)
    assert told.startswith("Stop")
    assert ", in the handler of HardFault, which interrupted Divide at deep.c:8" in told


def test_a_place_in_a_library_is_told_with_the_call_in_the_application() -> None:
    needs.require("arm-none-eabi-gcc", "flatc")
    image = Image.from_elf(build_standalone("hello_world", "exact").elf)
    with simulator.open(image) as session:
        prepare = "_ZN6tflite26TfLiteEvalTensorByteLengthEPK16TfLiteEvalTensor"
        session.run(SymbolReached(prepare), session.deadline(5))
        place = StateReporter(image).place(session.core_state)
    assert place.startswith("tflite::TfLiteEvalTensorByteLength at memory_helpers.cc:")
    assert ", called from hil::Runner::Open at runner.cc:" in place
    assert place.count("called from") == 1


@pytest.mark.parametrize(
    ("limit", "how"), [(True, "STKOF: the processor refused it"), (False, "bytes below it")]
)
def test_a_stack_overflow_is_reported(build: Callable[[str], Image], limit: bool, how: str) -> None:
    first, *_ = told(build("overflow"), limit=limit)
    assert "; stack overflow of main stack (" in str(first)
    assert str(first).endswith(how)
    assert "bytes from 0x2000" in first.overflow
    assert "Recurse" in str(first)
    assert "... the last line, " in first.report


def test_an_intact_stack_is_not_reported_as_an_overflow(build: Callable[[str], Image]) -> None:
    first, *_ = told(build("wildbranch"))
    assert first.overflow == ""
    assert "\n  stack main stack (" in first.report


def test_waiting_threads_are_reported() -> None:
    image = zephyr("philosophers")
    with simulator.open(image) as session:
        session.run(None, session.deadline(1.2))
        reporter, state = StateReporter(image, session.power_on), session.core_state
    place, stacks = reporter.place(state), reporter.threads(state)
    assert place.startswith("arch_cpu_idle at ")
    assert "thread idle; thread Philosopher 5 waits in k_sleep at sched.c:1223" in place
    assert "called from philosopher at main.c:" in place
    assert place.endswith(", and 4 more")
    assert "\nthread Philosopher 0 does not run; stack " in stacks


def test_an_overflow_that_zephyr_catches_names_thread_and_stack() -> None:
    faults = told(zephyr("exception_mpu_guard"), 1.0)
    overflow = next(one for one in faults if one.overflow)
    assert "thread alt_thread; stack overflow of alt_stack (1,984 bytes" in str(overflow)


@pytest.mark.parametrize(
    ("lines", "shown"),
    [
        ("", ""),
        ("abc", "abc"),
        ("aa", "aa"),
        ("aaa", "a1x3"),
        ("abababc", "ab2x3c"),
        ("xabcabcabcy", "xabc3x3y"),
    ],
)
def test_repeated_lines_are_folded(lines: str, shown: str) -> None:
    def short(line: str) -> str:
        words = line.replace(" lines", "").split()
        size = words[3].rstrip(",").replace("line", "1") if line.startswith("...") else ""
        return f"{size}x{words[-5]}" if size else line

    assert "".join(short(line) for line in folded(list(lines))) == shown


@pytest.mark.parametrize(
    ("sp", "how"),
    [
        (0x2000_0608, ""),
        (0x2000_0500, "sp is 8 bytes below it"),
        (0x1FFF_FFE8, "sp is 1,312 bytes below it"),
        (0x1000_0000, ""),
    ],
)
def test_sp_below_the_stack_is_an_overflow(
    build: Callable[[str], Image], sp: int, how: str
) -> None:
    stack = Stack("worker_stack", 0x2000_0508, 1024, 976)
    state = CoreState((*range(13), sp, 0, 0, 0))
    found = StateReporter(build("deep")).overflow(state, stack, "PRECISERR, BFARVALID", 0x3000_0000)
    assert found.partition("976): ")[2] == how


def test_the_first_64_faults_have_call_stacks(build: Callable[[str], Image]) -> None:
    image = build("faults")
    with simulator.open(image) as session:
        session.run(None, session.deadline(1.0))
        faults = session.faults
    states = [one.state is not None for one in faults]
    assert states == [True] * 64 + [False] * (len(states) - 64)
    assert len(states) >= 100
    told = [StateReporter(image).fault(one) for one in faults]
    assert all("called from Caller at faults.c:" in one.callers for one in told[:64])
    assert not told[64].callers


PEND = 'SCB(4) = 1 << 28; __asm__ volatile("dsb; isb");'


@pytest.mark.parametrize(
    ("body", "handlers", "place"),
    [
        ("SCB(8) = 0x10000;" + PEND, {},
         " at 0xfffffffe, in the handler of PendSV, which interrupted main at image"),
        (PEND, {14: '__asm__ volatile("mvn r0, #4; bx r0")'},
         " at the exception return 0xfffffffa"),
    ],
    ids=["vector", "return"],
)  # fmt: skip
def test_exc_return_is_not_a_caller(
    tmp_path: Path, body: str, handlers: dict[int, str], place: str
) -> None:
    needs.require("arm-none-eabi-gcc")
    first, *_ = told(Image.from_elf(BareImages(tmp_path)(body, handlers=handlers)), 0.01)
    assert place in str(first)
    assert "(the caller" not in str(first)
