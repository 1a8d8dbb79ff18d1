"""A pytest session is green only if the requested cases ran (issue 29)."""

from __future__ import annotations

import json
from pathlib import Path

import inner_pytest
import pytest
from elf_writer import MadeSection, MadeSymbol, write_elf

pytest_plugins = ["pytester"]

ROOT = Path(__file__).parents[3]
CASE = '[[case]]\nname = "{name}"\nelf = "a.elf"\ntargets = {targets}\n'
#: A plugin that adds the target "desk", on which every case passes.
DESK = """
import harness.case.run
from results import case_result
from harness.case.run import _run_case
from harness.targets.registry import TARGETS, Target

TARGETS["desk"] = Target("desk", "desk", instructions=True)

def run(case, *more):
    if case.target == "desk":
        return case_result(name=case.name, target="desk")
    return _run_case(case, *more)

harness.case.run._run_case = run
"""


@pytest.fixture
def run(pytester, monkeypatch):
    """Run pytest in a folder with an image, on a machine without Renode, with a target "desk"."""
    support = str(ROOT / "tests" / "support")
    monkeypatch.setenv("PYTHONPATH", f"{ROOT}:{support}:{pytester.path}")
    monkeypatch.setenv("RENODE", "/no/such/renode")
    text = MadeSection(".text", 0, bytes(64), load=0, executable=True)
    image = write_elf([text], [MadeSymbol("main", 1, 8, "func")])
    (pytester.path / "a.elf").write_bytes(image)
    (pytester.path / "desk.py").write_text(DESK)

    def run(*arguments: str) -> pytest.RunResult:
        return inner_pytest.run(pytester, "-p", "desk", *arguments)

    return run


@pytest.fixture
def cases(pytester):
    """Writes hil.toml: the targets of each case, by its name."""

    def write(**targets: list[str]) -> None:
        rows = [CASE.format(name=name, targets=json.dumps(row)) for name, row in targets.items()]
        (pytester.path / "hil.toml").write_text("".join(rows))

    return write


def test_a_missing_target_of_the_option_fails_the_session(run, cases):
    cases(a=["desk"], b=["desk"])
    done = run("--hil-target=renode")
    assert done.ret == pytest.ExitCode.TESTS_FAILED
    done.assert_outcomes(skipped=2)
    done.stdout.fnmatch_lines(
        ["tflm-hil: 2 asked for, 0 ran, 2 skipped (renode: *)",
         "tflm-hil: FAILED: renode was asked for by name, and hil.toml::a did not run: *",
         "tflm-hil: hint: --hil-allow-skips*"]
    )  # fmt: skip


def test_one_of_two_named_targets_is_not_enough(run, cases):
    cases(a=["desk"])
    assert run("--hil-target=desk,renode").ret == pytest.ExitCode.TESTS_FAILED


def test_a_target_that_the_case_file_lists_may_be_missing_if_the_case_ran(run, cases, pytester):
    cases(a=["desk", "renode"])
    done = run()
    assert done.ret == 0
    done.stdout.fnmatch_lines(["tflm-hil: 2 asked for, 1 ran, 1 skipped (renode: *"])
    tally = json.loads((pytester.path / "hil-results" / "results.json").read_text())["tally"]
    assert (tally["asked"], tally["ran"]) == (2, 1)
    assert [one["target"] for one in tally["skipped"]] == ["renode"]


def test_a_case_that_ran_on_none_of_its_targets_fails_the_session(run, cases):
    cases(a=["desk"], b=["renode"])
    done = run()
    assert done.ret == pytest.ExitCode.TESTS_FAILED
    done.stdout.fnmatch_lines(["tflm-hil: FAILED: hil.toml::b did not run on any of its targets*"])


def test_cases_of_two_files_are_two_though_they_have_one_name(run, cases, pytester):
    cases(a=["desk"])
    (pytester.path / "more").mkdir()
    (pytester.path / "more" / "a.elf").write_bytes((pytester.path / "a.elf").read_bytes())
    (pytester.path / "more" / "hil.toml").write_text(CASE.format(name="a", targets='["renode"]'))
    assert run().ret == pytest.ExitCode.TESTS_FAILED


@pytest.mark.parametrize("arguments", [("--hil-target=renode",), ()])
def test_skips_are_green_where_they_are_allowed(run, cases, arguments):
    cases(a=["renode"])
    assert run("--hil-allow-skips", *arguments).ret == 0


def test_results_of_an_earlier_session_do_not_stay_if_no_case_ran(run, cases, pytester):
    cases(a=["desk"])
    run()
    results = pytester.path / "hil-results" / "results.json"
    assert results.exists()
    pytester.makepyfile(test_live="def test_live(hil): hil.session('a.elf')")
    run("test_live.py", "--hil-target=renode")
    assert not results.exists()


@pytest.mark.slow
def test_workers_of_xdist_count_too(run, cases):
    cases(a=["renode"], b=["renode"])
    done = run("-p", "xdist.plugin", "-n", "2")
    assert done.ret == pytest.ExitCode.TESTS_FAILED
    done.stdout.fnmatch_lines(["tflm-hil: 2 asked for, 0 ran, 2 skipped*"])


@pytest.mark.parametrize("step", ["hil.run('a.elf')", "hil.session('a.elf')"])
def test_a_test_in_python_that_is_skipped_is_counted(run, pytester, step):
    pytester.makepyfile(f"def test_it(hil): {step}")
    done = run("--hil-target=renode")
    assert done.ret == pytest.ExitCode.TESTS_FAILED
    done.stdout.fnmatch_lines(["tflm-hil: FAILED: renode was asked for by name*test_it/a*"])


def test_a_session_that_a_fixture_could_not_start_is_counted(run, pytester):
    pytester.makepyfile("""
        import pytest

        @pytest.fixture
        def live(hil):
            return hil.session("a.elf")

        def test_it(live):
            pass
        """)
    assert run("--hil-target=renode").ret == pytest.ExitCode.TESTS_FAILED


@pytest.mark.parametrize("name", ["moon", "", "renode,moon"])
def test_a_misspelt_target_is_refused_even_where_no_test_uses_it(run, pytester, name):
    pytester.makepyfile("def test_it(): pass")
    assert run(f"--hil-target={name}").ret == pytest.ExitCode.USAGE_ERROR


def test_a_session_without_firmware_is_left_alone(run, pytester):
    pytester.makepyfile("import pytest\ndef test_it(): pytest.skip()")
    done = run()
    assert done.ret == 0
    assert "tflm-hil:" not in done.stdout.str()


FAILING = """
import harness.case.run as run
from results import case_result
from harness.case import Verdict

def test_it(hil, monkeypatch):
    monkeypatch.setattr(run, "run_case", lambda case, output, **more: case_result(
        name=case.name, verdict=Verdict.FAIL, reason="wrong"))
    result = hil.run("a.elf")
    {look}
"""


def test_a_failing_run_that_the_test_does_not_judge_fails_it(run, pytester):
    pytester.makepyfile(FAILING.format(look="assert not result.findings"))
    done = run()
    done.assert_outcomes(failed=1)
    done.stdout.fnmatch_lines(["*a failure was not checked:*", "*test_it/a on simulator: fail*"])


@pytest.mark.parametrize("look", ["assert not result", "assert result.verdict == 'fail'"])
def test_a_failure_that_the_test_expects_is_its_own_affair(run, pytester, look):
    pytester.makepyfile(FAILING.format(look=look))
    run().assert_outcomes(passed=1)
