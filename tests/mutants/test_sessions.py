"""What a live session does not look at fails its test, in pytest and in Robot; each has a twin."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

import inner_pytest
import inner_robot
import pytest
from bare_images import BareImages
from forked_python import run_python

pytestmark = pytest.mark.needs("arm-none-eabi-gcc")
ROOT = Path(__file__).parents[2]
BOOTED = 'say("booted\\n");'
IDLE = 'for (;;) __asm__ volatile("wfi");'
FAULT = "*(volatile int *)0x60000000 = 1;"
NMI = "SCB(0x04) = 1u << 31;"
RESET = "SCB(0x0C) = 0x05FA0004; for (;;) {}"
ONCE = (
    f"if (*(volatile unsigned *)0x50005400 & 0x10000) {{ {IDLE} }} else {{ {RESET} }}"  # RESETREAS
)
BYTE = "*(volatile char *)0x50008500 = 8;"  # a byte of UARTE0.ENABLE


@dataclass(frozen=True)
class Session:
    """A session of an image, in both languages; ``says``: "" if it passes."""

    name: str
    body: str
    python: str
    robot: str
    says: str = ""
    on_fault: str = "for (;;) {}"
    given: tuple[str, str] = ("", "")  # arguments of hil.session and of Start Target


WAIT = "live.wait_for('booted')"
WAIT_ROBOT = "Wait For Line    booted"
LOOK_AWAY = f"{WAIT}\nlive.run_for(0.2)"
LOOK_AWAY_ROBOT = f"{WAIT_ROBOT}\nRun For    0.2 s"


def away(name: str, body: str, says: str = "", **more) -> Session:
    """A session that waits for a line, lets the image run on, and looks at nothing more."""
    return Session(name, BOOTED + body, LOOK_AWAY, LOOK_AWAY_ROBOT, says, **more)


def named(name: str, body: str, kind: str, **more) -> Session:
    """Its twin, which names the finding."""
    kinds = f"\nassert [one.kind for one in live.findings] == ['{kind}']"
    reported = f"\nTarget Should Report    {kind}"
    return Session(name, BOOTED + body, LOOK_AWAY + kinds, LOOK_AWAY_ROBOT + reported, **more)


SESSIONS = [
    away("fault", FAULT, "HardFault (PRECISERR, BFARVALID, FORCED): "),
    named("fault named", FAULT, "fault"),
    away(
        "fault expected",
        FAULT,
        given=("expect={'findings': ['fault']}", 'set=expect.findings\\=["fault"]'),
    ),
    away(
        "no fault",
        IDLE,
        "no finding fault",
        given=("expect={'findings': ['fault']}", 'set=expect.findings\\=["fault"]'),
    ),
    away("abort", "abort();", "the image ended in abort"),
    named("abort named", "abort();", "aborted"),
    away("reset", ONCE, "the firmware reset itself"),
    named("reset named", ONCE, "rebooted"),
    away("resets for ever", RESET, "the firmware reset itself 16 times"),
    named("resets named", RESET, "reset_loop"),
    away("lockup", FAULT, "Lockup", on_fault=FAULT),
    away("refused access", BYTE + IDLE, "byte"),
    named("refused access named", BYTE + IDLE, "forbidden_access"),
    away("handler hangs", NMI + IDLE, "a handler executes for ever", on_fault="for (;;) wait();"),
    away("handler rests", NMI + IDLE, on_fault=IDLE),
    away("waits for input", IDLE),
    away("runs on", "for (;;) wait();"),
    away(
        "line absent",
        'say("E: bad\\n");' + IDLE,
        "matches",
        given=("expect={'lines_absent': ['^E:']}", "set=expect.lines_absent\\=['^E:']"),
    ),
    Session(
        "nothing checked",
        BOOTED + IDLE,
        "live.run_for(0.2)",
        "Run For    0.2 s",
        "the session checked nothing",
    ),
    Session("nothing run", BOOTED + IDLE, "pass", "No Operation", "the session checked nothing"),
    Session(
        "no check wanted",
        BOOTED + IDLE,
        "live.run_for(0.2)",
        "Run For    0.2 s",
        given=('checks="none"', "checks=none"),
    ),
    Session(
        "memory read",
        BOOTED + IDLE,
        "live.run_for(0.2)\nassert live.memory.read(0, 4)",
        "Run For    0.2 s\nRead Memory    0x0",
    ),
    Session(
        "pin read",
        BOOTED + IDLE,
        "live.run_for(0.2)\nassert not live.pins.read(2)",
        "Run For    0.2 s\nPin Should Be    led1    False",
    ),
    Session(
        "own error",
        BOOTED + FAULT,
        LOOK_AWAY + "\nassert False, 'my own'",
        LOOK_AWAY_ROBOT + "\nFail    my own",
        "my own",
    ),
    Session(
        "reset by the test",
        BOOTED + IDLE,
        f"{WAIT}\nlive.reset()\n{WAIT}",
        f"{WAIT_ROBOT}\nReset Target\n{WAIT_ROBOT}",
    ),
    Session(
        "reset within a record",
        'say("~HIL 0 boot sample=a"); wait();' + IDLE,
        "live.run_for(0.01)\nlive.reset()\nlive.wait_for('boot')",
        "Run For    10 ms\nReset Target\nWait For Line    boot",
    ),
    Session(
        "missing operator",
        "say(\"Didn't find op for builtin opcode 'CONV_2D'\\nAllocateTensors() failed\\n\");"
        + IDLE,
        "live.run_for(0.1)",
        "Run For    0.1 s",
        "CONV_2D",
    ),
    Session(
        "missing operator named",
        "say(\"Didn't find op for builtin opcode 'CONV_2D'\\nAllocateTensors() failed\\n\");"
        + IDLE,
        "live.run_for(0.1)\nfrom harness.base.findings import Kind\n"
        "live.check_reported(Kind.MISSING_OPERATOR, 'CONV_2D')",
        "Run For    0.1 s\nTarget Should Report Missing Operator    CONV_2D",
    ),
    Session(
        "later fault",
        BOOTED + "wait(); wait(); wait();" + FAULT,
        f"{WAIT}\nassert live.findings == []\nlive.run_for(0.2)",
        f"{WAIT_ROBOT}\nTarget Should Report Nothing\nRun For    0.2 s",
        "HardFault",
    ),
    Session(
        "coloured",
        'say("\\x1b[32mbooted\\x1b[0m\\n");' + IDLE,
        "live.wait_for('^booted$')",
        "Wait For Line    ^booted$",
    ),
    Session(
        "unfinished",
        'say("prompt> ");' + IDLE,
        "live.wait_for('never')",
        "Wait For Line    never",
        "'prompt> '",
    ),
]
each = pytest.mark.parametrize("session", SESSIONS, ids=lambda one: one.name)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the image of each session."""
    folder = tmp_path_factory.mktemp("sessions")
    build = BareImages(folder)
    for number, one in enumerate(SESSIONS):
        (folder / f"s{number}.elf").write_bytes(build(one.body, on_fault=one.on_fault).read_bytes())
    return folder


@pytest.fixture(scope="module")
def by_pytest(folder: Path) -> dict[str, str]:
    """What pytest says of each session: the session ends with the test, or with its block."""
    text = ""
    for number, one in enumerate(SESSIONS):
        steps = "".join(f"    {step}\n" for step in one.python.split("\n"))
        call = f"hil.session('s{number}.elf', {one.given[0]})"
        text += f"def test_s{number}(hil):\n    live = {call}\n{steps}\n"
        inner = steps.replace("    ", "        ", 1).replace("\n    ", "\n        ").rstrip(" ")
        text += f"def test_with{number}(hil):\n    with {call} as live:\n{inner}\n"
    (folder / "test_it.py").write_text(text)
    (folder / "pytest.ini").write_text("[pytest]\n")
    done = run_python(
        "pytest",
        *inner_pytest.ARGUMENTS,
        "-rA",
        "--tb=short",
        "test_it.py",
        cwd=folder,
        env={**os.environ, **inner_pytest.ENVIRONMENT, "PYTHONPATH": str(ROOT)},
    )
    assert "errors" not in done.stdout.splitlines()[-1], done.stdout
    parts = re.split(r"_{3,} (test_\w+) _{3,}", done.stdout)
    failed = dict(zip(parts[1::2], parts[2::2], strict=True))
    return {**dict.fromkeys(re.findall(r"PASSED test_it.py::(\w+)", done.stdout), ""), **failed}


@pytest.fixture(scope="module")
def by_robot(folder: Path) -> dict[str, str]:
    """What Robot says of each session: left open by its test, or stopped in the teardown."""
    text = ""
    for number, one in enumerate(SESSIONS):
        start = f"Start Target    ${{{{pathlib.Path('s{number}.elf')}}}}    {one.given[1]}".rstrip()
        steps = "".join(f"    {step}\n" for step in [start, *one.robot.split("\n")])
        text += f"s{number}\n{steps}torn{number}\n    [Teardown]    Stop Target\n{steps}"
    return inner_robot.run(folder, text)


def check(session: Session, said: str) -> None:
    assert bool(said) == bool(session.says), said
    assert session.says in said


@each
@pytest.mark.parametrize("way", ["s", "with"])
def test_in_pytest(by_pytest: dict[str, str], session: Session, way: str) -> None:
    check(session, by_pytest[f"test_{way}{SESSIONS.index(session)}"])


@each
@pytest.mark.parametrize("way", ["s", "torn"])
def test_in_robot(by_robot: dict[str, str], session: Session, way: str) -> None:
    check(session, by_robot[f"{way}{SESSIONS.index(session)}"])


def test_a_fault_is_told_with_its_call_stack(by_pytest, by_robot) -> None:
    for said in (by_pytest["test_s0"], by_robot["s0"]):
        assert "main" in said
        assert re.search(r"(?m)^.*#?0? .*\bstart\b", said), said
