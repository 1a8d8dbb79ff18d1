"""Messages for refused gather and broadcast operators."""

from __future__ import annotations

import numpy as np
import pytest
from model_builder import T
from model_builder import constant as _c
from one_operator_models import activation as _a
from one_operator_models import assert_counts_to, assert_refused, gather, random_inputs, real
from one_operator_models import one_operator as _one

from harness.base.errors import HilError
from harness.model import Model
from harness.reference import Interpreter


def _gather_nd(x: T, places: T, y: T) -> bytes:
    return _one("GATHER_ND", [x, places, y], [0, 1], ("GatherNd", {}))


def _lookup(places: T, table: T, y: T) -> bytes:
    return _one("EMBEDDING_LOOKUP", [places, table, y], [0, 1], None, (1,))


def _update(x: T, part: T, start: T, y: T) -> bytes:
    options = ("DynamicUpdateSlice", {})
    return _one("DYNAMIC_UPDATE_SLICE", [x, part, start, y], [0, 1, 2], options, (0, 1))


def _fill(shape: T, value: T, y: T) -> bytes:
    return _one("FILL", [shape, value, y], [0, 1], ("Fill", {}), (1,))


def _broadcast(x: T, shape: T, y: T) -> bytes:
    return _one("BROADCAST_TO", [x, shape, y], [0, 1], ("BroadcastTo", {}))


def _args(x: T, y: T, z: T) -> bytes:
    return _one("BROADCAST_ARGS", [x, y, z], [0, 1], None, (0, 1))


def _select(condition: T, x: T, y: T, z: T) -> bytes:
    return _one("SELECT_V2", [condition, x, y, z], [0, 1, 2], ("SelectV2", {}), (0, 1, 2))


def _reverse(x: T, axes: T, y: T) -> bytes:
    return _one("REVERSE_V2", [x, axes, y], [0, 1], ("ReverseV2", {}))


_INTS = T((2,), "int32")


REFUSED = {
    "GATHER of batches beyond the axis": (
        gather(_a(2, 2), _c([[0], [1]]), _a(2, 2), Axis=0, BatchDims=1),
        "batch_dims 1 is out of range for indices [2, 1] and axis 0",
    ),
    "GATHER of more batches than places have axes": (
        gather(_a(2, 2, 2), _c([0, 1]), _a(2, 2, 2), Axis=2, BatchDims=2),
        "batch_dims 2 is out of range for indices [2] and axis 2",
    ),
    "GATHER of batches before the first": (
        gather(_a(2, 2), _c([0]), _a(1, 2), Axis=0, BatchDims=-2),
        "batch_dims -1 is out of range for indices [1] and axis 0",
    ),
    "GATHER of other batches": (
        gather(_a(2, 2), _c([[0], [1], [0]]), _a(2, 1), Axis=1, BatchDims=1),
        "its batches [2] and [3] differ",
    ),
    "GATHER to another shape": (gather(_a(4), _c([0]), _a(2)), "computes the shape [1]"),
    "GATHER of an axis that is not there": (
        gather(_a(4), _c([0]), _a(1), Axis=1),
        "axis 1 is out of range for 1 axes",
    ),
    "GATHER_ND at places of int64": (
        _gather_nd(_a(4), _c([[0]], "int64"), _a(1)),
        "indices of type int64 are not supported",
    ),
    "GATHER_ND at places of more axes than there are": (
        _gather_nd(_a(4), _c([[0, 0]]), _a(1)),
        "indices [1, 2] into [4]",
    ),
    "GATHER_ND at a scalar": (_gather_nd(_a(4), _c(0), _a(4)), "indices [] into [4]"),
    "GATHER_ND in a scalar": (_gather_nd(_a(), _c([[0]]), _a(1)), "indices [1, 1] into []"),
    "GATHER_ND to another shape": (
        _gather_nd(_a(4, 2), _c([[0], [1], [2]]), _a(3)),
        "computes the shape [3, 2]",
    ),
    "EMBEDDING_LOOKUP at places of int64": (
        _lookup(_c([0], "int64"), _a(4, 2), _a(1, 2)),
        "indices int64 [1] into [4, 2]",
    ),
    "EMBEDDING_LOOKUP at indices that are not a vector": (
        _lookup(_c([[0]]), _a(4, 2), _a(1, 2)),
        "indices int32 [1, 1] into [4, 2]",
    ),
    "EMBEDDING_LOOKUP in a vector": (_lookup(_c([0]), _a(4), _a(1)), "indices int32 [1] into [4]"),
    "EMBEDDING_LOOKUP of int16": (
        _lookup(_c([0]), _a(4, 2, dtype="int16"), _a(1, 2, dtype="int16")),
        "int16 to int16 is not supported",
    ),
    "EMBEDDING_LOOKUP of int8 with a zero point to float32": (
        _lookup(_c([0]), _a(4, 2, zero=1), real(1, 2)),
        "its table has a zero point",
    ),
    "EMBEDDING_LOOKUP to another shape": (
        _lookup(_c([0]), _a(4, 2), _a(2)),
        "computes the shape [1, 2]",
    ),
    "DYNAMIC_UPDATE_SLICE of another type": (
        _update(_a(4), real(2), _c([0]), _a(4)),
        "float32 [2] at [1] in [4]",
    ),
    "DYNAMIC_UPDATE_SLICE of another rank": (
        _update(_a(4), _a(1, 2), _c([0]), _a(4)),
        "int8 [1, 2] at [1] in [4]",
    ),
    "DYNAMIC_UPDATE_SLICE at too many places": (
        _update(_a(4), _a(2), _c([0, 1]), _a(4)),
        "int8 [2] at [2] in [4]",
    ),
    "DYNAMIC_UPDATE_SLICE of more than there is": (
        _update(_a(4), _a(5), _c([0]), _a(4)),
        "[5] does not fit into [4]",
    ),
    "DYNAMIC_UPDATE_SLICE to another shape": (
        _update(_a(4), _a(2), _c([0]), _a(5)),
        "computes the shape [4]",
    ),
    "FILL of int16": (
        _fill(_c([2]), _a(dtype="int16"), _a(2, dtype="int16")),
        "int16 to int16 is not supported",
    ),
    "FILL to another type": (_fill(_c([2]), _a(), real(2)), "int8 to float32 is not supported"),
    "FILL with a vector": (_fill(_c([2]), _a(1), _a(2)), "its value has the shape [1]"),
    "FILL of a shape that is a table": (
        _fill(_c([[2]]), _a(), _a(2)),
        "its value has the shape []",
    ),
    "FILL of a shape of reals": (
        _fill(_c([2], "float32"), _a(), _a(2)),
        "its shape has the type float32",
    ),
    "FILL to another shape": (_fill(_c([2, 3]), _a(), _a(2)), "computes the shape [2, 3]"),
    "ZEROS_LIKE to another shape": (
        _one("ZEROS_LIKE", [_a(2), _a(3)], [0], ("ZerosLike", {})),
        "computes the shape [2]",
    ),
    "SHAPE to int64": (
        _one("SHAPE", [_a(2, 3), T((2,), "int64")], [0], ("Shape", {"OutType": 4})),
        "an output of type int64 is not supported",
    ),
    "SHAPE of another length": (
        _one("SHAPE", [_a(2, 3), T((3,), "int32")], [0], ("Shape", {"OutType": 2})),
        "computes the shape [2]",
    ),
    "BROADCAST_TO another type": (
        _broadcast(_a(1), _c([2]), real(2)),
        "its input is int8, its output float32",
    ),
    "BROADCAST_TO fewer axes": (
        _broadcast(_a(1, 1), _c([2]), _a(2)),
        "[1, 1] cannot be broadcast to [2]",
    ),
    "BROADCAST_TO six axes": (
        _broadcast(_a(1), _c([1, 1, 1, 1, 1, 2]), _a(1, 1, 1, 1, 1, 2)),
        "[1] cannot be broadcast to [1, 1, 1, 1, 1, 2]",
    ),
    "BROADCAST_TO a shape that is a table": (
        _broadcast(_a(1), _c([[2]]), _a(2)),
        "[1] cannot be broadcast to [2]",
    ),
    "BROADCAST_TO what it does not divide": (
        _broadcast(_a(2), _c([4]), _a(4)),
        "[2] cannot be broadcast to [4]",
    ),
    "BROADCAST_TO another shape": (_broadcast(_a(1), _c([2]), _a(3)), "computes the shape [2]"),
    "BROADCAST_ARGS of two types": (
        _args(_INTS, T((2,), "int64"), _INTS),
        "its shapes are int32 and int64, or not vectors",
    ),
    "BROADCAST_ARGS of a table": (
        _args(_INTS, T((1, 2), "int32"), _INTS),
        "its shapes are int32 and int32, or not vectors",
    ),
    "BROADCAST_ARGS to another length": (
        _args(_INTS, T((3,), "int32"), _INTS),
        "computes the shape [3]",
    ),
    "SELECT_V2 of int32": (
        _select(T((2,), "bool"), _INTS, _INTS, _INTS),
        "input type int32 is not supported",
    ),
    "SELECT_V2 by numbers": (
        _select(_a(2), _a(2), _a(2), _a(2)),
        "its types are int8, int8, int8, int8",
    ),
    "SELECT_V2 of two types": (
        _select(T((2,), "bool"), _a(2), real(2), _a(2)),
        "its types are bool, int8, float32, int8",
    ),
    "SELECT_V2 to another type": (
        _select(T((2,), "bool"), _a(2), _a(2), real(2)),
        "its types are bool, int8, int8, float32",
    ),
    "SELECT_V2 of shapes that do not broadcast": (
        _select(T((2,), "bool"), _a(3), _a(2), _a(3)),
        "its inputs [[2], [3], [2]] do not broadcast",
    ),
    "SELECT_V2 to another shape": (
        _select(T((2,), "bool"), _a(2), _a(1), _a(3)),
        "computes the shape [2]",
    ),
    "REVERSE_V2 of axes of int64": (
        _reverse(_a(2, 3), _c([0], "int64"), _a(2, 3)),
        "its axes are int64 [1], its input [2, 3]",
    ),
    "REVERSE_V2 of axes in a table": (
        _reverse(_a(2, 3), _c([[0]]), _a(2, 3)),
        "its axes are int32 [1, 1], its input [2, 3]",
    ),
    "REVERSE_V2 of more axes than there are": (
        _reverse(_a(3), _c([0, 0]), _a(3)),
        "its axes are int32 [2], its input [3]",
    ),
    "REVERSE_V2 of axes apart": (
        _reverse(_a(2, 3, 4), _c([0, 2]), _a(2, 3, 4)),
        "axes [0, 2] are not adjacent",
    ),
    "REVERSE_V2 of an axis twice": (
        _reverse(_a(2, 3), _c([1, 1]), _a(2, 3)),
        "axes [1, 1] are not adjacent",
    ),
    "REVERSE_V2 to another shape": (
        _reverse(_a(2, 3), _c([0]), _a(3, 2)),
        "computes the shape [2, 3]",
    ),
    "CAST from int64": (
        _one("CAST", [T((2,), "int64"), T((2,), "int32")], [0], ("Cast", {})),
        "int64 to int32 is not supported",
    ),
    "CAST to int64": (
        _one("CAST", [_a(2), T((2,), "int64")], [0], ("Cast", {})),
        "int8 to int64 is not supported",
    ),
    "CAST to another shape": (
        _one("CAST", [_a(2), T((3,), "int32")], [0], ("Cast", {})),
        "computes the shape [2]",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_inconsistent_models_are_refused_with_a_reason(name: str) -> None:
    assert_refused(*REFUSED[name])


TAKEN = {
    "GATHER along the last axis, from the end": (
        gather(_a(2, 3), _c([2, 2]), _a(2, 2), Axis=-1),
        [[3, 3], [6, 6]],
    ),
    "GATHER_ND of as many axes as there are": (
        _gather_nd(_a(2, 3), _c([[1, 2], [0, 1]]), _a(2)),
        [6, 2],
    ),
    "EMBEDDING_LOOKUP of int8 to float32": (
        _lookup(_c([1, 0, 1]), _a(2, 3, scale=0.5), real(3, 3)),
        [[2, 2.5, 3], [0.5, 1, 1.5], [2, 2.5, 3]],
    ),
    "DYNAMIC_UPDATE_SLICE that is moved inside": (
        _one(
            "DYNAMIC_UPDATE_SLICE",
            [_a(2, 3), _c([[9, 8]], "int8"), _c([5, -5]), _a(2, 3)],
            [0, 1, 2],
            ("DynamicUpdateSlice", {}),
        ),
        [[1, 2, 3], [9, 8, 6]],
    ),
    "FILL": (_fill(_c([2, 2]), _a(), _a(2, 2)), [[1, 1], [1, 1]]),
    "BROADCAST_TO five axes": (
        _broadcast(_a(2), _c([1, 1, 1, 2, 2]), _a(1, 1, 1, 2, 2)),
        [[[[[1, 2], [1, 2]]]]],
    ),
    "REVERSE_V2 of all axes": (_reverse(_a(2, 3), _c([-1, 0]), _a(2, 3)), [[6, 5, 4], [3, 2, 1]]),
    "CAST of bool": (_one("CAST", [T((2,), "bool"), T((2,), "int16")], [0], ("Cast", {})), [1, 1]),
}


@pytest.mark.parametrize("name", TAKEN)
def test_limits_are_inclusive(name: str) -> None:
    assert_counts_to(*TAKEN[name], name)


def test_arguments_that_do_not_broadcast_are_refused_from_the_last_axis_on() -> None:
    x = T((3,), "int32")
    interpreter = Interpreter(Model.from_bytes(_args(x, _INTS, x)))
    (shape,) = interpreter.invoke([np.array([5, 1, 3], np.int32), np.array([4, 1], np.int32)])
    assert shape.tolist() == [5, 4, 3]
    with pytest.raises(HilError, match="do not broadcast"):
        interpreter.invoke([np.array([5, 2, 3], np.int32), np.array([4, 1], np.int32)])


@pytest.mark.parametrize("place", [-1, 2])
def test_an_index_out_of_range_is_named_with_the_size(place: int) -> None:
    data = _one("GATHER", [_a(2), _INTS, _a(2)], [0, 1], ("Gather", {}), (0, 1))
    interpreter = Interpreter(Model.from_bytes(data))
    x = random_inputs(interpreter.model)[0]
    with pytest.raises(HilError, match=f"it reads element {place} of 2"):
        interpreter.invoke([x, np.array([1, place], np.int32)])
    assert interpreter.invoke([x, np.array([1, 0], np.int32)])[0].tolist() == [x[1], x[0]]
