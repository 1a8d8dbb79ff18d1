"""The stage of the doors: a folder with images, a model, results; and each way into the package."""

from __future__ import annotations

import io
import json
import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import inner_pytest
import replay_nights as lab
from action_runner import Runner
from elf_writer import MadeSection, MadeSymbol, write_elf
from forked_python import run_python

from harness.base import paths
from harness.base.errors import TargetLost
from harness.build.builders import build_all
from harness.cli import main
from robot import api

ROOT = Path(__file__).parents[2]
#: Images of the stage: file name -> sample and resolver configuration.
IMAGES = {
    "hello.elf": ("hello_world", "exact"),
    "refused.elf": ("hello_world", "missing"),  # ends before its first inference
    "other.elf": ("hello_world", "all"),
    "digits.elf": ("digits", "exact"),
}
MODELS = {"hello.tflite": "hello_world_int8.tflite", "digits.tflite": "digits_int8.tflite"}
CASES = '[[case]]\nname = "sine"\nelf = "hello.elf"\nmodel = "hello.tflite"\n'
SWEEP = 'samples = ["hello_world"]\n'
SUITE = """
*** Settings ***
Library    harness.keywords.TflmHil
{settings}
*** Variables ***
${{ELF}}    ${{{{pathlib.Path('hello.elf')}}}}

*** Test Cases ***
A Test
"""
#: A part of a keyword's name -> the library of the keyword; the import of one takes time.
LIBRARIES = {
    "Layers Should": "harness.keywords.layers.Layers",
    "Lifecycle Should": "harness.keywords.lifecycle.OperatorLifecycle",
    "Outputs Should Equal": "harness.keywords.reference.Reference",
    "Copy File": "OperatingSystem",
}


@dataclass(frozen=True)
class Outcome:
    """How a call ended: its exit code, and all that it printed."""

    code: int
    said: str

    @property
    def green(self) -> bool:
        return self.code == 0


class Stage:
    """A folder of its own for each cell. Calls run there, the cheap ones in this process."""

    def __init__(self, folder: Path, monkeypatch, capsys) -> None:
        self.folder = folder / "stage"
        self.folder.mkdir()
        self.monkeypatch, self._capsys, self._outer = monkeypatch, capsys, folder
        self._code = ""  # what a process of its own runs first
        for name, image in IMAGES.items():
            shutil.copy(_images()[image], self.folder / name)
        for name, model in MODELS.items():
            shutil.copy(paths.models() / model, self.folder / name)
        self.write("hil.toml", CASES)
        self.write("sweep.toml", SWEEP)
        self.write("silent.elf", _silent())
        for night in range(4):
            self.results(
                f"night-{night}.json", lab.document(lab.case(), lab.case("b"), night=night)
            )
        monkeypatch.chdir(self.folder)
        for name, value in {"RENODE": "/no/such/renode", "COLUMNS": "200",
                            "TFLM_HIL_LAB_STATE": str(folder / "state")}.items():  # fmt: skip
            monkeypatch.setenv(name, value)
        for name in ("TFLM_HIL_VIRTUAL_BENCH", "TFLM_HIL_HISTORY", "TFLM_HIL_LAB"):
            monkeypatch.delenv(name, raising=False)

    # ways in

    def cli(self, line: str) -> Outcome:
        """``tflm-hil LINE``."""
        return self.call(line.split())

    def call(self, words: list[str]) -> Outcome:
        """``tflm-hil WORDS``."""
        code = main(words)
        said = self._capsys.readouterr()
        return Outcome(code, said.out + said.err)

    def robot(self, steps: str, *variables: str, setup: str = "") -> Outcome:
        """A Robot execution of one test, perhaps with a suite's set-up."""
        body = "".join(f"    {step}\n" for step in steps.split("\n"))
        settings = [f"Library    {name}\n" for part, name in LIBRARIES.items() if part in steps]
        settings += [f"Suite Setup    {setup}\n"] if setup else []
        self.write("suite.robot", SUITE.format(settings="".join(settings)) + body)
        suite = api.TestSuite.from_file_system(self.folder / "suite.robot")
        out = io.StringIO()
        done = suite.run(variable=list(variables), outputdir="out", stdout=out, stderr=out)
        messages = [test.message for test in done.suite.all_tests]
        return Outcome(done.return_code, "\n".join([*messages, out.getvalue()]))

    def robot_command(self, *arguments: str) -> Outcome:
        """``robot ARGUMENTS suite.robot``, in a process of its own."""
        self.write("suite.robot", f"{SUITE.format(settings='')}    Run Case    hil.toml\n")
        return self._process("robot", "--outputdir", "out", *arguments, "suite.robot")

    def pytest(self, body: str, *arguments: str) -> Outcome:
        """A pytest session of the case files, or of one test in Python if there is a ``body``."""
        if body:
            (self.folder / "hil.toml").rename(self.folder / "unused.toml")
            lines = "".join(f"    {line}\n" for line in body.split("\n"))
            self.write("test_it.py", f"def test_it(hil):\n{lines}")
        self.write("conftest.py", self._code)
        self.write("pytest.ini", "[pytest]\n")
        return self._process("pytest", *inner_pytest.ARGUMENTS, "-rA", *arguments)

    def action(self, **inputs: str) -> Outcome:
        """The action's steps in the stage's folder; its code is the first that is not 0."""
        runner = Runner(self._outer)
        runner.workspace.rmdir()
        self.folder.rename(runner.workspace)
        runner.environment = {"GITHUB_REF_NAME": "main", "RENODE": "/no/such/renode",
                              "TFLM_HIL_LAB_STATE": str(self._outer / "state")}  # fmt: skip
        codes = runner.run(**inputs)
        return Outcome(next((code for code in codes.values() if code), 0), runner.said)

    def _process(self, *arguments: str) -> Outcome:
        path = os.pathsep.join([str(ROOT), str(ROOT / "tests" / "support")])
        environment = {**os.environ, **inner_pytest.ENVIRONMENT, "PYTHONPATH": path}
        done = run_python(*arguments, cwd=self.folder, env=environment)
        return Outcome(done.returncode, done.stdout + done.stderr)

    # ways to spoil it

    def write(self, name: str, content: str | bytes) -> None:
        data = content if isinstance(content, bytes) else content.encode()
        (self.folder / name).write_bytes(data)

    def put(self, name: str, other: str) -> None:
        """Give the file ``name`` the content of ``other``."""
        shutil.copy(self.folder / other, self.folder / name)

    def results(self, name: str, document: dict) -> None:
        self.write(name, json.dumps(document))

    def kept(self, *nights: int) -> None:
        """Record these nights in lab.db."""
        files = " ".join(f"night-{night}.json" for night in nights)
        assert self.cli(f"history record {files} --history lab.db").green

    def lose_simulator(self) -> None:
        """The simulator is lost as a board is that somebody unplugs."""

        def lost(*arguments: object, **options: object):
            raise TargetLost("the board was unplugged")

        self.monkeypatch.setattr("harness.targets.simulator.open", lost)
        self._code += (
            "import harness.targets.simulator\nfrom harness.base.errors import TargetLost\n"
            "def lost(*arguments, **options):\n"
            "    raise TargetLost('the board was unplugged')\n"
            "harness.targets.simulator.open = lost\n"
        )

    def samples_without(self, change: Callable[[str], str]) -> None:
        """Samples of one's own, with the table changed."""
        mine = self.folder / "mine"
        mine.mkdir()
        for path in paths.samples().iterdir():
            if path.name != "resolvers.toml":
                (mine / path.name).symlink_to(path)
        text = (paths.samples() / "resolvers.toml").read_text(encoding="utf-8")
        (mine / "resolvers.toml").write_text(change(text), encoding="utf-8")
        self.monkeypatch.setenv("TFLM_HIL_SAMPLES", str(mine))


@cache
def _images() -> dict[tuple[str, str], Path]:
    return build_all(list(IMAGES.values()))


def _silent() -> bytes:
    """An image that stands still at its first instruction, ``b .``, and prints nothing."""
    vectors = (0x2000_4000).to_bytes(4, "little") + (0x41).to_bytes(4, "little")
    code = vectors + bytes(0x38) + b"\xfe\xe7\x00\xbf"
    text = MadeSection(".text", 0, code, load=0, executable=True)
    return write_elf([text], [MadeSymbol("main", 0x41, 4, "func")], entry=0x41)
