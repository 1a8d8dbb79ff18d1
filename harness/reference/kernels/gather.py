"""GATHER, GATHER_ND, EMBEDDING_LOOKUP, DYNAMIC_UPDATE_SLICE: access by computed indices.

Source: tflite-micro, the operators' own files. An index outside the tensor is refused at run time;
TFLM refuses it too, or reads other memory (GATHER).
"""

from __future__ import annotations

import math

import numpy as np

from harness.reference.arrays import Array, whole_runs
from harness.reference.node import Node, Run
from harness.reference.parameters import parametrized


def _check_indices(node: Node, indices: Array, size: int) -> None:
    if indices.size and not 0 <= indices.min() <= indices.max() < size:
        wrong = indices[(indices < 0) | (indices >= size)].flat[0]
        raise node.bad(f"it reads element {wrong} of {size}")


def gather(node: Node) -> Run:
    """Slices of input 0 along an axis at the indices (int32) of input 1. int8, float32."""
    node.check_types("int8 float32")
    x, indices = node.input(0), node.input(1)
    if indices.dtype != "int32":
        raise node.unsupported(f"indices of type {indices.dtype} are not supported")
    axis = node.axis(int(node.option("axis")), len(x.shape))
    batch = int(node.option("batch_dims"))
    batch += len(indices.shape) if batch < 0 else 0
    if not 0 <= batch <= min(axis, len(indices.shape)):
        raise node.bad(
            f"batch_dims {batch} is out of range for indices {list(indices.shape)} and axis {axis}"
        )
    lead, rest = x.shape[:batch], indices.shape[batch:]
    if lead != indices.shape[:batch]:
        raise node.bad(f"its batches {list(lead)} and {list(indices.shape[:batch])} differ")
    node.check_output((*x.shape[:axis], *rest, *x.shape[axis + 1 :]))
    outer, size = math.prod(x.shape[batch:axis]), x.shape[axis]
    inner, count = math.prod(x.shape[axis + 1 :]), math.prod(rest)
    batches = math.prod(lead)

    def run(x: Array, indices: Array) -> Array:
        x, indices = whole_runs([x, indices])
        _check_indices(node, indices, size)
        table = x.reshape(len(x), batches, outer, size, inner)
        index = indices.reshape(len(indices), batches, 1, count, 1)
        y = np.take_along_axis(table, index.astype(np.intp), axis=3)
        return y.reshape(len(x), *node.output().shape)

    return run


def gather_nd(node: Node) -> Run:
    """Slices of input 0 at the indices (..., axes) (int32) of input 1. int8, float32.

    As in TFLM, only the flat index, the sum of index * stride, must be within the tensor.
    """
    node.check_types("int8 float32")
    x, indices = node.input(0), node.input(1)
    if indices.dtype != "int32":
        raise node.unsupported(f"indices of type {indices.dtype} are not supported")
    depth = indices.shape[-1] if indices.shape else 0
    if not x.shape or not indices.shape or depth > min(len(x.shape), 5):
        raise node.bad(f"indices {list(indices.shape)} into {list(x.shape)}")
    node.check_output((*indices.shape[:-1], *x.shape[depth:]))
    slices, inner = math.prod(x.shape[:depth]), math.prod(x.shape[depth:])
    strides = np.array([math.prod(x.shape[i + 1 : depth]) for i in range(depth)], np.int64)

    def run(x: Array, indices: Array) -> Array:
        x, indices = whole_runs([x, indices])
        flat = (indices.astype(np.int64) * strides).sum(axis=-1).reshape(len(indices), -1, 1)
        _check_indices(node, flat, slices)
        y = np.take_along_axis(x.reshape(len(x), slices, inner), flat, axis=1)
        return y.reshape(len(x), *node.output().shape)

    return run


def embedding_lookup(node: Node) -> Run:
    """Rows of input 1 (rank 2 or more) at the indices (int32) of input 0.

    float32, int8, int8 to float32 (dequantized; the zero point must be 0).
    """
    indices, table, output = node.input(0), node.input(1), node.output()
    if indices.dtype != "int32" or len(indices.shape) != 1 or len(table.shape) < 2:
        raise node.bad(f"indices {indices.dtype} {list(indices.shape)} into {list(table.shape)}")
    if (table.dtype, output.dtype) not in (
        ("float32", "float32"),
        ("int8", "int8"),
        ("int8", "float32"),
    ):
        raise node.unsupported(f"{table.dtype} to {output.dtype} is not supported")
    node.check_output((*indices.shape, *table.shape[1:]))
    real = table.dtype != output.dtype
    if real and table.zero_point:
        raise node.bad("its table has a zero point")
    scale = np.float32(table.scale)

    def run(indices: Array, values: Array) -> Array:
        indices, rows = whole_runs([indices, values])
        _check_indices(node, indices, table.shape[0])
        flat = rows.reshape(len(rows), table.shape[0], -1)
        y = np.take_along_axis(flat, indices[..., None].astype(np.intp), axis=1)
        y = y.reshape(len(rows), *output.shape)
        return y.astype(np.float32) * scale if real else y

    return run


def dynamic_update_slice(node: Node) -> Run:
    """Input 0 with a slice replaced by input 1; input 2 (int32, int64) is its begin.

    The begin is clamped so that the slice is within the tensor. int8, int16, int32, float32.
    """
    node.check_types("int8 int16 int32 float32")
    x, part, start = node.input(0), node.input(1), node.input(2)
    rank = len(x.shape)
    if part.dtype != x.dtype or len(part.shape) != rank or start.shape != (rank,):
        raise node.bad(f"{part.dtype} {list(part.shape)} at {list(start.shape)} in {list(x.shape)}")
    if any(small > large for small, large in zip(part.shape, x.shape, strict=True)):
        raise node.bad(f"{list(part.shape)} does not fit into {list(x.shape)}")
    node.check_output(x.shape)

    def make(first: list[int]) -> Run:
        room = [large - small for large, small in zip(x.shape, part.shape, strict=True)]
        begin = [min(max(0, a), most) for a, most in zip(first, room, strict=True)]
        cuts = tuple(slice(a, a + size) for a, size in zip(begin, part.shape, strict=True))

        def run(x: Array, part: Array, _: Array) -> Array:
            whole, update = whole_runs([x, part])
            y = whole.copy()
            y[(slice(None), *cuts)] = update
            return y

        return run

    return parametrized(node, (2,), make, "int32 int64")
