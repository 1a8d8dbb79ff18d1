"""Mutation analysis of a model: one operator computed wrongly, all others correctly."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from harness.base.errors import HilError
from harness.reference.arrays import Array
from harness.reference.blas import one_thread
from harness.reference.float_error import allowed_in_batch
from harness.reference.graph import PreparedOperator
from harness.reference.interpreter import Interpreter
from harness.reference.mistakes import PreparedMutant, mutants_of
from harness.reference.node import Node, Run
from harness.reference.registry import Kernels

#: Bytes of all tensors of the inferences that are traced at once.
_BATCH_BYTES = 1 << 26


@dataclass(frozen=True)
class Trial:
    """One mistake in one operator, by the operator's index ``step`` and its name."""

    step: int
    operator: str
    mistake: str

    def __str__(self) -> str:
        return f"operator {self.step} {self.operator} {self.mistake}"


class Examiner:
    """All mutants of one model, prepared.

    ``tolerance``, in the units of the outputs, replaces the computed error bounds.
    """

    def __init__(self, interpreter: Interpreter, tolerance: float | None = None) -> None:
        fresh = interpreter.with_arithmetic(interpreter.arithmetic)
        self.interpreter = fresh
        self.tolerance = tolerance
        self.stateful = fresh.stateful
        self._mutants = [
            (number, mutant)
            for number, step in enumerate(fresh.steps)
            for mutant in mutants_of(step.node, fresh.kernels)
        ]
        self.trials = tuple(
            Trial(number, fresh.steps[number].operator.name, mutant.mistake.name)
            for number, mutant in self._mutants
        )

    def mutant(self, trial: int) -> PreparedMutant:
        """The mutant of trial number ``trial``."""
        return self._mutants[trial][1]

    def noticed(self, inputs: Sequence[Array], trials: Sequence[int] | None = None) -> Array:
        """Whether each run notices each trial (default: all): bool (trials, runs).

        For a stateful model only the first run that notices a mistake is marked: later runs depend
        on it.
        """
        wanted = range(len(self.trials)) if trials is None else trials
        runs = len(inputs[0]) if len(inputs) else 1
        found = np.zeros((len(wanted), runs), bool)
        if self.stateful:
            for row, trial in enumerate(wanted):
                first = self._first_noticing_run(trial, inputs)
                if first is not None:
                    found[row, first] = True
            return found
        for part in self._parts(runs):
            batch = self.batch([array[part] for array in inputs])
            for row, trial in enumerate(wanted):
                found[row, part] = np.isinf(self.effect(batch, trial))
        return found

    def batch(self, inputs: Sequence[Array]) -> Batch:
        """The trace of ``inputs`` through a stateless model."""
        return Batch(self.interpreter, inputs, self.tolerance)

    def effect(self, batch: Batch, trial: int) -> Array:
        """The reach of a trial's difference in each run, see :meth:`Batch.effect`."""
        step, mutant = self._mutants[trial]
        return batch.effect(step, mutant.run)

    @property
    def batch_size(self) -> int:
        """The number of inferences that are traced at once; it bounds the memory."""
        run_bytes = sum(tensor.elements * 8 for tensor in self.interpreter.model.tensors)
        return max(1, min(256, _BATCH_BYTES // max(run_bytes, 1)))

    def _parts(self, runs: int) -> Iterator[slice]:
        for start in range(0, runs, self.batch_size):
            yield slice(start, start + self.batch_size)

    def _first_noticing_run(self, trial: int, inputs: Sequence[Array]) -> int | None:
        """The first of consecutive inferences whose outputs differ, or which is refused."""
        step, mutant = self._mutants[trial]
        right = self.interpreter
        wrong = Interpreter(
            right.model, right.arithmetic, kernels=kernels_with(mutant, step, right.kernels)
        )
        right.restart()
        expected = right.invoke_batch(inputs)
        outputs = []
        # One by one: invoke_batch vectorizes if the mutant removes the only state of the model.
        rows = list(zip(*inputs, strict=True)) or [()]
        for row in rows:
            try:
                outputs.append(wrong.invoke(list(row)))
            except HilError:  # a later operator refuses the wrong value
                break
        done = len(outputs)
        if done:
            obtained = [np.stack(column) for column in zip(*outputs, strict=True)]
            before = [array[:done] for array in expected]
            differs = _runs_differ(
                right, [array[:done] for array in inputs], before, obtained, self.tolerance
            )
            if differs.any():
                return int(differs.argmax())
        return done if done < len(rows) else None


def kernels_with(mutant: PreparedMutant, step: int, kernels: Kernels) -> Kernels:
    """``kernels`` with a mutant in place of operator ``step`` of the main graph."""

    class MutatedKernels(Kernels):
        def find(self, node: Node) -> Any:
            if node.graph or node.operator.index != step:
                return super().find(node)

            def kernel(node: Node) -> Run:
                mutated = mutant.mistake.change(node)
                assert mutated is not None
                return mutated.prepare(kernels)

            return kernel

    return MutatedKernels(kernels.builtin, kernels.custom)


class Batch:
    """Independent inferences of a stateless model, with the values of all tensors."""

    def __init__(
        self, interpreter: Interpreter, inputs: Sequence[Array], tolerance: float | None = None
    ) -> None:
        self.interpreter = interpreter
        self.tolerance = tolerance
        self.inputs = inputs
        self.runs = len(inputs[0]) if len(inputs) else 1
        self._values: dict[int, Array | None] = {
            -1: None,
            **interpreter.constants,
            **interpreter.trace(inputs),
        }
        self._elements = sum(tensor.elements for tensor in interpreter.model.tensors)
        self._outputs = [tensor.index for tensor in interpreter.outputs]
        self._allowed: dict[int, tuple[Array, Array]] = {}

    def value(self, index: int) -> Array | None:
        """A tensor (runs, ...); one run if all have the same value. None: index -1."""
        return self._values[index]

    def effect(self, step: int, run: Run) -> Array:
        """The reach of the difference if ``run`` replaces operator ``step``: float64 (runs,).

        It is the number of operators whose outputs differ, or infinity if those of the model do.
        """
        reach = np.zeros(self.runs)
        rows = np.arange(self.runs)
        changed: dict[int, Array] = {}
        with np.errstate(all="ignore"), one_thread(self._elements):
            for number, prepared in enumerate(self.interpreter.steps[step:], step):
                if number > step and not any(index in changed for index in prepared.inputs):
                    continue
                function = run if number == step else prepared.run
                rows, changed = self._after(prepared, function, rows, changed)
                if not rows.size:
                    return reach
                reach[rows] += 1
            reach[rows[self._outputs_differ(rows, changed)]] = np.inf
        return reach

    def _after(
        self, prepared: PreparedOperator, run: Run, rows: Array, changed: dict[int, Array]
    ) -> tuple[Array, dict[int, Array]]:
        """The runs that differ after one more operator, and their changed tensors."""
        inputs = [
            changed[index] if index in changed else self._value_in(index, rows)
            for index in prepared.inputs
        ]
        try:
            result = run(*inputs)
        except HilError:  # the operator refuses the values: on a device, inference stops
            result = [self._wrong_value(tensor.index, rows) for tensor in prepared.outputs]
        results = [result] if isinstance(result, np.ndarray) else list(result)
        for tensor, array in zip(prepared.outputs, results, strict=True):
            full = array if len(array) == len(rows) else np.repeat(array, len(rows), axis=0)
            right = self._value_in(tensor.index, rows)
            if right is not None and not _equal(full, right):
                changed = {**changed, tensor.index: full}
            else:
                changed = {index: each for index, each in changed.items() if index != tensor.index}
        differing = np.zeros(len(rows), bool)
        for index, array in changed.items():
            right = self._value_in(index, rows)
            assert right is not None
            differing |= _rows_differ(array, right)
        return rows[differing], {index: array[differing] for index, array in changed.items()}

    def _wrong_value(self, index: int, rows: Array) -> Array:
        """A value that differs from the correct one in every element."""
        right = self._value_in(index, rows)
        assert right is not None
        return ~right if right.dtype.kind in "iub" else np.full_like(right, np.inf)

    def _value_in(self, index: int, rows: Array) -> Array | None:
        """The correct value of a tensor in these runs."""
        value = self._values[index]
        if value is None or index in self.interpreter.constants:
            return value
        if len(value) == self.runs:
            return value[rows]
        return np.repeat(value, len(rows), axis=0)

    def _outputs_differ(self, rows: Array, changed: Mapping[int, Array]) -> Array:
        """Whether an output of the model differs by more than allowed: bool, one per row."""
        found = np.zeros(len(rows), bool)
        for place, index in enumerate(self._outputs):
            if index in changed:
                right = self._value_in(index, rows)
                assert right is not None
                found |= _rows_differ(changed[index], right, self._bound(place, rows))
        return found

    def _bound(self, place: int, rows: Array) -> float | Array | None:
        """The allowed errors of output ``place`` in these runs, cached by run."""
        if self.tolerance is not None or not _has_floats(self.interpreter):
            return self.tolerance
        shape = self.interpreter.outputs[place].shape
        known, bound = self._allowed.setdefault(
            place, (np.zeros(self.runs, bool), np.zeros((self.runs, *shape)))
        )
        missing = np.zeros(self.runs, bool)
        missing[rows] = ~known[rows]
        if missing.any():
            fresh = allowed_in_batch(self.interpreter, self.inputs, place, missing)
            bound[missing], known[missing] = fresh[missing], True
        return bound[rows]


def _has_floats(interpreter: Interpreter) -> bool:
    return any(tensor.dtype == "float32" for tensor in interpreter.model.tensors)


def _equal(a: Array, b: Array) -> bool:
    return a.dtype == b.dtype and bool(np.array_equal(a, b, equal_nan=a.dtype.kind == "f"))


def _rows_differ(a: Array, b: Array, allowed: float | Array | None = None) -> Array:
    """Whether any element of each row differs by more than ``allowed``; NaN equals NaN."""
    wrong = a != b
    if a.dtype.kind == "f":
        wrong &= ~(np.isnan(a) & np.isnan(b))
    if allowed is not None:
        with np.errstate(invalid="ignore"):
            distance = np.abs(a.astype(np.float64) - b.astype(np.float64))
        wrong &= ~(distance <= allowed)
    return np.asarray(wrong.reshape(len(wrong), -1).any(axis=1))


def _runs_differ(
    interpreter: Interpreter,
    inputs: Sequence[Array],
    expected: Sequence[Array],
    obtained: Sequence[Array],
    tolerance: float | None,
) -> Array:
    """Whether any output differs by more than allowed: bool (runs,), of a sequence of runs."""
    found = np.zeros(len(expected[0]), bool)
    for place, (right, wrong) in enumerate(zip(expected, obtained, strict=True)):
        candidates = _rows_differ(wrong, right, tolerance)
        if candidates.any() and tolerance is None and _has_floats(interpreter):
            allowed = allowed_in_batch(interpreter, inputs, place, candidates)
            candidates = _rows_differ(wrong, right, allowed)
        found |= candidates
    return found
