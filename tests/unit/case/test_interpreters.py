"""Arenas and resolvers of interpreters, on images with functions of tflite-micro's names."""

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
void say(const char *);
typedef struct { int kept[4]; } Interpreter;
void make(Interpreter *, const void *, const void *, void *, unsigned) __asm__(
    "_ZN6tflite16MicroInterpreterC1EPKNS_5ModelERKNS_15MicroOpResolverEPhjPNS_8ResourceE");
int allocate(Interpreter *) __asm__("_ZN6tflite16MicroInterpreter15AllocateTensorsEv");
int input(Interpreter *, unsigned) __asm__("_ZN6tflite16MicroInterpreter5inputEj");
int output(Interpreter *, unsigned) __asm__("_ZN6tflite16MicroInterpreter6outputEj");
int invoke(Interpreter *) __asm__("_ZN6tflite16MicroInterpreter6InvokeEv");
#define OPAQUE __attribute__((noinline, noclone))
OPAQUE void make(Interpreter *i, const void *m, const void *r, void *a, unsigned s) {
  __asm__ volatile("" ::: "memory");
}
OPAQUE int allocate(Interpreter *i) { __asm__ volatile("" ::: "memory"); return 0; }
OPAQUE int input(Interpreter *i, unsigned n) { __asm__ volatile("" ::: "memory"); return 0; }
OPAQUE int output(Interpreter *i, unsigned n) { __asm__ volatile("" ::: "memory"); return 1; }
OPAQUE int invoke(Interpreter *i) { __asm__ volatile("" ::: "memory"); return 0; }
static Interpreter one, two, *made = &one;
static int tensor_arena[64], other_arena[64], op_resolver[8];
#define MAKE(I, R, A) make(I, 0, R, A, sizeof tensor_arena)
"""
#: Functions that make an interpreter of a local variable, and return.
LOCALS = """
OPAQUE void arena(void) {{ int local[64]; MAKE(&one, op_resolver, local); {first} }}
OPAQUE void resolver(void) {{ int local[8]; MAKE(&one, local, tensor_arena); {first} }}
OPAQUE void model(void) {{
  int local[8]; make(&one, local, op_resolver, tensor_arena, sizeof tensor_arena); {first}
}}
OPAQUE void object(void) {{
  Interpreter local; made = &local; MAKE(&local, op_resolver, tensor_arena); {first}
}}
"""
GOOD = 'for (int i = 0; i < 3; i++) say("y=1\\n");'
USE = "allocate(made); invoke(made);"
FRAME = " lies in the stack frame of a function that has returned: make it static; "


@pytest.fixture(scope="module")
def build(tmp_path_factory: pytest.TempPathFactory) -> BareImages:
    return BareImages(tmp_path_factory.mktemp("images"))


@pytest.fixture
def judged(build: BareImages, tmp_path: Path) -> Callable[..., CaseResult]:
    def run(body: str, first: str = "") -> CaseResult:
        """The result of an image; ``first``: what the functions with locals do themselves."""
        header = tmp_path / "functions.h"
        header.write_text(FUNCTIONS + LOCALS.format(first=first))
        expect = Expected(values=({"y": 1},) * 3)
        elf = build(body + GOOD, f"-O1 -include {header}")
        case = Case("own", elf=elf, scraper=r"/y=(?P<y>\d+)/", expect=expect, timeout=2.0)
        return run_case(case, tmp_path / "out")

    return run


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("arena();" + USE, f"the arena{FRAME}AllocateTensors() uses it (in main at "),
        ("resolver();" + USE, f"the op resolver{FRAME}AllocateTensors() uses it (in main at "),
        ("model();" + USE, f"the model{FRAME}AllocateTensors() uses it (in main at "),
        ("object();" + USE, f"the interpreter{FRAME}AllocateTensors() uses it (in main at "),
    ],
)
def test_a_part_in_a_frame_that_is_gone_is_named(judged, body, reason):
    result = judged(body)
    assert (result.verdict, result.findings[0].kind) == (Verdict.FAIL, "frame_left")
    assert result.reason.startswith(reason)


@pytest.mark.parametrize("part", ["arena", "resolver"])
def test_arena_and_resolver_are_used_by_each_inference(judged, part):
    result = judged(f"{part}(); invoke(made);", first="allocate(&one);")
    assert f"{part}{FRAME}Invoke() uses it (in main at " in result.reason


@pytest.mark.parametrize("name", ["input", "output"])
def test_a_tensor_before_the_allocation_is_named(judged, name):
    result = judged(f"MAKE(&one, op_resolver, tensor_arena); {name}(&one, 0); allocate(&one);")
    assert (result.verdict, result.findings[0].kind) == (Verdict.FAIL, "not_allocated")
    assert result.reason.startswith(
        f"{name}() is called before AllocateTensors(): there is no tensor yet (in main at "
    )


SHARED = "two interpreters share the arena tensor_arena: the second overwrites what the first keeps"
TWO = "MAKE(&one, op_resolver, tensor_arena); allocate(&one);"


@pytest.mark.parametrize("again", ["invoke(&one);", "allocate(&one);"])
def test_an_arena_that_another_interpreter_got_is_named(judged, again):
    result = judged(
        TWO + "make(&two, 0, op_resolver, tensor_arena + 8, 128); allocate(&two);" + again
    )
    assert (result.verdict, result.findings[0].kind) == (Verdict.FAIL, "arena_shared")
    assert result.reason.startswith(f"{SHARED} (in main at ")


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (4096, "the arena of 4,096 bytes is a null pointer (in main at "),
        (300_000, "the arena of 300,000 bytes is a null pointer: the chip has 262,144 bytes of "
                  "RAM (in main at "),
    ],
)  # fmt: skip
def test_an_arena_that_is_a_null_pointer_is_named(judged, size, text):
    result = judged(f"make(&one, 0, op_resolver, 0, {size}); abort();")
    assert result.verdict is Verdict.FIRMWARE
    assert result.reason.startswith(text)
    assert result.problems[1].startswith("then: the image ended in abort")


@pytest.mark.parametrize(
    ("body", "first"),
    [
        pytest.param(TWO + "input(&one, 0); output(&one, 0); invoke(&one);", "", id="tensors"),
        pytest.param("MAKE(&one, op_resolver, tensor_arena); input(&one, 0); invoke(&one);", "",
                     id="AllocateTensors() is inlined"),
        pytest.param("arena();", USE, id="the function with the arena runs"),
        pytest.param("MAKE(&one, op_resolver, (int *)0x20004000);" + USE, "", id="heap"),
        pytest.param(TWO + "MAKE(&two, op_resolver, other_arena); invoke(&one);", "", id="two"),
        pytest.param(TWO + "MAKE(&two, op_resolver, tensor_arena); invoke(&two);", "",
                     id="one after the other"),
        pytest.param("MAKE(&two, op_resolver, tensor_arena);" + TWO + "invoke(&one);", "",
                     id="the second is the one that is used"),
        pytest.param(TWO + TWO + "invoke(&one);", "", id="made again at the same place"),
    ],
)  # fmt: skip
def test_what_only_looks_like_it_passes(judged, body, first):
    result = judged(body, first)
    assert (result.verdict, result.problems) == (Verdict.PASS, ())


@pytest.mark.parametrize(
    ("arena", "size", "rest"),
    [
        ("tensor_arena", 257, 256),
        ("tensor_arena + 4", 256, 240),
        ("tensor_arena", 256, None),
        ("tensor_arena + 4", 240, None),
        ("(void *)0x20020000", 4096, None),  # memory that no variable has
    ],
)
def test_more_bytes_than_the_arena_has_are_named(judged, arena, size, rest):
    result = judged(f"make(&one, 0, op_resolver, {arena}, {size}); allocate(&one);")
    assert result.passed is (rest is None)
    if rest is not None:
        assert result.findings[0].kind == "arena_overstated"
        assert result.reason.startswith(
            f"the interpreter is told of {size:,} bytes at tensor_arena, which has {rest} there (in"
        )
