"""What the calls of the interpreter's functions show, on images with functions of these names."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from bare_images import BareImages

from harness.base.expected import Expected
from harness.case import Case, CaseResult, run_case
from harness.case.result import Verdict

pytestmark = pytest.mark.needs("arm-none-eabi-gcc")

FUNCTIONS = """
int Allocate(int) __asm__("_ZN6tflite16MicroInterpreter15AllocateTensorsEv");
int Invoke(int) __asm__("_ZN6tflite16MicroInterpreter6InvokeEv");
__attribute__((noinline, noclone)) int Allocate(int status) { __asm__ volatile(""); return status; }
__attribute__((noinline, noclone)) int Invoke(int status) {
  for (volatile int i = 0; i < 100000; i++) {}
  return status;
}
"""
GOOD = 'for (int i = 0; i < 3; i++) { Invoke(0); say("y=1\\n"); }'


@pytest.fixture(scope="module")
def build(tmp_path_factory: pytest.TempPathFactory) -> BareImages:
    return BareImages(tmp_path_factory.mktemp("images"))


@pytest.fixture
def judged(build: BareImages, tmp_path: Path) -> Callable[..., CaseResult]:
    def run(body: str, timeout: float = 2.0) -> CaseResult:
        header = tmp_path / "functions.h"
        header.write_text(FUNCTIONS)
        elf = build(body, f"-O1 -include {header}")
        expect = Expected(values=({"y": 1},) * 3)
        case = Case("own", elf=elf, scraper=r"/y=(?P<y>\d+)/", expect=expect, timeout=timeout)
        return run_case(case, tmp_path / "out")

    return run


def test_a_status_that_the_firmware_ignores_fails(judged):
    result = judged("Allocate(1);" + GOOD)
    assert result.verdict is Verdict.FAIL
    assert result.reason.startswith("AllocateTensors() returned 1, not kTfLiteOk, in main at ")
    assert result.findings[0].kind == "allocation_failed"


def test_a_failed_inference_fails(judged):
    result = judged("Allocate(0); Invoke(1);" + GOOD)
    assert result.reason.startswith("Invoke() returned 1, not kTfLiteOk, in main at ")


def test_a_status_comes_before_what_it_led_to(judged):
    result = judged("Allocate(1); *(volatile int *)0xA0000000 = 1;")
    assert result.problems[0].startswith("AllocateTensors() returned 1")
    assert result.problems[1].startswith("then: HardFault (")


def test_a_smaller_arena_that_was_tried_first_does_not_count(judged):
    assert judged("Allocate(1); Allocate(0);" + GOOD).verdict is Verdict.PASS


def test_a_status_that_is_printed_is_told_once(judged):
    result = judged('Allocate(1); say("AllocateTensors() failed\\n"); return 0;')
    assert [one.kind for one in result.findings].count("allocation_failed") == 1


def test_an_image_that_computes_is_slow_rather_than_hung(judged):
    result = judged("Allocate(0); for (;;) Invoke(0);", timeout=0.5)
    assert result.verdict is Verdict.FIRMWARE
    assert "slow rather than hung, " in result.reason
    assert " calls of Invoke() returned, 0.0" in result.reason


def test_an_inference_that_has_not_returned_is_named(judged):
    result = judged("Allocate(0); for (;;) Invoke(0);", timeout=0.005)
    assert "Invoke() has been running for 0.00" in result.reason
