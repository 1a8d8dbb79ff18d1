"""Stacks of images that run below their memory, and of those that only look like it."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from bare_images import BareImages

from harness.base.expected import Expected
from harness.case import Case, CaseResult, run_case
from harness.case.result import Verdict

pytestmark = pytest.mark.needs("arm-none-eabi-gcc")

GOOD = 'for (int i = 0; i < 3; i++) say("y=1\\n");'
FUNCTIONS = """
void say(const char *);
__attribute__((noipa)) void deep(void) {
  volatile char local[96]; local[0] = local[95] = 1; say("deep\\n");
}
__attribute__((noipa)) int recurse(int depth) { return depth ? recurse(depth - 1) * 3 + 1 : 0; }
__attribute__((noipa)) void large(void) { volatile char local[900]; local[0] = local[899] = 1; }
__attribute__((noreturn)) void lower_large(void) {
  large();
  for (;;) *(volatile unsigned *)0xE000ED04 = 1 << 28;
}
__attribute__((noipa)) int descend(int depth) {
  large();
  return depth ? descend(depth - 1) * 3 + 1 : 0;
}
__attribute__((noreturn)) void lower_thread(void) {
  deep();
  for (;;) *(volatile unsigned *)0xE000ED04 = 1 << 28;
}
"""
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
        (tmp_path / "functions.h").write_text(FUNCTIONS)
        elf = build(body, f"-O1 -include {tmp_path / 'functions.h'}", on_fault)
        case = Case("own", elf=elf, scraper=r"/y=(?P<y>\d+)/", expect=expect, timeout=2.0)
        return run_case(case, tmp_path)

    return run


def local(size: int) -> str:
    """Code with a local array of this size; the stack has 64 KB less some hundred bytes."""
    return f"volatile char local[{size}]; local[{size} - 1] = 1; {GOOD}"


def test_a_stack_that_runs_into_variables_is_told_with_depth_and_place(judged):
    result = judged(local(65_500))
    assert result.verdict is Verdict.FIRMWARE
    assert re.match(r"the main stack ran \d+ bytes below its end, into buffer \(by main at image",
                    result.reason)  # fmt: skip


def test_a_stack_that_is_large_enough_passes(judged):
    assert judged(local(60_000)).verdict is Verdict.PASS


#: A handler with 232 bytes of frame, which waits.
DEEP = "volatile char local[224]; local[0] = local[223] = 1; wait()"


def test_a_stack_of_handlers_in_an_array_is_another_stack(judged):
    result = judged(TWO_STACKS + PENDSV + GOOD + "for (;;) {}", on_fault=DEEP)
    assert (result.verdict, result.problems) == (Verdict.PASS, ())


@pytest.mark.parametrize(
    ("size", "reason"),
    [
        (256, ""),
        (128, r"handlers ran \d+ bytes below its end, into "),
    ],
)
def test_a_stack_of_handlers_is_bounded_by_its_array(judged, size, reason):
    result = judged(TWO_STACKS.replace("512", str(size)) + PENDSV + GOOD + "for (;;) {}",
                    on_fault=DEEP)  # fmt: skip
    assert bool(reason) == (result.verdict is Verdict.FIRMWARE)
    assert not reason or re.match(reason, result.reason)


THREAD = """
    static char thread[SIZE] __attribute__((aligned(8)));
    __asm__ volatile("msr psp, %0; mov r3, #2; msr control, r3; isb" ::
        "r"(thread + sizeof thread) : "r3");
"""


@pytest.mark.parametrize(
    ("size", "reason"), [(512, ""), (64, r"thread ran \d+ bytes below its end, into ")]
)
def test_a_stack_of_a_thread_is_bounded_by_its_array(judged, size, reason):
    result = judged(THREAD.replace("SIZE", str(size)) + "deep();" + GOOD + "for (;;) {}")
    assert bool(reason) == (result.verdict is Verdict.FIRMWARE)
    assert not reason or re.match(reason, result.reason)


def test_an_exception_frame_that_runs_below_a_stack_counts(judged):
    body = THREAD.replace("SIZE", "64") + '__asm__ volatile("sub sp, #48");' + PENDSV
    result = judged(body + '__asm__ volatile("add sp, #48");' + GOOD + "for (;;) {}", "return")
    assert result.reason.startswith("thread ran 16 bytes below its end")


#: PendSV switches to the other thread.
SWITCH = """__asm__ volatile("mrs r0, psp; ldr r1, =other; ldr r2, [r1]; str r0, [r1]; msr psp, r2"
                             ::: "r0", "r1", "r2")"""


def test_adjacent_stacks_are_told_apart(judged):
    """The stack of the second thread ends where that of the first begins."""
    result = judged(SWITCHED, SWITCH)
    assert (result.verdict, result.problems) == (Verdict.PASS, ())


def test_the_stack_of_the_thread_that_runs_is_bounded(judged):
    result = judged(SWITCHED.replace("lower_thread", "lower_large"), SWITCH)
    assert re.match(r"lower ran \d+ bytes below its end, into ", result.reason)
    assert "(by large at " in result.reason


#: Two threads on adjacent stacks. The lower one begins with a frame at its very end.
SWITCHED = (
    r"""
    extern char lower[], upper[];
    __asm__ volatile(".pushsection .bss.stacks, \"aw\", %nobits\n.balign 8\n"
        ".type lower, %object\n.size lower, 256\nlower: .space 256\n"
        ".type upper, %object\n.size upper, 256\nupper: .space 256\n.popsection");
    static char *volatile other __asm__("other");
    unsigned *frame = (unsigned *)(lower + 224);
    frame[6] = (unsigned)lower_thread; frame[7] = 1 << 24;
    other = lower + 224;
    __asm__ volatile("msr psp, %0; mov r3, #2; msr control, r3; isb" :: "r"(upper + 256) : "r3");
    deep();
"""
    + PENDSV
    + GOOD
    + "for (;;) {}"
)


def test_a_recursion_that_fills_its_stack_is_told_with_its_depth(judged):
    result = judged("recurse(1 << 30);" + GOOD)
    filled = r"it fills the main stack \(6\d,\d{3} bytes\) \(by recurse at "
    assert re.match(rf"recurse calls itself, [\d,]+ frames deep: {filled}", result.reason)


def test_a_recursion_is_told_that_another_function_drives_over_the_end(judged):
    """The function that is called at each depth needs more stack than one turn."""
    result = judged("descend(1 << 30);" + GOOD)
    assert result.reason.startswith("descend calls itself, ")


def test_a_recursion_that_ends_passes(judged):
    assert judged("recurse(1000);" + GOOD).verdict is Verdict.PASS


def test_firmware_that_limits_its_stack_itself_is_not_watched(judged):
    limits = '__asm__ volatile("msr msplim, %0" :: "r"(0x20000000));'
    result = judged(limits + local(65_500))
    assert "below its end" not in result.reason


def test_firmware_reads_its_own_limit(judged):
    body = 'unsigned l; __asm__ volatile("mrs %0, msplim" : "=r"(l)); if (!l) { ' + GOOD + "}"
    assert judged(body).verdict is Verdict.PASS
