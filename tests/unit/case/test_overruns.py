"""Writes beyond an input tensor, on images with functions of tflite-micro's names."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from bare_images import BareImages

from harness.base.expected import Expected
from harness.case import Case, CaseResult, run_case
from harness.case.result import Verdict

pytestmark = pytest.mark.needs("arm-none-eabi-gcc")

#: Inputs of 24 and 32 bytes and an output of 16 lie one behind the other, at multiples of 16.
FUNCTIONS = """
void say(const char *);
#define OPAQUE __attribute__((noinline, noclone))
typedef struct { int other[4]; char *data; void *dims; unsigned bytes, type; } Static;
typedef struct { int type; char *data; void *dims; int other[3]; unsigned bytes, more[9]; } Full;
void make(void *, const void *, const void *, void *, unsigned) __asm__(
    "_ZN6tflite16MicroInterpreterC1EPKNS_5ModelERKNS_15MicroOpResolverEPhj");
TENSOR *input(void *, unsigned) __asm__("_ZN6tflite16MicroInterpreter5inputEj");
TENSOR *output(void *, unsigned) __asm__("_ZN6tflite16MicroInterpreter6outputEj");
int allocate(void *) __asm__("_ZN6tflite16MicroInterpreter15AllocateTensorsEv");
int invoke(void *) __asm__("_ZN6tflite16MicroInterpreter6InvokeEv");
static char arena[512] __attribute__((aligned(16))), other[512] __attribute__((aligned(16)));
static char after[64] __attribute__((aligned(16)));
static TENSOR tensors[3];
static int interpreter;
OPAQUE void make(void *i, const void *m, const void *r, void *a, unsigned s) {
  tensors[0].data = arena; tensors[0].bytes = 24;
  tensors[1].data = arena + 32; tensors[1].bytes = 32;
  tensors[2].data = arena + 64; tensors[2].bytes = 16;
}
OPAQUE TENSOR *input(void *i, unsigned n) { __asm__ volatile(""); return &tensors[n]; }
OPAQUE TENSOR *output(void *i, unsigned n) { __asm__ volatile(""); return &tensors[2 + n]; }
OPAQUE int allocate(void *i) { __asm__ volatile(""); return 0; }
OPAQUE int invoke(void *i) { for (int j = 64; j < 512; j++) arena[j] += 3; return 0; }
OPAQUE void put(char *to, int size) { for (int j = 0; j < size; j++) to[j] = to[j] * 5 + j + 1; }
"""
GOOD = 'say("y=1\\n");'
BEGIN = "make(&interpreter, 0, 0, arena, sizeof arena); allocate(&interpreter);"
#: Each inference writes so many bytes from the begin of the first input.
LOOP = (
    BEGIN
    + "for (int n = 0; n < 3; n++) {{ put(input(&interpreter, 0)->data, {}); invoke(&interpreter); "
    + GOOD
    + "}}"
)
BOTH = "put(input(&interpreter, 0)->data, 24); put(input(&interpreter, 1)->data, {}); "
TWO = BEGIN + "for (int n = 0; n < 3; n++) {{ " + BOTH + "invoke(&interpreter); " + GOOD + "}}"
CLEARED = (
    BEGIN
    + "for (int n = 0; n < 3; n++) {{ " + BOTH.format(32)
    + "put(output(&interpreter, 0)->data, {}); invoke(&interpreter); " + GOOD + "}}"
)  # fmt: skip
TEXT = "an input of {} bytes is written {} bytes beyond its end before Invoke() (in main at image"


@pytest.fixture(scope="module")
def build(tmp_path_factory: pytest.TempPathFactory) -> BareImages:
    return BareImages(tmp_path_factory.mktemp("images"))


@pytest.fixture
def judged(build: BareImages, tmp_path: Path) -> Callable[..., CaseResult]:
    def run(body: str, kind: str = "Static") -> CaseResult:
        header = tmp_path / "functions.h"
        header.write_text(FUNCTIONS.replace("TENSOR", kind))
        expect = Expected(values=({"y": 1},) * 3)
        elf = build(body, f"-O1 -include {header} -D{kind.upper()}")
        case = Case("own", elf=elf, scraper=r"/y=(?P<y>\d+)/", expect=expect, timeout=2.0)
        return run_case(case, tmp_path / "out")

    return run


@pytest.mark.parametrize("kind", ["Static", "Full"])
def test_a_write_beyond_an_input_is_a_finding(judged, kind):
    result = judged(LOOP.format(96), kind)
    assert (result.verdict, result.findings[0].kind) == (Verdict.FAIL, "input_overrun")
    assert result.reason.startswith(TEXT.format(24, 72))


def test_the_last_input_is_looked_at_too(judged):
    assert judged(TWO.format(100)).reason.startswith(TEXT.format(32, 68))


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(LOOP.format(24), id="the whole input"),
        pytest.param(LOOP.format(32), id="its padding"),
        pytest.param(TWO.format(32), id="two inputs"),
        pytest.param(CLEARED.format(16), id="an output that is cleared"),
        pytest.param(LOOP.format(24).replace("invoke", "put(other, 512); invoke"), id="elsewhere"),
    ],
)
def test_writes_within_tensors_pass(judged, body):
    result = judged(body)
    assert (result.verdict, result.problems) == (Verdict.PASS, ())


def test_bytes_that_an_inference_writes_do_not_count(judged):
    assert judged(LOOP.format(20)).verdict is Verdict.PASS
