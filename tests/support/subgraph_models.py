"""Models of several subgraphs: a loop, a branch, and a stream that keeps its last frames."""

from __future__ import annotations

import numpy as np
from model_builder import Graph, Op, T, constant
from networks import ring_operators


def loop(limit: int = 20) -> list[Graph]:
    """Adds 3 to a number until it is at least ``limit``."""
    number = T((1,), "int32")
    options = ("While", {"CondSubgraphIndex": 1, "BodySubgraphIndex": 2})
    return [
        Graph([number, number], [Op("WHILE", [0], [1], options)], [0], [1]),
        Graph(
            [number, constant([limit]), T((1,), "bool")],
            [Op("LESS", [0, 1], [2], ("Less", {}))],
            [0],
            [2],
        ),
        Graph([number, constant([3]), number], [Op("ADD", [0, 1], [2], ("Add", {}))], [0], [2]),
    ]


def branch() -> list[Graph]:
    """A sum or a product."""
    x = T((2, 3), "int8", 0.05, 0)
    options = ("If", {"ThenSubgraphIndex": 1, "ElseSubgraphIndex": 2})
    return [
        Graph([T((1,), "bool"), x, x, x], [Op("IF", [0, 1, 2], [3], options)], [0, 1, 2], [3]),
        *(
            Graph([x, x, x], [Op(op, [0, 1], [2], (op.title(), {}))], [0, 1], [2])
            for op in ("ADD", "MUL")
        ),
    ]


def stream() -> list[Graph]:
    """The last three frames, kept in a resource variable."""
    name = ("VarHandle", {"SharedName": "ring"})
    handle, frames = T((), "resource"), T((1, 3, 2), "int8", 0.05, 0)
    slices = [constant(v) for v in ([0, 1, 0], [0, 0, 0], [1, 1, 1])]
    main = Graph(
        [
            T((1, 1, 2), "int8", 0.05, 0),
            handle,
            frames,
            T((1, 4, 2), "int8", 0.05, 0),
            *slices,
            frames,
        ],
        ring_operators(name),
        [0],
        [7],
    )
    first = T(frames.shape, "int8", 0.05, 0, data=np.ones(frames.shape))
    start = Graph(
        [handle, first],
        [Op("VAR_HANDLE", [], [0], name), Op("ASSIGN_VARIABLE", [0, 1], [])],
        [],
        [],
    )
    return [main, start]
