"""The sample models are what their cards say, and do what their cards say."""

from __future__ import annotations

import hashlib
import subprocess
import sys
import tomllib
import zlib
from collections import Counter
from pathlib import Path
from typing import Any

import needs
import numpy as np
import pytest

from harness.base import paths
from harness.model import Model
from harness.reference import Interpreter

NAMES = (
    "hello_world_int8",
    "hello_world_float32",
    "digits_int8",
    "digits_cnn_int8",
    "residual_int8",
    "chime_int8",
    "atan_float32",
)
CLASSIFIERS = ("digits_int8", "digits_cnn_int8", "residual_int8", "chime_int8")
BOARD_RAM = 256 * 1024

# Runs in a process of its own: the interpreter's C++ can take the whole process with it.
ORACLE = """
import sys
import numpy as np
from tflite_micro import runtime
model, inputs, outputs = sys.argv[1:]
interpreter = runtime.Interpreter.from_file(model, arena_size=1 << 18)
results = []
for row in np.load(inputs):
    interpreter.set_input(row[None], 0)
    interpreter.invoke()
    results.append(interpreter.get_output(0)[0])
np.save(outputs, np.array(results))
"""


def card(name: str) -> dict[str, Any]:
    return tomllib.loads((paths.models() / f"{name}.toml").read_text(encoding="ascii"))


def rows_and_arrays(name: str) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    entry = card(name)["test"]
    arrays = dict(np.load(paths.models() / entry["file"]))
    return arrays[entry["inputs"]], arrays


def official(name: str, inputs: np.ndarray, folder: Path) -> np.ndarray:
    needs.require("tflite-micro")
    np.save(folder / "inputs.npy", inputs)
    model = paths.models() / f"{name}.tflite"
    subprocess.run(
        [sys.executable, "-c", ORACLE, model, folder / "inputs.npy", folder / "outputs.npy"],
        check=True,
        timeout=120,
    )
    outputs: np.ndarray = np.load(folder / "outputs.npy")
    return outputs


def test_every_model_has_a_card_and_every_card_a_model() -> None:
    models = {path.stem for path in paths.models().glob("*.tflite")}
    cards = {path.stem for path in paths.models().glob("*.toml")}
    assert models == cards == set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_card_identifies_its_file(name: str) -> None:
    entry = card(name)
    data = (paths.models() / entry["file"]).read_bytes()
    assert hashlib.sha256(data).hexdigest() == entry["sha256"]
    assert f"{zlib.crc32(data):08x}" == entry["crc32"]
    assert len(data) == entry["bytes"]


@pytest.mark.parametrize("name", NAMES)
def test_card_lists_the_operators_in_order_of_first_use(name: str) -> None:
    model = Model.from_file(paths.models() / f"{name}.tflite")
    uses = Counter((op.name, op.version, op.custom) for op in model.operators)
    listed = [
        ((row["name"], row["version"], row["custom"]), row["count"])
        for row in card(name)["operators"]
    ]
    assert listed == list(uses.items())


def test_digits_has_exactly_the_operators_of_person_detection() -> None:
    model = Model.from_file(paths.models() / "digits_int8.tflite")
    five = {"CONV_2D", "DEPTHWISE_CONV_2D", "AVERAGE_POOL_2D", "RESHAPE", "SOFTMAX"}
    assert set(model.operator_names) == five


def test_digits_cnn_takes_and_gives_floats() -> None:
    model = Model.from_file(paths.models() / "digits_cnn_int8.tflite")
    assert [tensor.dtype for tensor in (*model.inputs, *model.outputs)] == ["float32", "float32"]
    assert model.operators[0].name == "QUANTIZE"
    assert model.operators[-1].name == "DEQUANTIZE"


@pytest.mark.parametrize("name", NAMES)
def test_no_relu6_would_have_to_rescale(name: str) -> None:
    """tflite-micro's int8 RELU6 only clamps: with two ranges the device computes nonsense."""
    model = Model.from_file(paths.models() / f"{name}.tflite")
    for operator in model.operators:
        if operator.name == "RELU6":
            source, result = model.tensors[operator.inputs[0]], model.tensors[operator.outputs[0]]
            assert (source.scale, source.zero_point) == (result.scale, result.zero_point)


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_card_accuracy_is_that_of_the_official_interpreter(name: str, tmp_path: Path) -> None:
    inputs, arrays = rows_and_arrays(name)
    outputs = official(name, inputs, tmp_path)
    assert len(outputs) == card(name)["test"]["rows"] >= 360
    accuracy = np.mean(outputs.argmax(axis=1) == arrays["labels"])
    assert accuracy == card(name)["test"]["accuracy"] >= 0.95


@pytest.mark.parametrize("name", ["hello_world_int8", "hello_world_float32"])
def test_card_error_is_that_of_the_official_interpreter(name: str, tmp_path: Path) -> None:
    inputs, arrays = rows_and_arrays(name)
    outputs = official(name, inputs, tmp_path).astype(np.float64)
    (tensor,) = Model.from_file(paths.models() / f"{name}.tflite").outputs
    if tensor.dtype == "int8":
        outputs = (outputs - tensor.zero_point) * np.float64(tensor.scale)
    error = np.abs(outputs - arrays["targets"])
    assert len(error) == card(name)["test"]["rows"]
    assert error.max() == pytest.approx(card(name)["test"]["largest_error"], rel=1e-3)
    assert np.sqrt(np.mean(error**2)) == pytest.approx(card(name)["test"]["rms_error"], rel=1e-3)


def test_atan_computes_the_arc_tangent_of_its_input_and_the_learned_offset() -> None:
    model = Model.from_file(paths.models() / "atan_float32.tflite")
    offset = np.frombuffer(model.tensors[model.operators[0].inputs[1]].data, np.float32)
    inputs, arrays = rows_and_arrays("atan_float32")
    largest = np.abs(np.arctan(inputs + offset) - arrays["targets"]).max()
    assert model.custom_operator_names == ("Atan",)
    assert largest == pytest.approx(card("atan_float32")["test"]["largest_error"], abs=2e-7)
    assert largest < 1e-6


@pytest.mark.parametrize("name", ["hello_world_int8", "digits_int8", "residual_int8", "chime_int8"])
def test_int8_rows_are_the_real_inputs_quantized_for_the_model(name: str) -> None:
    (tensor,) = Model.from_file(paths.models() / f"{name}.tflite").inputs
    rows, arrays = rows_and_arrays(name)
    real = arrays["pixels"] / 16.0 if "pixels" in arrays else arrays["float32"]
    exact = real / np.float64(tensor.scale) + tensor.zero_point
    # Half a step is as near as int8 can come; a little more for ties in single precision.
    assert np.abs(np.clip(exact, -128, 127) - rows).max() <= 0.5 + 1e-4
    assert rows.shape[1:] == tensor.shape[1:]


def test_float_rows_of_the_digits_are_their_pixels() -> None:
    rows, arrays = rows_and_arrays("digits_cnn_int8")
    assert np.array_equal(rows * 16, arrays["pixels"])


def test_the_first_ten_digits_are_one_of_each_class() -> None:
    labels = np.load(paths.models() / "digits_test.npz")["labels"]
    assert labels[:10].tolist() == list(range(10))


def test_one_frame_alone_does_not_decide_the_chimes() -> None:
    """A network that forgot after each frame would be right less often than the card says."""
    rows, arrays = rows_and_arrays("chime_int8")
    interpreter = Interpreter.from_file(paths.models() / "chime_int8.tflite")
    (forgetful,) = zip(*(_alone(interpreter, row) for row in rows), strict=True)
    accuracy = np.mean(np.argmax(forgetful, axis=1) == arrays["labels"])
    assert accuracy < card("chime_int8")["test"]["accuracy"] - 0.1


def _alone(interpreter: Interpreter, row: np.ndarray) -> list[np.ndarray]:
    interpreter.reset()
    return [output[0] for output in interpreter.invoke([row[None]])]


@pytest.mark.parametrize("name", NAMES)
def test_model_leaves_most_of_the_flash_and_ram_to_the_application(name: str) -> None:
    model = Model.from_file(paths.models() / f"{name}.tflite")
    activations = max(int(np.prod(tensor.shape)) for tensor in model.tensors if tensor.data is None)
    assert model.size < 100_000
    assert activations * 4 < BOARD_RAM // 8
