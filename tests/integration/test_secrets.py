"""A password in a URL, a token in an option and one in the environment are in no output."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import needs
import postgresql
import pytest
from firmwares import build  # noqa: F401 - a fixture
from forked_python import run_python

SECRET = b"s3cret"
PASSWORD = "pl4nted%2Fs3cret"
#: Nothing listens on port 1.
UNREACHABLE = f"postgresql+pg8000://lab:{PASSWORD}@127.0.0.1:1/postgres"

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
SUITE = """
*** Settings ***
Library    harness.keywords.TflmHil
*** Test Cases ***
Passes
    Run Case    hil.toml    sine
Shows Secrets
    Log    %{LAB_TOKEN} ${LAB_TOKEN} ${HISTORY}
    Should Be Equal    ${HISTORY}    %{LAB_TOKEN}
"""
TESTS = """
import logging, os, sys

def test_shows_secrets(hil, request):
    assert hil.run("sine.elf", scraper="hello_world", model="hello_world_int8").passed
    history = request.config.getoption("--hil-history")
    print(history, request.config.getoption("--lab-token"))
    logging.getLogger("lab").warning("login at %s", history)
    print(sys.argv, file=sys.stderr)
    assert os.environ["LAB_TOKEN"] == history
"""
OPTION = """
def pytest_addoption(parser):
    parser.addoption("--lab-token")
"""
LAB = f"""
[[board]]
name = "far"
probe = "960000009"
port = "rfc2217://lab:{PASSWORD}@127.0.0.1:1"
"""


@dataclass
class Desk:
    """A folder with what is tested, a folder for all that is written, and an environment."""

    inputs: Path
    outputs: Path
    environment: dict[str, str] = field(default_factory=dict)

    def run(self, *arguments: str | Path, code: int) -> str:
        """Run a module of Python here; return what it printed. No output may hold the secret."""
        environment = {**os.environ, "LAB_TOKEN": "pl4nted-s3cret", **self.environment}
        done = run_python(*map(str, arguments), cwd=self.inputs, env=environment)
        printed = done.stdout + done.stderr
        assert SECRET not in printed.encode(), printed
        holding = [path for path in self.outputs.rglob("*")
                   if path.is_file() and SECRET in path.read_bytes()]  # fmt: skip
        assert not holding
        assert done.returncode == code, printed
        return printed


@pytest.fixture
def desk(tmp_path: Path, build: Callable[[str], object]) -> Desk:  # noqa: F811
    inputs, outputs = tmp_path / "inputs", tmp_path / "outputs"
    inputs.mkdir()
    outputs.mkdir()
    image = build("sine")
    (inputs / "sine.elf").write_bytes(image.path.read_bytes())
    for name, text in (("hil.toml", CASES), ("suite.robot", SUITE), ("test_lab.py", TESTS),
                       ("conftest.py", OPTION), ("lab.toml", LAB)):  # fmt: skip
        (inputs / name).write_text(text)
    return Desk(inputs, outputs, {"TFLM_HIL_LAB_STATE": str(outputs / "state")})


@pytest.fixture(scope="module")
def database() -> Iterator[str]:
    """The URL of a PostgreSQL database, with a password."""
    needs.require("postgresql")
    with postgresql.server(postgresql.programs()) as server:
        yield server.url.replace("lab@", f"lab:{PASSWORD}@")


def run_reports(desk: Desk, history: str, code: int) -> str:
    """Run both cases with all reports, and with ``history``."""
    names = {"--json": "a.json", "--junit": "a.xml", "--html": "a.html", "--markdown": "a.md",
             "--output": "cases"}  # fmt: skip
    options = [word for option, name in names.items() for word in (option, desk.outputs / name)]
    return desk.run("harness", "run", "hil.toml", *options, "--annotate", "-v",
                    "--history", history, code=code)  # fmt: skip


@pytest.mark.slow
def test_run_and_history(desk: Desk, database: str) -> None:
    assert "postgresql+pg8000://lab:***@127.0.0.1" in run_reports(desk, database, code=4)
    recorded = desk.outputs / "a.json"
    command = json.loads(recorded.read_text())["run"]["command"]
    assert "--history 'postgresql+pg8000://lab:***@127.0.0.1:" in command
    desk.run("harness", "run", "hil.toml", "--case", "sine", "--output", desk.outputs / "cases",
             "--history", database, code=0)  # fmt: skip
    for arguments in (
        ["show", "--json", desk.outputs / "show.json"],
        ["show", "sine"],
        ["compare", "1", "2", "--markdown", desk.outputs / "compare.md"],
        ["record", recorded],
        ["report", desk.outputs / "site", "--commit-url", f"https://x:{PASSWORD}@h/{{commit}}"],
    ):
        desk.run("harness", "history", *arguments, "--history", database, code=0)
    for missing in (database.replace("/postgres", "/none"), UNREACHABLE):
        desk.run("harness", "history", "show", "--history", missing, code=3)


def test_run_without_its_history(desk: Desk) -> None:
    assert "postgresql+pg8000://lab:***@127.0.0.1:1" in run_reports(desk, UNREACHABLE, code=3)


@pytest.mark.parametrize(
    ("url", "code"),
    [
        (UNREACHABLE, 3),
        (f"postgresql+pg8000://lab:{PASSWORD}@127.0.0.1:port/postgres", 2),
        (f"nonsense://lab:{PASSWORD}@host", 2),
        ("postgresql+pg8000://127.0.0.1:1/postgres?user=lab&password=s3cret", 3),
        ("postgresql+pg8000:/lab:s3cret@host", 2),
    ],
)
def test_history_that_cannot_be_opened(desk: Desk, url: str, code: int) -> None:
    desk.environment |= {"TFLM_HIL_DEBUG": "1", "TFLM_HIL_HISTORY": url}
    desk.run("harness", "history", "show", code=code)


@pytest.mark.parametrize(
    "arguments",
    [
        ["run", "hil.toml", "--token", "s3cret-option"],
        ["run", "hil.toml", "sine", f"--history=a://b:{PASSWORD}@c"],
        ["run", f"a://b:{PASSWORD}@c"],
        ["run", "hil.toml", "--scraper", f"a://b:{PASSWORD}@c"],
    ],
)
def test_usage_error(desk: Desk, arguments: list[str]) -> None:
    desk.run("harness", *arguments, code=2)


def test_port_of_a_board(desk: Desk) -> None:
    file = desk.outputs / "a.json"
    desk.run("harness", "boards", "--lab", "lab.toml", "--json", file, code=0)
    assert json.loads(file.read_text())["boards"][0]["port"] == "rfc2217://lab:***@127.0.0.1:1"


@pytest.mark.slow
def test_robot(desk: Desk, database: str) -> None:
    for history in (database, UNREACHABLE):
        folder = desk.outputs / str(history == database)
        desk.run("robot", "--outputdir", folder, "--xunit", "xunit.xml", "--loglevel", "TRACE",
                 "--variable", f"HISTORY:{history}", "--variable", "LAB_TOKEN:an-s3cret-option",
                 "suite.robot", code=1)  # fmt: skip
        assert (folder / "hil.html").exists()
        assert "lab:***@127.0.0.1" in (folder / "output.xml").read_text()


@pytest.mark.slow
def test_pytest(desk: Desk, database: str) -> None:
    options = ["-p", "no:cacheprovider", "--showlocals", "--hil-output", desk.outputs,
               "--junitxml", desk.outputs / "junit.xml", "--lab-token", "an-s3cret-option",
               "test_lab.py", "hil.toml"]  # fmt: skip
    printed = desk.run("pytest", *options, "--hil-history", database, code=1)
    assert "login at postgresql+pg8000://lab:***@" in printed
    assert "lab:***@" in (desk.outputs / "results.json").read_text()
    desk.run("pytest", *options, "--hil-history", UNREACHABLE, code=4)
