"""The inputs that the samples give themselves, made anew on the host."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from model_builder import Graph, T, build_graphs

from harness.base import paths
from harness.build.table import load
from harness.case.evidence.builtin import builtin_inputs
from harness.model import Model

INT8, REAL = (paths.models() / f"hello_world_{name}.tflite" for name in ("int8", "float32"))
#: The upper bytes of the first states of x' = 1664525 x + 1013904223 from 0 (Knuth, Numerical
#: Recipes in C, 7.1): 3C6EF35F, 47502932, D1CCF6E9, AAF95334, 6252E503, 9F2EC686, 57FE6C2D.
STATES = bytes([0x3C, 0x47, 0xD1, 0xAA, 0x62, 0x9F, 0x57])


def sample(name: str, **more):
    return replace(load().sample(name), **more)


def test_the_benchmarks_noise_is_that_of_the_generator_and_its_seed_the_inference():
    model = Model.from_file(paths.models() / "digits_int8.tflite")
    rows = builtin_inputs(sample("digits", application="benchmark", inputs="", inferences=2), model)
    (first,), (second,) = rows
    assert first[: len(STATES)] == STATES
    assert second[0] == (1664525 + 1013904223) >> 24
    assert len(first) == len(second) == model.inputs[0].elements


def test_noise_for_floats_lies_between_minus_one_and_one():
    model = Model.from_file(REAL)
    bench = sample("hello_world", application="benchmark", inputs="", inferences=1)
    ((data,),) = builtin_inputs(bench, model)
    assert np.frombuffer(data, "<f4").tolist() == [(STATES[0] - 128) / 128]


def test_hello_worlds_angles_go_round_once_in_steps_of_the_input():
    model = Model.from_file(INT8)
    rows = builtin_inputs(sample("hello_world", inputs="", inferences=20), model)
    (tensor,) = model.inputs
    values = np.array([np.frombuffer(data, np.int8)[0] for (data,) in rows], float)
    angles = (values - tensor.zero_point) * tensor.scale
    assert np.abs(angles - np.arange(20) / 20 * 2 * np.pi).max() <= tensor.scale / 2 + 1e-6


def test_angles_beyond_the_inputs_range_are_its_ends():
    graph = Graph([T((1, 1), "int8", 0.02, -128)], [], [0], [0])
    rows = builtin_inputs(
        sample("hello_world", inputs="", inferences=20),
        Model.from_bytes(build_graphs([graph]), "finer"),
    )
    assert [np.frombuffer(data, np.int8)[0] for (data,) in rows][-4:] == [123, 127, 127, 127]
    below = Graph([T((1, 1), "int8", 0.02, -140)], [], [0], [0])
    rows = builtin_inputs(
        sample("hello_world", inputs="", inferences=100),
        Model.from_bytes(build_graphs([below]), "lower"),
    )
    assert [np.frombuffer(data, np.int8)[0] for (data,) in rows][:5] == [
        -128,
        -128,
        -128,
        -128,
        -127,
    ]


def test_hello_worlds_angles_as_floats_are_single_precision():
    rows = builtin_inputs(sample("hello_world", inputs="", inferences=4), Model.from_file(REAL))
    angles = [np.frombuffer(data, "<f4")[0] for (data,) in rows]
    assert angles == pytest.approx([0, np.pi / 2, np.pi, 3 * np.pi / 2], rel=1e-6)


def test_stored_rows_are_the_first_of_the_test_set():
    model = Model.from_file(paths.models() / "digits_int8.tflite")
    stored = np.load(paths.models() / "digits_test.npz")["int8"]
    rows = builtin_inputs(sample("digits", inferences=7), model)
    assert rows == [[row.tobytes()] for row in stored[:7]]


def test_inputs_of_an_application_of_ones_own_are_not_known():
    model = Model.from_file(INT8)
    assert builtin_inputs(sample("hello_world", application="mine", inputs=""), model) is None
    assert builtin_inputs(sample("hello_world"), None) is None
