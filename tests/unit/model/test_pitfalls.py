"""Notes on operators that tflite-micro and TensorFlow Lite compute differently."""

from __future__ import annotations

import pytest
from model_builder import Op, T, build

from harness.base import paths
from harness.model import Model
from harness.model.pitfalls import pitfalls


def relu6(
    *, scale: float = 0.5, zero: int = 0, operator: str = "RELU6", dtype: str = "int8"
) -> Model:
    tensors = [T([1, 4], dtype, scale=0.5), T([1, 4], dtype, scale=scale, zero=zero)]
    return Model.from_bytes(build(tensors, [Op(operator, [0], [1])], [0], [1]), "m.tflite")


@pytest.mark.parametrize("change", [{"scale": 0.25}, {"scale": 1.0}, {"zero": -128}, {"zero": 3}])
def test_a_relu6_between_two_ranges_is_noted(change: dict[str, float]) -> None:
    (note,) = pitfalls(relu6(**change))
    assert note.startswith("operator 0 RELU6: tflite-micro does not rescale from (0.5, 0) to (")


def test_a_relu6_with_one_range_is_not() -> None:
    assert pitfalls(relu6()) == ()


def test_other_activations_and_other_types_are_not() -> None:
    for operator in ("RELU", "TANH"):
        assert pitfalls(relu6(scale=0.25, operator=operator)) == ()
    for dtype in ("float32", "uint8"):
        assert pitfalls(relu6(scale=0.25, dtype=dtype)) == ()


@pytest.mark.parametrize(("inputs", "outputs"), [([], [1]), ([0], []), ([-1], [1])])
def test_a_relu6_that_lacks_a_tensor_is_not(inputs: list[int], outputs: list[int]) -> None:
    tensors = [T([1, 4], scale=0.5), T([1, 4], scale=0.25), T([1, 4], scale=1.0)]
    data = build(tensors, [Op("RELU6", inputs, outputs)], [0], [1])
    assert pitfalls(Model.from_bytes(data)) == ()


def test_a_relu6_is_noted_by_its_first_input_and_output() -> None:
    tensors = [T([1, 4], scale=0.5), T([1, 4], scale=0.25)]
    data = build(tensors, [Op("RELU6", [0, 1], [1, 0])], [0], [1])
    assert len(pitfalls(Model.from_bytes(data))) == 1


def weighted(operator: str, inputs: list[int], scales: list[float]) -> Model:
    tensors = [T([1, 4], scale=0.5), T([1, 4], scale=0.5), T([4, 4], scale=scales)]
    return Model.from_bytes(build(tensors, [Op(operator, inputs, [1])], [0], [1]))


def test_weights_of_several_scales_are_noted_for_a_fully_connected_only() -> None:
    several = [0.1, 0.2, 0.3, 0.4]
    assert len(pitfalls(weighted("FULLY_CONNECTED", [0, 2], several))) == 1
    assert pitfalls(weighted("FULLY_CONNECTED", [0, 2], [0.1])) == ()
    for operator in ("CONV_2D", "TRANSPOSE_CONV"):
        assert pitfalls(weighted(operator, [0, 2], several)) == ()


def test_weights_of_several_scales_may_be_the_first_tensor() -> None:
    tensors = [T([4, 4], scale=[0.1, 0.2, 0.3, 0.4]), T([1, 4]), T([1, 4])]
    data = build(tensors, [Op("FULLY_CONNECTED", [1, 0], [2])], [1], [2])
    assert len(pitfalls(Model.from_bytes(data))) == 1


@pytest.mark.parametrize("inputs", [[0], [0, -1], []])
def test_a_fully_connected_without_weights_has_none_of_several_scales(inputs: list[int]) -> None:
    assert pitfalls(weighted("FULLY_CONNECTED", inputs, [0.1, 0.2, 0.3, 0.4])) == ()


def test_per_channel_weights_of_a_fully_connected_are_noted() -> None:
    (note,) = pitfalls(Model.from_file(paths.models() / "digits_cnn_int8.tflite"))
    assert "FULLY_CONNECTED has per-channel weights" in note


@pytest.mark.parametrize(
    "name", ["hello_world_int8", "digits_int8", "residual_int8", "atan_float32"]
)
def test_the_other_models_of_the_project_have_none(name: str) -> None:
    assert pitfalls(Model.from_file(paths.models() / f"{name}.tflite")) == ()


def lstm(values: str, weights: str) -> Model:
    tensors = [T([1, 2, 4], values), T([4, 4], weights), T([1, 2, 4], values)]
    operator = Op("UNIDIRECTIONAL_SEQUENCE_LSTM", [0, 1], [2])
    return Model.from_bytes(build(tensors, [operator], [0], [2]))


def test_int8_weights_of_a_float_lstm_are_noted() -> None:
    (note,) = pitfalls(lstm("float32", "int8"))
    assert note.startswith("operator 0 UNIDIRECTIONAL_SEQUENCE_LSTM: tflite-micro reads its int8")
    for values, weights in (("float32", "float32"), ("int8", "int8"), ("int16", "int8")):
        assert pitfalls(lstm(values, weights)) == ()


@pytest.mark.parametrize(("axes", "count"), [(6, 0), (7, 1), (8, 1)])
def test_more_than_six_axes_are_noted(axes: int, count: int) -> None:
    tensors = [T([1] * axes, "float32"), T([1], "float32")]
    data = build(tensors, [Op("RESHAPE", [0], [1])], [0], [1])
    assert len(pitfalls(Model.from_bytes(data))) == count
