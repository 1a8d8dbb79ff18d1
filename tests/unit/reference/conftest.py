from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from oracle import Oracle

_ABSENT = "LiteRT refuses this variant"
_TABLE = "LiteRT differs by 1 in some of 1,000 cases"
#: Where TensorFlow Lite's reference kernels are known to differ from TFLM's.
LITERT_DIFFERS = {
    "test_sums_equal[ADD-int32]": "LiteRT applies the fused activation, TFLM does not",
    "test_means_and_sums_equal[SUM-int8]": "LiteRT's quantized sum goes through float",
    "test_means_and_sums_equal[SUM-int16]": "LiteRT's quantized sum goes through float",
    "test_fully_connected_equals[int16-int8]": "LiteRT reads an int32 bias in another way",
    "test_conv_2d_equals[int16-int8]": "LiteRT reads an int32 bias in another way",
    "test_mul_equals[int16]": "LiteRT saturates where TFLM wraps at 32 bits",
    "test_squashing_functions_equal[LOGISTIC-int8]": _TABLE,
    "test_squashing_functions_equal[TANH-int8]": _TABLE,
    "test_softmax_equals[int16]": _TABLE,
    "test_squared_difference_equals[int16]": _ABSENT,
    "test_quantized_rsqrt_equals[int16]": "LiteRT interpolates a table",
    "test_elu_equals[int8]": _ABSENT,
    "test_elu_equals[float32]": _ABSENT,
    "test_real_functions_equal[CEIL]": _ABSENT,
    "test_real_functions_equal[ROUND]": _ABSENT,
    "test_special_values_equal[ROUND]": _ABSENT,
    "test_quantize_equals[int8-int32]": _ABSENT,
    "test_svdf_equals[int8-int8]": _ABSENT,
    "test_svdf_equals[int8-int16]": _ABSENT,
    "test_lstm_equals[int8]": _ABSENT,
    "test_lstm_equals[int16]": _ABSENT,
}


@pytest.fixture(scope="session", params=["tflm", "litert"])
def _oracle(request: pytest.FixtureRequest) -> Iterator[Oracle]:
    oracle = Oracle(request.param)
    yield oracle
    oracle.close()
    if file := os.environ.get("TFLM_HIL_AGREED"):
        rows = [[*key, oracle.kind, count] for key, count in sorted(oracle.agreed.items())]
        Path(f"{file}.{oracle.kind}.{os.getpid()}").write_text(json.dumps(rows))


@pytest.fixture
def official(_oracle: Oracle, request: pytest.FixtureRequest) -> Oracle:
    """The official interpreter of tflite-micro, and as a second witness TensorFlow Lite's own.

    LiteRT runs with its reference kernels.
    """
    if not _oracle.installed:
        pytest.skip(f"the official interpreter {_oracle.kind} is not installed")
    name = request.node.name.replace(f"{_oracle.kind}-", "").replace(f"[{_oracle.kind}]", "")
    if _oracle.kind == "litert" and name in LITERT_DIFFERS:
        pytest.skip(LITERT_DIFFERS[name])
    return _oracle


@pytest.fixture
def micro(_oracle: Oracle) -> Oracle:
    """The official interpreter of tflite-micro, for what TensorFlow Lite does in another way."""
    if _oracle.kind != "tflm":
        pytest.skip("tflite-micro's own rule")
    if not _oracle.installed:
        pytest.skip("the official interpreter tflm is not installed")
    return _oracle
