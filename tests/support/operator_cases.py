"""Random one-operator models, and holding the reference against an official interpreter."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import pytest
from flatbuffers import flexbuffers
from hypothesis import HealthCheck, assume, note, settings
from hypothesis import strategies as st
from model_builder import Op, T, build
from oracle import Oracle, Oracles, Refused
from type_table import signatures

from harness.base.errors import HilError
from harness.model import Model
from harness.reference import Interpreter

#: An ordinary run takes a few cases of each operator and type; TFLM_HIL_CASES=500 is the full one.
CASES = int(os.environ.get("TFLM_HIL_CASES", "25"))
cases = settings(
    max_examples=CASES,
    deadline=None,
    derandomize=CASES < 100,
    suppress_health_check=list(HealthCheck),
    database=None,
)

#: Gives the largest difference that the official interpreter may have, for each output.
Bound = Callable[[Interpreter, Sequence[np.ndarray]], Sequence[np.ndarray]]


# A strategy is checked, labelled and hashed when it is new: those of equal bounds are one.
_integers = lru_cache(maxsize=None)(st.integers)
_floats = lru_cache(maxsize=None)(st.floats)


class Draw:
    """What a random model is made of: a test draws from hypothesis as it needs it.

    ``st.data()`` does the same, but looks at the state of ``random`` around each draw.
    """

    def __init__(self, draw: st.DrawFn) -> None:
        self._source = draw
        self._generator: np.random.Generator | None = None

    def _draw(self, strategy: st.SearchStrategy) -> Any:
        value = self._source(strategy)
        note(f"drawn: {value!r}")
        return value

    def int(self, low: int, high: int) -> int:
        return self._draw(_integers(low, high))

    def one(self, *choices: Any) -> Any:
        return choices[self.int(0, len(choices) - 1)]

    def flag(self) -> bool:
        return self._draw(st.booleans())

    def real(self, low: float, high: float) -> float:
        return self._draw(_floats(low, high, width=32))

    def power(self, low: float, high: float) -> float:
        """A float32 between 2^low and 2^high, its logarithm uniform."""
        return float(np.float32(2.0 ** self._draw(_floats(low, high))))

    def scale(self) -> float:
        return self.power(-12, 1)

    def zero(self, dtype: str) -> int:
        return self.one(-128, 127, 0, self.int(-128, 127)) if dtype == "int8" else 0

    def generator(self) -> np.random.Generator:
        """The same each time: a new one costs more than what a test draws from it."""
        if self._generator is None:
            self._generator = np.random.default_rng(self.int(0, (1 << 32) - 1))
        return self._generator

    def array(self, shape: Sequence[int], dtype: str, *, largest: int | None = None) -> np.ndarray:
        """Values over the whole range of the type, sometimes only its ends or one value."""
        rng = self.generator()
        shape = tuple(shape)
        if dtype == "float32":
            return (rng.normal(size=shape) * self.one(0.1, 1, 10)).astype(np.float32)
        if dtype == "bool":
            return rng.integers(0, 2, shape).astype(bool)
        if dtype == "int4":
            low, high = -8, 7
        else:
            info = np.iinfo(dtype)
            low, high = int(info.min), int(info.max)
        if largest is not None:
            low, high = max(low, -largest), min(high, largest)
        wide = np.uint64 if dtype == "uint64" else np.int64
        values = {
            "uniform": lambda: rng.integers(low, high, shape, wide, endpoint=True),
            "ends": lambda: rng.choice(np.array([low, high], wide), shape),
            "same": lambda: np.full(shape, rng.integers(low, high, None, wide, endpoint=True)),
        }[self.one("uniform", "uniform", "uniform", "ends", "same")]()
        return values.astype("int8" if dtype == "int4" else dtype)

    def tensor(self, shape: Sequence[int], dtype: str, **more: Any) -> T:
        """A quantized (or real) activation."""
        if dtype in ("int8", "int16"):
            more = {"scale": self.scale(), "zero": self.zero(dtype), **more}
        return T(tuple(shape), dtype, **more)

    def shape(self, low: int, high: int, most: int = 5) -> tuple[int, ...]:
        return tuple(self.int(1, most) for _ in range(self.int(low, high)))


@st.composite
def draws(draw: st.DrawFn) -> Draw:
    """The source of a test's random model."""
    return Draw(draw)


def thinned(draw: Draw, shape: Sequence[int]) -> tuple[int, ...]:
    """A shape that broadcasts to ``shape``."""
    return tuple(draw.one(size, 1) for size in shape)[draw.int(0, len(shape) - 1) :]


def broadcasting(draw: Draw, most: int = 4) -> tuple[tuple[int, ...], ...]:
    """Two shapes and what they broadcast to."""
    full = draw.shape(1, most, 5)
    thin = thinned(draw, full)
    pair = draw.one((full, full), (full, thin), (thin, full))
    return (*pair, np.broadcast_shapes(*pair))


@dataclass
class Case:
    """A model with the inputs of consecutive inferences."""

    model: bytes
    inputs: Sequence[Sequence[np.ndarray]]
    bound: Bound | None = None
    ulps: int = 0
    outputs: int = 1
    arena: int = 4 << 20
    #: What TFLM writes of its outputs, as an index of each; the rest is whatever was in memory.
    written: Callable[[Sequence[np.ndarray]], Sequence[Any]] | None = None


def single(
    draw: Draw,
    op: str,
    tensors: Sequence[T],
    inputs: Sequence[int],
    options: tuple[str, dict[str, Any]] | None = None,
    *,
    outputs: Sequence[int] = (),
    fed: Sequence[int] = (0,),
    inferences: int = 2,
    version: int = 1,
    intermediates: Sequence[int] = (),
    flex: Mapping[str, Any] | None = None,
    **more: Any,
) -> Case:
    """A model of one operator; its outputs are the last tensor unless said, ``fed`` its inputs.

    ``flex``: a custom operator's options.
    """
    results = list(outputs or [len(tensors) - 1])
    custom = {} if flex is None else {"custom": op, "custom_options": flexbuffers.Dumps(flex)}
    model = build(
        tensors,
        [
            Op(
                op,
                list(inputs),
                results,
                options,
                version=version,
                intermediates=intermediates,
                **custom,
            )
        ],
        list(fed),
        results,
    )
    arrays = [
        [draw.array(tensors[i].shape, tensors[i].dtype) for i in fed] for _ in range(inferences)
    ]
    return Case(model, arrays, outputs=len(results), **more)


def agree(oracles: Oracles, case: Case) -> None:
    """The reference gives what each official interpreter gives, one at a time and in a batch."""
    model: Model | None = None
    for oracle in oracles:
        try:
            expected, _ = oracle.run(case.model, case.inputs, case.outputs, arena=case.arena)
        except Refused:
            # LiteRT has fewer variants of some operators than TFLM (no convolution without a bias).
            assume(oracle.kind != "litert")
            # A model that TFLM and the reference refuse is not a case: another one is drawn.
            with pytest.raises(HilError):
                Interpreter.from_model(Model.from_bytes(case.model))
            assume(False)
        model = model or Model.from_bytes(case.model)
        _agree(oracle, case, model, expected)


def _agree(
    oracle: Oracle, case: Case, model: Model, expected: Sequence[Sequence[np.ndarray]]
) -> None:
    interpreter = Interpreter.from_model(model, oracle.arithmetic(model.operators[0].name))
    columns = [np.stack(column) for column in zip(*case.inputs, strict=True)]
    together = interpreter.invoke_batch(columns, len(expected))
    interpreter.restart()
    for row, (arrays, expected_outputs) in enumerate(zip(case.inputs, expected, strict=True)):
        obtained = interpreter.invoke(arrays)
        _compare(case, interpreter, arrays, obtained, expected_outputs)
        _compare(case, interpreter, arrays, [output[row] for output in together], expected_outputs)
    oracle.agreed.update(signatures(interpreter.model))


def _compare(
    case: Case,
    interpreter: Interpreter,
    arrays: Sequence[np.ndarray],
    obtained: Sequence[np.ndarray],
    expected: Sequence[np.ndarray],
) -> None:
    bounds = case.bound(interpreter, arrays) if case.bound else [None] * case.outputs
    written = case.written(expected) if case.written else [...] * case.outputs
    for tensor, actual, official, bound, part in zip(
        interpreter.outputs, obtained, expected, bounds, written, strict=True
    ):
        assert actual.dtype == official.dtype
        # The official Python interface gives a scalar the shape of one element.
        assert actual.size == official.size == math.prod(tensor.shape)
        _hold(actual.ravel()[part], official.ravel()[part], bound, case.ulps)


def _hold(actual: np.ndarray, expected: np.ndarray, bound: Any, ulps: int) -> None:
    if np.array_equal(actual, expected):  # costs a tenth of what follows
        return
    if actual.dtype.kind != "f" or (bound is None and ulps == 0):
        np.testing.assert_array_equal(actual, expected)
        return
    with np.errstate(invalid="ignore"):
        distance = np.abs(actual.astype(np.float64) - expected.astype(np.float64))
        allowed = ulps * np.spacing(np.maximum(np.abs(expected), np.finfo(np.float32).tiny))
    if bound is not None:
        allowed = allowed + np.asarray(bound).ravel()
    same = (actual == expected) | (np.isnan(actual) & np.isnan(expected))
    assert np.all(same | (distance <= allowed)), (actual, expected, distance, allowed)


def sum_bound(magnitudes: bytes, terms: int) -> Bound:
    """The rounding error of ``terms`` products added one by one in single precision.

    (terms + 2) * 2^-24 * sum |x||w| (Higham, Accuracy and Stability of Numerical Algorithms,
    section 3.1, with room for second-order terms); ``magnitudes`` is the model of |w| and |bias|.
    """
    absolute = Interpreter.from_model(Model.from_bytes(magnitudes))

    def bound(_: Interpreter, arrays: Sequence[np.ndarray]) -> Sequence[np.ndarray]:
        sums = absolute.invoke([np.abs(array) for array in arrays])
        return [1.01 * (terms + 2) * 2.0**-24 * each.astype(np.float64) for each in sums]

    return bound
