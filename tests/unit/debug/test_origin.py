"""Where a bad pointer came from, on images that make the mistake and on some that look alike."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from bare_images import BareImages

from harness.case import Case, run_case
from harness.debug.fault_cause import LONGEST

pytestmark = pytest.mark.needs("arm-none-eabi-gcc")

HEADER = """
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define OPAQUE __attribute__((noipa))
typedef int *Pointer;
static struct { int id; Pointer *list; } node;
static Pointer *volatile kept;
OPAQUE Pointer *fill(Pointer *list) {
  for (int i = 0; i < 4; i++) list[i] = &node.id;
  return list;
}
OPAQUE void scribble(void) {
  volatile unsigned a[64];
  for (int i = 0; i < 64; i++) a[i] = 0xA0000011;
}
OPAQUE int use(void) { return *node.list[2]; }
OPAQUE void init(void) { Pointer list[4]; node.list = fill(list); }
OPAQUE Pointer *make(void) { Pointer list[4]; return fill(list); }
OPAQUE int wrong(void) {
  Pointer list[4];
  node.list = fill(list);
  list[2] = (Pointer)0xA0000011;
  return use();
}
OPAQUE int once(void) { Pointer list[4]; node.list = fill(list); return use(); }
static void (*const table[2])(void) = {scribble, init};
static void (*const wild[2])(void) = {scribble, (void (*)(void))0xA0000011};
OPAQUE void act(void (*const *functions)(void), int which) { functions[which](); }
static float smooth[8];
OPAQUE void down(float *x, unsigned from) {
  for (unsigned i = from; i >= 0; i--) x[i] = x[i + 1] / 2;
}
OPAQUE void put(float *x, unsigned at) { x[at] = 1; }
static char thread[256] __attribute__((aligned(8)));
static const char *const names[2] = {"one", "two"};
OPAQUE int print(const char *const *list, int which) {
  char line[40];
  return sprintf(line, "%d %d %d %s", 1, 2, 3, list[which]);
}
static struct { char name[16]; Pointer after; } record = {"", &node.id};
OPAQUE void clear(void *at, int size) { memset(at, 0x80, size); }
OPAQUE int after(void) { return *record.after; }
extern const unsigned char g_model[];
extern const unsigned *const volatile g_model_pointer __asm__("g_model");
OPAQUE unsigned version(const unsigned *model) {
  const unsigned char *root = (const unsigned char *)model + *model;
  return *(const unsigned short *)(root - *(const int *)root);
}
"""
MODEL = """__asm__(".pushsection .rodata.model,\\"a\\"\\n.balign 4\\n.global g_model\\n"
    ".type g_model,%object\\n.size g_model,64\\n"
    "g_model: .word 28\\n.ascii \\"TFL3\\"\\n.space 20\\n.word OFFSET\\n.space 32\\n.popsection");
"""
#: A symbol for the first two words of ``all``: compilers address all of it from there.
ANCHOR = """__asm__(".set anchor, %c0\\n.type anchor, %%object\\n.size anchor, 8" :: "i"(&all));"""
#: The handler of PendSV writes over the frame of the thread; that of a fault stays.
PENDSV = """unsigned number; __asm__ volatile("mrs %0, ipsr" : "=r"(number));
            if (number == 14) clear(thread, 256); else for (;;) {}"""
LEFT = "a pointer into the stack frame of {}, which has returned, is used"
ROWS = {
    "stored by the function": ("init(); scribble(); use();", LEFT.format("init")),
    "returned by the function": ("node.list = make(); scribble(); use();", LEFT.format("make")),
    "kept in a register": ("Pointer *list = make(); scribble(); *(volatile int *)list[2];",
                           LEFT.format("make")),
    "beyond a table": ("act(table, 2);", "word 2 of table is read, which has 2 words"),
    "before a table": ("act(table, -1);", "the pointer is read 4 bytes before table"),
    "an index below zero": ("down(smooth, 6);",
                            "a loop runs below the begin of smooth, to 0x1ffffffc"),
    "written beyond a field": (
        "clear(record.name, 20); after();",
        "the pointer, in record, was written by memset, called from clear at functions.h"),
    "written by its owner": (
        "record.after = (Pointer)0xA0000011; after();",
        "the pointer, in record, was written by main at image"),
    "a string beyond a table": (
        'print(names, 2);', "word 2 of names is read, which has 2 words"),
    "an index far outside": (
        "put(smooth, 0x10000000);",
        "an index leads 1,073,741,792 bytes beyond the end of smooth, to 0x6"),
    "a frame that is overwritten": (
        '__asm__ volatile("msr psp, %0; mov r3, #2; msr control, r3; isb" :: '
        '"r"(thread + 256) : "r3"); SCB(4) = 1 << 28; __asm__ volatile("dsb; isb");',
        "the frame at 0x20000"),
    "a model declared as a pointer": (
        MODEL + "version(g_model_pointer);",
        "g_model is an array: it is declared as a pointer where it is used"),
}  # fmt: skip
#: Code, and words that the reason must not have.
ALIKE = {
    "the function has not returned": ("wrong();", "stack frame"),
    "another function uses the same memory": (
        "once(); once(); int v = wrong();", "stack frame"),
    "memory of the heap": (
        "node.list = malloc(64); fill(node.list); node.list[2] = (Pointer)0xA0000011; use();",
        "stack frame"),
    "a local variable of the caller": (
        "Pointer list[4]; fill(list); list[2] = (Pointer)0xA0000011; node.list = list; use();",
        "stack frame"),
    "a variable behind a table": (
        "static struct { int table[2]; int wild; } all = {{1, 2}, 0xA0000011}; int p;" + ANCHOR +
        '__asm__ volatile("ldr %0, =anchor; ldr %0, [%0, #8]; ldr %0, [%0]" : "=r"(p));',
        "is read"),
    "an array behind another variable": (
        "static struct { int first[2]; float more[8]; } all;" + ANCHOR + "down(all.more, 6);",
        "of anchor"),
    "a wrong entry of a table": ("act(wild, 1);", "is read"),
    "one access far away": ("put(smooth, 0x20000000);", "loop"),
    "a damaged model": (MODEL.replace("OFFSET", "0x70000000") + "version((void *)g_model);",
                        "declared as a pointer"),
}  # fmt: skip


@pytest.fixture(scope="module")
def build(tmp_path_factory: pytest.TempPathFactory) -> BareImages:
    return BareImages(tmp_path_factory.mktemp("images"))


@pytest.fixture
def reason(build: BareImages, tmp_path: Path) -> Callable[[str], str]:
    def run(body: str) -> str:
        header = tmp_path / "functions.h"
        header.write_text(HEADER)
        elf = build(body.replace("OFFSET", "0"), f"-O1 -include {header}", PENDSV)
        case = Case("own", elf=elf, scraper=r"/y=(?P<y>\d+)/", timeout=2.0)
        return run_case(case, tmp_path / "out").reason

    return run


@pytest.mark.parametrize(("body", "words"), ROWS.values(), ids=ROWS)
def test_the_origin_of_a_bad_pointer_is_named(reason, body, words):
    first = reason(body)
    cause = first.partition(": ")[2].partition("; at ")[0]
    assert cause.startswith(words)
    assert len(cause) <= LONGEST


@pytest.mark.parametrize(("body", "words"), ALIKE.values(), ids=ALIKE)
def test_what_only_looks_like_it_has_another_cause(reason, body, words):
    first = reason(body)
    assert first.startswith("HardFault (")
    assert words not in first
