"""What an image tried to register: each attempt's result and place, however it is compiled."""

from __future__ import annotations

from collections.abc import Callable

import needs
import pytest
from little_runs import BOTH, STATIC, audited, seen
from little_tflm import HEADER
from operator_chain import operator_chain

from harness.elf import Image
from harness.resolver import AuditVerdict, Refused, Resolver
from harness.resolver.resolver import plain

Compile = Callable[..., Image]

#: Four attempts, each in a line of its own: two are taken, one is a duplicate, one finds no slot.
FILL = """
#line 1 "fill.h"
using R = tflite::MicroMutableOpResolver<2>;
__attribute__((noinline)) inline void Fill(R& resolver) {
  resolver.AddConv2D();
  resolver.AddConv2D();
  resolver.AddSoftmax();
  resolver.AddAdd();
  asm volatile("");  // no tail call
}
"""


def header(methods: str = "", general: str = "", function: str = "") -> str:
    """The header with attributes of the Add* methods, of AddBuiltin, of Register_*."""
    text = HEADER.replace("  TfLiteStatus Add", f"  {methods} TfLiteStatus Add")
    text = text.replace(f"{methods} TfLiteStatus AddBuiltin", f"{general} TfLiteStatus AddBuiltin")
    return text.replace("TFLMRegistration Register_", f"{function} TFLMRegistration Register_")


OUT, IN = "__attribute__((noinline))", "__attribute__((always_inline)) inline"
#: How the methods are compiled: header, options, and what the symbols then have.
FORMS = {
    "all outlined": (header(OUT, OUT), ("-Os",), {"AddConv2D", "AddBuiltin"}),
    "not optimized": (header(), ("-O0",), {"AddConv2D", "AddBuiltin"}),
    "tail calls": (header(OUT, OUT), ("-O2",), {"AddConv2D", "AddBuiltin"}),
    "AddBuiltin inlined": (header(OUT, IN), ("-O2",), {"AddConv2D"}),
    "Add* inlined": (header(IN, OUT), ("-O2",), {"AddBuiltin"}),
    "all inlined": (header(IN, IN), ("-O2",), set()),
    "arguments changed": (header(OUT, OUT), ("-O2", "-flto"), {"AddConv2D", "AddBuiltin"}),
    "clang": (header(), ("-O0",), {"AddConv2D", "AddBuiltin"}),
}  # fmt: skip


def found_in(image: Image) -> Resolver:
    found = seen(image).resolver
    assert found is not None
    return found


def rows(found: Resolver) -> list[tuple[str, str]]:
    return [(row.operator, row.added) for row in found.registered or ()]


UNSEEN = pytest.mark.xfail(
    strict=True,
    reason="inlined refusals are told by messages, which these images lack",
)


@pytest.mark.parametrize(
    "form", [pytest.param(one, marks=UNSEEN if one == "all inlined" else ()) for one in FORMS]
)
def test_each_attempt_is_told_with_its_line(compile_image: Compile, form: str) -> None:
    text, options, methods = FORMS[form]
    compiler = "clang" if form == "clang" else "gcc"
    if compiler == "clang":
        needs.require("clang")
    image = compile_image(
        "Fill(resolver);", interpret=STATIC, compiler=compiler,
        extra=(*options, "-include", "fill.h"),
        files={"little.h": text, "fill.h": f'#include "little.h"\n{FILL}'},
    )  # fmt: skip
    names = [one.name for one in image.symbols if one.kind == "func"]
    assert methods == {m for m in ("AddConv2D", "AddBuiltin") if any(m in n for n in names)}
    found = found_in(image)
    assert rows(found) == [("CONV_2D", "Fill at fill.h:3"), ("SOFTMAX", "Fill at fill.h:5")]
    assert found.refused == (
        Refused("CONV_2D", False, True, "Fill at fill.h:4"),
        Refused("ADD", False, False, "Fill at fill.h:6"),
    )


def test_the_last_attempt_of_a_function_may_have_the_place_of_its_caller(
    compile_image: Compile,
) -> None:
    """A tail call leaves no trace of where it stands."""
    above = FILL.replace('  asm volatile("");  // no tail call\n', "")
    image = compile_image(
        "Fill(resolver);", extra=("-O2", "-include", "fill.h"),
        files={"little.h": header(OUT, OUT), "fill.h": f'#include "little.h"\n{above}'},
    )  # fmt: skip
    places = [one.at.partition(" ")[0] for one in found_in(image).refused]
    assert places == ["Fill", "setup"]


METHODS = """
using R = decltype(resolver);
static TfLiteStatus (R::*const methods[])() = {&R::AddAdd, &R::AddSoftmax};
for (auto add : methods) (resolver.*add)();
"""
OWN = """
__attribute__((noipa)) inline const TFLMRegistration* Register_MY_ATAN() {
  static const TFLMRegistration made = tflite::Register_ADD();
  return &made;
}
namespace tflite {
__attribute__((noipa)) inline TFLMRegistration Register_CONV_2D_INT8() {
  return Register_CONV_2D();
}
}
"""
ATAN = 'resolver.AddCustom("my-atan", Register_MY_ATAN());'
#: Ways to register, by slots: code, then operators, and refused ones (+: as a duplicate).
WAYS = {
    "a loop over methods": (2, METHODS, "ADD SOFTMAX", ""),
    "a loop over methods with a slot too few": (1, METHODS, "ADD", "SOFTMAX"),
    "a chain that ends with the first refusal": (
        1, "resolver.AddConv2D() || resolver.AddAdd() || resolver.AddSoftmax();", "CONV_2D", "ADD"),
    "another kernel": (1, "resolver.AddConv2D(tflite::Register_ADD());", "CONV_2D", ""),
    "another kernel before others": (
        2, "resolver.AddConv2D(tflite::Register_ADD()); resolver.AddSoftmax();",
        "CONV_2D SOFTMAX", ""),
    "a builtin's kernel as a custom operator": (
        2, 'auto own = tflite::Register_ADD(); resolver.AddCustom("Atan", &own);'
        "resolver.AddSoftmax();", "Atan SOFTMAX", ""),
    "a custom operator, which C++ spells otherwise": (2, ATAN, "my-atan", ""),
    "a custom operator twice": (3, f"{ATAN} resolver.AddAdd(); {ATAN}", "my-atan ADD", "+my-atan"),
    "a custom operator without a slot": (1, f"resolver.AddAdd(); {ATAN}", "ADD", "my-atan"),
    "a variant, whose function calls that of its operator": (
        1, "resolver.AddConv2D(tflite::Register_CONV_2D_INT8());", "CONV_2D", ""),
    "a kernel that is fetched and not added": (
        2, 'auto own = tflite::Register_ADD(); asm volatile("" :: "r"(&own) : "memory");'
        "resolver.AddConv2D();", "CONV_2D", ""),
    "nothing": (2, 'asm volatile("");', "", ""),
}  # fmt: skip


@pytest.mark.parametrize("way", WAYS)
def test_what_is_registered_and_what_is_refused(compile_image: Compile, way: str) -> None:
    slots, register, operators, refused = WAYS[way]
    found = found_in(compile_image(register, slots, above=OWN, extra=("-O0",)))
    assert list(found.operators) == operators.split()
    told = [(plain(one.operator), one.duplicate) for one in found.refused]
    assert told == [(plain(name), name.startswith("+")) for name in refused.split()]
    assert all(row.added.startswith("setup at main.cc:") for row in found.registered or ())


@pytest.mark.parametrize("level", ["-Os", "-O3"])
@pytest.mark.parametrize("way", WAYS)
def test_inlined_code_tells_no_refusal_that_was_none(
    compile_image: Compile, way: str, level: str
) -> None:
    slots, register, operators, refused = WAYS[way]
    found = found_in(compile_image(register, slots, above=OWN, extra=(level,)))
    assert list(found.operators) == operators.split()
    assert {plain(one.operator) for one in found.refused} <= set(map(plain, refused.split()))


def test_a_refused_operator_is_not_taken_for_one_whose_functions_have_its_names(
    compile_image: Compile,
) -> None:
    namesake = """
      namespace {
      TfLiteStatus SoftmaxPrepare(TfLiteContext*, TfLiteNode* n) { return n->x > 7; }
      TfLiteStatus SoftmaxEval(TfLiteContext*, TfLiteNode* n) { n->x *= 3; return 0; }
      }
      inline TFLMRegistration Own() { return {0, 0, SoftmaxPrepare, SoftmaxEval, 0, 32, "own"}; }
    """
    register = 'auto own = Own(); resolver.AddCustom("own", &own);'
    image = compile_image(f"{register} {BOTH}", above=namesake)
    audit = audited(image, operator_chain("CONV_2D", "SOFTMAX", custom="own"))
    assert audit.verdicts == (AuditVerdict.MISSING, AuditVerdict.TOO_SMALL)
    assert audit.registered == ("own", "CONV_2D") and audit.missing == ("SOFTMAX",)
