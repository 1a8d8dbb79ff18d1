"""Signals, detections, subgraphs and resources that do not fit are refused, each in its words."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from flatbuffers import flexbuffers
from model_builder import Graph, Op, T, build, build_graphs
from odd_models import assert_refused
from oracle import Oracle
from seeds_more import constant as _c

from harness.errors import HilError
from harness.model import Model
from harness.reference import Interpreter

_INT16, _INT32, _FLOAT32 = 7, 2, 0


def _t(dtype: str, *shape: int, **more: Any) -> T:
    return T(shape, dtype, **more)


def _custom(
    op: str, tensors: list[T], outputs: int, fed: tuple[int, ...] = (0,), **flex: Any
) -> bytes:
    """A custom operator whose outputs are the last tensors."""
    count = len(tensors) - outputs
    results = range(count, len(tensors))
    operator = Op(op, range(count), results, custom=op, custom_options=flexbuffers.Dumps(flex))
    return build(tensors, [operator], fed, results)


def _window(x: T, w: T, y: T, **flex: int) -> bytes:
    return _custom("SignalWindow", [x, w, y], 1, **{"shift": 2, **flex})


def _rfft(x: T, y: T, kind: int, length: int, op: str = "SignalRfft") -> bytes:
    return _custom(op, [x, y], 1, T=kind, fft_length=length)


def _energy(x: T, y: T, start: int, end: int) -> bytes:
    return _custom("SignalEnergy", [x, y], 1, start_index=start, end_index=end)


def _framer(x: T, y: T, size: int, step: int, prefill: int = 0, valid: T | None = None) -> bytes:
    flex = {"frame_size": size, "frame_step": step, "prefill": prefill}
    return _custom("SignalFramer", [x, y, valid or _t("bool")], 2, **flex)


def _stacker(x: T, y: T, channels: int, left: int, right: int, step: int) -> bytes:
    flex = {
        "num_channels": channels,
        "stacker_left_context": left,
        "stacker_right_context": right,
        "stacker_step": step,
    }
    return _custom("SignalStacker", [x, y, _t("bool")], 2, **flex)


def _overlap(x: T, y: T, step: int, kind: int = _INT16) -> bytes:
    return _custom("SignalOverlapAdd", [x, y], 1, T=kind, frame_step=step)


#: Two channels behind the first: energies 0 and 1, 2 and 3, 4 and 5.
_BANK = ([9] * 6, [3] * 6, [0, 2, 4], [0, 2, 4], [2, 2, 2])


def _bank(size: int = 8, channels: int = 2, outputs: int = 2, **changed: list[int]) -> bytes:
    names = ("own", "rest", "bins", "places", "widths")
    rows = {**dict(zip(names, _BANK, strict=True)), **changed}
    tensors = [_t("uint32", size), *(_c(row, "int16") for row in rows.values())]
    return _custom("SignalFilterBank", [*tensors, _t("uint64", outputs)], 1, num_channels=channels)


def _subtraction(x: T, y: T, z: T, **flex: int) -> bytes:
    return _custom("SignalFilterBankSpectralSubtraction", [x, y, z], 2, **flex)


def _ring(x: T, y: T, **flex: int) -> bytes:
    return _custom("CIRCULAR_BUFFER", [x, y], 1, **{"cycles_max": 1, **flex})


_DETECTION = {
    "max_detections": 2,
    "max_classes_per_detection": 1,
    "num_classes": 3,
    "nms_score_threshold": 0.0,
    "nms_iou_threshold": 0.5,
    "y_scale": 10.0,
    "x_scale": 10.0,
    "h_scale": 5.0,
    "w_scale": 5.0,
}
_SHAPES = {
    "encodings": (1, 5, 4),
    "scores": (1, 5, 3),
    "anchors": (5, 4),
    "boxes": (1, 2, 4),
    "classes": (1, 2),
    "best": (1, 2),
    "count": (1,),
}


def _detection(changed: dict[str, tuple[int, ...]] | None = None, **flex: Any) -> bytes:
    tensors = [T(shape, "float32") for shape in {**_SHAPES, **(changed or {})}.values()]
    name = "TFLite_Detection_PostProcess"
    return _custom(name, tensors, 4, (0, 1, 2), **{**_DETECTION, **flex})


_RING = (_t("int8", 1, 1, 2, 3, scale=0.5), _t("int8", 1, 4, 2, 3, scale=0.5, variable=True))
REFUSED = {
    "SignalWindow of int32": (
        _window(_t("int32", 4), _c([1, 2], "int16"), _t("int32", 4)),
        "its tensors are int32 int16 -> int32, not int16 int16 -> int16",
    ),
    "SignalWindow of a table": (
        _window(_t("int16", 4), _c([[1, 2]], "int16"), _t("int16", 4)),
        "a window of [1, 2] for [4]",
    ),
    "SignalWindow that does not divide its input": (
        _window(_t("int16", 5), _c([1, 2], "int16"), _t("int16", 5)),
        "a window of [2] for [5]",
    ),
    "SignalWindow to another shape": (
        _window(_t("int16", 4), _c([1, 2], "int16"), _t("int16", 5)),
        "computes the shape [4]",
    ),
    "SignalWindow of a shift beyond a word": (
        _window(_t("int16", 4), _c([1, 2], "int16"), _t("int16", 4), shift=32),
        "its option shift is 32",
    ),
    "SignalWindow of a negative shift": (
        _window(_t("int16", 4), _c([1, 2], "int16"), _t("int16", 4), shift=-1),
        "its option shift is -1",
    ),
    "SignalWindow of a shift that is not whole": (
        _window(_t("int16", 4), _c([1, 2], "int16"), _t("int16", 4), shift=1.5),
        "its option shift is 1.5",
    ),
    "SignalWindow without a shift": (
        _custom("SignalWindow", [_t("int16", 4), _c([1, 2], "int16"), _t("int16", 4)], 1),
        "it has no option 'shift'",
    ),
    "SignalFftAutoScale of a table": (
        _custom("SignalFftAutoScale", [_t("int16", 1, 4), _t("int16", 1, 4), _t("int32")], 2),
        "its input has the shape [1, 4]",
    ),
    "SignalFftAutoScale with a vector of exponents": (
        _custom("SignalFftAutoScale", [_t("int16", 4), _t("int16", 4), _t("int32", 1)], 2),
        "computes the shape [], but the model declares [1]",
    ),
    "SignalRfft of int8": (_rfft(_t("int8", 4), _t("int8", 6), 9, 4), "the type 9 is not"),
    "SignalOverlapAdd of int32": (
        _overlap(_t("int32", 2, 4), _t("int32", 4), 2, _INT32),
        "the type int32 is not supported",
    ),
    "SignalRfft for another type than its input": (
        _rfft(_t("int16", 4), _t("int32", 6), _INT32, 4),
        "it is for int32, its tensors are int16",
    ),
    "SignalRfft for another type than its output": (
        _rfft(_t("int32", 4), _t("int16", 6), _INT32, 4),
        "it is for int32, its tensors are int32",
    ),
    "SignalRfft of a length of 2": (
        _rfft(_t("int16", 2), _t("int16", 4), _INT16, 2),
        "a length of 2, no power of two, is not supported",
    ),
    "SignalRfft of a length of 12": (
        _rfft(_t("int16", 4), _t("int16", 14), _INT16, 12),
        "a length of 12, no power of two, is not supported",
    ),
    "SignalRfft of more than its length": (
        _rfft(_t("int16", 5), _t("int16", 6), _INT16, 4),
        "[5] is longer than the transform's 4",
    ),
    "SignalRfft of a scalar": (
        _rfft(_t("int16"), _t("int16", 6), _INT16, 4),
        "[] is longer than the transform's 4",
    ),
    "SignalRfft to another shape": (
        _rfft(_t("int16", 4), _t("int16", 4), _INT16, 4),
        "computes the shape [6]",
    ),
    "SignalIrfft of other bins": (
        _rfft(_t("int16", 8), _t("int16", 4), _INT16, 4, "SignalIrfft"),
        "[8] holds no 3 bins",
    ),
    "SignalIrfft to another shape": (
        _rfft(_t("int16", 6), _t("int16", 6), _INT16, 4, "SignalIrfft"),
        "computes the shape [4]",
    ),
    "SignalEnergy of a table": (
        _energy(_t("int16", 1, 6), _t("uint32", 3), 0, 3),
        "bins to 3 of [1, 6] in [3]",
    ),
    "SignalEnergy to a table": (
        _energy(_t("int16", 6), _t("uint32", 1, 3), 0, 3),
        "bins to 3 of [6] in [1, 3]",
    ),
    "SignalEnergy of more bins than there are": (
        _energy(_t("int16", 6), _t("uint32", 9), 0, 4),
        "bins to 4 of [6] in [9]",
    ),
    "SignalEnergy of more bins than have room": (
        _energy(_t("int16", 6), _t("uint32", 2), 0, 3),
        "bins to 3 of [6] in [2]",
    ),
    "SignalFilterBank to another number": (_bank(outputs=3), "computes the shape [2]"),
    "SignalFilterBank described for fewer channels": (
        _bank(bins=[0, 2]),
        "2 channels of 8 bins, described for 2",
    ),
    "SignalFilterBank with widths for fewer channels": (
        _bank(widths=[2, 2]),
        "2 channels of 8 bins, described for 3",
    ),
    "SignalFilterBank with places for fewer channels": (
        _bank(places=[0, 2]),
        "2 channels of 8 bins, described for 3",
    ),
    "SignalFilterBank that reaches beyond its bins": (
        _bank(size=5),
        "channel 2 reaches beyond its bins or weights",
    ),
    "SignalFilterBank that begins before its bins": (
        _bank(bins=[0, -1, 4]),
        "channel 1 reaches beyond its bins or weights",
    ),
    "SignalFilterBank that begins before its weights": (
        _bank(places=[-1, 2, 4]),
        "channel 0 reaches beyond its bins or weights",
    ),
    "SignalFilterBank that reaches beyond its weights": (
        _bank(own=[9] * 5),
        "channel 2 reaches beyond its bins or weights",
    ),
    "SignalFilterBank that reaches beyond its rests": (
        _bank(rest=[3] * 5),
        "channel 2 reaches beyond its bins or weights",
    ),
    "SignalFilterBank of no channel": (_bank(channels=0), "its option num_channels is 0"),
    "SignalFilterBankSquareRoot of a table": (
        _custom(
            "SignalFilterBankSquareRoot",
            [_t("uint64", 1, 2), _c(3), _t("uint32", 1, 2)],
            1,
        ),
        "its inputs are [1, 2] and []",
    ),
    "SignalFilterBankSquareRoot of several scales": (
        _custom("SignalFilterBankSquareRoot", [_t("uint64", 2), _c([3]), _t("uint32", 2)], 1),
        "its inputs are [2] and [1]",
    ),
    "SignalFilterBankSpectralSubtraction of other channels": (
        _subtraction(_t("uint32", 3), _t("uint32", 3), _t("uint32", 3), num_channels=2),
        "2 channels in [3]",
    ),
    "SignalFilterBankSpectralSubtraction of an estimate of other channels": (
        _subtraction(_t("uint32", 2), _t("uint32", 2), _t("uint32", 3), num_channels=2),
        "2 channels in [3]",
    ),
    "SignalFilterBankLog of a table": (
        _custom(
            "SignalFilterBankLog",
            [_t("uint32", 1, 2), _t("int16", 1, 2)],
            1,
            input_correction_bits=3,
            output_scale=1600,
        ),
        "its input has the shape [1, 2]",
    ),
    "SignalPCAN of other channels": (
        _custom(
            "SignalPCAN",
            [_t("uint32", 2), _t("uint32", 3), _c([1] * 9, "int16"), _t("uint32", 2)],
            1,
            (0, 1),
            snr_shift=6,
        ),
        "its inputs are [2], [3], [9]",
    ),
    "SignalPCAN of a gain in a table": (
        _custom(
            "SignalPCAN",
            [_t("uint32", 2), _t("uint32", 2), _c([[1] * 9], "int16"), _t("uint32", 2)],
            1,
            (0, 1),
            snr_shift=6,
        ),
        "its inputs are [2], [2], [1, 9]",
    ),
    "SignalFramer of steps that do not divide": (
        _framer(_t("int16", 5), _t("int16", 2, 4), 4, 2),
        "frames of 4 each 2 of [5]",
    ),
    "SignalFramer of less than a step": (
        _framer(_t("int16", 0), _t("int16", 0, 4), 4, 2),
        "frames of 4 each 2 of [0]",
    ),
    "SignalFramer of a scalar": (
        _framer(_t("int16"), _t("int16", 1, 4), 4, 2),
        "frames of 4 each 2 of []",
    ),
    "SignalFramer that fills before it steps over": (
        _framer(_t("int16", 4), _t("int16", 1, 2), 2, 4, 1),
        "frames of 2 each 4 of [4]",
    ),
    "SignalFramer to another shape": (
        _framer(_t("int16", 4), _t("int16", 1, 4), 4, 2),
        "computes the shape [2, 4]",
    ),
    "SignalFramer with a vector of answers": (
        _framer(_t("int16", 4), _t("int16", 2, 4), 4, 2, 0, _t("bool", 1)),
        "computes the shape [], but the model declares [1]",
    ),
    "SignalFramer of a prefill that is no flag": (
        _framer(_t("int16", 4), _t("int16", 2, 4), 4, 2, 2),
        "its option prefill is 2",
    ),
    "SignalStacker of other channels": (
        _stacker(_t("int16", 3), _t("int16", 6), 2, 1, 1, 1),
        "2 channels, 1 + 1 frames, each 1",
    ),
    "SignalStacker of steps beyond its frames": (
        _stacker(_t("int16", 2), _t("int16", 6), 2, 1, 1, 4),
        "2 channels, 1 + 1 frames, each 4",
    ),
    "SignalStacker to another shape": (
        _stacker(_t("int16", 2), _t("int16", 4), 2, 1, 1, 1),
        "computes the shape [6]",
    ),
    "SignalDelay of a scalar": (
        _custom("SignalDelay", [_t("int16"), _t("int16")], 1, delay_length=1),
        "its input has the shape []",
    ),
    "SignalDelay of nothing": (
        _custom("SignalDelay", [_t("int16", 2, 0), _t("int16", 2, 0)], 1, delay_length=1),
        "its input has the shape [2, 0]",
    ),
    "SignalOverlapAdd of one frame alone": (
        _overlap(_t("int16", 4), _t("int16", 2), 2),
        "frames [4] each 2",
    ),
    "SignalOverlapAdd of steps longer than frames": (
        _overlap(_t("int16", 2, 4), _t("int16", 10), 5),
        "frames [2, 4] each 5",
    ),
    "SignalOverlapAdd to another shape": (
        _overlap(_t("int16", 2, 4), _t("int16", 8), 2),
        "computes the shape [4]",
    ),
    "CIRCULAR_BUFFER of three axes": (
        _ring(_t("int8", 1, 2, 3, scale=0.5), _RING[1]),
        "it takes [1, 2, 3] and gives [1, 4, 2, 3]",
    ),
    "CIRCULAR_BUFFER to five axes": (
        _ring(_RING[0], _t("int8", 1, 4, 2, 3, 1, scale=0.5, variable=True)),
        "it takes [1, 1, 2, 3] and gives [1, 4, 2, 3, 1]",
    ),
    "CIRCULAR_BUFFER to three axes": (
        _ring(_RING[0], _t("int8", 1, 4, 6, scale=0.5, variable=True)),
        "it takes [1, 1, 2, 3] and gives [1, 4, 6]",
    ),
    "CIRCULAR_BUFFER of two batches": (
        _ring(_t("int8", 2, 1, 2, 3, scale=0.5), _RING[1]),
        "it takes [2, 1, 2, 3] and gives [1, 4, 2, 3]",
    ),
    "CIRCULAR_BUFFER of two slots at once": (
        _ring(_t("int8", 1, 2, 2, 3, scale=0.5), _RING[1]),
        "slots of [1, 2, 2, 3] do not make [1, 4, 2, 3]",
    ),
    "CIRCULAR_BUFFER of other slots": (
        _ring(_t("int8", 1, 1, 2, 2, scale=0.5), _RING[1]),
        "slots of [1, 1, 2, 2] do not make [1, 4, 2, 3]",
    ),
    "CIRCULAR_BUFFER to what others overwrite": (
        _ring(_RING[0], _t("int8", 1, 4, 2, 3, scale=0.5)),
        "its output is no variable tensor",
    ),
    "CIRCULAR_BUFFER without a period, of a number that ends early": (
        _ring(*_RING, cycles_max=0),
        "of 2 inferences it ends 1 early",
    ),
    "detection of no class": (_detection(num_classes=0), "its options are {"),
    "detection of too many": (_detection(max_detections=1025), "its options are {"),
    "detection with an overlap of 0": (
        _detection(nms_iou_threshold=0.0),
        "its option nms_iou_threshold is 0.0",
    ),
    "detection with an overlap above 1": (
        _detection(nms_iou_threshold=1.5),
        "its option nms_iou_threshold is 1.5",
    ),
    "detection of encodings of two axes": (
        _detection({"encodings": (5, 4)}),
        "its inputs are [5, 4], [1, 5, 3], [5, 4]",
    ),
    "detection in two images": (
        _detection({"encodings": (2, 5, 4)}),
        "its inputs are [2, 5, 4], [1, 5, 3], [5, 4]",
    ),
    "detection with scores for other boxes": (
        _detection({"scores": (1, 6, 3)}),
        "its inputs are [1, 5, 4], [1, 6, 3], [5, 4]",
    ),
    "detection with anchors for other boxes": (
        _detection({"anchors": (6, 4)}),
        "its inputs are [1, 5, 4], [1, 5, 3], [6, 4]",
    ),
    "detection of encodings of three numbers": (
        _detection({"encodings": (1, 5, 3)}),
        "its inputs are [1, 5, 3], [1, 5, 3], [5, 4]",
    ),
    "detection with scores for fewer classes": (
        _detection({"scores": (1, 5, 2)}),
        "2 scores a box for 3 classes",
    ),
    "detection with scores for two classes more": (
        _detection({"scores": (1, 5, 5)}),
        "5 scores a box for 3 classes",
    ),
    "fast detection with several classes a box": (
        _detection(max_classes_per_detection=2),
        "fast suppression with several classes a box",
    ),
    "detection among too many boxes": (
        _detection(
            {"encodings": (1, 1 << 12, 4), "scores": (1, 1 << 12, 3), "anchors": (1 << 12, 4)},
            detections_per_class=1024,
        ),
        "2 detections among 4096 boxes",
    ),
    "detection without room for its boxes": (
        _detection({"boxes": (1, 1, 4)}),
        "2 detections have no room in outputs of [4, 2, 2, 1] elements",
    ),
    "detection without room for its classes": (
        _detection({"classes": (1, 1)}),
        "2 detections have no room in outputs of [8, 1, 2, 1] elements",
    ),
    "detection without room for its scores": (
        _detection({"best": (1, 1)}),
        "2 detections have no room in outputs of [8, 2, 1, 1] elements",
    ),
    "detection without room for their number": (
        _detection({"count": (0,)}),
        "2 detections have no room in outputs of [8, 2, 2, 0] elements",
    ),
}


def _x(*shape: int) -> T:
    return T(shape, "float32")


def _sum(*tensors: T) -> Graph:
    x = tensors or (_x(2),) * 3
    return Graph(x, [Op("ADD", [0, 1], [2], ("Add", {}))], [0, 1], [2])


def _choice(condition: T = T((1,), "bool"), *graphs: Graph, given: int = 2) -> bytes:  # noqa: B008
    options = ("If", {"ThenSubgraphIndex": 1, "ElseSubgraphIndex": 2})
    inputs = list(range(given + 1))
    tensors = [condition, *[_x(2)] * given, _x(2)]
    main = Graph(tensors, [Op("IF", inputs, [given + 1], options)], inputs, [given + 1])
    return build_graphs([main, *(graphs or (_sum(), _sum()))])


def _loop(condition: Graph, body: Graph, count: int = 1) -> bytes:
    options = ("While", {"CondSubgraphIndex": 1, "BodySubgraphIndex": 2})
    places = list(range(count))
    outputs = [each + count for each in places]
    main = Graph([_x(2)] * 2 * count, [Op("WHILE", places, outputs, options)], places, outputs)
    return build_graphs([main, condition, body])


def _test(*outputs: int, dtype: str = "bool", inputs: int = 1) -> Graph:
    """A condition: whether all of its input is true, which it never is."""
    tensors = [*[_x(2)] * inputs, _c([0.0, 0.0], "float32"), T((2,), dtype)]
    operator = Op("LESS", [0, inputs], [inputs + 1], ("Less", {}))
    if dtype != "bool":
        operator = Op("NEG", [0], [inputs + 1])
    return Graph(tensors, [operator], list(range(inputs)), list(outputs))


_BODY = Graph([_x(2), _x(2)], [Op("NEG", [0], [1])], [0], [1])
_BODY_OF_TWO = Graph([_x(2)] * 3, [Op("NEG", [0], [2])], [0, 1], [2, 1])


def _once(graph: Graph, inputs: tuple[int, ...] = (), outputs: tuple[int, ...] = ()) -> bytes:
    call = Op("CALL_ONCE", inputs, outputs, ("CallOnce", {"InitSubgraphIndex": 1}))
    main = Graph([_x(2)] * 3, [call, Op("NEG", [0], [1])], [0], [1])
    return build_graphs([main, graph])


_NAME = ("VarHandle", {"SharedName": "v"})


def _variable(handle: T, *operators: Op) -> bytes:
    tensors = [_x(2), handle, _x(2), _x(2)]
    return build(tensors, [Op("VAR_HANDLE", [], [1], _NAME), *operators], [0], [2])


_HANDLE = T((), "resource")
_READ = Op("READ_VARIABLE", [1], [2])
REFUSED |= {
    "IF of a number": (_choice(_x(1)), "its condition is float32 [1]"),
    "IF of two truths": (_choice(T((2,), "bool")), "its condition is bool [2]"),
    "IF of fewer inputs than its subgraph": (
        _choice(given=1),
        "its inputs or outputs are not as many as its subgraph's",
    ),
    "IF of fewer outputs than its subgraph": (
        _choice(
            T((1,), "bool"),
            *[Graph([_x(2)] * 3, [Op("ADD", [0, 1], [2], ("Add", {}))], [0, 1], [2, 2])] * 2,
        ),
        "its inputs or outputs are not as many as its subgraph's",
    ),
    "WHILE of fewer inputs than its body": (
        _loop(_test(2), _BODY_OF_TWO),
        "its inputs or outputs are not as many as its subgraphs'",
    ),
    "WHILE of fewer inputs than its condition": (
        _loop(_test(3, inputs=2), _BODY),
        "its inputs or outputs are not as many as its subgraphs'",
    ),
    "WHILE of nothing": (
        _loop(Graph([_c([True], "bool")], [], [], [0]), Graph([_x(2)], [], [], []), 0),
        "it has no input, so that its condition never changes",
    ),
    "WHILE of a condition that gives nothing": (
        _loop(_test(), _BODY),
        "its condition gives no bool",
    ),
    "WHILE of a condition that gives a number": (
        _loop(_test(2, dtype="float32"), _BODY),
        "its condition gives no bool",
    ),
    "CALL_ONCE with an input": (
        _once(Graph([_x(2)], [], [], []), (0,)),
        "it has inputs or outputs",
    ),
    "CALL_ONCE with an output": (
        _once(Graph([_x(2)], [], [], []), (), (2,)),
        "it has inputs or outputs",
    ),
    "CALL_ONCE of a subgraph with inputs": (
        _once(Graph([_x(2)], [], [0], [])),
        "its subgraph has inputs, which nothing sets",
    ),
    "VAR_HANDLE to a real": (_variable(T((), "float32"), _READ), "its handle is float32 []"),
    "VAR_HANDLE to two numbers": (
        _variable(T((2,), "resource"), _READ),
        "its handle is resource [2]",
    ),
    "READ_VARIABLE of a real": (
        _variable(_HANDLE, Op("READ_VARIABLE", [0], [2])),
        "its handle is float32 [2]",
    ),
    "READ_VARIABLE of two": (
        _variable(_HANDLE, Op("READ_VARIABLE", [1, 1], [2])),
        "it needs one input and one output",
    ),
    "READ_VARIABLE to two": (
        _variable(_HANDLE, Op("READ_VARIABLE", [1], [2, 3])),
        "it needs one input and one output",
    ),
    "ASSIGN_VARIABLE of nothing": (
        _variable(_HANDLE, Op("ASSIGN_VARIABLE", [1], []), _READ),
        "it needs two inputs and no output",
    ),
    "ASSIGN_VARIABLE with an output": (
        _variable(_HANDLE, Op("ASSIGN_VARIABLE", [1, 0], [3]), _READ),
        "it needs two inputs and no output",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_does_not_fit_together_is_refused_in_its_own_words(name: str) -> None:
    assert_refused(*REFUSED[name])


TAKEN = {
    "a window of a shift of 31": _window(
        _t("int16", 4), _c([1, 2], "int16"), _t("int16", 4), shift=31
    ),
    "a transform of the shortest length": _rfft(_t("int16", 3), _t("int16", 6), _INT16, 4),
    "energies of all bins": _energy(_t("int16", 6), _t("uint32", 3), 0, 3),
    "a filter bank": _bank(6),
    "a filter bank of one empty channel": _bank(4, widths=[2, 2, 0]),
    "frames of exactly one step": _framer(_t("int16", 2), _t("int16", 1, 2), 2, 2, 1),
    "a stack of as many frames as each step": _stacker(_t("int16", 2), _t("int16", 6), 2, 1, 1, 3),
    "overlapping frames of exactly one step": _overlap(_t("int16", 2, 4), _t("int16", 8), 4),
    "detections": _detection(max_detections=2),
    "detections among scores of one class more": _detection({"scores": (1, 5, 4)}),
    "a choice": _choice(),
    "a loop": _loop(_test(2), _BODY),
    "a circular buffer": _ring(*_RING),
}


@pytest.mark.parametrize("name", TAKEN)
def test_what_just_fits_is_taken(name: str) -> None:
    interpreter = Interpreter(Model.from_bytes(TAKEN[name], name))
    assert interpreter.operators


_UINTS = _t("uint32", 2)
OPTIONS = {
    ("shift", 0, 31): lambda n: _window(
        _t("int16", 4), _c([1, 2], "int16"), _t("int16", 4), shift=n
    ),
    ("T", 0, 127): lambda n: _rfft(_t("int16", 4), _t("int16", 6), n, 4),
    ("fft_length", 0, 1 << 31): lambda n: _rfft(_t("int16", 4), _t("int16", 6), _INT16, n),
    ("start_index", 0, 1 << 30): lambda n: _energy(_t("int16", 6), _t("uint32", 3), n, 3),
    ("end_index", 0, 1 << 30): lambda n: _energy(_t("int16", 6), _t("uint32", 3), 0, n),
    ("num_channels", 1, 1 << 20): lambda n: _bank(channels=n),
    ("input_correction_bits", 0, 31): lambda n: _custom(
        "SignalFilterBankLog", [_UINTS, _t("int16", 2)], 1, input_correction_bits=n, output_scale=1
    ),
    ("output_scale", -(1 << 31), 1 << 31): lambda n: _custom(
        "SignalFilterBankLog", [_UINTS, _t("int16", 2)], 1, input_correction_bits=3, output_scale=n
    ),
    ("snr_shift", 0, 63): lambda n: _custom(
        "SignalPCAN",
        [_UINTS, _UINTS, _c([1] * 9, "int16"), _UINTS],
        1,
        (0, 1),
        snr_shift=n,
    ),
    ("frame_size", 1, 1 << 20): lambda n: _framer(_t("int16", 4), _t("int16", 2, 4), n, 2),
    ("frame_step", 1, 1 << 20): lambda n: _framer(_t("int16", 4), _t("int16", 2, 4), 4, n),
    ("prefill", 0, 1): lambda n: _framer(_t("int16", 4), _t("int16", 2, 4), 4, 2, n),
    ("stacker_step", 1, 1 << 20): lambda n: _stacker(_t("int16", 2), _t("int16", 6), 2, 1, 1, n),
    ("stacker_left_context", 0, 1 << 20): lambda n: _stacker(
        _t("int16", 2), _t("int16", 6), 2, n, 1, 1
    ),
    ("stacker_right_context", 0, 1 << 20): lambda n: _stacker(
        _t("int16", 2), _t("int16", 6), 2, 1, n, 1
    ),
    ("delay_length", 0, 1 << 20): lambda n: _custom(
        "SignalDelay", [_t("int16", 2)] * 2, 1, delay_length=n
    ),
    ("cycles_max", -(1 << 31), 1 << 31): lambda n: _ring(*_RING, cycles_max=n),
}


@pytest.mark.parametrize("option", OPTIONS, ids=[name for name, _, _ in OPTIONS])
def test_an_option_has_a_smallest_and_a_largest_value(option: tuple[str, int, int]) -> None:
    """One beyond is refused by its name, the ends at most for what they mean."""
    name, low, high = option
    for value in (low - 1, high + 1):
        with pytest.raises(HilError) as refusal:
            Interpreter(Model.from_bytes(OPTIONS[option](value)))
        assert refusal.value.message.endswith(f"its option {name} is {value}")
    for value in (low, high):
        try:
            Interpreter(Model.from_bytes(OPTIONS[option](value)))
        except HilError as refused:
            assert "its option" not in refused.message


def test_what_the_body_of_a_loop_gives_must_be_what_the_loop_gives() -> None:
    longer = Op("PAD", [0, 2], [1], ("Pad", {}))
    body = Graph([_x(2), _x(3), _c([[1, 0]])], [longer], [0], [1])
    interpreter = Interpreter(Model.from_bytes(_loop(_test(2), body)))
    assert interpreter.invoke([np.ones(2, np.float32)])[0].tolist() == [1, 1]
    with pytest.raises(HilError, match=r"it passes float32 \[3\] as float32 \[2\]"):
        interpreter.invoke([-np.ones(2, np.float32)])


def test_a_scale_of_a_square_root_is_a_shift_of_a_word() -> None:
    tensors = [_t("uint64", 2), _t("int32"), _t("uint32", 2)]
    data = _custom("SignalFilterBankSquareRoot", tensors, 1, (0, 1))
    interpreter, x = Interpreter(Model.from_bytes(data)), np.array([1 << 62, 9], np.uint64)
    for scale, expected in ((0, [1 << 31, 3]), (1, [1 << 30, 1]), (31, [1, 0])):
        assert interpreter.invoke([x, np.array(scale, np.int32)])[0].tolist() == expected
    for scale in (-1, 32):
        with pytest.raises(HilError, match="its scale is not from 0 to 31"):
            interpreter.invoke([x, np.array(scale, np.int32)])


def test_roots_are_the_nearest_whole_numbers_of_their_words(micro: Oracle) -> None:
    """That of the largest number of 32 bits is one of 16, that of 64 bits one of 32."""
    roots = {0: 0, 1: 1, 2: 1, 3: 2, 6: 2, 7: 3, 12: 3, 13: 4, (1 << 32) - 1: (1 << 16) - 1}
    roots |= {1 << 32: 1 << 16, (1 << 62) - 1: 1 << 31, (1 << 64) - 1: (1 << 32) - 1}
    tensors = [_t("uint64", len(roots)), _c(0), _t("uint32", len(roots))]
    data = _custom("SignalFilterBankSquareRoot", tensors, 1)
    x = np.array([*roots], np.uint64)
    (y,) = Interpreter(Model.from_bytes(data)).invoke([x])
    assert dict(zip(x.tolist(), y.tolist(), strict=True)) == roots
    assert micro.run(data, [[x]])[0][0][0].tolist() == y.tolist()


@pytest.mark.parametrize(
    ("row", "bits"),
    [
        ([0, 5, -3], 12),
        ([16384, 0, 0], 0),
        ([0, 0, 0], 0),
        ([-32768, 5, 0], 12),
        ([5, 0, -32768], 0),
        ([-32768, -7, 3], 13),
        ([-32768, -7, -7], 12),
        ([-32768, -32768, 5], 12),
        ([5, -32768, 3], 13),
        ([100, -32768, -32768], 0),
    ],
)
def test_the_least_number_counts_for_nothing_in_auto_scale(
    row: list[int], bits: int, micro: Oracle
) -> None:
    """Its magnitude is negative in 16 bits: what follows it decides."""
    tensors = [_t("int16", 3), _t("int16", 3), _t("int32")]
    data, x = _custom("SignalFftAutoScale", tensors, 2), np.array(row, np.int16)
    scaled, exponent = Interpreter(Model.from_bytes(data)).invoke([x])
    assert exponent.tolist() == bits
    assert scaled.tolist() == (x.astype(np.int64) << bits).astype(np.int16).tolist()
    (wanted, shift), *_ = micro.run(data, [[x]], 2)[0]
    assert (wanted.tolist(), int(shift.item())) == (scaled.tolist(), bits)


def test_the_gain_of_the_smallest_noises_is_read_from_a_table_of_three() -> None:
    """Energies of 1: what is below 2^13 is squared, >> 20, the rest >> 6 less 64."""
    table = _c([4096, 8192, 16384], "int16")
    tensors = [_t("uint32", 3), _t("uint32", 3), table, _t("uint32", 3)]
    data = _custom("SignalPCAN", tensors, 1, (0, 1), snr_shift=0)
    interpreter, ones = Interpreter(Model.from_bytes(data)), np.ones(3, np.uint32)
    (y,) = interpreter.invoke([ones, np.array([0, 1, 2], np.uint32)])
    assert y.tolist() == [16, 64, 192]
    with pytest.raises(HilError, match="it asks for element 4 of a table of 3"):
        interpreter.invoke([ones, np.array([0, 1, 3], np.uint32)])
