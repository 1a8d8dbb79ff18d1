"""The comparison of two runs notices whatever differs, and not what is a chip's own."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from equal_runs import FIELDS, OF_ONE_CHIP, compare

BOOT = "~HIL 0 boot sample=a board={} runtime=standalone build={} *{}\r\n"
OUTPUT = "~HIL 1 output inference=0 index=0 offset=0 total=2 hex=7f80 *a5a40d05\r\n"


def run(folder: Path, chip: str, console: str = OUTPUT, **fields: object) -> Path:
    case = folder / "cases" / "simulator" / "a"
    case.mkdir(parents=True)
    told = dict.fromkeys((*FIELDS, *OF_ONE_CHIP)) | {
        "name": "a", "builder": "standalone", "target": "simulator", "chip": chip,
        "outputs_compared": 2, "total_instructions": 9, "findings": [],
    }  # fmt: skip
    (case / "result.json").write_text(json.dumps(told | fields))
    boot = BOOT.format(f"{chip}dk/{chip}", chip[::-1], f"{len(chip):08x}")
    (case / "console.bin").write_text(boot + console)
    return folder


@pytest.fixture
def one(tmp_path: Path) -> Path:
    return run(tmp_path / "one", "nrf9160")


def test_what_is_a_chips_own_does_not_count(one, tmp_path):
    note = {"kind": "approximation", "text": "the cache takes no time"}
    own = {"total_instructions": 39_733, "virtual_seconds": 0.1, "flash": 20, "findings": [note]}
    count, found = compare(one, run(tmp_path / "other", "nrf5340", **own))
    assert not found
    assert (count["cases"], count["values of outputs"], count["lines of consoles"]) == (1, 2, 3)


@pytest.mark.parametrize("field", OF_ONE_CHIP)
def test_runs_of_one_chip_differ_in_nothing(one, tmp_path, field):
    assert len(compare(one, run(tmp_path / "other", "nrf9160", **{field: 10}))[1]) == 1


@pytest.mark.parametrize(
    "change",
    [
        {"console": OUTPUT.replace("7f80", "7f81")},
        {"console": OUTPUT.replace("a5a40d05", "a5a40d06")},
        {"console": OUTPUT + "hello\n"},
        {"instructions": 10},
        {"verdict": "fail"},
        {"findings": [{"kind": "fault", "text": "BusFault"}]},
        {"name": "b"},
    ],
)
def test_every_other_difference_is_found(one, tmp_path, change):
    assert compare(one, run(tmp_path / "other", "nrf5340", **change))[1]


def test_a_case_may_be_missing_by_name(one, tmp_path):
    other = run(tmp_path / "other", "nrf5340")
    (other / "cases" / "simulator" / "b").mkdir()
    told = (other / "cases" / "simulator" / "a" / "result.json").read_text()
    (other / "cases" / "simulator" / "b" / "result.json").write_text(told.replace('"a"', '"b"'))
    assert compare(one, other)[1] == ["b (standalone, simulator) ran in one only"]
    assert not compare(one, other, ["b"])[1]


def test_runs_without_an_output_are_not_equal(tmp_path):
    empty = run(tmp_path / "one", "nrf9160", outputs_compared=0)
    assert compare(empty, empty)[1] == ["no output was compared"]
