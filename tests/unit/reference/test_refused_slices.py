"""Messages for refused operators that slice, join and reshape."""

from __future__ import annotations

import pytest
from model_builder import Op, T, build
from model_builder import constant as _c
from one_operator_models import activation as _a
from one_operator_models import assert_counts_to, assert_refused
from one_operator_models import one_operator as _one


def _f(*shape: int) -> T:
    return T(shape, "float32")


def _reshape(x: T, y: T) -> bytes:
    return _one("RESHAPE", [x, y], [0], ("Reshape", {}))


def _squeeze(x: T, y: T, *dims: int) -> bytes:
    return _one("SQUEEZE", [x, y], [0], ("Squeeze", {"SqueezeDims": list(dims)}))


def _transpose(x: T, order: T, y: T) -> bytes:
    return _one("TRANSPOSE", [x, order, y], [0, 1], ("Transpose", {}))


def _pack(parts: list[T], y: T, axis: int, count: int) -> bytes:
    options = ("Pack", {"Axis": axis, "ValuesCount": count})
    return _one("PACK", [*parts, y], range(len(parts)), options, range(len(parts)))


def _several(op: str, tensors: list[T], inputs: list[int], options: tuple, count: int) -> bytes:
    """An operator of ``count`` outputs, the last tensors."""
    outputs = list(range(len(tensors) - count, len(tensors)))
    return build(tensors, [Op(op, inputs, outputs, options)], [inputs[-1 if op == "SPLIT" else 0]],
                 outputs)  # fmt: skip


def _unpack(x: T, outputs: list[T], axis: int, count: int) -> bytes:
    options = ("Unpack", {"Axis": axis, "Num": count})
    return _several("UNPACK", [x, *outputs], [0], options, len(outputs))


def _split(x: T, axis: int, outputs: list[T]) -> bytes:
    options = ("Split", {"NumSplits": len(outputs)})
    return _several("SPLIT", [x, _c([axis]), *outputs], [1, 0], options, len(outputs))


def _split_v(x: T, sizes: list[int], axis: int, outputs: list[T]) -> bytes:
    options = ("SplitV", {"NumSplits": len(outputs)})
    return _several("SPLIT_V", [x, _c(sizes), _c([axis]), *outputs], [0, 1, 2], options,
                    len(outputs))  # fmt: skip


def _concat(parts: list[T], y: T, axis: int) -> bytes:
    options = ("Concatenation", {"Axis": axis})
    return _one("CONCATENATION", [*parts, y], range(len(parts)), options, range(len(parts)))


def _slice(x: T, begin: T, size: T, y: T) -> bytes:
    return _one("SLICE", [x, begin, size, y], [0, 1, 2], ("Slice", {}))


def _strided(x: T, begin: list[int], end: list[int], strides: list[int], y: T, **masks: object):  # type: ignore[no-untyped-def]
    tensors = [x, *map(_c, (begin, end, strides)), y]
    return _one("STRIDED_SLICE", tensors, [0, 1, 2, 3], ("StridedSlice", masks))


REFUSED = {
    "RESHAPE to another type": (_reshape(_a(4), _f(4)), "its tensors are int8 and float32"),
    "RESHAPE to another size": (_reshape(_a(2, 3), _a(5)), "[2, 3] cannot become [5]"),
    "SQUEEZE of an axis that is not there": (
        _squeeze(_a(1, 2), _a(2), 2),
        "axis 2 of [1, 2] is not of size 1",
    ),
    "SQUEEZE of an axis before the first": (
        _squeeze(_a(1, 2), _a(2), -3),
        "axis -3 of [1, 2] is not of size 1",
    ),
    "SQUEEZE to another shape": (_squeeze(_a(1, 2, 1), _a(2, 1)), "computes the shape [2]"),
    "TRANSPOSE of an axis that is not there": (
        _transpose(_a(2, 3), _c([0, 2]), _a(2, 3)),
        "the permutation [0, 2] is invalid for 2 axes",
    ),
    "TRANSPOSE of one axis twice": (
        _transpose(_a(2, 3), _c([0, 0]), _a(2, 2)),
        "the permutation [0, 0] is invalid for 2 axes",
    ),
    "TRANSPOSE of six axes": (
        _transpose(_a(1, 1, 1, 1, 2, 3), _c([0, 1, 2, 3, 5, 4]), _a(1, 1, 1, 1, 3, 2)),
        "the permutation [0, 1, 2, 3, 5, 4] is invalid for 6 axes",
    ),
    "TRANSPOSE to another shape": (
        _transpose(_a(2, 3), _c([1, 0]), _a(2, 3)),
        "computes the shape [3, 2], but the model declares [2, 3]",
    ),
    "TRANSPOSE by a permutation of int64": (
        _transpose(_a(2, 3), _c([1, 0], "int64"), _a(3, 2)),
        "its permutation has the type int64",
    ),
    "PACK of another number": (_pack([_a(3)] * 2, _a(2, 3), 0, 3), "values_count is 3 for 2"),
    "PACK of two shapes": (_pack([_a(3), _a(4)], _a(2, 3), 0, 2), "different shapes"),
    "PACK along an axis that is not there": (
        _pack([_a(3)], _a(1, 3), 2, 1),
        "axis 2 is out of range for 2 axes",
    ),
    "PACK before the first axis": (
        _pack([_a(3)], _a(1, 3), -3, 1),
        "axis -3 is out of range for 2 axes",
    ),
    "PACK to another shape": (_pack([_a(3)] * 2, _a(3, 2), 0, 2), "computes the shape [2, 3]"),
    "PACK of two types": (_pack([_a(3), _f(3)], _a(2, 3), 0, 2), "are int8 and float32"),
    "UNPACK of another number": (_unpack(_a(2, 3), [_a(3)] * 2, 0, 3), "num is 3 for 2 outputs"),
    "UNPACK of another axis": (
        _unpack(_a(2, 3), [_a(2)] * 2, 1, 2),
        "axis 1 of [2, 3] does not have the size 2",
    ),
    "UNPACK to another shape": (
        _unpack(_a(2, 3), [_a(3), _a(1, 3)], 0, 2),
        "computes the shape [3], but the model declares [1, 3]",
    ),
    "CONCATENATION of nothing": (
        build([_a(2)], [Op("CONCATENATION", [], [0], ("Concatenation", {}))], [], [0]),
        "it has no input",
    ),
    "CONCATENATION of several ranks": (
        _concat([_a(1, 2), _a(2)], _a(1, 4), 1),
        "different numbers of axes",
    ),
    "CONCATENATION of parts that do not fit": (
        _concat([_a(1, 2), _a(2, 2)], _a(1, 4), 1),
        "[2, 2] does not fit [1, 4]",
    ),
    "CONCATENATION to another shape": (
        _concat([_a(1, 2), _a(1, 2)], _a(1, 5), 1),
        "computes the shape [1, 4], but the model declares [1, 5]",
    ),
    "CONCATENATION along an axis that is not there": (
        _concat([_a(1, 2), _a(1, 2)], _a(1, 4), 2),
        "axis 2 is out of range for 2 axes",
    ),
    "SPLIT into parts that are not equal": (
        _split(_a(5), 0, [_a(3), _a(2)]),
        "axis 0 of [5] cannot be split into 2 parts",
    ),
    "SPLIT to another shape": (_split(_a(4), 0, [_a(2), _a(3)]), "computes the shape [2]"),
    "SPLIT along an axis that is not there": (
        _split(_a(4), -2, [_a(4)]),
        "axis -2 is out of range for 1 axes",
    ),
    "SPLIT_V into too little": (
        _split_v(_a(5), [2, 2], 0, [_a(2), _a(2)]),
        "axis 0 of [5] cannot be split into sizes [2, 2]",
    ),
    "SPLIT_V into more parts than outputs": (
        _split_v(_a(5), [2, 2, 1], 0, [_a(2), _a(2)]),
        "axis 0 of [5] cannot be split into sizes [2, 2, 1]",
    ),
    "SPLIT_V whose rest is negative": (
        _split_v(_a(5), [7, -1], 0, [_a(7), _a(0)]),
        "axis 0 of [5] cannot be split into sizes [7, -2]",
    ),
    "SPLIT_V to another shape": (
        _split_v(_a(5), [2, 3], 0, [_a(3), _a(2)]),
        "computes the shape [2], but the model declares [3]",
    ),
    "SLICE of two types of bounds": (
        _slice(_a(4), _c([0]), _c([2], "int64"), _a(2)),
        "its begin is int32, its size int64",
    ),
    "SLICE of bounds for other axes": (
        _slice(_a(4), _c([0, 0]), _c([2, 1]), _a(2)),
        "begin [0, 0] and size [2, 1] for 1 axes",
    ),
    "SLICE of a size for another axis": (
        _slice(_a(4), _c([0]), _c([2, 1]), _a(2)),
        "begin [0] and size [2, 1] for 1 axes",
    ),
    "SLICE that ends behind the end": (
        _slice(_a(4), _c([3]), _c([2]), _a(2)),
        "begin [3] and size [2] are out of range for [4]",
    ),
    "SLICE that begins before the start": (
        _slice(_a(4), _c([-1]), _c([2]), _a(2)),
        "begin [-1] and size [2] are out of range for [4]",
    ),
    "SLICE of a negative size": (
        _slice(_a(4), _c([2]), _c([-2]), _a(0)),
        "begin [2] and size [-2] are out of range for [4]",
    ),
    "SLICE by reals": (_slice(_a(4), _c([0], "float32"), _c([2], "float32"), _a(2)), "float32"),
    "STRIDED_SLICE for other axes": (
        _strided(_a(4), [0, 0], [2, 1], [1, 1], _a(2)),
        "for 1 axes",
    ),
    "STRIDED_SLICE of strides for other axes": (
        _strided(_a(4), [0], [2], [1, 1], _a(2)),
        "begin, end and strides [[0], [2]] [1, 1] for 1 axes",
    ),
    "STRIDED_SLICE of stride 0": (
        _strided(_a(4), [0], [2], [0], _a(2)),
        "begin, end and strides [[0], [2]] [0] for 1 axes",
    ),
    **{
        f"STRIDED_SLICE with {name}": (
            _strided(_a(4), [0], [2], [1], _a(2), **{name: 1}),
            "ellipsis, new axis and offset are not supported",
        )
        for name in ("EllipsisMask", "NewAxisMask", "Offset")
    },
    "STRIDED_SLICE that drops an axis of which nothing is left": (
        _strided(_a(0, 2), [0, 0], [1, 2], [1, 1], _a(2), ShrinkAxisMask=1),
        "axis 0 of [0, 2] cannot be dropped",
    ),
    "STRIDED_SLICE to another shape": (
        _strided(_a(4), [0], [2], [1], _a(3)),
        "computes the shape [2], but the model declares [3]",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_inconsistent_models_are_refused_with_a_reason(name: str) -> None:
    assert_refused(*REFUSED[name])


TAKEN = {
    "SQUEEZE of the first axis, from the end": (_squeeze(_a(1, 2), _a(2), -2), [1, 2]),
    "TRANSPOSE of five axes": (
        _transpose(_a(1, 1, 1, 2, 3), _c([0, 1, 2, 4, 3]), _a(1, 1, 1, 3, 2)),
        [[[[[1, 4], [2, 5], [3, 6]]]]],
    ),
    "PACK along the last axis, from the end": (
        _pack([_a(3)] * 1, _a(3, 1), -1, 1),
        [[1], [2], [3]],
    ),
    "SPLIT_V of which one part is the rest": (
        _split_v(_a(5), [2, -1], 0, [_a(2), _a(3)]),
        [1, 2],
    ),
    "SPLIT_V of which one part is empty": (_split_v(_a(2), [2, 0], 0, [_a(2), _a(0)]), [1, 2]),
    "SLICE to the very end": (_slice(_a(4), _c([3]), _c([1]), _a(1)), [4]),
    "SLICE to wherever the end is": (_slice(_a(4), _c([1]), _c([-1]), _a(3)), [2, 3, 4]),
    "SLICE of nothing behind the end": (_slice(_a(4), _c([4]), _c([0]), _a(0)), []),
    "STRIDED_SLICE backwards to before the first": (
        _strided(_a(4), [3], [0], [-1], _a(4), EndMask=1),
        [4, 3, 2, 1],
    ),
    "STRIDED_SLICE backwards from the end": (
        _strided(_a(4), [0], [1], [-1], _a(2), BeginMask=1),
        [4, 3],
    ),
    "STRIDED_SLICE of bounds far outside": (
        _strided(_a(4), [-9], [9], [3], _a(2)),
        [1, 4],
    ),
    "STRIDED_SLICE that drops the last axis from the end": (
        _strided(_a(2, 3), [0, -1], [2, 0], [1, 1], _a(2), ShrinkAxisMask=2),
        [3, 6],
    ),
}


@pytest.mark.parametrize("name", TAKEN)
def test_limits_are_inclusive(name: str) -> None:
    assert_counts_to(*TAKEN[name], name)
