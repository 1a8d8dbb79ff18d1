"""Operators that only move elements.

RESHAPE, SQUEEZE, EXPAND_DIMS, TRANSPOSE, PACK, UNPACK, CONCATENATION, SPLIT, SPLIT_V, SLICE,
STRIDED_SLICE, REVERSE_V2. Sources: TensorFlow Lite operator specification; tflite-micro,
``reverse.cc``. Like TFLM, these kernels use the output shape that the model declares; they check
that the operator's parameters give the same shape.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from harness.model import Tensor
from harness.reference.arrays import whole_runs
from harness.reference.node import Node, Run
from harness.reference.parameters import parametrized


def _same_type(node: Node, *others: Tensor) -> None:
    """Raises BadModel if an output or one of ``others`` has another type than the input.

    The same for a type that the operator does not support.
    """
    dtype = node.input(0).dtype if node.operator.name != "SPLIT" else node.input(1).dtype
    for tensor in (*others, *node.outputs):
        if tensor.dtype != dtype:
            raise node.bad(f"its tensors are {dtype} and {tensor.dtype}")
    if dtype not in _MOVED.get(node.operator.name, _ALL).split():
        raise node.refused(f"its type is {dtype}")


_ALL = "float32 float64 int8 uint8 int16 int32 uint32 int64 uint64 bool resource"
#: The types that TFLM supports per operator; it refuses others when it runs.
_MOVED = {
    "CONCATENATION": "float32 int8 int16 int32 int64 bool",
    "EXPAND_DIMS": "float32 int8 int16",
    "PACK": "float32 int8 int16 int32 int64",
    "RESHAPE": _ALL,
    "SLICE": "float32 int8 int16 int32 bool",
    "SPLIT": "float32 int8 int16 int32",
    "SPLIT_V": "float32 int8 int16 int32",
    "SQUEEZE": _ALL,
    "STRIDED_SLICE": "float32 int8 int16 int32 bool",
    "TRANSPOSE": "float32 int8 int16",
    "UNPACK": "float32 int8 int16 int32",
}


def reshape(node: Node) -> Run:
    """The same elements in the output's shape."""
    _same_type(node)
    output = node.output()
    if node.input(0).elements != output.elements:
        raise node.bad(f"{list(node.input(0).shape)} cannot become {list(output.shape)}")
    return lambda x, *_: x.reshape(len(x), *output.shape)


def expand_dims(node: Node) -> Run:
    """The input with an axis of size 1 inserted before the axis of constant input 1.

    A negative axis counts from the end of the output shape, as in TFLM.
    """
    shape = list(node.input(0).shape)
    (axis,) = node.integers(1, "its axis")[:1] or [0]
    place = node.axis(axis, len(shape) + 1)
    node.check_output([*shape[:place], 1, *shape[place:]])
    return reshape(node)


def squeeze(node: Node) -> Run:
    """The input without the axes of ``squeeze_dims``, or without all axes of size 1."""
    shape = node.input(0).shape
    dropped = node.option("squeeze_dims") or ()
    for axis in dropped:
        if not -len(shape) <= axis < len(shape) or shape[axis] != 1:
            raise node.refused(f"axis {axis} of {list(shape)} is not of size 1")
    places = {axis % len(shape) for axis in dropped}
    if not dropped:
        places = {axis for axis, size in enumerate(shape) if size == 1}
    node.check_output([size for axis, size in enumerate(shape) if axis not in places])
    return reshape(node)


def transpose(node: Node) -> Run:
    """The input with its axes in the order of constant input 1."""
    _same_type(node)
    x = node.input(0)
    order = node.integers(1, "its permutation")
    if order and not 0 <= min(order) <= max(order) < len(x.shape) <= 5:
        raise node.refused(f"the permutation {order} is invalid for {len(x.shape)} axes")
    if sorted(order) != list(range(len(x.shape))):
        raise node.bad(f"the permutation {order} is invalid for {len(x.shape)} axes")
    node.check_output([x.shape[axis] for axis in order])
    axes = (0, *(axis + 1 for axis in order))
    return lambda x, _: np.transpose(x, axes)


def pack(node: Node) -> Run:
    """Tensors of one shape stacked along a new axis."""
    parts = [node.input(index) for index in range(len(node.inputs))]
    _same_type(node, *parts)
    rank = len(node.output().shape)
    axis = node.axis(node.option("axis"), rank)
    if node.option("values_count") != len(parts):
        raise node.bad(f"values_count is {node.option('values_count')} for {len(parts)} inputs")
    if any(part.shape != parts[0].shape for part in parts):
        raise node.bad("its inputs have different shapes")
    shape = list(parts[0].shape)
    node.check_output([*shape[:axis], len(parts), *shape[axis:]])
    return lambda *values: np.stack(whole_runs(values), axis + 1)


def unpack(node: Node) -> Run:
    """The slices of the input along an axis, one per output."""
    _same_type(node)
    x = node.input(0)
    axis = node.axis(node.option("axis"), len(x.shape))
    if node.option("num") != len(node.outputs):
        raise node.bad(f"num is {node.option('num')} for {len(node.outputs)} outputs")
    if x.shape[axis] != len(node.outputs):
        raise node.bad(f"axis {axis} of {list(x.shape)} does not have the size {len(node.outputs)}")
    for index in range(len(node.outputs)):
        node.check_output([*x.shape[:axis], *x.shape[axis + 1 :]], index)
    return lambda x: list(np.moveaxis(x, axis + 1, 0))


def concatenation(node: Node) -> Run:
    """Tensors joined along an axis; stored values, without rescaling."""
    parts = [node.input(index) for index in range(len(node.inputs))]
    if not parts:
        raise node.bad("it has no input")
    _same_type(node, *parts)
    if node.option("fused_activation_function") != "NONE":
        raise node.refused("it has a fused activation")
    if len(parts) > _MAX_PARTS:
        raise node.refused(f"it has {len(parts)} inputs, more than {_MAX_PARTS}")
    _check_scales(node, parts)
    rank = len(node.output().shape)
    axis = node.axis(node.option("axis"), rank)
    if any(len(part.shape) != rank for part in parts):
        raise node.bad("its inputs have different numbers of axes")
    shape = list(parts[0].shape)
    shape[axis] = sum(part.shape[axis] for part in parts)
    for part in parts:
        if [*part.shape[:axis], *part.shape[axis + 1 :]] != shape[:axis] + shape[axis + 1 :]:
            raise node.bad(f"{list(part.shape)} does not fit {shape}")
    node.check_output(shape)
    return lambda *values: np.concatenate(whole_runs(values), axis + 1)


#: The most inputs of TFLM's CONCATENATION.
_MAX_PARTS = 10


def _check_scales(node: Node, parts: Sequence[Tensor]) -> None:
    """Raises BadModel for int8 inputs quantized unlike the output, int16 ones with zero points."""
    output = node.output()
    for part in parts:
        same = (part.scale, part.zero_point) == (output.scale, output.zero_point)
        if output.dtype == "int8" and not same:
            raise node.refused("its input and output differ in scale or zero point")
        if output.dtype == "int16" and (part.zero_point or output.zero_point):
            raise node.refused("int16 tensors must have the zero point 0")


def split(node: Node) -> Run:
    """Inputs: axis, tensor. Equal parts along the axis, one per output."""
    x = node.input(1)
    _same_type(node)
    axis = node.axis(node.integers(0, "its axis")[0], len(x.shape))
    count = len(node.outputs)
    if count == 0 or x.shape[axis] % count:
        raise node.bad(f"axis {axis} of {list(x.shape)} cannot be split into {count} parts")
    return _parts(node, 1, axis, [x.shape[axis] // count] * count)


def split_v(node: Node) -> Run:
    """Inputs: tensor, sizes, axis. Parts of these sizes along the axis, one per output."""
    x = node.input(0)
    _same_type(node)
    axis = node.axis(node.integers(2, "its axis")[0], len(x.shape))
    sizes = node.integers(1, "the sizes of its parts")
    if -1 in sizes:
        sizes[sizes.index(-1)] = x.shape[axis] - sum(size for size in sizes if size >= 0)
    if len(sizes) != len(node.outputs) or sum(sizes) != x.shape[axis] or min(sizes) < 0:
        raise node.bad(f"axis {axis} of {list(x.shape)} cannot be split into sizes {sizes}")
    return _parts(node, 0, axis, sizes)


def _parts(node: Node, index: int, axis: int, sizes: Sequence[int]) -> Run:
    shape = node.input(index).shape
    for number, size in enumerate(sizes):
        node.check_output([*shape[:axis], size, *shape[axis + 1 :]], number)
    cuts = np.cumsum(sizes)[:-1]
    return lambda *values: np.split(values[index], cuts, axis + 1)


def slice_(node: Node) -> Run:
    """Inputs: tensor, begin, size (-1: to the end); both int32 or int64, and may be computed."""
    _same_type(node)
    if node.input(1).dtype != node.input(2).dtype:
        raise node.bad(f"its begin is {node.input(1).dtype}, its size {node.input(2).dtype}")
    return parametrized(node, (1, 2), lambda *cut: _sliced(node, *cut), "int32 int64")


def _sliced(node: Node, begin: list[int], size: list[int]) -> Run:
    x = node.input(0)
    if len(begin) != len(x.shape) or len(size) != len(x.shape):
        raise node.bad(f"begin {begin} and size {size} for {len(x.shape)} axes")
    cuts = []
    for start, length, extent in zip(begin, size, x.shape, strict=True):
        stop = extent if length == -1 else start + length
        if not 0 <= start <= stop <= extent:
            raise node.bad(f"begin {begin} and size {size} are out of range for {list(x.shape)}")
        cuts.append(slice(start, stop))
    node.check_output([cut.stop - cut.start for cut in cuts])
    where = (slice(None), *cuts)
    return lambda x, *_: x[where]


def strided_slice(node: Node) -> Run:
    """Inputs: tensor, begin, end, strides; options: masks for begin, end and dropped axes."""
    _same_type(node)
    x = node.input(0)
    rank = len(x.shape)
    bounds = [node.integers(i, what) for i, what in ((1, "its begin"), (2, "its end"))]
    strides = node.integers(3, "its strides")
    if any(len(each) != rank for each in (*bounds, strides)) or 0 in strides:
        raise node.bad(f"begin, end and strides {bounds} {strides} for {rank} axes")
    if node.option("ellipsis_mask") or node.option("new_axis_mask") or node.option("offset"):
        raise node.unsupported("ellipsis, new axis and offset are not supported")
    shape: list[int] = []
    cuts: list[slice | int] = [slice(None)]
    for axis in range(rank):
        chosen = _range(node, axis, bounds[0][axis], bounds[1][axis], strides[axis])
        if node.option("shrink_axis_mask") & 1 << axis:
            if len(chosen) != 1:
                raise node.bad(f"axis {axis} of {list(x.shape)} cannot be dropped")
            cuts.append(chosen[0])
        else:
            cuts.append(_slice(chosen))
            shape.append(len(chosen))
    node.check_output(shape)
    where = tuple(cuts)
    return lambda x, *_: x[where]


def _range(node: Node, axis: int, begin: int, end: int, stride: int) -> range:
    """The selected indices along one axis."""
    size = node.input(0).shape[axis]
    low, high = (0, size) if stride > 0 else (-1, size - 1)

    def bound(value: int) -> int:
        return min(max(value + size if value < 0 else value, low), high)

    start = bound(begin)
    if node.option("begin_mask") & 1 << axis:
        start = low if stride > 0 else high
    if node.option("shrink_axis_mask") & 1 << axis:
        return range(start, min(start + 1, size))
    stop = bound(end)
    if node.option("end_mask") & 1 << axis:
        stop = high if stride > 0 else low
    return range(start, stop, stride)


def _slice(chosen: range) -> slice:
    # A negative stop would count from the end; None is "down to the first".
    return slice(chosen.start, chosen.stop if chosen.stop >= 0 else None, chosen.step)


_REVERSED = "int8 uint8 int16 int32 int64 float32 bool"


def reverse_v2(node: Node) -> Run:
    """The input reversed along adjacent axes (int32, input 1)."""
    node.check_types(_REVERSED)
    x, axis = node.input(0), node.input(1)
    if axis.dtype != "int32" or len(axis.shape) != 1 or not 0 < axis.elements <= len(x.shape):
        raise node.bad(f"its axes are {axis.dtype} {list(axis.shape)}, its input {list(x.shape)}")
    node.check_output(x.shape)

    def make(given: list[int]) -> Run:
        axes = sorted(node.axis(each, len(x.shape)) for each in given)
        if axes != list(range(axes[0], axes[0] + len(axes))):
            raise node.bad(f"axes {given} are not adjacent")
        places = tuple(each + 1 for each in axes)
        return lambda x, _: np.flip(x, places)

    return parametrized(node, (1,), make)
