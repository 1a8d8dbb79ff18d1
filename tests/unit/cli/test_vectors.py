"""``tflm-hil vectors``."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from click.testing import CliRunner

from harness.cli import cli


def test_the_written_file_is_judged_as_it_was_reported(tmp_path: Path) -> None:
    file = tmp_path / "v.npz"
    command = ["vectors", "hello_world_int8.tflite"]
    found = CliRunner().invoke(cli, [*command, "--output", str(file), "--workers", "1"])
    judged = CliRunner().invoke(cli, [*command, "--inputs", str(file), "--json", "-"])
    assert found.exit_code == judged.exit_code == 0
    assert "33 of 33 mistakes noticed (100 %)" in found.stdout
    assert json.loads(judged.stdout)["given"]["adequacy"] == 1


def test_given_inputs_are_judged_without_a_search(tmp_path: Path) -> None:
    file = tmp_path / "x.npy"
    np.save(file, np.zeros((3, 1, 1), np.int8))
    said = CliRunner().invoke(cli, ["vectors", "hello_world_int8.tflite", "--inputs", str(file)])
    assert "3 inputs" in said.stdout
    assert "not noticed: operator 0 FULLY_CONNECTED" in said.stdout
    assert "found in" not in said.stdout


def test_another_kind_of_file_is_refused() -> None:
    said = CliRunner().invoke(cli, ["vectors", "hello_world_int8.tflite", "--output", "v.txt"])
    assert "v.txt is not an .npz file" in str(said.exception)
