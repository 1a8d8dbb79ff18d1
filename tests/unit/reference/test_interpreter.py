"""The interpreter as a whole: batches, states, intermediate tensors, inputs."""

from __future__ import annotations

import numpy as np
import pytest
from networks import small_image, small_network, svdf_model

from harness.base.errors import UsageError
from harness.reference import (
    Interpreter,
)


def test_a_batch_equals_single_inferences() -> None:
    interpreter = Interpreter(small_network())
    images = np.stack([small_image(seed) for seed in range(20)])
    (together,) = interpreter.invoke_batch([images])
    alone = np.stack([interpreter.invoke([image])[0] for image in images])
    assert together.shape == (20, 1, 4)
    assert np.array_equal(together, alone)
    assert len(np.unique(alone, axis=0)) > 5


def test_a_batch_that_exceeds_one_chunk_is_still_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    images = np.stack([small_image(seed) for seed in range(11)])
    expected = Interpreter(small_network()).invoke_batch([images])[0]
    monkeypatch.setattr("harness.reference.interpreter.CHUNK_BYTES", 3000)
    assert np.array_equal(Interpreter(small_network()).invoke_batch([images])[0], expected)


def test_a_batch_of_a_stateful_model_is_one_inference_after_another() -> None:
    rng = np.random.default_rng(1)
    x = rng.integers(-128, 128, (8, 1, 4)).astype(np.int8)
    batch, single = Interpreter(svdf_model()), Interpreter(svdf_model())
    (together,) = batch.invoke_batch([x])
    alone = [single.invoke([row])[0] for row in x]
    assert np.array_equal(together, np.stack(alone))
    assert not np.array_equal(together[0], Interpreter(svdf_model()).invoke_batch([x[1:2]])[0][0])


def test_reset_forgets_the_state() -> None:
    x = np.full((1, 4), 77, np.int8)
    interpreter = Interpreter(svdf_model())
    first = interpreter.invoke([x])[0]
    second = interpreter.invoke([x])[0]
    interpreter.reset()
    assert not interpreter.tensors
    assert np.array_equal(interpreter.invoke([x])[0], first)
    assert not np.array_equal(first, second)


def test_intermediate_tensors_are_there_after_a_run() -> None:
    interpreter = Interpreter(small_network())
    assert not interpreter.tensors
    (y,) = interpreter.invoke([small_image()])
    assert set(interpreter.tensors) == {0, 2, 5, 7, 9, 10}
    assert interpreter.tensors[2].shape == (1, 6, 6, 8)
    assert np.array_equal(interpreter.tensors[10], y)


def test_inputs_are_not_changed() -> None:
    image = small_image()
    before = image.copy()
    Interpreter(small_network()).invoke([image])
    assert np.array_equal(image, before)


@pytest.mark.parametrize(
    ("inputs", "words"),
    [
        ([], "0 inputs given"),
        ([small_image(), small_image()], "2 inputs given"),
        ([small_image()[0]], "needs int8 \\[1, 6, 6, 3\\]"),
        ([small_image().astype(np.float32)], "not float32"),
    ],
)
def test_wrong_inputs_are_refused(inputs: list[np.ndarray], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        Interpreter(small_network()).invoke(inputs)
