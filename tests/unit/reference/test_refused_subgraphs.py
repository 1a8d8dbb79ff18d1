"""Messages for refused control flow and resource variables."""

from __future__ import annotations

import numpy as np
import pytest
from model_builder import Graph, Op, T, build, build_graphs
from model_builder import constant as _c
from one_operator_models import assert_refused

from harness.base.errors import HilError
from harness.model import Model
from harness.reference import Interpreter


def _x(*shape: int) -> T:
    return T(shape, "float32")


def _sum(*tensors: T) -> Graph:
    x = tensors or (_x(2),) * 3
    return Graph(x, [Op("ADD", [0, 1], [2], ("Add", {}))], [0, 1], [2])


def _choice(condition: T = T((1,), "bool"), *graphs: Graph, given: int = 2) -> bytes:  # noqa: B008
    options = ("If", {"ThenSubgraphIndex": 1, "ElseSubgraphIndex": 2})
    inputs = list(range(given + 1))
    tensors = [condition, *[_x(2)] * given, _x(2)]
    main = Graph(tensors, [Op("IF", inputs, [given + 1], options)], inputs, [given + 1])
    return build_graphs([main, *(graphs or (_sum(), _sum()))])


def _loop(condition: Graph, body: Graph, count: int = 1) -> bytes:
    options = ("While", {"CondSubgraphIndex": 1, "BodySubgraphIndex": 2})
    places = list(range(count))
    outputs = [each + count for each in places]
    main = Graph([_x(2)] * 2 * count, [Op("WHILE", places, outputs, options)], places, outputs)
    return build_graphs([main, condition, body])


def _test(*outputs: int, dtype: str = "bool", inputs: int = 1) -> Graph:
    """A condition: whether all of its input is true, which it never is."""
    tensors = [*[_x(2)] * inputs, _c([0.0, 0.0], "float32"), T((2,), dtype)]
    operator = Op("LESS", [0, inputs], [inputs + 1], ("Less", {}))
    if dtype != "bool":
        operator = Op("NEG", [0], [inputs + 1])
    return Graph(tensors, [operator], list(range(inputs)), list(outputs))


_BODY = Graph([_x(2), _x(2)], [Op("NEG", [0], [1])], [0], [1])


_BODY_OF_TWO = Graph([_x(2)] * 3, [Op("NEG", [0], [2])], [0, 1], [2, 1])


def _once(graph: Graph, inputs: tuple[int, ...] = (), outputs: tuple[int, ...] = ()) -> bytes:
    call = Op("CALL_ONCE", inputs, outputs, ("CallOnce", {"InitSubgraphIndex": 1}))
    main = Graph([_x(2)] * 3, [call, Op("NEG", [0], [1])], [0], [1])
    return build_graphs([main, graph])


_NAME = ("VarHandle", {"SharedName": "v"})


def _variable(handle: T, *operators: Op) -> bytes:
    tensors = [_x(2), handle, _x(2), _x(2)]
    return build(tensors, [Op("VAR_HANDLE", [], [1], _NAME), *operators], [0], [2])


_HANDLE = T((), "resource")


_READ = Op("READ_VARIABLE", [1], [2])


REFUSED = {
    "IF of a number": (_choice(_x(1)), "its condition is float32 [1]"),
    "IF of two truths": (_choice(T((2,), "bool")), "its condition is bool [2]"),
    "IF of fewer inputs than its subgraph": (
        _choice(given=1),
        "the number of its inputs or outputs differs from its subgraph's",
    ),
    "IF of fewer outputs than its subgraph": (
        _choice(
            T((1,), "bool"),
            *[Graph([_x(2)] * 3, [Op("ADD", [0, 1], [2], ("Add", {}))], [0, 1], [2, 2])] * 2,
        ),
        "the number of its inputs or outputs differs from its subgraph's",
    ),
    "WHILE of fewer inputs than its body": (
        _loop(_test(2), _BODY_OF_TWO),
        "the number of its inputs or outputs differs from its subgraphs'",
    ),
    "WHILE of fewer inputs than its condition": (
        _loop(_test(3, inputs=2), _BODY),
        "the number of its inputs or outputs differs from its subgraphs'",
    ),
    "WHILE of nothing": (
        _loop(Graph([_c([True], "bool")], [], [], [0]), Graph([_x(2)], [], [], []), 0),
        "it has no input, so its condition never changes",
    ),
    "WHILE of a condition that gives nothing": (
        _loop(_test(), _BODY),
        "the output of its condition is not a bool",
    ),
    "WHILE of a condition that gives a number": (
        _loop(_test(2, dtype="float32"), _BODY),
        "the output of its condition is not a bool",
    ),
    "CALL_ONCE with an input": (
        _once(Graph([_x(2)], [], [], []), (0,)),
        "it has inputs or outputs",
    ),
    "CALL_ONCE with an output": (
        _once(Graph([_x(2)], [], [], []), (), (2,)),
        "it has inputs or outputs",
    ),
    "CALL_ONCE of a subgraph with inputs": (
        _once(Graph([_x(2)], [], [0], [])),
        "its subgraph has inputs, which have no value",
    ),
    "VAR_HANDLE to a real": (_variable(T((), "float32"), _READ), "its handle is float32 []"),
    "VAR_HANDLE to two numbers": (
        _variable(T((2,), "resource"), _READ),
        "its handle is resource [2]",
    ),
    "READ_VARIABLE of a real": (
        _variable(_HANDLE, Op("READ_VARIABLE", [0], [2])),
        "its handle is float32 [2]",
    ),
    "READ_VARIABLE of two": (
        _variable(_HANDLE, Op("READ_VARIABLE", [1, 1], [2])),
        "it needs one input and one output",
    ),
    "READ_VARIABLE to two": (
        _variable(_HANDLE, Op("READ_VARIABLE", [1], [2, 3])),
        "it needs one input and one output",
    ),
    "ASSIGN_VARIABLE of nothing": (
        _variable(_HANDLE, Op("ASSIGN_VARIABLE", [1], []), _READ),
        "it needs two inputs and no output",
    ),
    "ASSIGN_VARIABLE with an output": (
        _variable(_HANDLE, Op("ASSIGN_VARIABLE", [1, 0], [3]), _READ),
        "it needs two inputs and no output",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_inconsistent_models_are_refused_with_a_reason(name: str) -> None:
    assert_refused(*REFUSED[name])


TAKEN = {
    "a choice": _choice(),
    "a loop": _loop(_test(2), _BODY),
}


@pytest.mark.parametrize("name", TAKEN)
def test_limits_are_inclusive(name: str) -> None:
    interpreter = Interpreter(Model.from_bytes(TAKEN[name], name))
    assert interpreter.operators


def test_the_outputs_of_a_loop_and_its_body_must_match() -> None:
    longer = Op("PAD", [0, 2], [1], ("Pad", {}))
    body = Graph([_x(2), _x(3), _c([[1, 0]])], [longer], [0], [1])
    interpreter = Interpreter(Model.from_bytes(_loop(_test(2), body)))
    assert interpreter.invoke([np.ones(2, np.float32)])[0].tolist() == [1, 1]
    with pytest.raises(HilError, match=r"it passes float32 \[3\] as float32 \[2\]"):
        interpreter.invoke([-np.ones(2, np.float32)])
