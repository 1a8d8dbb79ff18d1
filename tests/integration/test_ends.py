"""Images that print text: a run ends when the image has ended, not when enough was seen."""

import json
from pathlib import Path

import pytest
from kept_images import kept

from harness.cli import main

COMPILER = "arm-none-eabi-gcc"
pytestmark = pytest.mark.needs("arm-none-eabi-gcc")

# UARTE0 of the nRF9160: ENABLE 0x500, PSEL.TXD 0x50C, BAUDRATE 0x524, TXD.PTR 0x544,
# TXD.MAXCNT 0x548, STARTTX 0x008, ENDTX 0x120.
HEAD = """
#define UARTE(offset) (*(volatile unsigned *)(0x50008000 + (offset)))
extern void reset(void);
static void say(const char *text) {
  char *const buffer = (char *)0x20000000;
  unsigned length = 0;
  while (text[length]) { buffer[length] = text[length]; length++; }
  UARTE(0x50C) = 29;
  UARTE(0x524) = 0x01D60000;
  UARTE(0x500) = 8;
  UARTE(0x120) = 0;
  UARTE(0x544) = (unsigned)buffer;
  UARTE(0x548) = length;
  UARTE(0x008) = 1;
  while (!UARTE(0x120)) {}
}
static void wait(unsigned loops) { for (volatile unsigned i = 0; i < loops; i++) {} }
static void sleep(void) { for (;;) __asm__("wfi"); }
/* A provoked fault is skipped: the load is of two bytes, its address the seventh stacked word. */
__attribute__((naked)) void fault(void) {
  __asm__("ldr r0, [sp, #24]\\n adds r0, #2\\n str r0, [sp, #24]\\n bx lr");
}
static void provoke(void) { __asm__ volatile("movs r0, #6\\n lsls r0, #28\\n ldr r0, [r0]"
                                             ::: "r0"); }
__attribute__((section(".vectors"), used)) void *const vectors[16] = {
    (void *)0x20010000, (void *)reset, (void *)fault, (void *)fault, (void *)fault, (void *)fault,
    (void *)fault};
void reset(void) {
"""
GOOD = 'for (int i = 0; i < 5; i++) say("y=1\\n");'
SUITE = (
    'say("Running TESTSUITE s\\nSTART - a\\n"); provoke();'
    'say(" PASS - a in 0.1 seconds\\nTESTSUITE s succeeded\\nPROJECT EXECUTION SUCCESSFUL\\n");'
)
IMAGES = {
    "sleeps": GOOD + "sleep();",
    "stands": GOOD + "for (;;) {}",
    "hangs": GOOD + 'for (;;) __asm__("nop");',
    "goes_wrong": GOOD + 'for (int i = 0; i < 100; i++) say("y=2\\n"); sleep();',
    "one_too_many": GOOD + 'say("y=1\\n"); sleep();',
    "one_too_few": 'for (int i = 0; i < 4; i++) say("y=1\\n"); sleep();',
    "faults_late": GOOD + "wait(1000000); provoke(); sleep();",
    "dumps_late": GOOD + 'wait(1000000); say("***** BUS FAULT *****\\n"); sleep();',
    "loops": 'for (;;) { say("y=1\\n"); wait(10000); }',
    "loops_wrong": GOOD + 'for (;;) { say("y=2\\n"); wait(10000); }',
    "says_done": GOOD + 'say("all done\\n"); for (;;) {}',
    "suite": SUITE + "for (;;) {}",
    "suite_faults_late": SUITE + "wait(100000); provoke(); for (;;) {}",
    "suite_hangs": 'say("Running TESTSUITE s\\nSTART - a\\n"); for (;;) {}',
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("images")
    script = (
        "SECTIONS { . = 0; .vectors : { KEEP(*(.vectors)) } .text : { *(.*text*) } "
        ".rodata : { *(.rodata*) } }"
    )
    flags = ["-mcpu=cortex-m33", "-mthumb", "-O1", "-g", "-nostdlib", "-ffreestanding"]
    for name, body in IMAGES.items():
        files = {f"{name}.c": f"{HEAD}{body}\n}}\n", "image.ld": script}
        kept(folder / f"{name}.elf", [COMPILER, *flags, "-Timage.ld", f"{name}.c"], written=files)
    return folder


@pytest.fixture
def run(folder, tmp_path, capsys):
    def run(name: str, **more) -> dict:
        table = {"name": name, "elf": str(folder / f"{name}.elf"), "timeout": 2, **more}
        lines = [f"{key} = {json.dumps(value)}" for key, value in table.items()]
        if table["scraper"] != "ztest":
            lines.append(f"expect.values = [{', '.join(['{ y = 1 }'] * 5)}]")
        (tmp_path / "hil.toml").write_text("\n".join(["[[case]]", *lines]))
        main(["run", str(tmp_path / "hil.toml"), "--output", str(tmp_path), "--json", "-"])
        (case,) = json.loads(capsys.readouterr().out)["cases"]
        return case

    return run


SCRAPER = {"scraper": r"/y=(?P<y>\d+)/"}
ENDLESS = {**SCRAPER, "end": "never", "observe_after": 0.2}
DONE = {**SCRAPER, "end.line": "^all done$", "observe_after": 0.2}
ZTEST = {"scraper": "ztest", "observe_after": 0.2}


@pytest.mark.parametrize(
    ("name", "case"),
    [("sleeps", SCRAPER), ("stands", SCRAPER), ("loops", ENDLESS), ("hangs", ENDLESS),
     ("says_done", DONE), ("suite", ZTEST)],
)  # fmt: skip
def test_an_image_that_does_as_its_case_says_passes(run, name, case):
    told = run(name, **case)
    assert (told["verdict"], told["problems"]) == ("pass", [])
    assert told["virtual_seconds"] < 1.5


@pytest.mark.parametrize(
    ("name", "case", "words"),
    [
        ("hangs", SCRAPER, "5 results came, then it ran on to the deadline of 2 s"),
        ("hangs", DONE, "5 results came, then it ran on to the deadline of 2 s"),
        ("stands", DONE, "5 results came, then it branches to itself and nothing can interrupt it"),
        ("loops", SCRAPER, "ran on to the deadline"),
        ("goes_wrong", SCRAPER, "105 results came, 5 are expected"),
        ("one_too_many", SCRAPER, "6 results came, 5 are expected"),
        ("one_too_few", SCRAPER, "4 of 5 results came, then it sleeps and nothing can wake it"),
        ("faults_late", SCRAPER, "Fault (PRECISERR"),
        ("dumps_late", SCRAPER, "Bus fault"),
        ("loops_wrong", ENDLESS, "values differ"),
        ("suite_faults_late", ZTEST, "Fault (PRECISERR"),
        ("suite_hangs", ZTEST, "it branches to itself and nothing can interrupt it"),
    ],
)
def test_what_comes_after_enough_was_seen_counts(run, name, case, words):
    told = run(name, **case)
    assert told["verdict"] in ("fail", "firmware")
    assert words in told["reason"]


def test_an_image_that_has_no_end_is_told_how_to_say_so(run):
    assert '`end = "never"`' in run("loops", **SCRAPER)["hint"]
