"""Messages for refused padding and block operators."""

from __future__ import annotations

import pytest
from model_builder import T
from model_builder import constant as _c
from one_operator_models import activation as _a
from one_operator_models import assert_counts_to, assert_refused, gather, real
from one_operator_models import one_operator as _one


def _pad(x: T, paddings: object, y: T, *value: T) -> bytes:
    name, options = ("PADV2", "PadV2") if value else ("PAD", "Pad")
    tensors = [x, _c(paddings), *value, y]
    return _one(name, tensors, range(len(tensors) - 1), (options, {}))


def _mirror(x: T, paddings: object, y: T, mode: int = 0) -> bytes:
    return _one("MIRROR_PAD", [x, _c(paddings), y], [0, 1], ("MirrorPad", {"Mode": mode}))


def _blocks(op: str, x: T, blocks: object, pairs: object, y: T) -> bytes:
    table = {"SPACE_TO_BATCH_ND": "SpaceToBatchND", "BATCH_TO_SPACE_ND": "BatchToSpaceND"}[op]
    return _one(op, [x, _c(blocks), _c(pairs), y], [0, 1, 2], (table, {}))


def _depth(op: str, x: T, block: int, y: T) -> bytes:
    table = {"SPACE_TO_DEPTH": "SpaceToDepth", "DEPTH_TO_SPACE": "DepthToSpace"}[op]
    return _one(op, [x, y], [0], (table, {"BlockSize": block}))


REFUSED = {
    "PAD of bool": (_pad(T((2,), "bool"), [[1, 1]], T((4,), "bool")), "type bool"),
    "PAD of other axes": (
        _pad(_a(2), [[1, 1], [0, 0]], _a(4)),
        "paddings [1, 1, 0, 0] are invalid for 1 axes",
    ),
    "PAD of a negative margin": (
        _pad(_a(2), [[-1, 1]], _a(2)),
        "paddings [-1, 1] are invalid for 1 axes",
    ),
    "PAD to another shape": (_pad(_a(2), [[1, 1]], _a(3)), "computes the shape [4]"),
    "PADV2 with two values": (
        _pad(_a(2), [[1, 1]], _a(4), _c([1, 2], "int8")),
        "not a scalar of its input's type",
    ),
    "PADV2 with a value of another type": (
        _pad(_a(2), [[1, 1]], _a(4), _c([1], "float32")),
        "not a scalar of its input's type",
    ),
    "PADV2 with a value of another zero point": (
        _pad(_a(2), [[1, 1]], _a(4), T((1,), "int8", 0.05, 1, data=[3])),
        "differ in scale or zero point",
    ),
    "MIRROR_PAD of other axes": (
        _mirror(_a(2), [[1, 1], [0, 0]], _a(4)),
        "its paddings have the shape [2, 2], its input [2]",
    ),
    "MIRROR_PAD of a flat list": (
        _mirror(_a(2), [1, 1], _a(4)),
        "its paddings have the shape [2], its input [2]",
    ),
    "MIRROR_PAD that reaches beyond the edge": (
        _mirror(_a(3), [[3, 0]], _a(6)),
        "paddings [3, 0] reach beyond the mirrored [3]",
    ),
    "MIRROR_PAD of the edge itself that reaches beyond it": (
        _mirror(_a(3), [[4, 0]], _a(7), 1),
        "paddings [4, 0] reach beyond the mirrored [3]",
    ),
    "SPACE_TO_BATCH_ND of two axes": (
        _blocks("SPACE_TO_BATCH_ND", _a(4, 4), [2], [[0, 0]], _a(8, 2)),
        "its input has the shape [4, 4], not three or four axes",
    ),
    "SPACE_TO_BATCH_ND of five axes": (
        _blocks("SPACE_TO_BATCH_ND", _a(1, 2, 2, 2, 1), [1] * 3, [[0, 0]] * 3, _a(1, 2, 2, 2, 1)),
        "not three or four axes",
    ),
    "SPACE_TO_BATCH_ND to another rank": (
        _blocks("SPACE_TO_BATCH_ND", _a(1, 4, 1), [2], [[0, 0]], _a(2, 2, 1, 1)),
        "its input has the shape [1, 4, 1]",
    ),
    "SPACE_TO_BATCH_ND of too many blocks": (
        _blocks("SPACE_TO_BATCH_ND", _a(1, 4, 1), [2, 2], [[0, 0]], _a(2, 2, 1)),
        "blocks [2, 2] and margins [0, 0] are invalid for 1 spatial axes",
    ),
    "SPACE_TO_BATCH_ND of too many margins": (
        _blocks("SPACE_TO_BATCH_ND", _a(1, 4, 1), [2], [[0, 0], [0, 0]], _a(2, 2, 1)),
        "blocks [2] and margins [0, 0, 0, 0] are invalid for 1 spatial axes",
    ),
    "SPACE_TO_BATCH_ND of a block of 0": (
        _blocks("SPACE_TO_BATCH_ND", _a(1, 4, 1), [0], [[0, 0]], _a(2, 2, 1)),
        "blocks [0] and margins [0, 0] are invalid for 1 spatial axes",
    ),
    "SPACE_TO_BATCH_ND of a negative margin": (
        _blocks("SPACE_TO_BATCH_ND", _a(1, 4, 1), [1], [[-1, 0]], _a(1, 3, 1)),
        "blocks [1] and margins [-1, 0] are invalid for 1 spatial axes",
    ),
    "SPACE_TO_BATCH_ND of a size that blocks do not divide": (
        _blocks("SPACE_TO_BATCH_ND", _a(1, 4, 1), [2], [[1, 0]], _a(2, 2, 1)),
        "blocks [2] do not divide [5]",
    ),
    "SPACE_TO_BATCH_ND to another shape": (
        _blocks("SPACE_TO_BATCH_ND", _a(1, 4, 1), [2], [[0, 0]], _a(2, 3, 1)),
        "computes the shape [2, 2, 1]",
    ),
    "BATCH_TO_SPACE_ND of a batch that blocks do not divide": (
        _blocks("BATCH_TO_SPACE_ND", _a(3, 4, 1), [2], [[0, 0]], _a(1, 8, 1)),
        "blocks [2] and crops [0, 0] do not fit the input [3, 4, 1]",
    ),
    "BATCH_TO_SPACE_ND of which all is cropped": (
        _blocks("BATCH_TO_SPACE_ND", _a(2, 2, 1), [2], [[3, 1]], _a(1, 0, 1)),
        "has the shape [1, 0, 1]",
    ),
    "BATCH_TO_SPACE_ND of crops beyond the image": (
        _blocks("BATCH_TO_SPACE_ND", _a(2, 2, 1), [2], [[3, 2]], _a(1, 0, 1)),
        "blocks [2] and crops [3, 2] do not fit the input [2, 2, 1]",
    ),
    "BATCH_TO_SPACE_ND to another shape": (
        _blocks("BATCH_TO_SPACE_ND", _a(2, 2, 1), [2], [[1, 0]], _a(1, 4, 1)),
        "computes the shape [1, 3, 1]",
    ),
    "SPACE_TO_DEPTH of three axes": (
        _depth("SPACE_TO_DEPTH", _a(2, 2, 1), 2, _a(1, 1, 4)),
        "the block size 2 does not fit the input [2, 2, 1]",
    ),
    "SPACE_TO_DEPTH of blocks of 0": (
        _depth("SPACE_TO_DEPTH", _a(1, 2, 2, 1), 0, _a(1, 2, 2, 1)),
        "the block size 0 does not fit the input [1, 2, 2, 1]",
    ),
    "SPACE_TO_DEPTH of a height that blocks do not divide": (
        _depth("SPACE_TO_DEPTH", _a(1, 3, 2, 1), 2, _a(1, 1, 1, 4)),
        "blocks of 2 do not divide 3 x 2",
    ),
    "SPACE_TO_DEPTH of a width that blocks do not divide": (
        _depth("SPACE_TO_DEPTH", _a(1, 2, 3, 1), 2, _a(1, 1, 1, 4)),
        "blocks of 2 do not divide 2 x 3",
    ),
    "DEPTH_TO_SPACE of channels that blocks do not divide": (
        _depth("DEPTH_TO_SPACE", _a(1, 1, 1, 6), 2, _a(1, 2, 2, 1)),
        "blocks of 2 do not divide 6 channels",
    ),
    "DEPTH_TO_SPACE to another shape": (
        _depth("DEPTH_TO_SPACE", _a(1, 1, 1, 4), 2, _a(1, 2, 1, 2)),
        "computes the shape [1, 2, 2, 1]",
    ),
    "GATHER at places of int64": (
        gather(_a(4), _c([0], "int64"), _a(1)),
        "indices of type int64 are not supported",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_inconsistent_models_are_refused_with_a_reason(name: str) -> None:
    assert_refused(*REFUSED[name])


TAKEN = {
    "PAD with the zero point": (_pad(_a(2, zero=-7), [[1, 2]], _a(5, zero=-7)), [-7, 1, 2, -7, -7]),
    "PAD of int16 with zeros": (
        _pad(_a(2, dtype="int16"), [[0, 1]], _a(3, dtype="int16")),
        [1, 2, 0],
    ),
    "PADV2 of float32 with a number": (
        _pad(real(2), [[1, 0]], real(3), T((), "float32", data=0.5)),
        [0.5, 1, 2],
    ),
    "MIRROR_PAD up to the other edge": (
        _mirror(_a(3), [[2, 2]], _a(7)),
        [3, 2, 1, 2, 3, 2, 1],
    ),
    "MIRROR_PAD of the edge itself up to the other edge": (
        _mirror(_a(3), [[3, 3]], _a(9), 1),
        [3, 2, 1, 1, 2, 3, 3, 2, 1],
    ),
    "BATCH_TO_SPACE_ND of blocks of 1": (
        _blocks("BATCH_TO_SPACE_ND", _a(1, 3, 1), [1], [[1, 0]], _a(1, 2, 1)),
        [[[2], [3]]],
    ),
    "SPACE_TO_BATCH_ND with a margin": (
        _blocks("SPACE_TO_BATCH_ND", real(1, 3, 1), [2], [[1, 0]], real(2, 2, 1)),
        [[[0], [2]], [[1], [3]]],
    ),
    "DEPTH_TO_SPACE of blocks of 1": (
        _depth("DEPTH_TO_SPACE", _a(1, 1, 2, 1), 1, _a(1, 1, 2, 1)),
        [[[[1], [2]]]],
    ),
    "GATHER of all batches from the end": (
        gather(_a(2, 3), _c([[2], [0]]), _a(2, 1), Axis=1, BatchDims=-1),
        [[3], [4]],
    ),
}


@pytest.mark.parametrize("name", TAKEN)
def test_limits_are_inclusive(name: str) -> None:
    assert_counts_to(*TAKEN[name], name)
