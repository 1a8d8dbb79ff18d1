"""What the workflows run, run: shell syntax, our own commands, cache key and summary."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import click
import pytest
import yaml
from job_summary import summary

from harness.cli import COMMANDS, cli

ROOT = Path(__file__).resolve().parents[3]
WORKFLOWS = ROOT / ".github" / "workflows"
SCRIPTS = [
    pytest.param(step["run"], id=f"{path.stem}-{number}")
    for path in sorted(WORKFLOWS.glob("*.yml"))
    for job in yaml.safe_load(path.read_text())["jobs"].values()
    for number, step in enumerate(job["steps"])
    if "run" in step
]
NIGHTLY = yaml.safe_load((WORKFLOWS / "nightly.yml").read_text())


def lines(script: str) -> list[list[str]]:
    """The simple commands of a script, as words."""
    found = []
    for line in script.splitlines():
        words = shlex.split(line.strip().removesuffix("\\"), comments=True)
        if words:
            found.append(words)
    return found


@pytest.mark.parametrize("script", SCRIPTS)
def test_the_shell_can_read_it(script):
    subprocess.run(["bash", "-n"], input=script, text=True, check=True)


@pytest.mark.parametrize("script", SCRIPTS)
def test_what_it_asks_of_tflm_hil_is_there(script):
    for words in lines(script):
        if words[0] != "tflm-hil":
            continue
        assert words[1] in COMMANDS
        command = cli.get_command(click.Context(cli), words[1])
        known = {option for one in command.params for option in one.opts}
        assert {word for word in words if word.startswith("--")} <= known


@pytest.mark.parametrize("script", SCRIPTS)
def test_its_pieces_of_python_compile_and_name_modules_that_exist(script):
    for code in re.findall(r"python -c '([^']*)'", script):
        compile(code, "workflow", "exec")
        for module, name in re.findall(r"from (harness[\w.]*) import (\w+)", code):
            assert hasattr(import_module(module), name) or import_module(f"{module}.{name}")


def step(job: str, name: str) -> str:
    steps = NIGHTLY["jobs"][job]["steps"]
    return next(one["run"] for one in steps if one.get("name") == name)


def run(script: str, folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a step's script as the runner does, with this Python."""
    programs = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    return subprocess.run(
        ["bash", "-e", "-o", "pipefail", "-c", script],
        cwd=folder,
        env={**os.environ, "PATH": programs, "PYTHONPATH": str(ROOT), **environment},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.needs("pinned renode")
def test_the_key_of_the_cache_names_the_archive(tmp_path):
    output = tmp_path / "output"
    answer = run(step("renode", "Which Renode"), tmp_path, GITHUB_OUTPUT=str(output))
    assert answer.returncode == 0, answer.stderr
    name, _, value = output.read_text().strip().partition("=")
    assert name == "archive"
    assert re.fullmatch(r"1\.17\.0-Linux-\w+-[0-9a-f]{64}", value)


def test_the_summary_counts_what_the_reports_hold(tmp_path):
    reports = tmp_path / "reports"
    (reports / "suites").mkdir(parents=True)
    (reports / "suites" / "xunit.xml").write_text(
        '<testsuite><testcase name="a"/><testcase name="b"><failure/></testcase>'
        '<testcase name="c"><skipped/></testcase></testsuite>'
    )
    (reports / "suites" / "output.xml").write_text("<robot/>")
    (reports / "broken.xml").write_text("<testsuite>")
    (tmp_path / "tests").symlink_to(ROOT / "tests")
    written = tmp_path / "summary"
    answer = run(step("renode", "Summary"), tmp_path, GITHUB_STEP_SUMMARY=str(written))
    assert answer.returncode == 0, answer.stderr
    text = written.read_text()
    assert "## Renode\n" in text
    assert "| suites/xunit.xml | 1 | 1 | 1 |" in text
    assert "| broken.xml | no result" in text
    assert "* suites/xunit.xml: b" in text
    assert "output.xml" not in text


def test_a_job_that_wrote_nothing_says_so(tmp_path):
    assert "none: no job wrote a result" in summary("x", tmp_path)
