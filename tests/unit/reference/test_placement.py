"""Operators that place elements by blocks, indices, shapes and masks equal the official ones."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from model_builder import Op, T, build
from operator_cases import Case, Draw, agree, cases, draws, single, thinned
from oracle import Oracle, Oracles

from harness.model import Model
from harness.reference import Interpreter

MOVED = ["int8", "float32"]
moved = pytest.mark.parametrize("dtype", MOVED)
EVERY_TYPE = ["int8", "uint8", "int16", "int32", "uint32", "int64", "uint64", "float32", "bool"]


def _integers(values: object, dtype: str = "int32") -> T:
    array = np.asarray(values, dtype)
    return T(array.shape, dtype, data=array)


def _like(x: T, shape: object) -> T:
    return T(tuple(shape), x.dtype, x.scale, x.zero)


@moved
@cases
@given(draw=draws())
def test_space_to_batch_nd_equals(dtype: str, micro: Oracle, draw: Draw) -> None:
    """LiteRT pads with the zero point.

    TFLM pads with what its arena held, which is 0 where the arena is fresh. The system gives an
    arena as large as this one anew each time.
    """
    axes = draw.int(1, 2)
    blocks = [draw.int(1, 3) for _ in range(axes)]
    out = [draw.int(1, 3) for _ in range(axes)]
    whole = [a * b for a, b in zip(blocks, out, strict=True)]
    before = [draw.int(0, size - 1) for size in whole]
    after = [draw.int(0, size - 1 - a) for size, a in zip(whole, before, strict=True)]
    inner = [size - a - b for size, a, b in zip(whole, before, after, strict=True)]
    x = draw.tensor((draw.int(1, 2), *inner, draw.int(1, 3)), dtype)
    y = _like(x, (x.shape[0] * math.prod(blocks), *out, x.shape[-1]))
    margins = list(zip(before, after, strict=True))
    tensors = [x, _integers(blocks), _integers(margins), y]
    options = ("SpaceToBatchND", {})
    agree([micro], single(draw, "SPACE_TO_BATCH_ND", tensors, [0, 1, 2], options, arena=64 << 20))


@moved
@cases
@given(draw=draws())
def test_batch_to_space_nd_equals(dtype: str, official: Oracles, draw: Draw) -> None:
    axes = draw.int(1, 2)
    blocks = [draw.int(1, 3) for _ in range(axes)]
    inner = [draw.int(1, 3) for _ in range(axes)]
    whole = [a * b for a, b in zip(blocks, inner, strict=True)]
    before = [draw.int(0, size - 1) for size in whole]
    after = [draw.int(0, size - 1 - a) for size, a in zip(whole, before, strict=True)]
    out = [size - a - b for size, a, b in zip(whole, before, after, strict=True)]
    batch = draw.int(1, 2)
    x = draw.tensor((batch * math.prod(blocks), *inner, draw.int(1, 3)), dtype)
    crops = list(zip(before, after, strict=True))
    tensors = [x, _integers(blocks), _integers(crops), _like(x, (batch, *out, x.shape[-1]))]
    agree(official, single(draw, "BATCH_TO_SPACE_ND", tensors, [0, 1, 2], ("BatchToSpaceND", {})))


@pytest.mark.parametrize("op", ["SPACE_TO_DEPTH", "DEPTH_TO_SPACE"])
@moved
@cases
@given(draw=draws())
def test_blocks_and_channels_equal(op: str, dtype: str, official: Oracles, draw: Draw) -> None:
    block, n, h, w, c = (draw.int(1, 3) for _ in range(5))
    flat, deep = (n, h * block, w * block, c), (n, h, w, c * block * block)
    source, target = (flat, deep) if op == "SPACE_TO_DEPTH" else (deep, flat)
    x = draw.tensor(source, dtype)
    table = "SpaceToDepth" if op == "SPACE_TO_DEPTH" else "DepthToSpace"
    agree(official, single(draw, op, [x, _like(x, target)], [0], (table, {"BlockSize": block})))


@moved
@cases
@given(draw=draws())
def test_gather_equals(dtype: str, official: Oracles, draw: Draw) -> None:
    x = draw.tensor(draw.shape(1, 4, 4), dtype)
    axis = draw.int(0, len(x.shape) - 1)
    batch = draw.int(0, axis)
    rest = draw.shape(0, 2, 3)
    places = (*x.shape[:batch], *rest)
    where = draw.generator().integers(0, x.shape[axis], places)
    y = _like(x, (*x.shape[:axis], *rest, *x.shape[axis + 1 :]))
    given_axis = axis - draw.one(0, len(x.shape))
    options = ("Gather", {"Axis": given_axis, "BatchDims": batch})
    agree(official, single(draw, "GATHER", [x, _integers(where), y], [0, 1], options))


@moved
@cases
@given(draw=draws())
def test_gather_at_computed_places_equals(dtype: str, official: Oracles, draw: Draw) -> None:
    x = draw.tensor((draw.int(1, 5), draw.int(1, 3)), dtype)
    places = T((draw.int(1, 4),), "int32")
    y = _like(x, (*places.shape, x.shape[1]))
    case = single(draw, "GATHER", [x, places, y], [0, 1], ("Gather", {"Axis": 0}), fed=(0, 1))
    for arrays in case.inputs:
        arrays[1] %= x.shape[0]
    agree(official, case)


@moved
@cases
@given(draw=draws())
def test_gather_nd_equals(dtype: str, official: Oracles, draw: Draw) -> None:
    x = draw.tensor(draw.shape(1, 4, 4), dtype)
    depth = draw.int(1, len(x.shape))
    lead = draw.shape(0, 2, 3)
    where = draw.generator().integers(0, x.shape[:depth], (*lead, depth))
    y = _like(x, (*lead, *x.shape[depth:]))
    agree(official, single(draw, "GATHER_ND", [x, _integers(where), y], [0, 1], ("GatherNd", {})))


@pytest.mark.parametrize(
    ("table", "output"), [("int8", "int8"), ("int8", "float32"), ("float32", "float32")]
)
@cases
@given(draw=draws())
def test_embedding_lookup_equals(table: str, output: str, micro: Oracle, draw: Draw) -> None:
    rows, places = draw.shape(2, 3, 4), T((draw.int(1, 4),), "int32")
    scale = {"scale": draw.scale(), "zero": 0} if table == "int8" else {}
    values = T(rows, table, **scale, data=draw.array(rows, table))
    y = T((*places.shape, *rows[1:]), output, **(scale if output == "int8" else {}))
    case = single(draw, "EMBEDDING_LOOKUP", [places, values, y], [0, 1])
    for arrays in case.inputs:
        arrays[0] %= rows[0]
    agree([micro], case)


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "float32"])
@pytest.mark.parametrize("index", ["int32", "int64"])
@cases
@given(draw=draws())
def test_dynamic_update_slice_equals(dtype: str, index: str, official: Oracles, draw: Draw) -> None:
    x = draw.tensor(draw.shape(1, 4, 4), dtype)
    part = _like(x, [draw.int(1, size) for size in x.shape])
    start = T((len(x.shape),), index)
    tensors = [x, part, start, _like(x, x.shape)]
    case = single(
        draw, "DYNAMIC_UPDATE_SLICE", tensors, [0, 1, 2], ("DynamicUpdateSlice", {}), fed=(0, 1, 2)
    )
    for arrays in case.inputs:
        arrays[2] %= 9
        arrays[2] -= 3
    agree(official, case)


@pytest.mark.parametrize("dtype", ["int8", "int32", "float32"])
@cases
@given(draw=draws())
def test_fill_equals(dtype: str, official: Oracles, draw: Draw) -> None:
    shape = draw.shape(1, 4)
    x = draw.tensor((), dtype)
    dims = _integers(shape, draw.one("int32", "int64"))
    tensors = [x, dims, _like(x, shape)]
    agree(official, single(draw, "FILL", tensors, [1, 0], ("Fill", {})))


@pytest.mark.parametrize("dtype", ["int8", "int32", "float32"])
@pytest.mark.parametrize("index", ["int8", "int16"])
@cases
@given(draw=draws())
def test_fill_of_a_narrow_shape_equals(index: str, dtype: str, micro: Oracle, draw: Draw) -> None:
    shape = draw.shape(1, 4)
    x = draw.tensor((), dtype)
    tensors = [x, _integers(shape, index), _like(x, shape)]
    agree([micro], single(draw, "FILL", tensors, [1, 0], ("Fill", {})))


@pytest.mark.parametrize("dtype", ["int8", "int32", "int64", "float32"])
@cases
@given(draw=draws())
def test_zeros_like_equals(dtype: str, micro: Oracle, draw: Draw) -> None:
    x = draw.tensor(draw.shape(1, 4), dtype)
    agree([micro], single(draw, "ZEROS_LIKE", [x, _like(x, x.shape)], [0], ("ZerosLike", {})))


@pytest.mark.parametrize("dtype", EVERY_TYPE)
@cases
@given(draw=draws())
def test_shape_equals(dtype: str, official: Oracles, draw: Draw) -> None:
    x = draw.tensor(draw.shape(1, 5), dtype)
    options = ("Shape", {"OutType": 2})
    agree(official, single(draw, "SHAPE", [x, T((len(x.shape),), "int32")], [0], options))


@pytest.mark.parametrize("dtype", EVERY_TYPE)
@cases
@given(draw=draws())
def test_broadcast_to_equals(dtype: str, official: Oracles, draw: Draw) -> None:
    shape = draw.shape(1, 5, 4)
    given_shape = [draw.one(1, size) for size in shape][draw.int(0, len(shape) - 1) :]
    x = draw.tensor(given_shape, dtype)
    target = _integers(shape, draw.one("int32", "int64"))
    tensors = [x, target, _like(x, shape)]
    agree(official, single(draw, "BROADCAST_TO", tensors, [0, 1], ("BroadcastTo", {}), version=2))


@pytest.mark.parametrize("dtype", ["int32", "int64"])
@cases
@given(draw=draws())
def test_broadcast_args_equals(dtype: str, official: Oracles, draw: Draw) -> None:
    shape = draw.shape(1, 5, 9)
    short = [draw.one(1, size) for size in shape][draw.int(0, len(shape) - 1) :]
    pair = [np.array(shape, dtype), np.array(short, dtype)]
    if draw.flag():
        pair.reverse()
    tensors = [*(T(each.shape, dtype) for each in pair), T((len(shape),), dtype)]
    case = single(draw, "BROADCAST_ARGS", tensors, [0, 1], fed=(0, 1))
    agree(official, Case(case.model, [pair]))


@pytest.mark.parametrize("dtype", ["int8", "int16", "float32"])
@cases
@given(draw=draws())
def test_select_v2_equals(dtype: str, official: Oracles, draw: Draw) -> None:
    shape = draw.shape(1, 5, 4)
    shapes = [thinned(draw, shape) for _ in range(3)]
    x = draw.tensor(shapes[1], dtype)
    out = np.broadcast_shapes(*shapes)
    tensors = [T(shapes[0], "bool"), x, _like(x, shapes[2]), _like(x, out)]
    agree(official, single(draw, "SELECT_V2", tensors, [0, 1, 2], ("SelectV2", {}), fed=(0, 1, 2)))


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "int32", "int64", "float32", "bool"])
@cases
@given(draw=draws())
def test_reverse_v2_equals(dtype: str, official: Oracles, draw: Draw) -> None:
    x = draw.tensor(draw.shape(1, 5, 4), dtype)
    rank = len(x.shape)
    first = draw.int(0, rank - 1)
    axes = np.arange(first, draw.int(first, rank - 1) + 1)
    axes = draw.generator().permutation(axes - rank * draw.generator().integers(0, 2, axes.shape))
    tensors = [x, _integers(axes), _like(x, x.shape)]
    agree(official, single(draw, "REVERSE_V2", tensors, [0, 1], ("ReverseV2", {})))


@moved
@cases
@given(draw=draws())
def test_mirror_pad_equals(dtype: str, official: Oracles, draw: Draw) -> None:
    x = draw.tensor(draw.shape(1, 4, 4), dtype)
    reflect = draw.flag()
    pairs = [[draw.int(0, size - reflect) for _ in (0, 1)] for size in x.shape]
    y = _like(x, [a + size + b for size, (a, b) in zip(x.shape, pairs, strict=True)])
    paddings = _integers(pairs, draw.one("int32", "int64"))
    options = ("MirrorPad", {"Mode": 0 if reflect else 1})
    agree(official, single(draw, "MIRROR_PAD", [x, paddings, y], [0, 1], options))


CAST_TYPES = ["int8", "int16", "int32", "uint32", "float32", "bool"]


@pytest.mark.parametrize("target", CAST_TYPES)
@pytest.mark.parametrize("source", CAST_TYPES)
@cases
@given(draw=draws())
def test_cast_equals(source: str, target: str, micro: Oracle, draw: Draw) -> None:
    x = draw.tensor(draw.shape(1, 4), source)
    y = T(x.shape, target)
    case = single(draw, "CAST", [x, y], [0], ("Cast", {}))
    if source == "float32" and target not in ("float32", "bool"):
        # Beyond the type C++ leaves the value open, and the oracle's processor is not an Arm.
        for arrays in case.inputs:
            limit = 2.0**31 if target != "uint32" else 2.0**32
            arrays[0] = np.abs(arrays[0]) % np.float32(limit)
    agree([micro], case)


@cases
@given(draw=draws())
def test_reduce_all_equals(official: Oracles, draw: Draw) -> None:
    shape = draw.shape(1, 4, 3)
    axes = sorted({draw.int(0, len(shape) - 1) for _ in range(2)})
    keep = draw.flag()
    kept = [1 if axis in axes else size for axis, size in enumerate(shape)]
    out = kept if keep else [size for axis, size in enumerate(shape) if axis not in axes]
    tensors = [T(shape, "bool"), _integers(axes), T(tuple(out), "bool")]
    options = ("Reducer", {"KeepDims": keep})
    case = single(draw, "REDUCE_ALL", tensors, [0, 1], options)
    for arrays in case.inputs:
        arrays[0] |= draw.generator().random(shape) < 0.7
    agree(official, case)


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ("int8", [100, -1, 44, 80, -1, 0, 0]),
        ("int16", [100, -1, 300, -15536, -1, 0, 0]),
        ("int32", [100, -1, 300, 50000, (1 << 31) - 1, -(1 << 31), 0]),
        ("uint32", [100, 0, 300, 50000, (1 << 32) - 1, 0, 0]),
    ],
)
def test_a_real_number_goes_to_32_bits_and_then_to_fewer(target: str, expected: list[int]) -> None:
    """What Arm's VCVT does: toward zero, saturated, NaN to 0."""
    x = np.array([100.9, -1.9, 300, 50000, 1e10, -np.inf, np.nan], np.float32)
    cast = Op("CAST", [0], [1], ("Cast", {}))
    data = build([T((7,), "float32"), T((7,), target)], [cast], [0], [1])
    interpreter = Interpreter(Model.from_bytes(data))
    assert interpreter.invoke([x])[0].tolist() == expected
