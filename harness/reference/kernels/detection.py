"""TFLite_Detection_PostProcess: decoding of boxes and non-maximum suppression.

Source: the operator's documentation in TensorFlow's object detection API: centre-size encodings
relative to anchors (Ren et al., Faster R-CNN, 2015, section 3.1.2), then non-maximum suppression
for the best class of each box (fast) or for each class separately (regular). float32; boxes are
decoded in double precision and rounded once, overlaps are computed in single precision.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from harness.reference.arrays import Array
from harness.reference.node import Node, Run

_COUNTS = ["max_detections", "max_classes_per_detection", "num_classes"]
_REALS = ["nms_score_threshold", "nms_iou_threshold", "y_scale", "x_scale", "h_scale", "w_scale"]
#: The largest count among the options.
_MAX_COUNT = 1 << 10
#: Most compared pairs of boxes, a bound for the time that a damaged model takes.
_MAX_PAIRS = 1 << 22


@dataclass(frozen=True)
class _Settings:
    """The operator's options, in the device's types."""

    detections: int
    classes_per_box: int  # fast suppression
    classes: int
    detections_per_class: int  # regular suppression
    regular: bool
    score_threshold: np.float32
    overlap_threshold: np.float32
    scales: tuple[float, ...]  # y, x, height, width

    @classmethod
    def of(cls, node: Node) -> _Settings:
        given = node.settings()
        counts = [given.get(name, 0) for name in _COUNTS]
        counts.append(given.get("detections_per_class", 100))
        if not all(0 < number <= _MAX_COUNT for number in counts):
            raise node.bad(f"its options are {dict(given)}"[:300])
        score, overlap, *scales = (np.float32(given.get(name, 0.0)) for name in _REALS)
        if not 0 < overlap <= 1:
            raise node.refused(f"its option nms_iou_threshold is {overlap}")
        detections, per_box, classes, per_class = map(int, counts)
        regular = bool(given.get("use_regular_nms", False))
        reals = tuple(map(float, scales))
        return cls(detections, per_box, classes, per_class, regular, score, overlap, reals)


def detection_postprocess(node: Node) -> Run:
    """Inputs: encodings (1, n, >= 4), scores (1, n, classes or one more), anchors (n, 4).

    Outputs: boxes (ymin, xmin, ymax, xmax), classes, scores, and the number of detections;
    elements beyond this number are 0.
    """
    node.check_signature("float32 float32 float32 -> float32 float32 float32 float32")
    options = _Settings.of(node)
    count = _check_tensors(node, options)
    shapes = [tensor.shape for tensor in node.outputs]
    sizes = [tensor.elements for tensor in node.outputs]

    def run_one(encodings: Array, scores: Array, anchors: Array) -> list[Array]:
        boxes = _decoded(encodings[:, :4], anchors, options.scales)
        if not ((boxes[:, 0] < boxes[:, 2]) & (boxes[:, 1] < boxes[:, 3])).all():
            raise node.refused("a decoded box has no height or no width")
        scores = scores[:, scores.shape[1] - options.classes :]  # without the background class
        found = (_regular if options.regular else _fast)(boxes, scores, options)
        results = [np.zeros(size, np.float32) for size in sizes]
        for place, (box, category) in enumerate(found):
            results[0][4 * place : 4 * place + 4] = boxes[box]
            results[1][place], results[2][place] = category, scores[box, category]
        results[3][0] = len(found)
        return [value.reshape(shape) for value, shape in zip(results, shapes, strict=True)]

    def run(*values: Array) -> list[Array]:
        runs = max(map(len, values))
        rows = [
            run_one(*(value[number % len(value)].reshape(count, -1) for value in values))
            for number in range(runs)
        ]
        return [np.stack(column) for column in zip(*rows, strict=True)]

    return run


def _check_tensors(node: Node, options: _Settings) -> int:
    """The number of boxes. Raises BadModel for shapes that do not fit each other or the options."""
    encodings, scores, anchors = (node.input(index).shape for index in range(3))
    shapes = f"its inputs are {list(encodings)}, {list(scores)}, {list(anchors)}"
    if (len(encodings), len(scores), len(anchors)) != (3, 3, 2):
        raise node.refused(shapes)
    count = encodings[1]
    if (encodings[0], scores[:2], anchors) != (1, (1, count), (count, 4)) or encodings[2] < 4:
        raise node.bad(shapes)
    if scores[2] - options.classes not in (0, 1):
        raise node.bad(f"{scores[2]} scores per box for {options.classes} classes")
    if not options.regular and min(options.classes_per_box, options.classes) > 1:
        raise node.bad("fast suppression with several classes a box writes beyond its outputs")
    most = options.detections
    if max(most, options.classes * min(options.detections_per_class, count)) * count > _MAX_PAIRS:
        raise node.bad(f"{most} detections among {count} boxes")
    sizes = [tensor.elements for tensor in node.outputs]
    if sizes[0] < 4 * most or min(sizes[1:3]) < most or sizes[3] < 1:
        raise node.bad(f"{most} detections do not fit in outputs of {sizes} elements")
    return count


def _decoded(encoded: Array, anchors: Array, scales: Sequence[float]) -> Array:
    """Corners (n, 4) of boxes: ymin, xmin, ymax, xmax."""
    y, x, h, w = (encoded[:, i].astype(np.float64) / scale for i, scale in enumerate(scales))
    centre_y, centre_x, height, width = anchors.astype(np.float64).T
    middle = np.stack([y * height + centre_y, x * width + centre_x], axis=1).astype(np.float32)
    half = np.stack([0.5 * np.exp(h) * height, 0.5 * np.exp(w) * width], axis=1).astype(np.float32)
    return np.concatenate([middle - half, middle + half], axis=1)


def _suppressed(boxes: Array, scores: Array, options: _Settings, most: int) -> list[int]:
    """The indices of at most ``most`` boxes after non-maximum suppression, the best first."""
    candidates = np.flatnonzero(scores >= options.score_threshold)
    order = candidates[np.argsort(-scores[candidates], kind="stable")]
    chosen: list[int] = []
    while order.size and len(chosen) < most:
        best, order = int(order[0]), order[1:]
        chosen.append(best)
        order = order[~(_overlap(boxes[best], boxes[order]) > options.overlap_threshold)]
    return chosen


def _overlap(box: Array, others: Array) -> Array:
    """The intersection over union of a box (4,) and others (n, 4); NaN for two empty boxes."""
    area = (box[2] - box[0]) * (box[3] - box[1])
    areas = (others[:, 2] - others[:, 0]) * (others[:, 3] - others[:, 1])
    low, high = np.maximum(box[:2], others[:, :2]), np.minimum(box[2:], others[:, 2:])
    sides = np.maximum(high - low, np.float32(0))
    common = sides[:, 0] * sides[:, 1]
    return np.asarray(common / (area + areas - common))


#: (box, class), the best first.
_Detections = list[tuple[int, int]]


def _fast(boxes: Array, scores: Array, options: _Settings) -> _Detections:
    chosen = _suppressed(boxes, scores.max(axis=1), options, options.detections)
    return [(box, int(scores[box].argmax())) for box in chosen]


def _regular(boxes: Array, scores: Array, options: _Settings) -> _Detections:
    found: _Detections = []
    for category in range(options.classes):
        chosen = _suppressed(boxes, scores[:, category], options, options.detections_per_class)
        found += [(box, category) for box in chosen]
        found = sorted(found, key=lambda each: -float(scores[each]))[: options.detections]  # stable
    return found
