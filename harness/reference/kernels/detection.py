"""TFLite_Detection_PostProcess: boxes from their encodings, and the best of those that overlap.

Source: the operator's documentation in TensorFlow's object detection API: centre-size encodings
relative to anchors (Ren et al., Faster R-CNN, 2015, section 3.1.2), then non-maximum suppression,
of the best class of each box (fast) or of each class by itself (regular). float32; boxes are
decoded in double precision and rounded once, overlaps are computed in single precision.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from harness.reference.arrays import Array
from harness.reference.node import Node, Run

_NUMBER = ["max_detections", "max_classes_per_detection", "num_classes"]
_REAL = ["nms_score_threshold", "nms_iou_threshold", "y_scale", "x_scale", "h_scale", "w_scale"]
_MOST = 1 << 10
#: The most pairs of boxes that are compared: a damaged model would take minutes.
_PRODUCTS = 1 << 22


@dataclass(frozen=True)
class _Settings:
    """The operator's options, as the device holds them."""

    most: int  # detections
    categories: int  # of one box, fast
    classes: int
    each: int  # detections of one class, regular
    regular: bool
    score: np.float32
    overlap: np.float32
    scales: tuple[float, ...]  # y, x, h, w

    @classmethod
    def of(cls, node: Node) -> _Settings:
        given = node.settings()
        counts = [given.get(name, 0) for name in _NUMBER]
        counts.append(given.get("detections_per_class", 100))
        if not all(0 < number <= _MOST for number in counts):
            raise node.bad(f"its options are {dict(given)}"[:300])
        *numbers, each = map(int, counts)
        score, overlap, *scales = (np.float32(given.get(name, 0.0)) for name in _REAL)
        if not 0 < overlap <= 1:
            raise node.refused(f"its option nms_iou_threshold is {overlap}")
        regular = bool(given.get("use_regular_nms", False))
        most, categories, classes = numbers
        reals = tuple(map(float, scales))
        return cls(most, categories, classes, each, regular, score, overlap, reals)


def detection_postprocess(node: Node) -> Run:
    """Encodings (1, n, >= 4), scores (1, n, classes or one more), anchors (n, 4).

    Outputs: boxes (ymin, xmin, ymax, xmax), classes, scores and their number; the rest is 0.
    """
    node.check_signature("float32 float32 float32 -> float32 float32 float32 float32")
    options = _Settings.of(node)
    encodings, scores, anchors = (node.input(index).shape for index in range(3))
    if (len(encodings), len(scores), len(anchors)) != (3, 3, 2):
        raise node.refused(f"its inputs are {list(encodings)}, {list(scores)}, {list(anchors)}")
    count = encodings[1]
    if (encodings[0], scores[:2], anchors) != (1, (1, count), (count, 4)) or encodings[2] < 4:
        raise node.bad(f"its inputs are {list(encodings)}, {list(scores)}, {list(anchors)}")
    if scores[2] - options.classes not in (0, 1):
        raise node.bad(f"{scores[2]} scores a box for {options.classes} classes")
    if not options.regular and min(options.categories, options.classes) > 1:
        raise node.bad("fast suppression with several classes a box writes behind its outputs")
    if max(options.most, options.classes * min(options.each, count)) * count > _PRODUCTS:
        raise node.bad(f"{options.most} detections among {count} boxes")
    shapes = [tensor.shape for tensor in node.outputs]
    sizes = [tensor.elements for tensor in node.outputs]
    if sizes[0] < 4 * options.most or min(sizes[1:3]) < options.most or sizes[3] < 1:
        raise node.bad(f"{options.most} detections have no room in outputs of {sizes} elements")

    def once(encoded: Array, given: Array, anchor: Array) -> list[Array]:
        boxes = _decoded(encoded[:, :4], anchor, options.scales)
        if not ((boxes[:, 0] < boxes[:, 2]) & (boxes[:, 1] < boxes[:, 3])).all():
            raise node.refused("a decoded box has no height or no width")
        kept = given[:, given.shape[1] - options.classes :]
        found = (_regular if options.regular else _fast)(boxes, kept, options)
        results = [np.zeros(size, np.float32) for size in sizes]
        for place, (box, category) in enumerate(found):
            results[0][4 * place : 4 * place + 4] = boxes[box]
            results[1][place], results[2][place] = category, kept[box, category]
        results[3][0] = len(found)
        return [value.reshape(shape) for value, shape in zip(results, shapes, strict=True)]

    def run(*values: Array) -> list[Array]:
        runs = max(map(len, values))
        rows = [
            once(*(value[number % len(value)].reshape(count, -1) for value in values))
            for number in range(runs)
        ]
        return [np.stack(column) for column in zip(*rows, strict=True)]

    return run


def _decoded(encoded: Array, anchors: Array, scales: Sequence[float]) -> Array:
    """Corners (n, 4) of boxes: ymin, xmin, ymax, xmax."""
    y, x, h, w = (encoded[:, i].astype(np.float64) / scale for i, scale in enumerate(scales))
    centre_y, centre_x, height, width = anchors.astype(np.float64).T
    middle = np.stack([y * height + centre_y, x * width + centre_x], axis=1).astype(np.float32)
    half = np.stack([0.5 * np.exp(h) * height, 0.5 * np.exp(w) * width], axis=1).astype(np.float32)
    return np.concatenate([middle - half, middle + half], axis=1)


def _suppressed(boxes: Array, scores: Array, options: _Settings, most: int) -> list[int]:
    """The boxes that are kept, the best first: of two that overlap too much, the better one."""
    candidates = np.flatnonzero(scores >= options.score)
    order = candidates[np.argsort(-scores[candidates], kind="stable")]
    chosen: list[int] = []
    while order.size and len(chosen) < most:
        best, order = int(order[0]), order[1:]
        chosen.append(best)
        order = order[~(_overlap(boxes[best], boxes[order]) > options.overlap)]
    return chosen


def _overlap(one: Array, others: Array) -> Array:
    """Intersection over union; NaN for areas of 0, which no comparison finds larger."""
    area = (one[2] - one[0]) * (one[3] - one[1])
    areas = (others[:, 2] - others[:, 0]) * (others[:, 3] - others[:, 1])
    low, high = np.maximum(one[:2], others[:, :2]), np.minimum(one[2:], others[:, 2:])
    sides = np.maximum(high - low, np.float32(0))
    common = sides[:, 0] * sides[:, 1]
    return np.asarray(common / (area + areas - common))


#: Boxes with their classes, the best first.
_Found = list[tuple[int, int]]


def _fast(boxes: Array, scores: Array, options: _Settings) -> _Found:
    chosen = _suppressed(boxes, scores.max(axis=1), options, options.most)
    return [(box, int(scores[box].argmax())) for box in chosen]


def _regular(boxes: Array, scores: Array, options: _Settings) -> _Found:
    found: _Found = []
    for category in range(options.classes):
        chosen = _suppressed(boxes, scores[:, category], options, options.each)
        found += [(box, category) for box in chosen]
        found = sorted(found, key=lambda each: -float(scores[each]))[: options.most]  # stable
    return found
