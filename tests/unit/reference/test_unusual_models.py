"""Unusual models that tflite-micro runs: zero points, scales, computed indices."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from model_builder import T, constant
from one_operator_models import activation as _a
from one_operator_models import one_operator as _one
from one_operator_models import random_inputs as _inputs
from one_operator_models import weights as _weights
from oracle import Oracle

from harness.model import Model
from harness.reference import Interpreter

_UNIT = {"StrideH": 1, "StrideW": 1, "Padding": 1}
_CONV, _TRANSPOSED = ("Conv2D", _UNIT), ("TransposeConv", _UNIT)
_DEPTHWISE = ("DepthwiseConv2D", {**_UNIT, "DepthMultiplier": 1})
_IMAGE = (1, 4, 4, 3)


def _odd(dtype: str, *shape: int, **more: Any) -> T:
    """An activation with a zero point, which int16 should not have."""
    return _a(*shape, dtype=dtype, zero=5, **more)


RUN = {
    **{
        f"LOGISTIC of the scale {scale}": _one(
            "LOGISTIC", [_a(9, scale=scale, zero=3), _a(9, scale=1 / 256, zero=-128)], [0]
        )
        for scale in (7.9, 8.0, 16.0, 3000.0)
    },
    **{
        f"TANH of the scale {scale}": _one(
            "TANH", [_a(9, scale=scale, zero=3), _a(9, scale=1 / 128)], [0]
        )
        for scale in (7.9, 8.0, 16.0, 3000.0)
    },
    "LEAKY_RELU of int16 with zero points": _one(
        "LEAKY_RELU",
        [_odd("int16", 9), _a(9, dtype="int16", zero=-7)],
        [0],
        ("LeakyRelu", {"Alpha": 0.3}),
    ),
    "RELU6 of int16 with zero points": _one("RELU6", [_odd("int16", 9), _odd("int16", 9)], [0]),
    "FULLY_CONNECTED of int8 weights with a zero point": _one(
        "FULLY_CONNECTED",
        [_odd("int8", 2, 20), _weights(6, 20, zero=-7), _a(2, 6, scale=0.3)],
        [0, 1, -1],
        ("FullyConnected", {}),
    ),
    "FULLY_CONNECTED of per-channel weights with zero points": _one(
        "FULLY_CONNECTED",
        [_a(2, 20), _weights(6, 20, zero=3, scales=6), _a(2, 6, scale=0.3)],
        [0, 1, -1],
        ("FullyConnected", {}),
    ),
    **{
        f"CONV_2D of {dtype} with odd zero points": _one(
            "CONV_2D",
            [
                _odd(dtype, *_IMAGE),
                _weights(6, 3, 3, 3, zero=9),
                _odd(dtype, 1, 2, 2, 6, scale=1.0),
            ],
            [0, 1],
            _CONV,
        )
        for dtype in ("int8", "int16")
    },
    **{
        f"DEPTHWISE_CONV_2D of {dtype} with odd zero points": _one(
            "DEPTHWISE_CONV_2D",
            [
                _odd(dtype, *_IMAGE),
                _weights(1, 3, 3, 3, zero=9),
                _odd(dtype, 1, 2, 2, 3, scale=1.0),
            ],
            [0, 1],
            _DEPTHWISE,
        )
        for dtype in ("int8", "int16")
    },
    **{
        f"TRANSPOSE_CONV of {dtype} with odd zero points": _one(
            "TRANSPOSE_CONV",
            [
                constant([1, 6, 6, 5]),
                _weights(5, 3, 3, 3, zero=9),
                _odd(dtype, *_IMAGE),
                _odd(dtype, 1, 6, 6, 5, scale=1.0),
            ],
            [0, 1, 2],
            _TRANSPOSED,
            (2,),
        )
        for dtype in ("int8", "int16")
    },
    "SLICE at a computed place": _one(
        "SLICE",
        [_a(4, 5), T((2,), "int32"), constant([2, 3]), _a(2, 3)],
        [0, 1, 2],
        ("Slice", {}),
        (0, 1),
    ),
    "MEAN over a computed axis": _one(
        "MEAN", [_a(4, 4), T((1,), "int32"), _a(4)], [0, 1], ("Reducer", {}), (0, 1)
    ),
    "ARG_MAX along a computed axis": _one(
        "ARG_MAX",
        [_a(4, 4), T((1,), "int32"), T((4,), "int32")],
        [0, 1],
        ("ArgMax", {"OutputType": 2}),
        (0, 1),
    ),
    "BATCH_MATMUL of five axes": _one(
        "BATCH_MATMUL",
        [_a(1, 1, 2, 2, 3), _a(1, 2, 1, 3, 2), _a(1, 2, 2, 2, 2)],
        [0, 1],
        ("BatchMatMul", {}),
        (0, 1),
    ),
    "L2_NORMALIZATION of four axes": _one(
        "L2_NORMALIZATION",
        [_a(1, 2, 2, 3), _a(1, 2, 2, 3, scale=1 / 128)],
        [0],
        ("L2Norm", {}),
    ),
    "PRELU of float32 of four axes": _one(
        "PRELU",
        [T((1, 2, 2, 3), "float32"), T((3,), "float32"), T((1, 2, 2, 3), "float32")],
        [0, 1],
        None,
        (0, 1),
    ),
    "FLOOR_MOD of five axes": _one(
        "FLOOR_MOD",
        [T((1, 1, 2, 2, 3), "float32")] * 3,
        [0, 1],
        ("FloorMod", {}),
        (0, 1),
    ),
    "FLOOR_MOD of four axes that broadcasts": _one(
        "FLOOR_MOD",
        [T((1, 2, 2, 3), "float32"), T((3,), "float32"), T((1, 2, 2, 3), "float32")],
        [0, 1],
        ("FloorMod", {}),
        (0, 1),
    ),
    "SQUEEZE of all axes of size 1": _one("SQUEEZE", [_a(1, 3, 1), _a(3)], [0], ("Squeeze", {})),
}


@pytest.mark.parametrize("case", RUN)
def test_models_that_tflm_runs_are_run(case: str, micro: Oracle) -> None:
    model = Model.from_bytes(RUN[case])
    interpreter = Interpreter(model)
    for seed in range(5):
        inputs = _inputs(model, seed)
        if model.inputs[-1].dtype == "int32":
            inputs[-1] %= 2
        (wanted,), _ = micro.run(RUN[case], [inputs])
        np.testing.assert_array_equal(interpreter.invoke(inputs)[0].ravel(), wanted[0].ravel())


@pytest.mark.parametrize("dtype", ["int8", "int16"])
def test_lstm_weights_with_a_zero_point_are_run(dtype: str, micro: Oracle) -> None:
    rng = np.random.default_rng(2)
    weights = [_weights(3, 4 if gate < 4 else 3, zero=7) for gate in range(8)]
    biases = [
        T((3,), "int32" if dtype == "int8" else "int64", 5e-4, 0, rng.integers(-99, 99, 3))
        for _ in range(4)
    ]
    states = [
        T((1, 3), dtype, 0.01, 0, variable=True),
        T((1, 3), "int16", 2.0**-11, 0, variable=True),
    ]
    tensors = [
        _a(1, 5, 4, dtype=dtype),
        *weights,
        *biases,
        *states,
        _a(1, 5, 3, dtype=dtype, scale=0.01),
    ]
    places = [*range(9), -1, -1, -1, 9, 10, 11, 12, -1, -1, 13, 14, -1, -1, -1, -1]
    options = ("UnidirectionalSequenceLSTM", {"FusedActivationFunction": 4})
    data = _one("UNIDIRECTIONAL_SEQUENCE_LSTM", tensors, places, options)
    model = Model.from_bytes(data)
    (wanted,), _ = micro.run(data, [_inputs(model)])
    np.testing.assert_array_equal(Interpreter(model).invoke(_inputs(model))[0], wanted[0])
