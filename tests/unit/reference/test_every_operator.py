"""Rules for every operator: batches, bounds of memory, immutable values."""

from __future__ import annotations

import warnings
from contextlib import suppress

import numpy as np
import pytest
from model_builder import Op, T, build
from operator_models import every_operator

from harness.base.errors import HilError
from harness.model import Model, Tensor
from harness.reference import Interpreter
from harness.reference.node import NUMPY_TYPES

RUNS = 7
MODELS = [Model.from_bytes(data) for data in every_operator()]
every_model = pytest.mark.parametrize(
    "model", MODELS, ids=[f"{i}-{','.join(m.operator_names)}" for i, m in enumerate(MODELS)]
)


def _inputs(model: Model) -> list[np.ndarray]:
    """Small values, so that none is a divisor or a place that is refused."""
    rng = np.random.default_rng(3)
    return [
        rng.integers(0, 3, (RUNS, *t.shape)).astype(NUMPY_TYPES[t.dtype])
        if t.dtype != "bool"
        else rng.integers(0, 2, (RUNS, *t.shape)).astype(bool)
        for t in model.inputs
    ]


@every_model
def test_a_batch_equals_single_inferences(model: Model) -> None:
    arrays = _inputs(model)
    together = Interpreter(model).invoke_batch(arrays, RUNS)
    single = Interpreter(model)
    for run in range(RUNS):
        alone = single.invoke([array[run] for array in arrays])
        for whole, part in zip(together, alone, strict=True):
            np.testing.assert_array_equal(whole[run], part)


@every_model
def test_an_inference_changes_neither_inputs_nor_earlier_outputs(model: Model) -> None:
    arrays = _inputs(model)
    interpreter = Interpreter(model)
    before = [array.copy() for array in arrays]
    first = interpreter.invoke([array[0] for array in arrays])
    kept = [value.copy() for value in first]
    for run in range(1, RUNS):
        interpreter.invoke([array[run] for array in arrays])
    for array, copy in zip([*arrays, *first], [*before, *kept], strict=True):
        np.testing.assert_array_equal(array, copy)


@every_model
def test_a_restart_gives_the_first_inference_again(model: Model) -> None:
    arrays = _inputs(model)
    interpreter = Interpreter(model)
    first = interpreter.invoke([array[0] for array in arrays])
    kept = [value.copy() for value in first]
    interpreter.invoke([array[1] for array in arrays])
    interpreter.restart()
    again = interpreter.invoke([array[0] for array in arrays])
    for value, copy in zip(again, kept, strict=True):
        np.testing.assert_array_equal(value, copy)


def _extreme(tensor: Tensor) -> np.ndarray:
    """Infinities, NaN and the ends of the type, as many as there are elements."""
    dtype = NUMPY_TYPES[tensor.dtype]
    if dtype.kind == "f":
        values = np.array([np.inf, -np.inf, np.nan, 3e38, -3e38, 1e-45, 0], dtype)
    elif dtype.kind == "b":
        values = np.array([True, False])
    else:
        values = np.array([np.iinfo(dtype).min, np.iinfo(dtype).max, 1], dtype)
    return np.resize(values, tensor.shape)


_FUNCTIONS = ["ABS", "COS", "ELU", "EXP", "FLOOR", "HARD_SWISH", "LOG", "LOGISTIC", "QUANTIZE"]
_FUNCTIONS += ["RELU", "RELU6", "ROUND", "RSQRT", "SIN", "SQRT", "SQUARE", "TANH"]


@pytest.mark.parametrize("name", _FUNCTIONS)
def test_no_real_value_makes_a_function_warn(name: str) -> None:
    x, y = T((1, 7), "float32"), T((1, 7), "int8", 0.1, 3)
    output = y if name == "QUANTIZE" else x
    _run_on_extremes(Model.from_bytes(build([x, output], [Op(name, [0], [1])], [0], [1])))


@every_model
def test_no_value_makes_an_operator_warn(model: Model) -> None:
    _run_on_extremes(model)


def _run_on_extremes(model: Model) -> None:
    """Overflow and NaN are values, as they are on the device; some operators refuse theirs."""
    interpreter = Interpreter(model)
    inputs = [_extreme(tensor) for tensor in interpreter.inputs]
    with warnings.catch_warnings(), suppress(HilError):
        warnings.simplefilter("error")
        interpreter.invoke(inputs)
    with warnings.catch_warnings(), suppress(HilError):
        warnings.simplefilter("error")
        interpreter.invoke_batch([np.stack([each] * 2) for each in inputs])
