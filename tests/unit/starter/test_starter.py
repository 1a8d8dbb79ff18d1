"""`tflm-hil init`: a first case file that runs, for firmware of any kind."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest

from harness import Verdict, load_cases, run_case, starter
from harness.base.errors import UsageError
from harness.cli import main
from harness.model import Model

FIRMWARE = Path(__file__).parents[2] / "firmware"
GCC = shutil.which("arm-none-eabi-gcc")
pytestmark = pytest.mark.needs("arm-none-eabi-gcc")

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
def test_the_written_case_file_runs_and_passes(source, tmp_path):
    image(tmp_path, source)
    assert main(["init", str(tmp_path)]) == 0
    [case] = load_cases(tmp_path / "hil.toml")
    result = run_case(case, tmp_path / "out")
    assert result.passed, result.reason
    assert result.outputs_compared >= 4


COUNTING = """
#include "machine.h"
void Main(void) {
  UartStart();
  char text[] = "sum: 00, product: 6\\r\\n";
  for (int n = 0; n < 100; n++) {
    text[5] = '0' + n / 10;
    text[6] = '0' + n % 10;
    Print(text);
    for (volatile int i = 0; i < 100000; i++) {
    }
  }
}
"""


def test_a_number_without_a_period_is_not_expected(tmp_path):
    image(tmp_path, COUNTING)
    found = starter.scan(tmp_path)
    assert found.printed is not None
    assert found.printed.values == ({"product": 6.0},)


def test_the_model_is_the_one_whose_bytes_are_in_the_image(tmp_path):
    (tmp_path / "empty.tflite").write_bytes(b"")
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
    found = starter.scan(tmp_path)
    assert found.model == tmp_path / "mine.tflite"


def test_existing_files_are_kept_and_nothing_is_written(tmp_path, capsys):
    image(tmp_path, LOOPING)
    (tmp_path / "test_firmware.py").write_text("mine")
    assert main(["init", str(tmp_path)]) == 2
    assert "test_firmware.py" in capsys.readouterr().err
    assert (tmp_path / "test_firmware.py").read_text() == "mine"
    assert not (tmp_path / "hil.toml").exists()


def test_a_folder_without_firmware_is_refused(tmp_path):
    with pytest.raises(UsageError, match=r"holds no \.elf"):
        starter.scan(tmp_path)


def test_the_case_file_is_toml_for_any_file_name(tmp_path):
    elf = image(tmp_path, LOOPING)
    odd = elf.with_name('a "quoted" \\ name.elf')
    elf.rename(odd)
    text = starter.texts(starter.scan(tmp_path), tmp_path)["hil.toml"]
    assert tomllib.loads(text)["case"][0]["elf"] == f"build/{odd.name}"


ONCE_THEN_COUNTING = """
#include "machine.h"
void Main(void) {
  UartStart();
  Print("mode 3\\r\\n");
  Print("score: 12\\r\\n");
  Print("score: -7\\r\\n");
  char text[] = "10000 idle\\r\\n";
  for (;;) {
    for (int at = 4; ++text[at] > '9'; at--) text[at] = '0';
    Print(text);
    for (volatile int i = 0; i < 100000; i++) {
    }
  }
}
"""


def test_numbers_printed_once_are_expected_of_an_image_that_goes_on(tmp_path):
    image(tmp_path, ONCE_THEN_COUNTING)
    found = starter.scan(tmp_path)
    assert not found.ends
    assert found.printed is not None
    assert found.printed.values == ({"score": 12.0}, {"score": -7.0})


WORDS = """
#include "machine.h"
void Main(void) {
  UartStart();
  Print("it's ready\\r\\n");
  for (;;) {
  }
}
"""


@pytest.mark.parametrize("source", [ONCE_THEN_COUNTING, WORDS], ids=["numbers once", "words"])
def test_firmware_that_goes_on_is_tested_by_lines_that_it_printed_once(source, tmp_path):
    image(tmp_path, source)
    assert main(["init", str(tmp_path)]) == 0
    [case] = load_cases(tmp_path / "hil.toml")
    result = run_case(case, tmp_path / "out")
    assert result.passed, result.reason


def test_the_case_file_of_a_silent_image_is_read_and_its_verdict_is_silence(tmp_path, capsys):
    image(tmp_path, '#include "machine.h"\nvoid Main(void) { for (;;) { } }')
    assert main(["init", str(tmp_path)]) == 0
    assert "printed nothing" in capsys.readouterr().out
    [case] = load_cases(tmp_path / "hil.toml")
    assert run_case(case, tmp_path / "out").verdict is Verdict.FIRMWARE


def test_output_before_a_crash_is_not_expected(tmp_path, capsys):
    crash = "  *(volatile int *)0xF0000000u = 1;\n  for"
    image(tmp_path, ONCE_THEN_COUNTING.replace("  for", crash, 1))
    assert main(["init", str(tmp_path)]) == 0
    assert "note: the run of the image failed: lockup" in capsys.readouterr().out
    assert starter.scan(tmp_path).printed is None


def printing(*lines: str, then: str = "") -> str:
    """Firmware that prints ``lines`` and sleeps for good."""
    prints = "".join(f'  Print("{line}\\r\\n");\n' for line in lines)
    return f'#include "machine.h"\nvoid Main(void) {{\n  UartStart();\n{prints}{then}}}\n'


def written(folder: Path) -> dict:
    assert main(["init", str(folder)]) == 0
    return tomllib.loads((folder / "hil.toml").read_text())["case"][0]


UNITY = [
    "unity_test_arm_softmax_s8.c:12:test_a:PASS", "ERROR at pos 4: Act: 12 Ref: 13",
    "unity_test_arm_softmax_s8.c:31:test_b:FAIL: Expected 1 Was 2",
    "unity_test_arm_softmax_s8.c:40:test_c:IGNORE", "3 Tests 1 Failures 1 Ignored ", "FAIL",
]  # fmt: skip


def test_results_of_unity_are_read_as_tests(tmp_path):
    image(tmp_path, printing(*UNITY))
    case = written(tmp_path)
    assert case["scraper"] == "unity"
    assert "expect" not in case and "end" not in case
    [loaded] = load_cases(tmp_path / "hil.toml")
    result = run_case(loaded, tmp_path / "out")
    assert result.verdict is Verdict.FAIL
    assert result.reason == "1 of 3 tests failed: test_b"
    row = next(test for test in result.tests if test.name == "test_b")
    assert row.messages[-1] == "ERROR at pos 4: Act: 12 Ref: 13"


def test_results_of_unity_that_pass_make_a_case_that_passes(tmp_path):
    image(tmp_path, printing(UNITY[0], "1 Tests 0 Failures 0 Ignored ", "OK"))
    written(tmp_path)
    [case] = load_cases(tmp_path / "hil.toml")
    assert run_case(case, tmp_path / "out").passed


@pytest.mark.parametrize("line", ["ERROR at pos 4: Act: 12 Ref: 13", "test_a: FAILED",
                                  "E: ASSERTION FAIL [x] @ main.c:3", "Invoke failed"])  # fmt: skip
def test_a_console_that_shows_a_failure_is_not_expected(line, tmp_path, capsys):
    image(tmp_path, printing("score: 12", "score: 13", line, "score: 14", "done"))
    case = written(tmp_path)
    assert case.keys() == {"name", "elf", "budgets"}
    assert "shows a failure" in (tmp_path / "hil.toml").read_text()
    assert "shows a failure" in capsys.readouterr().out


def test_a_fault_is_not_expected_even_if_the_image_goes_on(tmp_path):
    crash = "  *(volatile int *)0xF0000000u = 1;\n"
    image(tmp_path, printing("score: 12", "score: 13", then=crash))
    assert starter.scan(tmp_path).printed is None


def test_the_last_line_is_the_end(tmp_path):
    image(tmp_path, printing("score: 12", "score: 13", "all done (2)"))
    case = written(tmp_path)
    assert case["end"] == {"line": r"^all done \(2\)$"}
    [loaded] = load_cases(tmp_path / "hil.toml")
    assert run_case(loaded, tmp_path / "out").passed


def test_the_case_file_names_its_unknowns(tmp_path):
    image(tmp_path, printing("score: 12", "score: 13", "all done"))
    written(tmp_path)
    assert "It is not verified" in (tmp_path / "hil.toml").read_text()


def test_lines_with_words_of_failure_fail_the_case_later(tmp_path):
    image(tmp_path, printing("score: 12", "score: 13", "all done"))
    written(tmp_path)
    image(tmp_path, printing("score: 12", "ERROR 7", "score: 13", "all done"))
    [case] = load_cases(tmp_path / "hil.toml")
    result = run_case(case, tmp_path / "out")
    assert result.verdict is Verdict.FAIL
    assert "'ERROR 7' matches" in result.reason


WINDOWS = Path(__file__).parents[3] / "examples" / "bare_metal"


def windows(folder: Path, *, embedded: bool = False, change: tuple[str, str] = ("", "")) -> Path:
    """The example that prints its windows and scores; its model beside it or in the image only."""
    (folder / "src").mkdir(parents=True)
    for name in ("src/weights.h", "src/main.c", "firmware.ld", "model.tflite"):
        shutil.copy(WINDOWS / name, folder / name)
    source = folder / "src" / "main.c"
    text = source.read_text().replace(*change) if all(change) else source.read_text()
    if embedded:
        text = text.replace(
            '"model: .incbin', '".type model, %object\\n.size model, 688\\n" "model: .incbin'
        )
    source.write_text(text)
    subprocess.run(
        [str(GCC), "-mcpu=cortex-m33", "-mthumb", "-Os", "-nostdlib", "-ffreestanding",
         "-T", "firmware.ld", source, "-lgcc", "-o", "app.elf"],
        check=True, capture_output=True, cwd=folder,
    )  # fmt: skip
    if embedded:
        (folder / "model.tflite").unlink()
    return folder


@pytest.mark.parametrize("embedded", [False, True])
def test_printed_tensors_are_compared_with_the_model(tmp_path, capsys, embedded):
    folder = windows(tmp_path / "w", embedded=embedded)
    assert main(["init", str(folder)]) == 0
    assert "15 of 15 values of 5 inferences are what the model computes" in capsys.readouterr().out
    [case] = load_cases(folder / "hil.toml")
    assert case.model == folder / ("app_model.tflite" if embedded else "model.tflite")
    result = run_case(case, tmp_path / "out")
    assert (result.passed, result.outputs_compared) == (True, 15)


def test_a_wrong_score_is_reported_and_fails_the_written_case(tmp_path, capsys):
    folder = windows(tmp_path / "w", change=("score > 127 ? 127", "score > 20 ? 20"))
    assert main(["init", str(folder)]) == 0
    out = capsys.readouterr().out
    assert "12 of 15 values of 5 inferences are what the model computes" in out
    assert "note: the case fails: " in out
    [case] = load_cases(folder / "hil.toml")
    result = run_case(case, tmp_path / "out")
    assert result.verdict is Verdict.FAIL
    assert "printed values are not what the model computes" in result.reason


def test_a_model_that_is_not_in_the_image_is_the_first_line(tmp_path):
    folder = windows(tmp_path / "w")
    assert main(["init", str(folder)]) == 0
    [case] = load_cases(folder / "hil.toml")
    content = bytearray(case.model.read_bytes())
    tensors = Model.from_bytes(bytes(content)).subgraphs[0].tensors
    [weights] = [one for one in tensors if one.data is not None and one.dtype == "int8"]
    content[content.index(bytes(weights.data))] ^= 0x7F
    other = folder / "other.tflite"
    other.write_bytes(content)
    result = run_case(replace(case, model=other), tmp_path / "out")
    assert result.verdict is Verdict.FAIL
    assert result.reason.startswith(
        "the image does not hold other.tflite: its copy differs in 1 byte, in the weights of "
    )


def test_a_zephyr_application_is_called_by_its_folder(tmp_path):
    folder = windows(tmp_path / "gesture")
    (folder / "build" / "zephyr").mkdir(parents=True)
    (folder / "app.elf").rename(folder / "build" / "zephyr" / "zephyr.elf")
    assert main(["init", str(folder)]) == 0
    assert [case.name for case in load_cases(folder / "hil.toml")] == ["gesture"]


def test_a_program_of_the_host_is_no_firmware(tmp_path):
    folder = windows(tmp_path / "w")
    shutil.copyfile(sys.executable, folder / "newer.elf")
    assert main(["init", str(folder)]) == 0
    assert [case.name for case in load_cases(folder / "hil.toml")] == ["app"]


def test_a_capture_replaces_the_run(tmp_path, capsys):
    folder = windows(tmp_path / "w")
    console = tmp_path / "board.log"
    console.write_text("window 0 0 0 0 scores -10 -11 -10\nwindow 16 32 48 64 scores 26 -4 -10\n")
    assert main(["init", str(folder), "--console", str(console)]) == 0
    assert "6 of 6 values of 2 inferences" in capsys.readouterr().out
    [case] = load_cases(folder / "hil.toml")
    assert (case.inferences, case.end) == (2, "never")
