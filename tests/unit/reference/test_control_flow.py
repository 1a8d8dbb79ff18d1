"""Subgraphs and resource variables equal the official interpreter, inference after inference."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from model_builder import Graph, Op, T, build, build_graphs
from networks import ring_operators
from operator_cases import Case, Draw, agree, cases, draws
from oracle import Oracle, Oracles, Refused
from type_table import signatures

from harness.base.errors import BadModel
from harness.model import Model
from harness.reference import Interpreter


def _constant(values: object, dtype: str = "int32") -> T:
    array = np.asarray(values, dtype)
    return T(array.shape, dtype, data=array)


def _subgraphs(then: int = 1, other: int = 2) -> tuple[str, dict[str, int]]:
    return ("If", {"ThenSubgraphIndex": then, "ElseSubgraphIndex": other})


def _loop(condition: int = 1, body: int = 2) -> tuple[str, dict[str, int]]:
    return ("While", {"CondSubgraphIndex": condition, "BodySubgraphIndex": body})


def _binary(op: str, x: T, y: T, output: T) -> Graph:
    return Graph([x, y, output], [Op(op, [0, 1], [2], (op.capitalize(), {}))], [0, 1], [2])


def _choice(x: T, y: T, output: T, **changed: object) -> bytes:
    """A sum or a product, as a bool says."""
    main = Graph(
        [T((1,), "bool"), x, y, output], [Op("IF", [0, 1, 2], [3], _subgraphs())], [0, 1, 2], [3]
    )
    graphs = {"then": _binary("ADD", x, y, output), "other": _binary("MUL", x, y, output)}
    return build_graphs([main, *{**graphs, **changed}.values()])  # type: ignore[list-item]


@pytest.mark.parametrize("dtype", ["int8", "int16", "float32"])
@cases
@given(draw=draws())
def test_if_equals(dtype: str, official: Oracles, draw: Draw) -> None:
    shape = draw.shape(1, 4)
    tensors = [T(shape, dtype, *((0.02, 0) if dtype != "float32" else ())) for _ in range(3)]
    arrays = [
        [np.array([choice]), draw.array(shape, dtype), draw.array(shape, dtype)]
        for choice in (draw.flag(), draw.flag(), draw.flag())
    ]
    agree(official, Case(_choice(*tensors), arrays))


def _counting(limit: int, step: int = 3) -> bytes:
    """Adds ``step`` to a number until it is at least ``limit``; doubles a vector as often."""
    number, vector = T((1,), "int32"), T((4,), "int32")
    main = Graph(
        [number, vector, number, vector], [Op("WHILE", [0, 1], [2, 3], _loop())], [0, 1], [2, 3]
    )
    condition = Graph(
        [number, vector, _constant([limit]), T((1,), "bool")],
        [Op("LESS", [0, 2], [3], ("Less", {}))],
        [0, 1],
        [3],
    )
    body = Graph(
        [number, vector, _constant([step]), number, vector],
        [Op("ADD", [0, 2], [3], ("Add", {})), Op("ADD", [1, 1], [4], ("Add", {}))],
        [0, 1],
        [3, 4],
    )
    return build_graphs([main, condition, body])


@cases
@given(draw=draws())
def test_while_equals(official: Oracles, draw: Draw) -> None:
    arrays = [[np.array([draw.int(-9, 40)], np.int32), draw.array((4,), "int32")] for _ in range(3)]
    agree(official, Case(_counting(draw.int(-10, 50), draw.int(1, 5)), arrays, outputs=2))


def test_runs_of_a_batch_leave_a_loop_independently() -> None:
    interpreter = Interpreter(Model.from_bytes(_counting(20)))
    numbers = np.arange(-10, 30, dtype=np.int32).reshape(-1, 1)
    vectors = np.arange(160, dtype=np.int32).reshape(-1, 4)
    together = interpreter.invoke_batch([numbers, vectors])
    alone = [interpreter.invoke(list(row)) for row in zip(numbers, vectors, strict=True)]
    for index in (0, 1):
        assert np.array_equal(together[index], np.stack([row[index] for row in alone]))


def test_runs_of_a_batch_branch_independently() -> None:
    x = T((2,), "float32")
    interpreter = Interpreter(Model.from_bytes(_choice(x, x, x)))
    choices = np.array([[True], [False], [False], [True]])
    a = np.arange(8, dtype=np.float32).reshape(4, 2)
    (y,) = interpreter.invoke_batch([choices, a, a + 1])
    assert y.tolist() == [[1, 3], [6, 12], [20, 30], [13, 15]]


def _streaming(frames: int, features: int, dtype: str = "int8", fill: int = 0) -> bytes:
    """Keeps the last ``frames`` frames in a resource variable and gives them all.

    What the converter writes for a streaming layer: CALL_ONCE sets the variable.
    """
    quantized = {} if dtype == "float32" else {"scale": 0.05, "zero": fill}
    name = ("VarHandle", {"Container": "", "SharedName": "ring"})
    handle = T((), "resource")
    window = T((1, frames, features), dtype, **quantized)
    initial = T(window.shape, dtype, **quantized, data=np.full(window.shape, fill, dtype))
    tensors = [
        T((1, 1, features), dtype, **quantized),
        handle,
        window,
        T((1, frames + 1, features), dtype, **quantized),
        _constant([0, 1, 0]),
        _constant([0, 0, 0]),
        _constant([1, 1, 1]),
        window,
    ]
    main = Graph(
        tensors,
        ring_operators(name),
        [0],
        [7],
    )
    start = Graph(
        [handle, initial],
        [Op("VAR_HANDLE", [], [0], name), Op("ASSIGN_VARIABLE", [0, 1], [])],
        [],
        [],
    )
    return build_graphs([main, start])


def _hold(official: Oracle, model: bytes, arrays: Sequence, resets: set[int]) -> None:
    expected, _ = official.run(model, arrays, resets=resets)
    interpreter = Interpreter(Model.from_bytes(model))
    for number, (inputs, wanted) in enumerate(zip(arrays, expected, strict=True)):
        if number in resets:
            interpreter.reset()
        np.testing.assert_array_equal(interpreter.invoke(inputs)[0], wanted[0])


@pytest.mark.parametrize("dtype", ["int8", "int16", "float32"])
@cases
@given(draw=draws())
def test_a_ring_buffer_in_a_resource_variable_equals(dtype: str, micro: Oracle, draw: Draw) -> None:
    frames, features = draw.int(1, 4), draw.int(1, 5)
    fill = draw.int(-128, 127) if dtype == "int8" else 0
    model = _streaming(frames, features, dtype, fill)
    arrays = [[draw.array((1, 1, features), dtype)] for _ in range(6)]
    _hold(micro, model, arrays, {draw.int(0, 5), draw.int(0, 5)})
    micro.agreed.update(signatures(Model.from_bytes(model)))


def test_a_reset_gives_zero_points_and_a_restart_runs_call_once_again(micro: Oracle) -> None:
    """The variable's zero point is not what CALL_ONCE sets it to."""
    handle, x = T((1,), "resource"), T((2,), "int8", 0.5, 7)
    name = ("VarHandle", {"SharedName": "v"})
    main = Graph(
        [handle, x, x],
        [
            Op("CALL_ONCE", [], [], ("CallOnce", {"InitSubgraphIndex": 1})),
            Op("VAR_HANDLE", [], [0], name),
            Op("READ_VARIABLE", [0], [2]),
        ],
        [1],
        [2],
    )
    start = Graph(
        [handle, T((2,), "int8", 0.5, 7, data=np.array([3, 4]))],
        [Op("VAR_HANDLE", [], [0], name), Op("ASSIGN_VARIABLE", [0, 1], [])],
        [],
        [],
    )
    model = build_graphs([main, start])
    zeros = [np.zeros(2, np.int8)]
    _hold(micro, model, [zeros] * 4, {2})
    interpreter = Interpreter(Model.from_bytes(model))
    seen = [interpreter.invoke(zeros)[0].tolist()]
    interpreter.reset()
    seen.append(interpreter.invoke(zeros)[0].tolist())
    interpreter.restart()
    seen.append(interpreter.invoke(zeros)[0].tolist())
    assert seen == [[3, 4], [7, 7], [3, 4]]


def test_a_stateful_batch_is_one_frame_after_another() -> None:
    frames = np.arange(10, dtype=np.int8).reshape(5, 1, 1, 2)
    (y,) = Interpreter(Model.from_bytes(_streaming(2, 2))).invoke_batch([frames])
    assert y[:, 0, 0].tolist() == [[0, 0], [0, 1], [2, 3], [4, 5], [6, 7]]


def _refused(model: bytes, words: str, micro: Oracle | None, inputs: Sequence = ()) -> None:
    """Refused by both, at the start or when it runs."""
    if micro is not None:
        with pytest.raises(Refused):
            micro.run(model, [list(inputs)])
    with pytest.raises(BadModel, match=words):
        Interpreter(Model.from_bytes(model)).invoke(list(inputs))


def _x(*shape: int) -> T:
    return T(shape, "float32")


def test_a_branch_of_another_size_fails_only_where_it_is_taken(micro: Oracle) -> None:
    small = _binary("MUL", _x(2), _x(2), _x(2))
    model = _choice(_x(3), _x(3), _x(3), other=small)
    ones = np.ones(3, np.float32)
    taken, refused = ([np.array([choice]), ones, ones] for choice in (True, False))
    _hold(micro, model, [taken], set())
    _refused(model, "passes float32", micro, refused)


def test_a_branch_of_another_shape_and_the_same_size_runs(micro: Oracle) -> None:
    flat = _binary("ADD", _x(6), _x(6), _x(6))
    model = _choice(_x(2, 3), _x(2, 3), _x(2, 3), then=flat)
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    _hold(micro, model, [[np.array([True]), x, x]], set())


def test_a_missing_subgraph_is_refused(micro: Oracle) -> None:
    main = Graph(
        [T((1,), "bool"), _x(1), _x(1)], [Op("IF", [0, 1], [2], _subgraphs())], [0, 1], [2]
    )
    _refused(build_graphs([main]), "there are 1 subgraphs", micro)


def test_a_subgraph_that_calls_itself_is_refused() -> None:
    again = Graph(
        [T((1,), "bool"), T((1,), "bool")], [Op("IF", [0, 0], [1], _subgraphs(1, 1))], [0], [1]
    )
    main = Graph(again.tensors, [Op("IF", [0, 0], [1], _subgraphs(1, 1))], [0], [1])
    _refused(build_graphs([main, again]), "recursively", None)


def test_an_endless_loop_is_refused() -> None:
    model = _counting(100, step=0)
    inputs = [np.zeros(1, np.int32), np.zeros(4, np.int32)]
    _refused(model, "runs more than", None, inputs)


def test_a_variable_that_nothing_assigns_cannot_be_read() -> None:
    main = Graph(
        [T((1,), "resource"), _x(2), _x(2)],
        [
            Op("VAR_HANDLE", [], [0], ("VarHandle", {"SharedName": "v"})),
            Op("READ_VARIABLE", [0], [2]),
        ],
        [1],
        [2],
    )
    _refused(
        build_graphs([main]),
        "no operator assigns the resource variable 'v'",
        None,
        [np.zeros(2, np.float32)],
    )


def test_a_variable_read_in_another_size_is_refused() -> None:
    main = Graph(
        [T((1,), "resource"), _x(2), _x(3)],
        [
            Op("VAR_HANDLE", [], [0], ("VarHandle", {"SharedName": "v"})),
            Op("ASSIGN_VARIABLE", [0, 1], []),
            Op("READ_VARIABLE", [0], [2]),
        ],
        [1],
        [2],
    )
    _refused(build_graphs([main]), "'v' has 8 bytes, not 12", None, [np.zeros(2, np.float32)])


def test_each_run_of_a_batch_has_its_own_computed_axis() -> None:
    tensors = [T((3, 3), "float32"), T((1,), "int32"), T((3,), "float32")]
    data = build(tensors, [Op("SUM", [0, 1], [2], ("Reducer", {}))], [0, 1], [2])
    interpreter = Interpreter(Model.from_bytes(data))
    x = np.arange(27, dtype=np.float32).reshape(3, 3, 3)
    axes = np.array([[0], [1], [0]], np.int32)
    (together,) = interpreter.invoke_batch([x, axes])
    assert together.tolist() == [
        x[0].sum(axis=0).tolist(),
        x[1].sum(axis=1).tolist(),
        x[2].sum(axis=0).tolist(),
    ]


def test_a_subgraphs_output_of_a_variable_is_a_copy() -> None:
    """SVDF moves its state, which is given out, in each of two calls."""
    state = T((1, 6), "float32", variable=True)
    weights = [T(shape, "float32", data=np.ones(shape)) for shape in ((2, 1), (2, 3))]
    x, row = T((1, 1), "float32"), T((1, 6), "float32")
    svdf = Op("SVDF", [0, 1, 2, -1, 3], [4], ("SVDF", {"Rank": 1}))
    called = Graph([x, *weights, state, T((1, 2), "float32")], [svdf], [0], [3])
    calls = [Op("IF", [1, 0], [place], _subgraphs(1, 1)) for place in (2, 3)]
    main = Graph([x, _constant([True], "bool"), row, row], calls, [0], [2, 3])
    interpreter = Interpreter(Model.from_bytes(build_graphs([main, called])))
    one = np.ones((1, 1), np.float32)
    assert [y.tolist() for y in interpreter.invoke([one])] == [[[0, 0, 1] * 2], [[0, 1, 1] * 2]]
    interpreter.reset()
    first, second = interpreter.invoke_batch([one[None]])
    assert (first.tolist(), second.tolist()) == ([[[0, 0, 1] * 2]], [[[0, 1, 1] * 2]])
