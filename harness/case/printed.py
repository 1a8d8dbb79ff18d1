"""Comparison of tensors that an image printed as text with the NumPy reference.

A printed number is exact only to its last digit: a quantized input that is printed as a real number
may be on either side of a step, and an output may be truncated or rounded. An output is therefore
right if it is the model's output for *some* input with the printed digits:

* quantized inputs: both sides of each element near a step are tried, for all outputs at once;
* float inputs: the changes of an output for one unit of the last digit of each input element are
  summed up and allowed;
* real outputs: one unit of the last digit, and the bound of float sums (reference/float_error).

A tolerance of the case replaces all of these but the first.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
import numpy.typing as npt

from harness.base.text import count_of
from harness.case.printed_outputs import (
    Differences,
    PrintedElements,
    PrintedLabels,
    PrintedOutput,
    as_mismatch,
    numbers_of,
)
from harness.model import Tensor
from harness.reference import Interpreter, alternatives, quantize
from harness.reference.float_error import allowed_in_batch
from harness.uart.scrapers import Check
from harness.uart.scrapers.base import REFERENCE, Stated, first_rows
from harness.uart.scrapers.readings import Elements, Labels, Readings

Array = npt.NDArray[np.generic]
Reals = npt.NDArray[np.float64]

#: Elements near a step whose 2^8 combinations are tried, for one inference; with more, none.
_MOST_NEAR = 8
#: Elements of float inputs that are varied by one unit of the last digit; with more, none.
_MOST_VARIED = 1024


@dataclass(frozen=True)
class PrintedComparison:
    """Compares readings with the results of ``interpreter``.

    ``known`` are the input tensors of each inference, if the case has them; the image must then
    compute each of them once, or, if it never ends (``ends`` false), over and over.
    """

    interpreter: Interpreter
    tolerance: float | None = None
    known: Sequence[Sequence[bytes]] = ()
    ends: bool = True

    def __call__(self, readings: Readings) -> Check:
        """Compare all complete inferences."""
        printed, rows = len(readings.lines), 0 if readings.inputs else len(self.known)
        count = min(printed, rows) if rows and self.ends else printed
        problems: tuple[str, ...] = ()
        if rows and self.ends and printed != rows:
            problems = (f"{count_of(printed, 'inference')} came, the inputs are {rows}",)
        if not count:
            return Check(problems=problems or ("no inference came whole",))
        wrong = self._wrong_shape(readings)
        if wrong:
            return Check(problems=(*problems, wrong))
        best = self._best_attempt(readings, count)
        return best.check(problems, readings.lines)

    def _wrong_shape(self, readings: Readings) -> str:
        """Describe how number or size of tensors differ from the model's; "" if they do not."""
        interpreter = self.interpreter
        roles = (
            ("input", readings.inputs, interpreter.inputs if readings.inputs else ()),
            ("output", readings.outputs, interpreter.outputs),
        )
        for role, read, tensors in roles:
            if len(read) != len(tensors):
                return f"{len(read)} {role}s are printed, the model has {len(tensors)}"
            for one, tensor in zip(read, tensors, strict=True):
                size = math.prod(tensor.shape)
                if isinstance(one, Elements) and len(one.values) != len(readings.lines) * size:
                    printed = count_of(len(one.values) // len(readings.lines), "number")
                    return f"{role} {tensor.name}: {printed} printed, it has {size}"
        return ""

    def counts(self, readings: Readings) -> tuple[int, int]:
        """The numbers of compared and of differing values."""
        count = len(readings.lines)
        return self._best_attempt(readings, count).counts() if count else (0, 0)

    def _best_attempt(self, readings: Readings, count: int) -> _Attempt:
        """The attempt with the fewest differences: an image rounds inputs or truncates."""
        read_outputs = zip(readings.outputs, self.interpreter.outputs, strict=True)
        outputs = tuple(self._output(*pair, count) for pair in read_outputs)
        if not readings.inputs:
            fixed = tuple(_Input.known(index, tensor, self.known, count)
                          for index, tensor in enumerate(self.interpreter.inputs))  # fmt: skip
            return _Attempt(self.interpreter, self.tolerance, fixed, outputs)
        ways = {"": False}
        pairs = list(zip(readings.inputs, self.interpreter.inputs, strict=True))
        if any(one.real and tensor.scale for one, tensor in pairs):
            ways = {"rounding": False, "truncation": True}
        best: _Attempt | None = None
        for name, truncate in ways.items():
            inputs = tuple(_Input.read(*pair, count, truncate=truncate) for pair in pairs)
            attempt = _Attempt(self.interpreter, self.tolerance, inputs, outputs, name)
            if best is None or attempt.wrong.sum() < best.wrong.sum():
                best = attempt
            if not best.wrong.any():
                break
        assert best is not None
        return best

    def _output(self, one: Elements | Labels, tensor: Tensor, count: int) -> PrintedOutput:
        if isinstance(one, Labels):
            return PrintedLabels.of(one, tensor, count, by_digits=self.tolerance is None)
        return PrintedElements.of(one, tensor, count)


@dataclass(frozen=True)
class _Input:
    """One input tensor of all inferences, (inferences, *shape).

    In ``low`` and ``high`` every element is one unit of its last digit lower or higher.
    """

    value: Array
    low: Array
    high: Array

    @classmethod
    def known(
        cls, index: int, tensor: Tensor, rows: Sequence[Sequence[bytes]], count: int
    ) -> _Input:
        chosen = b"".join(rows[number % len(rows)][index] for number in range(count))
        value = np.frombuffer(chosen, tensor.dtype).reshape(count, *tensor.shape)
        return cls(value, value, value)

    @classmethod
    def read(cls, one: Elements, tensor: Tensor, count: int, *, truncate: bool) -> _Input:
        values, units = numbers_of(one, tensor, count)

        def as_tensor(numbers: Reals) -> Array:
            if not (one.real and tensor.scale):
                return numbers.astype(tensor.dtype)
            return quantize(
                numbers, tensor.scale, tensor.zero_point, tensor.dtype, truncate=truncate
            )

        return cls(*map(as_tensor, (values, values - units, values + units)))

    def of_run(self, run: int) -> tuple[Array, Array, Array]:
        """Value, low and high of one inference."""
        return self.value[run], self.low[run], self.high[run]

    @property
    def is_float(self) -> bool:
        return self.value.dtype.kind == "f"


class _Attempt:
    """The comparison under the assumption that inputs were quantized in one way."""

    def __init__(
        self,
        interpreter: Interpreter,
        tolerance: float | None,
        inputs: tuple[_Input, ...],
        outputs: tuple[PrintedOutput, ...],
        way: str = "",
    ) -> None:
        self._interpreter, self._inputs, self._outputs, self._way = (
            interpreter, inputs, outputs, way
        )  # fmt: skip
        self._values = [one.value for one in inputs]
        interpreter.restart()
        self._computed = [np.array(one) for one in interpreter.invoke_batch(self._values)]
        self._allowed = [
            one.by_digits(value) if tolerance is None else np.full(value.shape, tolerance)
            for one, value in zip(outputs, self._computed, strict=True)
        ]
        self.wrong = self._wrong_runs()  # a bool for each inference
        if not interpreter.stateful:
            for run in np.flatnonzero(self.wrong):
                self._try_other_sides(int(run))
        if tolerance is None and self.wrong.any():
            self._allow_float_errors()

    def _wrong_runs(self) -> npt.NDArray[np.bool_]:
        """For each inference, whether any element differs."""
        triples = zip(self._outputs, self._computed, self._allowed, strict=True)
        agree = [one.agrees(value, allowed, slice(None)) for one, value, allowed in triples]
        wrong = [~each.reshape(len(each), -1).all(axis=1) for each in agree]
        return np.asarray(np.any(wrong, axis=0))

    def _try_other_sides(self, run: int) -> None:
        """Replace the input by another one with the same digits, if all outputs agree with that."""
        for inputs in _other_sides([one.of_run(run) for one in self._inputs]):
            computed = self._interpreter.invoke(inputs)
            triples = zip(self._outputs, computed, self._allowed, strict=True)
            if all(one.agrees(value, allowed, run).all() for one, value, allowed in triples):
                for batch, value in zip(self._computed, computed, strict=True):
                    batch[run] = value
                self.wrong[run] = False
                return

    def _allow_float_errors(self) -> None:
        """Allow for errors of float sums and of float inputs in the inferences that differ."""
        for index, output in enumerate(self._outputs):
            bound = allowed_in_batch(self._interpreter, self._values, index, self.wrong)
            for run in np.flatnonzero(self.wrong):
                bound[run] += self._input_error(int(run), index)
            self._allowed[index] = self._allowed[index] + output.scale * bound
        self.wrong = self._wrong_runs()

    def _input_error(self, run: int, index: int) -> Reals | float:
        """The sum of an output's changes when each float input element varies by a digit."""
        inputs = [one.of_run(run) for one in self._inputs]
        floats = [place for place, one in enumerate(self._inputs) if one.is_float]
        size = sum(inputs[place][0].size for place in floats)
        if not 0 < size <= _MOST_VARIED or self._interpreter.stateful:
            return 0.0
        varied: list[list[Array]] = []  # two sets of inputs for each element: lower and higher
        for place in floats:
            value, low, high = inputs[place]
            for at in range(value.size):
                for end in (low, high):
                    varied.append([one for one, *_ in inputs])
                    varied[-1][place] = _with(value, at, end)
        batch = [np.stack(column) for column in zip(*varied, strict=True)]
        others = self._interpreter.invoke_batch(batch)[index].astype(np.float64)
        changes = np.abs(others - self._computed[index][run].astype(np.float64))
        total: Reals = changes.reshape(size, 2, *changes.shape[1:]).max(axis=1).sum(axis=0)
        return total

    def counts(self) -> tuple[int, int]:
        """The number of values, and of those that differ."""
        triples = zip(self._outputs, self._computed, self._allowed, strict=True)
        agree = [one.agrees(value, allowed, slice(None)) for one, value, allowed in triples]
        return sum(each.size for each in agree), sum(int((~each).sum()) for each in agree)

    def check(self, problems: tuple[str, ...], lines: Sequence[int]) -> Check:
        """The result; ``lines`` are the console lines at which inferences were complete."""
        details = [f"inputs quantized by {self._way}"] if self._way else []
        parts = [self._differences(index) for index in range(len(self._outputs))]
        details += [part.details for part in parts if part.details]
        compared, mismatches = sum(one.compared for one in parts), sum(one.count for one in parts)
        mismatch = None
        if mismatches:
            text = f"{mismatches} of {compared} printed values are not what the model computes"
            mismatch = as_mismatch(text, parts)
            problems = (*problems, str(mismatch))
            places = (
                f"inference {run}: line {lines[int(run)]}" for run in np.flatnonzero(self.wrong)
            )
            details += first_rows(places)[1]
        if len(self.wrong) > 1 and all((value == value[0]).all() for value in self._values):
            details.append("all inferences had the same input")
        return Check(
            compared, mismatches, problems, "\n".join(details), compared_with=(REFERENCE,),
            stated=self._stated(), mismatch=mismatch,
        )  # fmt: skip

    def _differences(self, index: int) -> Differences:
        output, both = self._outputs[index], (self._computed[index], self._allowed[index])
        if isinstance(output, PrintedLabels):
            return output.differences(*both)
        others = {} if output.real else alternatives(
            self._interpreter, self._values, index, batch=True
        )  # fmt: skip
        return output.differences(*both, others)

    def _stated(self) -> Stated | None:
        """All tensors; None if labels stand for one."""
        outputs = [one.obtained for one in self._outputs if isinstance(one, PrintedElements)]
        if len(outputs) < len(self._outputs):
            return None
        ranges = tuple((one.low, one.high) for one in self._inputs)
        return Stated(tuple(self._values), tuple(outputs), ranges)


def _with(value: Array, at: int, end: Array) -> Array:
    """A copy of ``value`` with element ``at`` of ``end``."""
    changed = value.copy()
    changed.flat[at] = end.flat[at]
    return changed


def _other_sides(inputs: Sequence[tuple[Array, Array, Array]]) -> Iterator[list[Array]]:
    """Yield all combinations of low and high for the quantized elements in which they differ."""
    near = [
        (place, int(at))
        for place, (value, low, high) in enumerate(inputs)
        if value.dtype.kind != "f"
        for at in np.flatnonzero(low.ravel() != high.ravel())
    ]
    if not 0 < len(near) <= _MOST_NEAR:
        return
    for ends in product((1, 2), repeat=len(near)):
        changed = [value.copy() for value, *_ in inputs]
        for (place, at), end in zip(near, ends, strict=True):
            changed[place].flat[at] = inputs[place][end].flat[at]
        yield changed
