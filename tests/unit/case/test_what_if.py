"""A mistake of an application is named if the case passes with it undone."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from bare_images import BareImages

from harness.base.expected import Expected
from harness.case import Case, CaseResult, run_case

pytestmark = pytest.mark.needs("arm-none-eabi-gcc")

HARD = "-mfloat-abi=hard -mfpu=fpv5-sp-d16"
#: Numbers printed as "y=-12", and the FPU.
HEADER = r"""
void say(const char *text);
static __attribute__((noinline)) void print(int value) {
  char text[16] = "y=", *to = text + 2;
  unsigned left = value < 0 ? -value : value, at = 1000000000;
  if (value < 0) *to++ = '-';
  while (at > 1 && left < at) at /= 10;
  for (; at; at /= 10) *to++ = '0' + left / at % 10;
  *to++ = '\n';
  *to = 0;
  say(text);
}
static void fpu(void) {
  *(volatile unsigned *)0xE000ED88 = 0xF << 20;
  __asm__ volatile("dsb\n isb");
}
"""


@pytest.fixture(scope="module")
def build(tmp_path_factory: pytest.TempPathFactory) -> BareImages:
    return BareImages(tmp_path_factory.mktemp("images"))


@pytest.fixture
def judged(build: BareImages, tmp_path: Path) -> Callable[..., CaseResult]:
    def run(data: str, body: str, values: Sequence[object], flags: str = "", **more) -> CaseResult:
        header = tmp_path / "header.h"
        header.write_text(HEADER + data)
        elf = build(f'{body} for (;;) __asm__ volatile("wfi");', f"-Os {flags} -include {header}")
        expected = Expected(values=tuple({"y": value} for value in values))
        case = Case("own", elf=elf, scraper=r"/y=(?P<y>\S+)/", expect=expected, **more)
        return run_case(case, tmp_path)

    return run


RAW = "const unsigned char raw[8] = {0, 10, 255, 236, 4, 176, 9, 96};"
READS_RAW = """for (int i = 0; i < 4; i++) {
  short x; __builtin_memcpy(&x, raw + 2 * i, 2); __asm__("" : "+r"(x));
  print(x * x / 100 + ADDED); }"""
SQUARES = [1, 4, 14400, 57600]
CHARS = "const char weights[4] = {2, -120, 62, -30};"
SUMS = """const char *from = weights; __asm__("" : "+r"(from));
  for (int i = 0; i < 4; i++) { int sum = 0;
    for (int j = 0; j <= i; j++) sum += from[j] * (j + 1); print(sum + ADDED); }"""
ROWS = "const short rows[5][3] = {{1, 2, 9}, {3, 4, 8}, {5, 16, 1}, {7, 48, 0}, {9, 11, 3}};"
MIXES = """for (int n = 0; n < 5; n++) {
  const short *x = rows[n] + FROM; print(x[0] * 100 + x[1] * 10 + x[2]); }"""
MIXED = [129, 348, 661, 1180, 1013]
LABELS = 'const char *const labels[4] = {"y=none\\n", "y=idle\\n", "y=tap\\n", "y=shake\\n"};'
TEXTS = 'const char labels[4][12] = {"y=none\\n", "y=idle\\n", "y=tap\\n", "y=shake\\n"};'
LEVELS = """const struct { short limit; char name[6]; } levels[6] = {
  {10, "a"}, {20, "b"}, {30, "c"}, {40, "d"}, {50, "e"}, {60, "f"}};"""
LIMITS = "for (volatile int i = 1; i < 5; i++) print(levels[i].limit);"
SAYS = """static const char best[5] = {0, 2, 1, 2, 0};
  for (int i = 0; i < 5; i++) say(labels[best[i]]);"""
#: A function that takes its argument in r0.
ROOT = """float root(float x);
__asm__(".text\\n.thumb_func\\n.global root\\n.type root,%function\\nroot: vmov s14, r0\\n"
        "vsqrt.f32 s14, s14\\n vmov r0, s14\\n bx lr\\n.size root, .-root\\n");"""
ROOTS = "fpu(); for (int i = 1; i < 5; i++) print((int)root((float)(i * i * 100)) + ADDED);"


#: The last of five peaks falls into what lies behind them.
STATE = "static struct { int peaks[4]; int bias[2]; } state = {{0}, {40, 7}};"
FILLS = """volatile int one = 1; for (int n = 0; n < 5; n++) {
  int *peak = state.peaks; __asm__("" : "+r"(peak)); peak[n] = n * one;
  print(state.bias[0] + BIAS + n); }"""
MISTAKES = {
    "byte order": (RAW, READS_RAW.replace("ADDED", "0"), SQUARES, "",
                   "raw has the bytes of its 16-bit numbers in the other order"),
    "plain char": (CHARS, SUMS.replace("ADDED", "0"), [2, -238, -52, -172], "",
                   "weights is plain char, which is unsigned on Arm: -1 is read as 255"),
    "unsigned": (CHARS.replace("char", "unsigned char"), SUMS.replace("char", "unsigned char")
                 .replace("ADDED", "0"), [2, -238, -52, -172], "",
                 "weights is read as unsigned: -1 as 255"),
    "signed": (CHARS.replace("char", "signed char"), SUMS.replace("char", "signed char")
               .replace("ADDED", "0"), [2, 274, 460, 1364], "",
               "weights is read as signed: 255 as -1"),
    "too far": (ROWS, MIXES.replace("FROM", "1"), MIXED, "", "rows is read one element too far"),
    "a row too far": (ROWS, MIXES.replace("FROM", "3"), MIXED, "", "rows is read one row too far"),
    "too early": (LABELS, SAYS, ["idle", "shake", "tap", "shake", "idle"], "",
                  "labels is read one element too early"),
    "labels in one array": (TEXTS, SAYS, ["idle", "shake", "tap", "shake", "idle"], "",
                            "labels is read one row too early"),
    "structures": (LEVELS, LIMITS, [10, 20, 30, 40], "", "levels is read one element too far"),
    "overrun": (STATE, FILLS.replace("BIAS", "state.bias[1] * (n < 3)") + " print(state.bias[0]);",
                [47, 48, 49, 43, 44, 40], "", "state.bias is overwritten in main at FILE"),
    "floats": (ROOT, ROOTS.replace("ADDED", "0"), [10, 20, 30, 40], HARD,
               "root() takes floats in core registers (softfp), its callers pass them in s0"),
}  # fmt: skip


@pytest.mark.parametrize(("data", "body", "values", "flags", "words"), MISTAKES.values(),
                         ids=MISTAKES)  # fmt: skip
def test_a_mistake_without_which_the_case_passes(judged, data, body, values, flags, words):
    result = judged(data, body, values, flags)
    reason = re.sub(r"image\.c:\d+", "FILE", result.reason)
    count, _, rest = reason.partition(": ")
    assert count.endswith("values differ")
    assert rest.startswith(f"{words}; y of result ")
    assert any("with that undone" in one for one in result.problems)
    assert len(words) <= 100


@pytest.mark.parametrize(
    ("data", "body", "values", "flags"),
    [
        (RAW, READS_RAW.replace("ADDED", "1"), SQUARES, ""),
        (CHARS, SUMS.replace("ADDED", "1"), [2, -238, -52, -172], ""),
        (CHARS.replace("const char", "const signed char"), SUMS.replace("ADDED", "i"),
         [2, -238, -52, -172], ""),
        (ROWS, MIXES.replace("FROM", "0"), [130, 340, 660, 1189, 1015], ""),
        (ROOT, ROOTS.replace("ADDED", "1"), [10, 20, 30, 40], HARD),
        (STATE, FILLS.replace("n < 5", "n < 4").replace("BIAS", "(++state.bias[1])"),
         [47, 48, 49, 50], ""),
    ],
    ids=["byte order", "plain char", "signed char", "rows", "floats", "changed on purpose"],
)  # fmt: skip
def test_another_mistake_of_the_same_data_is_not_told_as_one_of_these(
    judged, data, body, values, flags
):
    result = judged(data, body, values, flags)
    assert "values differ" in result.reason
    assert not any("with that undone" in one for one in result.problems)


def test_a_single_value_that_differs_shows_nothing(judged):
    result = judged(RAW, READS_RAW.replace("ADDED", "0").replace("i < 4", "i < 1"), [1])
    assert result.reason.startswith("1 of 1 values differ: y of result 1 is ")


# NaN

DIVIDES = """
volatile float zero, big = 3e38f;
#define LINE __attribute__((noinline))
LINE float sum(float a, float b) { return a + b; }
LINE float ratio(float a, float b) { return a / b; }
LINE float difference(float a, float b) { return a - b; }
LINE float root(float a) { return __builtin_sqrtf(a); }
static void show(float value) { say(value != value ? "y=nan\\n" : "y=1\\n"); }
"""


@pytest.mark.parametrize(
    ("body", "causes"),
    [
        ("float a = sum(big, big); show(ratio(a, a));",
         ("nan comes of inf / inf in ratio in main at FILE", "inf comes of sum in main at FILE")),
        ("float a = ratio(big, zero); show(difference(a, a));",
         ("nan comes of inf - inf in difference in main at FILE",
          "inf comes of ratio in main at FILE")),
        ("show(root(-big - 1));", ("nan comes of sqrt(-3e+38) in root in main at FILE",)),
        ('show(1); static volatile int x; x = (int)big; show(__builtin_nanf(""));', ()),
    ],
    ids=["divided", "subtracted", "root", "constant"],
)  # fmt: skip
def test_the_origin_of_the_first_nan(judged, body, causes):
    count = body.count("show")
    result = judged(DIVIDES, f"fpu(); {body}", [1] * count, f"{HARD} -fno-math-errno")
    whole = re.sub(r"image\.c:\d+", "FILE", "; ".join(result.problems))
    assert result.reason.endswith(f"y of result {count} is 'nan', expected 1")
    assert all(cause in whole for cause in causes)
    assert ("nan comes" in result.reason) == bool(causes)
    (cause, *_) = result.reason.removeprefix(f"1 of {count} values differ: ").split("; y of")
    assert len(cause) <= 100
