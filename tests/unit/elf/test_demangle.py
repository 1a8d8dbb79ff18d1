from __future__ import annotations

import subprocess

import needs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.elf import Image
from harness.elf.demangle import demangle, qualified, short_name

# Names as compilers emitted them, with what c++filt makes of them.
KNOWN = {
    "main": "main",
    "_Z11MicroPrintfPKcz": "MicroPrintf(char const*, ...)",
    "_ZN6tflite24Register_FULLY_CONNECTEDEv": "tflite::Register_FULLY_CONNECTED()",
    "_ZN6tflite22MicroMutableOpResolverILj5EED0Ev":
        "tflite::MicroMutableOpResolver<5u>::~MicroMutableOpResolver()",
    "_ZNK6tflite22MicroMutableOpResolverILj1EE6FindOpEPKc":
        "tflite::MicroMutableOpResolver<1u>::FindOp(char const*) const",
    "_ZN6tflite12_GLOBAL__N_18ConvEvalEP13TfLiteContextP10TfLiteNode":
        "tflite::(anonymous namespace)::ConvEval(TfLiteContext*, TfLiteNode*)",
    "_ZTVN6tflite14MicroAllocatorE": "vtable for tflite::MicroAllocator",
    "_ZGVZ5setupE8resolver": "guard variable for setup::resolver",
    "_ZZ5setupE8resolver": "setup::resolver",
    "_ZN6tflite5micro13GetTensorDataIaEEPKT_PK16TfLiteEvalTensor":
        "signed char const* tflite::micro::GetTensorData<signed char>(TfLiteEvalTensor const*)",
    "_ZN6tflite5micro10RegisterOpEPFPvP13TfLiteContextPKcjEPF12TfLiteStatusS3_P10TfLiteNodeESC_"
    "PFvS3_S1_ESE_":
        "tflite::micro::RegisterOp(void* (*)(TfLiteContext*, char const*, unsigned int), "
        "TfLiteStatus (*)(TfLiteContext*, TfLiteNode*), "
        "TfLiteStatus (*)(TfLiteContext*, TfLiteNode*), "
        "void (*)(TfLiteContext*, void*), void (*)(TfLiteContext*, void*))",
    "_ZN6tflite11MatchingDimERKNS_12RuntimeShapeEiS2_i.isra.0":
        "tflite::MatchingDim(tflite::RuntimeShape const&, int, tflite::RuntimeShape const&, int) "
        "[clone .isra.0]",
    "_ZN3hil3RunILj1ELj3072EEEiRN6tflite22MicroMutableOpResolverIXT_EEERAT0__hRKNS_5HooksE":
        "int hil::Run<1u, 3072u>(tflite::MicroMutableOpResolver<1u>&, unsigned char (&) [3072u], "
        "hil::Hooks const&)",
    "_ZN8gemmlowpmlIiLi0ELi0EEENS_10FixedPointIT_XplT0_T1_EEENS1_IS2_XT0_EEENS1_IS2_XT1_EEE":
        "gemmlowp::FixedPoint<int, (0)+(0)> gemmlowp::operator*<int, 0, 0>("
        "gemmlowp::FixedPoint<int, 0>, gemmlowp::FixedPoint<int, 0>)",
    "_ZSt9terminatev": "std::terminate()",
    "_Znwj": "operator new(unsigned int)",
    "_Z1fIOiEvRT_": "void f<int&&>(int&)",
    "_Z1fIRiEvOT_": "void f<int&>(int&)",
    "_Z1fIOiEvOT_": "void f<int&&>(int&&)",
    "_Z1fIRiEvRT_": "void f<int&>(int&)",
    "_Z1fIOKiEvRT_": "void f<int const&&>(int const&)",
}  # fmt: skip


@pytest.mark.parametrize("mangled", KNOWN)
def test_names_read_as_c_plus_plus_writes_them(mangled: str) -> None:
    assert demangle(mangled) == KNOWN[mangled]


def test_every_name_of_a_compiled_image_reads_as_c_plus_plus_filt_writes_it(
    little: Image,
) -> None:
    needs.require("binutils")
    names = sorted({s.name for s in little.symbols if s.name.startswith("_Z")})
    said = subprocess.run(["c++filt"], input="\n".join(names), capture_output=True, text=True,
                          check=True).stdout.splitlines()  # fmt: skip
    assert [demangle(name) for name in names] == said
    assert len(names) > 10


def test_the_qualified_name_has_no_parameters() -> None:
    name = "_ZN6tflite12_GLOBAL__N_18ConvEvalEP13TfLiteContextP10TfLiteNode"
    assert qualified(name) == "tflite::(anonymous namespace)::ConvEval"
    assert short_name(name) == "tflite::ConvEval"


@given(st.text(alphabet="NKSTIEZLXPRFvijcAtsL_0123456789GVadC1D2UlB", max_size=60))
def test_garbage_comes_back_as_it_is_or_as_some_text(tail: str) -> None:
    assert demangle("_Z" + tail)
    assert isinstance(qualified("_Z" + tail), str)


def test_a_constructor_of_nothing_comes_back_as_it_is() -> None:
    assert demangle("_ZC1") == "_ZC1"


def test_deep_nesting_ends() -> None:
    name = "_Z1f" + "P" * 5000 + "i"
    assert demangle(name) == name


def test_a_name_that_would_unfold_without_end_stays_as_it_is() -> None:
    levels = "".join(f"1PIS{number}_S{number}_E" for number in "0123456789ABCDEFGHIJ")
    tangled = f"_Z1f1A1PIS_S_E{levels}"
    assert demangle(tangled) == tangled
    assert qualified(tangled) == tangled
    assert demangle("_Z" + "1" * 5000) == "_Z" + "1" * 5000
