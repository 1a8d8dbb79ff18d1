"""``tflm-hil reference``: real-valued inputs, and JSON that every reader takes."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from click.testing import CliRunner
from model_builder import Op, T, build

from harness.base import paths
from harness.cli import cli
from harness.reference import Interpreter, quantize


def test_real_values_are_quantized_on_request(tmp_path: Path) -> None:
    real, rows = np.array([[[0.5]], [[2.0]]], np.float32), tmp_path / "x.npy"
    np.save(rows, real)
    command = ["reference", "hello_world_int8.tflite", "--input", str(rows), "--json", "-"]

    refused = CliRunner().invoke(cli, command)
    said = CliRunner().invoke(cli, [*command, "--quantize"])

    assert "--quantize takes real values" in str(refused.exception)
    interpreter = Interpreter(paths.models() / "hello_world_int8.tflite")
    (x,) = interpreter.inputs
    (want,) = interpreter.invoke_batch([quantize(real, x.scale, x.zero_point)])
    assert json.loads(said.stdout)["outputs"][0]["values"] == want.tolist()


def test_quantize_without_inputs_is_refused() -> None:
    refused = CliRunner().invoke(cli, ["reference", "hello_world_int8.tflite", "--quantize"])
    assert "--quantize needs --input" in str(refused.exception)


def test_nan_and_infinities_are_text_in_json(tmp_path: Path) -> None:
    model, rows = tmp_path / "relu.tflite", tmp_path / "x.npy"
    tensors = [T((1, 3), "float32"), T((1, 3), "float32")]
    model.write_bytes(build(tensors, [Op("NEG", [0], [1])], [0], [1]))
    np.save(rows, np.array([[[np.nan, np.inf, 1.5]]], np.float32))
    said = CliRunner().invoke(cli, ["reference", str(model), "--input", str(rows), "--json", "-"])
    document = json.loads(said.stdout, parse_constant=lambda word: 1 / 0)
    assert document["outputs"][0]["values"] == [[["nan", "-inf", -1.5]]]
