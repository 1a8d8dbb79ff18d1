"""Ways to register: the verdict is what happens when the image runs, however it is compiled."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from little_runs import BOTH, CONV, INPUT, SOFTMAX, allocates, audited
from little_tflm import INTERPRET

from harness.elf import Image
from harness.resolver import AuditVerdict

Compile = Callable[..., Image]

RIGHT, WRONG = True, False
OTHER = "static tflite::MicroMutableOpResolver<2> other;"
MINE = "interpret(g_model, mine);"
CHOSEN = "interpret(g_model, *chosen);"
METHODS = """
  using R = decltype(resolver);
  static TfLiteStatus (R::*const add[])() = {&R::AddAdd, &R::AddSoftmax};
"""
ABOVE = """
using R = tflite::MicroMutableOpResolver<2>;
struct App { R* resolver; int operators; };
__attribute__((noinline)) inline void Register(const App& app) {
  app.resolver->AddConv2D();
  if (app.operators > 1) app.resolver->AddSoftmax();
}
template <int... Codes> void AddAll(R& r) {
  ((Codes == 3 ? r.AddConv2D() : r.AddSoftmax()), ...);
}
struct Filled { R table; Filled() { table.AddConv2D(); table.AddSoftmax(); } };
inline Filled filled;
class Wrapper {
 public:
  TfLiteStatus Fill() { return resolver_.AddConv2D() == 0 ? resolver_.AddSoftmax() : 1; }
  const R& resolver() const { return resolver_; }
 private:
  R resolver_;
};
inline volatile int flag;
inline void* operator new(decltype(sizeof 0), void* at) noexcept { return at; }
"""
#: Registration, use of the interpreter, and whether the image finds its operators.
WAYS = {
    "plain": (BOTH, INTERPRET, RIGHT),
    "results tested": (
        "if (resolver.AddConv2D()) return; if (resolver.AddSoftmax()) return;", INTERPRET, RIGHT),
    "a chain of results": (
        "if (resolver.AddConv2D() || resolver.AddSoftmax()) return;", INTERPRET, RIGHT),
    "a chain that stops early": (
        "if (resolver.AddConv2D() == 0 || resolver.AddSoftmax() == 0) flag = 1;", INTERPRET, WRONG),
    "a registration that is dropped": (
        f'{CONV} auto r = tflite::Register_SOFTMAX(); asm volatile("" :: "r"(&r) : "memory");',
        INTERPRET, WRONG),
    "in another resolver only": (
        f"{CONV} {OTHER} other.AddConv2D(); other.AddSoftmax();", INTERPRET, WRONG),
    "a custom operator in a builtin's place": (
        f'{CONV} auto r = tflite::Register_SOFTMAX(); resolver.AddCustom("SOFTMAX", &r);',
        INTERPRET, WRONG),
    "behind a condition that holds": (f"{CONV} if (!({INPUT})) {SOFTMAX}", INTERPRET, RIGHT),
    "behind a condition that does not hold": (f"{CONV} if ({INPUT}) {SOFTMAX}", INTERPRET, WRONG),
    "after an early return": (
        f"{CONV} [] {{ if (!({INPUT})) return; {SOFTMAX} }}();", INTERPRET, WRONG),
    "in either branch": (f"{CONV} if ({INPUT}) {SOFTMAX} else {SOFTMAX}", INTERPRET, RIGHT),
    "in a loop over methods": (
        f"{METHODS} {CONV} for (auto each : add) (resolver.*each)();", INTERPRET, WRONG),
    "in a loop of unknown length": (
        f"{METHODS} {CONV} for (int i = 0, n = {INPUT} & 3; i <= n; ++i) (resolver.*add[1])();",
        INTERPRET, RIGHT),
    "through a function pointer": (
        "void (*volatile add)(R&) = [](R& r) { r.AddConv2D(); r.AddSoftmax(); }; add(resolver);",
        INTERPRET, RIGHT),
    "through a struct": ("App app{&resolver, 2}; Register(app);", INTERPRET, RIGHT),
    "through a struct, one too few": ("App app{&resolver, 1}; Register(app);", INTERPRET, WRONG),
    "by a template": ("AddAll<3, 25>(resolver);", INTERPRET, RIGHT),
    "by a template, one twice": ("AddAll<3, 3>(resolver);", INTERPRET, WRONG),
    "in a constructor of a static object": ("", "interpret(g_model, filled.table);", RIGHT),
    "in a wrapper": (
        "static Wrapper app; app.Fill();", "interpret(g_model, app.resolver());", RIGHT),
    "one of two resolvers": (
        f"{BOTH} {OTHER} {CONV} tflite::MicroOpResolver* chosen = &resolver;"
        f"if (!({INPUT})) chosen = &other;", CHOSEN, WRONG),
    "on the stack": ("R mine; mine.AddConv2D(); mine.AddSoftmax();", MINE, RIGHT),
    "on the stack, incomplete": (f"R mine; mine.AddConv2D(); {BOTH}", MINE, WRONG),
    "on a heap": (
        "auto& mine = *new (tensor_arena) R; mine.AddConv2D(); mine.AddSoftmax();", MINE, RIGHT),
    "after the interpreter allocates": (CONV, f"{INTERPRET} {SOFTMAX}", WRONG),
    "behind a variable that main sets": (f"flag = 1; {CONV} if (flag) {SOFTMAX}", INTERPRET, RIGHT),
    "an entry overwritten at a run-time index": (
        f"{BOTH} resolver.registrations_[1 + ({INPUT} & 1)].builtin_code = 0;", INTERPRET, WRONG),
    "a table of methods overwritten at a run-time index": (
        f"{METHODS} {CONV} TfLiteStatus (R::*own[])() = {{add[1], add[1]}};"
        f"own[{INPUT} & 1] = add[0]; (resolver.*own[0])();", INTERPRET, WRONG),
    "a count that is set back": (f"{BOTH} resolver.registrations_len_ = 1;", INTERPRET, WRONG),
}  # fmt: skip


@pytest.mark.parametrize("flags", ["-O0", "-Os", "-O3", "-O2 -flto"])
@pytest.mark.parametrize("way", WAYS)
def test_the_verdict_is_what_happens(compile_image: Compile, way: str, flags: str) -> None:
    register, interpret, right = WAYS[way]
    image = compile_image(
        register, above=ABOVE, interpret=interpret, extra=tuple(flags.split())
    )  # fmt: skip
    assert allocates(image) is right
    audit = audited(image)
    if flags != "-O2 -flto":
        assert audit.verdict is not AuditVerdict.CANNOT_TELL, audit.reason
    assert audit.verdict is AuditVerdict.CANNOT_TELL or audit.passed is right, audit.reason
