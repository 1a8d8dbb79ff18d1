"""Running a whole model with the NumPy kernels."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache, cached_property
from pathlib import Path
from threading import Lock
from typing import Any
from weakref import ref

import numpy as np

from harness.arithmetic import Arithmetic
from harness.errors import UsageError
from harness.model import Model, Operator, Tensor
from harness.reference.fixedpoint import Array
from harness.reference.graph import Program, Step
from harness.reference.node import NUMPY_TYPES, Run
from harness.reference.plan import Plan
from harness.reference.registry import Kernels
from harness.reference.streams import Streams, streams
from harness.reference.values import LastValues

#: What one chunk of a batch may take for its tensors: sums take eight times as much, which the
#: cache should hold.
CHUNK_BYTES = 1 << 22
#: Memory that the process keeps after a batch, for the next one.
_KEPT = 16 << 20
#: How much more a chunk of consecutive inferences may take: most of its bytes are windows, which
#: sums are much smaller than.
_WINDOWS = 4


class Interpreter:
    """Runs a model, bit-exactly as TFLM's reference kernels do for integers.

    ``arithmetic`` says which integers the device's build computes. Variable tensors (the state of
    SVDF and LSTM), resource variables and what streaming operators keep last from one inference to
    the next, as on the device, until :meth:`reset` or :meth:`restart`.
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
                f"{arithmetic!r} is no Arithmetic", hint='Arithmetic(rounding="single"), say'
            )
        if not isinstance(kernels, Kernels | None):
            raise UsageError(f"kernels is a {type(kernels).__name__}, not Kernels")
        self.model = loaded(model)
        self.arithmetic = arithmetic
        self.kernels = kernels or Kernels.default()
        self._program = Program.of(self.model, self.kernels, arithmetic)
        self._main = self._program.graphs[0]
        self._run_bytes = sum(graph.bytes for graph in self._program.graphs)
        self._wanted = [
            (place, each.shape, NUMPY_TYPES[each.dtype])
            for place, each in enumerate(self._main.inputs)
        ]
        self._results = tuple(tensor.index for tensor in self._main.outputs)
        self._plan: Plan | None = None
        self._lock = Lock()
        self._begun = False  # CALL_ONCE has run
        self._values: Mapping[int, Array] = {}
        self._seen: Callable[[], LastValues | None] = _nobody

    @classmethod
    def from_file(
        cls,
        path: Path | str,
        arithmetic: Arithmetic = Arithmetic(),  # noqa: B008 - frozen
        *,
        kernels: Kernels | None = None,
    ) -> Interpreter:
        """Read ``path`` and prepare it. Raises BadModel, UnsupportedOperator."""
        return cls(path, arithmetic, kernels=kernels)

    @classmethod
    def from_model(
        cls,
        model: Model | Path | str,
        arithmetic: Arithmetic = Arithmetic(),  # noqa: B008 - frozen
        *,
        kernels: Kernels | None = None,
    ) -> Interpreter:
        """Prepare a model. Raises BadModel, UnsupportedOperator."""
        return cls(model, arithmetic, kernels=kernels)

    def with_arithmetic(self, arithmetic: Arithmetic) -> Interpreter:
        """A new interpreter of the same model and kernels."""
        return type(self)(self.model, arithmetic, kernels=self.kernels)

    def __repr__(self) -> str:
        inputs, outputs = (
            ", ".join(f"{each.dtype} {list(each.shape)}" for each in tensors) or "nothing"
            for tensors in (self.inputs, self.outputs)
        )
        return f"<Interpreter of {self.model.name}: {inputs} -> {outputs}>"

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled as the model's bytes; the copy starts as after a reboot."""
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
        """The values of all computed tensors of the last :meth:`invoke`, by tensor index; copies.

        Model inputs are among them, constants are not. Empty before the first inference.
        """
        seen = self._seen()
        if seen is None:
            seen = LastValues(self.model, self._values)
            self._seen = ref(seen)
        return seen

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
        with self._lock:
            self._forget()
            self._program.reset(restart=False)

    def restart(self) -> None:
        """As after a reboot: :meth:`reset`, and CALL_ONCE initialises anew."""
        with self._lock:
            self._forget()
            self._program.reset(restart=True)
            self._begun = False

    def invoke(self, inputs: Sequence[Any]) -> list[Array]:
        """One inference: one array for each input, of its shape and dtype; the outputs likewise.

        Raises UsageError where number, shape or dtype of the arrays is wrong.
        """
        arrays = inputs if self._fit(inputs) else self._checked(inputs, 0)
        with self._lock:
            plan = self._planned()
            outputs = plan.run(arrays)
            self._values, self._begun = plan.values, True
        return outputs

    def _fit(self, inputs: Sequence[Any]) -> bool:
        """True for what nearly everybody gives, a list of the right arrays: the quick check."""
        if type(inputs) is not list or len(inputs) != len(self._wanted):
            return False
        for place, shape, dtype in self._wanted:
            given = inputs[place]
            if type(given) is not np.ndarray or given.dtype is not dtype or given.shape != shape:
                return False
        return True

    def _planned(self) -> Plan:
        """The plan of one inference, made at the first, free to write on its buffers."""
        if self._plan is None:
            self._plan = Plan(self._main)
        self._forget()
        return self._plan

    def _forget(self) -> None:
        """No values any more; the mapping that somebody has of them keeps what it shows."""
        if self._seen is not _nobody:
            seen = self._seen()
            if seen is not None:
                seen.keep()
            self._seen = _nobody
        self._values = {}

    def invoke_batch(self, inputs: Sequence[Any], runs: int | None = None) -> list[Array]:
        """Many inferences at once: arrays of shape (runs, *input shape) -> (runs, *output shape).

        The result is that of :meth:`invoke` on one after another. Models that remember more than
        their last rows (see :mod:`harness.reference.streams`) really run that way; all others run
        vectorised, in chunks that bound the memory.
        ``runs`` is how many of a model without inputs (default 1).
        """
        arrays = self._checked(inputs, 1)
        count = self._runs(arrays, runs)
        _keep_memory()

        if self.stateful:
            parts = self._consecutive(arrays, count)
        elif not arrays:
            parts = [self._together(arrays, slice(0, 1))] * count
        else:
            parts = [self._together(arrays, part) for part in _slices(0, count, self._chunk)]
        return [_joined(column, count) for column in zip(*parts, strict=True)]

    @property
    def _chunk(self) -> int:
        """How many inferences at once use the memory well."""
        return max(1, CHUNK_BYTES // max(self._run_bytes, 1))

    def _together(
        self, arrays: Sequence[Array], part: slice, instead: Mapping[int, Run] | None = None
    ) -> list[Array]:
        values = self._program.run([array[part] for array in arrays], instead)
        return [self._main.value(values, index) for index in self._results]

    def _consecutive(self, arrays: Sequence[Array], count: int) -> list[list[Array]]:
        """Inferences of a model with a state, in parts.

        The first one after a start is alone: it runs what CALL_ONCE calls.
        """
        with self._lock:
            remembered = self._streams
            alone = count if remembered is None else 0 if self._begun else 1
            values = self._values
            if alone:  # which writes on the plan's buffers
                values = {index: value.copy() for index, value in values.items()}
            plan = self._planned()
            rows = [plan.run([array[row] for array in arrays]) for row in range(alone)]
            parts = [[output[None] for output in row] for row in rows]
            if remembered is not None:
                for part in _slices(alone, count, _WINDOWS * self._chunk):
                    instead = remembered.instead(part.stop - part.start)
                    outputs = self._together(arrays, part, instead)
                    parts.append([_joined([each], part.stop - part.start) for each in outputs])
            self._values, self._begun = values, True
        return parts

    @cached_property
    def _streams(self) -> Streams | None:
        return streams(self._program)

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
        """The inputs as arrays; ``lead`` axes come before a tensor's own."""
        if isinstance(inputs, str | bytes | Mapping) or not hasattr(inputs, "__len__"):
            raise UsageError(
                f"{self.model.name}: inputs are a list of arrays, one for each input, not"
                f" {type(inputs).__name__}"
            )
        if len(inputs) != len(self._wanted):
            raise UsageError(
                f"{self.model.name}: {len(inputs)} inputs given, the model has {len(self._wanted)}"
            )
        arrays = []
        for given, (place, shape, dtype) in zip(inputs, self._wanted, strict=True):
            tensor = self.inputs[place]
            array = given if type(given) is np.ndarray else _array(given, tensor)
            if array.dtype != dtype or array.shape[lead:] != shape or array.ndim < lead:
                before = "(runs, ...) of " if lead else ""
                raise UsageError(
                    f"{self.model.name}: input {tensor.name!r} needs {before}{tensor.dtype}"
                    f" {list(tensor.shape)}, not {array.dtype} {list(array.shape)}",
                    hint="quantize() turns real values into quantized ones",
                )
            arrays.append(array)
        return arrays


@cache
def _keep_memory() -> None:
    """A C library gives large freed arrays back to the kernel and gets new ones page by page.

    glibc does so with what is larger than the largest that was freed before (mallopt(3)): one that
    is freed at once spares half of the time of many batches.
    """
    np.empty(_KEPT, np.uint8)


def _nobody() -> None:
    """Stands for a mapping that nobody has any more."""


def loaded(model: Model | Path | str) -> Model:
    """A model, read where a path is given. Raises UsageError for anything else."""
    if isinstance(model, Model):
        return model
    if isinstance(model, Path | str):
        return Model.from_file(model)
    raise UsageError(f"a model, or the path of one, is wanted, not {type(model).__name__}")


def _restored(data: bytes, name: str, arithmetic: Arithmetic, kernels: Kernels) -> Interpreter:
    return Interpreter(Model.from_bytes(data, name), arithmetic, kernels=kernels)


def _slices(first: int, end: int, chunk: int) -> list[slice]:
    """The runs from ``first`` to ``end`` in slices of up to ``chunk``."""
    return [slice(start, min(start + chunk, end)) for start in range(first, end, chunk)]


def _joined(parts: Sequence[Array], count: int) -> Array:
    """The parts of one output; one that depends on no input has one run in each part."""
    if sum(map(len, parts)) == count:
        return np.concatenate(parts)
    return np.repeat(parts[0], count, axis=0)


def _array(given: Any, tensor: Tensor) -> Array:
    try:
        return np.asarray(given)
    except (TypeError, ValueError, OverflowError) as error:
        raise UsageError(f"input {tensor.name!r} is no array: {error}") from None
