"""`tflm-hil init`: a first case that runs, for firmware of any kind, and what it says of it."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from harness import Verdict, load_cases, run_case
from harness.base.errors import UsageError
from harness.case.init.draft import Draft, draft
from harness.case.init.images import images
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


def printing(*lines: str, then: str = "") -> str:
    """Firmware that prints ``lines`` and sleeps for good."""
    prints = "".join(f'  Print("{line}\\r\\n");\n' for line in lines)
    return f'#include "machine.h"\nvoid Main(void) {{\n  UartStart();\n{prints}{then}}}\n'


def written(folder: Path) -> dict:
    assert main(["init", str(folder)]) == 0
    return tomllib.loads((folder / "hil.toml").read_text())["case"][0]


def drafted(folder: Path) -> Draft:
    return draft(images(folder)[0], folder, "app")


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
    assert drafted(tmp_path).frozen.results == ({"product": 6},) * 100


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
    assert drafted(tmp_path).model_file == tmp_path / "mine.tflite"


def test_a_test_of_the_user_is_kept(tmp_path, capsys):
    image(tmp_path, LOOPING)
    test = tmp_path / f"test_{tmp_path.name}.py"
    test.write_text("mine")
    assert main(["init", str(tmp_path)]) == 0
    assert f"kept {test}" in capsys.readouterr().out
    assert test.read_text() == "mine"


def test_a_second_run_adds_a_case_and_changes_nothing_else(tmp_path, capsys):
    image(tmp_path, LOOPING)
    assert main(["init", str(tmp_path)]) == 0
    path = tmp_path / "hil.toml"
    path.write_text("# my words\n" + path.read_text().replace("timeout = 10", "timeout = 12"))
    before = path.read_text()
    other = image(tmp_path, printing("score: 12", "score: 13"))
    other.rename(other.with_name("other.elf"))
    image(tmp_path, LOOPING)
    assert main(["init", str(tmp_path)]) == 0
    assert path.read_text().startswith(before)
    assert [case.name for case in load_cases(path)] == ["app", "other"]
    capsys.readouterr()
    assert main(["init", str(tmp_path)]) == 0
    assert capsys.readouterr().out.startswith(f"each image below {tmp_path} has a case: app, other")
    assert len(load_cases(path)) == 2


@pytest.mark.parametrize("names", [("fw_a", "fw_b"), ("a/firmware", "b/firmware")])
def test_two_firmwares_of_a_repository_share_one_workflow_and_pytest_runs_both(names, tmp_path):
    (tmp_path / ".git").mkdir()
    for name in names:
        folder = tmp_path / name
        folder.mkdir(parents=True)
        (folder / "Makefile").write_text("all:\n")
        image(folder, LOOPING)
        assert main(["init", str(folder)]) == 0
    [path] = tmp_path.rglob(".github/workflows/*.yml")
    job = yaml.safe_load(path.read_text())["jobs"]["test"]
    rows = job["strategy"]["matrix"]["include"]
    assert {row["folder"] for row in rows} == set(names)
    assert {row["build"] for row in rows} == {"make"}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "."]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert "6 passed" in done.stdout


def test_a_workflow_of_the_user_is_left_alone(tmp_path, capsys):
    (tmp_path / ".git").mkdir()
    workflow = tmp_path / ".github" / "workflows" / "firmware.yml"
    workflow.parent.mkdir(parents=True)
    workflow.write_text("name: mine\n")
    image(tmp_path, LOOPING)
    assert main(["init", str(tmp_path)]) == 0
    assert f"{workflow} is not of init" in capsys.readouterr().out
    assert workflow.read_text() == "name: mine\n"


def test_a_folder_without_firmware_is_refused(tmp_path):
    with pytest.raises(UsageError, match=r"holds no \.elf"):
        images(tmp_path)


def test_the_case_file_is_toml_for_any_file_name(tmp_path):
    elf = image(tmp_path, LOOPING)
    odd = elf.with_name('a "quoted" \\ name.elf')
    elf.rename(odd)
    assert written(tmp_path)["elf"] == f"build/{odd.name}"


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
    found = drafted(tmp_path)
    assert found.case.end == "never"
    assert found.frozen.results == ({"mode": 3}, {"score": 12}, {"score": -7})


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
    assert drafted(tmp_path).case is None


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
    assert drafted(tmp_path).case is None


def test_a_changed_score_in_the_last_line_is_a_failed_check(tmp_path):
    image(tmp_path, printing("score: 12", "score: 13"))
    written(tmp_path)
    image(tmp_path, printing("score: 12", "score: 14"))
    [case] = load_cases(tmp_path / "hil.toml")
    result = run_case(case, tmp_path / "out")
    assert (result.verdict, result.mismatches) == (Verdict.FAIL, 1)


def test_the_case_file_and_the_terminal_say_what_the_case_is_worth(tmp_path, capsys):
    image(
        tmp_path, printing("build v1.2.3 g0a1b2c3", "threshold 5 bytes", "score: 12", "score: 13")
    )
    written(tmp_path)
    said = (tmp_path / "hil.toml").read_text(), capsys.readouterr().out
    for text in said:
        assert "unverified: these are the values that the firmware printed" in text
        assert "2 of 2 numbers, 2 of 2 lines are checked" in text
        assert "known for no results: 1 size, 2 versions or hashes" in text


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
    assert "equal to the model: 15 values of 5 inferences" in capsys.readouterr().out
    [case] = load_cases(folder / "hil.toml")
    assert case.model == folder / ("app_model.tflite" if embedded else "model.tflite")
    result = run_case(case, tmp_path / "out")
    assert result.passed
    assert result.outputs_compared >= 15


def test_a_wrong_score_is_reported_and_fails_the_written_case(tmp_path, capsys):
    folder = windows(tmp_path / "w", change=("score > 127 ? 127", "score > 20 ? 20"))
    assert main(["init", str(folder)]) == 0
    out = capsys.readouterr().out
    assert "3 of 15 values are not what the model computes, so this case fails" in out
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
    assert "equal to the model: 6 values of 2 inferences" in capsys.readouterr().out
    [case] = load_cases(folder / "hil.toml")
    assert (case.inferences, case.end) == (2, "never")
