"""The search for test vectors."""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor

import numpy as np
import pytest
from model_builder import Op, T, build
from networks import small_image, small_network, svdf_model

from harness.base import paths
from harness.base.errors import UsageError
from harness.model import Model
from harness.reference import Interpreter
from harness.reference.adequacy import examine
from harness.reference.vectors import by_operator, find_vectors


def test_every_mistake_of_a_small_model_is_noticed_or_cannot_be() -> None:
    found = find_vectors(str(paths.models() / "hello_world_int8.tflite"))
    assert found.adequacy.share == 1
    assert len(found.inputs[0]) <= 10


@pytest.mark.slow
def test_the_same_seed_finds_the_same_and_processes_change_nothing() -> None:
    alone, again = (find_vectors(small_network(), seed=5) for _ in range(2))
    with ProcessPoolExecutor(2) as pool:
        together = find_vectors(small_network(), seed=5, over=pool.map)
    assert np.array_equal(alone.inputs[0], again.inputs[0])
    assert np.array_equal(alone.inputs[0], together.inputs[0])
    assert not np.array_equal(alone.inputs[0], find_vectors(small_network(), seed=6).inputs[0])


def test_the_reported_adequacy_is_that_of_the_inputs() -> None:
    found = find_vectors(small_network())
    assert examine(Interpreter(small_network()), list(found.inputs)) == found.adequacy


def test_search_notices_more_than_inputs_that_are_drawn_as_usual() -> None:
    usual = [np.stack([small_image(seed) for seed in range(10)])]
    assert (
        find_vectors(small_network()).adequacy.share
        > examine(Interpreter(small_network()), usual).share
    )


def test_given_inputs_are_taken_where_they_serve() -> None:
    first = find_vectors(small_network(), seed=1)
    second = find_vectors(small_network(), list(first.inputs), seed=2)
    rows = {row.tobytes() for row in second.inputs[0]}
    assert rows & {row.tobytes() for row in first.inputs[0]}
    assert second.adequacy.share >= first.adequacy.share


def test_at_most_count_inputs_are_found() -> None:
    assert len(find_vectors(small_network(), count=2).inputs[0]) <= 2


def test_floats_are_drawn_from_the_range_of_the_given_inputs() -> None:
    given = [np.linspace(0, 6, 9, dtype=np.float32).reshape(9, 1, 1)]
    found = find_vectors(str(paths.models() / "hello_world_float32.tflite"), given)
    assert found.inputs[0].min() >= 0
    assert found.inputs[0].max() <= 6


def test_a_model_with_a_memory_gets_one_sequence() -> None:
    found = find_vectors(svdf_model())
    assert found.adequacy.share > 0.7
    assert not any("forgets its state" in trial.mistake for trial in found.adequacy.missed)


def test_indices_that_a_model_refuses_are_left_out() -> None:
    table = np.arange(20, dtype=np.int8).reshape(5, 4)
    tensors = [T((2,), "int32"), T((5, 4), "int8", 0.1, 0, table), T((2, 4), "int8", 0.1, 0)]
    model = Model.from_bytes(
        build(tensors, [Op("GATHER", [1, 0], [2], ("Gather", {"Axis": 0}))], [0], [2])
    )
    given = [np.array([[0, 4], [1, 2]], np.int32)]
    assert len(find_vectors(model, given).inputs[0]) >= 1
    with pytest.raises(UsageError, match="refuses all of the inputs"):
        find_vectors(model)


def test_a_model_without_inputs_is_refused() -> None:
    tensors = [T((2,), "int32", data=np.array([1, 2], np.int32)), T((2,), "int32")]
    model = Model.from_bytes(build(tensors, [Op("RESHAPE", [0], [1], ("Reshape", {}))], [], [1]))
    with pytest.raises(UsageError, match="has no inputs"):
        find_vectors(model)


def test_another_number_of_given_inputs_is_refused() -> None:
    tensors = [T((2,), "float32"), T((2,), "float32"), T((2,), "float32")]
    model = Model.from_bytes(build(tensors, [Op("ADD", [0, 1], [2], ("Add", {}))], [0, 1], [2]))
    with pytest.raises(UsageError, match="1 inputs given, the model has 2"):
        find_vectors(model, [np.zeros((1, 2), np.float32)])


def test_operators_are_counted_by_kind() -> None:
    table = by_operator(find_vectors(small_network()).adequacy)
    assert all(0 < seen <= possible for seen, possible in table.values())
