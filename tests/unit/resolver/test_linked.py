"""What code registers, and how often: callers, inlined registrations, kernels."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from elf_writer import MadeSection, MadeSymbol, write_elf
from operator_chain import operator_chain

from harness.elf import Image
from harness.resolver import AuditVerdict, check
from harness.resolver.linked import Linked, kernel_operator

Compile = Callable[..., Image]

BOTH = "resolver.AddConv2D(); resolver.AddSoftmax();"
CONV = "resolver.AddConv2D();"


LTO = ("-flto", "-fno-fat-lto-objects")

OWN = """
#include "little.h"
inline TfLiteStatus Eval(TfLiteContext*, TfLiteNode* n) { return n->x; }
inline const TFLMRegistration* Register_Atan() {
  static const TFLMRegistration record = {0, 0, 0, Eval, 0, 32, "Atan"};
  return &record;
}
"""


def test_with_inlined_registrations_the_kernels_are_found(compile_image: Compile) -> None:
    """Link-time optimization leaves no Register_* function."""
    linked = Linked(compile_image(BOTH, 3, extra=LTO))
    assert not any("Register_" in symbol.name for symbol in linked.image.symbols)
    assert linked.method == "kernels"
    assert linked.calls == {("CONV_2D", False): 1, ("SOFTMAX", False): 1}


def test_an_inlined_custom_registration_is_known_by_the_record_it_left(
    compile_image: Compile,
) -> None:
    image = compile_image(
        CONV + 'asm volatile("" :: "r"(Register_Atan()));', slots=2,
        files={"own.h": OWN}, extra=("-include", "own.h"),
    )  # fmt: skip
    assert not any(s.kind == "func" and "Register_Atan" in s.name for s in image.symbols)
    assert Linked(image).calls.keys() == {("CONV_2D", False), ("Atan", True)}


@pytest.mark.parametrize("level", ["-O0", "-Os"])
def test_a_method_that_is_called_twice_registers_twice(compile_image: Compile, level: str) -> None:
    for calls, found in ((CONV, 1), (CONV + CONV, 2)):
        (row,) = check(compile_image(calls, 2, extra=(level,)), operator_chain("CONV_2D")).operators
        assert row.calls == found


UNREACHED = """#include "little.h"
extern "C" void nobody_calls_this() {
  tflite::MicroMutableOpResolver<1> other;
  other.AddConv2D();
  asm volatile("" :: "r"(&other) : "memory");
}
"""


@pytest.mark.parametrize("level", ["-O0", "-Os"])
def test_code_that_nobody_calls_registers_nothing(compile_image: Compile, level: str) -> None:
    image = compile_image(
        CONV, slots=1, files={"unreached.cc": UNREACHED},
        extra=(level, "unreached.cc", "-Wl,-u,nobody_calls_this"),
    )  # fmt: skip
    assert image.symbol("nobody_calls_this") is not None
    (row,) = check(image, operator_chain("CONV_2D")).operators
    assert row.calls == 1


VARIANT = """#include "little.h"
namespace tflite {
TFLMRegistration Register_CONV_2D_INT8();
__attribute__((noinline)) TFLMRegistration Register_CONV_2D_INT8() { return Register_CONV_2D(); }
}
extern "C" void RegisterVariant() {
  auto made = tflite::Register_CONV_2D_INT8();
  asm volatile("" :: "r"(&made) : "memory");
}
"""


def test_a_registration_that_asks_another_for_its_functions_is_one(compile_image: Compile) -> None:
    image = compile_image(
        "RegisterVariant();", slots=1,
        files={"variant.cc": VARIANT, "variant.h": 'extern "C" void RegisterVariant();'},
        extra=("variant.cc", "-include", "variant.h", "-fno-optimize-sibling-calls"),
    )  # fmt: skip
    assert Linked(image).calls == {("CONV_2D", False): 1}


def without_a_resolver(folder: Path, *symbols: MadeSymbol) -> Image:
    """An image that starts in CONV_2D's registration function."""
    path = folder / "made.elf"
    entry = MadeSymbol("_ZN6tflite16Register_CONV_2DEv", 1, 16, "func")
    code = MadeSection(".text", 0, bytes(32), load=0, executable=True)
    path.write_bytes(write_elf([code], [entry, *symbols]))
    return Image.from_elf(path)


def test_a_registration_that_nobody_calls_by_name_is_one(tmp_path: Path) -> None:
    linked = Linked(without_a_resolver(tmp_path))
    assert (linked.method, linked.resolvers) == ("registrations", ())
    assert linked.calls == {("CONV_2D", False): 1}


def test_a_resolver_of_all_operators_is_noted(tmp_path: Path) -> None:
    name = "_ZN6tflite14AllOpsResolverC1Ev"
    image = without_a_resolver(tmp_path, MadeSymbol(name, 17, 4, "func"))
    assert (
        "AllOpsResolver is linked: every operator is in the image "
        "(tflite::AllOpsResolver::AllOpsResolver())"
    ) in check(image, operator_chain("CONV_2D")).notes


def test_a_custom_operator_is_known_by_the_name_under_which_it_is_added(
    compile_image: Compile,
) -> None:
    """``AddCustom("Atan", registration)`` with a registration under any name."""
    add = f'{CONV} auto own = tflite::Register_SOFTMAX(); resolver.AddCustom("Atan", &own);'
    image = compile_image(add, 2)
    assert check(image, operator_chain("CONV_2D", custom="Atan")).verdicts == (AuditVerdict.OK,)
    assert check(image, operator_chain("CONV_2D", custom="Tan")).missing == ("Tan",)
    assert check(image, operator_chain("CONV_2D", "SOFTMAX")).missing == ("SOFTMAX",)


@pytest.mark.parametrize(
    ("function", "stem", "operator"),
    [("ConvEval", "conv", "CONV_2D"), ("AverageEval", "pooling", "AVERAGE_POOL_2D"),
     ("MaxPrepare", "pooling", "MAX_POOL_2D"), ("FullyConnectedEval", "", "FULLY_CONNECTED"),
     ("Eval", "softmax", "SOFTMAX"), ("Eval", "main", ""), ("SoftmaxEvalInt8", "x", "SOFTMAX")],
)  # fmt: skip
def test_kernel_functions_tell_their_operator(function: str, stem: str, operator: str) -> None:
    assert kernel_operator(function, stem) == operator


NONE_FOR_THIS_BUILD = """
namespace tflite {
TFLMRegistration* Register_ETHOSU();
inline void AddEthosU() { if (auto* made = Register_ETHOSU()) made->builtin_code = 1; }
}
"""


@pytest.mark.parametrize("level", ["-O0", "-Os"])
def test_a_registration_function_that_returns_nullptr_registers_nothing(
    compile_image: Compile, level: str
) -> None:
    source = f'#include "little.h"\n{NONE_FOR_THIS_BUILD}'
    ethos = f"{source}TFLMRegistration* tflite::Register_ETHOSU() {{ return nullptr; }}\n"
    caller = f'{source}extern "C" void Ethos() {{ tflite::AddEthosU(); }}\n'
    image = compile_image(
        CONV + " extern void Ethos(); Ethos();", slots=1,
        files={"null.cc": ethos, "caller.cc": caller}, extra=(level, "null.cc", "caller.cc"),
    )  # fmt: skip
    assert image.symbol("_ZN6tflite15Register_ETHOSUEv") is not None
    audit = check(image, operator_chain("CONV_2D"))
    assert (audit.verdicts, audit.registered) == ((AuditVerdict.OK,), ("CONV_2D",))
