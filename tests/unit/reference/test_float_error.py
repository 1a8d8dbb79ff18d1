"""Error bounds of floats: correct devices are within them, wrong ones are not."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from model_builder import ACTIVATIONS, Op, T, build, build_graphs
from operator_models import every_graph
from oracle import Oracle

from harness.base import paths
from harness.base.errors import HilError
from harness.model import Model
from harness.reference import Interpreter, compare
from harness.reference.float_error import allowed_errors, allowed_in_batch
from harness.reference.node import NUMPY_TYPES


def _dense(depth: int, units: int, layers: int, seed: int = 0) -> Model:
    """FULLY_CONNECTED and RELU, several times, outputs about as large as the inputs."""
    rng = np.random.default_rng(seed)
    tensors, operators = [T((1, depth), "float32")], []
    for layer in range(layers):
        last = layer == layers - 1
        w = rng.normal(size=(units, depth)) / np.sqrt(depth)
        bias = T((units,), "float32", data=rng.normal(size=units))
        tensors += [T(w.shape, "float32", data=w), bias, T((1, units), "float32")]
        options = {"FusedActivationFunction": ACTIVATIONS["NONE" if last else "RELU"]}
        place = 3 * layer
        operators.append(
            Op("FULLY_CONNECTED", [place, place + 1, place + 2], [place + 3],
               ("FullyConnected", options))
        )  # fmt: skip
        depth = units
    return Model.from_bytes(build(tensors, operators, [0], [3 * layers]))


def _one_after_the_other(model: Model, x: np.ndarray) -> np.ndarray:
    """The network in float32, each product added to the last sum."""
    value = x[0]
    for operator in model.operators:
        w, bias = (
            np.frombuffer(model.tensors[index].data, np.float32).reshape(model.tensors[index].shape)
            for index in operator.inputs[1:3]
        )
        total = np.zeros(len(w), np.float32)
        for column in range(w.shape[1]):
            total = (total + w[:, column] * value[column]).astype(np.float32)
        value = total + bias
        if operator is not model.operators[-1]:
            value = np.maximum(value, 0)
    return value[None]


@pytest.mark.parametrize("size", [1, 1e-3, 1e3])
@pytest.mark.parametrize(("depth", "units", "layers"), [(4, 3, 1), (1000, 16, 1), (64, 64, 6)])
def test_sums_in_another_order_are_allowed(
    size: float, depth: int, units: int, layers: int
) -> None:
    model = _dense(depth, units, layers)
    interpreter = Interpreter(model)
    for seed in range(20):
        x = (size * np.random.default_rng(seed).normal(size=(1, depth))).astype(np.float32)
        (want,) = interpreter.invoke([x])
        allowed = allowed_errors(interpreter)[model.outputs[0].index]
        assert compare(_one_after_the_other(model, x), want, tolerance=allowed).equal
        # One part in a thousand is the same to no one.
        assert float(allowed.max()) < 1e-3 * float(np.abs(want).max())


def test_weights_off_by_a_ten_thousandth_are_not_allowed() -> None:
    model = _dense(64, 64, 6)
    x = np.random.default_rng(1).normal(size=(1, 64)).astype(np.float32)
    interpreter = Interpreter(model)
    (want,) = interpreter.invoke([x])
    data = bytearray(model.data)
    weights = bytes(model.tensors[-3].data)
    at = model.data.index(weights)
    row = np.frombuffer(weights, np.float32)[:64] * np.float32(1.0001)
    data[at : at + row.nbytes] = row.tobytes()
    (got,) = Interpreter(Model.from_bytes(bytes(data))).invoke([x])
    allowed = allowed_errors(interpreter)[model.outputs[0].index]
    assert not compare(got, want, tolerance=allowed).equal


def test_exact_operators_must_agree_to_the_bit() -> None:
    tensors = [T((4,), "float32"), T((4,), "float32"), T((4,), "float32")]
    none = {"FusedActivationFunction": ACTIVATIONS["NONE"]}
    operators = [Op("RELU", [0], [1]), Op("ADD", [0, 1], [2], ("Add", none))]
    interpreter = Interpreter(Model.from_bytes(build(tensors, operators, [0], [2])))
    interpreter.invoke([np.array([1.5, -2, 3, 1e-9], np.float32)])
    assert all(not allowed.any() for allowed in allowed_errors(interpreter).values())


@pytest.mark.parametrize("name", ["LOGISTIC", "TANH", "EXP", "SIN"])
def test_a_function_of_a_library_may_be_off_by_a_few_units_in_the_last_place(name: str) -> None:
    tensors = [T((1, 5), "float32"), T((1, 5), "float32")]
    model = Model.from_bytes(build(tensors, [Op(name, [0], [1])], [0], [1]))
    interpreter = Interpreter(model)
    (y,) = interpreter.invoke([np.array([[-2.5, -0.1, 0.3, 1.0, 2.0]], np.float32)])
    units = allowed_errors(interpreter)[1] / (np.abs(y) * 2.0**-24)
    assert 4 <= units.min().round(9) <= units.max() <= 64  # 7 times 4/7 is not 4 in double


def test_allowed_errors_of_a_batch_are_computed_for_selected_runs() -> None:
    interpreter = Interpreter(paths.models() / "hello_world_float32.tflite")
    x = np.linspace(0, 6, 4, dtype=np.float32).reshape(4, 1, 1)
    allowed = allowed_in_batch(interpreter, [x], 0, np.array([True, False, True, False]))
    interpreter.invoke([x[2]])
    assert np.array_equal(allowed[2], allowed_errors(interpreter)[interpreter.outputs[0].index])
    assert allowed[0].all()
    assert not allowed[[1, 3]].any()


def _real(tensor: T) -> T:
    """The tensor as float32: a quantized one's values, random ones where it is a constant."""
    if tensor.dtype not in ("int8", "int4", "int16", "int32") or tensor.scale is None:
        return tensor
    rng = np.random.default_rng(len(tensor.shape))
    data = None if tensor.data is None else rng.normal(size=tuple(tensor.shape))
    return T(tensor.shape, "float32", data=data, variable=tensor.variable)


def _real_models() -> dict[str, Model]:
    """The quantized models of one operator, in float32, where TFLM has them in float32."""
    found = {}
    for number, graphs in enumerate(every_graph()):
        changed = [replace(graph, tensors=[_real(t) for t in graph.tensors]) for graph in graphs]
        try:
            model = Model.from_bytes(build_graphs(changed))
            Interpreter(model)
        except HilError:
            continue
        # What these leave unwritten is in no bound; the samples have Atan, TFLM has not.
        if {"TFLite_Detection_PostProcess", "Atan"}.isdisjoint(model.operator_names) and any(
            tensor.dtype == "float32" for tensor in model.outputs
        ):
            found[f"{number}-{','.join(model.operator_names)}"] = model
    return found


REAL_MODELS = _real_models()


@pytest.mark.parametrize("model", REAL_MODELS.values(), ids=REAL_MODELS)
def test_every_operator_of_the_official_interpreter_stays_within_the_bounds(
    micro: Oracle, model: Model
) -> None:
    rng = np.random.default_rng(7)
    rows = [
        [
            rng.normal(size=t.shape).astype(np.float32)
            if t.dtype == "float32"
            else rng.integers(0, 2, t.shape).astype(NUMPY_TYPES[t.dtype])
            for t in model.inputs
        ]
        for _ in range(20)
    ]
    # SPACE_TO_BATCH_ND pads with what the arena held: one of this size is new, and zeros.
    obtained, _ = micro.run(model.data, rows, len(model.outputs), arena=64 << 20)
    interpreter = Interpreter(model)
    for row, outputs in zip(rows, obtained, strict=True):
        expected = interpreter.invoke(row)
        allowed = allowed_errors(interpreter)
        for tensor, got, want in zip(interpreter.outputs, outputs, expected, strict=True):
            bound = allowed.get(tensor.index)
            comparison = compare(got.reshape(want.shape), want, tolerance=bound)
            assert comparison.equal, f"{tensor.name}: {comparison}"


def test_a_trained_network_on_the_official_interpreter_stays_within_the_bounds(
    micro: Oracle,
) -> None:
    model = Model.from_file(paths.models() / "hello_world_float32.tflite")
    rows = np.linspace(-4, 10, 300, dtype=np.float32).reshape(300, 1, 1)
    outputs, _ = micro.run(model.data, [[row] for row in rows])
    interpreter = Interpreter(model)
    allowed = allowed_in_batch(interpreter, [rows], 0, np.ones(300, bool))
    (want,) = interpreter.invoke_batch([rows])
    assert compare(np.stack([row[0] for row in outputs]), want, tolerance=allowed).equal


def test_the_official_interpreter_stays_within_the_bounds(micro: Oracle) -> None:
    for depth, units, layers in ((3, 5, 2), (200, 20, 3), (1000, 8, 1)):
        model = _dense(depth, units, layers, seed=3)
        rows = np.random.default_rng(4).normal(size=(10, 1, depth)).astype(np.float32)
        outputs, _ = micro.run(model.data, [[row] for row in rows])
        allowed = allowed_in_batch(Interpreter(model), [rows], 0, np.ones(10, bool))
        want = Interpreter(model).invoke_batch([rows])[0]
        assert compare(np.stack([row[0] for row in outputs]), want, tolerance=allowed).equal


@pytest.mark.parametrize("name", ["SOFTMAX", "LOG_SOFTMAX"])
@pytest.mark.parametrize("logits", [[0.5, 0.25], [30.0, 1.0], [2.0, -1.0, 0.5]])
def test_every_pattern_of_signs_moves_a_softmax_within_its_bound(
    name: str, logits: list[float]
) -> None:
    """The inputs are products, whose deviations do not share a sign."""
    depth = len(logits)
    tensors = [T((1, depth), "float32") for _ in range(5)]
    none = {"FusedActivationFunction": ACTIVATIONS["NONE"]}
    options = {"SOFTMAX": ("Softmax", {"Beta": 1.0}), "LOG_SOFTMAX": ("LogSoftmax", {})}[name]
    operators = [
        Op("EXP", [0], [2]), Op("MUL", [1, 2], [3], ("Mul", none)), Op(name, [3], [4], options)
    ]  # fmt: skip
    model = Model.from_bytes(build(tensors, operators, [0, 1], [4]))
    interpreter = Interpreter(model)
    x = np.array([logits], np.float32)
    interpreter.invoke([np.full((1, depth), 0.1, np.float32), x])
    allowed = allowed_errors(interpreter)
    z = interpreter.tensors[3].astype(np.float64)

    def result(z: np.ndarray) -> np.ndarray:
        logarithm = z - np.log(np.exp(z).sum())
        return logarithm if name == "LOG_SOFTMAX" else np.exp(logarithm)

    for signs in product([-1.0, 1.0], repeat=depth):
        moved = np.abs(result(z + np.array(signs) * allowed[3]) - result(z))
        assert (moved <= allowed[4]).all()
    assert (allowed[4] < 1e-3).all()
