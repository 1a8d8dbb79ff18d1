"""PAD, PADV2, MIRROR_PAD.

Sources: TensorFlow Lite operator specification; tflite-micro, ``mirror_pad.cc``.
"""

from __future__ import annotations

import numpy as np

from harness.reference.arrays import Array
from harness.reference.node import NUMPY_TYPES, Node, Run
from harness.reference.parameters import parametrized


def _pairs(node: Node, paddings: list[int]) -> list[tuple[int, int]]:
    """(before, after) for each axis. Raises BadModel if the output has another shape."""
    shape = node.input(0).shape
    if len(paddings) != 2 * len(shape) or min(paddings, default=0) < 0:
        raise node.bad(f"paddings {paddings} are invalid for {len(shape)} axes")
    pairs = list(zip(paddings[::2], paddings[1::2], strict=True))
    node.check_output([a + size + b for size, (a, b) in zip(shape, pairs, strict=True)])
    return pairs


def pad(node: Node) -> Run:
    """Inputs: tensor, paddings (rank, 2), for PADV2 a value; PAD fills with the real value 0.

    int8, int16, int32, float32.
    """
    x, output = node.input(0), node.output()
    dtype = x.dtype
    if dtype not in ("int8", "int16", "int32", "float32"):
        raise node.unsupported(f"input type {dtype} is not supported")
    if output.dtype != dtype:
        raise node.bad(f"its tensors are {dtype} and {output.dtype}")
    paddings = node.integers(1, "its paddings")
    pairs = _pairs(node, paddings)
    inside = (
        slice(None),
        *(slice(a, a + size) for size, (a, _) in zip(x.shape, pairs, strict=True)),
    )
    fill = output.zero_point if dtype == "int8" else 0
    if node.present(2):
        value = node.input(2)
        if value.dtype != dtype or value.elements != 1:
            raise node.refused("its value is not a scalar of its input's type")
        same = (value.scale, value.zero_point) == (output.scale, output.zero_point)
        if dtype == "int8" and not same:
            raise node.refused("its value and its output differ in scale or zero point")

    def run(x: Array, _: Array, value: Array | None = None) -> Array:
        runs = max(len(x), 1 if value is None else len(value))
        y = np.full((runs, *output.shape), fill, NUMPY_TYPES[dtype])
        if value is not None:
            y[...] = value.reshape(-1, *(1,) * len(output.shape))
        y[inside] = x
        return y

    return run


def mirror_pad(node: Node) -> Run:
    """Inputs: tensor, paddings (rank, 2). SYMMETRIC repeats the edge elements, REFLECT does not.

    int8, float32.
    """
    node.check_types("int8 float32")
    shape = node.input(0).shape
    if node.input(1).shape != (len(shape), 2):
        raise node.bad(
            f"its paddings have the shape {list(node.input(1).shape)}, its input {list(shape)}"
        )
    offset = 1 if node.option("mode") == "REFLECT" else 0

    def make(paddings: list[int]) -> Run:
        pairs = _pairs(node, paddings)
        places = [_mirrored(size, a, b, offset) for size, (a, b) in zip(shape, pairs, strict=True)]
        for size, place in zip(shape, places, strict=True):
            if place.size and not 0 <= place.min() <= place.max() < size:
                raise node.bad(f"paddings {paddings} reach beyond the mirrored {list(shape)}")

        def run(x: Array, _: Array) -> Array:
            for axis, place in enumerate(places):
                x = np.take(x, place, axis=axis + 1)
            return x

        return run

    return parametrized(node, (1,), make, "int32 int64")


def _mirrored(size: int, before: int, after: int, offset: int) -> Array:
    """The index of the source element for each element of a padded axis."""
    front = np.arange(before)
    first = before + offset - 1 - np.minimum(front, before - 1)
    last = size - 1 - offset
    end = last - np.minimum(np.arange(after), last)
    return np.concatenate([first, np.arange(size), end])
