from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from oracle import Oracle

#: Where TensorFlow Lite's reference kernels are known to differ from TFLM's.
LITERT_DIFFERS = {
    "test_sums_equal[ADD-int32]": "LiteRT applies the fused activation, TFLM does not",
    "test_means_and_sums_equal[SUM-int8]": "LiteRT's quantized sum goes through float",
    "test_means_and_sums_equal[SUM-int16]": "LiteRT's quantized sum goes through float",
    "test_fully_connected_equals[int16-int8]": "LiteRT reads an int32 bias in another way",
    "test_relu_equals[int16]": "LiteRT computes the multiplier in single precision",
    "test_abs_equals[int16]": "LiteRT computes the multiplier in single precision",
    "test_leaky_relu_equals[int16]": "LiteRT computes the multiplier in single precision",
}


@pytest.fixture(scope="session")
def _oracle() -> Iterator[Oracle]:
    oracle = Oracle(os.environ.get("TFLM_HIL_WITNESS", "tflm"))
    yield oracle
    oracle.close()
    if file := os.environ.get("TFLM_HIL_AGREED"):
        Path(file).write_text(json.dumps(sorted(oracle.agreed)))


@pytest.fixture
def official(_oracle: Oracle, request: pytest.FixtureRequest) -> Oracle:
    """The official interpreter of tflite-micro, or with TFLM_HIL_WITNESS=litert a second witness.

    LiteRT is TensorFlow Lite's interpreter, here with its reference kernels.
    """
    if not _oracle.installed:
        pytest.skip(f"the official interpreter {_oracle.kind} is not installed")
    if _oracle.kind == "litert" and request.node.name in LITERT_DIFFERS:
        pytest.skip(LITERT_DIFFERS[request.node.name])
    return _oracle
