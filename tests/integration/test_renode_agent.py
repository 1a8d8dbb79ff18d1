"""The agent inside Renode: console, time, resets, calls, pins, input, its own errors."""

from __future__ import annotations

import re
import time

import needs
import pytest
from framed_images import FramedImage

from harness.base.findings import Kind
from harness.debug.report import StateReporter
from harness.targets import ConsoleMatch, Elapsed, Executed, Stop, SymbolReached, open_target
from harness.targets.renode.link import MonitorError

WAIT = """
static void Wait(uint32_t milliseconds) {
  for (uint32_t n = 0; n < milliseconds * 32000; n++) __asm volatile("");
}
"""
#: A function whose calls are watched: recursion, a handler's call, a loop to the beginning, a jump
#: out of it, and a reset in it.
WATCHED = '__attribute__((noinline)) static int Watched(int n) { __asm volatile("" ::: "memory");'
#: name: code before Behave(), and its body
IMAGES = {
    "lines": (WAIT, """
        Print("one\\n"); Wait(2); Print("two\\n"); Wait(2); Print("three"); Wait(20);
        Print("four\\n");
    """),
    "long line": ("", """
        Print("a");
        for (int n = 0; n < LENGTH - 2; n++) Print("b");
        Print("\\n");
        Print("c\\n");
    """),
    "flood": ("", """
        Print("early\\n");
        for (int n = 0; n < 2000; n++) Print(LINE);
        Print("late\\n");
    """),
    "prints for ever": ("", "for (;;) Print(TEXT);"),
    "computes": ("", "for (volatile uint32_t n = 0;; n++) {}"),
    "sleeps": ("void Irq0(void) { REG(0x50014140) = 0; REG(0x50014004) = 1; Print(\"up\\n\"); }", """
        REG(0x50005008) = 1;                // LFCLKSTART
        while (!REG(0x50005104)) {}
        REG(0x50014540) = 32768 * 100;      // RTC0: CC[0], 100 s
        REG(0x50014304) = 1u << 16;
        REG(0xE000E100) = 1u << 20;
        REG(0x50014000) = 1;
        for (;;) __asm volatile("wfi");
    """),
    "boots": ("", 'Print("boot\\n");'),
    "masks": ("", """
        REG(0xE000ED9C) = 0x20000000 | 2u << 1;  // the MPU: RAM is read-only
        REG(0xE000EDA0) = 0x2003FFE1;
        REG(0xE000ED08) = 0x2000;
        __asm volatile("msr basepri, %0\\n msr faultmask, %1" ::"r"(0x20), "r"(1));
        for (;;) __asm volatile("nop");
    """),
    "recursion": (f"{WATCHED} return n ? 1 + Watched(n - 1) : 0; }}", "Watched(3); Watched(0);"),
    "in a handler": (f"{WATCHED} return n + 1; }}\nvoid PendSv(void) {{ Watched(7); }}",
                     "Watched(1); ICSR = 1u << 28; DSB(); Watched(2);"),
    "loop": ('__attribute__((naked, noinline)) static void Watched(void) '
             '{ __asm volatile("subs r0, #1\\n bne Watched\\n bx lr"); }',
             '__asm volatile("movs r0, #5" ::: "r0"); Watched();'),
    "jump out": (f"static void *place[5];\n{WATCHED} if (n) __builtin_longjmp(place, 1); return n; }}",
                 "for (volatile int n = 3; n; n--) if (!__builtin_setjmp(place)) Watched(n);"),
    "reset": (f"{WATCHED} REG(0xE000ED0C) = 0x05FA0004; for (;;) {{}} }}", "Watched(1);"),
    "unmodelled": ("", """
        for (uint32_t at = 0x5003A000; at < 0x5003B000; at += 4) REG(at) = REG(at);
    """),
    "pins": ("", """
        REG(0x50842700 + 4 * 6) = 3 << 2;   // P0.06: PULL up
        REG(0x50842700 + 4 * 7) = 1 << 2;   // P0.07: PULL down
        REG(0x50842518) = 1 << 2;           // DIRSET, OUTSET: P0.02
        REG(0x50842508) = 1 << 2;
    """),
    "receives": ("static volatile uint8_t buffer[SIZE];", """
        uint32_t sum = 0;
        Print("ready\\n");
        for (uint32_t got = 0; got < 600; got += SIZE) {
          REG(UARTE0 + 0x534) = (uint32_t)buffer;  // RXD.PTR, MAXCNT; ENDRX, STARTRX
          REG(UARTE0 + 0x538) = SIZE;
          REG(UARTE0 + 0x110) = 0;
          REG(UARTE0 + 0x000) = 1;
          while (!REG(UARTE0 + 0x110)) {}
          for (uint32_t n = 0; n < SIZE; n++) sum = sum * 31 + buffer[n];
        }
        PrintWord("sum", sum);
    """),
    "undefined": ("", 'Print("before\\n"); __asm volatile("udf #0");'),
    "faults without end": ("""
        __attribute__((used)) static void StepOver(uint32_t *frame) { frame[6] += 2; CFSR = CFSR; }
        __attribute__((naked)) void UsageFault(void) { __asm volatile("mrs r0, msp\\n b StepOver"); }
    """, '__asm volatile(".rept 250\\n udf #0\\n .endr");'),
    "branch outside memory": ("", 'Print("a prompt"); ((void (*)(void))0x30000001)();'),
    "on a process stack": ("""
        static uint64_t process[64] __attribute__((aligned(32)));
        __attribute__((noinline)) void Inner(int n) { __asm volatile("" ::"r"(n) : "memory"); }
        __attribute__((noinline)) void Outer(void) {
          Inner(1);
          __asm volatile("" ::: "memory");
        }
    """, """
        REG(0xE000ED9C) = (uint32_t)process | 2u << 1;
        REG(0xE000EDA0) = ((uint32_t)process + 31) | 1;
        REG(0xE000ED94) = 5;
        __asm volatile("msr psp, %0\\n msr control, %1\\n isb" ::"r"(process + 60), "r"(2));
        Outer();
        __asm volatile("" ::: "memory");
    """),
}  # fmt: skip
CALLS = ("recursion", "in a handler", "loop", "jump out", "reset")


@pytest.fixture(scope="module")
def build(tmp_path_factory):
    compiler = needs.require("arm-none-eabi-gcc")
    folder = tmp_path_factory.mktemp("agent")

    def make(name: str, define: str = ""):
        code, body = IMAGES[name]
        file = re.sub(r"\W", "_", f"{name} {define}")
        image = FramedImage(file, body, code, define or ("IRQ0 20" if name == "sleeps" else ""))
        return image.build(compiler, folder)

    return make


@pytest.fixture
def opened(build, server):
    """Opens a session on an image of the table."""
    sessions = []

    def open_on(name: str, define: str = "", target: str = "renode"):
        options = {"server": server} if target == "renode" else {}
        sessions.append(open_target(target, build(name, define), **options))
        return sessions[-1]

    yield open_on
    for session in sessions:
        session.close()


# -- the console ----------------------------------------------------------------------------------


def test_a_match_may_begin_in_an_earlier_line_of_the_same_run(opened):
    session = opened("lines")
    assert session.run(ConsoleMatch(rb"one\ntwo\nthr"), session.deadline(1)) is Stop.CONDITION
    assert session.read() == b"one\ntwo\nthree"
    assert session.run(ConsoleMatch(rb"two|three"), session.deadline(1)) is Stop.IDLE


@pytest.mark.parametrize(("length", "stop"), [(1000, Stop.CONDITION), (1100, Stop.IDLE)])
def test_a_match_may_begin_1024_bytes_before_the_newest_line(opened, length, stop):
    session = opened("long line", f"LENGTH {length}")
    assert session.run(ConsoleMatch(rb"ab+\nc"), session.deadline(1)) is stop


def test_a_run_ends_at_the_line_that_matches(opened):
    session = opened("lines")
    session.run(ConsoleMatch(rb"two"), session.deadline(1))
    assert session.read() == b"one\ntwo\n"
    assert 0.002 <= session.counters.virtual_seconds < 0.0035


def test_a_flood_is_passed_on_whole_and_its_end_is_found(opened):
    line = "x" * 94
    session = opened("flood", f'LINE "{line}\\n"')
    assert session.run(ConsoleMatch(rb"xyz|late"), session.deadline(10)) is Stop.CONDITION
    assert session.read() == b"early\n" + f"{line}\n".encode() * 2000 + b"late\n"


@pytest.mark.parametrize("text", ["x", "\\n", "a line of text\\n"])
def test_an_image_that_prints_without_end_ends_at_its_guard(opened, text):
    session = opened("prints for ever", f'TEXT "{text}"')
    begun = time.monotonic()
    assert session.run(None, session.deadline(1000, guard=0.5)) is Stop.GUARD
    assert time.monotonic() - begun < 10
    assert session.read()


# -- time -----------------------------------------------------------------------------------------


def test_an_elapsed_time_and_a_count_are_exact(opened):
    session = opened("computes")
    assert session.run(Elapsed(0.0005), session.deadline(1)) is Stop.CONDITION
    assert session.counters.virtual_seconds == 0.0005
    assert session.counters.instructions == 32_000
    assert session.run(Executed(1000), session.deadline(1)) is Stop.CONDITION
    assert session.counters.instructions == 33_000


@pytest.mark.parametrize("until", [Elapsed(0.5), Executed(10**9), None])
def test_a_deadline_comes_before_a_condition(opened, until):
    session = opened("computes")
    assert session.run(until, session.deadline(0.02)) is Stop.DEADLINE
    assert session.counters.virtual_seconds == 0.02


def test_length_of_slices_does_not_change_virtual_time(opened, monkeypatch):
    monkeypatch.setattr("harness.targets.renode.session._SLICE_MS", 1)
    session = opened("computes")
    assert session.run(Elapsed(0.1), session.deadline(5)) is Stop.CONDITION
    assert session.counters.virtual_seconds == 0.1
    assert session.counters.instructions == 6_400_000


def test_a_core_that_sleeps_is_left_alone_until_its_timer_and_woken_in_time(opened):
    session = opened("sleeps")
    assert session.run(None, session.deadline(200)) is Stop.IDLE
    (printed,) = session.console[:1]
    assert printed.data == b"up\n"
    assert abs(printed.time - 100) < 0.001
    assert session.counters.wall_seconds < 20


def test_a_count_that_a_sleeping_core_does_not_reach_takes_no_time(opened):
    session = opened("sleeps")
    session.run(None, session.deadline(1))
    before = session.counters.instructions
    assert session.run(Executed(5), session.deadline(50, guard=20)) is Stop.DEADLINE
    assert session.run(Executed(20), session.deadline(100, guard=20)) is Stop.CONDITION
    assert session.counters.instructions == before + 20


# -- resets ---------------------------------------------------------------------------------------


def test_a_pin_reset_starts_the_image_again_and_instructions_go_on(opened):
    session = opened("boots")
    session.run(None, session.deadline(1))
    first = session.counters.instructions
    session.reset()
    assert session.run(None, session.deadline(1)) is Stop.IDLE
    assert session.read() == b"boot\nok\n" * 2
    assert (session.counters.instructions, session.counters.resets) == (2 * first, 1)


def test_resets_by_the_pin_are_not_a_loop(opened):
    session = opened("boots")
    for _ in range(20):
        session.reset()
    assert session.run(None, session.deadline(1)) is Stop.IDLE
    assert session.counters.resets == 20


def test_an_image_that_resets_itself_without_end_is_stopped(opened):
    session = opened("reset")
    assert session.run(None, session.deadline(1)) is Stop.RESET_LOOP
    assert session.counters.resets == 16


def test_masks_and_regions_do_not_outlive_their_case(opened, server):
    session = opened("masks")
    session.run(None, session.deadline(0.002))
    session.close()
    machines = server.machines
    session = opened("sleeps")
    assert session.run(ConsoleMatch(b"up"), session.deadline(200)) is Stop.CONDITION
    assert server.machines == machines


def test_a_symbol_is_reached_once_each_time(opened):
    session, stops = opened("recursion"), []
    for name in ("Reset", *["Watched"] * 6):
        stop = session.run(SymbolReached(name), session.deadline(1))
        stops.append((stop, session.registers["r0"] if name == "Watched" else None))
    reached = [(Stop.CONDITION, argument) for argument in (None, 3, 2, 1, 0, 0)]
    assert stops[:-1] == reached
    assert stops[-1][0] is Stop.IDLE


# -- calls ----------------------------------------------------------------------------------------


def calls_on(session, image) -> list[tuple]:
    session.watch_calls([image.symbol("Watched").address])
    session.run(None, session.deadline(0.1))
    return [
        (call.argument, call.caller, call.sp, call.exception, call.result) for call in session.calls
    ]


@pytest.mark.parametrize("name", CALLS)
def test_calls_are_those_on_the_simulator(opened, build, name):
    on_renode = calls_on(opened(name), build(name))
    assert on_renode == calls_on(opened(name, target="simulator"), build(name))
    assert on_renode or name == "reset"


def test_a_call_begins_and_ends_inside_of_its_caller(opened, build):
    session = opened("recursion")
    calls_on(session, build("recursion"))
    outer, inner = session.calls[:2]
    assert outer.begun < inner.begun < inner.ended < outer.ended


def test_a_run_to_a_watched_function_leaves_it_watched(opened, build):
    session = opened("recursion")
    session.watch_calls([build("recursion").symbol("Watched").address])
    assert session.run(SymbolReached("Watched"), session.deadline(1)) is Stop.CONDITION
    session.run(None, session.deadline(1))
    assert [call.argument for call in session.calls] == [3, 2, 1, 0, 0]


# -- what the core may do -------------------------------------------------------------------------


def test_a_log_that_floods_is_bounded(opened):
    session = opened("unmodelled")
    session.run(None, session.deadline(1))
    found = [one for one in session.findings if one.kind is Kind.UNMODELLED_ACCESS]
    assert 900 < len(found) <= 1000


def test_faults_without_end_are_bounded_and_the_first_ones_have_their_state(opened):
    session = opened("faults without end")
    session.run(None, session.deadline(1))
    assert [fault.state is not None for fault in session.faults] == [True] * 16 + [False] * 184


def test_the_console_is_told_before_a_fault_and_before_a_core_that_ends(opened):
    session = opened("branch outside memory")
    assert session.run(None, session.deadline(1, guard=20)) is Stop.LOCKUP
    assert session.read() == b"a prompt"
    assert session.console[0].time <= session.faults[0].time


def test_state_of_a_stopped_core_is_that_on_the_simulator(opened, build):
    told = []
    for target in ("renode", "simulator"):
        session = opened("on a process stack", target=target)
        assert session.run(SymbolReached("Inner"), session.deadline(1)) is Stop.CONDITION
        state, reporter = session.core_state, StateReporter(build("on a process stack"))
        told.append((state.registers[13:16], state.mpu, state.vectors, state.threads,
                     reporter.place(state), reporter.threads(state)))  # fmt: skip
    assert told[0] == told[1]


# -- pins and input -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pin", "level", "read"),
    [(6, True, True), (6, False, False), (6, None, True), (7, True, True), (7, None, False),
     (2, None, True)],
)  # fmt: skip
def test_a_pin_is_driven_and_goes_back_to_its_pull_or_output(opened, pin, level, read):
    session = opened("pins")
    session.run(None, session.deadline(1))
    if pin != 2:
        session.pins.drive(pin, not read)
        session.pins.drive(pin, level)
        assert session.memory.word(0x50842510) >> pin & 1 == read
    assert session.pins.read(pin) is read


@pytest.mark.parametrize("size", [1, 2, 100])
def test_input_longer_than_the_receive_buffer_arrives_whole(opened, size):
    session = opened("receives", f"SIZE {size}")
    session.run(ConsoleMatch(b"ready"), session.deadline(1))
    session.write(bytes(n * 7 & 0xFF for n in range(600)))
    assert session.run(ConsoleMatch(b"sum=.*\n"), session.deadline(1)) is Stop.CONDITION
    total = 0
    for n in range(600):
        total = total * 31 + (n * 7 & 0xFF) & 0xFFFFFFFF
    assert session.read().endswith(b"sum=%08x\n" % total)


# -- its own errors, and gdb ----------------------------------------------------------------------


def test_a_hook_that_fails_is_an_error_and_renode_serves_the_next_case(opened, server):
    session, starts = opened("undefined"), server.starts
    server.client.call("hil['agent'].exceptions.core = None")
    with pytest.raises(MonitorError, match="the agent failed in a hook: 'NoneType' object"):
        session.run(None, session.deadline(1))
    session.close()
    session = opened("boots")
    assert session.run(None, session.deadline(1)) is Stop.IDLE
    assert server.starts == starts


def test_a_call_that_the_agent_does_not_know_is_an_error(opened):
    session = opened("boots")
    with pytest.raises(MonitorError, match="no_such"):
        session.agent.call("no_such()")
    assert session.run(None, session.deadline(1)) is Stop.IDLE


def test_under_gdb_the_console_is_heard_over_a_reset(opened, server):
    session = opened("boots")
    session.agent.call("debugged()")
    server.client.command('emulation RunFor "0.001"')
    assert session.debug_console() == b"boot\nok\n"
    server.client.command("machine Reset")
    server.client.command('emulation RunFor "0.001"')
    assert (session.debug_console(), session.debug_console()) == (b"boot\nok\n", b"")
    session._not_reusable = True
