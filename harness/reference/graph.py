"""A model as graphs of prepared operators, which can call each other.

Source of the rules: tflite-micro, ``MicroInterpreterGraph``. All subgraphs are prepared, called or
not; the first one is the main graph.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from harness.base.arithmetic import Arithmetic
from harness.base.errors import BadModel, HilError, UnsupportedOperator
from harness.model import Model, Operator, Tensor
from harness.model.refusals import refusals
from harness.reference.arrays import Array
from harness.reference.blas import one_thread
from harness.reference.memory import ModelMemory
from harness.reference.node import NUMPY_TYPES, OWN_KERNEL, KnownOutputs, Node, Run, constant
from harness.reference.registry import Kernels
from harness.reference.validation import check_calls, check_order, check_tensors

#: The most work in subgraphs per inference, in units of :attr:`PreparedOperator.work`. It bounds
#: the endless loops of damaged models to one or two seconds.
MAX_WORK = 50_000
_ELEMENTS_OF_WORK = 1 << 12


#: Index, shape and type of a tensor.
TensorSpec = tuple[int, tuple[int, ...], np.dtype[Any]]


@dataclass(frozen=True)
class PreparedOperator:
    """One operator, ready to run.

    ``inputs`` are tensor indices, -1 for an omitted input. ``work`` is its estimated time in small
    operators.
    """

    operator: Operator
    run: Run
    inputs: tuple[int, ...]
    outputs: tuple[Tensor, ...]
    where: str
    node: Node
    work: int = 1

    def __call__(self, values: Sequence[Array | None]) -> list[Array]:
        """The outputs for the inputs ``values``, both with a leading axis of runs."""
        results = self.run(*values)
        return [results] if isinstance(results, np.ndarray) else list(results)

    @cached_property
    def specs(self) -> tuple[TensorSpec, ...]:
        """Index, shape and type of each output."""
        return _specs(self.outputs)

    def check(self, results: Sequence[Array]) -> None:
        """Raises BadModel unless ``results`` (runs, ...) have the declared types and shapes."""
        specs = self.specs
        if len(results) != len(specs):
            raise BadModel(
                f"{self.where}: gives {len(results)} outputs, but the model declares {len(specs)}"
            )
        for (_, shape, dtype), result in zip(specs, results, strict=True):
            if result.shape[1:] != shape or result.dtype != dtype:
                raise BadModel(
                    f"{self.where}: gives {result.dtype} {list(result.shape[1:])}, but the model"
                    f" declares {dtype} {list(shape)}"
                )


def _specs(tensors: Sequence[Tensor]) -> tuple[TensorSpec, ...]:
    return tuple((tensor.index, tensor.shape, NUMPY_TYPES[tensor.dtype]) for tensor in tensors)


class WorkLimit(threading.local):
    """The remaining work of the current inference, per thread."""

    left = MAX_WORK

    def start(self) -> None:
        """Starts a new inference."""
        self.left = MAX_WORK


class GraphRunner:
    """One subgraph with its tensors and state; ``number`` is its index in the model.

    ``copies``: results are copied, because a kernel may return a view of a state. ``bytes`` is the
    size of one run's computed tensors.
    """

    def __init__(self, model: Model, number: int, limit: WorkLimit) -> None:
        subgraph = model.subgraphs[number]
        self.number = number
        self.name = model.name if number == 0 else f"{model.name}, subgraph {number}"
        self.operators = subgraph.operators
        self.tensors = subgraph.tensors
        self.inputs = tuple(self.tensors[index] for index in subgraph.inputs)
        self.outputs = tuple(self.tensors[index] for index in subgraph.outputs)
        self.bytes = check_tensors(self.name, subgraph)
        self.sources = _specs(self.inputs)
        self.constants = {
            tensor.index: constant(tensor)[None]
            for tensor in self.tensors
            if tensor.constant and not tensor.variable and tensor.dtype in NUMPY_TYPES
        }
        self.steps: tuple[PreparedOperator, ...] = ()
        self.state = {
            tensor.index: np.empty((1, *tensor.shape), NUMPY_TYPES[tensor.dtype])
            for tensor in self.tensors
            if tensor.variable and tensor.dtype in NUMPY_TYPES
        }
        self.limit = limit
        self.copies = False
        self._work = 1
        check_order(self.name, subgraph, self.constants)
        self.reset()

    def prepare(self, steps: Sequence[PreparedOperator]) -> None:
        """Sets the prepared operators."""
        self.steps = tuple(steps)
        self._work = 1 + sum(step.work for step in steps)

    def reset(self) -> None:
        """Resets every variable tensor as TFLM does: int8 to its zero point, other types to 0."""
        for index, value in self.state.items():
            tensor = self.tensors[index]
            value[...] = tensor.zero_point if tensor.dtype == "int8" else 0

    def call(self, values: Sequence[Array]) -> list[Array]:
        """The outputs for the inputs ``values``; called by an operator of another graph.

        Raises BadModel if the inference exceeds MAX_WORK.
        """
        self.limit.left -= self._work
        if self.limit.left < 0:
            raise BadModel(
                f"{self.name}: an inference runs more than {MAX_WORK:,} operators",
                hint="does the model contain an endless loop?",
            )
        known = self.run(values)
        return [self.value(known, tensor.index) for tensor in self.outputs]

    def run(self, inputs: Sequence[Array]) -> dict[int, Array]:
        """The inputs and all computed tensors by index, with a leading axis of runs."""
        values = {spec[0]: array for spec, array in zip(self.sources, inputs, strict=True)}
        known: dict[int, Array | None] = {-1: None, **self.constants, **self.state, **values}
        for step in self.steps:
            results = step([known[index] for index in step.inputs])
            step.check(results)
            for (index, _, _), result in zip(step.specs, results, strict=True):
                values[index] = known[index] = result.copy() if self.copies else result
        return values

    def value(self, values: Mapping[int, Array], index: int) -> Array:
        """The value of any tensor after a run that returned ``values``."""
        if index in values:
            return values[index]
        return self.state[index] if index in self.state else self.constants[index]


@dataclass(frozen=True)
class Program:
    """All graphs of a model, the main one first, and their memory between inferences.

    ``elements`` is the number of elements of all tensors.
    """

    graphs: tuple[GraphRunner, ...]
    memory: ModelMemory
    limit: WorkLimit
    elements: int

    @classmethod
    def of(cls, model: Model, kernels: Kernels, arithmetic: Arithmetic) -> Program:
        """The program of ``model``, every operator prepared.

        Raises BadModel, or one UnsupportedOperator for all operators without a kernel, which says
        first what tflite-micro refuses, too.
        """
        try:
            return cls._prepared(model, kernels, arithmetic)
        except UnsupportedOperator as error:
            refused = refusals(model)
            if not refused:
                raise
            message = f"{refused[0].message}: {error.message}"
            hint = refused[0].remedy if error.hint in ("", OWN_KERNEL) else error.hint
            raise UnsupportedOperator(message, hint=hint) from error

    @classmethod
    def _prepared(cls, model: Model, kernels: Kernels, arithmetic: Arithmetic) -> Program:
        check_calls(model)
        limit, memory = WorkLimit(), ModelMemory()
        graphs = tuple(GraphRunner(model, number, limit) for number in range(len(model.subgraphs)))
        refused: list[HilError] = []
        for graph in graphs:
            steps = []
            decoded: dict[int, Tensor] = {}
            for operator in graph.operators:
                node = _node(graph, operator, graphs, memory, arithmetic, decoded)
                _check_types(node)
                try:
                    with np.errstate(all="ignore"):
                        run = kernels.find(node)(node)
                except UnsupportedOperator as error:
                    refused.append(error)
                    continue
                _check_sizes(node)
                written = {tensor.index for tensor in node.outputs}
                decoded = {i: each for i, each in decoded.items() if i not in written}
                decoded |= _decoded(run, node.outputs)
                work = _work(node)
                inputs = tuple(max(index, -1) for index in operator.inputs)
                steps.append(
                    PreparedOperator(operator, run, inputs, node.outputs, node.where, node, work)
                )
            graph.prepare(steps)
        if refused:
            raise _combined(refused)
        elements = sum(tensor.elements for graph in graphs for tensor in graph.tensors)
        program = cls(graphs, memory, limit, elements)
        for graph in graphs:
            graph.copies = program.stateful
        return program

    @property
    def stateful(self) -> bool:
        """True if an inference can depend on earlier ones."""
        return self.memory.used or any(graph.state for graph in self.graphs)

    def reset(self, *, restart: bool) -> None:
        """Resets variable tensors and resources; with ``restart`` CALL_ONCE runs again."""
        for graph in self.graphs:
            graph.reset()
        self.memory.reset(restart=restart)

    def run(self, inputs: Sequence[Array]) -> dict[int, Array]:
        """All computed tensors of the main graph, see :meth:`GraphRunner.run`."""
        self.limit.start()
        # Overflow and NaN are results, as on a device, not errors.
        with np.errstate(all="ignore"), one_thread(self.elements):
            return self.graphs[0].run(inputs)


def _node(
    graph: GraphRunner,
    operator: Operator,
    graphs: Sequence[GraphRunner],
    memory: ModelMemory,
    arithmetic: Arithmetic,
    decoded: Mapping[int, Tensor],
) -> Node:
    """The node of ``operator``; ``decoded`` tensors replace those of the graph."""

    def tensors(indices: Sequence[int]) -> tuple[Tensor | None, ...]:
        return tuple(
            decoded.get(index, graph.tensors[index]) if index >= 0 else None for index in indices
        )

    return Node(
        operator,
        inputs=tensors(operator.inputs),
        outputs=tuple(graph.tensors[index] for index in operator.outputs),
        intermediates=tensors(operator.intermediates),
        arithmetic=arithmetic,
        where=f"{graph.name}: {operator}",
        memory=memory,
        graph=graph.number,
        subroutines=graphs,
        decoded=frozenset(decoded),
    )


def _decoded(run: Run, outputs: Sequence[Tensor]) -> dict[int, Tensor]:
    """The outputs that are known before the first run, as constants of the later operators."""
    if not isinstance(run, KnownOutputs):
        return {}
    pairs = zip(outputs, run.arrays, strict=True)
    return {
        tensor.index: replace(tensor, data=memoryview(array.tobytes())) for tensor, array in pairs
    }


def _check_types(node: Node) -> None:
    """Raises BadModel if an option names a type that the schema lacks: TFLM refuses the model."""
    for name, value in node.options.items():
        if str(value).startswith("type#"):
            raise node.refused(f"its option {name} is {value}")


def _check_sizes(node: Node) -> None:
    """Raises BadModel for outputs with an axis of size 0, which TFLM treats as dynamic.

    Vectors are exempt: old converters write scalars so. Source: tflite-micro,
    ``CheckDynamicTensors``.
    """
    for tensor in node.outputs:
        if 0 in tensor.shape and len(tensor.shape) > 1:
            error = node.refused(f"tensor {tensor.index} has the shape {list(tensor.shape)}")
            error.hint = node.free_dimension() or error.hint
            raise error


def _work(node: Node) -> int:
    """The estimated time of an operator in small operators, from its elements and products."""
    inputs = [tensor for tensor in node.inputs if tensor is not None]
    elements = sum(tensor.elements for tensor in (*inputs, *node.outputs))
    weights = max((tensor.elements for tensor in inputs if tensor.constant), default=0)
    products = sum(out.elements * weights // max((1, *out.shape[-1:])) for out in node.outputs)
    return 1 + (elements + products // 16) // _ELEMENTS_OF_WORK


#: Most refused operators in one message.
_SHOWN = 8


def _combined(refused: Sequence[HilError]) -> HilError:
    """One error for all refused operators."""
    first = refused[0]
    if len(refused) == 1:
        return first
    shown = "; ".join(error.message[:200] for error in refused[1:_SHOWN])
    rest = f"; and {len(refused) - _SHOWN} more" if len(refused) > _SHOWN else ""
    return UnsupportedOperator(f"{first.message[:300]}; {shown}{rest}", hint=first.hint)
