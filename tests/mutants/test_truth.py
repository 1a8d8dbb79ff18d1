"""Ends, starts and keys that a board would contradict, by each door; each case has a twin."""

from __future__ import annotations

import io
import os
import re
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path

import inner_pytest
import inner_robot
import pytest
from bare_images import BareImages
from forked_python import run_python

from harness.base import paths
from harness.cli import main

pytestmark = pytest.mark.needs("arm-none-eabi-gcc")
ROOT = Path(__file__).parents[2]
MODEL = paths.models() / "hello_world_int8.tflite"
GOOD = 'for (int i = 0; i < 3; i++) say("y=1\\n");'
VALUES = "expect.values = [{ y = 1 }, { y = 1 }, { y = 1 }]"
WFI = '__asm__ volatile("wfi");'
IDLE = f"for (;;) {WFI}"
PENDSV = 'SCB(0x04) = 1u << 28; __asm__ volatile("dsb\\nisb");'
NMI = "SCB(0x04) = 1u << 31;"
FAULT = "*(volatile int *)0x60000000 = 1;"
RESET = "SCB(0x0C) = 0x05FA0004; for (;;) {}"
#: TIMER0 runs freely at 31 kHz and compares; ``interrupts`` enables its interrupt.
TIMER = """{{ volatile unsigned *t = (volatile unsigned *)0x5000F000;
  t[0x510 / 4] = 9; t[0x540 / 4] = 100; {interrupts} t[0] = 1; }}"""
ENABLED = "t[0x304 / 4] = 1u << 16; *(volatile unsigned *)0xE000E100 = 1u << 15;"
INTEN = "t[0x304 / 4] = 1u << 16;"  # not enabled in the NVIC
SYSTICK = "*(volatile unsigned *)0xE000E014 = 6400; *(volatile unsigned *)0xE000E010 = {csr};"
RTC = """{ volatile unsigned *c = (volatile unsigned *)0x50005000;
  volatile unsigned *r = (volatile unsigned *)0x50014000;
  c[0x008 / 4] = 1; while (!(c[0x418 / 4] & 1 << 16)) {} r[0x344 / 4] = 1; r[0] = 1; }"""
PENDING = """*(volatile unsigned char *)(0xE000E400 + 27) = {priority};
  *(volatile unsigned *)0xE000E100 = *(volatile unsigned *)0xE000E200 = 1u << 27;"""
#: 0.4 s.
LATER = "for (int i = 0; i < 40; i++) wait();"
DONE = 'end = { line = "^done$" }'


@dataclass(frozen=True)
class One:
    """A case; ``says``: "" if it passes, else what its reason contains."""

    name: str
    body: str
    says: str = ""
    keys: tuple[str, ...] = ()
    on_fault: str = "for (;;) {}"
    origin: int = 0
    values: bool = True
    notes: str = ""  # contained in a finding


def masked(name: str, mask: str) -> One:
    return One(name, f"{GOOD}{mask}{PENDING.format(priority=0x40)}{IDLE}", notes="is pending, and ")


CASES = [
    # what can interrupt or wake the core
    One("timer without INTEN", GOOD + TIMER.format(interrupts="") + IDLE),
    One("timer not in the NVIC", GOOD + TIMER.format(interrupts=INTEN) + IDLE),
    One("timer with INTEN", GOOD + TIMER.format(interrupts=ENABLED) + IDLE, "ran on",
        on_fault="*(volatile unsigned *)0x5000F140 = 0;"),
    One("systick without TICKINT", GOOD + SYSTICK.format(csr=5) + IDLE),
    One("systick without TICKINT, branch", GOOD + SYSTICK.format(csr=5) + "for (;;) {}"),
    One("systick masked by its own handler", GOOD + NMI, on_fault=SYSTICK.format(csr=7) + IDLE),
    One("rtc with EVTEN only", GOOD + RTC + IDLE),
    masked("primask", '__asm__ volatile("cpsid i");'),
    masked("faultmask", '__asm__ volatile("cpsid f");'),
    masked("basepri", '__asm__ volatile("msr basepri, %0" :: "r"(0x20));'),
    # at rest at any priority; a handler that executes
    One("wfi in PendSV", GOOD + PENDSV + IDLE, on_fault=IDLE),
    One("branch in PendSV", GOOD + PENDSV + IDLE, on_fault="for (;;) {}"),
    One("executes in PendSV", GOOD + PENDSV + IDLE, "a handler executes for ever",
        on_fault="for (;;) wait();"),
    One("waits in PendSV for a masked interrupt",
        GOOD + "*(volatile unsigned char *)0xE000ED22 = 0x20;" + PENDSV + IDLE,
        on_fault=PENDING.format(priority=0xE0) + IDLE),
    One("rests too early", 'say("y=1\\n");' + PENDSV + IDLE,
        "PendSV has no handler of its own", on_fault=IDLE),
    # what is expected by name is an end
    One("fault with values", GOOD + FAULT, keys=('expect.findings = ["fault"]',)),
    One("fault with values, a handler that executes", GOOD + FAULT,
        keys=('expect.findings = ["fault"]',), on_fault="for (;;) wait();"),
    One("fault too early", 'say("y=1\\n");' + FAULT, "1 of 3 results came",
        keys=('expect.findings = ["fault"]',)),
    One("fault not expected", GOOD + FAULT, "HardFault"),
    One("reset loop with values", GOOD + RESET, "48 results",
        keys=('expect.findings = ["reset_loop"]',)),
    One("reset loop", 'say("boot\\n");' + RESET,
        keys=('expect.findings = ["reset_loop"]',), values=False),
    One("reset loop not expected", 'say("boot\\n");' + RESET, "reset itself 16 times"),
    # the second after the end
    One("silence after the end", f'{GOOD} say("done\\n"); {LATER} {IDLE}', keys=(DONE,)),
    One("another value after the end", f'{GOOD} say("done\\n"); {LATER} say("y=9\\n"); {IDLE}',
        "4 results came, 3 are expected", keys=(DONE,)),
    One("fault after the end", f'{GOOD} say("done\\n"); {LATER} {FAULT}', "HardFault",
        keys=(DONE,)),
    # keys without effect
    One("press that comes too late", GOOD + IDLE, "`press` is not used: button1@999: the run ended",
        keys=('press = ["button1@999"]', "timeout = 2000")),
    One("press in time", GOOD + LATER + IDLE, keys=('press = ["button1@0.001"]',)),
    One("model that nothing reads", GOOD + IDLE, "`model` is not used: the scraper '/y=",
        keys=(f"model = '{MODEL}'",)),
    One("rows without a file", GOOD + IDLE, "`rows` is not used", keys=("rows = 3",)),
    One("tolerance of values", GOOD + IDLE, keys=("tolerance = 0.5",)),
    One("tolerance beside ranges alone", GOOD + IDLE, "`tolerance` is not used: only ranges",
        keys=("tolerance = 0.5", "expect.compare = { y = { min = 0 } }"), values=False),
    One("values within a range", GOOD + IDLE,
        keys=("expect.compare = { y = { min = 0 } }",), values=False),
    One("values out of a range", GOOD + IDLE, "y of result 1 is 1, expected at least 2",
        keys=("expect.compare = { y = { min = 2 } }",), values=False),
    One("all values ignored", GOOD + IDLE, "no output was compared",
        keys=('expect.compare = { y = "ignored" }',)),
    One("rounding without a model", GOOD + IDLE, "`rounding` is not used",
        keys=('rounding = "single"',)),
    One("baseline without a step", GOOD + IDLE, "`baseline` is not used",
        keys=('baseline = "c0.elf"', 'budgets = { flash = "60 KB" }')),
    One("a failed case keeps its reason", 'say("y=1\\n");' + IDLE, "1 of 3 results came",
        keys=("rows = 3",)),
    # what a board would not boot
    One("linked at 0x100", GOOD + IDLE, "has no vector table at 0x00000000", origin=0x100),
    One("linked at 0x100, started there", GOOD + IDLE, keys=('start = "elf"',), origin=0x100,
        notes="started at its own vector table at 0x100"),
    One("linked for the non-secure world", GOOD + IDLE, origin=0x50000,
        notes="without the secure firmware"),
]  # fmt: skip
each = pytest.mark.parametrize("case", CASES, ids=lambda one: one.name)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the images and one case file."""
    folder = tmp_path_factory.mktemp("truth")
    build = BareImages(folder)
    text = ""
    for number, one in enumerate(CASES):
        image = build(one.body, on_fault=one.on_fault, origin=one.origin)
        (folder / f"c{number}.elf").write_bytes(image.read_bytes())
        text += "\n".join(_rows(number, one)) + "\n"
    (folder / "hil.toml").write_text(text)
    return folder


def _rows(number: int, one: One) -> Iterator[str]:
    yield f'[[case]]\nname = "c{number}"\nelf = "c{number}.elf"'
    yield r"scraper = '/y=(?P<y>\d+)/'"
    if one.values:
        yield VALUES
    if not any(key.startswith("timeout") for key in one.keys):
        yield "timeout = 2"
    yield from one.keys


class _Runs(dict[str, str]):
    """Case -> what `tflm-hil run` says of it, run when it is first asked for."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self._folder = folder

    def __missing__(self, name: str) -> str:
        before, out = Path.cwd(), io.StringIO()
        os.chdir(self._folder)
        try:
            with redirect_stdout(out), redirect_stderr(out):
                code = main(["run", "hil.toml", "--case", name, "--json", f"{name}.json"])
        finally:
            os.chdir(before)
        self[name] = out.getvalue() if code else ""
        return self[name]


@pytest.fixture(scope="module")
def by_run(folder: Path) -> dict[str, str]:
    """What `tflm-hil run` says of each case, one by one."""
    return _Runs(folder)


@pytest.fixture(scope="module")
def by_pytest(folder: Path) -> dict[str, str]:
    """What pytest says of each case."""
    (folder / "pytest.ini").write_text("[pytest]\n")
    good = folder / "good.toml"
    good.write_text((folder / "hil.toml").read_text())
    done = run_python(
        "pytest",
        *inner_pytest.ARGUMENTS,
        "-rA",
        "good.toml",
        cwd=folder,
        env={**os.environ, **inner_pytest.ENVIRONMENT, "PYTHONPATH": str(ROOT)},
    )
    parts = re.split(r"_{3,} (c\d+)\[simulator\] _{3,}", done.stdout)
    failed = dict(zip(parts[1::2], parts[2::2], strict=True))
    passed = re.findall(r"PASSED good.toml::(c\d+)\[", done.stdout)
    return {**dict.fromkeys(passed, ""), **failed}


@pytest.fixture(scope="module")
def by_robot(folder: Path) -> dict[str, str]:
    """What Robot says of each case."""
    text = ""
    for number in range(len(CASES)):
        text += f"c{number}\n    Run Case    hil.toml    c{number}\n"
    return inner_robot.run(folder, text)


def check(case: One, said: str) -> None:
    assert bool(said) == bool(case.says), said
    assert case.says in said


@each
@pytest.mark.parametrize("door", ["by_run", "by_pytest", "by_robot"])
def test_truth(request: pytest.FixtureRequest, case: One, door: str) -> None:
    check(case, request.getfixturevalue(door)[f"c{CASES.index(case)}"])


@pytest.mark.parametrize("case", [one for one in CASES if one.notes], ids=lambda one: one.name)
def test_a_note_gives_the_reason(by_run: dict[str, str], folder: Path, case: One) -> None:
    assert not by_run[f"c{CASES.index(case)}"]
    assert case.notes in (folder / f"c{CASES.index(case)}.json").read_text()


def test_a_led_cannot_be_pressed(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", str(folder / "c0.elf"), "--press", "led1@0.001"]) == 2
    assert "led1 is lit by the chip and cannot be pressed" in capsys.readouterr().err
