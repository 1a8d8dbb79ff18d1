"""One small model of each kind of operator, to be damaged by fuzzers."""

from __future__ import annotations

import numpy as np
from model_builder import Graph, Op, T, build_graphs
from seeds_more import more_graphs


def _constant(values: object, dtype: str = "int32") -> T:
    array = np.asarray(values)
    return T(array.shape, dtype, data=array)


def _one(tensors: list[T], op: Op, fed: tuple[int, ...] = (0,)) -> Graph:
    return Graph(tensors, [op], list(fed), list(op.outputs))


def _activation(*shape: int, dtype: str = "int8") -> T:
    return T(shape, dtype, None if dtype == "float32" else 0.05, 0)


def every_operator() -> list[bytes]:
    """Models of at most a few kilobytes."""
    return [build_graphs(graphs) for graphs in every_graph()]


def every_graph() -> list[list[Graph]]:
    """The same before they are written, to be changed in detail."""
    rng = np.random.default_rng(0)
    a = _activation
    window = {"Padding": 0, "StrideW": 2, "StrideH": 1}
    conv = {**window, "DilationWFactor": 1, "DilationHFactor": 2}
    pool = {**window, "FilterWidth": 2, "FilterHeight": 2}

    def weights(*shape: int, dtype: str = "int8") -> T:
        return T(shape, dtype, 0.01, 0, rng.integers(-8, 8, shape))

    image, half = a(1, 6, 6, 4), a(1, 6, 3, 4)
    models = [
        _one(
            [image, weights(3, 2, 2, 4), a(1, 6, 3, 3)],
            Op("CONV_2D", [0, 1], [2], ("Conv2D", conv)),
        ),
        _one(
            [image, weights(3, 2, 2, 4, dtype="int4"), a(1, 6, 3, 3)],
            Op("CONV_2D", [0, 1], [2], ("Conv2D", conv)),
        ),
        _one(
            [image, weights(1, 2, 2, 4), a(1, 6, 3, 4)],
            Op(
                "DEPTHWISE_CONV_2D",
                [0, 1],
                [2],
                ("DepthwiseConv2D", {**conv, "DepthMultiplier": 1}),
            ),
        ),
        _one(
            [a(1, 3, 3, 4), weights(2, 2, 2, 4), _constant([1, 6, 6, 2]), a(1, 6, 6, 2)],
            Op("TRANSPOSE_CONV", [2, 1, 0], [3], ("TransposeConv", {**window, "StrideH": 2})),
        ),
        _one([image, half], Op("MAX_POOL_2D", [0], [1], ("Pool2D", pool))),
        _one([image, half], Op("AVERAGE_POOL_2D", [0], [1], ("Pool2D", pool))),
        _one([image, a(4), a(1, 6, 6, 4)], Op("ADD", [0, 1], [2], ("Add", {})), (0, 1)),
        _one([image, a(4), a(1, 6, 6, 4)], Op("MUL", [0, 1], [2], ("Mul", {})), (0, 1)),
        _one([image, T((1, 6, 6, 4), "int8", 1 / 256, -128)], Op("LOGISTIC", [0], [1])),
        _one(
            [a(3, 5), T((3, 5), "int8", 1 / 256, -128)],
            Op("SOFTMAX", [0], [1], ("Softmax", {"Beta": 1.0})),
        ),
        _one([image, a(1, 6, 6, 4)], Op("HARD_SWISH", [0], [1], ("HardSwish", {}))),
        _one([image, _constant([1, 2]), a(1, 4)], Op("MEAN", [0, 1], [2], ("Reducer", {}))),
        _one(
            [image, _constant([3]), T((1, 6, 6), "int32")],
            Op("ARG_MAX", [0, 1], [2], ("ArgMax", {"OutputType": 2})),
        ),
        _one(
            [image, _constant([[0, 0], [1, 2], [3, 4], [0, 0]]), a(1, 9, 13, 4)],
            Op("PAD", [0, 1], [2], ("Pad", {})),
        ),
        _one(
            [image, _constant([0, 3, 1, 2]), a(1, 4, 6, 6)],
            Op("TRANSPOSE", [0, 1], [2], ("Transpose", {})),
        ),
        _one(
            [
                image,
                *(_constant(v) for v in ([0, 1, 0, 0], [1, 5, 6, 4], [1, 2, 1, 1])),
                a(1, 2, 6, 4),
            ],
            Op("STRIDED_SLICE", [0, 1, 2, 3], [4], ("StridedSlice", {})),
        ),
        _one(
            [image, _constant([0, 1, 0, 0]), _constant([1, 2, 3, 4]), a(1, 2, 3, 4)],
            Op("SLICE", [0, 1, 2], [3], ("Slice", {})),
        ),
        _one(
            [_constant([3]), image, a(1, 6, 6, 2), a(1, 6, 6, 2)],
            Op("SPLIT", [0, 1], [2, 3], ("Split", {"NumSplits": 2})),
            (1,),
        ),
        _one(
            [image, a(1, 6, 6, 8)], Op("CONCATENATION", [0, 0], [1], ("Concatenation", {"Axis": 3}))
        ),
        _one([image, a(2, 1, 6, 6, 4)], Op("PACK", [0, 0], [1], ("Pack", {"ValuesCount": 2}))),
        _one([a(2, 3), a(3), a(3)], Op("UNPACK", [0], [1, 2], ("Unpack", {"Num": 2}))),
        _one(
            [image, _constant([9, 12]), a(1, 9, 12, 4)],
            Op("RESIZE_BILINEAR", [0, 1], [2], ("ResizeBilinear", {})),
        ),
        _one(
            [image, _constant([9, 12]), a(1, 9, 12, 4)],
            Op("RESIZE_NEAREST_NEIGHBOR", [0, 1], [2], ("ResizeNearestNeighbor", {})),
        ),
        _one(
            [a(2, 3, 4), a(2, 4, 5), a(2, 3, 5)],
            Op("BATCH_MATMUL", [0, 1], [2], ("BatchMatMul", {})),
            (0, 1),
        ),
        _one([image, a(1, 6, 6, 4, dtype="int16")], Op("QUANTIZE", [0], [1], ("Quantize", {}))),
        _one(
            [image, a(1, 6, 6, 4, dtype="float32")], Op("DEQUANTIZE", [0], [1], ("Dequantize", {}))
        ),
        _one(
            [a(2, 3), a(3), T((2, 3), "bool")], Op("GREATER", [0, 1], [2], ("Greater", {})), (0, 1)
        ),
        _one(
            [
                a(1, 8),
                weights(4, 8),
                weights(4, 3),
                T((2,), "int32", 5e-4, 0, [1, 2]),
                T((1, 12), "int8", 0.05, 0, variable=True),
                a(1, 2),
            ],
            Op("SVDF", [0, 1, 2, 3, 4], [5], ("SVDF", {"Rank": 2})),
        ),
    ]
    return [*([graph] for graph in (*models, _lstm(rng))), *more_graphs()]


def _lstm(rng: np.random.Generator) -> Graph:
    weights = [
        T((3, 4 if i < 4 else 3), "int8", 0.01, 0, rng.integers(-99, 99, (3, 4 if i < 4 else 3)))
        for i in range(8)
    ]
    biases = [T((3,), "int32", 5e-4, 0, rng.integers(-99, 99, 3)) for _ in range(4)]
    states = [
        T((1, 3), "int8", 0.01, 0, variable=True),
        T((1, 3), "int16", 2.0**-11, 0, variable=True),
    ]
    tensors = [_activation(1, 5, 4), *weights, *biases, *states, T((1, 5, 3), "int8", 0.01, 0)]
    inputs = [*range(9), -1, -1, -1, 9, 10, 11, 12, -1, -1, 13, 14, -1, -1, -1, -1]
    options = ("UnidirectionalSequenceLSTM", {"FusedActivationFunction": 4})
    return _one(tensors, Op("UNIDIRECTIONAL_SEQUENCE_LSTM", inputs, [15], options))
