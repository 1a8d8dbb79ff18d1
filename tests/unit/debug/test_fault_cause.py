"""What a fault hit, by the name of an object, on images that make the mistake."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from bare_images import BareImages

from harness.case import Case, run_case
from harness.debug.fault_cause import LONGEST

pytestmark = pytest.mark.needs("arm-none-eabi-gcc")

#: A model at an odd address: a byte stands before it.
MODEL = """__asm__ volatile(".pushsection .rodata.model,\\"a\\"\\n.balign 4\\n.byte 1\\n"
    ".type g_model,%object\\n.size g_model,32\\n"
    "g_model: .ascii \\"\\\\034\\\\0\\\\0\\\\0TFL3\\"\\n.space 24\\n.popsection");
    extern const char g_model[32];
"""
#: `limits` in region 0 of the MPU, read-only and not executable; other code by the default map.
MPU = """static volatile char limits[64] __attribute__((aligned(32)));
    SCB(0x98) = 0; SCB(0x9C) = (unsigned)limits | 5; SCB(0xA0) = (unsigned)limits + 32 | 1;
"""
ON = 'SCB(0x94) = 5; __asm__ volatile("dsb; isb");'
ROWS = {
    "null call": ("static void (*volatile callback)(void); callback();",
                  "a null function pointer is called (r3 is 0)"),
    "branch into data": ("static volatile short table[4] = {0xDE00}; "
                         "((void (*)(void))((int)table | 1))();",
                         "a branch into data: 0x20000000 lies in table"),
    "wild branch": ("((void (*)(void))0x60000001)();",
                    "a branch to 0x60000000, where no memory is: a bad function pointer or return "
                    "address"),
    "trap": ("__builtin_trap();",
             "UDF, placed by the compiler: undefined behaviour, or a missing return"),
    "division": ('SCB(0x14) |= 16; __asm__("isb"); volatile int n = 0, one = 1, x; x = one / n;',
                 "a division by zero (CCR.DIV_0_TRP is set)"),
    "division in the block that sets the trap": (
        "volatile int n = 0, one = 1, x; SCB(0x14) |= 16; x = one / n;",
        "a division by zero (CCR.DIV_0_TRP is set)"),
    "object at an odd address": (
        MODEL + 'long long x; __asm__ volatile("ldrd %Q0, %R0, [%1]" : "=r"(x) : '
        '"r"(g_model + 8));',
        "lies in g_model, which begins at 0x"),
    "field at an odd offset": (
        'static char frame[16] __attribute__((aligned(4))); long long x; '
        '__asm__ volatile("ldrd %Q0, %R0, [%1]" : "=r"(x) : "r"(frame + 3));',
        "is byte 3 of frame: use memcpy, or align it"),
    "end of RAM": ("*(volatile int *)0x20040008 = 1;",
                   "0x20040008 is 8 bytes beyond the end of RAM (0x20040000)"),
    "heap over the stack": (
        "for (int i = 0; i < 40; i++) { char *p = sbrk(8192); p[8191] = 1; }",
        "the heap has grown over the stack: it ends at 0x20"),
    "store to a constant": ("static const int limits[4] = {1, 2, 3, 4}; "
                            "*(volatile int *)&limits[1] = 1;",
                            "lies in limits, which is const"),
    "store through null": ("*(volatile int *)8 = 1;", "a store to 0x8, in flash: a null pointer"),
    "store to flash": ("*(volatile int *)0x80000 = 1;",
                       "a store to flash at 0x80000, which only NVMC writes"),
    "peripheral of another chip": ("*(volatile int *)0x40002500 = 4;",
                                   "0x40002500 is UARTE0 of an nRF52"),
    "nothing there": ("*(volatile int *)0xA0000000;",
                      "a load from 0xa0000000, where nothing answers: a pointer that is not "
                      "set, or overwritten"),
    "vector in erased flash": ("SCB(8) = 0x10000; SCB(4) = 1 << 28; "
                               '__asm__ volatile("dsb; isb");',
                               "the vector of PendSV is read from erased flash: VTOR is "
                               "0x00010000"),
    "read-only for the MPU": (
        MPU + ON + "limits[40] = 1;",
        "(limits): MPU region 0, 0x20000080 to 0x200000bf, is read-only"),
    "not executable for the MPU": (
        MPU + ON + "((void (*)(void))(limits + 1))();",
        "(limits): MPU region 0, 0x20000080 to 0x200000bf, is not executable"),
    "two regions of the MPU": (
        MPU + "SCB(0x98) = 1; SCB(0x9C) = (unsigned)limits + 32 | 3; "
        "SCB(0xA0) = (unsigned)limits + 32 | 1;" + ON + "limits[40];",
        "(limits) lies in the MPU's regions 0 and 1: where two overlap, nothing is allowed"),
    "below RAM": ("*(volatile int *)0x1FFFFE00 = 1;",
                  "0x1ffffe00 is 512 bytes below the start of RAM (0x20000000)"),
    "unwritten pointer": ("**(volatile char *volatile *)0x20030000;",
                          "is what RAM held at power-on: nothing has written it"),
    "pointer of equal bytes": ("*(volatile int *)0x80808080;",
                               "the pointer 0x80808080 is overwritten: each of its bytes is 0x80"),
    "return address of text": ("((void (*)(void))0x64636261)();",
                               "is overwritten with the text '`bcd'"),
}  # fmt: skip


@pytest.fixture(scope="module")
def build(tmp_path_factory: pytest.TempPathFactory) -> BareImages:
    return BareImages(tmp_path_factory.mktemp("images"))


@pytest.fixture
def reason(build: BareImages, tmp_path: Path) -> Callable[[str], str]:
    def run(body: str) -> str:
        elf = build(body)
        case = Case("own", elf=elf, scraper=r"/y=(?P<y>\d+)/", timeout=2.0)
        return run_case(case, tmp_path).reason

    return run


@pytest.mark.parametrize(("body", "words"), ROWS.values(), ids=ROWS)
def test_a_fault_names_what_it_hit(reason, body, words):
    first = reason(body)
    kind, _, rest = first.partition(": ")
    cause, _, place = rest.partition("; at ")
    assert kind.startswith(("HardFault (", "Lockup ("))
    assert words in cause
    assert len(cause) <= LONGEST
    assert place


def test_a_variable_that_the_linker_placed_in_flash_is_named(build, tmp_path):
    variable = 'static volatile int arena[4] __attribute__((section(".arena"))) = {1};'
    elf = build(variable + "arena[1] = 1;", "-O1 -Wl,--section-start=.arena=0x8000")
    result = run_case(Case("own", elf=elf, scraper=r"/y=(?P<y>\d+)/", timeout=2.0), tmp_path)
    assert "0x8004 lies in arena, placed in flash (section .arena)" in result.reason
