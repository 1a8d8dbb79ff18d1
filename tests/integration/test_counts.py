"""A number of results that was asked for counts, and the result says so."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from bare_images import BareImages

from harness.cli import main

pytestmark = pytest.mark.needs("arm-none-eabi-gcc")

BODY = 'for (int i = 0; i < 8; i++) say("y=1\\n"); say("done\\n"); for (;;) {}'
CASE = """
[[case]]
name = "eight"
elf = "eight.elf"
scraper = '/y=(?P<y>.)/'
expect.values = [{y = 1}]
"""
DOOR = "came and {} were asked for: --inferences replaces inferences = {} of hil.toml, case 'eight'"


@pytest.fixture(scope="module")
def elf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return BareImages(tmp_path_factory.mktemp("images"))(BODY)


@pytest.fixture
def run(elf, tmp_path, monkeypatch, capsys):
    """Runs an image that prints eight results; its row of ``run --json``."""
    monkeypatch.chdir(tmp_path)
    Path("eight.elf").write_bytes(elf.read_bytes())

    def run(file: str, *options: str) -> dict:
        Path("hil.toml").write_text(CASE + file)
        main(["run", "hil.toml", *options, "--json", "-"])
        [case] = json.loads(capsys.readouterr().out)["cases"]
        return case

    return run


ENDLESS, LAST = 'end = "never"\n', 'end = { line = "done" }\n'


@pytest.mark.parametrize(
    ("file", "door", "verdict", "reason"),
    [
        ("", "9", "firmware", "9 lines and 8 of 9 results came, then it branches"),
        (ENDLESS, "9", "firmware", "9 lines and 8 of 9 results came, then it branches"),
        ("inferences = 9\n", "", "firmware", "9 lines and 8 of 9 results came, then it branches"),
        (LAST, "9", "fail", "8 results came, 1 are expected"),
        (f"{ENDLESS}inferences = 20\n", "3", "pass", f"8 results {DOOR.format(3, 20)}"),
        (f"{ENDLESS}inferences = 3\n", "3", "pass", "8 values of 8 inferences equal"),
    ],
)
def test_the_reason_says_how_many_came_and_were_asked_for(run, file, door, verdict, reason):
    case = run(file, *(["--inferences", door] if door else []))
    assert case["verdict"] == verdict
    assert reason in case["reason"]


def test_a_failure_notes_which_number_counts(run):
    case = run(f"{ENDLESS}inferences = 20\n", "--inferences", "9")
    assert case["problems"][-1] == f"note: 8 results {DOOR.format(9, 20)}"


def test_the_same_number_from_both_replaces_nothing(run):
    assert "asked for" not in run(f"{ENDLESS}inferences = 3\n", "--inferences", "3")["reason"]


def test_a_scraper_from_the_command_line_does_not_replace_outputs_in_silence(
    elf, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    Path("eight.elf").write_bytes(elf.read_bytes())
    Path("hil.toml").write_text(
        '[[case]]\nname = "eight"\nelf = "eight.elf"\nmodel = "hello_world_int8"\n'
        "inputs = ['x=(.)']\noutputs = ['y=(.)']\n"
    )
    assert main(["run", "hil.toml", "--scraper", "hello_world"]) == 2
    assert "outputs" in (said := capsys.readouterr().err) and "scraper" in said
