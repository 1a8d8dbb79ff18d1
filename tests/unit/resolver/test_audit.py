"""An image's resolver is held against a model."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import needs
import pytest
from elf_writer import MadeSection, MadeSymbol, write_elf
from model_builder import Op, T, build
from operator_chain import operator_chain

from harness.base.errors import UsageError
from harness.elf import Image
from harness.footprint.resolvers import find
from harness.model import Model
from harness.resolver import AuditVerdict, check
from harness.resolver.audit import check_every

Compile = Callable[..., Image]

BOTH = "resolver.AddConv2D(); resolver.AddSoftmax();"
CONV = "resolver.AddConv2D();"


def test_exactly_what_the_model_needs_is_ok(compile_image: Compile) -> None:
    audit = check(compile_image(BOTH, 2), operator_chain("CONV_2D", "SOFTMAX"))
    assert audit.verdicts == (AuditVerdict.OK,)
    assert (audit.declared, audit.registered) == (2, ("CONV_2D", "SOFTMAX"))
    assert audit.passed and not audit.problems and audit.wasted == 0
    assert [one.version for one in audit.operators] == [2, 2]


def test_a_needed_operator_that_is_not_registered_is_missing(compile_image: Compile) -> None:
    audit = check(compile_image(CONV, 1), operator_chain("CONV_2D", "SOFTMAX"))
    assert audit.verdict is AuditVerdict.MISSING and not audit.passed
    assert audit.missing == ("SOFTMAX",)


def test_a_registered_operator_that_is_not_needed_is_told_with_its_bytes(
    compile_image: Compile,
) -> None:
    audit = check(compile_image(BOTH, 2), operator_chain("CONV_2D"))
    (unused,) = audit.to_json()["unused"]
    assert audit.verdict is AuditVerdict.UNUSED and audit.passed
    assert unused["operator"] == "SOFTMAX" and unused["bytes"] > 60


def test_more_operators_than_slots_is_too_small(compile_image: Compile) -> None:
    audit = check(compile_image(BOTH, 1), operator_chain("CONV_2D"))
    assert AuditVerdict.TOO_SMALL in audit.verdicts and not audit.passed
    assert any("1 of them will be refused" in problem for problem in audit.problems)


OWN_HEADER = """
#include "little.h"
namespace tflite { TFLMRegistration Register_OWN(); }
"""
#: A custom operator whose functions have the names of SOFTMAX's, in a file of its own.
NAMESAKE = """
namespace tflite {
namespace {
TfLiteStatus SoftmaxPrepare(TfLiteContext*, TfLiteNode* n) { return n->x > 7; }
TfLiteStatus SoftmaxEval(TfLiteContext*, TfLiteNode* n) { n->x *= 3; return 0; }
}  // namespace
TFLMRegistration Register_OWN() { return {0, 0, SoftmaxPrepare, SoftmaxEval, 0, 32, "own"}; }
}  // namespace tflite
"""


def test_a_refused_operator_is_refused_although_another_has_functions_of_its_names(
    compile_image: Compile,
) -> None:
    image = compile_image(
        'auto own = tflite::Register_OWN(); resolver.AddCustom("own", &own); ' + BOTH, 2,
        files={"own.h": OWN_HEADER, "own.cc": NAMESAKE},
        extra=("-include", "own.h", "own.cc"),
    )  # fmt: skip
    audit = check(image, operator_chain("CONV_2D", "SOFTMAX"))
    assert {AuditVerdict.MISSING, AuditVerdict.TOO_SMALL} <= set(audit.verdicts)
    assert "3 operators are registered in 2 slots: 1 of them will be refused: SOFTMAX" in (
        audit.problems
    )
    assert not audit.notes


def test_more_slots_than_operators_wastes_36_bytes_each(compile_image: Compile) -> None:
    audit = check(compile_image(CONV, 32), operator_chain("CONV_2D"))
    assert audit.verdict is AuditVerdict.TOO_LARGE and audit.passed
    assert audit.wasted == 31 * 36


def test_an_operator_added_twice_is_a_duplicate(compile_image: Compile) -> None:
    audit = check(compile_image(f"{CONV} {CONV}", 2), operator_chain("CONV_2D"))
    assert audit.verdict is AuditVerdict.DUPLICATE and not audit.passed
    assert audit.to_json()["duplicates"] == ["CONV_2D"]


def test_nothing_registered_is_empty(compile_image: Compile) -> None:
    audit = check(compile_image('asm volatile("");', 1), operator_chain("CONV_2D"))
    assert audit.verdict is AuditVerdict.EMPTY and audit.missing == ("CONV_2D",)


def test_a_custom_operator_of_the_model_is_named(compile_image: Compile) -> None:
    audit = check(compile_image(CONV, 1), operator_chain("CONV_2D", custom="Atan"))
    assert audit.missing == ("Atan",)
    assert any("custom operator Atan" in problem for problem in audit.problems)


def test_without_dwarf_the_slots_come_from_the_mangled_names(compile_image: Compile) -> None:
    image = compile_image(BOTH, 5, dwarf="")
    audit = check(image, operator_chain("CONV_2D", "SOFTMAX"))
    assert audit.declared == 5 and audit.verdict is AuditVerdict.TOO_LARGE
    assert [one.address for one in find(image)] == [0]


@pytest.mark.xfail(
    strict=True,
    reason="Resolver: the static engine does not find where an image of clang 14 allocates",
)
def test_llvm_images_are_read_alike(compile_image: Compile) -> None:
    needs.require("clang")
    audit = check(compile_image(BOTH, 3, compiler="clang"), operator_chain("CONV_2D", "SOFTMAX"))
    assert (audit.declared, audit.verdicts) == (3, (AuditVerdict.TOO_LARGE,))
    assert audit.registered == ("CONV_2D", "SOFTMAX")


def test_the_object_is_found_with_its_name_and_size(compile_image: Compile) -> None:
    (found,) = find(compile_image(BOTH, 2))
    assert (found.name, found.slots, found.slot_bytes) == ("resolver", 2, 36)
    assert found.bytes == 12 + 2 * 36


def test_a_stripped_image_cannot_be_told(compile_image: Compile, tmp_path: Path) -> None:
    stripped = tmp_path / "stripped.elf"
    subprocess.run(["arm-none-eabi-strip", "-o", str(stripped), str(compile_image(BOTH, 2).path)],
                   check=True)  # fmt: skip
    audit = check(Image.from_elf(stripped), operator_chain("CONV_2D"))
    assert audit.verdict is AuditVerdict.CANNOT_TELL and not audit.passed
    assert audit.declared is None and not audit.missing
    assert "resolver check --live" in audit.hint


SECOND = """
  static tflite::MicroMutableOpResolver<5> second;
  second.AddConv2D();
  asm volatile("" :: "r"(&second) : "memory");
"""


def test_an_operator_in_each_of_two_resolvers_is_no_duplicate(compile_image: Compile) -> None:
    audit = check(compile_image(CONV + SECOND, 1), operator_chain("CONV_2D"))
    assert audit.verdicts == (AuditVerdict.OK,)
    assert [one.name for one in audit.resolvers] == ["resolver"]
    assert any("several resolvers" in note for note in audit.notes)


def test_an_operator_that_two_resolvers_add_three_times_is_a_duplicate(
    compile_image: Compile,
) -> None:
    audit = check(compile_image(CONV + CONV + SECOND, 1), operator_chain("CONV_2D"))
    assert audit.to_json()["duplicates"] == ["CONV_2D"]


def test_several_resolvers_are_noted_with_their_slots(compile_image: Compile) -> None:
    audit = check(compile_image(CONV + SECOND, 1), operator_chain("CONV_2D"))
    resolvers = find(compile_image(CONV + SECOND, 1))
    first, second = sorted(f"{one.name} <{one.slots}>" for one in resolvers)
    assert (first, second.rpartition("::")[2]) == ("resolver <1>", "second <5>")
    names = ", ".join(f"{one.name} <{one.slots}>" for one in resolvers)
    assert audit.notes == (
        f"several resolvers: {names}; what each of them registers is shown by "
        "`tflm-hil resolver dump`",
    )


ON_A_STACK = """
  tflite::MicroMutableOpResolver<9> nine; nine.AddConv2D();
  tflite::MicroMutableOpResolver<7> seven; seven.AddConv2D();
  asm volatile("" :: "r"(&nine), "r"(&seven) : "memory");
"""


def test_resolvers_without_a_static_object_are_noted_by_their_slots(compile_image: Compile) -> None:
    audit = check(compile_image(CONV + ON_A_STACK, 1), operator_chain("CONV_2D"))
    assert [one.name for one in audit.resolvers] == ["resolver"]
    assert audit.notes == (
        "the image has code of MicroMutableOpResolver<7>, <9> too, without a static object",
    )
    assert check(compile_image(CONV, 1), operator_chain("CONV_2D")).notes == ()


@pytest.fixture
def silent(tmp_path: Path) -> Image:
    path = tmp_path / "silent.elf"
    code = MadeSection(".text", 0, bytes(16), load=0, executable=True)
    path.write_bytes(write_elf([code], [MadeSymbol("main", 1, 16, "func")]))
    return Image.from_elf(path)


def test_an_image_that_cannot_tell_says_what_the_model_needs_and_who_can(silent: Image) -> None:
    audit = check(silent, operator_chain("CONV_2D", custom="Atan"))
    assert (audit.verdicts, audit.problems) == (
        (AuditVerdict.CANNOT_TELL,), ("the image names no MicroMutableOpResolver, no Register_*",)
    )  # fmt: skip
    assert (audit.method, audit.declared, audit.resolvers, audit.wasted) == ("nothing", None, (), 0)
    assert [one.to_json() for one in audit.operators] == [
        {"operator": name, "custom": custom, "needed": True, "version": 2, "calls": 0, "bytes": 0,
         "verdict": "cannot_tell"}
        for name, custom in (("CONV_2D", False), ("Atan", True))
    ]  # fmt: skip
    assert (audit.notes, audit.hint) == ((), "")


def test_each_image_that_tells_is_held_against_the_model(
    compile_image: Compile, silent: Image
) -> None:
    right = replace(compile_image(CONV, 1), path=Path("right.elf"))
    wrong = replace(compile_image(BOTH, 1), path=Path("wrong.elf"))

    def verdicts(first: Image, *others: Image) -> list[tuple[str, AuditVerdict]]:
        every = check_every(replace(first, beside=others), operator_chain("CONV_2D"))
        return [(name, audit.verdict) for name, audit in every.items()]

    good, bad = ("right", AuditVerdict.OK), ("wrong", AuditVerdict.TOO_SMALL)
    assert verdicts(right) == [good]
    assert verdicts(right, wrong) == [good, bad]
    assert verdicts(wrong, right) == [bad, good]
    assert verdicts(right, silent) == [good]
    assert verdicts(silent, wrong) == [bad]
    assert verdicts(silent) == [("silent", AuditVerdict.CANNOT_TELL)]
    assert verdicts(silent, silent) == [("silent", AuditVerdict.CANNOT_TELL)]


def test_an_operator_of_a_second_subgraph_is_needed_too(compile_image: Compile) -> None:
    one, two = operator_chain("CONV_2D"), operator_chain("SOFTMAX")
    model = replace(one, subgraphs=(*one.subgraphs, *two.subgraphs))
    assert check(compile_image(CONV, 1), model).missing == ("SOFTMAX",)


def test_a_relu6_between_two_ranges_is_noted_and_fails_nothing(compile_image: Compile) -> None:
    tensors = [T([1, 4], scale=0.5, zero=3), T([1, 4], scale=0.25), T([1, 4], scale=0.25)]
    rows = [Op("RELU6", [0], [1]), Op("RELU6", [1], [2])]
    model = Model.from_bytes(build(tensors, rows, [0], [2]), "relu6.tflite")
    audit = check(compile_image(BOTH, 2), model)
    (note,) = (note for note in audit.notes if "RELU6" in note)
    assert note.startswith("operator 0 RELU6: tflite-micro does not rescale from (0.5, 3)")
    assert audit.verdict is AuditVerdict.MISSING  # for want of RELU6, not for its ranges


def test_an_unknown_builtin_of_the_model_is_missing(compile_image: Compile) -> None:
    assert check(compile_image(CONV, 1), operator_chain("HASHTABLE")).missing == ("HASHTABLE",)


def test_a_model_without_operators_is_refused(compile_image: Compile) -> None:
    model = Model.from_bytes(build([T([1], scale=0.5)], [], [0], [0]))
    with pytest.raises(UsageError, match="no operators"):
        check(compile_image(CONV, 1), model)


def test_the_document_is_what_the_contract_names(compile_image: Compile) -> None:
    audit = check(compile_image(BOTH, 4), operator_chain("CONV_2D", "ADD"))
    conv, add, softmax = audit.operators
    assert audit.to_json() == {
        "model": "made.tflite", "declared": 4, "method": "paths", "wasted": 2 * 36,
        "registered": ["CONV_2D", "SOFTMAX"], "needed": ["CONV_2D", "ADD"], "missing": ["ADD"],
        "unused": [{"operator": "SOFTMAX", "bytes": softmax.bytes}], "duplicates": [],
        "verdict": "missing", "verdicts": ["missing", "unused", "too_large"],
        "reason": "; ".join(audit.problems), "problems": list(audit.problems), "notes": [],
        "operators": [one.to_json() for one in (conv, add, softmax)],
        "resolvers": [one.to_json() for one in audit.resolvers],
    }  # fmt: skip
    assert len(audit.problems) == 3 and len(audit.resolvers) == 1
