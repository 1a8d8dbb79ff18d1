"""Mistakes tried on inputs: one operator computed wrongly, the rest of the model rightly."""

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
from harness.reference.mistakes import Mistaken, mistakes_of
from harness.reference.node import Node, Run
from harness.reference.registry import Kernels

#: Bytes of all tensors of the inferences that are examined at once.
_BATCH_BYTES = 1 << 26


@dataclass(frozen=True)
class Trial:
    """One mistake in one operator: ``step`` is its index, ``operator`` its name."""

    step: int
    operator: str
    mistake: str

    def __str__(self) -> str:
        return f"operator {self.step} {self.operator} {self.mistake}"


class Examiner:
    """All mistakes that one model can have, ready to be tried on inputs."""

    def __init__(self, interpreter: Interpreter, tolerance: float | None = None) -> None:
        fresh = interpreter.with_arithmetic(interpreter.arithmetic)
        self.interpreter = fresh
        self.tolerance = tolerance
        self.stateful = fresh.stateful
        self._made = [
            (number, mistaken)
            for number, step in enumerate(fresh.steps)
            for mistaken in mistakes_of(step.node, fresh.kernels)
        ]
        self.trials = tuple(
            Trial(number, fresh.steps[number].operator.name, mistaken.mistake.name)
            for number, mistaken in self._made
        )

    def mistaken(self, trial: int) -> Mistaken:
        """The mistake of a trial, ready to run."""
        return self._made[trial][1]

    def noticed(self, inputs: Sequence[Array], trials: Sequence[int] | None = None) -> Array:
        """Whether each trial is noticed by each run: bool (trials, runs).

        The first run of a model with a memory that notices a mistake is marked, as later ones
        depend on it.
        """
        wanted = range(len(self.trials)) if trials is None else trials
        runs = len(inputs[0]) if len(inputs) else 1
        found = np.zeros((len(wanted), runs), bool)
        if self.stateful:
            for row, trial in enumerate(wanted):
                first = self._first_in_sequence(trial, inputs)
                if first is not None:
                    found[row, first] = True
            return found
        for part in self._parts(runs):
            batch = self.batch([array[part] for array in inputs])
            for row, trial in enumerate(wanted):
                found[row, part] = batch.noticed(*self._step(trial))
        return found

    def _step(self, trial: int) -> tuple[int, Run]:
        number, mistaken = self._made[trial]
        return number, mistaken.run

    def batch(self, inputs: Sequence[Array]) -> Batch:
        """These inputs traced through a model without a memory."""
        return Batch(self.interpreter, inputs, self.tolerance)

    def effect(self, batch: Batch, trial: int) -> Array:
        """How far a trial's difference comes in each run, see :meth:`Batch.effect`."""
        return batch.effect(*self._step(trial))

    @property
    def batch_size(self) -> int:
        """How many inferences are traced at once, so that memory stays bounded."""
        each = sum(tensor.elements * 8 for tensor in self.interpreter.model.tensors)
        return max(1, min(256, _BATCH_BYTES // max(each, 1)))

    def _parts(self, runs: int) -> Iterator[slice]:
        for start in range(0, runs, self.batch_size):
            yield slice(start, start + self.batch_size)

    def _first_in_sequence(self, trial: int, inputs: Sequence[Array]) -> int | None:
        """The first of consecutive inferences whose outputs differ."""
        number, mistaken = self._made[trial]
        right = self.interpreter
        wrong = Interpreter(
            right.model, right.arithmetic, kernels=_with_mistake(right.kernels, number, mistaken)
        )
        right.restart()
        expected = right.invoke_batch(inputs)
        try:
            obtained = _in_order(wrong, inputs)
        except HilError:  # the wrong value breaks an operator behind it
            return 0
        differs = _differs(right, inputs, expected, obtained, self.tolerance)
        return int(differs.argmax()) if differs.any() else None


def _in_order(interpreter: Interpreter, inputs: Sequence[Array]) -> list[Array]:
    """Inference by inference: an operator that forgets may be the only one with a memory."""
    rows = zip(*inputs, strict=True)
    outputs = [interpreter.invoke(list(row)) for row in rows]
    return [np.stack(column) for column in zip(*outputs, strict=True)]


def _with_mistake(kernels: Kernels, step: int, mistaken: Mistaken) -> Kernels:
    """The kernels with a mistake in one operator of the main graph."""

    class Changed(Kernels):
        def find(self, node: Node) -> Any:
            if node.graph or node.operator.index != step:
                return super().find(node)

            def kernel(node: Node) -> Run:
                variant = mistaken.mistake.change(node)
                assert variant is not None
                return variant.prepare(kernels)

            return kernel

    return Changed(kernels.builtin, kernels.custom)


class Batch:
    """Independent inferences with all their tensors."""

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
        """A tensor with an axis of runs, or of one run if it is the same in all."""
        return self._values[index]

    def noticed(self, step: int, run: Run) -> Array:
        """Whether the outputs of each run differ if operator ``step`` runs as ``run``."""
        return np.isinf(self.effect(step, run))

    def effect(self, step: int, run: Run) -> Array:
        """(runs,): the number of operators that give another output; infinite where noticed."""
        depth = np.zeros(self.runs)
        with np.errstate(all="ignore"), one_thread(self._elements):
            for rows, changed, last in self._course(step, run):
                depth[rows] += 1
                if last:
                    depth[rows[self._differs(rows, changed)]] = np.inf
        return depth

    def _course(self, step: int, run: Run) -> Iterator[tuple[Array, dict[int, Array], bool]]:
        """The runs that still differ and their changed tensors, after each operator in turn."""
        rows = np.arange(self.runs)
        changed: dict[int, Array] = {}
        steps = self.interpreter.steps
        for number in range(step, len(steps)):
            prepared = steps[number]
            if number > step and not any(index in changed for index in prepared.inputs):
                continue
            function = run if number == step else prepared.run
            rows, changed = self._advanced(prepared, function, rows, changed)
            if not rows.size:
                return
            yield rows, changed, False
        yield rows, changed, True

    def _advanced(
        self, prepared: PreparedOperator, run: Run, rows: Array, changed: dict[int, Array]
    ) -> tuple[Array, dict[int, Array]]:
        """One operator more: the rows in which any tensor is still changed, and the tensors."""
        given = [self._of_rows(index, rows, changed) for index in prepared.inputs]
        try:
            result = run(*given)
        except HilError:  # values that this operator refuses: noticed by a stop
            result = [self._broken(tensor.index, rows) for tensor in prepared.outputs]
        results = [result] if isinstance(result, np.ndarray) else list(result)
        for tensor, array in zip(prepared.outputs, results, strict=True):
            full = array if len(array) == len(rows) else np.repeat(array, len(rows), axis=0)
            right = self._of_rows(tensor.index, rows, {})
            if right is not None and not _equal(full, right):
                changed = {**changed, tensor.index: full}
            else:
                changed = {index: each for index, each in changed.items() if index != tensor.index}
        alive = np.zeros(len(rows), bool)
        for index, array in changed.items():
            right = self._of_rows(index, rows, {})
            assert right is not None
            alive |= _rows_differ(array, right)
        return rows[alive], {index: array[alive] for index, array in changed.items()}

    def _broken(self, index: int, rows: Array) -> Array:
        """Other values than the right ones."""
        right = self._of_rows(index, rows, {})
        assert right is not None
        return ~right if right.dtype.kind in "iub" else np.full_like(right, np.inf)

    def _of_rows(self, index: int, rows: Array, changed: Mapping[int, Array]) -> Array | None:
        if index in changed:
            return changed[index]
        value = self._values[index]
        if value is None or index in self.interpreter.constants:
            return value
        if len(value) == self.runs:
            return value[rows]
        return np.repeat(value, len(rows), axis=0)

    def _differs(self, rows: Array, changed: Mapping[int, Array]) -> Array:
        found = np.zeros(len(rows), bool)
        for place, index in enumerate(self._outputs):
            if index in changed:
                right = self._of_rows(index, rows, {})
                assert right is not None
                allowed = self._bound(place, rows)
                found |= _rows_differ(changed[index], right, allowed)
        return found

    def _bound(self, place: int, rows: Array) -> float | Array | None:
        """The allowed errors of an output in these runs, computed once for each run."""
        if self.tolerance is not None or not _real(self.interpreter):
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


def _real(interpreter: Interpreter) -> bool:
    return any(tensor.dtype == "float32" for tensor in interpreter.model.tensors)


def _equal(one: Array, other: Array) -> bool:
    return one.dtype == other.dtype and bool(
        np.array_equal(one, other, equal_nan=one.dtype.kind == "f")
    )


def _rows_differ(one: Array, other: Array, allowed: float | Array | None = None) -> Array:
    """Whether any element of each row differs by more than ``allowed``; NaN equals NaN."""
    wrong = one != other
    if one.dtype.kind == "f":
        wrong &= ~(np.isnan(one) & np.isnan(other))
    if allowed is not None:
        with np.errstate(invalid="ignore"):
            distance = np.abs(one.astype(np.float64) - other.astype(np.float64))
        wrong &= ~(distance <= allowed)
    return np.asarray(wrong.reshape(len(wrong), -1).any(axis=1))


def _differs(
    interpreter: Interpreter,
    inputs: Sequence[Array],
    expected: Sequence[Array],
    obtained: Sequence[Array],
    tolerance: float | None,
) -> Array:
    """Whether any output differs in each of a sequence of runs."""
    found = np.zeros(len(expected[0]), bool)
    for place, (right, wrong) in enumerate(zip(expected, obtained, strict=True)):
        candidates = _rows_differ(wrong, right, tolerance)
        if candidates.any() and tolerance is None and _real(interpreter):
            fresh = interpreter.with_arithmetic(interpreter.arithmetic)
            allowed = allowed_in_batch(fresh, inputs, place, candidates)
            candidates = _rows_differ(wrong, right, allowed)
        found |= candidates
    return found
