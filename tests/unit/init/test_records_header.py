"""hil_records.h of `tflm-hil init --records`, in C and C++, and its records."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from harness import Verdict, load_cases, run_case
from harness.cli import main

EXAMPLE = Path(__file__).parents[3] / "examples" / "bare_metal"
GCC = shutil.which("arm-none-eabi-gcc")
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Werror"]

LOOP = """
static void PutChar(char byte) {
  const char text[2] = {byte, 0};
  Print(text);
}

static int8_t arena[16];

void Main(void) {
  HilRecords records = {PutChar, 0, 0};
  const int input_dims[] = {1, INPUTS}, output_dims[] = {1, OUTPUTS};
  const uint32_t count = sizeof kWindows / sizeof *kWindows;
  UartStart();
  HilBoot(&records, "windows", "my board", model, 688, "v1");
  HilTensor(&records, "input", 0, "int8", input_dims, 2, IN_SCALE, 0);
  HilTensor(&records, "output", 0, "int8", output_dims, 2, OUT_SCALE, OUTPUT_ZERO_POINT);
  HilArena(&records, sizeof arena, sizeof arena);
  HilStartTicks();
  for (uint32_t i = 0; i < count; i++) {
    HilBytes(&records, "input", i, 0, kWindows[i], INPUTS);
    const uint32_t start = HilTicks();
    Invoke(kWindows[i], arena);
    const uint32_t ticks = HilTicks() - start;
    HilBytes(&records, "output", i, 0, arena, OUTPUTS);
    HilInference(&records, i, ticks, 64000000, 0);
  }
  HilEnd(&records, count, 0);
}
"""


@pytest.fixture
def header(tmp_path) -> Path:
    assert main(["init", "--records", str(tmp_path)]) == 0
    return tmp_path / "hil_records.h"


@pytest.mark.needs("arm-none-eabi-gcc")
@pytest.mark.parametrize(
    "language", [("c", "c99"), ("c", "c17"), ("c++", "c++11"), ("c++", "c++20")]
)
def test_it_compiles_without_a_warning(header, language):
    kind, standard = language
    command = [GCC, "-mcpu=cortex-m33", *WARNINGS, f"-std={standard}", "-x", kind, "-include"]
    command += [str(header), "-fsyntax-only", "/dev/null"]
    subprocess.run(command, check=True, capture_output=True)


def test_it_is_not_written_over_another(header, capsys):
    header.write_text("mine")
    assert main(["init", "--records", str(header.parent)]) == 2
    assert "would be overwritten" in capsys.readouterr().err
    assert header.read_text() == "mine"


def image(folder: Path, loop: str) -> None:
    from harness.model import Model

    (folder / "src").mkdir()
    for name in ("src/weights.h", "firmware.ld", "model.tflite"):
        shutil.copy(EXAMPLE / name, folder / name)
    model = Model.from_file(folder / "model.tflite")
    text = (EXAMPLE / "src" / "main.c").read_text()
    start, end = text.index("void Main(void)"), text.index("extern uint32_t _data_start")
    scales = (model.inputs[0].scale, model.outputs[0].scale)
    (folder / "src" / "main.c").write_text(
        '#include "../hil_records.h"\n'
        f"#define IN_SCALE {scales[0]!r}f\n#define OUT_SCALE {scales[1]!r}f\n"
        + text[:start] + loop + text[end:]
    )  # fmt: skip
    subprocess.run(
        [str(GCC), "-mcpu=cortex-m33", "-mthumb", "-Os", "-nostdlib", "-ffreestanding",
         "-T", "firmware.ld", "src/main.c", "-lgcc", "-o", "app.elf"],
        check=True, capture_output=True, cwd=folder,
    )  # fmt: skip
    (folder / "hil.toml").write_text(
        '[[case]]\nname = "a"\nelf = "app.elf"\nmodel = "model.tflite"\n'
    )


@pytest.mark.needs("arm-none-eabi-gcc")
def test_its_records_are_compared_with_the_model(header, tmp_path):
    image(tmp_path, LOOP)
    [case] = load_cases(tmp_path / "hil.toml")
    result = run_case(case, tmp_path / "out")
    assert (result.passed, result.outputs_compared, result.reason) == (True, 15, result.reason)


@pytest.mark.needs("arm-none-eabi-gcc")
@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("Invoke(kWindows[i], arena);", "Invoke(kWindows[0], arena);", "output values differ"),
        ("model, 688", "model, 687", "the image runs a model"),
        ('"output", 0, "int8"', '"output", 0, "uint8"', "type"),
        ("HilEnd(&records, count, 0);", "", "no end record"),
    ],
)
def test_a_wrong_record_fails(header, tmp_path, old, new, words):
    image(tmp_path, LOOP.replace(old, new))
    [case] = load_cases(tmp_path / "hil.toml")
    result = run_case(case, tmp_path / "out")
    assert result.verdict in (Verdict.FAIL, Verdict.FIRMWARE)
    assert words in " ".join(
        [result.reason, *result.judgement.problems, *map(str, result.findings)]
    )
