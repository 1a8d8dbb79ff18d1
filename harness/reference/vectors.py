"""Inputs that tell a model's operators from their plausible mistakes, found by search.

First inputs of many kinds are drawn until they notice nothing new: noise of several densities,
extremes, flat areas, single elements. Then each mistake that is left is climbed for by itself: the
inputs whose difference reaches most operators are changed a little, again and again. A greedy cover
of all that was found is small. Everything is drawn from one seed, so that a search can be repeated.
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

#: The most inputs that a search returns; a greedy cover rarely needs so many.
COUNT = 64
#: Batches of drawn inputs, and how many without anything new end the drawing.
_DRAWS = 12
_QUIET_DRAWS = 3
#: Inputs that are climbed from, changes of each, and rounds for one mistake.
_PARENTS = 6
_CHILDREN = 6
_ROUNDS = 12
#: Inferences of a model with a memory that are added at once, and how often.
_SEQUENCE = 8
_EXTENSIONS = 12

#: The ends of floats where no inputs are given; half of the draws are close to 0.
_REAL = 8.0

#: Called with the work that is done and all work, and the number of mistakes still missed.
Progress = Callable[[int, int, int], None]
#: ``map`` of the caller: over processes, or Python's own.
Map = Callable[..., Iterable[Any]]
#: One array of shape (runs, ...) for each input of the model.
Inputs = list[Array]


@dataclass(frozen=True)
class FoundVectors:
    """The inputs that were found, (runs, ...) for each input of the model, and their adequacy."""

    inputs: tuple[Array, ...]
    adequacy: Adequacy
    seed: int
    seconds: float

    def arrays(self) -> dict[str, Array]:
        """By the numbers of the inputs, as in an .npz that a case or ``reference`` reads."""
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
    """At most ``count`` inputs that notice as many mistakes as were found to be noticeable.

    ``given`` inputs, (runs, ...) each, are taken where they serve, and floats are drawn from their
    range (without them: -8 to 8). A model with a memory gets one sequence, to be run in order after
    a restart. Raises UsageError for a model without inputs.
    """
    if count < 1:
        raise UsageError(f"{count} inputs are asked for", hint="--count 64, for example")
    start = time.monotonic()
    interpreter = Interpreter(loaded(model), arithmetic)
    if not interpreter.inputs:
        raise UsageError(f"{interpreter.model.name} has no inputs: nothing can be varied")
    source = Source.of(interpreter, given)
    search = _sequence if interpreter.stateful else _independent
    inputs = search(Examiner(interpreter), source, list(given), count, seed, over, progress)
    found = examine(interpreter, inputs)
    return FoundVectors(tuple(inputs), found, seed, time.monotonic() - start)


@dataclass(frozen=True)
class Source:
    """Draws inputs of one model. ``ranges`` are the ends of each input's values."""

    tensors: tuple[Tensor, ...]
    ranges: tuple[tuple[float, float], ...]

    @classmethod
    def of(cls, interpreter: Interpreter, given: Sequence[Array]) -> Source:
        """Integers have the range of their type, floats that of the given inputs."""
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
        """``runs`` inputs, each of a kind of its own."""
        kinds = rng.integers(0, len(_KINDS), runs)
        return [
            self._stored(place, np.stack([_KINDS[kind](rng, self._size(place)) for kind in kinds]))
            for place in range(len(self.tensors))
        ]

    def change(self, rng: np.random.Generator, parents: Inputs, children: int) -> Inputs:
        """``children`` changed copies of each of the parents."""
        result = []
        for place, array in enumerate(parents):
            low, high = self.ranges[place]
            flat = np.repeat(array.reshape(len(array), -1), children, axis=0).astype(np.float64)
            unit = (flat - low) / ((high - low) or 1.0)
            for row in range(len(unit)):
                change = _CHANGES[int(rng.integers(0, len(_CHANGES)))]
                unit[row] = change(rng, unit[row].copy(), unit[int(rng.integers(0, len(unit)))])
            result.append(self._stored(place, np.clip(unit, 0, 1)))
        return result

    def _size(self, place: int) -> int:
        return self.tensors[place].elements

    def _stored(self, place: int, unit: Array) -> Array:
        """Values from 0 to 1, (runs, elements), in the range and type of an input."""
        tensor, (low, high) = self.tensors[place], self.ranges[place]
        dtype = NUMPY_TYPES[tensor.dtype]
        real = low + unit * (high - low)
        whole = np.rint(real) if dtype.kind in "iub" else real
        return np.clip(whole, low, high).astype(dtype).reshape(len(unit), *tensor.shape)


def _sparse(rng: np.random.Generator, size: int) -> Array:
    """A flat ground with few other elements."""
    x = np.full(size, rng.choice([0.0, 0.5, 1.0]))
    x[rng.integers(0, size, max(1, size // 16))] = rng.random()
    return x


def _blocks(rng: np.random.Generator, size: int) -> Array:
    """Runs of equal values."""
    width = int(rng.integers(1, max(2, size // 2)))
    return np.repeat(rng.random(size // width + 1), width)[:size]


#: Each gives ``size`` values from 0 to 1.
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
    """The indices of a part of the elements: few, many, or neighbours."""
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


#: Each changes one input, values from about 0 to 1, perhaps by another one.
_CHANGES = (_redrawn, _extreme, _crossed, _nudged, _contrast)


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
    """A small cover of what was given, drawn and climbed for."""
    rng = np.random.default_rng(seed)
    pool = _Pool(examiner, progress)
    if given:
        pool.add(given)
    quiet, empty = 0, 0
    for _ in range(_DRAWS):
        if not pool.left or quiet == _QUIET_DRAWS:
            break
        drawn = _accepted(examiner, source.draw(rng, min(64, examiner.batch_size)))
        empty += drawn is None
        gained = drawn is not None and pool.add(drawn)
        quiet = 0 if gained else quiet + 1
    if pool.empty:
        raise UsageError(
            f"{examiner.interpreter.model.name} refuses all of the inputs that were drawn",
            hint="give inputs that it takes: --inputs mine.npz",
        )
    pool.climb(source, seed, over)
    return pool.cover(count)


def _accepted(examiner: Examiner, inputs: Inputs) -> Inputs | None:
    """Those of the inputs that the model takes (indices can be out of range); None: none."""
    try:
        examiner.interpreter.trace(inputs)
    except HilError:
        pass
    else:
        return inputs
    rows = [row for row in range(len(inputs[0])) if _takes(examiner, inputs, row)]
    return [array[rows] for array in inputs] if rows else None


def _takes(examiner: Examiner, inputs: Inputs, row: int) -> bool:
    try:
        examiner.interpreter.trace([array[row : row + 1] for array in inputs])
    except HilError:
        return False
    return True


class _Pool:
    """Inputs that notice something, and what is left to notice."""

    def __init__(self, examiner: Examiner, progress: Progress | None) -> None:
        self._examiner = examiner
        self._progress = progress
        self._kept: list[Inputs] = []
        self.left = list(range(len(examiner.trials)))

    @property
    def empty(self) -> bool:
        """True while no input was kept."""
        return not self._kept

    def add(self, inputs: Inputs) -> bool:
        """Keep what notices something new (and at least one input). Returns whether any does."""
        found = self._examiner.noticed(inputs, self.left)
        rows = _greedy(found) or ([] if self._kept else [0])
        if rows:
            self._kept.append([array[rows] for array in inputs])
        before = len(self.left)
        self.left = [trial for trial, seen in zip(self.left, found, strict=True) if not seen.any()]
        self._say(0, 0)
        return len(self.left) < before

    def climb(self, source: Source, seed: int, over: Map) -> None:
        """Search for each mistake that is left, by itself, and add what notices it."""
        hopeless = proven(self._examiner, self.left)
        trials = [each for each in self.left if self._examiner.trials[each] not in hopeless]
        self.left = trials.copy()
        right = self._examiner.interpreter
        start = [array[-_PARENTS * 4 :] for array in self._all()]
        one = partial(_climbed, right.model.data, right.model.name, right.arithmetic, source, start)
        for done, (trial, inputs) in enumerate(
            zip(trials, over(one, trials, [seed + 1 + each for each in trials]), strict=True)
        ):
            if inputs is not None and trial in self.left:
                self.add(inputs)
            self._say(done + 1, len(trials))

    def cover(self, count: int) -> Inputs:
        """A greedy cover by at most ``count`` of the inputs, in the order in which they came."""
        everything = self._all()
        rows = _greedy(self._examiner.noticed(everything)) or [0]
        chosen = sorted(rows[:count])
        return [array[chosen] for array in everything]

    def _all(self) -> Inputs:
        return [np.concatenate(parts) for parts in zip(*self._kept, strict=True)]

    def _say(self, done: int, total: int) -> None:
        if self._progress is not None:
            self._progress(done, total, len(self.left))


def _greedy(found: Array) -> list[int]:
    """Runs that together notice all that any run does, from bool (trials, runs), best first."""
    left, chosen = found.copy(), []
    while left.any():
        best = int(left.sum(axis=0).argmax())
        chosen.append(best)
        left[left[:, best]] = False
    return chosen


@lru_cache(maxsize=1)  # in a worker process: preparing it takes longer than a climb
def _examiner(data: bytes, name: str, arithmetic: Arithmetic) -> Examiner:
    return Examiner(Interpreter(Model.from_bytes(data, name), arithmetic))


def _climbed(
    data: bytes,
    name: str,
    arithmetic: Arithmetic,
    source: Source,
    start: Inputs,
    trial: int,
    seed: int,
) -> Inputs | None:
    """One input that notices a mistake, or None."""
    examiner, rng = _examiner(data, name, arithmetic), np.random.default_rng(seed)
    parents = start
    for _ in range(_ROUNDS):
        drawn = source.draw(rng, _PARENTS)
        changed = source.change(rng, parents, _CHILDREN)
        candidates = [np.concatenate(parts) for parts in zip(parents, changed, drawn, strict=True)]
        taken = _accepted(examiner, candidates)
        if taken is None:
            return None
        merit = _merit(examiner, trial, taken)
        best = np.argsort(-merit, kind="stable")[:_PARENTS]
        if np.isinf(merit[best[0]]):
            return [array[best[:1]] for array in taken]
        parents = [array[best] for array in taken]
    return None


def _merit(examiner: Examiner, trial: int, inputs: Inputs) -> Array:
    """(runs,): how far the difference of a mistake comes, and how far its outputs spread.

    Clamps and accumulators show at the ends of what an operator can give.
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


# Models with a memory.


def _sequence(
    examiner: Examiner,
    source: Source,
    given: Inputs,
    count: int,
    seed: int,
    over: Map,
    progress: Progress | None,
) -> Inputs:
    """One sequence, extended as long as that notices more."""
    rng = np.random.default_rng(seed)
    sequence = given or source.draw(rng, min(count, _SEQUENCE))
    left = _unnoticed(examiner, sequence, range(len(examiner.trials)))
    for extension in range(_EXTENSIONS):
        room = count - len(sequence[0])
        if not left or room < 1:
            break
        more = source.draw(rng, min(room, _SEQUENCE))
        longer = [np.concatenate(parts) for parts in zip(sequence, more, strict=True)]
        still = _unnoticed(examiner, longer, left)
        if len(still) < len(left):
            sequence, left = longer, still
        if progress is not None:
            progress(extension + 1, _EXTENSIONS, len(left))
    return sequence


def _unnoticed(examiner: Examiner, sequence: Inputs, trials: Iterable[int]) -> list[int]:
    wanted = list(trials)
    found = examiner.noticed(sequence, wanted)
    return [trial for trial, seen in zip(wanted, found, strict=True) if not seen.any()]


def by_operator(adequacy: Adequacy) -> Mapping[str, tuple[int, int]]:
    """(noticed, possible) for each kind of operator, in the order of the model."""
    table: dict[str, tuple[int, int]] = {}
    for trial in adequacy.trials:
        if trial in adequacy.equivalent:
            continue
        seen, possible = table.get(trial.operator, (0, 0))
        table[trial.operator] = seen + (trial not in adequacy.missed), possible + 1
    return table
