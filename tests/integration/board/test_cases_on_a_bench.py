"""`tflm-hil run` on a bench that misbehaves: verdict, exit code, time, and the case after it."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest
from forked_python import run_python

from harness.elf.wrapped import wrap

TRANSCRIPT = Path(__file__).parents[2] / "data" / "transcripts" / "stock_person_detection_2021.log"
CASE = """
[[case]]
name = "person detection"
elf = "person.elf"
scraper = "person_detection"
inferences = 1
expect.values = [{values}]
targets = ["board"]
options.runner = "nrfutil"
timeout = 3
ends = false
watch = 0.5
"""
LAB = """
state = "state"
[policy]
retries = 0
settle_seconds = 0.5
flash_seconds = 60.0
return_seconds = 1.0
"""

HANGS = "flash-hangs"
#: What the board does wrong, the verdict, the exit code, a word of the reason.
TABLE = [
    ("unplug-after=60", "error", 3, "disappeared during"),
    pytest.param("baud=57600", "fail", 1, "are not text", marks=pytest.mark.slow),
    pytest.param("silent", "firmware", 4, "", marks=pytest.mark.slow),
    pytest.param("reset-loop=100", "firmware", 4, "reset", marks=pytest.mark.slow),
    ("brown-out", "error", 3, "could not program"),
    ("busy", "error", 3, "is open in"),
    ("flash-fails", "error", 3, "target did not respond"),
    (HANGS, "error", 3, "did not end within 3 s"),
    ("flash-lies", "error", 3, "read-back differs"),
]


@pytest.fixture
def case(tmp_path, bench):
    """Runs the case as a user does; answers exit code and result."""
    from harness.uart import Console, scraper

    text = TRANSCRIPT.read_bytes()
    console = Console([scraper("person_detection")])
    console.feed(text, 0.0)
    console.finish(1.0)
    values = ", ".join(
        "{" + ", ".join(f"{k} = {v}" for k, v in result.values.items()) + "}"
        for result in console.scrapers[0].results[:1]
    )
    (tmp_path / "person.elf").write_bytes(wrap([(0, text)]))
    (tmp_path / "hil.toml").write_text(CASE.replace("{values}", values))
    (tmp_path / "lab.toml").write_text(LAB)
    environment = {**os.environ, "TFLM_HIL_VIRTUAL_BENCH": str(bench)}
    environment |= {"TFLM_HIL_LAB": str(tmp_path / "lab.toml")}

    def run():
        done = run_python(
            "harness", "run", "hil.toml", "--json", "-", cwd=tmp_path, env=environment
        )
        assert "Traceback" not in done.stderr, done.stderr[-2000:]
        (result,) = json.loads(done.stdout)["cases"]
        return done.returncode, result

    return run


def wait_for(board):
    from harness.base.errors import TargetLost

    for _ in range(200):
        try:
            return board.find()
        except TargetLost:
            time.sleep(0.05)
    raise AssertionError("the board did not come back")


@pytest.mark.slow
def test_a_good_board_passes(dk, case):
    dk(baud=115200)
    code, result = case()
    assert (code, result["verdict"]) == (0, "pass"), result


def test_a_board_that_vanishes_in_mid_run_is_tried_again_by_default(dk, case, tmp_path):
    lab = tmp_path / "lab.toml"
    lab.write_text(lab.read_text().replace("retries = 0\n", ""))
    dk(baud=115200, misbehave=["unplug-after=60"])
    code, result = case()
    assert (code, result["verdict"]) == (0, "pass"), result


@pytest.mark.parametrize(("wrong", "verdict", "code", "word"), TABLE)
def test_a_misbehaving_board(dk, case, tmp_path, wrong, verdict, code, word):
    lab = tmp_path / "lab.toml"
    patient = lab.read_text()
    if wrong == HANGS:
        lab.write_text(patient.replace("flash_seconds = 60.0", "flash_seconds = 3.0"))
    board = dk(baud=115200, misbehave=[wrong])
    started = time.monotonic()
    got, result = case()
    assert time.monotonic() - started < 120  # of an idle machine: 25
    assert (result["verdict"], got) == (verdict, code), result["reason"]
    assert word in result["reason"]
    lab.write_text(patient)
    board.do("misbehave", names=[])
    wait_for(board)
    assert case()[1]["verdict"] == "pass"


@pytest.mark.slow
@pytest.mark.parametrize("wrong", ["flip=5", "drop=5", "repeat=5"])
def test_plain_text_with_errors_in_it_never_passes(dk, case, wrong):
    """Without checksums a bad line and a bad firmware look alike; neither passes."""
    board = dk(baud=115200, misbehave=[wrong])
    code, result = case()
    assert (code, result["verdict"]) in ((1, "fail"), (4, "firmware")), result
    board.do("misbehave", names=[])
    assert case()[1]["verdict"] == "pass"


def test_no_board_is_skipped(case, monkeypatch):
    code, result = case()
    assert (code, result["verdict"]) == (3, "skipped")
    assert "no board is attached" in result["reason"]
