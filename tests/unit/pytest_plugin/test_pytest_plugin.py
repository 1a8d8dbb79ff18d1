"""The plugin from outside: pytest with case files and with the fixture ``hil``."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from xml.etree import ElementTree

import inner_pytest
import pytest

pytest_plugins = ["pytester"]

ROOT = Path(__file__).parents[3]
FIRMWARE = ROOT / "tests" / "firmware"
GCC = shutil.which("arm-none-eabi-gcc")
needs_compiler = pytest.mark.needs("arm-none-eabi-gcc", "flatc")

CASES = """
[defaults]
elf = "sine.elf"
scraper = "hello_world"
model = "hello_world_int8"
inferences = 20

[[case]]
name = "sine"

[[case]]
name = "too many"
inferences = 21
"""


@pytest.fixture(scope="module")
def sine(tmp_path_factory) -> Path:
    """An image that prints what hello_world prints."""
    elf = tmp_path_factory.mktemp("elf") / "sine.elf"
    subprocess.run(
        [str(GCC), "-mcpu=cortex-m33", "-mthumb", "-Os", "-nostdlib", "-ffreestanding",
         "-T", FIRMWARE / "machine.ld", FIRMWARE / "sine.c", "-lgcc", "-o", elf],
        check=True, capture_output=True,
    )  # fmt: skip
    return elf


@pytest.fixture
def run(pytester, monkeypatch):
    """Run pytest in the empty folder, with the plugin, in a process of its own."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))

    def run(*arguments: str) -> pytest.RunResult:
        return inner_pytest.run(pytester, *arguments)

    return run


def test_the_package_declares_the_plugin():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["entry-points"]["pytest11"] == {"tflm_hil": "harness.pytest_plugin"}


def test_the_plugin_imports_nothing_of_the_package_until_it_is_used():
    code = (
        "import sys, pytest, harness.pytest_plugin\n"
        "print(sorted(name for name in sys.modules if name.startswith('harness')"
        " or name in ('numpy', 'unicorn', 'rich', 'click')))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT
    )
    package = "harness.pytest_plugin"
    assert done.stdout.strip() == str(["harness", package, f"{package}.names"])


def test_a_run_without_firmware_leaves_nothing(pytester, run):
    pytester.makepyfile("def test_nothing(): pass")
    run().assert_outcomes(passed=1)
    assert not (pytester.path / "hil-results").exists()


@needs_compiler
class TestCaseFiles:
    @pytest.fixture(autouse=True)
    def files(self, pytester, sine):
        shutil.copy(sine, pytester.path)
        (pytester.path / "hil.toml").write_text(CASES, encoding="utf-8")

    def test_each_case_is_an_item_and_its_reason_the_failure(self, run):
        done = run("-v")
        done.assert_outcomes(passed=1, failed=1)
        done.stdout.fnmatch_lines(
            ["hil.toml::sine?simulator? PASSED*", "hil.toml::too many?simulator? FAILED*",
             "too many on simulator: firmware: 20 lines and 20 of 21 results came*"]
        )  # fmt: skip
        assert "Traceback" not in done.stdout.str()
        assert "items.py" not in done.stdout.str()

    def test_measures_are_junit_properties(self, pytester, run):
        run("--junitxml=out.xml", "-k", "sine")
        case = ElementTree.parse(pytester.path / "out.xml").find(".//testcase")
        found = {one.get("name"): one.get("value") for one in case.iter("property")}
        assert int(found["values_compared"]) == 20
        assert int(found["flash_bytes"]) > 0

    def test_s_shows_the_console_while_it_runs(self, run):
        assert "x_value" not in run("-k", "sine").stdout.str()
        run("-s", "-k", "sine").stdout.fnmatch_lines(["x_value: *"])

    def test_the_files_of_a_case_and_all_results_lie_under_the_output_folder(self, pytester, run):
        run("--hil-output=out")
        left = pytester.path / "out"
        assert (left / "simulator" / "sine" / "transcript.txt").read_text(encoding="utf-8")
        told = json.loads((left / "results.json").read_text(encoding="utf-8"))["cases"]
        assert [(one["name"], one["verdict"] == "pass") for one in told] == [
            ("sine", True), ("too many", False),
        ]  # fmt: skip

    @pytest.mark.slow
    def test_workers_of_xdist_send_their_results_home(self, pytester, run):
        run("-p", "xdist.plugin", "-n", "2").assert_outcomes(passed=1, failed=1)
        told = json.loads((pytester.path / "hil-results" / "results.json").read_text())["cases"]
        assert {one["name"] for one in told} == {"sine", "too many"}

    def test_the_results_name_the_requested_cases(self, pytester, run):
        run("-k", "sine", "--hil-target=simulator", "--hil-output=out")
        kept = json.loads((pytester.path / "out" / "results.json").read_text())["run"]["selection"]
        assert kept == {
            "sources": ["."], "filters": ["-k sine"], "targets": ["simulator"], "chips": [],
        }  # fmt: skip

    def test_a_chip_that_is_named_is_the_cases(self, pytester, run):
        run("-k", "sine", "--hil-chip=nRF9151")
        told = json.loads((pytester.path / "hil-results" / "results.json").read_text())
        assert [one["chip"] for one in told["cases"]] == ["nrf9151"]
        assert told["run"]["selection"]["chips"] == ["nrf9151"]

    def test_a_case_for_another_chip_than_the_one_that_is_named_is_not_run(self, pytester, run):
        text = CASES.replace("inferences = 20", 'inferences = 20\nchip = "nrf9151"')
        (pytester.path / "hil.toml").write_text(text)
        done = run("--hil-chip=nrf5340")
        done.assert_outcomes(errors=1)
        done.stdout.fnmatch_lines(["--hil-chip nRF5340, but case 'sine' is for the nRF9151"])

    def test_a_chip_without_a_table_is_a_usage_error(self, run):
        done = run("--hil-chip=nrf5430")
        assert done.ret == pytest.ExitCode.USAGE_ERROR
        done.stderr.fnmatch_lines(["*no chip 'nrf5430'*", "*hint: one of nrf5340, nrf9131*"])

    def test_a_run_that_stopped_at_a_failure_is_partial(self, pytester, run):
        run("-x", "-k", "not sine")
        kept = json.loads((pytester.path / "hil-results" / "results.json").read_text())["run"]
        assert kept["selection"]["filters"] == ["-k not sine", "stopped"]

    def test_an_output_folder_that_is_a_file_is_a_usage_error(self, pytester, run):
        (pytester.path / "taken").write_text("")
        done = run("--hil-output=taken")
        assert done.ret == pytest.ExitCode.USAGE_ERROR
        done.stderr.fnmatch_lines(["*--hil-output: cannot create the folder *taken: File exists*"])
        assert "INTERNALERROR" not in done.stdout.str() + done.stderr.str()

    def test_results_are_kept_in_a_history(self, pytester, run):
        run("--hil-history=lab.db").stdout.fnmatch_lines(["tflm-hil: 2 cases recorded in *lab.db*"])
        assert (pytester.path / "lab.db").exists()

    def test_a_target_that_does_not_exist_is_a_usage_error(self, run):
        done = run("--hil-target=moon")
        assert done.ret == pytest.ExitCode.USAGE_ERROR
        done.stderr.fnmatch_lines(["*no target 'moon'*", "*hint: one of simulator*"])

    def test_a_broken_case_file_is_one_line_without_a_traceback(self, pytester, run):
        (pytester.path / "hil.toml").write_text("[[case]]\nelf = 'sine.elf'\n")
        done = run()
        done.assert_outcomes(errors=1)
        done.stdout.fnmatch_lines(["*hil.toml: a ?[[]case]] has no name"])
        assert "Traceback" not in done.stdout.str()

    def test_another_file_is_collected_where_it_is_named(self, pytester, run):
        (pytester.path / "hil.toml").rename(pytester.path / "nightly.toml")
        assert run().ret == pytest.ExitCode.NO_TESTS_COLLECTED
        run("nightly.toml").assert_outcomes(passed=1, failed=1)


@needs_compiler
class TestFixture:
    @pytest.fixture(autouse=True)
    def image(self, pytester, sine):
        shutil.copy(sine, pytester.path)

    def test_a_run_that_passes_is_true_and_has_its_measures(self, pytester, run):
        pytester.makepyfile("""
            def test_sine(hil):
                result = hil.run("sine.elf", model="hello_world_int8", scraper="hello_world",
                                 inferences=20)
                assert result
                assert result.outputs_compared == 20
                assert result.size.flash < 4096
                assert [one.kind for one in result.findings] == ["model_unknown"]
            """)
        run().assert_outcomes(passed=1)

    def test_a_failed_run_is_false_and_the_assertion_has_the_reason(self, pytester, run):
        pytester.makepyfile("""
            def test_sine(hil):
                assert hil.run("sine.elf", scraper="hello_world",
                               values=[{"x_value": 0.0, "y_value": 5.0}])
            """)
        done = run()
        done.assert_outcomes(failed=1)
        assert "simulator: fail:" in done.stdout.str()

    def test_a_session_goes_step_by_step(self, pytester, run):
        pytester.makepyfile(r"""
            import pytest
            from harness import FirmwareFailed

            def test_steps(hil):
                live = hil.session("sine.elf", scraper="hello_world")
                assert live.inferences == 0
                first = live.wait_for(r"x_value: (?P<x>[\d.]+), y")
                assert first.group("x") == "0.000000"
                second = live.wait_for(r"x_value: (?P<x>[\d.]+), y")
                assert second.group("x") == "0.314159"
                live.wait_for_inferences(20)
                live.reset()
                assert live.wait_for(r"x_value: 0\.000000")
                assert len(live.memory.read(0, 8)) == 8
                with pytest.raises(FirmwareFailed, match="no line matched 'never': it sleeps"):
                    live.wait_for("never")
            """)
        run().assert_outcomes(passed=1)

    def test_operators_are_compared_with_the_reference(self, pytester, run):
        pytester.makepyfile("""
            def test_layers(hil):
                report = hil.layers("hello_world", "hello_world_int8", inference=2)
                assert report.equal and len(report.layers) == 3, report
            """)
        run().assert_outcomes(passed=1)

    def test_a_prompt_without_an_end_of_line_can_be_waited_for(self, pytester, run):
        pytester.makepyfile(r"""
            def test_prompt(hil):
                with hil.session("sine.elf") as live:
                    live.wait_for("y_val")
                    assert live.wait_for(r"ue: (\S+)").group(1) == "0.000000"
            """)
        run().assert_outcomes(passed=1)

    def test_a_failed_step_shows_the_console_and_no_frame_of_the_package(self, pytester, run):
        pytester.makepyfile("""
            def test_wait(hil):
                live = hil.session("sine.elf", timeout=1)
                live.wait_for("never printed")
            """)
        done = run()
        done.assert_outcomes(failed=1)
        done.stdout.fnmatch_lines(
            [">*live.wait_for*", "E*FirmwareFailed: no line matched 'never printed'*",
             "*console of sine*", "*x_value: 5.969026, y_value: *"]
        )  # fmt: skip
        assert "live.py" not in done.stdout.str()

    def test_an_image_is_measured(self, pytester, run):
        pytester.makepyfile("""
            def test_size(hil):
                assert 0 < hil.footprint("sine.elf").region("FLASH").used < 4096
            """)
        run().assert_outcomes(passed=1)

    def test_measures_carry_the_name_of_their_run(self, pytester, run):
        pytester.makepyfile("""
            def test_two(hil):
                for name in ("a", "b"):
                    hil.run("sine.elf", scraper="hello_world", model="hello_world_int8", name=name)
            """)
        run("--junitxml=out.xml")
        case = ElementTree.parse(pytester.path / "out.xml").find(".//testcase")
        names = {one.get("name") for one in case.iter("property")}
        assert {"a.flash_bytes", "b.flash_bytes"} <= names

    def test_a_missing_file_is_reported_as_on_the_command_line(self, pytester, run):
        pytester.makepyfile("def test_it(hil): hil.run('nothing.elf')")
        done = run()
        done.assert_outcomes(failed=1)
        done.stdout.fnmatch_lines(["*UsageError: there is no file nothing.elf*"])


CALIBRATION = """
version = 1
error = 0.02
[supply]
milliamperes = 4.0
volts = 3.5
source = "PPK2"
[left_out]
[kernels."FULLY_CONNECTED standalone int8"]
cycles = 1.5
spread = 0.1
models = 3
[kernels."(interpreter)"]
cycles = 1.5
spread = 0.1
models = 3
"""
TIMED = """
def test_it_is_fast(hil):
    result = hil.run("hello_world")
    assert result
    assert result.milliseconds < 1, result.time
    assert result.microjoules < 14
"""


@needs_compiler
def test_a_calibration_gives_milliseconds_to_case_files_and_python_tests(run, pytester):
    case = '[[case]]\nname = "sine"\nsample = "hello_world"'
    pytester.makefile(".toml", lab=CALIBRATION, hil=case)
    pytester.makepyfile(TIMED)
    run("--hil-calibration", "lab.toml", "--junitxml=out.xml").assert_outcomes(passed=2)
    kept = json.loads((pytester.path / "hil-results" / "results.json").read_text())
    assert all("ms calibrated ±" in case["time"] for case in kept["cases"])
    properties = ElementTree.parse(pytester.path / "out.xml").iter("property")
    named = {one.get("name") for one in properties}
    assert {"milliseconds_per_inference", "microjoules_per_inference"} <= named


def test_a_file_that_is_not_a_calibration_ends_pytest_before_anything_runs(run, pytester):
    pytester.makepyfile("def test_a(): pass")
    pytester.makefile(".toml", lab="version = 9")
    outcome = run("--hil-calibration", "lab.toml")
    assert outcome.ret == pytest.ExitCode.USAGE_ERROR
    outcome.stderr.fnmatch_lines(["*lab.toml is not a calibration*"])
