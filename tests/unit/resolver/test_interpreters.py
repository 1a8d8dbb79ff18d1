"""Which resolver counts: that of the interpreter that has the model."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from little_runs import BOTH, CONV, NEEDED, audited, seen
from operator_chain import operator_chain

from harness.elf import Image
from harness.resolver import AuditVerdict

Compile = Callable[..., Image]

OTHER = operator_chain("ADD")
FOREIGN = operator_chain("CONV_2D", "ADD")
MODELS = {"g_model": NEEDED.data, "g_other": OTHER.data}
OK, MISSING, UNSURE = AuditVerdict.OK, AuditVerdict.MISSING, AuditVerdict.CANNOT_TELL


@pytest.fixture
def two(compile_image: Compile) -> Callable[[str, str], Image]:
    """An image with two models and two resolvers: registration, and use of interpreters."""
    above = "extern const unsigned g_other[];\nstatic tflite::MicroMutableOpResolver<2> other;\n"

    def compiled(register: str, interpret: str) -> Image:
        return compile_image(register, interpret=interpret, above=above, models=MODELS)

    return compiled


FIRST, SECOND = "interpret(g_model, resolver);", "interpret(g_other, other);"
CROSSED = "interpret(g_model, other); interpret(g_other, resolver);"
ADDS = "other.AddAdd();"
#: Registered, interpreters, the model that is asked for; then verdict and resolver.
TWO = {
    "the first": (BOTH + ADDS, FIRST + SECOND, NEEDED, OK, "resolver"),
    "the second": (BOTH + ADDS, FIRST + SECOND, OTHER, AuditVerdict.TOO_LARGE, "other"),
    "the other way round": (BOTH + ADDS, CROSSED, NEEDED, MISSING, "other"),
    "what the other one has does not count": (CONV + ADDS + "other.AddSoftmax();",
                                              FIRST + SECOND, NEEDED, MISSING, "resolver"),
    "one for both": (BOTH, FIRST + "interpret(g_other, resolver);", OTHER, MISSING, "resolver"),
    "allocated by turns": (BOTH + ADDS, FIRST + SECOND + FIRST, OTHER, AuditVerdict.TOO_LARGE,
                           "other"),
}  # fmt: skip


@pytest.mark.parametrize("name", TWO)
def test_of_two_interpreters_that_with_the_model_counts(
    two: Callable[[str, str], Image], name: str
) -> None:
    register, interpret, model, verdict, resolver = TWO[name]
    audit = audited(two(register, interpret), model)
    assert (audit.verdict, audit.resolver.name) == (verdict, resolver), audit.reason


def test_several_resolvers_are_noted_with_the_one_that_counts(
    two: Callable[[str, str], Image],
) -> None:
    note, *_ = audited(two(BOTH + ADDS, FIRST + SECOND)).notes
    assert note.startswith("several resolvers are in memory: resolver is that of the interpreter, "
                           "whose tensors are allocated in interpret at main.cc:")  # fmt: skip


def test_if_no_interpreter_has_the_model_their_one_resolver_counts(
    compile_image: Compile,
) -> None:
    audit = audited(compile_image(BOTH), FOREIGN)
    assert (audit.verdict, audit.missing) == (MISSING, ("ADD",))
    assert f"the interpreter gets g_model, which is not {FOREIGN.name}" in audit.notes


def test_if_no_interpreter_has_the_model_several_resolvers_cannot_be_told_apart(
    two: Callable[[str, str], Image],
) -> None:
    audit = audited(two(BOTH + ADDS, FIRST + SECOND), FOREIGN)
    assert audit.verdict is UNSURE
    assert audit.reason.startswith("several resolvers, and no interpreter has this model: "
                                   "that in interpret at main.cc:")  # fmt: skip


MADE = "interpreter(tflite::GetModel(g_model), resolver, {});"
ARENA = "tensor_arena, 2048"
ALLOCATE = "interpreter.AllocateTensors();"
#: When and how the interpreter is made, with the operators registered around it; the verdict.
MAKING = {
    "on the stack": (f"{BOTH} tflite::MicroInterpreter {MADE.format(ARENA)} {ALLOCATE}", OK),
    "in a static variable": (
        f"{BOTH} static tflite::MicroInterpreter {MADE.format(ARENA)} {ALLOCATE}", OK),
    "on a heap": (
        f"{BOTH} auto& interpreter = *new (tensor_arena + 1024) tflite::MicroInterpreter("
        f"tflite::GetModel(g_model), resolver, {ARENA}); {ALLOCATE}", OK),
    "with an allocator": (
        f"{BOTH} tflite::MicroInterpreter "
        + MADE.format(f"tflite::MicroAllocator::Create({ARENA})") + ALLOCATE, OK),
    "that records": (
        f"{BOTH} tflite::RecordingMicroInterpreter {MADE.format(ARENA)} {ALLOCATE}", OK),
    "a wrapper's member": (f"{BOTH} Wrapper wrapper(resolver); wrapper.Start();", OK),
    "before the registration": (
        f"tflite::MicroInterpreter {MADE.format(ARENA)} {BOTH} {ALLOCATE}", OK),
    "allocated before the registration": (
        f"{CONV} tflite::MicroInterpreter {MADE.format(ARENA)} {ALLOCATE} resolver.AddSoftmax();",
        MISSING),
}  # fmt: skip
WRAPPER = """
inline void* operator new(decltype(sizeof 0), void* at) noexcept { return at; }
extern const unsigned g_model[];
extern unsigned char tensor_arena[2048];
class Wrapper {
 public:
  explicit Wrapper(const tflite::MicroOpResolver& resolver)
      : interpreter_(tflite::GetModel(g_model), resolver, tensor_arena, 2048) {}
  void Start() { interpreter_.AllocateTensors(); }
 private:
  int more_[3] = {};
  tflite::MicroInterpreter interpreter_;
};
"""


@pytest.mark.parametrize("level", ["-O0", "-Os"])
@pytest.mark.parametrize("making", MAKING)
def test_it_does_not_matter_how_the_interpreter_is_made(
    compile_image: Compile, making: str, level: str
) -> None:
    code, verdict = MAKING[making]
    image = compile_image("", interpret=code, above=WRAPPER, extra=(level,))
    assert audited(image).verdict is verdict


COPY = f"{BOTH} resolver.AddAdd(); static auto copy = resolver;"


@pytest.mark.parametrize(
    ("use", "name"), [("interpret(g_model, copy);", "copy"), (FIRST, "resolver")]
)
def test_a_copy_has_what_the_original_had_and_the_attempts_are_the_original_s(
    compile_image: Compile, use: str, name: str
) -> None:
    found = seen(compile_image(COPY, interpret=use, extra=("-O0",))).resolver
    assert found is not None
    assert found.name.rpartition("::")[2] == name
    assert found.operators == ("CONV_2D", "SOFTMAX")
    assert [one.operator for one in found.refused] == ["ADD"]


def test_a_model_that_is_loaded_at_run_time_is_that_of_its_interpreter(
    compile_image: Compile,
) -> None:
    load = """
      alignas(16) static unsigned loaded[256];
      for (int i = 0; i < 256; ++i) loaded[i] = g_model[i];
      interpret(loaded, resolver);
    """
    audit = audited(compile_image(BOTH, interpret=load))
    assert audit.verdict is OK and not audit.notes
