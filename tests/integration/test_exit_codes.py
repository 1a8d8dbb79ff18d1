"""The exit codes of README.md, each by runs that end with it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest
from bare_images import BareImages

from harness.base import paths
from harness.base.errors import ExitCode
from harness.cli import main

pytestmark = pytest.mark.needs("arm-none-eabi-gcc")

SAYS = 'for (int i = 0; i < 8; i++) say("y=1\\n");'
REST = 'for (;;) __asm__ volatile("wfi");'
GOOD = SAYS + REST
PIN = "UARTE(0x500) = 0; UARTE(0x50C) = 5; UARTE(0x500) = 8;"
BAUD = "UARTE(0x524) = 0x10000000;"
REFUSED = "say(\"Didn't find op for builtin opcode 'CONV_2D'\\n\");"

SCRAPER = "--scraper=/y=(?P<y>.)/"
VALUES = "--set=expect.values=[" + ",".join(8 * ["{y=1}"]) + "]"
LAST = "--set=end={line='done'}"
MODEL = str(paths.models() / "hello_world_int8.tflite")


@dataclass(frozen=True)
class Row:
    """A run of ``body``: its exit code, and the beginning of its reason or its error."""

    name: str
    code: ExitCode
    words: str
    body: str = GOOD
    options: tuple[str, ...] = (SCRAPER, VALUES)
    command: tuple[str, ...] = ("run", "ELF")
    environment: tuple[tuple[str, str], ...] = ()


TABLE = [
    Row("right values", ExitCode.PASSED, ""),
    Row("a wrong value", ExitCode.CHECK_FAILED, "1 of 8 values differ: y of result 4 is 2",
        'for (int i = 0; i < 8; i++) say(i == 3 ? "y=2\\n" : "y=1\\n");' + REST),
    Row("a budget", ExitCode.CHECK_FAILED, "flash: ",
        options=(SCRAPER, VALUES, "--set=budgets.flash=9")),
    Row("a result is missing before the last line", ExitCode.CHECK_FAILED,
        "8 inferences came, at least 9 are expected",
        SAYS + 'say("done\\n");' + REST, (SCRAPER, VALUES, LAST, "--inferences=9")),
    Row("nothing to compare with", ExitCode.CHECK_FAILED, "the results were read but compared",
        options=(SCRAPER,)),
    Row("a refusal, then rest", ExitCode.CHECK_FAILED, "Didn't find op for builtin opcode",
        REFUSED + REST),
    Row("an unknown option", ExitCode.USAGE, "No such option '--inference-count'",
        options=("--inference-count", "3")),
    Row("an unknown key", ExitCode.USAGE, "--set cases: unknown key 'cases'",
        options=("--set", "cases=1")),
    Row("keys that contradict each other", ExitCode.USAGE,
        "outputs compares with the model and cannot stand beside scraper",
        options=("--scraper", "hello_world", "--outputs", "y=(.)")),
    Row("a key without effect", ExitCode.USAGE, "`rows` is not used",
        options=(SCRAPER, VALUES, "--rows", "3")),
    Row("no image", ExitCode.USAGE, "there is no file none.elf", command=("run", "none.elf")),
    Row("no program", ExitCode.ENVIRONMENT, "RENODE is not a program: /none",
        options=(SCRAPER, VALUES, "--target", "renode"), environment=(("RENODE", "/none"),)),
    Row("no compiler", ExitCode.ENVIRONMENT, "arm-none-eabi-g++", command=("build", "hello_world"),
        options=(), environment=(("PATH", "/none"),)),
    Row("a full disk", ExitCode.ENVIRONMENT, "cannot write /dev/full: No space left",
        options=(SCRAPER, VALUES, "--json", "/dev/full")),
    Row("a fault", ExitCode.FIRMWARE, "HardFault (PRECISERR",
        "*(volatile int *)0x60000000 = 1;" + REST),
    Row("a result is missing at rest", ExitCode.FIRMWARE, "8 lines and 8 ",
        options=(SCRAPER, VALUES, "--inferences=9")),
    Row("no output at all", ExitCode.FIRMWARE, "the console stayed silent", REST),
    Row("a wrong pin", ExitCode.FIRMWARE, "UARTE0 PSEL.TXD is 0x00000005 (P0.05); the nRF9160 DK",
        PIN + GOOD),
    Row("a wrong baud rate", ExitCode.FIRMWARE, "UARTE0 BAUDRATE is 0x10000000", BAUD + GOOD),
    Row("a wrong pin of an image with records", ExitCode.FIRMWARE, "UARTE0 PSEL.TXD is 0x00000005",
        PIN + GOOD, ()),
    Row("a wrong pin that is expected", ExitCode.FIRMWARE, "the console stayed silent", PIN + GOOD,
        ("--set=expect.findings=['console_unheard']",)),
    Row("an image that shows no interpreter", ExitCode.CANNOT_TELL, "cannot tell whether",
        command=("resolver", "check", "ELF", MODEL), options=()),
]  # fmt: skip


@pytest.fixture(scope="module")
def build(tmp_path_factory: pytest.TempPathFactory) -> BareImages:
    return BareImages(tmp_path_factory.mktemp("images"))


@pytest.mark.parametrize("row", TABLE, ids=lambda row: row.name)
def test_a_run_ends_with_the_exit_code_of_the_table(row, build, tmp_path, monkeypatch, capsys):
    elf = build(row.body)
    monkeypatch.chdir(tmp_path)
    for name, value in row.environment:
        monkeypatch.setenv(name, value)
    command = [str(elf) if word == "ELF" else word for word in row.command]
    assert main([*command, *row.options]) == row.code
    told = first_line(capsys.readouterr())
    assert row.words in told
    assert bool(told) == (row.code != ExitCode.PASSED)


def first_line(said) -> str:
    """The reason of the only case that did not pass, or else the error; "" if all is well."""
    lines = said.out.splitlines()
    reasons = [line for line, before in zip(lines[1:], lines, strict=False)
               if " on simulator: " in before]  # fmt: skip
    return (reasons or said.err.splitlines() or [""])[0].strip()


def test_each_exit_code_has_a_row_in_the_readme_and_here():
    _, _, after = (Path(paths.docs()).parent / "README.md").read_text().partition("| exit code |")
    rows = after.partition("\n\n")[0].splitlines()[2:]
    codes = [int(row.split("|")[1].split(",")[0]) for row in rows]
    assert codes == [*ExitCode, 130]
    assert {row.code for row in TABLE} == {*ExitCode}
