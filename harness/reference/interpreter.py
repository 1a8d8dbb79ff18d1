"""Inference of a whole model with the NumPy kernels."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np

from harness.base.arithmetic import Arithmetic
from harness.base.errors import UsageError
from harness.model import Model, Operator, Tensor
from harness.reference.arrays import Array
from harness.reference.graph import PreparedOperator, Program
from harness.reference.node import NUMPY_TYPES
from harness.reference.registry import Kernels

#: Bytes of the tensors of one chunk of a batch; their sums in double precision, eight times as
#: large, should fit in the cache.
CHUNK_BYTES = 1 << 22
#: Bytes of freed arrays that the C library keeps for the next batch.
_KEPT = 16 << 20


class UnknownTensor(UsageError, KeyError):
    """The last inference has no value for this tensor index."""


class LastValues(Mapping[int, Array]):
    """The tensors of one inference by index; each access returns a copy without the runs axis."""

    def __init__(self, model: Model, values: Mapping[int, Array]) -> None:
        self._model = model
        self._values = values

    def __getitem__(self, index: int) -> Array:
        if index in self._values:
            value: Array = self._values[index][0].copy()
            return value
        name, count = self._model.name, len(self._model.tensors)
        if not isinstance(index, int) or not 0 <= index < count:
            raise UnknownTensor(f"{name} has no tensor {index!r}: there are {count}, from 0 on")
        tensor = self._model.tensors[index]
        named = f"{name}: tensor {index} ({tensor.name!r})"
        if tensor.constant:
            hint = f"its bytes are model.tensors[{index}].data"
            raise UnknownTensor(
                f"{named} is a constant of the model, which no operator computes", hint=hint
            )
        if not self._values:
            raise UnknownTensor(f"{named} has no value before the first inference")
        raise UnknownTensor(
            f"{named} is neither an input of the model nor an output of an operator"
        )

    def __iter__(self) -> Iterator[int]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        return f"<values of {len(self)} tensors of {self._model.name}: {list(self)}>"


class Interpreter:
    """Runs a model; integer results are bit-exact with TFLM's reference kernels.

    ``arithmetic`` is that of the device's build. Variable tensors (the state of SVDF and LSTM),
    resource variables and the samples of streaming operators persist between inferences, as on the
    device, until :meth:`reset` or :meth:`restart`. Raises BadModel, UnsupportedOperator.
    """

    def __init__(
        self,
        model: Model | Path | str,
        arithmetic: Arithmetic = Arithmetic(),  # noqa: B008 - frozen
        *,
        kernels: Kernels | None = None,
    ) -> None:
        if not isinstance(arithmetic, Arithmetic):
            raise UsageError(
                f"{arithmetic!r} is not an Arithmetic",
                hint='Arithmetic(rounding="single"), for example',
            )
        if not isinstance(kernels, Kernels | None):
            raise UsageError(f"kernels is a {type(kernels).__name__}, not Kernels")
        self.model = loaded(model)
        self.arithmetic = arithmetic
        self.kernels = kernels or Kernels.default()
        self._program = Program.of(self.model, self.kernels, arithmetic)
        self._main = self._program.graphs[0]
        self._run_bytes = sum(graph.bytes for graph in self._program.graphs)

        self._results = tuple(tensor.index for tensor in self._main.outputs)
        self._lock = Lock()
        self._tensors = LastValues(self.model, {})

    @classmethod
    def from_file(
        cls,
        path: Path | str,
        arithmetic: Arithmetic = Arithmetic(),  # noqa: B008 - frozen
        *,
        kernels: Kernels | None = None,
    ) -> Interpreter:
        """The interpreter of the model in ``path``. Raises BadModel, UnsupportedOperator."""
        return cls(path, arithmetic, kernels=kernels)

    @classmethod
    def from_model(
        cls,
        model: Model | Path | str,
        arithmetic: Arithmetic = Arithmetic(),  # noqa: B008 - frozen
        *,
        kernels: Kernels | None = None,
    ) -> Interpreter:
        """The interpreter of ``model``. Raises BadModel, UnsupportedOperator."""
        return cls(model, arithmetic, kernels=kernels)

    def with_arithmetic(self, arithmetic: Arithmetic) -> Interpreter:
        """A new interpreter of the same model and kernels, without state."""
        return type(self)(self.model, arithmetic, kernels=self.kernels)

    def __repr__(self) -> str:
        inputs, outputs = (
            ", ".join(f"{each.dtype} {list(each.shape)}" for each in tensors) or "nothing"
            for tensors in (self.inputs, self.outputs)
        )
        return f"<Interpreter of {self.model.name}: {inputs} -> {outputs}>"

    def __reduce__(self) -> tuple[Any, ...]:
        """The pickled form: the model's bytes. The copy has the state after a reboot."""
        return _restored, (self.model.data, self.model.name, self.arithmetic, self.kernels)

    @property
    def inputs(self) -> tuple[Tensor, ...]:
        """The model's inputs: name, shape, dtype, scale, zero_point."""
        return self._main.inputs

    @property
    def outputs(self) -> tuple[Tensor, ...]:
        """The model's outputs."""
        return self._main.outputs

    @property
    def steps(self) -> tuple[PreparedOperator, ...]:
        """The main subgraph's operators, ready to run."""
        return self._main.steps

    @property
    def operators(self) -> tuple[Operator, ...]:
        """The main subgraph's operators in execution order."""
        return tuple(step.operator for step in self.steps)

    @property
    def stateful(self) -> bool:
        """True if outputs depend on earlier inferences (SVDF, LSTM, resource variables)."""
        return self._program.stateful

    @property
    def constants(self) -> Mapping[int, Array]:
        """The main graph's constants by tensor index, each with an axis of one run."""
        return self._main.constants

    @property
    def tensors(self) -> Mapping[int, Array]:
        """Copies of the computed tensors of the last :meth:`invoke`, by tensor index.

        Model inputs are included, constants are not. Empty before the first inference.
        """
        return self._tensors

    def run_operator(self, index: int, values: Mapping[int, Array | None]) -> list[Array] | None:
        """The outputs of operator ``index`` alone, for ``values`` by tensor index.

        ``values`` may omit constants. Returns None if another input is missing or has another shape
        or type than its tensor.
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
            return [output[0] for output in step(inputs)]

    def reset(self) -> None:
        """Resets all state as ``MicroInterpreter::Reset`` does: variables to their zero points.

        A subgraph that CALL_ONCE has run does not run again; see :meth:`restart`.
        """
        self._reset(restart=False)

    def restart(self) -> None:
        """Resets all state as a reboot does: CALL_ONCE runs again."""
        self._reset(restart=True)

    def _reset(self, *, restart: bool) -> None:
        with self._lock:
            self._tensors = LastValues(self.model, {})
            self._program.reset(restart=restart)

    def invoke(self, inputs: Sequence[Any]) -> list[Array]:
        """The outputs of one inference, one array for each output of the model.

        ``inputs`` has one array for each input. All arrays have the shapes and dtypes of the
        tensors. Raises UsageError for a wrong number, shape or dtype of inputs.
        """
        arrays = [array[None].copy() for array in self._checked(inputs, 0)]
        with self._lock:
            self._tensors = LastValues(self.model, {})
            values = self._program.run(arrays)
            outputs = [self._main.value(values, index)[0].copy() for index in self._results]
            self._tensors = LastValues(self.model, values)
        return outputs

    def invoke_batch(self, inputs: Sequence[Any], runs: int | None = None) -> list[Array]:
        """The outputs of many inferences: (runs, *input shape) -> (runs, *output shape).

        The results equal those of :meth:`invoke` in sequence. Stateful models do run in sequence;
        others run vectorized, in chunks that bound the memory. ``runs`` (default 1) is the number
        of inferences of a model without inputs. Raises UsageError as :meth:`invoke` does.
        """
        arrays = self._checked(inputs, 1)
        count = self._runs(arrays, runs)
        _keep_memory()

        chunk = max(1, CHUNK_BYTES // max(self._run_bytes, 1))
        if self.stateful:
            chunk = 1
        elif not arrays:  # constant outputs: computed once
            chunk = count
        with self._lock:
            parts = [
                self._run_chunk([array[start : start + chunk] for array in arrays])
                for start in range(0, count, chunk)
            ]
        return [_joined(column, count) for column in zip(*parts, strict=True)]

    def trace(self, inputs: Sequence[Any]) -> dict[int, Array]:
        """The inputs and all tensors that the main graph computes in a batch, by tensor index.

        Arrays have a leading axis of runs; one run if the tensor depends on no input.
        """
        arrays = self._checked(inputs, 1)
        self._runs(arrays, None)
        with self._lock:
            return self._program.run(arrays)

    def _run_chunk(self, arrays: Sequence[Array]) -> list[Array]:
        values = self._program.run(arrays)
        outputs = (self._main.value(values, index) for index in self._results)
        return [value.copy() if self.stateful else value for value in outputs]

    def _runs(self, arrays: Sequence[Array], runs: int | None) -> int:
        if not isinstance(runs, int | None) or (runs is not None and runs < 0):
            raise UsageError(f"runs is a number of inferences, not {runs!r}")
        counts = {len(array) for array in arrays}
        if len(counts) > 1:
            raise UsageError(f"{self.model.name}: the inputs have different numbers of runs")
        count = counts.pop() if counts else 1 if runs is None else runs
        if runs not in (None, count):
            raise UsageError(f"{self.model.name}: inputs of {count} runs, not {runs}")
        if count == 0:
            raise UsageError(f"{self.model.name}: a batch of no inputs")
        return count

    def _checked(self, inputs: Sequence[Any], lead: int) -> list[Array]:
        """The inputs as arrays with ``lead`` axes before the tensor's own. Raises UsageError."""
        if isinstance(inputs, str | bytes | Mapping) or not hasattr(inputs, "__len__"):
            raise UsageError(
                f"{self.model.name}: inputs are a list of arrays, one for each input, not"
                f" {type(inputs).__name__}"
            )
        if len(inputs) != len(self._main.sources):
            raise UsageError(
                f"{self.model.name}: {len(inputs)} inputs given, the model has {len(self.inputs)}"
            )
        arrays = []
        for given, tensor, (_, shape, dtype) in zip(
            inputs, self.inputs, self._main.sources, strict=True
        ):
            array = given if type(given) is np.ndarray else _array(given, tensor)
            if array.dtype != dtype or array.shape[lead:] != shape or array.ndim < lead:
                before = "(runs, ...) of " if lead else ""
                raise UsageError(
                    f"{self.model.name}: input {tensor.name!r} needs {before}{tensor.dtype}"
                    f" {list(tensor.shape)}, not {array.dtype} {list(array.shape)}",
                    hint="quantize() converts real values to quantized ones",
                )
            arrays.append(array)
        return arrays


@cache
def _keep_memory() -> None:
    """Raises glibc's threshold above which freed arrays are returned to the kernel, once.

    The threshold is the size of the largest array freed so far (M_MMAP_THRESHOLD in mallopt(3)).
    Without page faults for each new array, many batches take half the time.
    """
    np.empty(_KEPT, np.uint8)


def loaded(model: Model | Path | str) -> Model:
    """``model``, or the model in that file. Raises UsageError for any other type."""
    if isinstance(model, Model):
        return model
    if isinstance(model, Path | str):
        return Model.from_file(model)
    raise UsageError(f"a model, or the path of one, is required, not {type(model).__name__}")


def _restored(data: bytes, name: str, arithmetic: Arithmetic, kernels: Kernels) -> Interpreter:
    return Interpreter(Model.from_bytes(data, name), arithmetic, kernels=kernels)


def _joined(parts: Sequence[Array], count: int) -> Array:
    """The chunks of one output; each chunk has one run if the output depends on no input."""
    if sum(map(len, parts)) == count:
        return np.concatenate(parts)
    return np.repeat(parts[0], count, axis=0)


def _array(given: Any, tensor: Tensor) -> Array:
    try:
        return np.asarray(given)
    except (TypeError, ValueError, OverflowError) as error:
        raise UsageError(f"input {tensor.name!r} is not an array: {error}") from None
