"""action.yml: its steps, run as GitHub runs them, with a stand-in for the runner and for pip."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.skipif(
    shutil.which("arm-none-eabi-gcc") is None, reason="needs arm-none-eabi-gcc"
)
ACTION = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
CASES = """
[[case]]
name = "sine"
sample = "hello_world"

[[case]]
name = "greedy"
sample = "hello_world"
inferences = {inferences}
"""


class Runner:
    """Runs the steps of the action in a folder, with inputs."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.summary = folder / "summary.md"
        self.programs = folder / "bin"
        self.programs.mkdir()
        self._program("tflm-hil", f'exec {sys.executable} -m harness "$@"')
        self._program("pip", f'echo "$@" >> {folder}/pip.log')

    def _program(self, name: str, text: str) -> None:
        (self.programs / name).write_text(f"#!/bin/sh\n{text}\n")
        (self.programs / name).chmod(0o755)

    def run(self, **given: str) -> dict[str, int]:
        """Exit codes of the steps by name; a step whose condition does not hold is left out."""
        inputs = {name: row["default"] for name, row in ACTION["inputs"].items()} | given
        codes: dict[str, int] = {}
        for step in ACTION["runs"]["steps"]:
            if "run" not in step or not self._wanted(step.get("if", ""), inputs, codes):
                continue
            variables = {name: self._filled(text, inputs) for name, text in
                         step.get("env", {}).items()}  # fmt: skip
            done = subprocess.run(
                ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
                cwd=self.folder, capture_output=True, text=True, check=False,
                env={**os.environ, **variables, "GITHUB_STEP_SUMMARY": str(self.summary),
                     "PATH": f"{self.programs}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT)},
            )  # fmt: skip
            codes[step["name"]] = done.returncode
        return codes

    @staticmethod
    def _filled(text: str, inputs: dict[str, str]) -> str:
        known = {f"inputs.{name}": value for name, value in inputs.items()}
        known["github.action_path"] = str(ROOT)
        return re.sub(r"\$\{\{ (.+?) \}\}", lambda match: known[match[1]], text)

    @staticmethod
    def _wanted(condition: str, inputs: dict[str, str], codes: dict[str, int]) -> bool:
        if any(codes.values()) and "always()" not in condition:
            return False
        if match := re.search(r"inputs\.(\w+) != ''", condition):
            return bool(inputs[match[1]])
        if match := re.search(r"contains\(inputs\.(\w+), '(\w+)'\)", condition):
            return match[2] in inputs[match[1]]
        return True


@pytest.fixture
def runner(tmp_path):
    return Runner(tmp_path)


def test_no_step_puts_an_input_into_its_script():
    assert not [step for step in ACTION["runs"]["steps"] if "${{" in step.get("run", "")]


def test_cases_that_pass_fill_the_summary_and_leave_reports(runner, tmp_path):
    (tmp_path / "hil.toml").write_text(CASES.format(inferences=20))
    assert runner.run() == {"Install": 0, "Cases": 0}
    assert "2 of 2 cases passed" in runner.summary.read_text()
    assert (tmp_path / "hil-results" / "results-1.json").exists()
    assert (tmp_path / "hil-results" / "hil-1.xml").exists()
    assert str(ROOT) in (tmp_path / "pip.log").read_text()


def test_a_case_that_fails_fails_the_step_and_is_in_the_summary(runner, tmp_path):
    (tmp_path / "hil.toml").write_text(CASES.format(inferences=99))
    codes = runner.run(elf="", history="lab.db")
    assert codes["Cases"] == 1
    assert "1 of 2 cases passed" in runner.summary.read_text()
    assert (tmp_path / "lab.db").exists()


def test_several_case_files_keep_their_results_apart(runner, tmp_path):
    (tmp_path / "a.toml").write_text(CASES.format(inferences=99))
    (tmp_path / "b.toml").write_text(CASES.format(inferences=20))
    assert runner.run(cases="a.toml b.toml")["Cases"] == 1
    assert (tmp_path / "hil-results" / "results-2.json").exists()
