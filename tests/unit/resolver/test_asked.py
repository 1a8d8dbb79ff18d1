"""Resolvers of other classes than tflite-micro's: what their FindOp returns counts."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from little_runs import CONV, NEEDED, audited, seen
from operator_chain import operator_chain

from harness.elf import Image
from harness.resolver import AuditVerdict, check

Compile = Callable[..., Image]

#: A class of the application with two operators of a table in flash, and a custom one.
OWN = """
namespace app {
class Table : public tflite::MicroOpResolver {
 public:
  const TFLMRegistration* FindOp(tflite::BuiltinOperator op) const override {
    static const TFLMRegistration conv = tflite::Register_CONV_2D();
    static const TFLMRegistration softmax = tflite::Register_SOFTMAX();
    if (op == tflite::BuiltinOperator_CONV_2D) return &conv;
    return op == tflite::BuiltinOperator_SOFTMAX ? &softmax : nullptr;
  }
  const TFLMRegistration* FindOp(const char* op) const override {
    static TFLMRegistration own = tflite::Register_ADD();
    own.builtin_code = 32;
    own.custom_name = "Atan";
    return tflite::Same(op, "Atan") ? &own : nullptr;
  }
  tflite::TfLiteBridgeBuiltinParseFunction GetOpDataParser(
      tflite::BuiltinOperator) const override { return tflite::ParseConv2D; }
};
inline Table table;
}
"""
USE = "interpret(g_model, app::table);"
UNSURE = AuditVerdict.CANNOT_TELL


def test_a_class_of_the_application_is_asked_for_each_operator(compile_image: Compile) -> None:
    audit = audited(compile_image("", interpret=USE, above=OWN))
    assert audit.verdicts == (AuditVerdict.OK,)
    assert audit.registered == ("CONV_2D", "SOFTMAX")
    resolver = audit.resolver
    assert (resolver.name, resolver.source) == ("app::table", "FindOp")
    assert (audit.declared, audit.wasted) == (None, 0)


@pytest.mark.parametrize(
    ("custom", "verdict", "missing"),
    [("Atan", AuditVerdict.OK, ()), ("Tan", AuditVerdict.MISSING, ("Tan",))],
)
def test_it_is_asked_for_the_custom_operators_of_the_model(
    compile_image: Compile, custom: str, verdict: AuditVerdict, missing: tuple[str, ...]
) -> None:
    model = operator_chain("CONV_2D", "SOFTMAX", custom=custom)
    audit = audited(compile_image("", interpret=USE, above=OWN), model)
    assert (audit.verdict, audit.missing) == (verdict, missing)


def test_the_image_goes_on_as_if_it_had_not_been_asked(compile_image: Compile) -> None:
    """Two allocations: at each of them the resolver is asked, with the core as it was."""
    image = compile_image("", interpret=f"{USE} {USE}", above=OWN)
    assert audited(image, operator_chain("ADD")).missing == ("ADD",)


DERIVED = """
namespace app {{
struct Derived : tflite::MicroMutableOpResolver<2> {{ {} }};
inline Derived table;
}}
"""
HIDES = """
  const TFLMRegistration* FindOp(tflite::BuiltinOperator op) const override {
    return op == tflite::BuiltinOperator_SOFTMAX ? nullptr
                                                 : MicroMutableOpResolver<2>::FindOp(op);
  }
"""
ADDS = "app::table.AddConv2D(); app::table.AddSoftmax();"


@pytest.mark.parametrize(
    ("body", "operators", "slots"),
    [("", ("CONV_2D", "SOFTMAX"), 2), (HIDES, ("CONV_2D",), None)],
    ids=["adds nothing", "has a FindOp of its own"],
)
def test_a_derived_class_is_read_unless_it_has_a_find_op_of_its_own(
    compile_image: Compile, body: str, operators: tuple[str, ...], slots: int | None
) -> None:
    found = seen(compile_image(ADDS, interpret=USE, above=DERIVED.format(body))).resolver
    assert found is not None
    assert (found.operators, found.slots) == (operators, slots)


def test_a_find_op_that_does_not_return_is_told(compile_image: Compile) -> None:
    loops = OWN.replace("if (op ==", "for (volatile int on = 1; on;) {} if (op ==")
    audit = audited(compile_image(CONV, interpret=USE, above=loops))
    assert audit.verdict is UNSURE
    assert audit.reason == "app::Table::FindOp() does not return: deadline"


@pytest.mark.slow
@pytest.mark.needs("renode")
def test_a_target_that_cannot_call_a_function_cannot_tell(compile_image: Compile) -> None:
    image = compile_image("", interpret=USE, above=OWN)
    audit = check(image, NEEDED, target="renode", timeout=0.05)
    assert audit.verdict is UNSURE
    assert audit.reason.startswith("the resolver is of a class of the application: target 'renode'"
                                   " cannot call a function of the image")  # fmt: skip
