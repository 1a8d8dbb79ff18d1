"""Tensors that an image printed as text, compared with the NumPy reference.

What is printed is known to its last digit only. A quantized input that was printed as a real number
may stand on either side of a step, and an output may have been cut or rounded. So an answer is
right if it is the model's answer to *some* input that may have been printed so:

* quantized inputs: both sides of each element near a step are tried, for all outputs at once;
* float inputs: an output may move by the sum of what it moves for one unit of the last digit of
  each input element;
* real outputs: one unit of the last digit, and the bound of float sums (reference/float_error).

A tolerance of the case stands in place of all of these but the first.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
import numpy.typing as npt

from harness.base.text import count_of
from harness.model import Tensor
from harness.reference import Interpreter, alternatives, compare, dequantize, quantize
from harness.reference.float_error import allowed_in_batch
from harness.uart.scrapers import Check
from harness.uart.scrapers.base import REFERENCE, first_rows
from harness.uart.scrapers.readings import Elements, Readings

Array = npt.NDArray[np.generic]
Reals = npt.NDArray[np.float64]

#: Elements near a step of which all combinations are tried, for one inference.
_MOST_NEAR = 8
#: Elements of float inputs that are moved by their last digit; with more, only digits count.
_MOST_MOVED = 1024
#: The roundings of (q - zero_point) * scale in single precision, relative.
_DEQUANTIZED = 2.0**-22
_FEW_DIGITS = "inputs that are printed with few digits are not known: print more, or quantized ones"


@dataclass(frozen=True)
class PrintedComparison:
    """Compares readings with what ``interpreter`` computes.

    ``known`` are the input tensors of each inference, if the case has them; then as many must come.
    An image that never ends (``ends`` false) begins again with the first after the last.
    """

    interpreter: Interpreter
    tolerance: float | None = None
    known: Sequence[Sequence[bytes]] = ()
    ends: bool = True

    def __call__(self, readings: Readings) -> Check:
        """The comparison of all complete inferences."""
        came, rows = len(readings.lines), len(self.known)
        count = min(came, rows) if rows and self.ends else came
        problems: tuple[str, ...] = ()
        if rows and self.ends and came != rows:
            problems = (f"{count_of(came, 'inference')} came, the inputs are {rows}",)
        if not count:
            return Check(problems=problems or ("no inference came whole",))
        best = self._best(readings, count)
        return best.check(problems, readings.lines)

    def counts(self, readings: Readings) -> tuple[int, int]:
        """How many values are compared and how many differ, without an explanation."""
        count = len(readings.lines)
        return self._best(readings, count).counts() if count else (0, 0)

    def _best(self, readings: Readings, count: int) -> _Attempt:
        """The way of quantizing inputs that fits best; an image uses one throughout."""
        sinks = zip(readings.outputs, self.interpreter.outputs, strict=True)
        outputs = tuple(_Output.of(*pair, count) for pair in sinks)
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


@dataclass(frozen=True)
class _Input:
    """One input tensor of all inferences, (inferences, *shape).

    ``low`` and ``high`` are the tensors if every element stood one unit of its last digit lower or
    higher.
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
        values, units = _numbers(one, tensor, count)

        def as_tensor(numbers: Reals) -> Array:
            if not (one.real and tensor.scale):
                return numbers.astype(tensor.dtype)
            return quantize(
                numbers, tensor.scale, tensor.zero_point, tensor.dtype, truncate=truncate
            )

        return cls(*map(as_tensor, (values, values - units, values + units)))

    def of_run(self, run: int) -> tuple[Array, Array, Array]:
        """The value, the lower and the higher one in one inference."""
        return self.value[run], self.low[run], self.high[run]

    @property
    def is_float(self) -> bool:
        return self.value.dtype.kind == "f"


@dataclass(frozen=True)
class _Output:
    """One output tensor as it was printed: real numbers, or the tensor's own type."""

    tensor: Tensor
    obtained: Array  # (inferences, *shape)
    units: Reals
    real: bool

    @classmethod
    def of(cls, one: Elements, tensor: Tensor, count: int) -> _Output:
        values, units = _numbers(one, tensor, count)
        return cls(tensor, values if one.real else values.astype(tensor.dtype), units, one.real)

    @property
    def scale(self) -> float:
        """The worth of one unit of the tensor in what was printed."""
        return self.tensor.scale if self.real and self.tensor.scale else 1.0

    def wanted(self, computed: Array) -> Array:
        """What the reference computed, in the form in which it was printed."""
        if not self.real:
            return computed
        if self.tensor.scale:
            computed = dequantize(computed, self.tensor.scale, self.tensor.zero_point)
        return computed.astype(np.float64)

    def by_digits(self, computed: Array) -> Reals:
        """By how much the elements may differ because of their printed digits."""
        if not (self.real and self.tensor.scale):
            return self.units
        return self.units + np.abs(self.wanted(computed).astype(np.float64)) * _DEQUANTIZED

    def agrees(self, computed: Array, allowed: Reals, run: int | slice) -> npt.NDArray[np.bool_]:
        """Which elements of inference ``run``, or of several, differ by at most ``allowed``."""
        apart = self.obtained[run].astype(np.float64) - self.wanted(computed).astype(np.float64)
        return np.asarray(np.abs(apart) <= allowed[run])


class _Attempt:
    """What the reference computes for the inputs as they were quantized in one way."""

    def __init__(
        self,
        interpreter: Interpreter,
        tolerance: float | None,
        inputs: tuple[_Input, ...],
        outputs: tuple[_Output, ...],
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
                self._take_other_side(int(run))
        if tolerance is None and self.wrong.any():
            self._widen()

    def _wrong_runs(self) -> npt.NDArray[np.bool_]:
        """The inferences in which any element differs."""
        triples = zip(self._outputs, self._computed, self._allowed, strict=True)
        agree = [one.agrees(value, allowed, slice(None)) for one, value, allowed in triples]
        wrong = [~each.reshape(len(each), -1).all(axis=1) for each in agree]
        return np.asarray(np.any(wrong, axis=0))

    def _take_other_side(self, run: int) -> None:
        """Take another input that may have been printed so, if all outputs fit it."""
        for inputs in _sides([one.of_run(run) for one in self._inputs]):
            computed = self._interpreter.invoke(inputs)
            triples = zip(self._outputs, computed, self._allowed, strict=True)
            if all(one.agrees(value, allowed, run).all() for one, value, allowed in triples):
                for mine, value in zip(self._computed, computed, strict=True):
                    mine[run] = value
                self.wrong[run] = False
                return

    def _widen(self) -> None:
        """Allow what floats may be off by in the inferences that differ."""
        for index, output in enumerate(self._outputs):
            bound = allowed_in_batch(self._interpreter, self._values, index, self.wrong)
            for run in np.flatnonzero(self.wrong):
                bound[run] += self._moved(int(run), index)
            self._allowed[index] = self._allowed[index] + output.scale * bound
        self.wrong = self._wrong_runs()

    def _moved(self, run: int, index: int) -> Reals | float:
        """How far an output moves when the last digits of float input elements do: the sum."""
        ends = [one.of_run(run) for one in self._inputs]
        floats = [place for place, one in enumerate(self._inputs) if one.is_float]
        size = sum(ends[place][0].size for place in floats)
        if not 0 < size <= _MOST_MOVED or self._interpreter.stateful:
            return 0.0
        changed = [
            [_with(value, at, end) if i == place else value for i, (value, *_) in enumerate(ends)]
            for place in floats
            for at in range(ends[place][0].size)
            for end in ends[place][1:]
        ]
        batch = [np.stack(column) for column in zip(*changed, strict=True)]
        others = self._interpreter.invoke_batch(batch)[index].astype(np.float64)
        apart = np.abs(others - self._computed[index][run].astype(np.float64))
        total: Reals = apart.reshape(size, 2, *apart.shape[1:]).max(axis=1).sum(axis=0)
        return total

    def counts(self) -> tuple[int, int]:
        """How many values there are, and how many of them differ."""
        triples = zip(self._outputs, self._computed, self._allowed, strict=True)
        agree = [one.agrees(value, allowed, slice(None)) for one, value, allowed in triples]
        return sum(each.size for each in agree), sum(int((~each).sum()) for each in agree)

    def check(self, problems: tuple[str, ...], lines: Sequence[int]) -> Check:
        """The result of the comparison; ``lines``: where each inference was complete."""
        details = [f"inputs quantized by {self._way}"] if self._way else []
        compared = mismatches = 0
        for index, output in enumerate(self._outputs):
            others = {} if output.real else alternatives(
                self._interpreter, self._values, index, batch=True
            )  # fmt: skip
            wanted = output.wanted(self._computed[index])
            comparison = compare(
                output.obtained, wanted, tolerance=self._allowed[index], alternatives=others
            )
            compared += comparison.total
            mismatches += comparison.mismatches
            if not comparison.equal:
                details.append(f"{output.tensor.name} [inference, element ...]: {comparison}")
        if mismatches:
            text = f"{mismatches} of {compared} printed values are not what the model computes"
            problems = (*problems, text)
            places = (
                f"inference {run}: line {lines[int(run)]}" for run in np.flatnonzero(self.wrong)
            )
            details += first_rows(places)[1]
        if len(self.wrong) > 1 and all((value == value[0]).all() for value in self._values):
            details.append("all inferences had the same input")
        return Check(compared, mismatches, problems, "\n".join(details), compared_with=(REFERENCE,))


def _numbers(one: Elements, tensor: Tensor, count: int) -> tuple[Reals, Reals]:
    """Values and units of the first ``count`` inferences, (count, *shape)."""
    size = count * math.prod(tensor.shape)
    shape = (count, *tensor.shape)
    values, units = (np.array(each[:size], np.float64) for each in (one.values, one.units))
    return values.reshape(shape), units.reshape(shape)


def _with(value: Array, at: int, end: Array) -> Array:
    """``value`` with element ``at`` of ``end``."""
    changed = value.copy()
    changed.flat[at] = end.flat[at]
    return changed


def _sides(inputs: Sequence[tuple[Array, Array, Array]]) -> Iterator[list[Array]]:
    """All combinations of the quantized elements whose low and high ends differ."""
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
