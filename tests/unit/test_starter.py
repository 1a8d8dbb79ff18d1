"""`tflm-hil init`: a first case file that runs, for firmware of any kind."""

from __future__ import annotations

import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

from harness import load_cases, run_case, starter
from harness.cli import main
from harness.errors import UsageError

FIRMWARE = Path(__file__).parents[1] / "firmware"
GCC = shutil.which("arm-none-eabi-gcc")
pytestmark = pytest.mark.skipif(GCC is None, reason="needs arm-none-eabi-gcc")

LOOPING = """
#include "machine.h"
void Main(void) {
  UartStart();
  Print("hello\\r\\n");
  for (;;) {
    Print("sum: 3, product: -4\\r\\n");
    Print("sum: 5, product: 6\\r\\n");
    for (volatile int i = 0; i < 100000; i++) {
    }
  }
}
"""


def image(folder: Path, source: str) -> Path:
    elf = folder / "build" / "app.elf"
    elf.parent.mkdir(exist_ok=True)
    (folder / "app.c").write_text(source)
    subprocess.run(
        [str(GCC), "-mcpu=cortex-m33", "-mthumb", "-Os", "-nostdlib", "-ffreestanding",
         "-I", FIRMWARE, "-T", FIRMWARE / "machine.ld", folder / "app.c", "-lgcc", "-o", elf],
        check=True, capture_output=True,
    )  # fmt: skip
    return elf


@pytest.mark.parametrize(
    "source",
    [(FIRMWARE / "sine.c").read_text(), LOOPING, LOOPING.replace('"hello', '"tick 1')],
    ids=["ends", "loops", "another form"],
)
def test_what_is_written_runs_and_passes(source, tmp_path):
    image(tmp_path, source)
    assert main(["init", str(tmp_path)]) == 0
    [case] = load_cases(tmp_path / "hil.toml")
    result = run_case(case, tmp_path / "out")
    assert result.passed, result.reason
    assert result.outputs_compared >= 4


def test_a_number_that_never_comes_again_is_not_expected(tmp_path):
    counter = LOOPING.replace(
        'Print("sum: 5, product: 6\\r\\n");',
        'static char text[] = "sum: 0, product: 6\\r\\n";\n    text[5] = text[5] + 1;\n'
        "    Print(text);",
    )
    image(tmp_path, counter)
    found = starter.look(tmp_path)
    assert found.printed is None or "sum" not in found.printed.values[0]


def test_the_model_is_the_one_whose_bytes_are_in_the_image(tmp_path):
    (tmp_path / "other.tflite").write_bytes(b"TFL3 another model" * 20)
    model = b"TFL3 my model" * 9
    (tmp_path / "mine.tflite").write_bytes(model)
    listed = ",".join(str(byte) for byte in model)
    image(
        tmp_path,
        LOOPING.replace(
            "void Main",
            f"const unsigned char model[] __attribute__((used)) = {{{listed}}};\nvoid Main",
        ),
    )
    found = starter.look(tmp_path)
    assert found.model == tmp_path / "mine.tflite"


def test_nothing_is_overwritten_and_nothing_half_written(tmp_path, capsys):
    image(tmp_path, LOOPING)
    (tmp_path / "test_firmware.py").write_text("mine")
    assert main(["init", str(tmp_path)]) == 2
    assert "test_firmware.py" in capsys.readouterr().err
    assert (tmp_path / "test_firmware.py").read_text() == "mine"
    assert not (tmp_path / "hil.toml").exists()


def test_a_folder_without_firmware_is_told_so(tmp_path):
    with pytest.raises(UsageError, match=r"holds no \.elf"):
        starter.look(tmp_path)


def test_the_case_file_is_toml_whatever_the_names_hold(tmp_path):
    elf = image(tmp_path, LOOPING)
    odd = elf.with_name('a "quoted" \\ name.elf')
    elf.rename(odd)
    text = starter.texts(starter.look(tmp_path), tmp_path)["hil.toml"]
    assert tomllib.loads(text)["case"][0]["elf"] == f"build/{odd.name}"
