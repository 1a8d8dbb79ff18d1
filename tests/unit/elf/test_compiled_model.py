"""A model that was compiled into code: each command that needs an interpreter says so, in a line.

Such an image calls kernels of tflite-micro and has no interpreter and no resolver (EON of Edge
Impulse). With link-time optimization an image may look alike, and is told what it is.
"""

from __future__ import annotations

from pathlib import Path

import needs
import pytest
from little_tflm import INTERPRET, MAIN, compile_little

from harness.base import paths
from harness.base.errors import UsageError
from harness.cli import main
from harness.elf import Image
from harness.elf.functions import address_of
from harness.elf.interpreter import COMPILED_MODEL, is_compiled_model, is_kernel

#: The kernels are called as a compiler of models calls them: by their registrations, in order.
COMPILED = r"""
alignas(16) unsigned char tensor_arena[2048];
extern "C" __attribute__((noinline)) int loop() {
  TfLiteNode node{static_cast<int>(g_model[2]) + tensor_arena[5]};
  const TFLMRegistration steps[] = {tflite::Register_CONV_2D(), tflite::Register_SOFTMAX()};
  for (const auto& step : steps) step.prepare(nullptr, &node);
  for (const auto& step : steps) step.invoke(nullptr, &node);
  return node.x;
}
"""
#: What stands before and behind it: start-up code without a resolver.
BEFORE, _, REST = MAIN.partition("int initialised")
BEHIND = REST[REST.index('extern "C" void (*__init_array_start') :].replace("setup();", "")
MODEL = str(paths.models() / "hello_world_int8.tflite")


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    needs.require("arm-none-eabi-gcc")
    text = (BEFORE + COMPILED + BEHIND).replace("INCLUDE", "")
    text = text.replace("alignas(16) unsigned char tensor_arena[2048];\n", "", 1)
    return compile_little(tmp_path_factory.mktemp("compiled"), files={"main.cc": text})


@pytest.mark.parametrize(
    ("command", "code"),
    [
        (["resolver", "check", "{elf}", MODEL], 5),
        (["resolver", "dump", "{elf}"], 5),
        (["layers", "{elf}", "--model", MODEL], 2),
        (["arena", "{elf}"], 2),
        (["campaign", "{elf}", "--model", MODEL], 2),
    ],
    ids=lambda value: " ".join(value[:2]) if isinstance(value, list) else None,
)
def test_a_command_says_it_once_and_without_a_hint(
    command: list[str], code: int, compiled: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([word.format(elf=compiled) for word in command]) == code
    error = capsys.readouterr().err
    assert error.count(COMPILED_MODEL) == 1
    assert "hint:" not in error


@pytest.mark.parametrize("interpret", ["", INTERPRET], ids=["inlined", "called"])
def test_link_time_optimization_is_told_as_what_it_is(interpret: str, tmp_path: Path) -> None:
    needs.require("arm-none-eabi-gcc")
    image = Image.from_elf(compile_little(tmp_path, interpret=interpret, extra=("-flto",)))
    assert any(is_kernel(symbol.name) for symbol in image.symbols)
    assert not is_compiled_model(image)
    with pytest.raises(UsageError, match="no function") as told:
        address_of(image, "MicroInterpreter::Invoke")
    assert "link-time optimization" in told.value.hint
