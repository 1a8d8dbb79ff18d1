"""How images end, on the simulator: correct ones pass as they are built, a hang never does."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from bare_images import BareImages

from harness.base.expected import Expected
from harness.base.findings import Kind
from harness.case import Case, CaseResult, run_case
from harness.case.case import LastLine
from harness.case.live import Live
from harness.case.result import Verdict
from harness.elf import Image
from harness.targets import open_target

pytestmark = pytest.mark.needs("arm-none-eabi-gcc")

GOOD = 'for (int i = 0; i < 3; i++) say("y=1\\n");'
ENDS = {
    "wfi": 'for (;;) __asm__ volatile("wfi");',
    "pending": """__asm__ volatile("cpsid i");
        *(volatile unsigned*)0xE000E100 = *(volatile unsigned*)0xE000E200 = 1u << 27;
        for (;;) __asm__ volatile("wfi");""",
    "wfe": 'for (;;) __asm__ volatile("wfe");',
    "branch": "for (;;) {}",
    "wide_branch": '__asm__ volatile("b.w ."); for (;;) {}',
    "return": "return 0;",
    "_exit": "_exit(0);",
    "exit": "exit(0);",
}
FLAGS = ["-O1", "-O0", "-O2", "-O3", "-Os", "-O2 -flto"]


@pytest.fixture(scope="module")
def build(tmp_path_factory: pytest.TempPathFactory) -> BareImages:
    return BareImages(tmp_path_factory.mktemp("images"))


@pytest.fixture
def judged(build: BareImages, tmp_path: Path) -> Callable[..., CaseResult]:
    def run(body: str, flags: str = "-O1", on_fault: str = "for (;;) {}", **more) -> CaseResult:
        given = {"scraper": r"/y=(?P<y>\d+)/", "expect": Expected(values=({"y": 1},) * 3)}
        given |= {"timeout": 2.0, "observe_after": 0.1, **more}
        return run_case(Case("own", elf=build(body, flags, on_fault), **given), tmp_path)

    return run


@pytest.mark.parametrize("flags", FLAGS)
@pytest.mark.parametrize("end", ENDS)
def test_a_correct_image_ends_by_standing_still_however_it_is_built(judged, end, flags):
    result = judged(GOOD + ENDS[end], flags)
    assert (result.verdict, result.problems) == (Verdict.PASS, ())
    assert result.virtual_seconds < 0.5


@pytest.mark.parametrize("end", ["wfi", "branch", "_exit"])
def test_it_has_hung_if_a_result_is_missing(judged, end):
    result = judged('say("y=1\\n"); say("y=1\\n");' + ENDS[end])
    assert result.verdict is Verdict.FIRMWARE
    assert "2 of 3 results came, then it" in result.reason


@pytest.mark.parametrize(
    ("end", "words"),
    [
        ("wfi", "it sleeps and nothing can wake it"),
        ("branch", "it branches to itself and nothing can interrupt it"),
        ("wide_branch", "it branches to itself and nothing can interrupt it"),
        (
            "pending",
            "it spins around a WFI that does not sleep: an interrupt is pending and masked",
        ),
    ],
)
def test_the_state_of_the_core_is_told(judged, end, words):
    assert words in " ".join(judged('say("y=1\\n");' + ENDS[end]).problems)


@pytest.mark.parametrize("spin", ['__asm__ volatile("nop");', "wait();", 'wait(); say("z\\n");'])
def test_a_longer_loop_is_a_hang_whatever_came(judged, spin):
    result = judged(f"{GOOD} for (;;) {{ {spin} }}")
    assert (result.verdict, "ran on to the deadline" in result.reason) == (Verdict.FIRMWARE, True)


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("expects", [{"end": LastLine("^all done$")}])
def test_a_last_line_that_never_comes_is_a_hang(judged, end, expects):
    assert judged(GOOD + ENDS[end], **expects).verdict is Verdict.FIRMWARE


@pytest.mark.parametrize(
    ("call", "name"),
    [
        ("abort();", "abort"),
        ("exit(3);", "exit(3)"),
        ("_exit(1);", "_exit(1)"),
        ("return 2;", "_exit(2)"),
        ("assert(buffer[0] == 0);", "__assert_func"),
    ],
)
@pytest.mark.parametrize("flags", FLAGS[:4])
def test_below_a_last_resort_it_is_the_firmwares_fault_whatever_came(judged, call, name, flags):
    result = judged(GOOD + call, flags)
    assert result.verdict is Verdict.FIRMWARE
    assert f"the image ended in {name}" in result.reason
    assert "own" not in result.hint


def test_a_last_resort_behind_the_last_line_counts(judged):
    result = judged(GOOD + 'say("all done\\n"); abort();', end=LastLine("^all done$"))
    assert result.verdict is Verdict.FIRMWARE
    assert "the image ended in abort, called from main" in result.reason


TESTS = """say("[ RUN      ] S.A\\n"); say("[{end}] S.A\\n"); say("[==========] 1 tests ran.\\n");
    say("[  PASSED  ] {passed} tests.\\n"); {rest} return 1;"""
LISTED = r'say("[  FAILED  ] 1 tests, listed below:\n"); say("[  FAILED  ] S.A\n");'


def test_the_exit_status_of_failed_tests_is_a_failure_of_the_tests(judged):
    body = TESTS.format(end="  FAILED  ", passed=0, rest=LISTED)
    result = judged(body, scraper="unit_tests", expect=Expected())
    assert (result.verdict, result.reason) == (Verdict.FAIL, "1 of 1 tests failed: S.A")


def test_an_exit_status_that_tests_do_not_explain_is_the_firmwares_fault(judged):
    body = TESTS.format(end="       OK ", passed=1, rest=r'say("~~~ALL TESTS PASSED~~~\n");')
    result = judged(body, scraper="unit_tests", expect=Expected())
    assert result.verdict is Verdict.FIRMWARE
    assert "the image ended in _exit(1)" in result.reason


def test_a_last_resort_may_be_expected_by_name(judged):
    aborted = Expected(False, (("aborted", "abort"),))
    result = judged('say("giving up\\n"); abort();', expect=aborted)
    assert result.verdict is Verdict.PASS


def test_a_signal_that_is_handled_is_not_a_last_resort(judged):
    body = f"signal(SIGUSR1, (void (*)(int))say_nothing); raise(SIGUSR1); {GOOD} for (;;) {{}}"
    body = "void say_nothing(int); " + body
    handler = "for (;;) {} } void say_nothing(int number) { (void)number;"
    assert judged(body, on_fault=handler).verdict is Verdict.PASS


FAULT = "*(volatile int *)0x60000000 = 1;"


PEND = "SCB(0x04) = 1u << 31;"  # ICSR.NMIPENDSET: no fault, a handler that never returns
RESTS = ["for (;;) {}", 'for (;;) __asm__ volatile("wfi")', 'for (;;) __asm__ volatile("wfe")']


@pytest.mark.parametrize("handler", RESTS)
def test_a_core_at_rest_has_ended_in_a_handler_too_once_all_has_come(judged, handler):
    assert judged(GOOD + PEND + ENDS["wfi"], on_fault=handler).verdict is Verdict.PASS
    missing = judged('say("y=1\\n");' + PEND + ENDS["wfi"], on_fault=handler)
    assert missing.verdict is Verdict.FIRMWARE
    assert "in the handler of NMI" in missing.reason


@pytest.mark.parametrize("end", ["never", "idle", LastLine("^y=1$")])
def test_a_handler_that_executes_for_ever_is_a_hang_whatever_came(judged, end):
    result = judged(GOOD + PEND + ENDS["wfi"], on_fault="for (;;) wait();", end=end)
    assert result.verdict is Verdict.FIRMWARE
    assert "a handler executes for ever" in result.reason


def test_a_fault_that_is_expected_is_the_end(judged):
    faulty = Expected(False, (("fault", ""),))
    said = 'say("begin\\n");' + FAULT
    assert judged(said, expect=faulty).verdict is Verdict.PASS
    silent = judged(FAULT, expect=faulty)
    assert silent.verdict is Verdict.FIRMWARE
    assert "the console stayed silent" in silent.reason


MISSING = "say(\"Didn't find op for builtin opcode 'CONV_2D'\\n\");"
REFUSES = Expected(False, (("missing_operator", "CONV_2D"),))


@pytest.mark.parametrize("end", ENDS)
def test_an_expected_finding_and_then_standing_still_passes(judged, end):
    result = judged(MISSING + ENDS[end], expect=REFUSES, scraper="")
    assert result.verdict is Verdict.PASS


def test_an_expected_finding_and_then_a_hang_does_not(judged):
    spin = 'for (;;) __asm__ volatile("nop");'
    result = judged(MISSING + spin, expect=REFUSES, scraper="")
    assert result.verdict is Verdict.FIRMWARE
    silent = judged("for (;;) {}", expect=REFUSES, scraper="")
    assert silent.verdict is Verdict.FIRMWARE


@pytest.mark.parametrize("end", ["branch", "wfi"])
def test_an_image_that_is_to_print_one_line_only(judged, end):
    done = {"expect": Expected(False), "end": LastLine("^done$")}
    assert judged('say("done\\n");' + ENDS[end], scraper="", **done).verdict is Verdict.PASS
    assert judged('say("don\\n");' + ENDS[end], scraper="", **done).verdict is Verdict.FIRMWARE
    assert judged(ENDS[end], scraper="", **done).verdict is Verdict.FIRMWARE


@pytest.mark.parametrize("said", ["", 'say("boot\\n");'])
def test_a_loop_of_resets_ends_after_the_same_count_whatever_is_printed(judged, said):
    result = judged(said + "SCB(0x0C) = 0x05FA0004; for (;;) {}")
    assert result.verdict is Verdict.FIRMWARE
    assert "the firmware reset itself 16 times" in result.reason


def test_firmware_that_never_ends_on_purpose_is_watched(judged):
    result = judged('for (;;) { wait(); say("y=1\\n"); }', end="never")
    assert result.verdict is Verdict.PASS


def test_a_branch_to_itself_that_an_interrupt_ends_is_waiting(judged):
    systick = "*(volatile unsigned *)0xE000E014 = 6400; *(volatile unsigned *)0xE000E010 = 7;"
    handler = 'for (;;) {} } void tick(void) { for (int i = 0; i < 3; i++) say("y=1\\n"); _exit(0);'
    vector = (
        "static void *table[16] __attribute__((aligned(128))); extern void tick(void);"
        "for (int i = 0; i < 16; i++) table[i] = vectors[i];"
        "table[15] = (void *)tick; SCB(0x08) = (unsigned)(uintptr_t)table;"
    )
    result = judged(vector + systick + "for (;;) {}", on_fault=handler)
    assert result.verdict is Verdict.PASS  # they came although main() branches to itself


def test_a_live_session_sees_a_fault_whose_handler_loops(build):
    image = Image.from_elf(build('say("begin\\n");' + FAULT))
    with Live(Case("live"), open_target("simulator", image), image) as live:
        live.wait_for("begin")
        assert live.findings == []
        live.run_for(0.1)
        assert [finding.kind for finding in live.findings] == [Kind.FAULT]


def test_a_live_session_sees_an_abort_and_resets(build):
    image = Image.from_elf(build('say("begin\\n"); abort();'))
    with Live(Case("live"), open_target("simulator", image), image) as live:
        live.run_for(0.1)
        (finding,) = live.findings
        assert (finding.kind, finding.subject) == (Kind.ABORTED, "abort")
        live.reset()
        live.wait_for("begin")
    image = Image.from_elf(build('say("begin\\n"); SCB(0x0C) = 0x05FA0004; for (;;) {}'))
    with Live(Case("live"), open_target("simulator", image), image) as live:
        live.run_for(0.1)
        assert [finding.kind for finding in live.findings] == [Kind.RESET_LOOP]


REFUSED = "Node CONV_2D (number 2f) failed to prepare with status 1"
#: Starts a transmission and goes on while it is on the wire.
START = f"""
    static char text[] = "{REFUSED}\\n";
    UARTE(0x544) = (unsigned)(uintptr_t)text; UARTE(0x548) = sizeof text - 1;
    __asm__ volatile("dsb" ::: "memory"); UARTE(0x008) = 1;
"""
NULL_CALL = "((void (*)(void))0)();"


@pytest.mark.parametrize(
    "body", [f'say("{REFUSED}\\n"); {NULL_CALL}', START + NULL_CALL], ids=["waits", "goes on"]
)
def test_what_was_printed_before_a_fault_is_its_cause(judged, body):
    result = judged(body)
    assert result.verdict is Verdict.FIRMWARE
    assert result.problems[0] == REFUSED
    assert result.problems[1].startswith("then: HardFault (INVSTATE, FORCED): a null ")


def test_a_line_of_a_handler_comes_after_the_fault(judged):
    result = judged(NULL_CALL, on_fault=f'say("{REFUSED}\\n"); for (;;) {{}}')
    assert result.problems[0].startswith("HardFault (INVSTATE, FORCED): a null ")
    assert result.problems[1] == f"then: {REFUSED}"


def test_the_last_line_needs_no_line_feed_once_the_image_rests(judged):
    result = judged(GOOD + 'say("done"); for (;;) __asm__ volatile("wfi");', end=LastLine("done$"))
    assert result.verdict is Verdict.PASS


def test_without_its_last_line_an_image_that_rests_has_hung(judged):
    result = judged(GOOD + 'say("do"); for (;;) __asm__ volatile("wfi");', end=LastLine("done$"))
    assert result.verdict is Verdict.FIRMWARE


def test_a_watchdog_is_named_before_the_resets_that_it_causes(judged):
    start = "(*(volatile unsigned *)0x50018504) = 1000; (*(volatile unsigned *)0x50018000) = 1;"
    result = judged(start + GOOD + 'for (;;) __asm__ volatile("nop");')
    assert result.problems[0].startswith("the watchdog reset the chip: it was not reloaded in time")
    assert result.problems[1].startswith("then: the firmware reset itself ")


def test_an_interrupt_that_the_nvic_does_not_enable_is_named(judged):
    timer = "".join(
        f"(*(volatile unsigned *)0x5000F{offset:03x}) = {value};"
        for offset, value in ((0x540, 1000), (0x304, 1 << 16), (0x000, 1))
    )
    result = judged(timer + 'for (;;) __asm__ volatile("wfi");')
    assert "TIMER0 (IRQ15) will be pending, and is not enabled in the NVIC" in result.reason
