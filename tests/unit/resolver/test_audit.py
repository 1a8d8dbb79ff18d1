"""The audit: what a run showed of a resolver, held against what a model needs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import pytest
from little_runs import BOTH, CONV, audited
from model_builder import Op, T, build
from operator_chain import operator_chain

from harness.base.errors import UsageError
from harness.elf import Image
from harness.model import Model
from harness.model.schema import OPERATOR_NAMES
from harness.resolver import (
    Audit,
    AuditVerdict,
    Refused,
    Registered,
    Resolver,
    ResolverRun,
)
from harness.resolver.audit import HARMLESS, judged

Compile = Callable[..., Image]


def registration(name: str, added: str = "setup at main.c:7") -> Registered:
    custom = name not in OPERATOR_NAMES
    code = OPERATOR_NAMES.index("CUSTOM" if custom else name)
    return Registered(name, custom, code, "", "", "", "Eval", "", name if custom else "",
                        added=added)  # fmt: skip


def resolver(registered: str, refused: str = "", slots: int | None = None) -> Resolver:
    """A resolver with these operators; +NAME was refused as a duplicate."""
    rows = tuple(map(registration, registered.split()))
    refusals = tuple(
        Refused(one.lstrip("+"), one.lstrip("+") not in OPERATOR_NAMES, one.startswith("+"),
                "setup at main.c:9")
        for one in refused.split()
    )  # fmt: skip
    return Resolver("r", 0x2000_0000, slots, rows, refusals, 36, "dwarf")


@dataclass(frozen=True)
class Row:
    """Registered and refused operators, slots, what the model needs; then verdicts, problems."""

    registered: str
    refused: str
    slots: int | None
    needed: str
    verdicts: str
    problems: tuple[str, ...]


PLACE = "(in setup at main.c:7)"
REFUSED = "(in setup at main.c:9)"
ROWS = {
    "exactly what is needed": Row("CONV_2D SOFTMAX", "", 2, "CONV_2D SOFTMAX", "ok", ()),
    "in another order": Row("SOFTMAX CONV_2D", "", 2, "CONV_2D SOFTMAX", "ok", ()),
    "a custom operator": Row("CONV_2D Atan", "", 2, "CONV_2D Atan", "ok", ()),
    "a class without slots": Row("CONV_2D", "", None, "CONV_2D", "ok", ()),
    "one is missing": Row(
        "CONV_2D", "", 1, "CONV_2D SOFTMAX", "missing",
        ("operator SOFTMAX is needed by the model and not registered",)),
    "a custom one is missing": Row(
        "CONV_2D", "", 1, "CONV_2D Atan", "missing",
        ("custom operator Atan is needed by the model and not registered",)),
    "a custom one of a builtin's name is not that builtin": Row(
        "CONV_2D softmax", "", 2, "CONV_2D SOFTMAX", "missing unused",
        ("operator SOFTMAX is needed by the model and not registered",
         f"softmax is registered and not needed {PLACE}")),
    "nothing is registered": Row(
        "", "", 1, "CONV_2D", "empty missing too_large",
        ("operator CONV_2D is needed by the model and not registered",
         "1 of 1 slots stay empty: 36 B of RAM wasted")),
    "one is not needed": Row(
        "CONV_2D ADD", "", 2, "CONV_2D", "unused", (f"ADD is registered and not needed {PLACE}",)),
    "a slot stays empty": Row(
        "CONV_2D", "", 32, "CONV_2D", "too_large",
        ("31 of 32 slots stay empty: 1,116 B of RAM wasted",)),
    "a needed one is refused": Row(
        "CONV_2D", "SOFTMAX", 1, "CONV_2D SOFTMAX", "missing too_small",
        (f"operator SOFTMAX is needed by the model and refused: all 1 slots are taken {REFUSED}",)),
    "a needed custom one, spelled otherwise, is refused": Row(
        "CONV_2D", "MY_ATAN", 1, "CONV_2D my-atan", "missing too_small",
        ("custom operator my-atan is needed by the model and refused: "
         f"all 1 slots are taken {REFUSED}",)),
    "another one is refused": Row(
        "CONV_2D", "ADD", 1, "CONV_2D", "too_small",
        (f"ADD is refused: all 1 slots are taken {REFUSED}",)),
    "one is registered again": Row(
        "CONV_2D", "+CONV_2D", 1, "CONV_2D", "duplicate",
        (f"CONV_2D is registered again, and refused as a duplicate {REFUSED}",)),
    "one that is not needed is registered again": Row(
        "CONV_2D ADD", "+ADD", 2, "CONV_2D", "duplicate unused",
        (f"ADD is registered and not needed {PLACE}",
         f"ADD is registered again, and refused as a duplicate {REFUSED}")),
    "a custom one has two slots, as older revisions give it": Row(
        "Atan Atan", "", 2, "Atan", "duplicate",
        ("Atan is registered more than once, and has a slot each time",)),
}  # fmt: skip


@pytest.fixture(scope="module")
def image(compile_image: Compile) -> Image:
    """An image without code of these operators."""
    return compile_image('asm volatile("");', interpret="")


def model_of(needed: str) -> Model:
    names = needed.split()
    customs = [name for name in names if name not in OPERATOR_NAMES]
    return operator_chain(*(one for one in names if one not in customs), custom="".join(customs))


def audit_of(image: Image, row: Row) -> Audit:
    live = ResolverRun(resolver(row.registered, row.refused, row.slots))
    return judged(live, image, model_of(row.needed))


@pytest.mark.parametrize("name", ROWS)
def test_a_resolver_is_judged_by_the_model(image: Image, name: str) -> None:
    row = ROWS[name]
    audit = audit_of(image, row)
    assert (" ".join(audit.verdicts), audit.problems) == (row.verdicts, row.problems)
    assert audit.passed == (audit.verdict in HARMLESS) == bool(audit)
    assert audit.reason == "; ".join(row.problems)
    assert (audit.declared, audit.registered) == (row.slots, tuple(row.registered.split()))
    lacking = [one for one in row.needed.split() if one not in row.registered.split()]
    assert list(audit.missing) == lacking


@pytest.mark.parametrize(
    ("name", "verdicts"),
    [("exactly what is needed", "CONV_2D=ok SOFTMAX=ok"),
     ("one is missing", "CONV_2D=ok SOFTMAX=missing"),
     ("one is not needed", "CONV_2D=ok ADD=unused"),
     ("one is registered again", "CONV_2D=duplicate"),
     ("one that is not needed is registered again", "CONV_2D=ok ADD=duplicate"),
     ("another one is refused", "CONV_2D=ok ADD=refused"),
     ("a needed one is refused", "CONV_2D=ok SOFTMAX=missing"),
     ("a needed custom one, spelled otherwise, is refused", "CONV_2D=ok my-atan=missing")],
)  # fmt: skip
def test_each_operator_has_one_row_with_its_verdict(image: Image, name: str, verdicts: str) -> None:
    rows = audit_of(image, ROWS[name]).operators
    assert " ".join(f"{row.operator}={row.verdict}" for row in rows) == verdicts


def test_what_is_not_known_is_judged_neither_right_nor_wrong(image: Image) -> None:
    audit = judged(ResolverRun(None, why="the image rests"), image, model_of("CONV_2D Atan"))
    assert (audit.verdicts, audit.problems) == ((AuditVerdict.CANNOT_TELL,), ("the image rests",))
    assert not audit.passed and audit.registered is None and not audit.missing
    assert [(row.operator, row.registered, row.verdict) for row in audit.operators] == [
        ("CONV_2D", None, "cannot_tell"), ("Atan", None, "cannot_tell")
    ]  # fmt: skip


@pytest.mark.parametrize(
    "live", [ResolverRun(resolver("CONV_2D", slots=1)), ResolverRun(None, why="it rests")]
)
def test_a_model_that_tflite_micro_refuses_is_refused_with_any_resolver(
    image: Image, live: ResolverRun
) -> None:
    model = refused_model()
    audit = judged(live, image, model)
    assert audit.verdict is AuditVerdict.REFUSED and not audit.passed
    assert "tflite-micro" in audit.problems[0]


def refused_model() -> Model:
    """A FULLY_CONNECTED with float activations and integer weights (dynamic range)."""
    weights = np.ones((3, 4), "int8")
    tensors = [T((1, 4), "float32"), T((3, 4), "int8", 0.1, 0, weights), T((1, 3), "float32")]
    operator = Op("FULLY_CONNECTED", [0, 1, -1], [2], ("FullyConnected", {}))
    return Model.from_bytes(build(tensors, [operator], [0], [2]), "dynamic.tflite")


def test_an_operator_of_a_second_subgraph_is_needed_too(image: Image) -> None:
    one, two = operator_chain("CONV_2D"), operator_chain("SOFTMAX")
    model = replace(one, subgraphs=(*one.subgraphs, *two.subgraphs))
    assert judged(ResolverRun(resolver("CONV_2D", slots=1)), image, model).missing == ("SOFTMAX",)


def test_a_model_without_operators_cannot_be_compared(image: Image) -> None:
    model = Model.from_bytes(build([T([1], scale=0.5)], [], [0], [0]))
    with pytest.raises(UsageError, match="no operators"):
        judged(ResolverRun(resolver("CONV_2D")), image, model)


def test_a_relu6_between_two_ranges_is_noted_and_fails_nothing(image: Image) -> None:
    tensors = [T([1, 4], scale=0.5, zero=3), T([1, 4], scale=0.25)]
    model = Model.from_bytes(build(tensors, [Op("RELU6", [0], [1])], [0], [1]))
    audit = judged(ResolverRun(resolver("RELU6", slots=1)), image, model)
    assert audit.passed
    assert audit.notes[-1].startswith("operator 0 RELU6: tflite-micro does not rescale from")


def test_what_is_linked_and_not_registered_is_noted_with_what_an_operator_costs(
    compile_image: Compile,
) -> None:
    register = f'auto own = tflite::Register_SOFTMAX(); asm volatile("" :: "r"(&own)); {CONV}'
    audit = audited(compile_image(register, 1), operator_chain("CONV_2D"))
    assert audit.verdicts == (AuditVerdict.OK,)
    assert "SOFTMAX: linked and not registered" in audit.notes
    (row,) = audit.operators
    assert row.linked and row.bytes > 60
    unused = audited(compile_image(BOTH, 2), operator_chain("CONV_2D")).to_json()["unused"]
    assert unused[0]["operator"] == "SOFTMAX" and unused[0]["bytes"] > 60


def test_the_document_is_what_the_contract_names(compile_image: Compile) -> None:
    audit = audited(compile_image(f"{BOTH} {CONV}", 4), operator_chain("CONV_2D", "ADD"))
    assert audit.to_json() == {
        "model": "made.tflite", "declared": 4, "wasted": 2 * 36,
        "registered": ["CONV_2D", "SOFTMAX"], "linked": ["CONV_2D", "SOFTMAX"],
        "needed": ["CONV_2D", "ADD"], "missing": ["ADD"],
        "unused": [{"operator": "SOFTMAX", "bytes": audit.operators[2].bytes}],
        "duplicates": ["CONV_2D"], "refused": [],
        "verdict": "missing", "verdicts": ["missing", "duplicate", "unused", "too_large"],
        "reason": "; ".join(audit.problems), "problems": list(audit.problems),
        "notes": list(audit.notes), "operators": [one.to_json() for one in audit.operators],
        "resolver": audit.resolver.to_json(),
        "saved_flash": audit.saved_flash, "saved_ram": audit.saved_ram,
    }  # fmt: skip
