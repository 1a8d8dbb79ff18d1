"""Consecutive inferences at once, where all that a model remembers is what it has seen last.

A streaming model keeps the last rows of a tensor in a resource variable: READ_VARIABLE gives them,
CONCATENATION puts the new rows behind them, STRIDED_SLICE cuts off the end, and ASSIGN_VARIABLE
keeps that for the next inference. Or the end of what was read is cut off, and all that was joined
is kept. The rows of many inferences are one sequence then, and what each
inference sees is a window that moves along it: the new rows of all inferences can be computed
before any of them is remembered.

An operator that keeps something of its own, in a variable tensor or elsewhere, says itself that it
takes consecutive inferences, as SVDF does. If it does not, it alone runs one by one.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
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
    """All that a model remembers. ``alone`` are the places of operators that run one by one."""

    graph: Graph
    lines: tuple[Line, ...]
    alone: tuple[int, ...]

    def instead(self, runs: int) -> dict[int, Run]:
        """What to run instead of which operators, so that ``runs`` inferences are consecutive."""
        found: dict[int, Run] = {}
        for line in self.lines:
            found[line.join] = partial(_windows, line.axis, runs)
            found[line.assign] = partial(_assign_last, self.graph.steps[line.assign].run)
        for place in self.alone:
            found[place] = partial(_one_by_one, self.graph.steps[place].run, runs)
        return found


def streams(program: Program) -> Streams | None:
    """What the main graph remembers, from the second inference on, when every CALL_ONCE has run.

    None where it remembers something else than old rows, or uses them in another way.
    """
    graph = program.graphs[0]
    names = Counter(step.operator.name for step in graph.steps)
    if names["IF"] or names["WHILE"] or any(each.state for each in program.graphs[1:]):
        return None
    ways = _Ways.of(graph)
    keepers = [ways.keeper(index) for index in graph.state]
    if None in keepers:
        return None
    lines = tuple(ways.lines())
    whole = len(lines) == names["READ_VARIABLE"] == names["ASSIGN_VARIABLE"]
    if not whole or len({line.resource for line in lines}) < len(lines):
        return None
    own = {place for place, step in enumerate(graph.steps) if step.keeps} | set(keepers)
    alone = [place for place in own if place is not None and not _together(graph.steps[place])]
    return Streams(graph, lines, tuple(alone))


def _together(step: Step) -> bool:
    """Whether an operator takes consecutive inferences; what CALL_ONCE calls has run."""
    known = isinstance(step.run, Prepared) and step.run.consecutive
    return known or step.operator.name == "CALL_ONCE"


@dataclass(frozen=True)
class _Ways:
    """By tensor the places of the operators of ``graph`` that read and write it.

    The model itself writes its inputs at place -1 and reads its outputs behind the last operator.
    """

    graph: Graph
    readers: Mapping[int, list[int]]
    writers: Mapping[int, list[int]]

    @classmethod
    def of(cls, graph: Graph) -> _Ways:
        readers: defaultdict[int, list[int]] = defaultdict(list)
        writers = defaultdict(list, {tensor.index: [-1] for tensor in graph.inputs})
        for place, step in enumerate(graph.steps):
            for index in set(step.inputs):
                readers[index].append(place)
            for tensor in step.outputs:
                writers[tensor.index].append(place)
        for tensor in graph.outputs:
            readers[tensor.index].append(len(graph.steps))
        return cls(graph, readers, writers)

    def keeper(self, variable: int) -> int | None:
        """The place of the operator that alone has a variable tensor."""
        return None if self.writers[variable] else self.reader(variable)

    def reader(self, index: int) -> int | None:
        """The place of the operator that alone reads a tensor."""
        places = self.readers[index]
        return places[0] if len(places) == 1 and places[0] < len(self.graph.steps) else None

    def named(self, place: int | None, name: str) -> bool:
        """Whether the operator at a place is a ``name``."""
        return (
            place is not None
            and 0 <= place < len(self.graph.steps)
            and self.graph.steps[place].operator.name == name
        )

    def lines(self) -> Iterator[Line]:
        """Every place where old rows are read, joined with new ones, and the end is kept."""
        for read, step in enumerate(self.graph.steps):
            resource = self.resource(step) if self.named(read, "READ_VARIABLE") else None
            found = None if resource is None else self.joined(read)
            if resource is None or found is None:
                continue
            join, axis = found
            rows = self.graph.steps[join].outputs[0]
            ends = (self.end(place, axis) for place in self.readers[rows.index])
            for kept in (rows, *(end for end in ends if end is not None)):
                for assign in self.readers[kept.index]:
                    if read < assign and self.assigns(assign, kept, resource):
                        yield Line(resource, read, join, assign, axis)

    def joined(self, read: int) -> tuple[int, int] | None:
        """Where new rows are put behind what is read at ``read``, or its end, and on which axis."""
        steps = self.graph.steps
        old = steps[read].outputs[0]
        first = join = self.reader(old.index) if self.writers[old.index] == [read] else None
        if first is None:
            return None
        if not self.named(first, "CONCATENATION") and steps[first].outputs:
            old = steps[first].outputs[0]
            join = self.reader(old.index)
        if join is None or not self.named(join, "CONCATENATION"):
            return None
        axis = _rows_axis(steps[join], old.index)
        if axis is None or self.writers[steps[join].outputs[0].index] != [join]:
            return None
        return (join, axis) if join == first or self.end(first, axis) == old else None

    def resource(self, step: Step) -> int | None:
        """The number of the resource that an operator reads or assigns."""
        handle = step.inputs[0]
        writers = self.writers[handle]
        if len(writers) != 1 or not self.named(writers[0], "VAR_HANDLE"):
            return None
        return step.node.memory.bound(self.graph.number, handle)

    def end(self, place: int, axis: int) -> Tensor | None:
        """What the operator at ``place`` gives, if it is the end of its input along ``axis``."""
        step = self.graph.steps[place] if place < len(self.graph.steps) else None
        if step is None or not isinstance(step.run, Moves) or len(step.outputs) != 1:
            return None
        (kept,), rows = step.outputs, step.node.input(0)
        if (len(kept.shape), self.writers[kept.index]) != (len(rows.shape), [place]):
            return None
        whole = np.empty((1, *rows.shape), NUMPY_TYPES[rows.dtype])
        constants = [self.graph.constants.get(index) for index in step.inputs[1:]]
        (view,) = step.run.views([whole, *constants])
        start = rows.shape[axis] - kept.shape[axis]
        wanted = whole[(slice(None),) * (axis + 1) + (slice(start, None),)]
        return kept if view.__array_interface__ == wanted.__array_interface__ else None

    def assigns(self, place: int, kept: Tensor, resource: int) -> bool:
        """Whether the operator at ``place`` assigns ``kept`` to a resource."""
        if not self.named(place, "ASSIGN_VARIABLE"):
            return False
        step = self.graph.steps[place]
        return step.inputs[1] == kept.index and self.resource(step) == resource


def _rows_axis(join: Step, old: int) -> int | None:
    """The axis of a join of old rows and new ones; those before it must have the size 1."""
    if len(join.inputs) != 2 or join.inputs[0] != old:
        return None
    shape = join.outputs[0].shape
    axis = int(join.node.option("axis")) % len(shape)
    return axis if all(size == 1 for size in shape[:axis]) else None


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


def _one_by_one(run: Run, runs: int, values: Sequence[Any]) -> list[Array]:
    """What an operator gives in consecutive runs, each after the one before."""
    rows = [
        run([x if x is None or len(x) == 1 else x[row : row + 1] for x in values])
        for row in range(runs)
    ]
    return [np.concatenate(column) for column in zip(*rows, strict=True)]
