"""A search for test vectors: few inputs that notice many plausible mistakes in a model's operators.

First, random inputs of many kinds (noise of several densities, extremes, flat areas, single
elements) are drawn until they notice no further mistake. Then there is a hill climb for each
remaining mistake: the inputs whose difference reaches most operators are mutated repeatedly. The
result is a greedy cover of all noticing inputs. One seed makes a search repeatable.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

import numpy as np

from harness.base.arithmetic import Arithmetic
from harness.base.errors import HilError, UsageError
from harness.model import Model, Tensor
from harness.reference.adequacy import Adequacy, examine
from harness.reference.arrays import Array
from harness.reference.examiner import Examiner
from harness.reference.interpreter import Interpreter, loaded
from harness.reference.node import NUMPY_TYPES
from harness.reference.proofs import proven

#: Default for the most inputs that a search returns; a greedy cover rarely needs so many.
COUNT = 64
#: Most batches of random inputs; so many without a newly noticed mistake end the drawing.
_DRAWS = 12
_FRUITLESS_DRAWS = 3
#: Of a hill climb: parents of each round, children of each parent, rounds.
_PARENTS = 6
_CHILDREN = 6
_ROUNDS = 12
#: Of a stateful model's sequence: inferences of one extension, extensions.
_SEQUENCE = 8
_EXTENSIONS = 12

#: The range of floats without given inputs is -8 to 8.
_REAL = 8.0

#: Called with the finished work, all work, and the number of mistakes not yet noticed.
Progress = Callable[[int, int, int], None]
#: A function like ``map``, perhaps over processes.
Map = Callable[..., Iterable[Any]]
#: One array of shape (runs, ...) for each input of the model.
Inputs = list[Array]


@dataclass(frozen=True)
class FoundVectors:
    """The found inputs, one array (runs, ...) for each input of the model, and their adequacy."""

    inputs: tuple[Array, ...]
    adequacy: Adequacy
    seed: int
    seconds: float

    def arrays(self) -> dict[str, Array]:
        """The inputs by number, as in the .npz files of cases and of ``tflm-hil reference``."""
        return {str(number): array for number, array in enumerate(self.inputs)}


def find_vectors(
    model: Model | str,
    given: Sequence[Array] = (),
    *,
    arithmetic: Arithmetic = Arithmetic(),  # noqa: B008 - frozen
    count: int = COUNT,
    seed: int = 0,
    over: Map = map,
    progress: Progress | None = None,
) -> FoundVectors:
    """At most ``count`` inputs that notice as many mistakes as the search finds noticeable.

    ``given`` inputs, arrays (runs, ...), are candidates, and floats are drawn from their range
    (without them from -8 to 8). For a stateful model the result is one sequence, to be run in order
    after a restart. ``over`` maps hill climbs, for example over a process pool. Raises UsageError
    for a model without inputs, and for another number of given inputs.
    """
    if count < 1:
        raise UsageError(f"{count} inputs are requested", hint="--count 64, for example")
    start = time.monotonic()
    interpreter = Interpreter(loaded(model), arithmetic)
    if not interpreter.inputs:
        raise UsageError(f"{interpreter.model.name} has no inputs that a search could vary")
    if len(given) not in (0, len(interpreter.inputs)):
        raise UsageError(
            f"{interpreter.model.name}: {len(given)} inputs given, the model has"
            f" {len(interpreter.inputs)}"
        )
    source = Source.of(interpreter, given)
    search = _sequence if interpreter.stateful else _independent
    inputs = search(Examiner(interpreter), source, list(given), count, seed, over, progress)
    found = examine(interpreter, inputs)
    return FoundVectors(tuple(inputs), found, seed, time.monotonic() - start)


@dataclass(frozen=True)
class Source:
    """A source of random inputs of one model; ``ranges`` are (low, high) for each input."""

    tensors: tuple[Tensor, ...]
    ranges: tuple[tuple[float, float], ...]

    @classmethod
    def of(cls, interpreter: Interpreter, given: Sequence[Array]) -> Source:
        """The source for a model; integers span their type, floats the range of ``given``."""
        ranges = []
        for place, tensor in enumerate(interpreter.inputs):
            dtype = NUMPY_TYPES[tensor.dtype]
            if dtype.kind in "iu":
                info = np.iinfo(dtype)
                ranges.append((float(info.min), float(info.max)))
            elif dtype.kind == "b":
                ranges.append((0.0, 1.0))
            elif len(given):
                ranges.append((float(np.min(given[place])), float(np.max(given[place]))))
            else:
                ranges.append((-_REAL, _REAL))
        return cls(tuple(interpreter.inputs), tuple(ranges))

    def draw(self, rng: np.random.Generator, runs: int) -> Inputs:
        """``runs`` random inputs, each of a random kind."""
        kinds = rng.integers(0, len(_KINDS), runs)
        return [
            self._stored(place, np.stack([_KINDS[kind](rng, self._size(place)) for kind in kinds]))
            for place in range(len(self.tensors))
        ]

    def mutate(self, rng: np.random.Generator, parents: Inputs, children: int) -> Inputs:
        """``children`` mutated copies of each of the parents."""
        result = []
        for place, array in enumerate(parents):
            low, high = self.ranges[place]
            flat = np.repeat(array.reshape(len(array), -1), children, axis=0).astype(np.float64)
            unit = (flat - low) / ((high - low) or 1.0)
            for row in range(len(unit)):
                mutation = _MUTATIONS[int(rng.integers(0, len(_MUTATIONS)))]
                unit[row] = mutation(rng, unit[row].copy(), unit[int(rng.integers(0, len(unit)))])
            result.append(self._stored(place, np.clip(unit, 0, 1)))
        return result

    def _size(self, place: int) -> int:
        return self.tensors[place].elements

    def _stored(self, place: int, unit: Array) -> Array:
        """Values 0 to 1, (runs, elements), scaled to the range, type and shape of an input."""
        tensor, (low, high) = self.tensors[place], self.ranges[place]
        dtype = NUMPY_TYPES[tensor.dtype]
        real = low + unit * (high - low)
        whole = np.rint(real) if dtype.kind in "iub" else real
        return np.clip(whole, low, high).astype(dtype).reshape(len(unit), *tensor.shape)


def _sparse(rng: np.random.Generator, size: int) -> Array:
    """A constant with few other elements."""
    x = np.full(size, rng.choice([0.0, 0.5, 1.0]))
    x[rng.integers(0, size, max(1, size // 16))] = rng.random()
    return x


def _blocks(rng: np.random.Generator, size: int) -> Array:
    """Stretches of equal values."""
    width = int(rng.integers(1, max(2, size // 2)))
    return np.repeat(rng.random(size // width + 1), width)[:size]


#: Kinds of random inputs: ``size`` values from 0 to 1.
_KINDS: tuple[Callable[[np.random.Generator, int], Array], ...] = (
    lambda rng, size: rng.random(size),
    lambda rng, size: rng.integers(0, 2, size).astype(np.float64),
    lambda rng, size: np.full(size, rng.choice([0.0, 1.0, rng.random()])),
    lambda rng, size: np.clip(0.5 + rng.normal(0, 0.5 ** rng.integers(1, 8), size), 0, 1),
    lambda rng, size: np.linspace(0, 1, size) if rng.random() < 0.5 else np.linspace(1, 0, size),
    lambda rng, size: rng.beta(0.2, 0.2, size),
    _sparse,
    _blocks,
)


def _some(rng: np.random.Generator, size: int) -> Array:
    """The indices of some elements: scattered or contiguous."""
    if rng.random() < 0.5:
        return rng.integers(0, size, max(1, size >> int(rng.integers(0, 10))))
    start, width = int(rng.integers(0, size)), max(1, size >> int(rng.integers(1, 6)))
    return np.arange(start, min(size, start + width))


def _redrawn(rng: np.random.Generator, x: Array, _: Array) -> Array:
    places = _some(rng, len(x))
    x[places] = rng.random(len(places))
    return x


def _extreme(rng: np.random.Generator, x: Array, _: Array) -> Array:
    x[_some(rng, len(x))] = rng.integers(0, 2)
    return x


def _crossed(rng: np.random.Generator, x: Array, other: Array) -> Array:
    return np.where(rng.random(len(x)) < 0.5, x, other)


def _nudged(rng: np.random.Generator, x: Array, _: Array) -> Array:
    places = _some(rng, len(x))
    x[places] += rng.normal(0, 0.5 ** rng.integers(1, 8), len(places))
    return x


def _contrast(rng: np.random.Generator, x: Array, _: Array) -> Array:
    return np.asarray(0.5 + (x - 0.5) * rng.uniform(0, 2) + rng.normal(0, 0.1))


#: Mutations of one input, values from about 0 to 1; the third argument is another input.
_MUTATIONS = (_redrawn, _extreme, _crossed, _nudged, _contrast)


# Models whose inferences are independent.


def _independent(
    examiner: Examiner,
    source: Source,
    given: Inputs,
    count: int,
    seed: int,
    over: Map,
    progress: Progress | None,
) -> Inputs:
    """A cover by given inputs, random inputs and the results of hill climbs."""
    rng = np.random.default_rng(seed)
    pool = _Pool(examiner, progress)
    if given:
        pool.add(given)
    fruitless = 0
    for _ in range(_DRAWS):
        if not pool.unnoticed or fruitless == _FRUITLESS_DRAWS:
            break
        drawn = _accepted(examiner, source.draw(rng, min(64, examiner.batch_size)))
        gained = drawn is not None and pool.add(drawn)
        fruitless = 0 if gained else fruitless + 1
    if pool.empty:
        raise UsageError(
            f"{examiner.interpreter.model.name} refuses all of the inputs that were drawn",
            hint="give inputs that it accepts: --inputs mine.npz",
        )
    pool.climb(source, seed, over)
    return pool.cover(count)


def _accepted(examiner: Examiner, inputs: Inputs) -> Inputs | None:
    """The inputs that the model does not refuse (an index may be out of range); None: none."""
    if _is_accepted(examiner, inputs):
        return inputs
    rows = [
        row
        for row in range(len(inputs[0]))
        if _is_accepted(examiner, [array[row : row + 1] for array in inputs])
    ]
    return [array[rows] for array in inputs] if rows else None


def _is_accepted(examiner: Examiner, inputs: Inputs) -> bool:
    try:
        examiner.interpreter.trace(inputs)
    except HilError:
        return False
    return True


class _Pool:
    """Inputs that notice mistakes; ``unnoticed`` are the numbers of the remaining trials."""

    def __init__(self, examiner: Examiner, progress: Progress | None) -> None:
        self._examiner = examiner
        self._progress = progress
        self._kept: list[Inputs] = []
        self.unnoticed = list(range(len(examiner.trials)))

    @property
    def empty(self) -> bool:
        """True while no input was kept."""
        return not self._kept

    def add(self, inputs: Inputs) -> bool:
        """Keeps inputs that notice further mistakes, and at least one input.

        Returns True if further mistakes are noticed.
        """
        found = self._examiner.noticed(inputs, self.unnoticed)
        rows = _greedy(found) or ([] if self._kept else [0])
        if rows:
            self._kept.append([array[rows] for array in inputs])
        before = len(self.unnoticed)
        self.unnoticed = _remaining(self.unnoticed, found)
        self._report(0, 0)
        return len(self.unnoticed) < before

    def climb(self, source: Source, seed: int, over: Map) -> None:
        """Adds the results of a hill climb for each remaining mistake that is not equivalent."""
        equivalent = proven(self._examiner, self.unnoticed)
        trials = [each for each in self.unnoticed if self._examiner.trials[each] not in equivalent]
        self.unnoticed = trials.copy()
        right = self._examiner.interpreter
        start = [array[-_PARENTS * 4 :] for array in self._all()]
        one = partial(
            _hill_climb, right.model.data, right.model.name, right.arithmetic, source, start
        )
        for done, (trial, inputs) in enumerate(
            zip(trials, over(one, trials, [seed + 1 + each for each in trials]), strict=True)
        ):
            if inputs is not None and trial in self.unnoticed:
                self.add(inputs)
            self._report(done + 1, len(trials))

    def cover(self, count: int) -> Inputs:
        """A greedy cover by at most ``count`` of the inputs, in the order of their addition."""
        everything = self._all()
        rows = _greedy(self._examiner.noticed(everything)) or [0]
        chosen = sorted(rows[:count])
        return [array[chosen] for array in everything]

    def _all(self) -> Inputs:
        return [np.concatenate(parts) for parts in zip(*self._kept, strict=True)]

    def _report(self, done: int, total: int) -> None:
        if self._progress is not None:
            self._progress(done, total, len(self.unnoticed))


def _remaining(trials: Sequence[int], found: Array) -> list[int]:
    """The trials that no run notices; ``found`` is bool (trials, runs)."""
    return [trial for trial, seen in zip(trials, found, strict=True) if not seen.any()]


def _greedy(found: Array) -> list[int]:
    """A greedy set cover: the fewest runs, best first, that notice all noticed trials.

    ``found`` is bool (trials, runs).
    """
    left, chosen = found.copy(), []
    while left.any():
        best = int(left.sum(axis=0).argmax())
        chosen.append(best)
        left[left[:, best]] = False
    return chosen


@lru_cache(maxsize=1)  # once per worker process: it takes longer than a hill climb
def _examiner(data: bytes, name: str, arithmetic: Arithmetic) -> Examiner:
    return Examiner(Interpreter(Model.from_bytes(data, name), arithmetic))


def _hill_climb(
    data: bytes,
    name: str,
    arithmetic: Arithmetic,
    source: Source,
    start: Inputs,
    trial: int,
    seed: int,
) -> Inputs | None:
    """One input that notices the mistake of ``trial``, or None."""
    examiner, rng = _examiner(data, name, arithmetic), np.random.default_rng(seed)
    parents = start
    for _ in range(_ROUNDS):
        drawn = source.draw(rng, _PARENTS)
        mutated = source.mutate(rng, parents, _CHILDREN)
        candidates = [np.concatenate(parts) for parts in zip(parents, mutated, drawn, strict=True)]
        accepted = _accepted(examiner, candidates)
        if accepted is None:
            return None
        fitness = _fitness(examiner, trial, accepted)
        best = np.argsort(-fitness, kind="stable")[:_PARENTS]
        if np.isinf(fitness[best[0]]):
            return [array[best[:1]] for array in accepted]
        parents = [array[best] for array in accepted]
    return None


def _fitness(examiner: Examiner, trial: int, inputs: Inputs) -> Array:
    """float64 (runs,): the reach of the difference, plus up to 0.5 for the spread of the outputs.

    The spread counts because clamps and accumulators differ at the ends of an operator's range.
    """
    size = examiner.batch_size
    parts = []
    for start in range(0, len(inputs[0]), size):
        batch = examiner.batch([array[start : start + size] for array in inputs])
        effect = examiner.effect(batch, trial)
        step = examiner.interpreter.steps[examiner.trials[trial].step]
        value = batch.value(step.outputs[0].index) if step.outputs else None
        if value is not None and value.dtype != bool:
            flat = np.nan_to_num(value.reshape(len(value), -1).astype(np.float64))
            spread = np.ptp(flat, axis=1)
            scale = np.abs(spread).max() or 1.0
            effect = effect + np.where(effect < np.inf, 0.5 * spread / scale, 0)
        parts.append(effect)
    return np.concatenate(parts)


# Stateful models.


def _sequence(
    examiner: Examiner,
    source: Source,
    given: Inputs,
    count: int,
    seed: int,
    over: Map,
    progress: Progress | None,
) -> Inputs:
    """One sequence, extended where that notices further mistakes."""
    rng = np.random.default_rng(seed)
    sequence = given or source.draw(rng, min(count, _SEQUENCE))
    unnoticed = list(range(len(examiner.trials)))
    unnoticed = _remaining(unnoticed, examiner.noticed(sequence, unnoticed))
    for extension in range(_EXTENSIONS):
        room = count - len(sequence[0])
        if not unnoticed or room < 1:
            break
        more = source.draw(rng, min(room, _SEQUENCE))
        longer = [np.concatenate(parts) for parts in zip(sequence, more, strict=True)]
        remaining = _remaining(unnoticed, examiner.noticed(longer, unnoticed))
        if len(remaining) < len(unnoticed):
            sequence, unnoticed = longer, remaining
        if progress is not None:
            progress(extension + 1, _EXTENSIONS, len(unnoticed))
    return sequence


def by_operator(adequacy: Adequacy) -> Mapping[str, tuple[int, int]]:
    """Operator name -> (noticed, possible) trials, in the order of the model."""
    table: dict[str, tuple[int, int]] = {}
    for trial in adequacy.trials:
        if trial in adequacy.equivalent:
            continue
        seen, possible = table.get(trial.operator, (0, 0))
        table[trial.operator] = seen + (trial not in adequacy.missed), possible + 1
    return table
