"""What the workflows run, run: shell syntax, our own commands, and the pinned archive."""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import subprocess
import sys
import tarfile
from importlib import import_module
from pathlib import Path

import pytest

from harness.cli import COMMANDS

yaml = pytest.importorskip("yaml")
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
        command = getattr(import_module(f"harness.cli.{words[1]}"), words[1])
        known = {option for one in command.params for option in one.opts}
        assert {word for word in words if word.startswith("--")} <= known


@pytest.mark.parametrize("script", SCRIPTS)
def test_its_pieces_of_python_compile_and_name_modules_that_exist(script):
    for code in re.findall(r"python -c '([^']*)'", script):
        compile(code, "workflow", "exec")
        for module, name in re.findall(r"from (harness[\w.]*) import (\w+)", code):
            assert hasattr(import_module(module), name) or import_module(f"{module}.{name}")


def test_the_list_of_samples_that_nightly_builds_is_the_tables():
    script = step("Build every sample with Zephyr")
    code = re.search(r"python -c '([^']*)'", script)[1]
    from harness.build import configurations

    answer = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert answer.stdout.split() == list(configurations.load().samples)


def step(name: str) -> str:
    (job,) = NIGHTLY["jobs"].values()
    return next(one["run"] for one in job["steps"] if one.get("name") == name)


def install(folder: Path, checksum: str, archive: Path | None = None):
    """Run the step that installs Renode, with a ``curl`` that copies ``archive``."""
    tools = folder / "tools"
    tools.mkdir()
    curl = tools / "curl"
    curl.write_text(f'#!/bin/sh\nwhile [ "$1" != --output ]; do shift; done\ncp {archive} "$2"\n')
    curl.chmod(0o755)
    environment = {
        "PATH": f"{tools}:{os.environ['PATH']}",
        "RENODE_VERSION": NIGHTLY["env"]["RENODE_VERSION"],
        "RENODE_SHA256": checksum,
    }
    script = ["bash", "-e", "-o", "pipefail", "-c", step("Renode, pinned")]
    return subprocess.run(
        script, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    program = tmp_path / "renode"
    program.write_text("#!/bin/sh\n")
    path = tmp_path / "archive.tar.gz"
    with tarfile.open(path, "w:gz") as tar:
        tar.add(program, "renode_portable/renode")
    program.unlink()
    return path


def test_without_the_variable_the_job_fails_and_says_what_to_set(tmp_path):
    answer = install(tmp_path, "")
    assert answer.returncode == 1
    assert "::error::the repository variable RENODE_SHA256 is not set" in answer.stdout


def test_an_archive_of_another_checksum_is_not_unpacked(tmp_path, archive):
    answer = install(tmp_path, "0" * 64, archive)
    assert answer.returncode != 0
    assert "FAILED" in answer.stdout
    assert not (tmp_path / "renode").exists()


def test_the_archive_of_the_pinned_checksum_is_where_renode_is_looked_for(tmp_path, archive):
    answer = install(tmp_path, hashlib.sha256(archive.read_bytes()).hexdigest(), archive)
    assert answer.returncode == 0, answer.stderr
    expected = NIGHTLY["env"]["RENODE"].replace("${{ github.workspace }}", str(tmp_path))
    assert Path(expected).is_file()
