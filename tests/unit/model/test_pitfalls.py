"""Notes on what tflite-micro computes differently from TensorFlow Lite."""

from __future__ import annotations

import pytest
from model_builder import Op, T, build

from harness import paths
from harness.model import Model
from harness.model.pitfalls import pitfalls


def relu6(
    *, scale: float = 0.5, zero: int = 0, operator: str = "RELU6", dtype: str = "int8"
) -> Model:
    tensors = [T([1, 4], dtype, scale=0.5), T([1, 4], dtype, scale=scale, zero=zero)]
    return Model.from_bytes(build(tensors, [Op(operator, [0], [1])], [0], [1]), "m.tflite")


@pytest.mark.parametrize("change", [{"scale": 0.25}, {"zero": -128}])
def test_a_relu6_between_two_ranges_is_noted(change: dict[str, float]) -> None:
    (note,) = pitfalls(relu6(**change))
    assert note.startswith("operator 0 RELU6: tflite-micro does not rescale from (0.5, 0) to (")


def test_a_relu6_with_one_range_is_not() -> None:
    assert pitfalls(relu6()) == ()


def test_other_activations_and_other_types_are_not() -> None:
    assert pitfalls(relu6(scale=0.25, operator="RELU")) == ()
    assert pitfalls(relu6(scale=0.25, dtype="float32")) == ()


def test_per_channel_weights_of_a_fully_connected_are_noted() -> None:
    (note,) = pitfalls(Model.from_file(paths.models() / "digits_cnn_int8.tflite"))
    assert "FULLY_CONNECTED has per-channel weights" in note


@pytest.mark.parametrize(
    "name", ["hello_world_int8", "digits_int8", "residual_int8", "atan_float32"]
)
def test_the_other_models_of_the_project_have_none(name: str) -> None:
    assert pitfalls(Model.from_file(paths.models() / f"{name}.tflite")) == ()
