"""Operators with a state equal the official interpreter over several inferences."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from model_builder import T
from operator_cases import Case, Draw, agree, cases, draws, single
from oracle import Oracle, Oracles

from harness.model import Model
from harness.reference import Interpreter


@pytest.mark.litert_differs("int8-int8", "int8-int16", reason="LiteRT refuses this variant")
@pytest.mark.parametrize("kind", ["int8-int8", "int8-int16", "float32"])
@cases
@given(draw=draws())
def test_svdf_equals(kind: str, official: Oracles, draw: Draw) -> None:
    dtype, _, state_type = kind.partition("-")
    batch, depth, units = draw.int(1, 2), draw.int(1, 12), draw.int(1, 5)
    rank, memory = draw.int(1, 3), draw.int(1, 6)
    filters = units * rank
    x, y = draw.tensor((batch, depth), dtype), draw.tensor((batch, units), dtype)
    feature = T((filters, depth), dtype, data=draw.array((filters, depth), dtype))
    time = T(
        (filters, memory),
        state_type or dtype,
        data=draw.array((filters, memory), state_type or dtype),
    )
    bias = T((units,), "int32" if state_type else "float32")
    state = T((batch, filters * memory), state_type or dtype, variable=True)
    if state_type:
        x.scale, feature.scale, time.scale = (draw.power(-12, -6) for _ in range(3))
        state.scale = float(np.float32(x.scale * feature.scale / draw.power(-14, -3)))
        state.zero = draw.zero(state_type)
        y.scale = float(np.float32(state.scale * time.scale / draw.power(-16, -2)))
        bias.scale = float(np.float32(state.scale * time.scale))
        bias.data = draw.array((units,), "int32", largest=1 << 16)
    else:
        bias.data = draw.array((units,), "float32")
    tensors = [x, feature, time, bias, state, y]
    options = ("SVDF", {"Rank": rank})
    case = single(draw, "SVDF", tensors, [0, 1, 2, 3, 4], options, inferences=memory + 2)
    if not state_type:
        largest = max(np.abs(a).max() for arrays in case.inputs for a in arrays)
        size = (
            largest * np.abs(feature.data).max() * np.abs(time.data).max() * depth * memory * rank
        )
        error = (depth + memory + rank + 2) * 2.0**-23 * (size + np.abs(bias.data).max())
        case.bound = lambda *_: [np.full(y.shape, error)]
    agree(official, case)


def lstm(draw: Draw, dtype: str) -> Case:
    batch, steps, depth, units = draw.int(1, 2), draw.int(1, 4), draw.int(1, 6), draw.int(1, 5)
    major = draw.flag()
    lead = (steps, batch) if major else (batch, steps)
    real = dtype == "float32"
    weight, bias = (
        ("float32", "float32") if real else ("int8", "int32" if dtype == "int8" else "int64")
    )
    x = draw.tensor((*lead, depth), dtype)
    hidden = draw.tensor((batch, units), dtype, variable=True)
    cell = T((batch, units), "float32" if real else "int16", variable=True)
    if not real:
        x.scale, hidden.scale = draw.power(-8, -4), draw.power(-8, -6)
        cell.scale = 2.0 ** draw.int(-15, -9)
        if dtype == "int16":
            x.scale, hidden.scale = draw.power(-15, -12), draw.power(-15, -13)
    tensors: list[T] = [x]
    for index in range(1, 9):
        shape = (units, depth if index < 5 else units)
        values = draw.array(shape, weight)
        scale = None if real else draw.power(-9, -4)
        tensors.append(T(shape, weight, scale, 0, values / np.float32(3) if real else values))
    for index in range(4):
        values = draw.array((units,), bias, largest=None if real else 1 << 12)
        scale = None if real else float(np.float32(x.scale) * np.float32(tensors[1 + index].scale))
        tensors.append(T((units,), bias, scale, 0, values))
    tensors += [hidden, cell, T((*lead, units), dtype, hidden.scale, hidden.zero)]
    inputs = [0, *range(1, 9), -1, -1, -1, 9, 10, 11, 12, -1, -1, 13, 14, -1, -1, -1, -1]
    fields = {
        "FusedActivationFunction": 4,
        "TimeMajor": major,
        "CellClip": draw.one(0.0, draw.real(0.25, 8)),
    }
    options = ("UnidirectionalSequenceLSTM", fields)
    case = single(draw, "UNIDIRECTIONAL_SEQUENCE_LSTM", tensors, inputs, options, inferences=3)
    if real:
        # Gates and cell are Lipschitz; the weights bound how an error grows from step to step.
        gain = 1 + sum(np.abs(t.data).sum(axis=1).max() for t in tensors[5:9])
        largest = max(np.abs(a).max() for arrays in case.inputs for a in arrays)
        size = largest * sum(np.abs(t.data).sum(axis=1).max() for t in tensors[1:5]) + gain
        error = min(2.0, (depth + units + 8) * 2.0**-23 * size * gain ** (3 * steps))
        case.bound = lambda *_: [np.full(tensors[-1].shape, error)]
    return case


@pytest.mark.litert_differs("int8", "int16", reason="LiteRT refuses this variant")
@pytest.mark.parametrize("dtype", ["int8", "int16", "float32"])
@cases
@given(draw=draws())
def test_lstm_equals(dtype: str, official: Oracles, draw: Draw) -> None:
    agree(official, lstm(draw, dtype))


@pytest.mark.parametrize(
    "dtype", ["int8", pytest.param("int16", marks=pytest.mark.slow), "float32"]
)
@given(draw=draws())
def test_a_batch_of_an_lstm_is_one_inference_after_another(dtype: str, draw: Draw) -> None:
    case = lstm(draw, dtype)
    model = Model.from_bytes(case.model)
    together, alone = Interpreter(model), Interpreter(model)
    columns = [np.stack(column) for column in zip(*case.inputs, strict=True)]
    obtained = together.invoke_batch(columns)[0]
    wanted = np.stack([alone.invoke(arrays)[0] for arrays in case.inputs])
    np.testing.assert_array_equal(obtained, wanted)


@pytest.mark.parametrize("state_type", ["int8", "int16"])
@cases
@given(draw=draws())
def test_svdf_of_computed_weights_equals(state_type: str, micro: Oracle, draw: Draw) -> None:
    batch, depth, units = draw.int(1, 2), draw.int(1, 6), draw.int(1, 3)
    rank, memory = draw.int(1, 2), draw.int(1, 4)
    filters = units * rank
    state = T((batch, filters * memory), state_type, 2.0**-6, 0, variable=True)
    tensors = [
        T((batch, depth), "int8", 2.0**-5, draw.zero("int8")),
        T((filters, depth), "int8", 2.0**-7),
        T((filters, memory), state_type, 2.0**-7 if state_type == "int8" else 2.0**-14),
        T((units,), "int32", 0.0, 0, draw.array((units,), "int32", largest=1 << 10)),
        state,
        T((batch, units), "int8", 2.0**-4, draw.zero("int8")),
    ]
    tensors[3].scale = float(np.float32(state.scale * tensors[2].scale))
    options = ("SVDF", {"Rank": rank})
    fed, count = (0, 1, 2), memory + 2
    agree([micro], single(draw, "SVDF", tensors, range(5), options, fed=fed, inferences=count))
