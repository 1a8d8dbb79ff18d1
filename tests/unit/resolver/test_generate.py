from __future__ import annotations

import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest
from model_builder import Op, T, build

from harness import paths
from harness.errors import UsageError
from harness.model import Model
from harness.resolver import generate
from harness.resolver.methods import builtin_method, custom_method

MODELS = sorted(paths.models().glob("*.tflite"))


def custom(*names: str) -> Model:
    operators = [Op("CUSTOM", [i], [i + 1], custom=name) for i, name in enumerate(names)]
    tensors = [T([1], scale=0.5) for _ in range(len(names) + 1)]
    return Model.from_bytes(build(tensors, operators, [0], [len(names)]), "custom.tflite")


def test_methods_are_those_that_the_samples_table_names() -> None:
    table = tomllib.loads((paths.samples() / "resolvers.toml").read_text("utf-8"))["methods"]
    assert {name: builtin_method(name) for name in table} == table
    assert len(table) > 50


def test_custom_operators_of_the_library_have_methods_of_their_own() -> None:
    assert custom_method("SignalFilterBankLog") == "AddFilterBankLog"
    assert custom_method("TFLite_Detection_PostProcess") == "AddDetectionPostprocess"
    assert custom_method("Atan") == ""


@pytest.mark.parametrize("path", MODELS, ids=lambda path: path.stem)
def test_every_needed_operator_is_added_once(path: Path) -> None:
    model = Model.from_file(path)
    text = generate([model])
    names = model.operator_names
    for name in names:
        added = f'AddCustom("{name}"' if name in model.custom_operator_names else (
            f"resolver.{builtin_method(name)}()")  # fmt: skip
        assert text.count(added) == 1
    assert f"kModelOperators = {len(names)};" in text


def test_several_models_share_one_resolver() -> None:
    models = [Model.from_file(path) for path in MODELS]
    text = generate(models)
    needed = {name for model in models for name in model.operator_names}
    assert f"kModelOperators = {len(needed)};" in text
    assert all(model.name in text for model in models)


def test_a_custom_name_is_escaped_and_its_function_is_an_identifier() -> None:
    text = generate([custom('we"ird-op\\')])
    assert 'AddCustom("we\\042ird-op\\134", Register_we_ird_op_())' in text
    assert "const TFLMRegistration* Register_we_ird_op_();" in text


def test_custom_names_that_would_share_a_function_are_refused() -> None:
    with pytest.raises(UsageError, match="share a registration function"):
        generate([custom("a-b", "a.b")])


def test_no_model_and_a_bad_namespace_are_refused() -> None:
    with pytest.raises(UsageError, match="needs a model"):
        generate([])
    with pytest.raises(UsageError, match="namespace"):
        generate([custom("a")], namespace="no good")


_USE = """
#include "resolver.h"
#include <cstdio>
extern "C" void DebugLog(const char*, va_list) {}
CUSTOM
int main() {
  static my::app::ModelResolver resolver;
  const TfLiteStatus status = my::app::RegisterOperators(resolver);
  std::printf("%d\\n", status);
  for (int code = 0; code <= tflite::BuiltinOperator_MAX; ++code) {
    const auto op = static_cast<tflite::BuiltinOperator>(code);
    if (resolver.FindOp(op)) std::printf("%s\\n", tflite::EnumNameBuiltinOperator(op));
  }
  for (const char* name : {CUSTOM_NAMES ""})
    if (*name && resolver.FindOp(name)) std::printf("%s\\n", name);
}
"""
_CUSTOM = """
namespace my::app {
const TFLMRegistration* Register_Atan() {
  static const TFLMRegistration registration = {};
  return &registration;
}
}  // namespace my::app
"""


def _write_program(folder: Path, models: list[Model]) -> None:
    customs = sorted({name for model in models for name in model.custom_operator_names})
    text = _USE.replace("CUSTOM_NAMES", "".join(f'"{name}", ' for name in customs))
    (folder / "use.cc").write_text(text.replace("CUSTOM", _CUSTOM if customs else ""))
    (folder / "resolver.h").write_text(generate(models, namespace="my::app"))


@pytest.mark.parametrize("path", MODELS, ids=lambda path: path.stem)
def test_the_header_compiles_without_warnings_against_the_standalone_runtime(
    path: Path, tmp_path: Path, runtime_includes: list[Path]
) -> None:
    if shutil.which("arm-none-eabi-g++") is None:
        pytest.skip("no arm-none-eabi-g++")
    _write_program(tmp_path, [Model.from_file(path)])
    done = subprocess.run(
        ["arm-none-eabi-g++", "-std=c++17", "-mcpu=cortex-m33", "-mthumb", "-fsyntax-only", "-Wall",
         "-Wextra", "-Werror", "-fno-rtti", "-fno-exceptions",
         *(f"-I{include}" for include in runtime_includes), "use.cc"],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


def test_the_generated_resolver_runs_and_finds_every_operator(
    tmp_path: Path, runtime_includes: list[Path]
) -> None:
    """Compiled for this machine with the standalone runtime's own sources, and run."""
    if shutil.which("g++") is None:
        pytest.skip("no g++ for this machine")
    models = [Model.from_file(path) for path in MODELS]
    _write_program(tmp_path, models)
    sources = [str(path) for path in sorted(runtime_includes[0].rglob("*.cc"))]
    done = subprocess.run(
        ["g++", "-std=c++17", "-O0", "-w", "-fno-exceptions", "-fno-rtti", "-ffunction-sections",
         "-Wl,--gc-sections",
         *(f"-I{include}" for include in runtime_includes), "use.cc", *sources, "-o", "use"],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    said = subprocess.run(["./use"], cwd=tmp_path, capture_output=True, text=True, check=True,
                          timeout=20)  # fmt: skip
    status, *found = said.stdout.split()
    assert status == "0"
    assert set(found) == {name for model in models for name in model.operator_names}
