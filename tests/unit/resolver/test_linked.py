"""What is linked into an image, which is known without running it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from elf_writer import MadeSection, MadeSymbol, write_elf
from little_runs import BOTH, CONV

from harness.elf import Image
from harness.model.schema import OPERATOR_NAMES
from harness.resolver.linked import kernel_operator, linked

Compile = Callable[..., Image]

OWN = """
inline TfLiteStatus Eval(TfLiteContext*, TfLiteNode* n) { return n->x; }
inline const TFLMRegistration* Register_Atan() {
  static const TFLMRegistration record = {0, 0, 0, Eval, 0, 32, "Atan"};
  return &record;
}
"""
UNREACHED = """
extern "C" __attribute__((used)) inline void nobody_calls_this() {
  tflite::MicroMutableOpResolver<1> other;
  other.AddAdd();
  asm volatile("" :: "r"(&other) : "memory");
}
"""
VARIANT = """
namespace tflite {
__attribute__((noipa)) inline TFLMRegistration Register_CONV_2D_INT8() {
  return Register_CONV_2D();
}
}
"""
NULL = """
namespace tflite {
__attribute__((noipa)) inline const TFLMRegistration* Register_ETHOSU() { return nullptr; }
}
"""
LTO = ("-flto", "-fno-fat-lto-objects")
#: Registration, code above, options; then the operators that are linked.
LINKED = {
    "by their registration functions": (BOTH, "", (), "CONV_2D SOFTMAX"),
    "by their kernels, where link-time optimization leaves no such function": (
        BOTH, "", LTO, "CONV_2D SOFTMAX"),
    "by the record that an inlined custom registration left": (
        f'{CONV} asm volatile("" :: "r"(Register_Atan()));', OWN, (), "Atan CONV_2D"),
    "not by code that nobody calls": (CONV, UNREACHED, ("-Wl,-u,nobody_calls_this",), "CONV_2D"),
    "once, if a variant asks for the functions of its operator": (
        'auto made = tflite::Register_CONV_2D_INT8(); asm volatile("" :: "r"(&made) : "memory");',
        VARIANT, ("-fno-optimize-sibling-calls",), "CONV_2D"),
    "not by a function that returns nullptr": (
        f'{CONV} asm volatile("" :: "r"(tflite::Register_ETHOSU()));', NULL, (), "CONV_2D"),
}  # fmt: skip


@pytest.mark.parametrize("how", LINKED)
def test_operators_are_known_to_be_linked(compile_image: Compile, how: str) -> None:
    register, above, extra, names = LINKED[how]
    image = compile_image(register, above=above, extra=extra)
    found = linked(image).operators
    assert found == tuple((name, name not in OPERATOR_NAMES) for name in names.split())


def test_each_has_the_flash_that_it_alone_needs(compile_image: Compile) -> None:
    costs = linked(compile_image(BOTH)).costs
    assert costs.keys() == {("CONV_2D", False), ("SOFTMAX", False)}
    assert all(cost > 60 for cost in costs.values())


def test_a_registration_that_the_entry_point_is_counts(tmp_path: Path) -> None:
    path = tmp_path / "made.elf"
    entry = MadeSymbol("_ZN6tflite16Register_CONV_2DEv", 1, 16, "func")
    code = MadeSection(".text", 0, bytes(32), load=0, executable=True)
    path.write_bytes(write_elf([code], [entry]))
    assert linked(Image.from_elf(path)).operators == (("CONV_2D", False),)


@pytest.mark.parametrize(
    ("function", "stem", "operator"),
    [("ConvEval", "conv", "CONV_2D"), ("AverageEval", "pooling", "AVERAGE_POOL_2D"),
     ("MaxPrepare", "pooling", "MAX_POOL_2D"), ("FullyConnectedEval", "", "FULLY_CONNECTED"),
     ("Eval", "softmax", "SOFTMAX"), ("Eval", "main", ""), ("SoftmaxEvalInt8", "x", "SOFTMAX")],
)  # fmt: skip
def test_kernel_functions_tell_their_operator(function: str, stem: str, operator: str) -> None:
    assert kernel_operator(function, stem) == operator
