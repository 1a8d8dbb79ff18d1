"""`resolver check` is `ok` only if all paths to the interpreter give it the right resolver."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
from operator_chain import operator_chain

from harness.base.errors import HilError
from harness.elf import Image
from harness.model import Model
from harness.resolver import Audit, AuditVerdict, check, check_live, dump
from harness.resolver.audit import HARMLESS
from harness.resolver.stop_point import run_past_registration
from harness.targets import open_target

Compile = Callable[..., Image]

CONV = "resolver.AddConv2D();"
BOTH = CONV + " resolver.AddSoftmax();"
#: A word that the image does not know: a peripheral's.
INPUT = "*reinterpret_cast<volatile unsigned*>(0x50842510)"
ALLOCATE = "tflite::MicroInterpreter(g_model, {}).AllocateTensors();"
OTHER = "static tflite::MicroMutableOpResolver<2> other;"
METHODS = "static TfLiteStatus (R::*const add[])() = {&R::AddConv2D, &R::AddSoftmax};"


@dataclass(frozen=True)
class Case:
    """An image, and what is to be said of it for a model with CONV_2D and SOFTMAX."""

    name: str
    register: str
    verdict: AuditVerdict
    reason: str = ""  # a part of the reason
    slots: int = 2
    options: dict[str, Any] = field(default_factory=dict)
    waits: bool = False  # for hardware that the simulator does not have

    def __str__(self) -> str:
        return self.name


def above_main(text: str, **options: Any) -> dict[str, Any]:
    """Options that put C++ code before setup()."""
    source = f'#include "interpreter.h"\nusing R = tflite::MicroMutableOpResolver<2>;\n{text}'
    return {"files": {"above.h": source}, "extra": ("-include", "above.h"), **options}


OK, UNSURE, MISSING = AuditVerdict.OK, AuditVerdict.CANNOT_TELL, AuditVerdict.MISSING

CASES = (
    Case("plain", BOTH, OK),
    Case(
        "results tested",
        "if (resolver.AddConv2D()) return; if (resolver.AddSoftmax()) return;", OK,
    ),
    Case(
        "a chain of results", "if (resolver.AddConv2D() || resolver.AddSoftmax()) return;", OK
    ),
    Case(
        "a chain that stops early",
        """if (resolver.AddConv2D() == 0 || resolver.AddSoftmax() == 0) asm volatile("");""",
        MISSING, "SOFTMAX is needed",
    ),
    Case(
        "a result dropped",
        CONV + """auto r = tflite::Register_SOFTMAX(); asm volatile("" :: "r"(&r) : "memory");""",
        MISSING, "SOFTMAX is needed",
    ),
    Case(
        "only in another resolver", f"{CONV} {OTHER} other.AddConv2D(); other.AddSoftmax();",
        MISSING, "SOFTMAX is needed",
    ),
    Case(
        "custom in place of a builtin",
        CONV + """auto r = tflite::Register_SOFTMAX(); resolver.AddCustom("SOFTMAX", &r);""",
        MISSING, "operator SOFTMAX is needed",
    ),
    Case(
        "behind a run-time condition", f"{CONV} if ({INPUT} & 1) resolver.AddSoftmax();",
        UNSURE, "SOFTMAX: registered on some paths only",
    ),
    Case(
        "behind a condition that always holds",
        f"{CONV} if (({INPUT} & 1) < 2) resolver.AddSoftmax();", OK,
    ),
    Case(
        "after an early return",
        f"{CONV} [] {{ if ({INPUT}) return; resolver.AddSoftmax(); }}();",
        UNSURE, "SOFTMAX: registered on some paths only",
    ),
    Case(
        "in both branches",
        f"{CONV} if ({INPUT}) resolver.AddSoftmax(); else resolver.AddSoftmax();", OK,
    ),
    Case(
        "in one order or the other",
        f"if ({INPUT}) {{ {BOTH} }} else {{ resolver.AddSoftmax(); {CONV} }}", OK,
    ),
    Case(
        "in a loop over a table", f"{METHODS} for (auto each : add) (resolver.*each)();", OK,
        options=above_main(""),
    ),
    Case(
        "in a loop of unknown length",
        METHODS + f"for (int i = 0, n = {INPUT} & 3; i < n; ++i) (resolver.*add[i & 1])();",
        UNSURE, options=above_main(""),
    ),
    Case(
        "through a function pointer",
        """void (*volatile add)(R&) = [](R& r) { r.AddConv2D(); r.AddSoftmax(); };
           add(resolver);""",
        OK, options=above_main(""),
    ),
    Case(
        "through an unknown function pointer",
        f"{BOTH} reinterpret_cast<void (*)()>({INPUT})();", UNSURE, "pointer that is not known",
    ),
    Case(
        "through a struct", "App app{&resolver, 2}; Register(app);", OK,
        options=above_main("""
            struct App { R* resolver; int operators; };
            __attribute__((noinline)) inline void Register(const App& app) {
              app.resolver->AddConv2D();
              if (app.operators > 1) app.resolver->AddSoftmax();
            }"""),
    ),
    Case(
        "in a constructor of a static object", "", OK,
        options=above_main("""
            struct Filled { R table; Filled() { table.AddConv2D(); table.AddSoftmax(); } };
            inline Filled filled;""") | {"interpret": ALLOCATE.format("filled.table")},
    ),
    Case(
        "two interpreters by a condition",
        f"{BOTH} {OTHER} other.AddConv2D();"
        f"if ({INPUT}) {{ {ALLOCATE.format('other')} return; }}",
        UNSURE, "which resolver",
    ),
    Case(
        "one of two resolvers by a condition",
        f"{BOTH} {OTHER} other.AddConv2D(); tflite::Base* chosen = &resolver;"
        f"if ({INPUT}) chosen = &other;",
        UNSURE, options={"interpret": ALLOCATE.format("*chosen")},
    ),
    Case(
        "two resolvers, both right, by a condition",
        f"{BOTH} {OTHER} other.AddConv2D(); other.AddSoftmax();"
        f"if ({INPUT}) {{ {ALLOCATE.format('other')} return; }}",
        UNSURE, "which resolver",
    ),
    Case(
        "on the stack",
        "tflite::MicroMutableOpResolver<2> mine; mine.AddConv2D(); mine.AddSoftmax();",
        OK, options={"interpret": ALLOCATE.format("mine")},
    ),
    Case(
        "on the stack and incomplete",
        f"tflite::MicroMutableOpResolver<2> mine; mine.AddConv2D(); {BOTH}",
        MISSING, options={"interpret": ALLOCATE.format("mine")},
    ),
    Case(
        "on a heap",
        "auto& mine = *new (Take(sizeof(R))) R; mine.AddConv2D(); mine.AddSoftmax();", OK,
        options=above_main("""
            inline void* operator new(decltype(sizeof 0), void* at) noexcept { return at; }
            alignas(8) inline unsigned char heap[1024]; inline unsigned used;
            __attribute__((noinline)) inline void* Take(unsigned size) {
              if (used + size > sizeof(heap)) return nullptr;
              void* const found = heap + used; used += (size + 7) & ~7u; return found;
            }""") | {"interpret": ALLOCATE.format("mine")},
    ),
    Case(
        "after the interpreter allocates", CONV, MISSING,
        options={"interpret": ALLOCATE.format("resolver") + "resolver.AddSoftmax();"},
    ),
    Case(
        "behind a flag that an interrupt sets", f"{CONV} if (g_flag) resolver.AddSoftmax();",
        UNSURE, options=above_main("""
            inline int g_flag = 1;
            extern "C" inline void Handler() { g_flag = 0; }
            __attribute__((section(".vectors2"), used)) inline void (*const handlers[])() = {
              Handler};"""),
    ),
    Case(
        "behind a constant flag", f"{CONV} if (*Flag()) resolver.AddSoftmax();", OK,
        options=above_main("""__attribute__((noipa)) inline const int* Flag() {
              static const int flag = 1;
              return &flag;
            }"""),
    ),
    Case(
        "behind a variable that main sets",
        f"g_flag = 1; {CONV} if (g_flag) resolver.AddSoftmax();", OK,
        options=above_main("inline volatile int g_flag;"),
    ),
    Case(
        "behind a buffer that hardware fills",
        "static volatile unsigned buffer[4]; *(volatile unsigned*)0x50008534 = (unsigned)buffer;"
        f"{CONV} if (buffer[0]) resolver.AddSoftmax();", UNSURE,
    ),
    Case("after a wait for hardware", f"while (!({INPUT})) {{}} {BOTH}", OK, waits=True),
    Case(
        "with text in between",
        f"""Log("conv"); {CONV} Log("softmax"); resolver.AddSoftmax();""", OK,
    ),
    Case(
        "a write at an unknown index of another array",
        f"{BOTH} tensor_arena[{INPUT} & 1023] = 1;", OK,
    ),
    Case(
        "a write at an unknown index of the table",
        f"{BOTH} reinterpret_cast<unsigned*>(&resolver)[1 + ({INPUT} & 7)] = 0;", UNSURE,
    ),
    Case("no interpreter", BOTH, UNSURE, "does not show where", options={"interpret": ""}),
    Case("an interpreter that is never reached", f"{BOTH} for (;;) {{}}", UNSURE),
    Case(
        "a long computation first",
        """unsigned sum = 0;
           for (unsigned i = 0; i < 100000; ++i) sum = sum * 33 ^ i;
           tensor_arena[0] = sum;""" + BOTH, OK,
    ),
    Case(
        "recursion without an end", f"{BOTH} tensor_arena[0] = Endless(1);", UNSURE,
        options=above_main("""__attribute__((noipa)) inline int Endless(int n) {
              return n ? 1 + Endless(n + 1) * Endless(n + 2) : 0;
            }"""),
    ),
)  # fmt: skip


def image_of(case: Case, compile_image: Compile, *flags: str) -> Image:
    options = dict(case.options)
    extra = (*options.pop("extra", ()), *flags)
    return compile_image(case.register, case.slots, extra=extra, **options)


def live(image: Image, model: Model) -> Audit | None:
    """The resolver in memory when the simulator reaches the interpreter; None if there is none."""
    try:
        with open_target("simulator", image) as session:
            if not run_past_registration(session, image, seconds=0.5).reached:
                return None
            return check_live(image, model, dump(session, image))
    except HilError:
        return None


MODEL = operator_chain("CONV_2D", "SOFTMAX")
FLAGS = (("-O0",), ("-O1",), ("-O2",), ("-O3",), ("-O2", "-flto"))


@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_verdict_is_what_all_paths_prove(case: Case, compile_image: Compile) -> None:
    audit = check(image_of(case, compile_image), MODEL)
    assert audit.verdict is case.verdict, audit.reason
    assert case.reason in audit.reason


@pytest.mark.parametrize("flags", FLAGS, ids=" ".join)
@pytest.mark.parametrize("case", [case for case in CASES if not case.waits], ids=str)
def test_a_verdict_is_never_better_than_what_the_memory_holds(
    case: Case, flags: tuple[str, ...], compile_image: Compile
) -> None:
    image = image_of(case, compile_image, *flags)
    audit, found = check(image, MODEL), live(image, MODEL)
    assert audit.verdict not in HARMLESS or (found is not None and found.verdict in HARMLESS)
