"""The plan of one inference: every operator of a graph tied to buffers that stay where they are.

An operator that cannot be bound (see :mod:`harness.reference.bind`) runs as it does in a batch, on
copies: kernels of other packages never hold a plan's buffers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from harness.reference.bind import Call, Moves, Prepared, TooLarge, Workspace
from harness.reference.blas import one_thread
from harness.reference.fixedpoint import Array

if TYPE_CHECKING:
    from harness.reference.graph import Graph, Step


class Plan:
    """One inference of ``graph``. ``values`` are the buffers of its inputs and computed tensors.

    They last until the next inference.
    """

    def __init__(self, graph: Graph) -> None:
        self.values: dict[int, Array] = {}
        self._start = graph.budget.start
        buffers = (np.zeros(shape, dtype) for _, shape, dtype in graph.sources)
        self._inputs = list(enumerate(buffers))
        self._quiet, self._unbound = True, 0
        self._calls = self._calls_of(graph)
        results = (graph.value(self.values, tensor.index) for tensor in graph.outputs)
        self._results = [result.reshape(result.shape[1:]) for result in results]

    def run(self, inputs: Sequence[Array]) -> list[Array]:
        """From arrays of the inputs' shapes and types to copies of the outputs."""
        for place, buffer in self._inputs:
            buffer[...] = inputs[place]
        if self._quiet:
            self._call_all()
        else:
            self._start()
            # Overflow and NaN are values here, as they are on the device.
            with np.errstate(all="ignore"):
                if self._unbound:
                    with one_thread(self._unbound):
                        self._call_all()
                else:
                    self._call_all()
        return [result.copy() for result in self._results]

    def _call_all(self) -> None:
        for call in self._calls:
            call()

    def _calls_of(self, graph: Graph) -> list[Call]:
        """All operators' calls in their order; fills :attr:`values`."""
        known: dict[int, Array | None] = {**graph.fixed, **graph.state}
        kept = {id(value) for value in known.values()}
        for (index, _, _), (_, buffer) in zip(graph.sources, self._inputs, strict=True):
            known[index] = self.values[index] = buffer[None]
        work = Workspace()
        calls: list[Call] = []
        for step in graph.steps:
            inputs = [known[index] for index in step.inputs]
            # A tensor that is written again gets another buffer: its operator may read this one.
            outputs = [np.zeros((1, *shape), dtype) for _, shape, dtype in step.places]
            bound = _bound(step, inputs, outputs, work)
            if bound is None:
                self._unbound += step.elements
                bound = [_as_in_a_batch(step, inputs, outputs, kept)]
            self._quiet &= isinstance(step.run, Prepared) and step.run.quiet
            calls += bound
            for (index, _, _), buffer in zip(step.places, outputs, strict=True):
                known[index] = self.values[index] = buffer
        self._quiet &= self._unbound == 0
        return calls


def _bound(
    step: Step, inputs: Sequence[Any], outputs: Sequence[Array], work: Workspace
) -> Sequence[Call] | None:
    if not isinstance(step.run, Prepared):
        return None
    if len(outputs) > 1 and not isinstance(step.run, Moves):
        return None  # all others have one; that it declares more is said when it runs
    try:
        return step.run.bind(inputs, outputs, work)
    except TooLarge:
        return None


def _as_in_a_batch(
    step: Step, inputs: Sequence[Any], outputs: Sequence[Array], kept: set[int]
) -> Call:
    """Runs the operator on copies of its inputs, but for constants and variables (``kept``)."""
    copied = [value is not None and id(value) not in kept for value in inputs]

    def call() -> None:
        given = zip(inputs, copied, strict=True)
        results = step.run([value.copy() if copy else value for value, copy in given])
        step.check(results)
        for output, result in zip(outputs, results, strict=True):
            output[...] = result

    return call
