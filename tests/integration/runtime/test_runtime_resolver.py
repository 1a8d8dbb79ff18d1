"""Generated resolvers, compiled for this machine with the runtime's own sources, and run."""

from __future__ import annotations

import subprocess
from pathlib import Path

import needs
import pytest
from runtime_headers import RUNTIME, include_folders

from harness.base import paths
from harness.model import Model
from harness.resolver import generate

MODELS = sorted(paths.models().glob("*.tflite"))

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


@pytest.mark.slow
def test_the_generated_resolver_runs_and_finds_every_operator(
    tmp_path: Path,
) -> None:
    needs.require("g++")
    models = [Model.from_file(path) for path in MODELS]
    _write_program(tmp_path, models)
    sources = [str(path) for path in sorted(RUNTIME.rglob("*.cc"))]
    done = subprocess.run(
        ["g++", "-std=c++17", "-O0", "-w", "-fno-exceptions", "-fno-rtti", "-ffunction-sections",
         "-Wl,--gc-sections",
         *(f"-I{include}" for include in include_folders(tmp_path / "runtime")), "use.cc",
         *sources, "-o", "use"],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    said = subprocess.run(["./use"], cwd=tmp_path, capture_output=True, text=True, check=True,
                          timeout=20)  # fmt: skip
    status, *found = said.stdout.split()
    assert status == "0"
    assert set(found) == {name for model in models for name in model.operator_names}
