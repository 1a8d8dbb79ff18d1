"""Every model of the repository, in full, against the official interpreters."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import needs
import numpy as np
import pytest
from networks import NETWORKS
from oracle import Oracle, Refused

from harness.base import paths
from harness.model import Model
from harness.reference import Interpreter

INPUTS = int(os.environ.get("TFLM_HIL_INPUTS", "1000"))
MODELS = sorted(paths.models().glob("*.tflite"))
#: A folder of further models that are not ours to ship.
MORE = os.environ.get("TFLM_HIL_MODELS", "")
MODELS += sorted(Path(MORE).rglob("*.tflite")) if MORE else []
every_model = pytest.mark.parametrize("path", MODELS, ids=lambda path: path.name)


def _comparable(path: Path) -> bool:
    """No official interpreter has custom operators; no bound is derived for floats with a state."""
    model = Model.from_file(path)
    return not model.custom_operator_names and not (_real(model) and Interpreter(model).stateful)


def _comparable_with_litert(path: Path) -> bool:
    """Its float sums have another order, and its state cannot be set."""
    model = Model.from_file(path)
    real = any(tensor.dtype == "float32" for tensor in model.outputs)
    return not (model.custom_operator_names or real or Interpreter(model).stateful)


def _those(suitable: Callable[[Path], bool]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize(
        "path", list(filter(suitable, MODELS)), ids=lambda path: path.name
    )


@pytest.fixture(scope="module")
def tflm() -> Iterator[Oracle]:
    needs.require("tflite-micro")
    oracle = Oracle("tflm")
    yield oracle
    oracle.close()


@pytest.fixture(scope="module")
def litert() -> Iterator[Oracle]:
    oracle = Oracle("litert")
    yield oracle
    oracle.close()


def _computed(model: Model) -> list[int]:
    return [
        index
        for operator in model.operators
        for index in operator.outputs
        if model.tensors[index].dtype != "resource"  # a handle has no values to be asked for
    ]


def _real(model: Model) -> bool:
    return any(model.tensors[index].dtype == "float32" for index in _computed(model))


def _rows(model: Model, count: int) -> list[list[np.ndarray]]:
    rng = np.random.default_rng(model.crc32)

    def one(shape: tuple[int, ...], dtype: str) -> np.ndarray:
        if dtype == "float32":
            return rng.normal(scale=3, size=shape).astype(np.float32)
        info = np.iinfo(dtype)
        return rng.integers(info.min, int(info.max) + 1, shape).astype(dtype)

    return [[one(tensor.shape, tensor.dtype) for tensor in model.inputs] for _ in range(count)]


def _magnitudes(model: Model) -> Interpreter:
    """The same network with |w| everywhere: bounds every partial sum of a float network."""

    def absolute(data: memoryview) -> memoryview:
        return memoryview(np.abs(np.frombuffer(data, "<f4")).tobytes())

    graph = model.subgraphs[0]
    tensors = tuple(
        replace(t, data=absolute(t.data)) if t.data is not None and t.dtype == "float32" else t
        for t in graph.tensors
    )
    return Interpreter(replace(model, subgraphs=(replace(graph, tensors=tensors),)))


def _terms(model: Model) -> int:
    """How many roundings lie between input and output: the depths of all products."""
    depths = [model.tensors[o.inputs[1]].shape for o in model.operators if len(o.inputs) > 1]
    return sum(int(np.prod(shape[1:])) + 2 for shape in depths if len(shape) > 1)


@_those(_comparable)
def test_every_tensor_of_every_inference_equals_tflm(path: Path, tflm: Oracle) -> None:
    model = Model.from_file(path)
    interpreter = Interpreter(model)
    rows = _rows(model, INPUTS)
    computed = _computed(model)
    count = max(1, 20_000_000 // max(1, sum(model.tensors[i].elements for i in computed)))
    bound = _magnitudes(model) if _real(model) else None
    compared = 0
    for start in range(0, INPUTS, count):
        part = rows[start : start + count]
        _, tensors = tflm.run(model.data, part, len(model.outputs), computed, arena=32 << 20)
        for row, wanted in zip(part, tensors, strict=True):
            interpreter.invoke(row)
            if bound:
                bound.invoke([np.abs(array) for array in row])
            for index in computed:
                got = interpreter.tensors[index]
                want = wanted[index].reshape(got.shape)
                if bound and got.dtype == np.float32:
                    # See operator_cases.sum_bound; a saturating activation only shrinks it.
                    error = 1.01 * _terms(model) * 2.0**-24 * bound.tensors[index]
                    assert np.all(np.abs(got - want) <= error + 1e-6), model.tensors[index]
                else:
                    assert np.array_equal(got, want), model.tensors[index]
                compared += 1
    assert compared == INPUTS * len(computed)


@pytest.mark.parametrize("name", NETWORKS)
def test_networks_of_the_mlperf_tiny_class_equal_tflm(name: str, tflm: Oracle) -> None:
    model = Model.from_bytes(NETWORKS[name](), name)
    interpreter = Interpreter(model)
    rows = _rows(model, max(3, INPUTS // 50))
    computed = [index for operator in model.operators for index in operator.outputs]
    _, tensors = tflm.run(model.data, rows, 1, computed, arena=8 << 20)
    for row, wanted in zip(rows, tensors, strict=True):
        interpreter.invoke(row)
        for index in computed:
            got = interpreter.tensors[index]
            assert np.array_equal(got, wanted[index].reshape(got.shape)), model.tensors[index]
            if got.size > 100:  # a network that saturates everywhere would prove nothing
                assert len(np.unique(got)) > 10


@every_model
def test_a_batch_equals_single_inferences(path: Path) -> None:
    model = Model.from_file(path)
    rows = _rows(model, 50)
    interpreter = Interpreter(model)
    together = interpreter.invoke_batch([np.stack(column) for column in zip(*rows, strict=True)])
    interpreter.reset()
    for number, row in enumerate(rows):
        for got, want in zip(together, interpreter.invoke(row), strict=True):
            if want.dtype == np.float32:
                np.testing.assert_allclose(got[number], want, rtol=1e-5, atol=1e-6)
            else:
                assert np.array_equal(got[number], want)


#: LiteRT scales the sums of FULLY_CONNECTED in floating point, TFLM in fixed point.
LITERT_STEPS = {"FULLY_CONNECTED": 1}


@_those(_comparable_with_litert)
def test_every_operator_equals_litert_on_its_own_inputs(path: Path, litert: Oracle) -> None:
    model = Model.from_file(path)
    interpreter = Interpreter(model)
    rows = _rows(model, min(INPUTS, 200))
    computed = [index for operator in model.operators for index in operator.outputs]
    try:
        _, tensors = litert.run(model.data, rows, len(model.outputs), computed)
    except Refused as refused:
        if path.parent == paths.models():
            raise
        pytest.xfail(f"LiteRT refuses a model that TFLM runs: {refused}")
    for row, theirs in zip(rows, tensors, strict=True):
        values = dict(zip(model.subgraphs[0].inputs, row, strict=True)) | theirs
        for operator in model.operators:
            obtained = interpreter.run_operator(operator.index, values)
            assert obtained is not None
            for got, index in zip(obtained, operator.outputs, strict=True):
                steps = np.abs(got.astype(int) - theirs[index].astype(int)).max()
                assert steps <= LITERT_STEPS.get(operator.name, 0), operator
