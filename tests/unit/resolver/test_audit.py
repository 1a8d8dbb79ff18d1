from __future__ import annotations

import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from little_tflm import compile_little, has_gcc
from model_builder import Op, T, build

from harness.elf import Firmware
from harness.errors import UsageError
from harness.footprint.resolvers import find
from harness.model import Model
from harness.resolver import LiveRegistration, LiveResolver, Verdict, check, check_live
from harness.resolver.linked import kernel_operator

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
    assert any("resolver check --live" in note for note in audit.notes)


LTO = ("-flto", "-fno-fat-lto-objects")


def test_with_inlined_registrations_the_kernels_tell(compile_image: Compile) -> None:
    """Link-time optimization leaves no Register_* function."""
    image = compile_image(BOTH, 3, extra=LTO)
    assert not any("Register_" in symbol.name for symbol in image.symbols)
    audit = check(image, needs("CONV_2D"))
    assert audit.method == "kernels"
    assert (audit.declared, set(audit.registered)) == (3, {"CONV_2D", "SOFTMAX"})
    assert any("kernel functions" in note for note in audit.notes)


def test_an_inlined_custom_registration_is_known_by_the_record_it_left(tmp_path: Path) -> None:
    if not has_gcc():
        pytest.skip("no arm-none-eabi-g++")
    own = """
#include "little.h"
    inline TfLiteStatus Eval(TfLiteContext*, TfLiteNode* n) { return n->x; }
    inline const TFLMRegistration* Register_Atan() {
      static const TFLMRegistration record = {0, 0, 0, Eval, 0, 32, "Atan"};
      return &record;
    }
    """
    elf = compile_little(
        tmp_path, register=CONV + 'asm volatile("" :: "r"(Register_Atan()));', slots=2,
        files={"own.h": own}, extra=("-include", "own.h"),
    )  # fmt: skip
    image = Firmware.from_elf(elf)
    assert not any(s.kind == "func" and "Register_Atan" in s.name for s in image.symbols)
    audit = check(image, needs("CONV_2D"))
    assert set(audit.registered) == {"CONV_2D", "Atan"}
    assert audit.verdicts == (Verdict.UNUSED,)  # both slots are filled


SECOND = """
  static tflite::MicroMutableOpResolver<5> second;
  second.AddConv2D();
  asm volatile("" :: "r"(&second) : "memory");
"""


def test_an_operator_in_each_of_two_resolvers_is_no_duplicate(compile_image: Compile) -> None:
    audit = check(compile_image(CONV + SECOND, 1), needs("CONV_2D"))
    assert Verdict.DUPLICATE not in audit.verdicts
    assert len(audit.resolvers) == 2 and any("several resolvers" in n for n in audit.notes)


def live(*operators: str, slots: int, name: str = "resolver") -> LiveResolver:
    rows = tuple(LiveRegistration(one, False, 0, "", "", "Eval", "") for one in operators)
    return LiveResolver(name, 0x2000_0000, slots, rows, 36, "pattern")


@pytest.mark.parametrize(
    ("table", "verdicts"),
    [(live("CONV_2D", "SOFTMAX", slots=2), {Verdict.OK}),
     (live("CONV_2D", slots=1), {Verdict.MISSING}),
     (live(slots=2), {Verdict.EMPTY, Verdict.MISSING, Verdict.TOO_LARGE}),
     (live("CONV_2D", "ADD", "SOFTMAX", slots=5), {Verdict.UNUSED, Verdict.TOO_LARGE})],
)  # fmt: skip
def test_the_live_table_of_a_stripped_image_is_audited_alike(
    compile_image: Compile, tmp_path: Path, table: LiveResolver, verdicts: set[Verdict]
) -> None:
    path = tmp_path / "stripped.elf"
    subprocess.run(["arm-none-eabi-strip", "-o", str(path), str(compile_image().path)], check=True)
    audit = check_live(Firmware.from_elf(path), needs("CONV_2D", "SOFTMAX"), [table])
    assert (set(audit.verdicts), audit.method) == (verdicts, "live")
    assert audit.wasted == 36 * (table.slots - len(table.operators))


def test_what_is_linked_and_not_in_the_live_table_is_noted(compile_image: Compile) -> None:
    audit = check_live(compile_image(BOTH, 2), needs("CONV_2D"), [live("CONV_2D", slots=1)])
    assert any(note.startswith("SOFTMAX: linked and not in the table") for note in audit.notes)


def test_of_several_live_tables_the_one_that_fits_best_is_audited(compile_image: Compile) -> None:
    tables = [live("ADD", slots=1, name="other"), live("CONV_2D", slots=1, name="mine")]
    audit = check_live(compile_image(BOTH, 2), needs("CONV_2D"), tables)
    assert audit.verdict is Verdict.OK and audit.resolvers[0].name == "mine"


def test_without_a_live_table_there_is_nothing_to_audit(compile_image: Compile) -> None:
    with pytest.raises(UsageError, match="no resolver"):
        check_live(compile_image(BOTH, 2), needs("CONV_2D"), [])


def test_an_operator_of_a_second_subgraph_is_needed_too(compile_image: Compile) -> None:
    one, two = needs("CONV_2D"), needs("SOFTMAX")
    model = replace(one, subgraphs=(*one.subgraphs, *two.subgraphs))
    assert check(compile_image(CONV, 1), model).missing == ("SOFTMAX",)


def test_a_relu6_between_two_ranges_is_noted_and_fails_nothing(compile_image: Compile) -> None:
    tensors = [T([1, 4], scale=0.5, zero=3), T([1, 4], scale=0.25), T([1, 4], scale=0.25)]
    rows = [Op("RELU6", [0], [1]), Op("RELU6", [1], [2])]
    model = Model.from_bytes(build(tensors, rows, [0], [2]), "relu6.tflite")
    audit = check(compile_image(BOTH, 2), model)
    (note,) = (note for note in audit.notes if "RELU6" in note)
    assert note.startswith("operator 0 RELU6: tflite-micro does not rescale from (0.5, 3)")
    assert audit.verdict is Verdict.MISSING  # for want of RELU6, not for its ranges


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


NONE_FOR_THIS_BUILD = """
namespace tflite {
TFLMRegistration* Register_ETHOSU();
inline void AddEthosU() { if (auto* made = Register_ETHOSU()) made->builtin_code = 1; }
}
"""


@pytest.mark.parametrize("level", ["-O0", "-Os"])
def test_a_registration_function_that_returns_nullptr_registers_nothing(
    tmp_path: Path, level: str
) -> None:
    if not has_gcc():
        pytest.skip("no arm-none-eabi-g++")
    source = f'#include "little.h"\n{NONE_FOR_THIS_BUILD}'
    ethos = f"{source}TFLMRegistration* tflite::Register_ETHOSU() {{ return nullptr; }}\n"
    caller = f'{source}extern "C" void Ethos() {{ tflite::AddEthosU(); }}\n'
    elf = compile_little(
        tmp_path, register=CONV + " extern void Ethos(); Ethos();", slots=1,
        files={"null.cc": ethos, "caller.cc": caller}, extra=(level, "null.cc", "caller.cc"),
    )  # fmt: skip
    image = Firmware.from_elf(elf)
    assert image.symbol("_ZN6tflite15Register_ETHOSUEv") is not None
    audit = check(image, needs("CONV_2D"))
    assert (audit.verdicts, audit.registered) == ((Verdict.OK,), ("CONV_2D",))
