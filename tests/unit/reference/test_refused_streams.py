"""Messages for refused frames, stacks, detections and circular buffers."""

from __future__ import annotations

from typing import Any

import pytest
from model_builder import T
from one_operator_models import assert_ends, assert_refused, overlap, signal, tensor

from harness.model import Model
from harness.reference import Interpreter


def _framer(x: T, y: T, size: int, step: int, prefill: int = 0, valid: T | None = None) -> bytes:
    flex = {"frame_size": size, "frame_step": step, "prefill": prefill}
    return signal("SignalFramer", [x, y, valid or tensor("bool")], 2, **flex)


def _stacker(x: T, y: T, channels: int, left: int, right: int, step: int) -> bytes:
    flex = {
        "num_channels": channels,
        "stacker_left_context": left,
        "stacker_right_context": right,
        "stacker_step": step,
    }
    return signal("SignalStacker", [x, y, tensor("bool")], 2, **flex)


def _ring(x: T, y: T, **flex: int) -> bytes:
    return signal("CIRCULAR_BUFFER", [x, y], 1, **{"cycles_max": 1, **flex})


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
    return signal(name, tensors, 4, (0, 1, 2), **{**_DETECTION, **flex})


_RING = (
    tensor("int8", 1, 1, 2, 3, scale=0.5),
    tensor("int8", 1, 4, 2, 3, scale=0.5, variable=True),
)


REFUSED = {
    "SignalFramer of steps that do not divide": (
        _framer(tensor("int16", 5), tensor("int16", 2, 4), 4, 2),
        "frame size 4 and step 2 do not fit the input [5]",
    ),
    "SignalFramer of less than a step": (
        _framer(tensor("int16", 0), tensor("int16", 0, 4), 4, 2),
        "frame size 4 and step 2 do not fit the input [0]",
    ),
    "SignalFramer of a scalar": (
        _framer(tensor("int16"), tensor("int16", 1, 4), 4, 2),
        "frame size 4 and step 2 do not fit the input []",
    ),
    "SignalFramer that fills before it steps over": (
        _framer(tensor("int16", 4), tensor("int16", 1, 2), 2, 4, 1),
        "frame size 2 and step 4 do not fit the input [4]",
    ),
    "SignalFramer to another shape": (
        _framer(tensor("int16", 4), tensor("int16", 1, 4), 4, 2),
        "computes the shape [2, 4]",
    ),
    "SignalFramer with a vector of answers": (
        _framer(tensor("int16", 4), tensor("int16", 2, 4), 4, 2, 0, tensor("bool", 1)),
        "computes the shape [], but the model declares [1]",
    ),
    "SignalFramer of a prefill that is not a flag": (
        _framer(tensor("int16", 4), tensor("int16", 2, 4), 4, 2, 2),
        "its option prefill is 2",
    ),
    "SignalStacker of other channels": (
        _stacker(tensor("int16", 3), tensor("int16", 6), 2, 1, 1, 1),
        "2 channels, context 1 + 1 and step 1 do not fit its input",
    ),
    "SignalStacker of steps beyond its frames": (
        _stacker(tensor("int16", 2), tensor("int16", 6), 2, 1, 1, 4),
        "2 channels, context 1 + 1 and step 4 do not fit its input",
    ),
    "SignalStacker to another shape": (
        _stacker(tensor("int16", 2), tensor("int16", 4), 2, 1, 1, 1),
        "computes the shape [6]",
    ),
    "SignalDelay of a scalar": (
        signal("SignalDelay", [tensor("int16"), tensor("int16")], 1, delay_length=1),
        "its input has the shape []",
    ),
    "SignalDelay of nothing": (
        signal("SignalDelay", [tensor("int16", 2, 0), tensor("int16", 2, 0)], 1, delay_length=1),
        "its input has the shape [2, 0]",
    ),
    "SignalOverlapAdd of one frame alone": (
        overlap(tensor("int16", 4), tensor("int16", 2), 2),
        "the frame step 2 does not fit the frames [4]",
    ),
    "SignalOverlapAdd of steps longer than frames": (
        overlap(tensor("int16", 2, 4), tensor("int16", 10), 5),
        "the frame step 5 does not fit the frames [2, 4]",
    ),
    "SignalOverlapAdd to another shape": (
        overlap(tensor("int16", 2, 4), tensor("int16", 8), 2),
        "computes the shape [4]",
    ),
    "CIRCULAR_BUFFER of three axes": (
        _ring(tensor("int8", 1, 2, 3, scale=0.5), _RING[1]),
        "its input is [1, 2, 3], its output [1, 4, 2, 3]",
    ),
    "CIRCULAR_BUFFER to five axes": (
        _ring(_RING[0], tensor("int8", 1, 4, 2, 3, 1, scale=0.5, variable=True)),
        "its input is [1, 1, 2, 3], its output [1, 4, 2, 3, 1]",
    ),
    "CIRCULAR_BUFFER to three axes": (
        _ring(_RING[0], tensor("int8", 1, 4, 6, scale=0.5, variable=True)),
        "its input is [1, 1, 2, 3], its output [1, 4, 6]",
    ),
    "CIRCULAR_BUFFER of two batches": (
        _ring(tensor("int8", 2, 1, 2, 3, scale=0.5), _RING[1]),
        "its input is [2, 1, 2, 3], its output [1, 4, 2, 3]",
    ),
    "CIRCULAR_BUFFER of two slots at once": (
        _ring(tensor("int8", 1, 2, 2, 3, scale=0.5), _RING[1]),
        "slots [1, 2, 2, 3] do not fit the output [1, 4, 2, 3]",
    ),
    "CIRCULAR_BUFFER of other slots": (
        _ring(tensor("int8", 1, 1, 2, 2, scale=0.5), _RING[1]),
        "slots [1, 1, 2, 2] do not fit the output [1, 4, 2, 3]",
    ),
    "CIRCULAR_BUFFER to what others overwrite": (
        _ring(_RING[0], tensor("int8", 1, 4, 2, 3, scale=0.5)),
        "its output is not a variable tensor",
    ),
    "CIRCULAR_BUFFER without a period, of a number that ends early": (
        _ring(*_RING, cycles_max=0),
        "it ends 1 of 2 inferences early",
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
        "2 scores per box for 3 classes",
    ),
    "detection with scores for two classes more": (
        _detection({"scores": (1, 5, 5)}),
        "5 scores per box for 3 classes",
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
        "2 detections do not fit in outputs of [4, 2, 2, 1] elements",
    ),
    "detection without room for its classes": (
        _detection({"classes": (1, 1)}),
        "2 detections do not fit in outputs of [8, 1, 2, 1] elements",
    ),
    "detection without room for its scores": (
        _detection({"best": (1, 1)}),
        "2 detections do not fit in outputs of [8, 2, 1, 1] elements",
    ),
    "detection without room for their number": (
        _detection({"count": (0,)}),
        "2 detections do not fit in outputs of [8, 2, 2, 0] elements",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_inconsistent_models_are_refused_with_a_reason(name: str) -> None:
    assert_refused(*REFUSED[name])


TAKEN = {
    "frames of exactly one step": _framer(tensor("int16", 2), tensor("int16", 1, 2), 2, 2, 1),
    "a stack of as many frames as each step": _stacker(
        tensor("int16", 2), tensor("int16", 6), 2, 1, 1, 3
    ),
    "overlapping frames of exactly one step": overlap(tensor("int16", 2, 4), tensor("int16", 8), 4),
    "detections": _detection(max_detections=2),
    "detections among scores of one class more": _detection({"scores": (1, 5, 4)}),
    "a circular buffer": _ring(*_RING),
}


@pytest.mark.parametrize("name", TAKEN)
def test_limits_are_inclusive(name: str) -> None:
    interpreter = Interpreter(Model.from_bytes(TAKEN[name], name))
    assert interpreter.operators


OPTIONS = {
    ("frame_size", 1, 1 << 20): lambda n: _framer(tensor("int16", 4), tensor("int16", 2, 4), n, 2),
    ("frame_step", 1, 1 << 20): lambda n: _framer(tensor("int16", 4), tensor("int16", 2, 4), 4, n),
    ("prefill", 0, 1): lambda n: _framer(tensor("int16", 4), tensor("int16", 2, 4), 4, 2, n),
    ("stacker_step", 1, 1 << 20): lambda n: _stacker(
        tensor("int16", 2), tensor("int16", 6), 2, 1, 1, n
    ),
    ("stacker_left_context", 0, 1 << 20): lambda n: _stacker(
        tensor("int16", 2), tensor("int16", 6), 2, n, 1, 1
    ),
    ("stacker_right_context", 0, 1 << 20): lambda n: _stacker(
        tensor("int16", 2), tensor("int16", 6), 2, 1, n, 1
    ),
    ("delay_length", 0, 1 << 20): lambda n: signal(
        "SignalDelay", [tensor("int16", 2)] * 2, 1, delay_length=n
    ),
    ("cycles_max", -(1 << 31), 1 << 31): lambda n: _ring(*_RING, cycles_max=n),
}


@pytest.mark.parametrize("option", OPTIONS, ids=[name for name, _, _ in OPTIONS])
def test_an_option_has_a_smallest_and_a_largest_value(option: tuple[str, int, int]) -> None:
    name, low, high = option
    assert_ends(OPTIONS[option], name, low, high)
