"""What people are shown of audits and resolvers."""

from __future__ import annotations

from io import StringIO

from rich.console import Console

from harness.resolver import Audit, AuditVerdict, Refused, Registered, Resolver
from harness.resolver.audit import OperatorAudit
from harness.resolver.text import resolver_lines, show_audit


def row(operator: str, custom: bool = False, added: str = "", **functions: str) -> Registered:
    known = dict.fromkeys(("init", "free", "prepare", "invoke", "reset", "file"), "") | functions
    return Registered(operator, custom, 3, custom_name="", added=added, **known)


TABLE = Resolver(
    "app::resolver", 0x2000_0100, 2,
    (row("CONV_2D", added="setup at main.cc:7", file="conv.cc",
         prepare="tflite::(anonymous namespace)::ConvPrepare",
         invoke="tflite::Eval<tflite::Int8>(TfLiteContext*, TfLiteNode*)"),
     row("[b]Atan", custom=True, init="0x00000123", free="app::Free", invoke="Eval",
         reset="app::Reset")),
    (Refused("SOFTMAX", False, False, "setup at main.cc:9"),
     Refused("CONV_2D", False, True, "setup at main.cc:10")),
    36, "dwarf",
)  # fmt: skip


def test_a_resolver_has_the_path_of_each_registration_and_what_it_refused() -> None:
    assert (
        "\n".join(resolver_lines(TABLE))
        == """\
app::resolver at 0x20000100: 2 of 2 slots
  0  CONV_2D  added in setup at main.cc:7
       prepare  ConvPrepare
       invoke   Eval  in conv.cc
  1  [b]Atan (custom)
       init     0x00000123
       free     Free
       invoke   Eval
       reset    Reset
  -  SOFTMAX is refused in setup at main.cc:9: no slot is left
  -  CONV_2D is refused in setup at main.cc:10: a duplicate"""
    )


def test_a_resolver_without_a_name_or_without_slots_says_no_more_than_is_known() -> None:
    nameless = Resolver("(at 0x20000100)", 0x2000_0100, None, (row("ADD"),))
    assert next(resolver_lines(nameless)) == "resolver at 0x20000100: 1 operators"


def shown(*operators: OperatorAudit, declared: int | None = 5) -> str:
    resolver = Resolver("r", 0, declared, TABLE.registered)
    audit = Audit(
        "made.tflite", resolver, operators, (), (AuditVerdict.MISSING, AuditVerdict.DUPLICATE),
        ("custom operator [b]Atan is needed",), ("a note on [i]RELU6",), 1_080,
    )  # fmt: skip
    text = StringIO()
    show_audit(Console(file=text, width=100), audit)
    return "\n".join(line.rstrip() for line in text.getvalue().splitlines())


def test_an_audit_is_a_row_for_each_operator_then_what_is_wrong_then_the_verdict() -> None:
    assert (
        shown(
            OperatorAudit("CONV_2D", False, True, 3, True, True, 12_345, "ok"),
            OperatorAudit("[b]Atan", True, True, 1, False, False, 0, "missing"),
            OperatorAudit("SOFTMAX", False, False, 0, True, False, 60, "refused"),
            OperatorAudit("ADD", False, True, 1, True, None, 0, "cannot_tell"),
        )
        == """\
operator          model     image      flash B  verdict
CONV_2D           needs v3  registers   12,345  ok
[b]Atan (custom)  needs v1  -                -  missing
SOFTMAX           -         refuses         60  refused
ADD               needs v1  links            -  cannot_tell

slots: 5 declared, 2 filled; 1,080 B of RAM wasted
  custom operator [b]Atan is needed
note: a note on [i]RELU6
verdict: missing, duplicate"""
    )


def test_slots_that_are_not_known_are_said_to_be_unknown() -> None:
    assert "slots: unknown declared, 2 filled" in shown(declared=None)
