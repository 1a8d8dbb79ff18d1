"""Running a whole model with the NumPy kernels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from harness.arithmetic import Arithmetic
from harness.errors import UsageError
from harness.model import Model, Operator, Tensor
from harness.reference.batch import in_chunks
from harness.reference.fixedpoint import Array
from harness.reference.graph import Program, Step
from harness.reference.node import NUMPY_TYPES
from harness.reference.registry import Kernels

#: What one chunk of a batch may take for its tensors.
CHUNK_BYTES = 8 << 20


class Interpreter:
    """Runs a model, bit-exactly as TFLM's reference kernels do for integers.

    ``arithmetic`` says which integers the device's build computes. Variable tensors (the state of
    SVDF and LSTM), resource variables and what streaming operators keep last from one inference to
    the next, as on the device, until :meth:`reset` or :meth:`restart`.
    """

    def __init__(
        self,
        model: Model,
        arithmetic: Arithmetic = Arithmetic(),  # noqa: B008 - frozen
        *,
        kernels: Kernels | None = None,
    ) -> None:
        self.model = model
        self.arithmetic = arithmetic
        self.kernels = kernels or Kernels.default()
        self._program = Program.of(model, self.kernels, arithmetic)
        self._main = self._program.graphs[0]
        self._run_bytes = sum(graph.bytes for graph in self._program.graphs)
        self._values: dict[int, Array] = {}

    @classmethod
    def from_file(
        cls,
        path: Path | str,
        arithmetic: Arithmetic = Arithmetic(),  # noqa: B008 - frozen
        *,
        kernels: Kernels | None = None,
    ) -> Interpreter:
        """Read ``path`` and prepare it. Raises BadModel, UnsupportedOperator."""
        return cls(Model.from_file(path), arithmetic, kernels=kernels)

    @classmethod
    def from_model(
        cls,
        model: Model,
        arithmetic: Arithmetic = Arithmetic(),  # noqa: B008 - frozen
        *,
        kernels: Kernels | None = None,
    ) -> Interpreter:
        """Prepare a model. Raises BadModel, UnsupportedOperator."""
        return cls(model, arithmetic, kernels=kernels)

    def with_arithmetic(self, arithmetic: Arithmetic) -> Interpreter:
        """A new interpreter of the same model and kernels."""
        return type(self)(self.model, arithmetic, kernels=self.kernels)

    @property
    def inputs(self) -> tuple[Tensor, ...]:
        """The model's inputs: name, shape, dtype, scale, zero_point."""
        return self.model.inputs

    @property
    def outputs(self) -> tuple[Tensor, ...]:
        """The model's outputs."""
        return self.model.outputs

    @property
    def steps(self) -> tuple[Step, ...]:
        """The main subgraph's operators, ready to run."""
        return self._main.steps

    @property
    def operators(self) -> tuple[Operator, ...]:
        """The main subgraph's operators in the order in which they run."""
        return tuple(step.operator for step in self.steps)

    @property
    def stateful(self) -> bool:
        """True where outputs depend on earlier inferences too (SVDF, LSTM, resources)."""
        return self._program.stateful

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
            if number < 0 or number in self._main.constants:
                inputs.append(self._main.constants.get(number))
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
        """What ``MicroInterpreter::Reset`` does: variables get their first values.

        Those are zero points. A subgraph that CALL_ONCE has run does not run again; see
        :meth:`restart`.
        """
        self._values = {}
        self._program.reset(restart=False)

    def restart(self) -> None:
        """As after a reboot: :meth:`reset`, and CALL_ONCE initialises anew."""
        self._values = {}
        self._program.reset(restart=True)

    def invoke(self, inputs: Sequence[Any]) -> list[Array]:
        """One inference: one array for each input, of its shape and dtype; the outputs likewise.

        Raises UsageError where number, shape or dtype of the arrays is wrong.
        """
        arrays = self._checked(inputs, batch=False)
        self._values = self._program.run([array[None] for array in arrays])
        return [self._main.value(self._values, each.index)[0] for each in self.outputs]

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
            values = self._program.run([array[part] for array in arrays])
            outputs = [self._main.value(values, tensor.index) for tensor in self.outputs]
            count = part.stop - part.start
            return [np.broadcast_to(y, (count, *y.shape[1:])) for y in outputs]

        if self.stateful:
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
