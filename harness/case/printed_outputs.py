"""The outputs of a model as an image printed them: all elements, or names of the largest ones."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from harness.case.mismatch import mismatch_of
from harness.model import Tensor
from harness.reference import compare, dequantize
from harness.reference.comparison import Alternatives, Comparison, distinguishable
from harness.reference.patterns import INFERENCES, pattern_of_labels
from harness.uart.scrapers.base import Mismatch, first_rows
from harness.uart.scrapers.readings import Elements, Labels

Array = npt.NDArray[np.generic]
Reals = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

#: Relative error of (q - zero_point) * scale in single precision.
_DEQUANTIZED = 2.0**-22


@dataclass(frozen=True)
class Differences:
    """The comparison of one output: ``details`` is "" if all values agree.

    ``comparison`` is that of elements, ``mismatch`` that of labels.
    """

    name: str
    compared: int
    count: int
    details: str = ""
    comparison: Comparison | None = None
    mismatch: Mismatch | None = None


@dataclass(frozen=True)
class PrintedElements:
    """All elements of one output: real numbers, or the tensor's own type."""

    tensor: Tensor
    real: bool
    obtained: Array  # (inferences, *shape)
    units: Reals

    @classmethod
    def of(cls, one: Elements, tensor: Tensor, count: int) -> PrintedElements:
        """The elements of the first ``count`` inferences."""
        values, units = numbers_of(one, tensor, count)
        return cls(tensor, one.real, values if one.real else values.astype(tensor.dtype), units)

    @property
    def scale(self) -> float:
        """The printed value of one unit of the tensor."""
        return _scale(self.tensor, real=self.real)

    def by_digits(self, computed: Array) -> Reals:
        """The error that the printed digits allow, element by element."""
        if not (self.real and self.tensor.scale):
            return self.units
        return self.units + np.abs(_as_printed(computed, self.tensor, real=True)) * _DEQUANTIZED

    def agrees(self, computed: Array, allowed: Reals, run: int | slice) -> Bools:
        """Which elements of a run, or of several, differ by at most ``allowed``."""
        expected = _as_printed(computed, self.tensor, real=self.real).astype(np.float64)
        return np.asarray(np.abs(self.obtained[run].astype(np.float64) - expected) <= allowed[run])

    def differences(self, computed: Array, allowed: Reals, others: Alternatives) -> Differences:
        """The comparison of all inferences; ``others``: what may explain differences."""
        comparison = compare(
            self.obtained, _as_printed(computed, self.tensor, real=self.real), tolerance=allowed,
            alternatives=others, rows=INFERENCES,
        )  # fmt: skip
        name = self.tensor.name
        details = "" if comparison.equal else f"{name} [inference, element ...]: {comparison}"
        return Differences(name, comparison.total, comparison.mismatches, details, comparison)


@dataclass(frozen=True)
class PrintedLabels:
    """The names of one output's largest elements, in the order of rank, perhaps with their values.

    A name is right if its element may have its rank when every element is off by the allowed error;
    of equal elements any is right.
    """

    tensor: Tensor
    labels: Labels
    places: npt.NDArray[np.int64]  # (inferences, ranks)
    scores: Reals
    units: Reals

    @classmethod
    def of(cls, one: Labels, tensor: Tensor, count: int, *, by_digits: bool) -> PrintedLabels:
        """The labels of the first ``count`` inferences; ``by_digits``: scores to the last digit."""
        size, shape = count * one.count, (count, one.count)
        places = np.array(one.places[:size], np.int64).reshape(shape)
        scores, units = (
            np.array(each[:size], np.float64).reshape(shape) for each in (one.scores, one.units)
        )
        return cls(tensor, one, places, scores, units if by_digits else units * 0)

    @property
    def scale(self) -> float:
        """The printed value of one unit of the tensor."""
        return _scale(self.tensor, real=self.labels.real)

    def by_digits(self, computed: Array) -> Reals:
        """The error of the elements that digits allow: none, only scores have any."""
        return np.zeros(computed.shape)

    def agrees(self, computed: Array, allowed: Reals, run: int | slice) -> Bools:
        """Which names, and behind them which scores, of a run or of several are right."""
        return np.hstack(self._judged(computed, allowed, run)[:2])

    def _judged(
        self, computed: Array, allowed: Reals, run: int | slice
    ) -> tuple[Bools, Bools, npt.NDArray[np.int64]]:
        """Right names, right scores (none if none are printed), and the place of each rank."""
        count = self.labels.count
        values = computed.reshape(-1, math.prod(self.tensor.shape)).astype(np.float64)
        limits = allowed[run].reshape(values.shape)
        places = self.places[run].reshape(-1, count)
        low, high = values - limits / self.scale, values + limits / self.scale
        least, most = (-np.sort(-each, axis=1)[:, :count] for each in (low, high))
        right = (_taken(high, places) >= least) & (_taken(low, places) <= most)
        for rank in range(1, count):
            right[:, rank] &= (places[:, :rank] != places[:, rank : rank + 1]).all(axis=1)
        ranked = np.argsort(-values, axis=1, kind="stable")[:, :count]
        expected = np.where(right, places, ranked)
        if not self.labels.scored:
            return right, np.empty((len(values), 0), np.bool_), expected
        printed = _as_printed(computed, self.tensor, real=self.labels.real)
        wanted = _taken(printed.reshape(values.shape).astype(np.float64), expected)
        bound = _taken(limits, expected) + self.units[run].reshape(-1, count)
        scores = self.scores[run].reshape(-1, count)
        close = np.abs(scores - wanted) <= bound + np.abs(wanted) * _DEQUANTIZED
        return right, close, expected

    def differences(self, computed: Array, allowed: Reals) -> Differences:
        """The comparison of all inferences."""
        right, close, expected = self._judged(computed, allowed, slice(None))
        wrong = int((~right).sum() + (~close).sum())
        total, name = right.size + close.size, self.tensor.name
        if not wrong:
            return Differences(name, total, 0)
        real = self.labels.real or not self.labels.scored
        shown = _as_printed(computed, self.tensor, real=real).reshape(len(right), -1)
        sentences = self._sentences(right, close, expected, shown)
        runs = np.flatnonzero(~(right.all(axis=1) & close.all(axis=1)))
        _, rows = first_rows(sentences)
        cause = self._cause(expected) if close.all() else ""
        return Differences(
            name, total, wrong,
            "\n  ".join([f"{name}: {wrong} of {total} labels and scores differ", *rows]),
            mismatch=Mismatch("", rows[0], cause, (int(runs[0]),)),
        )  # fmt: skip

    def _cause(self, expected: npt.NDArray[np.int64]) -> str:
        """What explains every label; "" if nothing does."""
        if self.labels.count > 1:
            return ""
        got, wanted = (
            [self.labels.names[place] for place in each.ravel()]
            for each in (self.places, expected)
        )  # fmt: skip
        found = pattern_of_labels(got, wanted, INFERENCES)
        return f"label {found}" if found else ""

    def _sentences(
        self, right: Bools, close: Bools, expected: npt.NDArray[np.int64], shown: Array
    ) -> Iterator[str]:
        """One sentence for each name and each score that is wrong."""
        names = self.labels.names
        for run, rank in np.argwhere(~right):
            got, wanted = self.places[run, rank], expected[run, rank]
            which = f"label {rank + 1}" if self.labels.count > 1 else "label"
            place = "largest" if rank == 0 else f"number {rank + 1}"
            correct = f"the model's {place} is {names[wanted]!r} ({shown[run, wanted]:.6g})"
            told = "it came before" if got == wanted else correct
            yield f"{which} of inference {run} is {names[got]!r}, {told}"
        for run, rank in np.argwhere(~close):
            place = expected[run, rank]
            pair = distinguishable(float(self.scores[run, rank]), float(shown[run, place]))
            yield "score of {!r} in inference {} is {}, expected {}".format(
                names[place], run, *pair
            )


PrintedOutput = PrintedElements | PrintedLabels


def as_mismatch(count: str, parts: Sequence[Differences]) -> Mismatch:
    """``count`` with what differs in all outputs; of several kinds no cause explains everything."""
    elements = [
        (one.name, one.comparison) for one in parts if one.count and one.comparison is not None
    ]
    labels = [one.mismatch for one in parts if one.mismatch is not None]
    if not labels:
        return mismatch_of(count, elements)
    if not elements and len(labels) == 1:
        return replace(labels[0], count=count)
    found = [*([mismatch_of(count, elements)] if elements else []), *labels]
    rows = sorted({row for one in found for row in one.rows})
    return replace(found[0], count=count, cause="", rows=tuple(rows))


def numbers_of(one: Elements, tensor: Tensor, count: int) -> tuple[Reals, Reals]:
    """Values and units of the last digit of ``count`` inferences, (count, *shape)."""
    size = count * math.prod(tensor.shape)
    shape = (count, *tensor.shape)
    values, units = (np.array(each[:size], np.float64) for each in (one.values, one.units))
    return values.reshape(shape), units.reshape(shape)


def _scale(tensor: Tensor, *, real: bool) -> float:
    return tensor.scale if real and tensor.scale else 1.0


def _as_printed(computed: Array, tensor: Tensor, *, real: bool) -> Array:
    """Convert a tensor of the reference to the printed form."""
    if not real:
        return computed
    if tensor.scale:
        computed = dequantize(computed, tensor.scale, tensor.zero_point)
    return computed.astype(np.float64)


def _taken(values: Reals, places: npt.NDArray[np.int64]) -> Reals:
    return np.take_along_axis(values, places, axis=1)
