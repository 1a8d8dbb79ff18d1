"""One small model of each operator of the registry: seeds of fuzzers and of tests of types."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
from flatbuffers import flexbuffers
from model_builder import Graph, Op, T, build_graphs, constant
from subgraph_models import branch, loop, stream

_WINDOW = {"Padding": 0, "StrideW": 2, "StrideH": 1, "FilterWidth": 2, "FilterHeight": 2}


def _one(tensors: Sequence[T], op: Op, fed: Sequence[int] = (0,)) -> Graph:
    return Graph(tensors, [op], list(fed), list(op.outputs))


def _activation(*shape: int, dtype: str = "int8") -> T:
    return T(shape, dtype, None if dtype == "float32" else 0.05, 0)


@cache
def every_operator() -> tuple[bytes, ...]:
    """Models of at most a few kilobytes."""
    return tuple(build_graphs(graphs) for graphs in every_graph())


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
            [a(1, 3, 3, 4), weights(2, 2, 2, 4), constant([1, 6, 6, 2]), a(1, 6, 6, 2)],
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
        _one([image, constant([1, 2]), a(1, 4)], Op("MEAN", [0, 1], [2], ("Reducer", {}))),
        _one(
            [image, constant([3]), T((1, 6, 6), "int32")],
            Op("ARG_MAX", [0, 1], [2], ("ArgMax", {"OutputType": 2})),
        ),
        _one(
            [image, constant([[0, 0], [1, 2], [3, 4], [0, 0]]), a(1, 9, 13, 4)],
            Op("PAD", [0, 1], [2], ("Pad", {})),
        ),
        _one(
            [image, constant([0, 3, 1, 2]), a(1, 4, 6, 6)],
            Op("TRANSPOSE", [0, 1], [2], ("Transpose", {})),
        ),
        _one(
            [
                image,
                *(constant(v) for v in ([0, 1, 0, 0], [1, 5, 6, 4], [1, 2, 1, 1])),
                a(1, 2, 6, 4),
            ],
            Op("STRIDED_SLICE", [0, 1, 2, 3], [4], ("StridedSlice", {})),
        ),
        _one(
            [image, constant([0, 1, 0, 0]), constant([1, 2, 3, 4]), a(1, 2, 3, 4)],
            Op("SLICE", [0, 1, 2], [3], ("Slice", {})),
        ),
        _one(
            [constant([3]), image, a(1, 6, 6, 2), a(1, 6, 6, 2)],
            Op("SPLIT", [0, 1], [2, 3], ("Split", {"NumSplits": 2})),
            (1,),
        ),
        _one(
            [image, a(1, 6, 6, 8)], Op("CONCATENATION", [0, 0], [1], ("Concatenation", {"Axis": 3}))
        ),
        _one([image, a(2, 1, 6, 6, 4)], Op("PACK", [0, 0], [1], ("Pack", {"ValuesCount": 2}))),
        _one([a(2, 3), a(3), a(3)], Op("UNPACK", [0], [1, 2], ("Unpack", {"Num": 2}))),
        _one(
            [image, constant([9, 12]), a(1, 9, 12, 4)],
            Op("RESIZE_BILINEAR", [0, 1], [2], ("ResizeBilinear", {})),
        ),
        _one(
            [image, constant([9, 12]), a(1, 9, 12, 4)],
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
    singles = [*models, _lstm(rng), *_placing(), *_computing(), *_real_functions()]
    singles += [*_pairs(), *_reshaping(), *_products(rng), *_signals()]
    return [*([graph] for graph in singles), loop(), branch(), stream()]


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


def _placing() -> list[Graph]:
    image = _activation(1, 6, 6, 4)
    return [
        _one(
            [image, constant([2, 3]), constant([[0, 0], [1, 2]]), _activation(6, 3, 3, 4)],
            Op("SPACE_TO_BATCH_ND", [0, 1, 2], [3], ("SpaceToBatchND", {})),
        ),
        _one(
            [_activation(6, 3, 3, 4), constant([2, 3]), constant([[0, 0], [1, 2]]), image],
            Op("BATCH_TO_SPACE_ND", [0, 1, 2], [3], ("BatchToSpaceND", {})),
        ),
        _one(
            [image, _activation(1, 3, 3, 16)],
            Op("SPACE_TO_DEPTH", [0], [1], ("SpaceToDepth", {"BlockSize": 2})),
        ),
        _one(
            [image, _activation(1, 12, 12, 1)],
            Op("DEPTH_TO_SPACE", [0], [1], ("DepthToSpace", {"BlockSize": 2})),
        ),
        _one(
            [_activation(4, 3), constant([2, 0, 3]), _activation(3, 3)],
            Op("GATHER", [0, 1], [2], ("Gather", {"Axis": 0})),
        ),
        _one(
            [_activation(4, 3), constant([[2, 0], [3, 1]]), _activation(2)],
            Op("GATHER_ND", [0, 1], [2], ("GatherNd", {})),
        ),
        _one(
            [constant([1, 0]), _activation(4, 3), _activation(2, 3)],
            Op("EMBEDDING_LOOKUP", [0, 1], [2]),
            (1,),
        ),
        _one(
            [_activation(4, 3), _activation(2, 2), constant([1, 1]), _activation(4, 3)],
            Op("DYNAMIC_UPDATE_SLICE", [0, 1, 2], [3], ("DynamicUpdateSlice", {})),
            (0, 1),
        ),
        _one(
            [_activation(), constant([2, 3]), _activation(2, 3)],
            Op("FILL", [1, 0], [2], ("Fill", {})),
        ),
        _one([_activation(2, 3), _activation(2, 3)], Op("ZEROS_LIKE", [0], [1], ("ZerosLike", {}))),
        _one(
            [_activation(2, 3), T((2,), "int32")], Op("SHAPE", [0], [1], ("Shape", {"OutType": 2}))
        ),
        _one(
            [_activation(1, 3), constant([4, 3]), _activation(4, 3)],
            Op("BROADCAST_TO", [0, 1], [2], ("BroadcastTo", {}), version=2),
        ),
        _one(
            [T((2,), "int32"), constant([1, 1]), T((2,), "int32")],
            Op("BROADCAST_ARGS", [0, 1], [2]),
        ),
        _one(
            [T((1, 3), "bool"), _activation(2, 1), _activation(3), _activation(2, 3)],
            Op("SELECT_V2", [0, 1, 2], [3], ("SelectV2", {})),
            (0, 1, 2),
        ),
        _one(
            [_activation(2, 3, 4), constant([1, -1]), _activation(2, 3, 4)],
            Op("REVERSE_V2", [0, 1], [2], ("ReverseV2", {})),
        ),
        _one(
            [_activation(2, 3), constant([[1, 0], [2, 1]]), _activation(3, 6)],
            Op("MIRROR_PAD", [0, 1], [2], ("MirrorPad", {"Mode": 0})),
        ),
        _one([_activation(2, 3), T((2, 3), "int16")], Op("CAST", [0], [1], ("Cast", {}))),
        _one(
            [T((2, 3), "bool"), constant([1]), T((2,), "bool")],
            Op("REDUCE_ALL", [0, 1], [2], ("Reducer", {})),
        ),
    ]


def _computing() -> list[Graph]:
    real = _activation(2, 3, dtype="float32")
    return [
        _one([_activation(2, 3), _activation(2, 3)], Op("ADD_N", [0, 0, 0], [1], ("AddN", {}))),
        _one(
            [_activation(2, 3), constant([1]), _activation(2, 3)],
            Op("CUMSUM", [0, 1], [2], ("Cumsum", {})),
        ),
        _one(
            [_activation(2, 3), _activation(3), _activation(2, 3)],
            Op("SQUARED_DIFFERENCE", [0, 1], [2], ("SquaredDifference", {})),
            (0, 1),
        ),
        _one(
            [_activation(2, 3), T((3,), "int8", 0.05, 3), T((2, 3), "int8", 0.02, 0)],
            Op("DIV", [0, 1], [2], ("Div", {})),
            (0, 1),
        ),
        _one(
            [real, constant([1, 2, 3], "float32"), real],
            Op("FLOOR_DIV", [0, 1], [2], ("FloorDiv", {})),
        ),
        _one([real, real, real], Op("FLOOR_MOD", [0, 1], [2], ("FloorMod", {})), (0, 1)),
        _one(
            [_activation(2, 9), T((2, 9), "int8", 1 / 128, 0)],
            Op("L2_NORMALIZATION", [0], [1], ("L2Norm", {})),
        ),
        _one(
            [_activation(2, 9), T((2, 9), "int8", 1 / 16, 127)],
            Op("LOG_SOFTMAX", [0], [1], ("LogSoftmax", {})),
        ),
        _one(
            [_activation(1, 6, 6, 4, dtype="float32"), _activation(1, 6, 3, 4, dtype="float32")],
            Op("L2_POOL_2D", [0], [1], ("Pool2D", _WINDOW)),
        ),
        _one([_activation(2, 3), _activation(2, 3)], Op("ELU", [0], [1])),
        _one(
            [_activation(2, 3), _activation(3), _activation(2, 3)], Op("PRELU", [0, 1], [2]), (0, 1)
        ),
    ]


def _real_functions() -> list[Graph]:
    """Operators of one input, element by element."""
    names = "ABS CEIL COS EXP FLOOR LOG NEG RELU RELU6 ROUND RSQRT SIN SQRT SQUARE TANH"
    real = _activation(2, 3, dtype="float32")
    return [
        *(_one([real, real], Op(name, [0], [1])) for name in names.split()),
        _one([real, real], Op("LEAKY_RELU", [0], [1], ("LeakyRelu", {"Alpha": 0.25}))),
        _one([T((2, 3), "bool"), T((2, 3), "bool")], Op("LOGICAL_NOT", [0], [1])),
        _signal("Atan", {}, [real, real], 1, 1),
    ]


def _pairs() -> list[Graph]:
    """Operators of two inputs, element by element."""
    flag, x, y = T((2, 3), "bool"), _activation(2, 3), _activation(3)
    compared = {"EQUAL": "Equal", "GREATER_EQUAL": "GreaterEqual", "LESS_EQUAL": "LessEqual"}
    compared |= {"LESS": "Less", "NOT_EQUAL": "NotEqual"}
    chosen = ("MAXIMUM", "MINIMUM")
    return [
        *(
            _one([x, y, flag], Op(name, [0, 1], [2], (table, {})), (0, 1))
            for name, table in compared.items()
        ),
        *(_one([flag] * 3, Op(f"LOGICAL_{word}", [0, 1], [2]), (0, 1)) for word in ("AND", "OR")),
        *(
            _one([x, y, x], Op(name, [0, 1], [2], ("MaximumMinimum", {})), (0, 1))
            for name in chosen
        ),
        _one([x, y, x], Op("SUB", [0, 1], [2], ("Sub", {"PotScaleInt16": False})), (0, 1)),
    ]


def _reshaping() -> list[Graph]:
    """New shapes, parts, and the rest of the reductions."""
    x, keep = _activation(2, 3, 4), ("Reducer", {"KeepDims": True})
    reduced = ("REDUCE_MAX", "REDUCE_MIN", "SUM")
    return [
        _one([x, constant([4, 6]), _activation(4, 6)], Op("RESHAPE", [0, 1], [2])),
        _one([x, constant([1]), _activation(2, 1, 3, 4)], Op("EXPAND_DIMS", [0, 1], [2])),
        _one(
            [_activation(2, 1, 3), _activation(2, 3)],
            Op("SQUEEZE", [0], [1], ("Squeeze", {"SqueezeDims": [1]})),
        ),
        *(
            _one([x, constant([1]), _activation(2, 1, 4)], Op(name, [0, 1], [2], keep))
            for name in reduced
        ),
        _one(
            [x, constant([2]), T((2, 3), "int32")],
            Op("ARG_MIN", [0, 1], [2], ("ArgMin", {"OutputType": 2})),
        ),
        _one(
            [x, constant([1, 3]), constant([2]), _activation(2, 3, 1), _activation(2, 3, 3)],
            Op("SPLIT_V", [0, 1, 2], [3, 4], ("SplitV", {"NumSplits": 2})),
        ),
        _one(
            [
                _activation(2, 3),
                constant([[1, 0], [2, 1]]),
                T((1,), "int8", 0.05, 0, [7]),
                _activation(3, 6),
            ],
            Op("PADV2", [0, 1, 2], [3], ("PadV2", {})),
        ),
    ]


def _products(rng: np.random.Generator) -> list[Graph]:
    """Sums of products with a bias."""
    window = {"Padding": 0, "StrideW": 2, "StrideH": 1}
    dilation = {"DilationWFactor": 1, "DilationHFactor": 2}

    def weights(*shape: int) -> T:
        return T(shape, "int8", 0.01, 0, rng.integers(-8, 8, shape))

    def bias(count: int) -> T:
        return T((count,), "int32", 5e-4, 0, rng.integers(-99, 99, count))

    x = _activation(1, 6, 6, 4)
    return [
        _one(
            [_activation(2, 5), weights(3, 5), bias(3), _activation(2, 3)],
            Op("FULLY_CONNECTED", [0, 1, 2], [3], ("FullyConnected", {})),
        ),
        _one(
            [x, weights(3, 2, 2, 4), bias(3), _activation(1, 6, 3, 3)],
            Op("CONV_2D", [0, 1, 2], [3], ("Conv2D", {**window, **dilation})),
        ),
        _one(
            [x, weights(1, 2, 2, 4), bias(4), _activation(1, 6, 3, 4)],
            Op(
                "DEPTHWISE_CONV_2D",
                [0, 1, 2],
                [3],
                ("DepthwiseConv2D", {**window, **dilation, "DepthMultiplier": 1}),
            ),
        ),
        _one(
            [
                _activation(1, 3, 3, 4),
                weights(2, 2, 2, 4),
                constant([1, 6, 6, 2]),
                bias(2),
                _activation(1, 6, 6, 2),
            ],
            Op(
                "TRANSPOSE_CONV",
                [2, 1, 0, 3],
                [4],
                ("TransposeConv", {**window, "StrideH": 2}),
                version=3,
            ),
        ),
    ]


def _signal(
    name: str,
    flex: Mapping[str, Any],
    tensors: Sequence[T],
    inputs: int,
    outputs: int,
    fed: int = 1,
) -> Graph:
    places = range(inputs, inputs + outputs)
    op = Op(name, range(inputs), places, custom=name, custom_options=flexbuffers.Dumps(flex))
    return _one(tensors, op, range(fed))


def _signals() -> list[Graph]:
    noise = {
        "alternate_one_minus_smoothing": 15000,
        "alternate_smoothing": 1384,
        "clamping": True,
        "min_signal_remaining": 819,
        "num_channels": 4,
        "one_minus_smoothing": 16000,
        "smoothing": 384,
        "smoothing_bits": 10,
        "spectral_subtraction_bits": 14,
    }
    stack = {
        "num_channels": 4,
        "stacker_left_context": 1,
        "stacker_right_context": 1,
        "stacker_step": 2,
    }
    detections = {
        "max_detections": 4,
        "max_classes_per_detection": 1,
        "num_classes": 2,
        "nms_score_threshold": 0.5,
        "nms_iou_threshold": 0.5,
        **{f"{axis}_scale": 5.0 for axis in "yxhw"},
    }
    int16, words, flag = T((8,), "int16"), T((4,), "uint32"), T((), "bool")
    banks = [
        constant(v, "int16") for v in ([9] * 10, [3] * 10, [0, 2, 4, 5], [0, 2, 4, 6], [2] * 4)
    ]
    return [
        _signal("SignalWindow", {"shift": 3}, [int16, constant([5] * 8, "int16"), int16], 2, 1),
        _signal("SignalFftAutoScale", {}, [int16, int16, T((), "int32")], 1, 2),
        *_transforms(),
        _signal("SignalEnergy", {"end_index": 4, "start_index": 1}, [int16, words], 1, 1),
        _signal(
            "SignalFilterBank",
            {"num_channels": 3},
            [T((8,), "uint32"), *banks, T((3,), "uint64")],
            6,
            1,
        ),
        _signal(
            "SignalFilterBankSquareRoot", {}, [T((4,), "uint64"), T((), "int32"), words], 2, 1, 2
        ),
        _signal("SignalFilterBankSpectralSubtraction", noise, [words] * 3, 1, 2),
        _signal(
            "SignalFilterBankLog",
            {"input_correction_bits": 3, "output_scale": 1600},
            [words, T((4,), "int16")],
            1,
            1,
        ),
        _signal(
            "SignalPCAN",
            {"snr_shift": 6},
            [words, words, constant(range(125), "int16"), words],
            3,
            1,
            2,
        ),
        _signal(
            "SignalFramer",
            {"frame_size": 6, "frame_step": 4, "prefill": True},
            [int16, T((2, 6), "int16"), flag],
            1,
            2,
        ),
        _signal("SignalStacker", stack, [T((4,), "int16"), T((12,), "int16"), flag], 1, 2),
        _signal(
            "CIRCULAR_BUFFER",
            {"cycles_max": 1},
            [_activation(1, 1, 2, 3), T((1, 4, 2, 3), "int8", 0.05, 0, variable=True)],
            1,
            1,
        ),
        _signal(
            "TFLite_Detection_PostProcess",
            detections,
            [
                *(T(shape, "float32") for shape in ((1, 3, 4), (1, 3, 2))),
                constant([[0, 0, 1, 1], [1, 0, 1, 2], [0, 1, 2, 1]], "float32"),
                *(T(shape, "float32") for shape in ((1, 4, 4), (1, 4), (1, 4), (1,))),
            ],
            3,
            4,
            2,
        ),
        _decoding(),
        _signal("SignalDelay", {"delay_length": 3}, [int16, int16], 1, 1),
    ]


def _transforms() -> list[Graph]:
    """The signal operators with an option T: the type, as the schema numbers it."""
    kinds = {"float32": 0, "int32": 2, "int16": 7}
    return [
        _signal(name, {"T": number, **options}, [T(x, dtype), T(y, dtype)], 1, 1)
        for dtype, number in kinds.items()
        for name, options, x, y in (
            ("SignalRfft", {"fft_length": 16}, (8,), (18,)),
            ("SignalIrfft", {"fft_length": 16}, (18,), (16,)),
            ("SignalOverlapAdd", {"frame_step": 3}, (2, 4), (6,)),
        )
        if (name, dtype) != ("SignalOverlapAdd", "int32")  # which TFLM does not have
    ]


def _decoding() -> Graph:
    """A table of values, Huffman codes of one bit, and what was not pruned."""
    table = [0, 1, 0, 0, 1, 2, 4, *[0] * 9, 10, 20, 30, 40]
    codes = [1, 1, 0, 0, 1, 0, *[0] * 10, 7, 0x88, 9, 0x88]
    mask = [2, 1, 0, 0, 1, *[0] * 11, 1, 2, 3, 4]
    encoded = ([0x1B, 0xE4], table, [0x5A, 0, 0, 0], codes, [0x69], mask)
    tensors = [constant(each, "uint8") for each in encoded]
    decoded = [T((2, 4), "int8", 0.5, 3)] * 3
    return _signal("TFLM_DECODE", {}, [*tensors, *decoded], 6, 3, 0)
