"""Images that are still, and those that look alike: the first line is the cause, or there is none.

Each image prints a line and waits for an interrupt that counts, or ends too early.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from bare_images import BareImages

from harness.base.expected import Expected
from harness.case import Case, CaseResult, run_case

pytestmark = pytest.mark.needs("arm-none-eabi-gcc")

TIMER, RTC, CLOCK, DPPIC, GPIOTE, SYST = (
    0x5000_F000, 0x5001_4000, 0x5000_5000, 0x5001_7000, 0x5000_D000, 0xE000_E010,
)  # fmt: skip
START, PRESCALER, CC, SHORTS, INTENSET, COMPARE = 0x000, 0x508, 0x540, 0x200, 0x304, 0x140
TIMER0, RTC0, SYSTICK = 16 + 15, 16 + 20, 15
RESTS = "it sleeps and nothing can wake it"


def put(base: int, *registers: tuple[int, int]) -> str:
    """Write registers of a peripheral, by offset."""
    return "".join(f"*(volatile unsigned *){base + at:#x} = {value:#x};" for at, value in registers)


def enable(exception: int) -> str:
    return put(0xE000_E100, (0, 1 << exception - 16))


WAIT = 'while (!ticks) __asm__ volatile("wfi"); say("y=1\\n");'
HELLO, TICKS = 'say("hello\\n");', "volatile unsigned ticks;\n"
COUNTS = "ticks++"
CLEARS = f"{put(TIMER, (COMPARE, 0))} ticks++"
LONG = "for (volatile int i = 0; i < 5000; i++) {}"
RUN = ((CC, 1000), (INTENSET, 1 << 16), (START, 1))


@pytest.fixture(scope="module")
def build(tmp_path_factory: pytest.TempPathFactory) -> BareImages:
    return BareImages(tmp_path_factory.mktemp("images"))


@pytest.fixture
def judged(build: BareImages, tmp_path: Path) -> Callable[..., CaseResult]:
    def run(
        body: str,
        handlers: Mapping[int, str] | None = None,
        more: str = "",
        on_fault: str = "for (;;) {}",
        **keys: object,
    ) -> CaseResult:
        elf = build(HELLO + body, on_fault=on_fault, handlers=handlers, more=TICKS + more)
        expect = Expected(values=({"y": 1},))
        given = {"timeout": 0.05, "observe_after": 0.01, "scraper": r"/y=(?P<y>\d+)/"} | keys
        return run_case(Case("own", elf=elf, expect=expect, **given), tmp_path)

    return run


CAUSES = {
    "never started": (
        put(TIMER, *RUN[:2]) + enable(TIMER0), {TIMER0: CLEARS},
        "TIMER0 has INTENSET for COMPARE[0], and was never started (TASKS_START)",
    ),
    "RTC never started": (
        put(RTC, (CC, 100), (INTENSET, 1 << 16)) + enable(RTC0), {RTC0: COUNTS},
        "RTC0 has INTENSET for COMPARE[0], and was never started (TASKS_START)",
    ),
    "another channel": (
        put(TIMER, (PRESCALER, 0), (0x508, 3), (CC, 1000), (INTENSET, 1 << 17), (START, 1))
        + enable(TIMER0), {TIMER0: CLEARS},
        "TIMER0 has INTENSET for COMPARE[1]; CC[1] is 0, and CC[0] is set",
    ),
    "no interrupt": (
        put(TIMER, (CC, 1000), (START, 1)) + enable(TIMER0), {TIMER0: CLEARS},
        "TIMER0 has CC[0] and is enabled in the NVIC, and INTENSET is 0",
    ),
    "out of reach": (
        put(TIMER, (CC, 1000), (CC + 4, 2000), (SHORTS, 1), (INTENSET, 1 << 17), (START, 1))
        + enable(TIMER0), {TIMER0: CLEARS},
        "TIMER0 never reaches CC[1]: SHORTS clears it at CC[0], which is less",
    ),
    "an hour": (
        put(TIMER, (0x508, 3), (0x510, 9), (CC, 112_500_000), (INTENSET, 1 << 16), (START, 1))
        + enable(TIMER0), {TIMER0: CLEARS},
        "TIMER0 interrupts first at 3,600 s: CC[0] is 112,500,000, PRESCALER 9",
    ),
    "SysTick not enabled": (
        put(SYST, (4, 1000), (8, 0), (0, 6)), {SYSTICK: COUNTS},
        "SysTick has TICKINT, and was never enabled (SYST_CSR.ENABLE)",
    ),
    "SysTick of nothing": (
        put(SYST, (8, 0), (0, 7)), {SYSTICK: COUNTS},
        "SysTick is enabled, and does not count: SYST_RVR is 0",
    ),
    "event not cleared": (
        put(TIMER, *RUN) + enable(TIMER0), {TIMER0: "for (volatile int i = 0; i < 100; i++) {}"},
        "the handler of TIMER0 does not clear EVENTS_COMPARE[0]: it was entered ",
    ),
    "longer than its period": (
        put(SYST, (4, 2_000), (8, 0), (0, 7)), {SYSTICK: LONG},
        "SysTick is pending again whenever its handler returns, ",
    ),
    "RTC of an hour": (
        put(CLOCK, (0x008, 1)) + put(RTC, (PRESCALER, 0xFFF), (CC, 28_800), (INTENSET, 1 << 16))
        + put(RTC, (START, 1)) + enable(RTC0), {RTC0: COUNTS},
        "RTC0 interrupts first at 3,600 s: CC[0] is 28,800, PRESCALER 4095",
    ),
    "RTC of minutes": (
        put(CLOCK, (0x008, 1)) + put(RTC, (CC, 32_768 * 120), (INTENSET, 1 << 16), (START, 1))
        + enable(RTC0), {RTC0: COUNTS},
        "RTC0 interrupts first at 120 s: CC[0] is 3,932,160, PRESCALER 0",
    ),
    "a pin that is no event": (
        put(GPIOTE, (INTENSET, 1)) + enable(16 + 13), {16 + 13: COUNTS},
        "GPIOTE0 has INTENSET for IN[0], and CONFIG[0].MODE is not Event",
    ),
    "DPPI is off": (
        put(TIMER, (0x080, 1 << 31), *RUN[:2]) + enable(TIMER0), {TIMER0: CLEARS},
        "TIMER0 is to be started by DPPI channel 0, which is not enabled (DPPIC.CHEN)",
    ),
    "nothing publishes": (
        put(DPPIC, (0x500, 1)) + put(TIMER, (0x080, 1 << 31), *RUN[:2]) + enable(TIMER0),
        {TIMER0: CLEARS}, "TIMER0 is to be started by DPPI channel 0, on which nothing publishes",
    ),
    "polls": (
        "ticks = 1;" + put(TIMER, RUN[0])
        + f"while (!*(volatile unsigned *){TIMER + COMPARE:#x}) {{}}", {},
        "TIMER0.EVENTS_COMPARE[0] is polled, and stays 0: TASKS_START was never triggered",
    ),
    "polls the clock": (
        f"ticks = 1; while (!*(volatile unsigned *){CLOCK + 0x104:#x}) {{}}", {},
        "CLOCK.EVENTS_LFCLKSTARTED is polled, and stays 0: TASKS_LFCLKSTART was never triggered",
    ),
    "polls an event that no task causes": (
        "ticks = 1;" + put(TIMER, (CC, 1), (START, 1))
        + f"while (!*(volatile unsigned *){TIMER + COMPARE + 4:#x}) {{}}", {},
        "TIMER0.EVENTS_COMPARE[1] is polled, and stays 0",
    ),
    "BASEPRI": (
        put(0xE000_E40C, (0, 0x4000_0000)) + put(TIMER, *RUN) + enable(TIMER0)
        + '__asm__ volatile("msr basepri, %0" :: "r"(0x40));', {TIMER0: CLEARS},
        "TIMER0 (IRQ15) will be pending, and BASEPRI 0x40 masks its priority",
    ),
    "lower priority": (
        # The handler of TIMER0 waits for EGU0, which it triggers, and whose priority is as low.
        put(TIMER, *RUN) + put(0x5001_B000, (INTENSET, 1)) + enable(TIMER0) + enable(16 + 27),
        {TIMER0: f"{put(TIMER, (COMPARE, 0))}{put(0x5001_B000, (0, 1))} while (!ticks) {{}}",
         16 + 27: f"{put(0x5001_B000, (0x100, 0))} ticks++"},
        "EGU0 (IRQ27) is pending, and its priority is not above that of TIMER0 (IRQ15), whose "
        "handler runs",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("body", "handlers", "cause"), CAUSES.values(), ids=CAUSES)
def test_the_first_line_is_what_the_wait_lacks(judged, body, handlers, cause):
    result = judged(body + WAIT, handlers)
    assert result.problems[0].startswith(cause)
    assert result.problems[1].startswith("1 line and 0 results came, then ")
    assert result.judgement.hint == ""
    assert len(result.problems[0]) <= 100


ALIKE = {
    # Nothing waits for the timer: it is set up for later, published, captured, or has been used.
    "stopped after use": (
        put(TIMER, *RUN) + enable(TIMER0) + WAIT.replace("y=1", "tick") + put(TIMER, (4, 1)),
        {TIMER0: CLEARS},
    ),
    "captures": (put(TIMER, (START, 1), (0x040, 1)) + enable(TIMER0), {TIMER0: CLEARS}),
    "publishes": (
        put(TIMER, (CC, 1000), (0x1C0, 1 << 31), (START, 1)) + enable(TIMER0), {TIMER0: CLEARS},
    ),
    "a pin starts it": (
        put(DPPIC, (0x500, 1)) + put(GPIOTE, (0x180, 1 << 31))
        + put(TIMER, (0x080, 1 << 31), *RUN[:2]) + enable(TIMER0), {TIMER0: CLEARS},
    ),
    "input may come": (
        put(0x5000_8000, (0x514, 28), (0x534, 0x2000_8000), (0x538, 8), (INTENSET, 1 << 4), (0, 1))
        + enable(16 + 8) + put(TIMER, *RUN[:2]) + enable(TIMER0), {TIMER0: CLEARS},
    ),
    "a pin may change": (
        put(GPIOTE, (0x510, 0x3_0501), (INTENSET, 1)) + enable(16 + 13)
        + put(TIMER, *RUN[:2]) + enable(TIMER0), {TIMER0: CLEARS},
    ),
    "no interrupt is enabled": (put(TIMER, (CC, 1000)), {}),
    "SysTick measures": (put(SYST, (4, 0xFFFFFF), (8, 0), (0, 5)), {}),
}  # fmt: skip


def test_a_kernel_s_timer_is_set_far_ahead_when_there_is_nothing_to_do(judged):
    body, handlers, _ = CAUSES["RTC of minutes"]
    result = judged(body + WAIT, handlers, more="void *pxCurrentTCB = &ticks;")
    assert result.problems[0].startswith(
        "1 line and 0 results came, then it ran on to the deadline"
    )


@pytest.mark.parametrize(("body", "handlers"), ALIKE.values(), ids=ALIKE)
def test_without_evidence_there_is_no_cause(judged, body, handlers):
    result = judged(f'{body} for (;;) __asm__ volatile("wfi");', handlers)
    assert RESTS in result.problems[0]
    assert "TIMER0" not in result.problems[0]


def test_a_handler_that_clears_one_event_of_several_at_each_entry_is_not_a_storm(judged):
    body = "".join(put(TIMER, (CC + 4 * n, 1000)) for n in range(6)) + enable(TIMER0)
    clears = "".join(
        f"if (*(volatile unsigned *){TIMER + COMPARE + 4 * n:#x}) {{"
        f"{put(TIMER, (COMPARE + 4 * n, 0))} ticks++; return; }}"
        for n in range(6)
    )
    wait = 'while (ticks < 6) __asm__ volatile("wfi"); for (;;) {}'
    result = judged(body + put(TIMER, (INTENSET, 0x3F << 16), (START, 1)) + wait, {TIMER0: clears})
    assert "EVENTS" not in result.reason


@pytest.mark.parametrize(
    ("seen", "loop", "endless"),
    [
        ("unsigned seen;", "while (!seen) {}", True),
        ("unsigned seen;", "unsigned now = ticks + 70; while (seen != now) {}", True),
        ("volatile unsigned seen;", "while (!seen) {}", False),
        ("unsigned seen;", "for (;;) {}", False),
    ],
)
def test_a_loop_that_reads_no_memory_never_ends(judged, seen, loop, endless):
    handlers = {SYSTICK: "ticks++; seen++;"}
    body = put(SYST, (4, 10_000), (8, 0), (0, 7))
    result = judged(body + loop, handlers, more=seen.replace(";", " __attribute__((used));"))
    told = "the loop in main at "
    assert result.problems[0].startswith(told) is endless
    assert (
        "reads no memory and never ends: a variable is not volatile" in result.reason
    ) is endless


# handlers of their own


@pytest.mark.parametrize(
    ("more", "cause"),
    [
        ("", "it has on_fault"),
        ('__attribute__((weak, alias("on_fault"))) void SysTick_Handler(void);',
         "SysTick_Handler is on_fault (weak)"),
        ('__attribute__((weak, alias("on_fault"))) void SysTick_Handler(void);'
         "void Systick_Handler(void) { ticks++; }",
         "SysTick_Handler is on_fault (weak); there is Systick_Handler"),
        ("void SysTickHandler(void) { ticks++; }", "it has on_fault; there is SysTickHandler"),
        ("void TIMER1_IRQHandler(void) { ticks++; }", "it has on_fault"),
        ("void _Z15SysTick_Handlerv(void) { ticks++; }",
         'it has on_fault; there is SysTick_Handler (not extern "C")'),
    ],
)  # fmt: skip
def test_an_exception_without_a_handler_of_its_own_is_named(judged, more, cause):
    result = judged(put(SYST, (4, 1000), (8, 0), (0, 7)) + WAIT, more=more)
    assert result.problems[0] == f"SysTick has no handler of its own: {cause}"
    assert "in the handler of SysTick" in result.problems[1]


def test_the_handler_of_another_number_is_not_meant(judged):
    timer = put(TIMER, *RUN) + enable(TIMER0) + WAIT
    result = judged(timer, more="void TIMER1_IRQHandler(void) { ticks++; }")
    assert result.problems[0] == "TIMER0 has no handler of its own: it has on_fault"


def test_a_handler_of_its_own_that_halts_is_no_default(judged):
    result = judged(put(TIMER, *RUN) + enable(TIMER0) + WAIT, {TIMER0: "for (;;) {}"})
    assert result.problems[0].startswith("1 line and 0 results came, then it branches to itself")
    assert "in the handler of TIMER0 (IRQ15)" in result.problems[0]


# main() and stdout

STDOUT = """
#include <stdio.h>
#include <unistd.h>
int _isatty(int file) { return LINES; }
int _fstat(int file, struct stat *about);
int _write(int file, char *text, int size) {
  static char line[64];
  for (int i = 0; i < size; i++) line[i] = text[i];
  line[size] = 0;
  say(line);
  return size;
}
"""


@pytest.mark.parametrize(
    ("ends", "told"),
    [("return 0;", True), ("_exit(0);", False), ('for (;;) __asm__ volatile("wfi");', False)],
)
def test_a_main_that_has_returned_is_told(judged, ends, told):
    result = judged(ends)
    assert ("then main() returned; pc is in" in result.problems[0]) is told
    assert ("nothing can" in result.problems[0]) is not told


@pytest.mark.parametrize(
    ("body", "cause"),
    [
        ('printf("y=1");', 'stdout holds "y=1": print a line feed, or call fflush(stdout)'),
        ('setvbuf(stdout, 0, _IOFBF, 64); printf("y=1\\n");',
         'stdout holds "y=1\\n": call fflush(stdout)'),
    ],
)  # fmt: skip
def test_text_that_stdout_holds_is_the_cause(judged, body, cause):
    result = judged(body, more=STDOUT.replace("LINES", "1"))
    assert result.problems[0] == cause
    assert "then main() returned" in result.problems[1]


def test_text_that_was_flushed_is_none(judged):
    result = judged('printf("y=2"); fflush(stdout);', more=STDOUT.replace("LINES", "1"))
    assert "stdout" not in " ".join(result.problems)


@pytest.mark.parametrize(("text", "place"), [("waits ", 2), ("y=1", 0)])
def test_text_that_the_case_does_not_read_is_not_the_cause(judged, text, place):
    timer = put(TIMER, *RUN[:2]) + enable(TIMER0)
    more = STDOUT.replace("LINES", "1")
    result = judged(f'printf("{text}");{timer}{WAIT}', {TIMER0: CLEARS}, more)
    assert [one.startswith("TIMER0 has INTENSET") for one in result.problems].index(True) < 2
    assert result.problems[place].startswith(f'stdout holds "{text}"')


# halts


HALTS = {
    "halts": "for (;;) {}",
    "halts with interrupts off": '__asm__ volatile("cpsid i"); for (;;) {}',
    "returns": "return 0;",
}


@pytest.mark.parametrize("halt", HALTS.values(), ids=HALTS)
def test_an_image_that_halts_waits_for_nothing(judged, halt):
    result = judged(put(TIMER, *RUN[:2]) + enable(TIMER0) + halt, {TIMER0: CLEARS})
    assert result.problems[0].startswith("1 line and 0 results came, then ")
