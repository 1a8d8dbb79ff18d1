"""Tensors without elements: refused where TFLM treats them as dynamic, else empty results."""

from __future__ import annotations

import copy
from collections.abc import Iterator

import numpy as np
import pytest
from model_builder import Graph, Op, T, build, build_graphs
from operator_models import every_graph
from oracle import Oracle, Refused

from harness.base.errors import BadModel, HilError
from harness.model import Model
from harness.reference import Interpreter
from harness.reference.node import NUMPY_TYPES

#: By the place of a tensor the shape that it gets instead of its own.
Shapes = dict[int, tuple[int, ...]]


def emptied(graph: Graph) -> Iterator[Shapes]:
    """Each axis of each computed tensor, one at a time, then all of them and all outputs."""
    computed = {place: tensor.shape for place, tensor in enumerate(graph.tensors)}
    computed = {place: computed[place] for place in computed if graph.tensors[place].data is None}
    for place, shape in computed.items():
        yield {place: (0,)}
        for axis in range(len(shape)):
            yield {place: (*shape[:axis], 0, *shape[axis + 1 :])}
    yield dict.fromkeys(computed, (0,))
    yield {place: (0,) for operator in graph.operators for place in operator.outputs}


def with_shapes(graphs: list[Graph], number: int, shapes: Shapes) -> bytes:
    changed = copy.deepcopy(graphs)
    for place, shape in shapes.items():
        changed[number].tensors[place].shape = shape
    return build_graphs(changed)


def run(data: bytes) -> None:
    model = Model.from_bytes(data)
    interpreter = Interpreter(model)
    x = [np.zeros(tensor.shape, NUMPY_TYPES[tensor.dtype]) for tensor in model.inputs]
    interpreter.invoke(x)
    if x:
        interpreter.invoke_batch([np.stack([each] * 3) for each in x])


@pytest.mark.parametrize("graphs", every_graph(), ids=lambda graphs: graphs[0].operators[0].name)
def test_an_operator_without_elements_runs_or_is_refused(graphs: list[Graph]) -> None:
    for number, graph in enumerate(graphs):
        for shapes in emptied(graph):
            try:
                run(with_shapes(graphs, number, shapes))
            except HilError as error:
                assert error.message


@pytest.mark.parametrize("shape", [(0,), (0, 1), (1, 0), (2, 0), (1, 1, 0)])
def test_an_empty_output_is_refused_unless_it_is_an_old_scalar(
    shape: tuple[int, ...], micro: Oracle
) -> None:
    data, x = build([T(shape, "float32")] * 2, [Op("ABS", [0], [1])], [0], [1]), np.zeros(shape)
    if shape == (0,):
        assert Interpreter(Model.from_bytes(data)).invoke([x.astype(np.float32)])[0].shape == shape
        return
    with pytest.raises(BadModel, match="tensor 1 has the shape"):
        Interpreter(Model.from_bytes(data))
    with pytest.raises(Refused):
        micro.run(data, [[x.astype(np.float32)]])


@pytest.mark.parametrize("dtype", ["int8", "int16", "float32"])
def test_a_product_without_columns_is_empty(dtype: str, micro: Oracle) -> None:
    real = dtype == "float32"
    scale = None if real else 0.05
    weights = T((2, 3), "float32" if real else "int8", scale, data=np.ones((2, 3)))
    tensors = [T((1, 3), dtype, scale), weights, T((0,), dtype, scale)]
    operator = Op("FULLY_CONNECTED", [0, 1, -1], [2], ("FullyConnected", {}))
    data, x = build(tensors, [operator], [0], [2]), np.ones((1, 3), dtype)
    interpreter = Interpreter(Model.from_bytes(data))
    assert interpreter.invoke([x])[0].shape == micro.run(data, [[x]])[0][0][0].shape == (0,)
    assert interpreter.invoke_batch([np.stack([x, x])])[0].shape == (2, 0)
