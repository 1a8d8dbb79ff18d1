"""Images whose interpreter does not show what it gets: the reason, and what is linked."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from elf_writer import MadeSection, MadeSymbol, write_elf
from little_runs import BOTH, CONV, INPUT, NEEDED, STATIC, audited, seen
from little_tflm import INTERPRET

from harness.base.errors import UsageError
from harness.base.hints import Hint
from harness.elf import Image
from harness.resolver import AuditVerdict, check

Compile = Callable[..., Image]
UNSURE = AuditVerdict.CANNOT_TELL
#: A loop without an end that the compiler does not know to have none.
FOREVER = "for (volatile int forever = 1; forever;)"
UNREACHED = "AllocateTensors() is not reached"

#: What an image does instead, and why it cannot be told.
ENDS = {
    "waits for hardware": (
        f"{BOTH} while (!({INPUT})) for (volatile int i = 0; i < 9999; ++i) {{}}",
        "when its time is over, the image is in setup at main.cc:"),
    "loops": (f"{BOTH} {FOREVER} {{ ++forever; }}",
              "when its time is over, the image is in setup at main.cc:"),
    "rests": (f'{BOTH} {FOREVER} asm volatile("wfi");', "the image rests in setup at main.cc:"),
    "faults": (
        f"{BOTH} *reinterpret_cast<volatile int*>(0x70000000) = 1;",
        "HardFault (PRECISERR, BFARVALID, FORCED) at setup"),
    "locks up": (f'{BOTH} asm volatile("udf #1");', "HardFault (UNDEFINSTR, FORCED) at setup"),
    "resets": (
        f"{BOTH} *reinterpret_cast<volatile unsigned*>(0xE000ED0C) = 0x05FA0004;"
        f"{FOREVER} {{}}", "the image resets again and again"),
}  # fmt: skip


@pytest.mark.parametrize("end", ENDS)
def test_an_image_that_does_not_allocate_is_told_with_the_place_where_it_stands(
    compile_image: Compile, end: str
) -> None:
    code, reason = ENDS[end]
    audit = audited(compile_image(code))
    assert audit.verdicts == (UNSURE,)
    assert audit.reason.startswith(f"{UNREACHED}: ")
    assert reason in audit.reason
    assert audit.registered is None and audit.declared == 2
    assert audit.notes[0] == "linked: CONV_2D, SOFTMAX"
    assert all(row.registered is None and row.linked for row in audit.operators)


def test_more_time_helps_an_image_that_only_has_not_got_so_far(compile_image: Compile) -> None:
    """A fault comes again, however long one waits."""
    assert audited(compile_image(ENDS["loops"][0])).hint == Hint.READ_LATER.text
    assert audited(compile_image(ENDS["faults"][0])).hint == ""
    late = compile_image(f"for (volatile int i = 0; i < 500000; ++i) {{}} {BOTH}")
    assert check(late, NEEDED, timeout=0.01).verdict is UNSURE
    assert check(late, NEEDED, timeout=1.0).verdict is AuditVerdict.OK


def test_a_refusal_after_which_the_image_gives_up_is_told(compile_image: Compile) -> None:
    """What the image would have registered further is not known."""
    adds = f"if (resolver.AddConv2D() || resolver.AddSoftmax()) {FOREVER} {{ ++forever; }}"
    audit = audited(compile_image(adds, 1))
    assert audit.verdicts == (UNSURE,)
    refused, where = audit.reason.split("; ")
    assert refused.startswith("SOFTMAX is refused: all 1 slots are taken (in setup at main.cc:")
    assert where.startswith(f"{UNREACHED}: when its time is over, the image is in setup")


def test_a_compiled_model_has_no_resolver(tmp_path: Path) -> None:
    path = tmp_path / "eon.elf"
    kernel = "_ZN6tflite8ConvEvalEP13TfLiteContextP10TfLiteNode"
    path.write_bytes(write_elf(
        [MadeSection(".text", 0, VECTORS + LOOP, load=0, executable=True)],
        [MadeSymbol("main", 9, 2, "func"), MadeSymbol(kernel, 11, 2, "func")],
    ))  # fmt: skip
    audit = audited(Image.from_elf(path))
    assert audit.verdicts == (UNSURE,)
    assert audit.reason == (
        "the image calls kernels without an interpreter or a resolver, as a compiled model does"
    )
    assert audit.hint == ""


#: Initial stack pointer and reset vector; two endless loops.
VECTORS = (0x2000_1000).to_bytes(4, "little") + (9).to_bytes(4, "little")
LOOP = bytes.fromhex("fee7fee7")


def test_an_image_without_a_resolver_is_told_with_where_it_stands(tmp_path: Path) -> None:
    path = tmp_path / "silent.elf"
    code = MadeSection(".text", 0, VECTORS + LOOP, load=0, executable=True)
    path.write_bytes(write_elf([code], [MadeSymbol("main", 9, 2, "func")]))
    audit = audited(Image.from_elf(path))
    assert audit.verdicts == (UNSURE,)
    assert audit.reason == (
        "no interpreter is seen in memory: "
        "the image names no interpreter of tflite-micro: the image rests in main"
    )


TWICE = "static tflite::MicroMutableOpResolver<5> other; other.AddAdd();"


def test_without_symbols_the_interpreter_in_ram_tells_which_resolver_counts(
    compile_image: Compile,
) -> None:
    static = """
      static tflite::MicroInterpreter interpreter(tflite::GetModel(g_model), resolver,
                                                  tensor_arena, 2048);
      interpreter.AllocateTensors();
      asm volatile("" :: "r"(&interpreter), "r"(&other) : "memory");
    """
    image = compile_image(CONV + TWICE, interpret=static, strip="--strip-all")
    audit = audited(image)
    assert (audit.verdict, audit.registered) == (AuditVerdict.MISSING, ("CONV_2D",))


SECOND = "static tflite::MicroMutableOpResolver<2> second; second.AddConv2D();"
KEPT = 'asm volatile("" :: "r"(&second) : "memory");'


def test_a_stripped_image_whose_interpreter_is_gone_is_judged_by_its_only_resolver(
    compile_image: Compile,
) -> None:
    """On a stack it is gone when the image has given up, for want of an operator mostly."""
    audit = audited(compile_image(BOTH, interpret="", strip="--strip-all"))
    assert audit.verdicts == (AuditVerdict.OK,)
    assert audit.notes[0].startswith("no interpreter is seen in memory; the image is stripped: ")
    several = audited(compile_image(f"{BOTH} {SECOND} {KEPT}", interpret="", strip="--strip-all"))
    assert several.verdict is UNSURE
    assert several.reason.startswith("no interpreter is seen in memory: the image is stripped")


@pytest.mark.parametrize("symbol", ["loop", "_ZN6tflite6SharedEi", "tflite::Shared"])
def test_the_resolver_is_read_where_it_is_asked_for(compile_image: Compile, symbol: str) -> None:
    """After AllocateTensors(), which the image here calls before it registers the second one."""
    image = compile_image(CONV, interpret=f"{INTERPRET} resolver.AddSoftmax();")
    at_allocation, later = seen(image).resolver, seen(image, symbol=symbol).resolver
    assert at_allocation is not None and later is not None
    assert (at_allocation.operators, later.operators) == (("CONV_2D",), ("CONV_2D", "SOFTMAX"))


def test_a_function_that_is_not_reached_is_named(compile_image: Compile) -> None:
    live = seen(compile_image(f"{BOTH} {FOREVER} {{ ++forever; }}"), symbol="loop")
    assert live.unreached
    assert live.why.startswith(
        "loop() is not reached: when its time is over, the image is in setup at main.cc:"
    )


FIND_OP = "tflite::MicroMutableOpResolver<2u>::FindOp"


@pytest.mark.parametrize(
    ("symbol", "refusal"),
    [("nowhere", "has no function 'nowhere'"), ("tensor_arena", "has no function 'tensor_arena'"),
     (FIND_OP, f"has 2 functions called '{FIND_OP}'")],
)  # fmt: skip
def test_what_is_no_one_function_is_refused(
    compile_image: Compile, symbol: str, refusal: str
) -> None:
    image = compile_image(BOTH)
    with pytest.raises(UsageError, match=refusal):
        seen(image, symbol=symbol)


@pytest.mark.parametrize(
    "target", ["virtual-board", pytest.param("renode", marks=pytest.mark.needs("renode"))]
)
@pytest.mark.slow
def test_other_targets_tell_the_same(compile_image: Compile, target: str) -> None:
    """A board cannot stop at a function: it is read after the time."""
    image = compile_image(BOTH, interpret=STATIC)
    audit = check(image, NEEDED, target=target, timeout=0.2)
    assert (audit.verdicts, audit.registered) == ((AuditVerdict.OK,), ("CONV_2D", "SOFTMAX"))
    note = "target 'virtual-board' cannot stop at AllocateTensors(): "
    assert [one for one in audit.notes if one.startswith(note)] == (
        [f"{note}read after 0.2 s"] if target == "virtual-board" else []
    )


def test_a_reset_on_the_way_registers_nothing_twice(compile_image: Compile) -> None:
    """RAM that no start-up code clears tells the second boot."""
    once = """
      volatile unsigned& boots = *reinterpret_cast<volatile unsigned*>(0x20030000);
      if (boots != 0x1234) {
        boots = 0x1234;
        *reinterpret_cast<volatile unsigned*>(0xE000ED0C) = 0x05FA0004;
      }
    """
    audit = audited(compile_image(f"{BOTH} resolver.AddAdd(); {once}"))
    assert audit.verdicts == (AuditVerdict.TOO_SMALL,)
    assert [one.operator for one in audit.resolver.refused] == ["ADD"]
