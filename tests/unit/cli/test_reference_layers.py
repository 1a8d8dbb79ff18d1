"""``tflm-hil reference --layers`` shows the first row's inference, whatever ran besides."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from click.testing import CliRunner
from model_builder import Op, T, build

from harness.cli import cli


def test_layers_of_a_stateful_model_are_those_of_its_first_inference(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    tensors = [
        T((1, 4), "int8", 0.01, 0),
        T((2, 4), "int8", 0.01, 0, rng.integers(-127, 128, (2, 4))),
        T((2, 3), "int16", 0.01, 0, rng.integers(-9999, 9999, (2, 3))),
        T((2,), "int32", 1e-4, 0, rng.integers(-99, 99, 2)),
        T((1, 6), "int16", 0.01, 0, variable=True),
        T((1, 2), "int8", 0.5, 3),
    ]
    operator = Op("SVDF", [0, 1, 2, 3, 4], [5], ("SVDF", {"Rank": 1}))
    model, rows = tmp_path / "svdf.tflite", tmp_path / "rows.npy"
    model.write_bytes(build(tensors, [operator], [0], [5]))
    np.save(rows, np.full((3, 1, 4), 77, np.int8))

    said = CliRunner().invoke(cli, ["reference", str(model), "--input", str(rows), "--layers"])

    lines = said.output.splitlines()
    outputs = [line.partition("[")[2] for line in lines if line.startswith("output 0: [")]
    (layer,) = [line.rpartition("[")[2] for line in lines if "SVDF" in line]
    assert layer.split() == outputs[0].split()
    assert outputs[0] != outputs[1]
