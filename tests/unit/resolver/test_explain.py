"""The path of a registration: every instruction of it, what it names, what it costs."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from elf_writer import MadeSection, MadeSymbol, write_elf

from harness.base.errors import UsageError
from harness.elf import Image
from harness.resolver.explain import Explanation, disassemble, explain
from harness.resolver.text import explanation_lines

BOTH = "resolver.AddConv2D(); resolver.AddSoftmax();"


@pytest.fixture
def image(compile_image: Callable[..., Image]) -> Image:
    return compile_image(BOTH)


@pytest.fixture
def found(image: Image) -> Explanation:
    return explain(image, "conv_2d")


def test_the_operator_is_found_whatever_its_case(found: Explanation):
    assert found.operator == "CONV_2D"
    assert found.callers and all(one.role == "calls" for one in found.callers)


def test_the_kernels_functions_have_their_roles(found: Explanation):
    roles = {one.role for step in found.steps for one in step.targets}
    assert "invoke" in roles
    assert all(one.size > 0 for step in found.steps for one in step.targets if one.role == "invoke")


def test_each_instruction_stands_once_at_its_address(image: Image, found: Explanation):
    for step in found.steps:
        addresses = [int(line[:8], 16) for line in step.listing]
        assert addresses[0] == step.address
        assert all(2 <= b - a <= 4 for a, b in pairwise(addresses))
        assert step.address < addresses[-1] + 2 <= step.address + step.size


def listing(folder: Path, halfwords: Sequence[int], *mapping: tuple[str, int]) -> list[str]:
    """The lines of ``app::main()``, of these halfwords; ``mapping`` says what is data ($d)."""
    code = struct.pack(f"<{len(halfwords)}H", *halfwords)
    path = folder / "made.elf"
    path.write_bytes(write_elf(
        [MadeSection(".text", 0x1000, code, load=0x1000, executable=True)],
        [MadeSymbol("_ZN3app4mainEv", 0x1001, len(code), "func"),
         *(MadeSymbol(name, at, 0, "notype", binding="local") for name, at in mapping)],
    ))  # fmt: skip
    image = Image.from_elf(path)
    (node,) = image.graph.nodes
    return list(disassemble(image, node))


def test_a_listing_has_instructions_then_the_words_that_they_load(tmp_path: Path) -> None:
    halfwords = [0x4802, 0xF7FF, 0xFFFD, 0x4770, 0xFFFF, 0xBF00, 0x1003, 0, 0x5678, 0x1234, 0xABCD]
    lines = listing(tmp_path, halfwords, ("$t", 0x1000), ("$d", 0x100C))
    assert lines == [
        "00001000  ldr    r0, [pc, #8]    ; app::main+2",
        "00001002  bl     #0x1000    ; app::main",
        "00001006  bx     lr",
        "00001008  (not an instruction)",
        "0000100a  nop",
        "0000100c  .word  0x00001003    ; app::main+2",
        "00001010  .word  0x12345678",
        "00001014  .word  0x0000abcd",
    ]


def test_a_table_between_instructions_ends_where_they_go_on(tmp_path: Path) -> None:
    mapping = ("$t", 0x1000), ("$d", 0x1002), ("$t", 0x1008)
    assert listing(tmp_path, [0x4770, 1, 2, 3, 0x4770, 0xBF00], *mapping) == [
        "00001000  bx     lr",
        "00001002  .word  0x00020001",
        "00001006  .word  0x00000003",
        "00001008  bx     lr",
        "0000100a  nop",
    ]


OWN = """#include "little.h"
namespace app {
namespace {
void* OwnInit(TfLiteContext*, const char*, unsigned) { return nullptr; }
void FreeAll(TfLiteContext*, void*) { Log("free"); }
TfLiteStatus Prepare_int8(TfLiteContext*, TfLiteNode* n) { return n->x; }
TfLiteStatus OwnEval(TfLiteContext*, TfLiteNode* n) { return n->x + 1; }
void OwnReset(TfLiteContext*, void*) { Log("reset"); }
}
TFLMRegistration Register_OWN() {
  Log("own");
  return {OwnInit, FreeAll, Prepare_int8, OwnEval, OwnReset, 32, "own"};
}
}
extern "C" void RegisterOwn() {
  auto made = app::Register_OWN();
  asm volatile("" :: "r"(&made) : "memory");
}
"""


def test_what_a_registration_names_is_told_by_role_and_place(
    compile_image: Callable[..., Image],
):
    image = compile_image(
        "RegisterOwn();", files={"own.cc": OWN, "own.h": 'extern "C" void RegisterOwn();'},
        extra=("own.cc", "-include", "own.h"),
    )  # fmt: skip
    found = explain(image, "OWN")
    (step,) = found.steps
    (registration,) = [t for t in step.targets if t.size == 28]
    inside = [
        (t.role, t.name.rpartition("::")[2].partition("(")[0], f"{t.file}:{t.line}")
        for t in step.targets[step.targets.index(registration) + 1 :]
    ]
    assert registration.role == "data" and not registration.file
    assert sorted(inside) == [
        ("data", '"own"', ":0"),
        ("free", "FreeAll", "own.cc:5"),
        ("init", "OwnInit", "own.cc:4"),
        ("invoke", "OwnEval", "own.cc:7"),
        ("prepare", "Prepare_int8", "own.cc:6"),
        ("reset", "OwnReset", "own.cc:8"),
    ]
    assert [t.name for t in step.targets if t.role == "calls"] == ["Log(char const*)"]
    assert [(c.role, c.name, c.file) for c in found.callers] == [("calls", "RegisterOwn", "own.cc")]
    assert found.cost is not None and found.cost.custom


TWO = """#include "little.h"
namespace tflite { int Shared(int); }
namespace {
TfLiteStatus TwoPrepare(TfLiteContext*, TfLiteNode* n) { return tflite::Shared(n->x); }
TfLiteStatus TwoEval(TfLiteContext*, TfLiteNode* n) { return tflite::Shared(n->x) + 1; }
}
__attribute__((noinline)) TFLMRegistration Register_TWO() {
  TFLMRegistration made;
  made.prepare = TwoPrepare;
  made.invoke = TwoEval;
  return made;
}
extern "C" void RegisterTwo() {
  auto made = Register_TWO();
  asm volatile("" :: "r"(&made) : "memory");
}
"""


def test_what_a_kernel_calls_is_not_what_its_registration_names(
    compile_image: Callable[..., Image],
):
    image = compile_image(
        "RegisterTwo();", files={"two.cc": TWO, "two.h": 'extern "C" void RegisterTwo();'},
        extra=("two.cc", "-include", "two.h"),
    )  # fmt: skip
    (step,) = explain(image, "TWO").steps
    named = [(t.role, t.name.rpartition("::")[2].partition("(")[0]) for t in step.targets]
    assert sorted(one for one in named if one[0] != "calls") == [
        ("invoke", "TwoEval"), ("prepare", "TwoPrepare")
    ]  # fmt: skip
    assert "Shared" not in dict(map(reversed, named))


def test_an_operator_that_is_not_there_is_refused_with_what_is(image: Image):
    with pytest.raises(UsageError, match="registers no operator 'ADD'") as refused:
        explain(image, "ADD")
    assert refused.value.hint == "it registers CONV_2D, SOFTMAX"


def test_the_lines_tell_callers_steps_and_cost(found: Explanation):
    lines = list(explanation_lines(found))
    assert lines[0] == "CONV_2D is registered by"
    (step,) = found.steps
    assert f"{step.name}: {step.size} B at 0x{step.address:08x}" in lines
    cost = found.cost
    assert cost is not None
    assert f"cost: {cost.exclusive:,} B of flash for this operator alone, {cost.shared:,} B " \
        f"shared with others, {cost.ram:,} B of RAM" in lines  # fmt: skip


def test_the_document_holds_callers_steps_and_cost(found: Explanation):
    document = found.to_json()
    (step,) = found.steps
    assert [one["name"] for one in document["callers"]] == [one.name for one in found.callers]
    assert document["operator"] == "CONV_2D"
    assert document["steps"][0]["listing"] == step.listing
    assert document["cost"]["exclusive"] == found.cost.exclusive


def test_an_operator_whose_cost_is_unknown_has_none_in_the_document(found: Explanation):
    assert replace(found, cost=None).to_json()["cost"] is None


def test_an_image_without_symbols_is_asked_for_those_of_its_elf(tmp_path: Path):
    path = tmp_path / "made.elf"
    path.write_bytes(write_elf([MadeSection(".text", 0, bytes(4), load=0, executable=True)], []))
    with pytest.raises(UsageError) as refused:
        explain(Image.from_elf(path), "ADD")
    assert refused.value.hint == "pass the ELF before it was stripped"
