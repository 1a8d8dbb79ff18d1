"""The comparison of two runs notices whatever differs, and not what is a chip's own."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from equal_runs import FIELDS, compare

BOOT = "~HIL 0 boot sample=a board={} runtime=standalone build={} *{}\r\n"
OUTPUT = "~HIL 1 output inference=0 index=0 offset=0 total=2 hex=7f80 *a5a40d05\r\n"


def run(folder: Path, board: str, console: str = OUTPUT, name: str = "a", **fields: object) -> Path:
    case = folder / "cases" / "simulator" / name
    case.mkdir(parents=True)
    told = dict.fromkeys(FIELDS) | {"outputs_compared": 2, "total_instructions": 9, "findings": []}
    (case / "result.json").write_text(json.dumps(told | fields))
    (case / "console.bin").write_text(
        BOOT.format(board, hash(board), f"{len(board):08x}") + console
    )
    return folder


@pytest.fixture
def one(tmp_path: Path) -> Path:
    return run(tmp_path / "one", "nrf9160dk/nrf9160")


def test_what_is_a_chips_own_does_not_count(one, tmp_path):
    note = {"kind": "approximation", "text": "the cache takes no time"}
    other = run(tmp_path / "other", "nrf5340dk/nrf5340/cpuapp", findings=[note])
    count, found = compare(one, other)
    assert not found
    assert (count["cases"], count["values of outputs"], count["lines of consoles"]) == (1, 2, 3)


@pytest.mark.parametrize(
    "change",
    [
        {"console": OUTPUT.replace("7f80", "7f81")},
        {"console": OUTPUT.replace("a5a40d05", "a5a40d06")},
        {"console": OUTPUT + "hello\n"},
        {"total_instructions": 10},
        {"verdict": "fail"},
        {"findings": [{"kind": "fault", "text": "BusFault"}]},
        {"name": "b"},
    ],
)
def test_every_other_difference_is_found(one, tmp_path, change):
    assert compare(one, run(tmp_path / "other", "nrf5340dk/nrf5340/cpuapp", **change))[1]


def test_runs_without_an_output_are_not_equal(tmp_path):
    empty = run(tmp_path / "one", "x", outputs_compared=0)
    assert compare(empty, empty)[1] == ["no output was compared"]
