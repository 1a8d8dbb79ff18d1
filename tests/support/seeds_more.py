"""Seeds for fuzzers, continued: blocks, places, quotients, subgraphs, resources, signals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from flatbuffers import flexbuffers
from model_builder import Graph, Op, T
from networks import ring_operators

_WINDOW = {"Padding": 0, "StrideW": 2, "StrideH": 1, "FilterWidth": 2, "FilterHeight": 2}


def constant(values: object, dtype: str = "int32") -> T:
    array = np.asarray(values, dtype)
    return T(array.shape, dtype, data=array)


def one(tensors: Sequence[T], op: Op, fed: Sequence[int] = (0,)) -> Graph:
    return Graph(tensors, [op], list(fed), list(op.outputs))


def _a(*shape: int, dtype: str = "int8") -> T:
    return T(shape, dtype, *((0.05, 0) if dtype in ("int8", "int16") else ()))


def _placing() -> list[Graph]:
    image = _a(1, 6, 6, 4)
    return [
        one(
            [image, constant([2, 3]), constant([[0, 0], [1, 2]]), _a(6, 3, 3, 4)],
            Op("SPACE_TO_BATCH_ND", [0, 1, 2], [3], ("SpaceToBatchND", {})),
        ),
        one(
            [_a(6, 3, 3, 4), constant([2, 3]), constant([[0, 0], [1, 2]]), image],
            Op("BATCH_TO_SPACE_ND", [0, 1, 2], [3], ("BatchToSpaceND", {})),
        ),
        one(
            [image, _a(1, 3, 3, 16)],
            Op("SPACE_TO_DEPTH", [0], [1], ("SpaceToDepth", {"BlockSize": 2})),
        ),
        one(
            [image, _a(1, 12, 12, 1)],
            Op("DEPTH_TO_SPACE", [0], [1], ("DepthToSpace", {"BlockSize": 2})),
        ),
        one(
            [_a(4, 3), constant([2, 0, 3]), _a(3, 3)],
            Op("GATHER", [0, 1], [2], ("Gather", {"Axis": 0})),
        ),
        one(
            [_a(4, 3), constant([[2, 0], [3, 1]]), _a(2)],
            Op("GATHER_ND", [0, 1], [2], ("GatherNd", {})),
        ),
        one(
            [constant([1, 0]), _a(4, 3), _a(2, 3)],
            Op("EMBEDDING_LOOKUP", [0, 1], [2]),
            (1,),
        ),
        one(
            [_a(4, 3), _a(2, 2), constant([1, 1]), _a(4, 3)],
            Op("DYNAMIC_UPDATE_SLICE", [0, 1, 2], [3], ("DynamicUpdateSlice", {})),
            (0, 1),
        ),
        one([_a(), constant([2, 3]), _a(2, 3)], Op("FILL", [1, 0], [2], ("Fill", {}))),
        one([_a(2, 3), _a(2, 3)], Op("ZEROS_LIKE", [0], [1], ("ZerosLike", {}))),
        one([_a(2, 3), T((2,), "int32")], Op("SHAPE", [0], [1], ("Shape", {"OutType": 2}))),
        one(
            [_a(1, 3), constant([4, 3]), _a(4, 3)],
            Op("BROADCAST_TO", [0, 1], [2], ("BroadcastTo", {}), version=2),
        ),
        one(
            [T((2,), "int32"), constant([1, 1]), T((2,), "int32")],
            Op("BROADCAST_ARGS", [0, 1], [2]),
        ),
        one(
            [T((1, 3), "bool"), _a(2, 1), _a(3), _a(2, 3)],
            Op("SELECT_V2", [0, 1, 2], [3], ("SelectV2", {})),
            (0, 1, 2),
        ),
        one(
            [_a(2, 3, 4), constant([1, -1]), _a(2, 3, 4)],
            Op("REVERSE_V2", [0, 1], [2], ("ReverseV2", {})),
        ),
        one(
            [_a(2, 3), constant([[1, 0], [2, 1]]), _a(3, 6)],
            Op("MIRROR_PAD", [0, 1], [2], ("MirrorPad", {"Mode": 0})),
        ),
        one([_a(2, 3), T((2, 3), "int16")], Op("CAST", [0], [1], ("Cast", {}))),
        one(
            [T((2, 3), "bool"), constant([1]), T((2,), "bool")],
            Op("REDUCE_ALL", [0, 1], [2], ("Reducer", {})),
        ),
    ]


def _computing() -> list[Graph]:
    real = _a(2, 3, dtype="float32")
    return [
        one([_a(2, 3), _a(2, 3)], Op("ADD_N", [0, 0, 0], [1], ("AddN", {}))),
        one([_a(2, 3), constant([1]), _a(2, 3)], Op("CUMSUM", [0, 1], [2], ("Cumsum", {}))),
        one(
            [_a(2, 3), _a(3), _a(2, 3)],
            Op("SQUARED_DIFFERENCE", [0, 1], [2], ("SquaredDifference", {})),
            (0, 1),
        ),
        one(
            [_a(2, 3), T((3,), "int8", 0.05, 3), T((2, 3), "int8", 0.02, 0)],
            Op("DIV", [0, 1], [2], ("Div", {})),
            (0, 1),
        ),
        one(
            [real, constant([1, 2, 3], "float32"), real],
            Op("FLOOR_DIV", [0, 1], [2], ("FloorDiv", {})),
        ),
        one([real, real, real], Op("FLOOR_MOD", [0, 1], [2], ("FloorMod", {})), (0, 1)),
        one(
            [_a(2, 9), T((2, 9), "int8", 1 / 128, 0)],
            Op("L2_NORMALIZATION", [0], [1], ("L2Norm", {})),
        ),
        one(
            [_a(2, 9), T((2, 9), "int8", 1 / 16, 127)],
            Op("LOG_SOFTMAX", [0], [1], ("LogSoftmax", {})),
        ),
        one(
            [_a(1, 6, 6, 4, dtype="float32"), _a(1, 6, 3, 4, dtype="float32")],
            Op("L2_POOL_2D", [0], [1], ("Pool2D", _WINDOW)),
        ),
        one([_a(2, 3), _a(2, 3)], Op("ELU", [0], [1])),
        one([_a(2, 3), _a(3), _a(2, 3)], Op("PRELU", [0, 1], [2]), (0, 1)),
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
    return one(tensors, op, range(fed))


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
        _signal("SignalRfft", {"T": 7, "fft_length": 16}, [int16, T((18,), "int16")], 1, 1),
        _signal(
            "SignalIrfft", {"T": 2, "fft_length": 16}, [T((18,), "int32"), T((16,), "int32")], 1, 1
        ),
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
            [_a(1, 1, 2, 3), T((1, 4, 2, 3), "int8", 0.05, 0, variable=True)],
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
        _signal(
            "SignalOverlapAdd",
            {"T": 7, "frame_step": 3},
            [T((2, 4), "int16"), T((6,), "int16")],
            1,
            1,
        ),
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


def loop(limit: int = 20) -> list[Graph]:
    """Adds 3 to a number until it is at least ``limit``."""
    number = T((1,), "int32")
    options = ("While", {"CondSubgraphIndex": 1, "BodySubgraphIndex": 2})
    return [
        Graph([number, number], [Op("WHILE", [0], [1], options)], [0], [1]),
        Graph(
            [number, constant([limit]), T((1,), "bool")],
            [Op("LESS", [0, 1], [2], ("Less", {}))],
            [0],
            [2],
        ),
        Graph([number, constant([3]), number], [Op("ADD", [0, 1], [2], ("Add", {}))], [0], [2]),
    ]


def branch() -> list[Graph]:
    """A sum or a product."""
    x = _a(2, 3)
    options = ("If", {"ThenSubgraphIndex": 1, "ElseSubgraphIndex": 2})
    return [
        Graph([T((1,), "bool"), x, x, x], [Op("IF", [0, 1, 2], [3], options)], [0, 1, 2], [3]),
        *(
            Graph([x, x, x], [Op(op, [0, 1], [2], (op.title(), {}))], [0, 1], [2])
            for op in ("ADD", "MUL")
        ),
    ]


def stream() -> list[Graph]:
    """The last three frames, kept in a resource variable."""
    name = ("VarHandle", {"SharedName": "ring"})
    handle, frames = T((), "resource"), _a(1, 3, 2)
    slices = [constant(v) for v in ([0, 1, 0], [0, 0, 0], [1, 1, 1])]
    main = Graph(
        [_a(1, 1, 2), handle, frames, _a(1, 4, 2), *slices, frames],
        ring_operators(name),
        [0],
        [7],
    )
    first = T(frames.shape, "int8", 0.05, 0, data=np.ones(frames.shape))
    start = Graph(
        [handle, first],
        [Op("VAR_HANDLE", [], [0], name), Op("ASSIGN_VARIABLE", [0, 1], [])],
        [],
        [],
    )
    return [main, start]


def more_graphs() -> list[list[Graph]]:
    """Models, each of one or more subgraphs."""
    singles = [*_placing(), *_computing(), *_signals()]
    return [*([graph] for graph in singles), loop(), branch(), stream()]
