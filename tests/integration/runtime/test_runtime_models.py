"""Whole models on the standalone runtime equal the official interpreter, to the bit."""

from __future__ import annotations

import numpy as np
import pytest

from harness.base import paths

INFERENCES = 1000

#: (input shape, input type) of each model that needs builtin operators only.
MODELS = {
    "hello_world_int8": ((1, 1), np.int8),
    "hello_world_float32": ((1, 1), np.float32),
    "digits_int8": ((1, 8, 8, 1), np.int8),
    "digits_cnn_int8": ((1, 8, 8, 1), np.float32),
    "residual_int8": ((1, 8, 8, 1), np.int8),
    "chime_int8": ((1, 1, 1, 16), np.int8),
}


@pytest.mark.parametrize("name", MODELS)
def test_outputs_of_random_inputs_equal_the_official_interpreter(host, official, name):
    shape, dtype = MODELS[name]
    random = np.random.default_rng(7)
    if dtype == np.int8:
        values = random.integers(-128, 128, size=(INFERENCES, *shape)).astype(np.int8)
    else:
        values = random.uniform(0, 6.2, size=(INFERENCES, *shape)).astype(np.float32)
    model = paths.models() / f"{name}.tflite"
    outputs, _ = official.run(model.read_bytes(), [[row] for row in values])
    expected = b"".join(one.tobytes() for (one,) in outputs)
    ran = host.run(model, values.tobytes())
    assert ran.status == 0, ran.log
    assert len(expected) >= INFERENCES
    assert ran.output == expected
