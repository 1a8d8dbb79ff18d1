"""``tflm-hil reference --layers`` shows the first row's inference, whatever ran besides."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from click.testing import CliRunner
from networks import svdf

from harness.cli import cli


def test_layers_of_a_stateful_model_are_those_of_its_first_inference(tmp_path: Path) -> None:
    model, rows = tmp_path / "svdf.tflite", tmp_path / "rows.npy"
    model.write_bytes(svdf())
    np.save(rows, np.full((3, 1, 4), 77, np.int8))

    said = CliRunner().invoke(cli, ["reference", str(model), "--input", str(rows), "--layers"])

    lines = said.output.splitlines()
    outputs = [line.partition("[")[2] for line in lines if line.startswith("output 0: [")]
    (layer,) = [line.rpartition("[")[2] for line in lines if "SVDF" in line]
    assert layer.split() == outputs[0].split()
    assert outputs[0] != outputs[1]
