"""IF, WHILE, CALL_ONCE: operators that run other subgraphs.

Source: tflite-micro, ``if.cc``, ``while.cc``, ``call_once.cc``, and the copy functions of
``kernel_util.cc``: tensors are copied as bytes, so shapes may differ if sizes are equal. As in
TFLM, sizes are compared when a subgraph is entered or left; a subgraph that never runs is not
checked.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from harness.model import Tensor
from harness.reference.arrays import Array, whole_runs
from harness.reference.node import CallableSubgraph, Node, Run


def _passed(
    node: Node, values: Sequence[Array], sources: Sequence[Tensor], targets: Sequence[Tensor]
) -> list[Array]:
    """``values`` of the tensors ``sources`` in the shapes of the tensors ``targets``.

    Variables are copied. Raises BadModel if numbers, types or sizes of the tensors differ.
    """
    if len(sources) != len(targets):
        raise node.bad(f"it passes {len(sources)} tensors to {len(targets)}")
    for source, target in zip(sources, targets, strict=True):
        if source.dtype != target.dtype or source.elements != target.elements:
            raise node.bad(
                f"it passes {source.dtype} {list(source.shape)} as {target.dtype}"
                f" {list(target.shape)}"
            )
    return [
        (value.copy() if source.variable else value).reshape(len(value), *target.shape)
        for value, source, target in zip(values, sources, targets, strict=True)
    ]


def _called(
    node: Node, graph: CallableSubgraph, values: Sequence[Array], sources: Sequence[Tensor]
) -> list[Array]:
    """The outputs of ``graph`` for ``values``, in the shapes of the node's outputs."""
    results = graph.call(_passed(node, values, sources, graph.inputs))
    return _passed(node, results, graph.outputs, node.outputs) if results else []


def _where(chosen: Array, there: Sequence[Array], elsewhere: Sequence[Array]) -> list[Array]:
    """``elsewhere`` with the ``chosen`` runs (bool) replaced by ``there``."""
    merged = [value.copy() for value in elsewhere]
    for whole, part in zip(merged, there, strict=True):
        whole[chosen] = part
    return merged


def if_(node: Node) -> Run:
    """The outputs of one of two subgraphs. Inputs: a bool of one element, the subgraph's inputs."""
    condition = node.input(0)
    if condition.dtype != "bool" or condition.elements != 1:
        raise node.bad(f"its condition is {condition.dtype} {list(condition.shape)}")
    then, other = (node.subroutine(f"{branch}_subgraph_index") for branch in ("then", "else"))
    sources = [node.input(index) for index in range(1, len(node.inputs))]
    if (len(sources), len(node.outputs)) != (len(then.inputs), len(then.outputs)):
        raise node.bad("the number of its inputs or outputs differs from its subgraph's")

    def run(condition: Array, *values: Array) -> list[Array]:
        chosen = condition.reshape(-1)
        if chosen.all() or not chosen.any():
            return _called(node, then if chosen[0] else other, values, sources)
        rest = whole_runs([chosen, *values])[1:]
        yes = _called(node, then, [value[chosen] for value in rest], sources)
        no = _called(node, other, [value[~chosen] for value in rest], sources)
        outputs = [np.empty((len(chosen), *part.shape[1:]), part.dtype) for part in yes]
        return _where(~chosen, no, _where(chosen, yes, outputs))

    return run


def while_(node: Node) -> Run:
    """The body subgraph, applied repeatedly to the inputs while the condition subgraph is true."""
    condition, body = (node.subroutine(f"{part}_subgraph_index") for part in ("cond", "body"))
    sources = [node.input(index) for index in range(len(node.inputs))]
    counts = {len(sources), len(node.outputs), *map(len, (condition.inputs, body.inputs))}
    if counts != {len(body.outputs)}:
        raise node.bad("the number of its inputs or outputs differs from its subgraphs'")
    if not sources:
        raise node.bad("it has no input, so its condition never changes")
    results = [each for each in condition.outputs[:1] if each.dtype == "bool" and each.elements]
    if not results:
        raise node.bad("the output of its condition is not a bool")

    def run(*values: Array) -> list[Array]:
        current = whole_runs(_passed(node, values, sources, node.outputs))
        running = np.ones(len(current[0]), bool)
        active = current
        while True:
            entered = _passed(node, active, node.outputs, condition.inputs)
            result = condition.call(entered)[0]
            more = np.broadcast_to(result.reshape(len(result), -1)[:, 0], len(active[0]))
            if not more.any():
                return current
            running[running] = more
            active = _called(node, body, [value[more] for value in active], node.outputs)
            active = [np.broadcast_to(v, (int(more.sum()), *v.shape[1:])) for v in active]
            current = active if running.all() else _where(running, active, current)

    return run


def call_once(node: Node) -> Run:
    """Runs a subgraph in the first inference only, also after a reset."""
    if node.inputs or node.outputs:
        raise node.bad("it has inputs or outputs")
    graph = node.subroutine("init_subgraph_index")
    if graph.inputs:
        raise node.bad("its subgraph has inputs, which have no value")
    done = node.memory.cell(np.zeros((), bool), survives_reset=True)

    def run() -> list[Array]:
        if not done:
            graph.call([])
            done[...] = True
        return []

    return run
