"""A failed run whose outcome never-written RAM decides says so, and names the variable."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from bare_images import BareImages

from harness.base.expected import Expected
from harness.base.findings import Kind
from harness.case import Case, CaseResult, run_case
from harness.case.result import Verdict

pytestmark = pytest.mark.needs("arm-none-eabi-gcc")

#: A variable that start-up code does not clear, and a number printed as "y=12".
HEADER = r"""
__asm__(".section .noinit,\"aw\",%nobits\n.global history\n.type history,%object\n"
        ".size history,4\n.balign 4\nhistory: .space 4\n.text\n");
extern int history;
void say(const char *text);
static void print(unsigned value) {
  char text[16] = "y=", *to = text + 2;
  unsigned at = 1000000000;
  while (at > 1 && value < at) at /= 10;
  for (; at; at /= 10) *to++ = '0' + value / at % 10;
  *to++ = '\n';
  *to = 0;
  say(text);
}
"""
RIGHT = "print(1); print(2);"
DECIDES = "the outcome depends on RAM that was never written: "


@pytest.fixture(scope="module")
def build(tmp_path_factory: pytest.TempPathFactory) -> BareImages:
    return BareImages(tmp_path_factory.mktemp("images"))


@pytest.fixture
def judged(build: BareImages, tmp_path: Path) -> Callable[..., CaseResult]:
    def run(body: str, **more) -> CaseResult:
        header = tmp_path / "header.h"
        header.write_text(HEADER)
        elf = build(f'{body} for (;;) __asm__ volatile("wfi");', f"-O1 -include {header}")
        values = tuple({"y": number} for number in (1, 2, 3))
        given = {"scraper": r"/y=(?P<y>\d+)/", "expect": Expected(values=values), "timeout": 2.0}
        return run_case(Case("own", elf=elf, **{**given, **more}), tmp_path)

    return run


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("print((unsigned)(history + 3) % 1000);", "history"),
        ("print((unsigned)(history + 4) % 1000);", "history"),  # wrong with zeros, too
        ("volatile unsigned *local = __builtin_frame_address(0); print((local[-300] + 3) % 1000);",
         "a local variable, read in main"),
    ],
    ids=["global", "global and a mistake", "local"],
)  # fmt: skip
def test_a_value_that_depends_on_ram_that_was_never_written(judged, body, words):
    result = judged(RIGHT + body)
    count, _, rest = result.reason.partition(": ")
    cause, _, first = rest.partition("; ")
    assert (count, cause.startswith(DECIDES), cause.endswith(words)) == (
        "1 of 3 values differ", True, True,
    )  # fmt: skip
    assert first.startswith("y of result 3 is ")
    assert [one.kind for one in result.findings] == [Kind.UNINITIALISED_MEMORY]
    assert len(cause) <= 100


def test_a_register_that_was_never_written(judged):
    body = 'unsigned r; __asm__ volatile("mov %0, r9" : "=r"(r)); print((r + 3) % 1000);'
    result = judged(RIGHT + body)
    assert "the outcome depends on a register that was never written; " in result.reason
    assert result.problems[-1] == "the case passes with zeros in RAM at power-on"


def test_a_hang_that_ram_decides_begins_with_that(judged):
    result = judged(f"{RIGHT} while (history) {{}} print(3);")
    assert result.verdict is Verdict.FIRMWARE
    assert result.reason.startswith(f"{DECIDES}history; ")


@pytest.mark.parametrize(
    "body",
    ["print(4);", "print(3 + (history != 0) * 0 + 1);", "history = 5; print((unsigned)history);"],
    ids=["only wrong", "read without an effect", "written first"],
)
def test_a_failure_that_ram_does_not_decide_is_not_told_so(judged, body):
    result = judged(RIGHT + body)
    assert result.verdict is Verdict.FAIL
    assert "never written" not in "\n".join([result.reason, *result.problems])


def test_a_run_that_passes_is_not_repeated(judged, monkeypatch):
    monkeypatch.setattr("harness.case.further_runs.trials.observe", None)
    assert judged(f"{RIGHT} print(3);").verdict is Verdict.PASS
