"""Messages for tensors whose shapes do not fit each other."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from model_builder import T, constant
from one_operator_models import activation as _a
from one_operator_models import assert_refused, real
from one_operator_models import one_operator as _one
from one_operator_models import weights as _w
from oracle import Oracle

from harness.base.errors import BadModel, UnsupportedOperator
from harness.model import Model
from harness.reference import Interpreter


def _svdf(change: Callable[[list[T]], None], rank: int = 1) -> bytes:
    """Two filters over four inputs with a memory of three, int8 with an int16 state."""
    tensors = [
        _a(1, 4, scale=0.01),
        _w(2, 4),
        T((2, 3), "int16", 0.01, 0, [[1, 2, 3], [4, 5, 6]]),
        T((2,), "int32", 1e-4, 0, [7, 8]),
        T((1, 6), "int16", 0.01, 0, variable=True),
        _a(1, 2, scale=0.5),
    ]
    change(tensors)
    return _one("SVDF", tensors, [0, 1, 2, 3, 4], ("SVDF", {"Rank": rank}))


def _put(index: int, tensor: T) -> Callable[[list[T]], None]:
    return lambda tensors: tensors.__setitem__(index, tensor)


def _float_svdf(tensors: list[T]) -> None:
    tensors[0] = T((1, 4), "float32")
    tensors[5] = T((1, 2), "float32")


def _real_svdf(tensors: list[T]) -> None:
    """All of it float32, but for the bias."""
    for index, tensor in enumerate(tensors):
        if index != 3:
            data = tensor.data
            tensors[index] = T(tensor.shape, "float32", data=data, variable=tensor.variable)


def _matmul(x: T, y: T, output: T, **options: bool) -> bytes:
    return _one("BATCH_MATMUL", [x, y, output], [0, 1], ("BatchMatMul", options), (0, 1))


def _conv(x: T, weights: T, output: T, **options: int) -> bytes:
    told = {"StrideH": 1, "StrideW": 1, "Padding": 1, **options}
    return _one("CONV_2D", [x, weights, output], [0, 1], ("Conv2D", told))


def _depthwise(x: T, weights: T, output: T, multiplier: int, **options: int) -> bytes:
    told = {"StrideH": 1, "StrideW": 1, "Padding": 1, "DepthMultiplier": multiplier, **options}
    return _one("DEPTHWISE_CONV_2D", [x, weights, output], [0, 1], ("DepthwiseConv2D", told))


def _transposed(x: T, weights: T, output: T, inputs: tuple[int, ...] = (2, 1, 0)) -> bytes:
    size = constant(output.shape)
    told = {"StrideH": 1, "StrideW": 1, "Padding": 1}
    return _one("TRANSPOSE_CONV", [x, weights, size, output], inputs, ("TransposeConv", told))


def _resize(kind: str, x: T, size: list[int], output: T, **options: bool) -> bytes:
    table = {"RESIZE_BILINEAR": "ResizeBilinear"}.get(kind, "ResizeNearestNeighbor")
    return _one(kind, [x, constant(size), output], [0, 1], (table, options))


REFUSED = {
    "SVDF of rank 0": (_svdf(lambda tensors: None, rank=0), "rank 0"),
    "SVDF of an input without a batch": (_svdf(_put(0, _a(4, scale=0.01))), "shapes [[4]"),
    "SVDF whose rank does not divide its filters": (
        _svdf(lambda tensors: None, rank=3),
        "2 filters of rank 3",
    ),
    "SVDF whose weights are of another depth": (_svdf(_put(1, _w(2, 5))), "weights [2, 5]"),
    "SVDF whose state is not a variable": (
        _svdf(_put(4, T((1, 6), "int16", 0.01, 0, [[0] * 6]))),
        "is not a variable",
    ),
    "SVDF whose state is too short": (
        _svdf(_put(4, T((1, 5), "int16", 0.01, 0, variable=True))),
        "its state has the shape [1, 5]",
    ),
    "SVDF whose bias is too long": (
        _svdf(_put(3, T((3,), "int32", 1e-4, 0, [1, 2, 3]))),
        "3 elements for 2 units",
    ),
    "SVDF of float32 with an int32 bias": (
        _svdf(_real_svdf),
        "its bias is int32, beside float32 activations",
    ),
    "SVDF of float32 with int8 weights": (_svdf(_float_svdf), "float32 with other weights"),
    "SVDF whose time weights are not of the state's type": (
        _svdf(_put(2, _w(2, 3))),
        "TFLM reads its int16 state as int8, as its time weights",
    ),
    "SVDF with a bias of int16": (
        _svdf(_put(3, T((2,), "int16", 1e-4, 0, [7, 8]))),
        "its bias is int16, beside int8 activations",
    ),
    "SVDF whose bias has another scale": (
        _svdf(_put(3, T((2,), "int32", 1e-2, 0, [7, 8]))),
        "another scale",
    ),
    "BATCH_MATMUL of two types": (
        _matmul(_a(2, 3), _a(3, 2, dtype="int16"), _a(2, 2)),
        "int8 times int16",
    ),
    "BATCH_MATMUL of int16 with a zero point": (
        _matmul(_a(2, 3, dtype="int16", zero=1), _a(3, 2, dtype="int16"), _a(2, 2, dtype="int16")),
        "zero point 0",
    ),
    "BATCH_MATMUL of int16 with a zero point in its output": (
        _matmul(_a(2, 3, dtype="int16"), _a(3, 2, dtype="int16"), _a(2, 2, dtype="int16", zero=1)),
        "zero point 0",
    ),
    "BATCH_MATMUL of a vector": (_matmul(_a(3), _a(3, 2), _a(1, 2)), "the shapes [3] and [3, 2]"),
    "BATCH_MATMUL of six dimensions": (
        _matmul(_a(1, 1, 1, 1, 2, 3), _a(3, 2), _a(1, 1, 1, 1, 2, 2)),
        "the shapes [1, 1, 1, 1, 2, 3]",
    ),
    "BATCH_MATMUL of batches that do not broadcast": (
        _matmul(_a(2, 2, 3), _a(3, 3, 2), _a(2, 2, 2)),
        "do not broadcast",
    ),
    "BATCH_MATMUL of two depths": (
        _matmul(_a(2, 3), _a(4, 2), _a(2, 2)),
        "the shapes [2, 3] and [4, 2] cannot be multiplied",
    ),
    "CONV_2D to int16 with a zero point and an activation": (
        _conv(
            _a(1, 4, 4, 3, dtype="int16"),
            _w(6, 3, 3, 3),
            _a(1, 2, 2, 6, dtype="int16", zero=5),
            FusedActivationFunction=1,
        ),
        "its int16 output has a zero point and a fused activation",
    ),
    "CONV_2D whose groups do not fit": (
        _conv(_a(1, 4, 4, 3), _w(2, 1, 1, 2), _a(1, 4, 4, 2)),
        "3 input channels, 2 filters of 2 channels",
    ),
    "CONV_2D whose filters do not divide by the groups": (
        _conv(_a(1, 4, 4, 4), _w(3, 1, 1, 2), _a(1, 4, 4, 3)),
        "4 input channels, 3 filters",
    ),
    "CONV_2D of weights with three dimensions": (
        _conv(_a(1, 4, 4, 2), _w(2, 1, 2), _a(1, 4, 4, 2)),
        "weights have the shape [2, 1, 2]",
    ),
    "CONV_2D with a stride of 0": (
        _conv(_a(1, 4, 4, 2), _w(2, 1, 1, 2), _a(1, 4, 4, 2), StrideH=0),
        "stride",
    ),
    "DEPTHWISE_CONV_2D of two sets of weights": (
        _depthwise(_a(1, 4, 4, 2), _w(2, 1, 1, 2), _a(1, 4, 4, 2), 1),
        "weights [2, 1, 1, 2] for 2 input channels",
    ),
    "DEPTHWISE_CONV_2D whose outputs do not divide by the channels": (
        _depthwise(_a(1, 4, 4, 2), _w(1, 1, 1, 3), _a(1, 4, 4, 3), 1),
        "weights [1, 1, 1, 3] for 2 input channels",
    ),
    "DEPTHWISE_CONV_2D with another multiplier": (
        _depthwise(_a(1, 4, 4, 2), _w(1, 1, 1, 4), _a(1, 4, 4, 4), 1),
        "its depth multiplier 1 does not fit",
    ),
    "RESIZE_BILINEAR of three dimensions": (
        _resize("RESIZE_BILINEAR", _a(4, 4, 1), [8, 8], _a(1, 8, 8, 1)),
        "is invalid for the input [4, 4, 1]",
    ),
    "RESIZE_BILINEAR to one number": (
        _resize("RESIZE_BILINEAR", _a(1, 4, 4, 1), [8], _a(1, 8, 8, 1)),
        "the size [8] is invalid for the input",
    ),
    "RESIZE_BILINEAR to nothing": (
        _resize("RESIZE_BILINEAR", _a(1, 4, 4, 1), [0, 8], _a(1, 0, 8, 1)),
        "is invalid for the input [1, 4, 4, 1]",
    ),
    "RESIZE_BILINEAR by both ways at once": (
        _resize(
            "RESIZE_BILINEAR",
            _a(1, 4, 4, 1),
            [8, 8],
            _a(1, 8, 8, 1),
            AlignCorners=True,
            HalfPixelCenters=True,
        ),
        "exclude each other",
    ),
    "RESIZE_NEAREST_NEIGHBOR of three dimensions": (
        _resize("RESIZE_NEAREST_NEIGHBOR", _a(4, 4, 1), [8, 8], _a(1, 8, 8, 1)),
        "is invalid for the input [4, 4, 1]",
    ),
}


#: An image of 4x4 with 2 channels, and a kernel of 3x3 that makes 5 of them.
_IMAGE, _KERNEL = _a(1, 4, 4, 2), _w(5, 3, 3, 2)
REFUSED |= {
    "TRANSPOSE_CONV without its weights": (
        _transposed(_IMAGE, _KERNEL, _a(1, 6, 6, 5), (2, -1, 0)),
        "its weights or its input are missing",
    ),
    "TRANSPOSE_CONV of an image without a batch": (
        _transposed(_a(4, 4, 2), _KERNEL, _a(1, 6, 6, 5)),
        "input [4, 4, 2], output [1, 6, 6, 5]",
    ),
    "TRANSPOSE_CONV to an output without rows": (
        _transposed(_IMAGE, _KERNEL, _a(1, 0, 6, 5)),
        "input [1, 4, 4, 2], output [1, 0, 6, 5]",
    ),
    "TRANSPOSE_CONV of another batch": (
        _transposed(_IMAGE, _KERNEL, _a(2, 6, 6, 5)),
        "weights [5, 3, 3, 2], output [2, 6, 6, 5]",
    ),
    "TRANSPOSE_CONV of another depth": (
        _transposed(_a(1, 4, 4, 3), _KERNEL, _a(1, 6, 6, 5)),
        "input [1, 4, 4, 3], weights [5, 3, 3, 2]",
    ),
    "TRANSPOSE_CONV to another number of channels": (
        _transposed(_IMAGE, _KERNEL, _a(1, 6, 6, 4)),
        "weights [5, 3, 3, 2], output [1, 6, 6, 4]",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_inconsistent_models_are_refused_with_a_reason(name: str) -> None:
    assert_refused(*REFUSED[name])


def test_two_aligned_columns_are_the_outer_ones() -> None:
    data = _resize("RESIZE_BILINEAR", _a(1, 1, 3, 1), [1, 2], _a(1, 1, 2, 1), AlignCorners=True)
    row = np.array([1, 5, 9], np.int8).reshape(1, 1, 3, 1)
    (resized,) = Interpreter(Model.from_bytes(data, "resize")).invoke([row])
    assert resized.ravel().tolist() == [1, 9]


@pytest.mark.parametrize("after", [2, 5, 683, 684])
def test_aligned_columns_between_two_are_where_the_device_has_them(
    after: int, micro: Oracle
) -> None:
    """The distance of two has 10 bits of fraction, and is rounded down at the half: 1026 / 683."""
    sizes = _a(1, 1, 2, 1), [1, after], _a(1, 1, after, 1)
    data = _resize("RESIZE_BILINEAR", *sizes, AlignCorners=True)
    row = np.array([-128, 127], np.int8).reshape(1, 1, 2, 1)
    (resized,) = Interpreter(Model.from_bytes(data)).invoke([row])
    assert resized.tolist() == micro.run(data, [[row]])[0][0][0].tolist()


def test_the_model_that_the_refused_ones_vary_runs() -> None:
    interpreter = Interpreter(Model.from_bytes(_svdf(lambda tensors: None), "svdf"))
    assert interpreter.outputs[0].shape == (1, 2)


def test_the_transposed_convolution_that_the_refused_ones_vary_runs() -> None:
    model = Model.from_bytes(_transposed(_IMAGE, _KERNEL, _a(1, 6, 6, 5)), "transposed")
    assert Interpreter(model).outputs[0].shape == (1, 6, 6, 5)


def test_a_computed_shape_of_a_free_dimension_is_refused_with_its_axis() -> None:
    x = T((1, 3), "float32", signature=(-1, 3), name="frames")
    padded = _one("PAD", [x, T((2, 2), "int32"), real(1, 5)], [0, 1], ("Pad", {}), fed=(0, 1))
    with pytest.raises(UnsupportedOperator, match="computed at run time") as refusal:
        Interpreter(Model.from_bytes(padded))
    assert refusal.value.hint == (
        "axis 0 of tensor 0 ('frames') is dynamic (a batch?), and 1 in TFLM: convert the model with"
        " a fixed size"
    )


def test_a_declared_shape_that_contradicts_a_free_dimension_names_its_axis() -> None:
    x = T((2, 3), "float32", signature=(2, -1))
    with pytest.raises(BadModel, match="computes the shape") as refusal:
        Interpreter(Model.from_bytes(_one("EXP", [x, real(2, 4)], [0])))
    assert "axis 1 of tensor 0" in refusal.value.hint


def test_an_empty_output_of_a_free_dimension_is_refused_with_its_axis() -> None:
    x = T((0, 3), "float32", signature=(-1, 3))
    with pytest.raises(BadModel, match=r"tensor 1 has the shape \[0, 3\]") as refusal:
        Interpreter(Model.from_bytes(_one("EXP", [x, real(0, 3)], [0])))
    assert "axis 0 of tensor 0" in refusal.value.hint
