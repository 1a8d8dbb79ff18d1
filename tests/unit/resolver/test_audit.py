from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from model_builder import Op, T, build

from harness.errors import UsageError
from harness.firmware import Firmware
from harness.model import Model
from harness.resolver import Verdict, check
from harness.resolver.audit import kernel_operator
from harness.resolver.declared import find

Compile = Callable[..., Firmware]

BOTH = "resolver.AddConv2D(); resolver.AddSoftmax();"
CONV = "resolver.AddConv2D();"


def needs(*operators: str, custom: str = "") -> Model:
    names = [*operators, *(["CUSTOM"] if custom else [])]
    rows = [
        Op(name, [i], [i + 1], version=2, custom=custom if name == "CUSTOM" else "")
        for i, name in enumerate(names)
    ]
    tensors = [T([1, 4], scale=0.5) for _ in range(len(names) + 1)]
    return Model.from_bytes(build(tensors, rows, [0], [len(names)]), "made.tflite")


def test_exactly_what_the_model_needs_is_ok(compile_image: Compile) -> None:
    audit = check(compile_image(BOTH, 2), needs("CONV_2D", "SOFTMAX"))
    assert audit.verdicts == (Verdict.OK,)
    assert (audit.declared, audit.registered) == (2, ("CONV_2D", "SOFTMAX"))
    assert audit.passed and not audit.problems and audit.wasted == 0
    assert [one.version for one in audit.operators] == [2, 2]


def test_a_needed_operator_that_is_not_registered_is_missing(compile_image: Compile) -> None:
    audit = check(compile_image(CONV, 1), needs("CONV_2D", "SOFTMAX"))
    assert audit.verdict is Verdict.MISSING and not audit.passed
    assert audit.missing == ("SOFTMAX",)


def test_a_registered_operator_that_is_not_needed_is_told_with_its_bytes(
    compile_image: Compile,
) -> None:
    audit = check(compile_image(BOTH, 2), needs("CONV_2D"))
    (unused,) = audit.to_json()["unused"]
    assert audit.verdict is Verdict.UNUSED and audit.passed
    assert unused["operator"] == "SOFTMAX" and unused["bytes"] > 60


def test_more_operators_than_slots_is_too_small(compile_image: Compile) -> None:
    audit = check(compile_image(BOTH, 1), needs("CONV_2D"))
    assert Verdict.TOO_SMALL in audit.verdicts and not audit.passed
    assert any("1 of them will be refused" in problem for problem in audit.problems)


def test_more_slots_than_operators_wastes_36_bytes_each(compile_image: Compile) -> None:
    audit = check(compile_image(CONV, 32), needs("CONV_2D"))
    assert audit.verdict is Verdict.TOO_LARGE and audit.passed
    assert audit.wasted == 31 * 36


def test_an_operator_added_twice_is_a_duplicate(compile_image: Compile) -> None:
    audit = check(compile_image(f"{CONV} {CONV}", 2), needs("CONV_2D"))
    assert audit.verdict is Verdict.DUPLICATE and not audit.passed
    assert audit.to_json()["duplicates"] == ["CONV_2D"]


def test_nothing_registered_is_empty(compile_image: Compile) -> None:
    audit = check(compile_image('asm volatile("");', 1), needs("CONV_2D"))
    assert audit.verdict is Verdict.EMPTY and audit.missing == ("CONV_2D",)


def test_a_custom_operator_of_the_model_is_named(compile_image: Compile) -> None:
    audit = check(compile_image(CONV, 1), needs("CONV_2D", custom="Atan"))
    assert audit.missing == ("Atan",)
    assert any("custom operator Atan" in problem for problem in audit.problems)


def test_without_dwarf_the_slots_come_from_the_mangled_names(compile_image: Compile) -> None:
    image = compile_image(BOTH, 5, dwarf="")
    audit = check(image, needs("CONV_2D", "SOFTMAX"))
    assert audit.declared == 5 and audit.verdict is Verdict.TOO_LARGE
    assert [one.address for one in find(image)] == [0]


def test_llvm_images_are_read_alike(compile_image: Compile) -> None:
    from little_tflm import has_clang

    if not has_clang():
        pytest.skip("no clang for Arm")
    audit = check(compile_image(BOTH, 3, compiler="clang"), needs("CONV_2D", "SOFTMAX"))
    assert (audit.declared, audit.verdicts) == (3, (Verdict.TOO_LARGE,))
    assert audit.registered == ("CONV_2D", "SOFTMAX")


def test_the_object_is_found_with_its_name_and_size(compile_image: Compile) -> None:
    (found,) = find(compile_image(BOTH, 2))
    assert (found.name, found.slots, found.slot_bytes) == ("resolver", 2, 36)
    assert found.bytes == 12 + 2 * 36


def test_a_stripped_image_cannot_be_told(compile_image: Compile, tmp_path: Path) -> None:
    stripped = tmp_path / "stripped.elf"
    subprocess.run(["arm-none-eabi-strip", "-o", str(stripped), str(compile_image(BOTH, 2).path)],
                   check=True)  # fmt: skip
    audit = check(Firmware.from_elf(stripped), needs("CONV_2D"))
    assert audit.verdict is Verdict.CANNOT_TELL and not audit.passed
    assert audit.declared is None and not audit.missing
    assert any("resolver dump" in note for note in audit.notes)


def test_an_image_without_tflm_cannot_be_told(tmp_path: Path) -> None:
    from elf_writer import MadeSection, MadeSymbol, write_elf

    path = tmp_path / "plain.elf"
    path.write_bytes(write_elf(
        [MadeSection(".text", 0, bytes(16), load=0, executable=True)],
        [MadeSymbol("main", 1, 16, "func")],
    ))  # fmt: skip
    audit = check(Firmware.from_elf(path), needs("CONV_2D"))
    assert audit.verdict is Verdict.CANNOT_TELL


def test_an_unknown_builtin_of_the_model_is_missing(compile_image: Compile) -> None:
    assert check(compile_image(CONV, 1), needs("HASHTABLE")).missing == ("HASHTABLE",)


def test_a_model_without_operators_is_refused(compile_image: Compile) -> None:
    model = Model.from_bytes(build([T([1], scale=0.5)], [], [0], [0]))
    with pytest.raises(UsageError, match="no operators"):
        check(compile_image(CONV, 1), model)


@pytest.mark.parametrize(
    ("function", "stem", "operator"),
    [("ConvEval", "conv", "CONV_2D"), ("AverageEval", "pooling", "AVERAGE_POOL_2D"),
     ("MaxPrepare", "pooling", "MAX_POOL_2D"), ("FullyConnectedEval", "", "FULLY_CONNECTED"),
     ("Eval", "softmax", "SOFTMAX"), ("Eval", "main", ""), ("SoftmaxEvalInt8", "x", "SOFTMAX")],
)  # fmt: skip
def test_kernel_functions_tell_their_operator(function: str, stem: str, operator: str) -> None:
    assert kernel_operator(function, stem) == operator


def test_the_document_has_what_the_contract_names(compile_image: Compile) -> None:
    document = check(compile_image(BOTH, 2), needs("CONV_2D")).to_json()
    assert {"declared", "registered", "needed", "missing", "unused", "verdict"} <= document.keys()
