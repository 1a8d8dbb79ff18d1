"""Consecutive inferences at once, where all that a model remembers is what it has seen last.

A streaming model keeps the last rows of a tensor in a resource variable: READ_VARIABLE gives them,
CONCATENATION puts the new rows behind them, STRIDED_SLICE cuts off the end, and ASSIGN_VARIABLE
keeps that for the next inference. The rows of many inferences are one sequence then, and what each
inference sees is a window that moves along it: the new rows of all inferences can be computed
before any of them is remembered. An operator that keeps rows in a variable tensor, as SVDF does,
says itself that it takes consecutive inferences.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from harness.model import Tensor
from harness.reference.bind import Moves, Prepared
from harness.reference.fixedpoint import Array
from harness.reference.graph import Graph, Program, Step
from harness.reference.node import NUMPY_TYPES, Run


@dataclass(frozen=True)
class Line:
    """One resource of old rows: the places of its operators, the axis on which rows are joined."""

    resource: int
    read: int
    join: int
    assign: int
    axis: int


@dataclass(frozen=True)
class Streams:
    """All that a model remembers."""

    graph: Graph
    lines: tuple[Line, ...]

    def instead(self, runs: int) -> dict[int, Run]:
        """What to run instead of which operators, so that ``runs`` inferences are consecutive."""
        found: dict[int, Run] = {}
        for line in self.lines:
            found[line.join] = partial(_windows, line.axis, runs)
            found[line.assign] = partial(_assign_last, self.graph.steps[line.assign].run)
        return found


def streams(program: Program) -> Streams | None:
    """What the main graph remembers, from the second inference on, when every CALL_ONCE has run.

    None where it remembers something else than old rows, or uses them in another way.
    """
    graph = program.graphs[0]
    names = Counter(step.operator.name for step in graph.steps)
    kept_apart = any(step.keeps and step.operator.name != "CALL_ONCE" for step in graph.steps)
    if kept_apart or names["IF"] or names["WHILE"]:
        return None
    if any(each.state for each in program.graphs[1:]):
        return None
    users = _Users.of(graph)
    if not all(_looked_after(graph, users, index) for index in graph.state):
        return None
    lines = tuple(_lines(graph, users))
    whole = len(lines) == names["READ_VARIABLE"] == names["ASSIGN_VARIABLE"]
    if not whole or len({line.resource for line in lines}) < len(lines):
        return None
    return Streams(graph, lines)


def _looked_after(graph: Graph, users: _Users, variable: int) -> bool:
    """Whether a variable tensor is that of one operator, which knows consecutive inferences."""
    readers = users.readers.get(variable, [])
    if len(readers) != 1 or readers[0] == len(graph.steps) or variable in users.writers:
        return False
    run = graph.steps[readers[0]].run
    return isinstance(run, Prepared) and run.consecutive


@dataclass(frozen=True)
class _Users:
    """By tensor the places of the operators that read and write it.

    The model itself writes its inputs at place -1 and reads its outputs behind the last operator.
    """

    readers: Mapping[int, list[int]]
    writers: Mapping[int, list[int]]

    @classmethod
    def of(cls, graph: Graph) -> _Users:
        readers: dict[int, list[int]] = {}
        writers: dict[int, list[int]] = {tensor.index: [-1] for tensor in graph.inputs}
        for place, step in enumerate(graph.steps):
            for index in set(step.inputs):
                readers.setdefault(index, []).append(place)
            for tensor in step.outputs:
                writers.setdefault(tensor.index, []).append(place)
        for tensor in graph.outputs:
            readers.setdefault(tensor.index, []).append(len(graph.steps))
        return cls(readers, writers)

    def writer(self, graph: Graph, index: int, name: str) -> int | None:
        """The place of the operator ``name`` that alone writes a tensor."""
        places = self.writers.get(index, [])
        if len(places) != 1 or places[0] < 0 or graph.steps[places[0]].operator.name != name:
            return None
        return places[0]

    def reader(self, graph: Graph, index: int, name: str) -> int | None:
        """The place of the operator ``name`` that alone reads a tensor."""
        places = self.readers.get(index, [])
        if len(places) != 1 or places[0] == len(graph.steps):
            return None
        return places[0] if graph.steps[places[0]].operator.name == name else None


def _lines(graph: Graph, users: _Users) -> list[Line]:
    """Every place where old rows are read, joined with new ones, and the end is kept."""
    lines = []
    for read, step in enumerate(graph.steps):
        if step.operator.name != "READ_VARIABLE":
            continue
        old = step.outputs[0].index
        join = users.reader(graph, old, "CONCATENATION")
        if join is None or users.writer(graph, old, "READ_VARIABLE") is None:
            continue
        axis = _rows_axis(graph.steps[join], old)
        joined = graph.steps[join].outputs[0].index
        if axis is None or users.writer(graph, joined, "CONCATENATION") is None:
            continue
        resource = _resource(graph, users, step)
        for cut in users.readers.get(joined, []):
            assign = _keeps_end(graph, users, cut, axis)
            if assign is None or read > assign or resource is None:
                continue
            if _resource(graph, users, graph.steps[assign]) == resource:
                lines.append(Line(resource, read, join, assign, axis))
    return lines


def _rows_axis(join: Step, old: int) -> int | None:
    """The axis of a join of old rows and new ones; those before it must have the size 1."""
    if len(join.inputs) != 2 or join.inputs[0] != old:
        return None
    shape = join.outputs[0].shape
    axis = int(join.node.option("axis")) % len(shape)
    return axis if all(size == 1 for size in shape[:axis]) else None


def _resource(graph: Graph, users: _Users, step: Step) -> int | None:
    """The number of the resource that an operator reads or assigns."""
    handle = step.inputs[0]
    if users.writer(graph, handle, "VAR_HANDLE") is None:
        return None
    return step.node.memory.bound(graph.number, handle)


def _keeps_end(graph: Graph, users: _Users, cut: int, axis: int) -> int | None:
    """The ASSIGN_VARIABLE of what the operator ``cut`` gives, if that is its input's end."""
    step = graph.steps[cut] if cut < len(graph.steps) else None
    if step is None or not isinstance(step.run, Moves) or len(step.outputs) != 1:
        return None
    (kept,), joined = step.outputs, step.node.input(0)
    if (len(kept.shape), users.writers[kept.index]) != (len(joined.shape), [cut]):
        return None
    whole = np.empty((1, *joined.shape), NUMPY_TYPES[joined.dtype])
    constants = [graph.constants.get(index) for index in step.inputs[1:]]
    (view,) = step.run.views([whole, *constants])
    start = joined.shape[axis] - kept.shape[axis]
    end = whole[(slice(None),) * (axis + 1) + (slice(start, None),)]
    if view.__array_interface__ != end.__array_interface__:
        return None
    return next(
        (place for place in users.readers[kept.index] if _assigns(graph, place, kept)), None
    )


def _assigns(graph: Graph, place: int, kept: Tensor) -> bool:
    """Whether the operator at ``place`` assigns ``kept`` to a resource."""
    step = graph.steps[place] if place < len(graph.steps) else None
    return (
        step is not None
        and step.operator.name == "ASSIGN_VARIABLE"
        and step.inputs[1] == kept.index
    )


def _windows(axis: int, runs: int, values: Sequence[Any]) -> list[Array]:
    """Joins old rows, of the first run, and the new rows of consecutive runs."""
    old, new = values
    if len(new) != runs:
        new = np.repeat(new, runs, axis=0)
    front, inner = old.shape[1 : axis + 1], old.shape[axis + 2 :]
    step = new.shape[axis + 1]
    sequence = np.concatenate([old.reshape(-1, *inner), new.reshape(-1, *inner)])
    size = old.shape[axis + 1] + step
    strides = step * sequence.strides[0], *sequence.strides
    windows = as_strided(sequence, (runs, size, *inner), strides)
    return [np.ascontiguousarray(windows).reshape(runs, *front, size, *inner)]


def _assign_last(assign: Run, values: Sequence[Any]) -> list[Array]:
    """What the last of consecutive runs assigns."""
    return assign([values[0], values[1][-1:]])
