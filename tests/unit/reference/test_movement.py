"""Operators that move, reduce or resize equal the official interpreter."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from model_builder import T
from operator_cases import Draw, agree, cases, draws, single, sum_bound
from oracle import Oracles

MOVED = ["int8", "int16", "float32"]
moved = pytest.mark.parametrize("dtype", MOVED)


def moved_and(*more: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("dtype", [*MOVED, *more])


def _integers(values: object) -> T:
    array = np.asarray(values, np.int32)
    return T(array.shape, "int32", data=array)


def _like(draw: Draw, x: T, shape: object) -> T:
    return T(tuple(shape), x.dtype, x.scale, x.zero)


@moved
@cases
@given(draw=draws())
def test_reshape_equals(dtype: str, official: Oracles, draw: Draw) -> None:
    x = draw.tensor(draw.shape(1, 4), dtype)
    size = int(np.prod(x.shape))
    split = draw.one(*[n for n in range(1, size + 1) if size % n == 0])
    y = _like(draw, x, (split, size // split))
    options = ("Reshape", {"NewShape": list(y.shape)})
    tensors = [x, _integers(y.shape), y]
    agree(official, single(draw, "RESHAPE", tensors, [0, 1], options))


@moved
@cases
@given(draw=draws())
def test_squeeze_equals(dtype: str, official: Oracles, draw: Draw) -> None:
    shape = draw.shape(1, 3)
    at = draw.int(0, len(shape))
    x = draw.tensor((*shape[:at], 1, *shape[at:]), dtype)
    options = ("Squeeze", {"SqueezeDims": [at]})
    agree(official, single(draw, "SQUEEZE", [x, _like(draw, x, shape)], [0], options))


@moved
@cases
@given(draw=draws())
def test_expand_dims_equals(dtype: str, official: Oracles, draw: Draw) -> None:
    x = draw.tensor(draw.shape(1, 3), dtype)
    at = draw.int(-len(x.shape) - 1, len(x.shape))
    place = at + len(x.shape) + 1 if at < 0 else at
    y = _like(draw, x, (*x.shape[:place], 1, *x.shape[place:]))
    tensors = [x, _integers([at]), y]
    agree(official, single(draw, "EXPAND_DIMS", tensors, [0, 1], ("ExpandDims", {})))


@moved
@cases
@given(draw=draws())
def test_transpose_equals(dtype: str, official: Oracles, draw: Draw) -> None:
    x = draw.tensor(draw.shape(1, 5), dtype)
    order = draw.generator().permutation(len(x.shape))
    y = _like(draw, x, [x.shape[axis] for axis in order])
    agree(official, single(draw, "TRANSPOSE", [x, _integers(order), y], [0, 1], ("Transpose", {})))


@moved_and("int32", "int64")
@cases
@given(draw=draws())
def test_pack_equals(dtype: str, official: Oracles, draw: Draw) -> None:
    x, count = draw.tensor(draw.shape(1, 3), dtype), draw.int(1, 4)
    axis = draw.int(-len(x.shape) - 1, len(x.shape))
    place = axis + len(x.shape) + 1 if axis < 0 else axis
    y = _like(draw, x, (*x.shape[:place], count, *x.shape[place:]))
    options = ("Pack", {"Axis": axis, "ValuesCount": count})
    fed = list(range(count))
    agree(official, single(draw, "PACK", [*([x] * count), y], fed, options, fed=fed))


@moved_and("int32")
@cases
@given(draw=draws())
def test_unpack_equals(dtype: str, official: Oracles, draw: Draw) -> None:
    x = draw.tensor(draw.shape(2, 4, 4), dtype)
    axis = draw.int(-len(x.shape), len(x.shape) - 1)
    place = axis % len(x.shape)
    parts = [_like(draw, x, np.delete(x.shape, place))] * x.shape[place]
    options = ("Unpack", {"Axis": axis, "Num": len(parts)})
    outputs = list(range(1, len(parts) + 1))
    agree(official, single(draw, "UNPACK", [x, *parts], [0], options, outputs=outputs))


@moved_and("int32", "int64", "bool")
@cases
@given(draw=draws())
def test_concatenation_equals(dtype: str, official: Oracles, draw: Draw) -> None:
    x, count = draw.tensor(draw.shape(1, 4), dtype), draw.int(1, 4)
    axis = draw.int(-len(x.shape), len(x.shape) - 1)
    parts = []
    for _ in range(count):
        shape = list(x.shape)
        shape[axis] = draw.int(1, 4)
        parts.append(_like(draw, x, shape))
    shape = list(x.shape)
    shape[axis] = sum(part.shape[axis] for part in parts)
    if count > 1 and draw.flag():
        parts[-1].data = draw.array(parts[-1].shape, dtype)
    fed = [i for i, part in enumerate(parts) if part.data is None]
    options = ("Concatenation", {"Axis": axis})
    tensors = [*parts, _like(draw, x, shape)]
    agree(official, single(draw, "CONCATENATION", tensors, list(range(count)), options, fed=fed))


@moved_and("int32")
@cases
@given(draw=draws())
def test_split_equals(dtype: str, official: Oracles, draw: Draw) -> None:
    count = draw.int(1, 4)
    shape = list(draw.shape(1, 4))
    axis = draw.int(-len(shape), len(shape) - 1)
    shape[axis] = count * draw.int(1, 3)
    x = draw.tensor(shape, dtype)
    shape[axis] //= count
    parts = [_like(draw, x, shape)] * count
    tensors = [_integers([axis]), x, *parts]
    options = ("Split", {"NumSplits": count})
    outputs = list(range(2, 2 + count))
    agree(official, single(draw, "SPLIT", tensors, [0, 1], options, outputs=outputs, fed=(1,)))


@moved
@cases
@given(draw=draws())
def test_split_v_equals(dtype: str, official: Oracles, draw: Draw) -> None:
    sizes = [draw.int(1, 3) for _ in range(draw.int(1, 3))]
    shape = list(draw.shape(1, 4))
    axis = draw.int(0, len(shape) - 1)
    shape[axis] = sum(sizes)
    x = draw.tensor(shape, dtype)
    parts = [_like(draw, x, [*shape[:axis], n, *shape[axis + 1 :]]) for n in sizes]
    tensors = [x, _integers(sizes), _integers([axis]), *parts]
    options = ("SplitV", {"NumSplits": len(sizes)})
    outputs = list(range(3, 3 + len(sizes)))
    agree(official, single(draw, "SPLIT_V", tensors, [0, 1, 2], options, outputs=outputs))


@moved_and("int32", "bool")
@cases
@given(draw=draws())
def test_slice_equals(dtype: str, official: Oracles, draw: Draw) -> None:
    x = draw.tensor(draw.shape(1, 4), dtype)
    begin = [draw.int(0, n - 1) for n in x.shape]
    size = [draw.int(1, n - b) for n, b in zip(x.shape, begin, strict=True)]
    given_size = [
        -1 if b + s == n and draw.flag() else s
        for n, b, s in zip(x.shape, begin, size, strict=True)
    ]
    tensors = [x, _integers(begin), _integers(given_size), _like(draw, x, size)]
    agree(official, single(draw, "SLICE", tensors, [0, 1, 2], ("Slice", {})))


@moved_and("int32", "bool")
@cases
@given(draw=draws())
def test_strided_slice_equals(dtype: str, official: Oracles, draw: Draw) -> None:
    x = draw.tensor(draw.shape(1, 4, 6), dtype)
    masks = {name: draw.int(0, 15) for name in ("BeginMask", "EndMask", "ShrinkAxisMask")}
    begin, end, strides, cuts = [], [], [], []
    for axis, n in enumerate(x.shape):
        bit, stride = 1 << axis, draw.one(1, 1, 2, 3, -1, -2)
        shrink = bool(masks["ShrinkAxisMask"] & bit)
        start, stop = draw.int(-n, n - 1), draw.int(-n - 2, n + 2)
        if shrink:
            stride, masks["BeginMask"] = 1, masks["BeginMask"] & ~bit
        first = None if masks["BeginMask"] & bit else start
        last = None if masks["EndMask"] & bit else stop
        if not shrink and not range(n)[slice(first, last, stride)]:
            first, last, stride = None, None, 1
            masks["BeginMask"] |= bit
            masks["EndMask"] |= bit
        begin, end, strides = [*begin, start], [*end, stop], [*strides, stride]
        cuts.append(start if shrink else slice(first, last, stride))
    shape = np.empty(x.shape)[tuple(cuts)].shape
    tensors = [x, *map(_integers, (begin, end, strides)), _like(draw, x, shape)]
    agree(official, single(draw, "STRIDED_SLICE", tensors, [0, 1, 2, 3], ("StridedSlice", masks)))


@moved_and("int32")
@pytest.mark.parametrize("op", ["PAD", "PADV2"])
@cases
@given(draw=draws())
def test_padding_equals(op: str, dtype: str, official: Oracles, draw: Draw) -> None:
    x = draw.tensor(draw.shape(1, 4), dtype)
    pads = [(draw.int(0, 3), draw.int(0, 3)) for _ in x.shape]
    y = _like(draw, x, [a + n + b for n, (a, b) in zip(x.shape, pads, strict=True)])
    tensors, inputs = [x, _integers(pads)], [0, 1]
    if op == "PADV2":
        tensors.append(T((1,), dtype, x.scale, x.zero, draw.array((1,), dtype)))
        inputs.append(2)
    agree(
        official, single(draw, op, [*tensors, y], inputs, ("PadV2" if op == "PADV2" else "Pad", {}))
    )


@moved
@pytest.mark.parametrize("op", ["AVERAGE_POOL_2D", "MAX_POOL_2D"])
@cases
@given(draw=draws())
def test_pooling_equals(op: str, dtype: str, official: Oracles, draw: Draw) -> None:
    kernel, stride = (draw.int(1, 4), draw.int(1, 4)), (draw.int(1, 3), draw.int(1, 3))
    same = draw.flag()
    sizes = [draw.int(1 if same else k, 9) for k in kernel]
    outs = [
        -(-n // s) if same else (n + s - k) // s
        for n, k, s in zip(sizes, kernel, stride, strict=True)
    ]
    batch, depth = draw.int(1, 2), draw.int(1, 5)
    x = draw.tensor((batch, *sizes, depth), dtype)
    fields = {
        "Padding": 0 if same else 1,
        "StrideH": stride[0],
        "StrideW": stride[1],
        "FilterHeight": kernel[0],
        "FilterWidth": kernel[1],
        "FusedActivationFunction": draw.int(0, 3),
    }
    y = _like(draw, x, (batch, *outs, depth))
    case = single(draw, op, [x, y], [0], ("Pool2D", fields))
    if dtype == "float32" and op == "AVERAGE_POOL_2D":
        size = kernel[0] * kernel[1]
        case.bound = lambda _, arrays: [
            np.full(y.shape, (size + 2) * 2.0**-23 * np.abs(arrays[0]).max())
        ]
        case.ulps = 2
    agree(official, case)


@pytest.mark.litert_differs(
    "SUM-int8", "SUM-int16", reason="LiteRT's quantized sum goes through float"
)
@moved
@pytest.mark.parametrize("op", ["MEAN", "SUM"])
@cases
@given(draw=draws())
def test_means_and_sums_equal(op: str, dtype: str, official: Oracles, draw: Draw) -> None:
    x = draw.tensor(draw.shape(1, 4, 6), dtype)
    rank = len(x.shape)
    axes = [draw.int(-rank, rank - 1) for _ in range(draw.int(1, rank))]
    reduced = {axis % rank for axis in axes}
    keep = draw.flag()
    shape = [1 if a in reduced else n for a, n in enumerate(x.shape) if keep or a not in reduced]
    y = draw.tensor(shape, dtype)
    if dtype != "float32":
        y.scale = float(np.float32(x.scale * draw.power(-2, 10)))
    options = ("Reducer", {"KeepDims": keep})
    case = single(draw, op, [x, _integers(axes), y], [0, 1], options)
    if dtype == "float32":
        terms = int(np.prod([x.shape[a] for a in reduced]))
        case.bound, case.ulps = sum_bound(case.model, terms), 2
    agree(official, case)


@pytest.mark.parametrize("dtype", ["int8", "float32"])
@pytest.mark.parametrize("op", ["REDUCE_MAX", "REDUCE_MIN"])
@cases
@given(draw=draws())
def test_extreme_of_axes_equals(op: str, dtype: str, official: Oracles, draw: Draw) -> None:
    x = draw.tensor(draw.shape(1, 4, 6), dtype)
    rank = len(x.shape)
    axes = sorted({draw.int(0, rank - 1) for _ in range(draw.int(1, rank))})
    keep = draw.flag()
    shape = [1 if a in axes else n for a, n in enumerate(x.shape) if keep or a not in axes]
    tensors = [x, _integers(axes), _like(draw, x, shape)]
    agree(official, single(draw, op, tensors, [0, 1], ("Reducer", {"KeepDims": keep})))


@pytest.mark.parametrize("dtype", ["int8", "float32"])
@pytest.mark.parametrize("op", ["ARG_MAX", "ARG_MIN"])
@cases
@given(draw=draws())
def test_arg_extremes_equal(op: str, dtype: str, official: Oracles, draw: Draw) -> None:
    x = draw.tensor(draw.shape(1, 4, 6), dtype)
    axis = draw.int(-len(x.shape), len(x.shape) - 1)
    y = T(tuple(np.delete(x.shape, axis)), "int32")
    options = (op.title().replace("_", ""), {"OutputType": 2})
    case = single(draw, op, [x, _integers([axis]), y], [0, 1], options)
    if dtype == "int8":  # few different values: ties
        case.inputs = [[array // 64 for array in arrays] for arrays in case.inputs]
    agree(official, case)


@moved
@cases
@given(draw=draws())
def test_resize_nearest_neighbor_equals(dtype: str, official: Oracles, draw: Draw) -> None:
    x = draw.tensor((draw.int(1, 2), draw.int(1, 8), draw.int(1, 8), draw.int(1, 4)), dtype)
    size = (draw.int(1, 16), draw.int(1, 16))
    fields = {"AlignCorners": draw.flag(), "HalfPixelCenters": draw.flag()}
    tensors = [x, _integers(size), _like(draw, x, (x.shape[0], *size, x.shape[3]))]
    options = ("ResizeNearestNeighbor", fields)
    agree(official, single(draw, "RESIZE_NEAREST_NEIGHBOR", tensors, [0, 1], options))


@pytest.mark.parametrize("dtype", ["int8", "float32"])
@cases
@given(draw=draws())
def test_resize_bilinear_equals(dtype: str, official: Oracles, draw: Draw) -> None:
    x = draw.tensor((draw.int(1, 2), draw.int(1, 8), draw.int(1, 8), draw.int(1, 4)), dtype)
    size = (draw.int(1, 16), draw.int(1, 16))
    align, half = draw.one((False, False), (True, False), (False, True))
    tensors = [x, _integers(size), _like(draw, x, (x.shape[0], *size, x.shape[3]))]
    options = ("ResizeBilinear", {"AlignCorners": align, "HalfPixelCenters": half})
    agree(official, single(draw, "RESIZE_BILINEAR", tensors, [0, 1], options))
