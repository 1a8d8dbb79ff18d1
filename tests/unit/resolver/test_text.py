"""What people are shown of audits, live tables and explanations."""

from __future__ import annotations

from collections.abc import Callable
from io import StringIO
from typing import Any

from rich.console import Console

from harness.footprint.operators import Member, OperatorCost
from harness.resolver import Audit, AuditVerdict, Explanation, LiveRegistration, LiveResolver
from harness.resolver.audit import OperatorAudit
from harness.resolver.explain import Referent, Step
from harness.resolver.text import explanation_lines, show_audit, show_live


def shown(show: Callable[[Console, Any], None], what: object, width: int = 100) -> str:
    text = StringIO()
    show(Console(file=text, width=width), what)
    return "\n".join(line.rstrip() for line in text.getvalue().splitlines())


def audit(*operators: OperatorAudit, declared: int | None = 5) -> Audit:
    return Audit(
        "made.tflite", declared, (), operators, 1_080,
        (AuditVerdict.MISSING, AuditVerdict.DUPLICATE),
        ("custom operator [b]Atan is needed",), ("a note on [i]RELU6",), "registrations",
    )  # fmt: skip


def test_an_audit_is_a_row_for_each_operator_then_what_is_wrong_then_the_verdict() -> None:
    found = audit(
        OperatorAudit("CONV_2D", False, True, 3, 1, 12_345, "ok"),
        OperatorAudit("[b]Atan", True, True, 1, 0, 0, "missing"),
        OperatorAudit("SOFTMAX", False, False, 0, 2, 60, "duplicate"),
    )
    assert (
        shown(show_audit, found)
        == """\
operator          model     image              flash B  verdict
CONV_2D           needs v3  registers           12,345  ok
[b]Atan (custom)  needs v1  -                        -  missing
SOFTMAX           -         registers 2 times       60  duplicate

slots: 5 declared, 2 filled; 1,080 B of RAM wasted
  custom operator [b]Atan is needed
note: a note on [i]RELU6
verdict: missing, duplicate"""
    )


def test_slots_that_an_image_does_not_tell_are_unknown() -> None:
    assert "slots: unknown declared, 0 filled" in shown(show_audit, audit(declared=None))


def row(operator: str, custom: bool = False, **functions: str) -> LiveRegistration:
    told = {"init": "", "prepare": "", "invoke": "", "file": ""} | functions
    return LiveRegistration(operator, custom, 3, custom_name="", **told)


TABLE = LiveResolver(
    "app::resolver", 0x2000_0100, 4,
    (row("CONV_2D", prepare="tflite::(anonymous namespace)::ConvPrepare", file="conv.cc",
         invoke="tflite::Eval<tflite::Int8>(TfLiteContext*, TfLiteNode*)"),
     row("[b]Atan", custom=True, init="0x00000123", invoke="Eval")),
    36, "dwarf",
)  # fmt: skip


def test_a_live_table_shows_the_slots_in_order_with_the_kernels_own_names() -> None:
    assert (
        shown(show_live, [TABLE])
        == """\
app::resolver at 0x20000100: 2 of 4 slots
#  operator          init        prepare      invoke  in
0  CONV_2D                       ConvPrepare  Eval    conv.cc
1  [b]Atan (custom)  0x00000123               Eval"""
    )


def test_on_a_narrow_screen_a_live_table_is_folded_and_nothing_is_cut() -> None:
    narrow = shown(show_live, [TABLE], width=40)
    assert "…" not in narrow
    assert "[b]Atan (custom)" in narrow


def test_a_resolver_without_a_name_is_titled_by_its_place() -> None:
    nameless = LiveResolver("(at 0x20000100)", 0x2000_0100, 1, (), 36, "pattern")
    assert shown(show_live, [nameless]).startswith("resolver at 0x20000100: 0 of 1 slots")


def cost(*members: Member) -> OperatorCost:
    return OperatorCost("CONV_2D", False, 12_345, 1_234, 2_048, (), members, ())


def explanation(found: OperatorCost | None) -> Explanation:
    kernel = "(TfLiteContext*, TfLiteNode*)"
    targets = (
        Referent("invoke", f"tflite::ConvEval{kernel}", 0x200, 80, "conv.cc", 31),
        Referent("init", "tflite::ConvInit(TfLiteContext*, char const*, unsigned int)", 0x300, 8,
                 "",
               0),
    )  # fmt: skip
    step = Step("Register_CONV_2D()", 0x100, 12, ("00000100  bx     lr",), targets)
    callers = (Referent("calls", "setup()", 0x80, 20, "main.cc", 7),)
    return Explanation("CONV_2D", callers, (step,), found)


def test_an_explanation_goes_from_the_callers_over_the_steps_to_the_cost() -> None:
    found = explanation(cost(Member("kWeights", 1_000), Member("ConvEval", 80)))
    assert (
        "\n".join(explanation_lines(found))
        == """\
CONV_2D is registered by
    setup(): 20 B at 0x00000080 (main.cc:7)

Register_CONV_2D(): 12 B at 0x00000100
    00000100  bx     lr
  it stores or calls
    invoke  tflite::ConvEval: 80 B at 0x00000200 (conv.cc:31)
    init    tflite::ConvInit: 8 B at 0x00000300

cost: 12,345 B of flash for this operator alone, 1,234 B shared with others, 2,048 B of RAM
     1,000  kWeights
        80  ConvEval"""
    )


def test_what_costs_nothing_of_its_own_is_explained_without_a_cost() -> None:
    assert not any(line.startswith("cost") for line in explanation_lines(explanation(None)))


def test_the_twelve_largest_parts_of_a_cost_are_named_and_the_others_counted() -> None:
    many = [Member(f"part{number}", 99 - number) for number in range(14)]
    lines = list(explanation_lines(explanation(cost(*many))))
    assert lines[-2:] == ["        88  part11", "    ... and 2 smaller ones"]
    assert list(explanation_lines(explanation(cost(*many[:12]))))[-1] == "        88  part11"
