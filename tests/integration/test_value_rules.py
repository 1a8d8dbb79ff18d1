"""Each door takes a rule of `expect.compare`: an image that prints percent passes, and can fail."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import inner_pytest
import inner_robot
import pytest
from bare_images import BareImages

from harness.cli import main

pytest_plugins = ["pytester"]
pytestmark = pytest.mark.needs("arm-none-eabi-gcc")

REGEX = r"/^(?P<label>\w+) (?P<score>\d+)%/"


@dataclass
class Doors:
    """Each method runs the image with a listed score, and says whether it passes."""

    elf: Path
    folder: Path
    pytester: pytest.Pytester

    def case_file(self, score: float) -> bool:
        self._write(score, "expect.compare = { score = { factor = 0.01 } }\n")
        return main(["run", str(self.folder / "hil.toml")]) == 0

    def command_line(self, score: float) -> bool:
        words = ["run", str(self.elf), "--scraper", REGEX,
                 "--set", f"expect.values=[{{label='idle', score={score}}}]",
                 "--set", "expect.compare.score.factor=0.01"]  # fmt: skip
        return main(words) == 0

    def hil_run(self, score: float) -> bool:
        expect = {"values": [{"label": "idle", "score": score}],
                  "compare": {"score": {"factor": 0.01}}}  # fmt: skip
        self.pytester.makepyfile(
            f"def test_it(hil):\n"
            f"    hil.run({str(self.elf)!r}, scraper={REGEX!r}, expect={json.dumps(expect)})\n"
        )
        return inner_pytest.run(self.pytester).ret == 0

    def robot(self, score: float) -> bool:
        self._write(score)
        call = "Run Case    hil.toml    set=expect.compare={score={factor=0.01}}"
        return inner_robot.run(self.folder, f"A\n    {call}\n") == {"A": ""}

    def _write(self, score: float, more: str = "") -> None:
        """A case file that lists the score."""
        (self.folder / "hil.toml").write_text(
            f"[[case]]\nname = 'a'\nelf = '{self.elf}'\nscraper = '{REGEX}'\n"
            f"expect.values = [{{ label = 'idle', score = {score} }}]\n{more}"
        )


@pytest.mark.parametrize(
    "door",
    [
        Doors.case_file,
        Doors.command_line,
        pytest.param(Doors.hil_run, marks=pytest.mark.slow),
        pytest.param(Doors.robot, marks=pytest.mark.slow),
    ],
    ids=lambda door: door.__name__,
)
def test_a_door_takes_a_rule_of_values(
    door: Callable[[Doors, float], bool],
    tmp_path: Path,
    pytester: pytest.Pytester,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    elf = BareImages(tmp_path)('say("idle 93%\\n");')
    doors = Doors(elf, tmp_path, pytester)
    assert door(doors, 0.93)
    assert not door(doors, 0.94)
