"""tflite-micro's custom operators, except the signal library's, equal the official interpreter."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from model_builder import T
from operator_cases import Case, Draw, agree, cases, draws, single
from oracle import Oracle

from harness.base.errors import BadModel, UnsupportedOperator
from harness.model import Model
from harness.reference import Interpreter


def ring(draw: Draw, slots: int, flex: dict[str, Any], **changed: Any) -> Case:
    width, channels = draw.int(1, 3), draw.int(1, 5)
    zero = draw.int(-128, 127)
    tensors = [
        T((1, 1, width, channels), "int8", 0.5, zero),
        T((1, slots, width, channels), "int8", 0.5, zero, variable=True),
    ]
    return single(draw, "CIRCULAR_BUFFER", tensors, [0], flex=flex, inferences=6, **changed)


@cases
@given(draw=draws())
def test_circular_buffer_equals(micro: Oracle, draw: Draw) -> None:
    agree([micro], ring(draw, draw.int(1, 6), {"cycles_max": 1}))


@pytest.mark.parametrize("slots", [5, 13, 25])
@cases
@given(draw=draws())
def test_circular_buffer_without_a_period_equals(slots: int, micro: Oracle, draw: Draw) -> None:
    agree([micro], ring(draw, slots, {"cycles_max": 0}))


@given(draw=draws())
def test_a_circular_buffer_that_ends_inferences_early_is_refused_with_its_period(
    draw: Draw,
) -> None:
    model = ring(draw, 4, {"cycles_max": 3}).model
    with pytest.raises(UnsupportedOperator, match="it ends 2 of 3 inferences early"):
        Interpreter(Model.from_bytes(model))


@given(draw=draws())
def test_a_circular_buffer_without_slots_is_refused(draw: Draw) -> None:
    model = ring(draw, 0, {"cycles_max": 1}).model
    with pytest.raises(BadModel, match="its input is"):
        Interpreter(Model.from_bytes(model))


def detection(draw: Draw, *, regular: bool) -> Case:
    count, classes, most = draw.int(1, 12), draw.int(1, 4), draw.int(1, 5)
    categories = draw.int(1, 3)
    classes = classes if regular or categories == 1 else 1
    flex = {
        "max_detections": most,
        "max_classes_per_detection": categories,
        "num_classes": classes,
        "use_regular_nms": regular,
        "nms_score_threshold": draw.one(0.0, 0.25, 0.5),
        "nms_iou_threshold": draw.one(0.1, 0.5, 0.9, 1.0),
        "y_scale": 10.0,
        "x_scale": 10.0,
        "h_scale": 5.0,
        "w_scale": 5.0,
    }
    if draw.flag():
        flex["detections_per_class"] = draw.int(1, 4)
    shapes = [(1, count, draw.one(4, 4, 6)), (1, count, classes + draw.int(0, 1)), (count, 4)]
    shapes += [(1, most, 4), (1, most), (1, most), (1,)]
    case = single(
        draw,
        "TFLite_Detection_PostProcess",
        [T(shape, "float32") for shape in shapes],
        [0, 1, 2],
        outputs=(3, 4, 5, 6),
        fed=(0, 1, 2),
        flex=flex,
    )
    rng = draw.generator()
    for arrays in case.inputs:
        # Scores from few values, so that there are ties; anchors that overlap.
        arrays[1][...] = rng.integers(0, 9, arrays[1].shape) / 8
        arrays[2][:, :2] = rng.integers(0, 4, (count, 2)) / 4
        arrays[2][:, 2:] = rng.integers(1, 4, (count, 2)) / 4
    if not regular:

        def written(outputs: Any) -> list[Any]:
            # What is behind the detections is whatever was in memory.
            count = int(outputs[3].ravel()[0])
            return [slice(4 * count), slice(count), slice(count), ...]

        case.written = written
    return case


@pytest.mark.parametrize("regular", [False, True], ids=["fast", "regular"])
@cases
@given(draw=draws())
def test_detection_postprocess_equals(regular: bool, micro: Oracle, draw: Draw) -> None:
    agree([micro], detection(draw, regular=regular))


@given(draw=draws())
def test_outputs_too_small_for_the_detections_are_refused(draw: Draw) -> None:
    tensors = [T(s, "float32") for s in [(1, 3, 4), (1, 3, 2), (3, 4), (1, 1, 4), (1, 1), (1, 1)]]
    flex = {"max_detections": 2, "max_classes_per_detection": 1, "num_classes": 2}
    case = single(
        draw, "TFLite_Detection_PostProcess", [*tensors, T((1,), "float32")], [0, 1, 2],
        outputs=(3, 4, 5, 6), fed=(0, 1, 2), flex={**flex, "nms_iou_threshold": 0.5},
    )  # fmt: skip
    with pytest.raises(BadModel, match="2 detections do not fit"):
        Interpreter(Model.from_bytes(case.model))


@given(draw=draws())
def test_several_classes_per_box_are_refused_for_fast_suppression(
    draw: Draw,
) -> None:
    """The official interpreter dies of some such models."""
    flex = {"max_detections": 2, "max_classes_per_detection": 2, "num_classes": 2}
    shapes = [(1, 3, 4), (1, 3, 2), (3, 4), (1, 4, 4), (1, 4), (1, 4), (1,)]
    case = single(
        draw, "TFLite_Detection_PostProcess", [T(s, "float32") for s in shapes], [0, 1, 2],
        outputs=(3, 4, 5, 6), fed=(0, 1, 2), flex={**flex, "nms_iou_threshold": 0.5},
    )  # fmt: skip
    with pytest.raises(BadModel, match="writes beyond its outputs"):
        Interpreter(Model.from_bytes(case.model))
