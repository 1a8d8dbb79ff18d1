"""Where a target is missing an execution of Robot fails, unless skips are allowed (issue 29)."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from elf_writer import MadeSection, MadeSymbol, write_elf

from harness.base.errors import UsageError
from harness.keywords.variables import check_spelling
from robot import api

SUITE = """
*** Settings ***
Library    harness.keywords.TflmHil
Library    harness.keywords.layers.Layers

*** Test Cases ***
{tests}
"""
CASES = """
[[case]]
name = "a"
elf = "a.elf"
targets = {targets}
"""


@pytest.fixture
def execute(tmp_path, monkeypatch):
    """Run tests in Robot: name -> keyword. Gives return code, and status and message by name."""
    monkeypatch.setenv("RENODE", "/no/such/renode")
    monkeypatch.setenv("TFLM_HIL_LAB_STATE", str(tmp_path / "state"))
    monkeypatch.delenv("TFLM_HIL_VIRTUAL_BENCH", raising=False)
    monkeypatch.chdir(tmp_path)
    text = MadeSection(".text", 0, bytes(64), load=0, executable=True)
    (tmp_path / "a.elf").write_bytes(write_elf([text], [MadeSymbol("main", 1, 8, "func")]))

    def execute(*variables: str, after: str = "", **tests: str):
        rows = "".join(f"{name}\n    {step}\n" for name, step in tests.items())
        folder = tmp_path / "suites"
        folder.mkdir()
        (folder / "1.robot").write_text(SUITE.format(tests=rows))
        if after:
            (folder / "2.robot").write_text(f"*** Test Cases ***\nLast\n    {after}\n")
        suite = api.TestSuite.from_file_system(folder)
        done = suite.run(
            variable=list(variables), outputdir=str(tmp_path / "out"),
            stdout=io.StringIO(), stderr=io.StringIO(),
        )  # fmt: skip
        found = {test.name: (test.status, test.message) for test in done.suite.all_tests}
        logged = api.ExecutionResult(str(tmp_path / "out" / "output.xml"))
        return done.return_code, found, {one.name: one.status for one in logged.suite.all_tests}

    return execute


def case_file(folder: Path, *targets: str) -> None:
    (folder / "hil.toml").write_text(CASES.format(targets=list(targets)))


START = "Start Target    ${{pathlib.Path('a.elf')}}"
RUN = "Run Case    hil.toml"


@pytest.mark.parametrize("step", [START, "Run Sample Case    hello_world"])
def test_a_target_that_is_not_here_fails_the_test_and_the_execution(execute, step):
    code, found, logged = execute("TARGET:renode", A=step, B="Log    fine")
    assert code == 1
    assert "Renode" in found["A"][1] or "not a program" in found["A"][1]
    assert "ALLOW_SKIPS:true" in found["A"][1]
    assert logged == {"A": "FAIL", "B": "PASS"}


def test_it_is_skipped_where_that_is_allowed(execute):
    code, found, _ = execute("TARGET:renode", "ALLOW_SKIPS:True", A=START)
    assert (code, found["A"][0]) == (0, "SKIP")


def test_a_case_that_ran_on_none_of_its_targets_fails(execute, tmp_path):
    case_file(tmp_path, "renode", "board")
    code, found, _ = execute(A=RUN)
    assert code == 1
    assert found["A"][1].startswith("a did not run on any of its targets")


def test_all_cases_skipped_is_a_skip_where_that_is_allowed(execute, tmp_path):
    case_file(tmp_path, "renode")
    code, found, _ = execute("ALLOW_SKIPS:true", A=RUN)
    assert (code, found["A"][0]) == (0, "SKIP")


LAYERS = "Layers Should Equal Reference    ${{pathlib.Path('a.elf')}}    hello_world_int8.tflite"


def test_an_execution_of_which_every_test_is_skipped_fails_its_last_test(execute):
    """A board cannot stop at an operator: that skips a test, and nothing else ran."""
    code, found, logged = execute("TARGET:board", A=LAYERS, B=LAYERS)
    assert code == 1
    assert [found["A"][0], found["B"][0]] == ["SKIP", "FAIL"]
    assert found["B"][1].startswith("all of 2 tests were skipped, so nothing was tested")
    assert logged == {"A": "SKIP", "B": "FAIL"}


def test_an_execution_that_ends_with_a_suite_of_another_kind_fails_too(execute):
    code, _, _ = execute("TARGET:board", after="Skip    for another reason", A=LAYERS)
    assert code == 1


def test_a_missing_ability_may_be_skipped_where_another_test_ran(execute):
    code, found, _ = execute("TARGET:board", A=LAYERS, B="Log    fine")
    assert (code, found["A"][0]) == (0, "SKIP")


@pytest.mark.parametrize("word", ["yes", "flase", "1", ""])
def test_allow_skips_is_true_or_false(execute, word):
    code, found, _ = execute("TARGET:renode", f"ALLOW_SKIPS:{word}", A=START)
    assert code == 1
    assert f"ALLOW_SKIPS is '{word}'" in found["A"][1]


@pytest.mark.parametrize(
    "name", ["TARGT", "TAGET", "target_", "TARGETS", "ALLOW_SKIP", "HISTROY", "RENDOE"]
)
def test_a_misspelt_variable_fails_the_tests(execute, name):
    code, found, _ = execute(f"{name}:renode", A=START)
    assert code == 1
    assert f"the unknown variable {name}" in found["A"][1]


@pytest.mark.parametrize("name", ["TARGET", "Target", "BOARD_NAME", "ELF", "RETRIES", "LABEL"])
def test_variables_of_a_suites_own_are_left_alone(name):
    check_spelling([name])


def test_the_nearest_variable_is_the_hint():
    with pytest.raises(UsageError, match=r"--variable TARGET:"):
        check_spelling(["TARGT"])
