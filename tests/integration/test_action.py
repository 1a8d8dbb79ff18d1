"""action.yml: its steps in several kinds of repositories (tests/support/action_runner.py)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from action_runner import ACTION, ROOT, Runner

from harness.build.builders import build_one

pytestmark = pytest.mark.needs("arm-none-eabi-gcc", "flatc")
CASES = """
[[case]]
name = "sine"
sample = "hello_world"

[[case]]
name = "greedy"
sample = "hello_world"
inferences = {inferences}
"""


@pytest.fixture
def runner(tmp_path):
    return Runner(tmp_path)


@pytest.fixture
def workspace(runner):
    (runner.workspace / "hil.toml").write_text(CASES.format(inferences=20))
    return runner.workspace


GREEN = {"Install": 0, "Cases": 0}


def test_no_step_puts_an_input_into_its_script():
    assert not [step for step in ACTION["runs"]["steps"] if "${{" in step.get("run", "")]


def test_no_step_looks_for_a_file_of_the_repository_that_need_not_be_there():
    """setup-python's cache needs a pyproject.toml or requirements.txt in the workspace."""
    python, *others = [step for step in ACTION["runs"]["steps"] if "uses" in step]
    assert python["with"].keys() == {"python-version", "update-environment"}
    assert {step["with"]["if-no-files-found"] for step in others} == {"ignore"}


def test_reports_are_kept_whatever_the_steps_before_said():
    names = {step["name"]: step for step in ACTION["runs"]["steps"] if "name" in step}
    assert names["Keep the reports"]["if"].startswith("always()")
    assert names["Keep the history"]["if"].startswith("always()")


def test_a_repository_without_a_pyproject_is_tested(runner, workspace):
    assert runner.run() == GREEN, runner.said
    assert "**2 of 2 passed**; 2 asked for, 2 ran, 0 skipped" in runner.summary.read_text()
    left = {path.name for path in (workspace / "hil-results").iterdir()}
    assert left >= {"results-1.json", "hil-1.xml", "hil-1.html", "hil-1.md"}
    assert runner.outputs.read_text() == "exit-code=0\n"
    assert str(ROOT) in runner.pip.read_text()


def test_a_job_with_an_environment_of_its_own_keeps_it(runner, workspace, tmp_path):
    own = tmp_path / "venv" / "bin"
    own.mkdir(parents=True)
    for name in ("python", "python3", "pip"):
        (own / name).write_text("#!/bin/sh\nexit 77\n")
        (own / name).chmod(0o755)
    runner.environment = {"PATH": f"{own}:/usr/bin:/bin", "VIRTUAL_ENV": str(own.parent),
                          "PIP_USER": "1", "PYTHONHOME": "/nowhere"}  # fmt: skip
    assert runner.run()["Install"] == 0, runner.said
    (added,) = runner.path.read_text().split()
    assert [path.name for path in Path(added).iterdir()] == ["tflm-hil"]


def test_a_case_file_in_a_folder_of_a_monorepo_is_tested(runner, workspace):
    folder = workspace / "products" / "first"
    folder.mkdir(parents=True)
    (workspace / "hil.toml").rename(folder / "hil.toml")
    assert runner.run(cases="products/first/hil.toml") == GREEN, runner.said


def test_windows_line_ends_change_nothing(runner, workspace):
    text = (workspace / "hil.toml").read_text().replace("\n", "\r\n")
    (workspace / "hil.toml").write_bytes(text.encode())
    given = {"cases": "hil.toml\r\n", "targets": "simulator\r\n", "allow_skips": "false\r",
             "output": "out\r\n"}  # fmt: skip
    assert runner.run(**given) == GREEN, runner.said
    assert (workspace / "out" / "results-1.json").exists()


def test_a_case_that_fails_fails_the_step_and_is_in_the_summary(runner, workspace):
    (workspace / "hil.toml").write_text(CASES.format(inferences=99))
    codes = runner.run(elf="", history="lab.db")
    assert codes["Cases"] == 1, runner.said
    assert "**1 of 2 passed**" in runner.summary.read_text()
    assert "::error file=hil.toml,line=7,title=greedy on simulator%3A fail::" in runner.said
    assert runner.outputs.read_text() == "exit-code=1\n"
    assert (workspace / "lab.db").exists()


@pytest.mark.parametrize(
    ("resolver", "model", "code", "says"),
    [
        ("exact", "hello_world_int8.tflite", 0, "verdict: ok"),
        ("missing", "hello_world_int8.tflite", 1, "verdict: missing, unused"),
        ("exact", "misspelt.tflite", 2, "misspelt.tflite"),
    ],
)
def test_a_resolver_that_does_not_fit_its_model_fails_the_job(
    resolver, model, code, says, runner, workspace
):
    elf = str(build_one("hello_world", resolver))
    assert runner.run(elf=f"{elf}\r\n", model=f"{model}\r\n")["Resolver"] == code, runner.said
    assert says in runner.summary.read_text().partition(f"## Resolver: `{elf}`\n\n```\n")[2]
    assert says in runner.said


def test_the_resolver_is_read_on_the_target_and_within_the_time_that_are_given(runner, workspace):
    elf, model = str(build_one("hello_world", "exact")), "hello_world_int8.tflite"
    given = {"elf": elf, "model": model}
    assert runner.run(**given, resolver_timeout="1e-6")["Resolver"] == 5, runner.said
    assert "AllocateTensors() is not reached" in runner.summary.read_text()
    assert runner.run(**given, resolver_target="simulatr")["Resolver"] == 2
    assert "'simulatr' is not one of" in runner.said


def test_a_model_without_an_image_is_an_error(runner, workspace):
    assert runner.run(model="hello_world_int8.tflite")["Resolver"] == 2
    assert "`model` needs `elf`" in runner.said


def test_several_case_files_keep_their_results_apart(runner, workspace):
    (workspace / "a.toml").write_text(CASES.format(inferences=99))
    assert runner.run(cases="a.toml hil.toml")["Cases"] == 1
    assert (workspace / "hil-results" / "results-2.json").exists()


@pytest.mark.parametrize("cases", ["", "  ", "\n", "\r\n \t"])
def test_no_case_file_is_an_error(runner, workspace, cases):
    assert runner.run(cases=cases)["Cases"] == 2
    assert "`cases` is empty" in runner.said


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"targets": "simulatr"}, "no target 'simulatr'"),
        ({"targets": " "}, "names no target"),
        ({"cases": "hill.toml"}, "there is no file hill.toml"),
        ({"cases": "nothing/*.toml"}, "there is no file nothing/*.toml"),
        ({"allow_skips": "yes"}, "neither true nor false"),
    ],
)
def test_what_is_misspelt_is_an_error_in_the_log(runner, workspace, given, says):
    assert runner.run(**given)["Cases"] == 2
    assert says in runner.said


def test_a_target_that_is_not_there_fails_unless_skips_are_allowed(runner, workspace):
    given = {"targets": "board"}
    assert runner.run(**given)["Cases"] == 3
    assert "board was asked for by name" in runner.said
    assert runner.run(**given, allow_skips="true")["Cases"] == 0


def test_results_of_an_earlier_run_are_not_taken_for_this_ones(runner, workspace):
    left = workspace / "hil-results"
    left.mkdir()
    (left / "results-7.json").write_text('{"cases": []}')
    runner.environment = {"GITHUB_REF_NAME": "main"}
    assert runner.run(history="lab.db")["History"] == 0, runner.said
    assert [path.name for path in left.glob("results-*.json")] == ["results-1.json"]


@pytest.mark.slow
def test_each_case_file_is_held_against_the_history(runner, workspace):
    """What got worse in the first file is found although the second one was recorded after it."""
    (workspace / "b.toml").write_text(
        '[[case]]\nname = "b"\nsample = "hello_world"\nresolver = "all"\n'
    )
    runner.environment = {"GITHUB_REF_NAME": "main", "GITHUB_SHA": "1"}
    assert runner.run(cases="hil.toml b.toml", history="lab.db")["History"] == 0, runner.said
    worse = CASES.format(inferences=20).replace("\nsample", '\nresolver = "all"\nsample', 1)
    (workspace / "hil.toml").write_text(worse)
    runner.environment["GITHUB_SHA"] = "2"
    codes = runner.run(cases="hil.toml b.toml", history="lab.db")
    assert (codes["Cases"], codes["History"]) == (0, 1), runner.said
    found = json.loads((workspace / "hil-results" / "results-1.json").read_text())
    assert found["run"]["branch"] == "main"


#: A stand-in of gh that keeps the comments of a pull request in files called by their number.
GH = """#!/bin/bash
[ "$GH_TOKEN" = secret ] || exit 4
last="${{@: -1}}"
file="$PWD/${{last#body=@}}"
cd {folder}
case "$*" in
  *artifacts*) [ -e artifacts.json ] || exit 1; jq -r "$last" artifacts.json ;;
  *download*) cp lab.db "$last/" ;;
  *--jq*) grep -l '^<!-- tflm-hil -->' [0-9]* 2>/dev/null || true ;;
  *POST*) cp "$file" 1; echo POST >> log ;;
  *PATCH*) cp "$file" "$(basename "$4")"; echo PATCH >> log ;;
  *) exit 5 ;;
esac
"""


@pytest.fixture
def comments(runner, tmp_path):
    """The folder of a pull request's comments."""
    folder = tmp_path / "comments"
    folder.mkdir()
    program = tmp_path / "bin" / "gh"
    program.parent.mkdir()
    program.write_text(GH.format(folder=folder))
    program.chmod(0o755)
    runner.environment["PATH"] = f"{program.parent}:/usr/bin:/bin"
    return folder


@pytest.mark.slow
def test_a_comment_tells_what_got_worse_and_is_changed_by_the_next_run(runner, workspace, comments):
    given = {"history": "lab.db", "base": "", "comment": "true", "token": "secret"}
    wanted = GREEN | {"History of earlier runs": 0, "History": 0, "Comment": 0}
    assert runner.run(**given) == wanted, runner.said
    first = (comments / "1").read_text()
    assert first.startswith("<!-- tflm-hil -->\n## Firmware\n")
    assert "**2 of 2 passed**" in first
    assert "nothing to compare it with" in first
    (workspace / "hil.toml").write_text(CASES.format(inferences=50))
    codes = runner.run(**given)
    assert (codes["Cases"], codes["History"], codes["Comment"]) == (1, 1, 0), runner.said
    assert "| greedy | simulator |" in (comments / "1").read_text()
    assert (comments / "log").read_text().split() == ["POST", "PATCH"]


def artifact(run: int, branch: str, at: int, *, fork: bool = False, expired: bool = False) -> dict:
    """A row of GitHub's list of artifacts."""
    origin = {"id": run, "head_branch": branch, "repository_id": 1,
              "head_repository_id": 2 if fork else 1}  # fmt: skip
    return {"name": "hil-history", "expired": expired, "created_at": f"2026-11-{at:02}T02:00:00Z",
            "workflow_run": origin}  # fmt: skip


@pytest.mark.slow
@pytest.mark.needs("jq")
@pytest.mark.parametrize(("artifacts", "found"), [
    ([artifact(11, "main", 1), artifact(12, "main", 2)], True),
    ([artifact(13, "topic", 3), artifact(14, "main", 4, expired=True)], False),
    ([artifact(15, "main", 5, fork=True)], False),
    ([], False),
])  # fmt: skip
def test_the_history_of_the_base_branch_goes_on(runner, workspace, comments, artifacts, found):
    runner.environment |= {"GITHUB_REF_NAME": "main"}
    assert runner.run(history="lab.db")["History"] == 0, runner.said
    (workspace / "lab.db").rename(comments / "lab.db")
    (comments / "artifacts.json").write_text(json.dumps({"artifacts": artifacts}))
    runner.said = ""
    codes = runner.run(history="lab.db", token="secret")
    assert codes["History of earlier runs"] == codes["History"] == 0, runner.said
    assert ("it begins with this run" in runner.said) is not found


def test_a_history_that_cannot_be_asked_for_is_a_warning(runner, workspace, comments):
    codes = runner.run(history="lab.db", token="secret")
    assert codes["History of earlier runs"] == 0
    assert "::warning title=tflm-hil::cannot list artifacts" in runner.said


def test_the_jobs_own_python_is_used_if_none_is_wanted(runner, workspace):
    """The stand-in is what setup-python would have set up; without it python3 is called."""
    own = runner.temp.parent / "own"
    own.mkdir()
    (own / "python3").write_text(runner.python.read_text())
    (own / "python3").chmod(0o755)
    runner.python.unlink()
    runner.environment = {"PATH": f"{own}:/usr/bin:/bin"}
    assert runner.run(python="") == GREEN, runner.said


def test_nobody_is_told_without_being_asked(runner, workspace, comments):
    assert "Comment" not in runner.run(history="lab.db", base="")
    assert not list(comments.iterdir())
