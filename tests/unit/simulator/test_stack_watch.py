"""The main stack of images that run below its memory, and of those that only look like it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from bare_images import BareImages

from harness.base.expected import Expected
from harness.case import Case, CaseResult, run_case
from harness.case.result import Verdict

pytestmark = pytest.mark.needs("arm-none-eabi-gcc")

GOOD = 'for (int i = 0; i < 3; i++) say("y=1\\n");'
PENDSV = 'SCB(4) = 1 << 28; __asm__ volatile("dsb; isb");'
#: Thread mode on PSP, handlers on an array of their own, below the end of .bss.
TWO_STACKS = """
    static char handlers[512] __attribute__((aligned(8)));
    __asm__ volatile("msr psp, %0; msr msp, %1; mov r3, #2; msr control, r3; isb" ::
        "r"(0x2000F000), "r"(handlers + sizeof handlers) : "r3");
"""


@pytest.fixture(scope="module")
def build(tmp_path_factory: pytest.TempPathFactory) -> BareImages:
    return BareImages(tmp_path_factory.mktemp("images"))


@pytest.fixture
def judged(build: BareImages, tmp_path: Path) -> Callable[..., CaseResult]:
    def run(body: str, on_fault: str = "for (;;) {}") -> CaseResult:
        expect = Expected(values=({"y": 1},) * 3)
        elf = build(body, on_fault=on_fault)
        case = Case("own", elf=elf, scraper=r"/y=(?P<y>\d+)/", expect=expect, timeout=2.0)
        return run_case(case, tmp_path)

    return run


def local(size: int) -> str:
    """Code with a local array of this size; the stack has 64 KB less some hundred bytes."""
    return f"volatile char local[{size}]; local[{size} - 1] = 1; {GOOD}"


def test_a_stack_that_runs_into_variables_is_told_with_depth_and_place(judged):
    result = judged(local(65_500))
    assert result.verdict is Verdict.FIRMWARE
    assert result.reason.startswith("the main stack ran up to ")
    assert " bytes below its end, into " in result.reason
    assert "(by main at image" in result.reason


def test_a_stack_that_is_large_enough_passes(judged):
    assert judged(local(60_000)).verdict is Verdict.PASS


def test_a_stack_of_handlers_in_an_array_is_another_stack(judged):
    deep = "volatile char local[200]; local[0] = local[199] = 1; wait()"
    result = judged(TWO_STACKS + PENDSV + GOOD + "for (;;) {}", on_fault=deep)
    assert (result.verdict, result.problems) == (Verdict.PASS, ())


def test_firmware_that_limits_its_stack_itself_is_not_watched(judged):
    limits = '__asm__ volatile("msr msplim, %0" :: "r"(0x20000000));'
    result = judged(limits + local(65_500))
    assert "ran up to" not in result.reason


def test_firmware_reads_its_own_limit(judged):
    body = 'unsigned l; __asm__ volatile("mrs %0, msplim" : "=r"(l)); if (!l) { ' + GOOD + "}"
    assert judged(body).verdict is Verdict.PASS
