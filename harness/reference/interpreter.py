"""Running a whole model with the NumPy kernels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from harness.errors import BadModel, UsageError
from harness.model import Model, Operator, Tensor
from harness.reference.batch import in_chunks
from harness.reference.fixedpoint import (
    MULTIPLIERS,
    ROUNDINGS,
    Array,
    Multipliers,
    Rounding,
)
from harness.reference.node import NUMPY_TYPES, Node, Run, constant
from harness.reference.registry import Kernels
from harness.reference.validation import check_order, check_tensors

#: What one chunk of a batch may take for its tensors.
CHUNK_BYTES = 8 << 20


@dataclass(frozen=True)
class Step:
    """One operator, ready to run."""

    operator: Operator
    run: Run
    inputs: tuple[int, ...]
    outputs: tuple[Tensor, ...]
    where: str


class Interpreter:
    """Runs a model's main subgraph, bit-exactly as TFLM's reference kernels do for integers.

    ``rounding`` is ``double`` (TFLM's default) or ``single`` (CMSIS-NN's kernels, and builds with
    TFLITE_SINGLE_ROUNDING). ``multipliers`` is ``double``, or ``single`` for devices that run
    TFLM from before autumn 2026 (see :meth:`Node.precise`). Variable tensors (the state of SVDF
    and LSTM) keep their value from one inference to the next, as on the device, until
    :meth:`reset`.
    """

    def __init__(
        self,
        model: Model,
        *,
        rounding: Rounding = "double",
        multipliers: Multipliers = "double",
        kernels: Kernels | None = None,
    ) -> None:
        if rounding not in ROUNDINGS:
            raise UsageError(f"rounding {rounding!r} is none of {', '.join(ROUNDINGS)}")
        if multipliers not in MULTIPLIERS:
            raise UsageError(f"multipliers {multipliers!r} is none of {', '.join(MULTIPLIERS)}")
        self.model = model
        self.rounding = rounding
        self.multipliers = multipliers
        self.kernels = kernels or Kernels.default()
        self._run_bytes = check_tensors(model)
        self._constants = _constants(model)
        self.steps = tuple(self._prepare(operator) for operator in model.operators)
        check_order(model, self._constants)
        self._values: dict[int, Array] = {}
        self._state: dict[int, Array] = {}
        self.reset()

    @classmethod
    def from_file(
        cls,
        path: Path | str,
        rounding: Rounding = "double",
        *,
        multipliers: Multipliers = "double",
        kernels: Kernels | None = None,
    ) -> Interpreter:
        """Read ``path`` and prepare it. Raises BadModel, UnsupportedOperator."""
        model = Model.from_file(path)
        return cls(model, rounding=rounding, multipliers=multipliers, kernels=kernels)

    @classmethod
    def from_model(
        cls,
        model: Model,
        rounding: Rounding = "double",
        *,
        multipliers: Multipliers = "double",
        kernels: Kernels | None = None,
    ) -> Interpreter:
        """Prepare a model. Raises BadModel, UnsupportedOperator."""
        return cls(model, rounding=rounding, multipliers=multipliers, kernels=kernels)

    @property
    def inputs(self) -> tuple[Tensor, ...]:
        """The model's inputs: name, shape, dtype, scale, zero_point."""
        return self.model.inputs

    @property
    def outputs(self) -> tuple[Tensor, ...]:
        """The model's outputs."""
        return self.model.outputs

    @property
    def operators(self) -> tuple[Operator, ...]:
        """The operators in the order in which they run."""
        return tuple(step.operator for step in self.steps)

    @property
    def stateful(self) -> bool:
        """True where outputs depend on earlier inferences too (SVDF, LSTM)."""
        return bool(self._state)

    @property
    def tensors(self) -> Mapping[int, Array]:
        """The values of all computed tensors of the last :meth:`invoke`, by tensor index.

        Model inputs are among them, constants are not. Empty before the first inference.
        """
        return MappingProxyType({index: value[0] for index, value in self._values.items()})

    def run_operator(self, index: int, values: Mapping[int, Array | None]) -> list[Array] | None:
        """The outputs of operator ``index`` alone, from ``values`` by tensor index.

        Constants need not be among the values. None where an input is missing or does not have
        the tensor's shape and type.
        """
        step = self.steps[index]
        inputs: list[Array | None] = []
        for number in step.inputs:
            if number < 0 or number in self._constants:
                inputs.append(self._constants.get(number))
                continue
            given, tensor = values.get(number), self.model.tensors[number]
            if given is None or (given.shape, given.dtype) != (
                tensor.shape,
                NUMPY_TYPES[tensor.dtype],
            ):
                return None
            inputs.append(given[None])
        with np.errstate(all="ignore"):
            return [output[0] for output in step.run(inputs)]

    def reset(self) -> None:
        """Forget the last inference and set every variable tensor to its zero point."""
        self._values = {}
        self._state = {
            tensor.index: np.full((1, *tensor.shape), tensor.zero_point, NUMPY_TYPES[tensor.dtype])
            for tensor in self.model.tensors
            if tensor.variable
        }

    def invoke(self, inputs: Sequence[Any]) -> list[Array]:
        """One inference: one array for each input, of its shape and dtype; the outputs likewise.

        Raises UsageError where number, shape or dtype of the arrays is wrong.
        """
        arrays = self._checked(inputs, batch=False)
        self._values = self._run([array[None] for array in arrays])
        return [self._output(self._values, tensor)[0] for tensor in self.outputs]

    def invoke_batch(self, inputs: Sequence[Any]) -> list[Array]:
        """Many inferences at once: arrays of shape (runs, *input shape) -> (runs, *output shape).

        The result is that of :meth:`invoke` on one after another. Models with variable tensors
        really run that way; all others run vectorised, in chunks that bound the memory, on several
        cores.
        """
        arrays = self._checked(inputs, batch=True)
        runs = len(arrays[0]) if arrays else 1
        if runs == 0:
            raise UsageError(f"{self.model.name}: a batch of no inputs")

        def run(part: slice) -> list[Array]:
            values = self._run([array[part] for array in arrays])
            outputs = [self._output(values, tensor) for tensor in self.outputs]
            count = part.stop - part.start
            return [np.broadcast_to(y, (count, *y.shape[1:])) for y in outputs]

        if self._state:
            parts = [run(slice(each, each + 1)) for each in range(runs)]
        else:
            parts = in_chunks(runs, max(1, CHUNK_BYTES // max(self._run_bytes, 1)), run)
        return [np.concatenate(column) for column in zip(*parts, strict=True)]

    def _checked(self, inputs: Sequence[Any], *, batch: bool) -> list[Array]:
        if len(inputs) != len(self.inputs):
            raise UsageError(
                f"{self.model.name}: {len(inputs)} inputs given, the model has {len(self.inputs)}"
            )
        arrays = [np.asarray(each) for each in inputs]
        for array, tensor in zip(arrays, self.inputs, strict=True):
            shape = array.shape[1:] if batch and array.ndim else array.shape
            if shape != tensor.shape or array.dtype != NUMPY_TYPES[tensor.dtype]:
                lead = "(runs, ...) of " if batch else ""
                raise UsageError(
                    f"{self.model.name}: input {tensor.name!r} needs {lead}{tensor.dtype}"
                    f" {list(tensor.shape)}, not {array.dtype} {list(array.shape)}",
                    hint="quantize() turns real values into quantized ones",
                )
        if batch and len({len(array) for array in arrays}) != 1:
            raise UsageError(f"{self.model.name}: the inputs have different numbers of runs")
        return arrays

    def _run(self, inputs: Sequence[Array]) -> dict[int, Array]:
        """All computed tensors, with a leading axis of runs."""
        values: dict[int, Array] = dict(
            zip((tensor.index for tensor in self.inputs), inputs, strict=True)
        )
        for step in self.steps:
            given = [self._value(values, index) for index in step.inputs]
            # Overflow and NaN are values here, as they are on the device.
            with np.errstate(all="ignore"):
                results = step.run(given)
            if len(results) != len(step.outputs):
                raise BadModel(
                    f"{step.where}: gives {len(results)} outputs, but the model declares"
                    f" {len(step.outputs)}"
                )
            for tensor, result in zip(step.outputs, results, strict=True):
                if result.shape[1:] != tensor.shape or result.dtype != NUMPY_TYPES[tensor.dtype]:
                    raise BadModel(
                        f"{step.where}: gives {result.dtype} {list(result.shape[1:])}, but the"
                        f" model declares {tensor.dtype} {list(tensor.shape)}"
                    )
                values[tensor.index] = result
        return values

    def _value(self, values: Mapping[int, Array], index: int) -> Array | None:
        if index < 0:
            return None
        if index in values:
            return values[index]
        return self._state[index] if index in self._state else self._constants[index]

    def _output(self, values: Mapping[int, Array], tensor: Tensor) -> Array:
        value = self._value(values, tensor.index)
        assert value is not None  # _check_order saw to it
        return value

    def _prepare(self, operator: Operator) -> Step:
        tensors = self.model.tensors

        def named(indices: Sequence[int]) -> tuple[Tensor | None, ...]:
            return tuple(tensors[index] if index >= 0 else None for index in indices)

        where = f"{self.model.name}: {operator}"
        outputs = tuple(tensors[index] for index in operator.outputs)
        node = Node(
            operator,
            named(operator.inputs),
            outputs,
            named(operator.intermediates),
            self.rounding,
            where,
            self.multipliers,
        )
        return Step(operator, self.kernels.find(node)(node), operator.inputs, outputs, where)


def _constants(model: Model) -> dict[int, Array]:
    """Constants by tensor index, with a leading axis of 1."""
    return {
        tensor.index: constant(tensor)[None]
        for tensor in model.tensors
        if tensor.constant and not tensor.variable and tensor.dtype in NUMPY_TYPES
    }
