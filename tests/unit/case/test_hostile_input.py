"""Hostile case files and input files are refused in one line each."""

from __future__ import annotations

import numpy as np
import pytest

from harness.base import paths
from harness.base.errors import UsageError
from harness.build.table import load
from harness.case.inputs import load_inputs
from harness.case.plan import load_cases
from harness.case.samples import sample_case
from harness.model import Model


@pytest.mark.parametrize(
    "text",
    [
        "case = [1, 2]",
        'defaults = 3\n[[case]]\nname = "a"\nelf = "zephyr.elf"',
        '[[case]]\nname = "a"\nelf = "zephyr.elf"\ntargets = [["simulator"]]',
        '[[case]]\nname = "a"\nelf = "zephyr.elf"\ntimeout = nan',
        '[[case]]\nname = "a"\nelf = "zephyr.elf"\nguard = inf',
        '[[case]]\nname = "a"\nelf = "zephyr.elf"\ntolerance = -1.0',
        "a = " + "[" * 5000 + "]" * 5000,
        "a = " + "{b = " * 5000 + "1" + "}" * 5000,
        "a." * 5000 + "b = 1",
    ],
    ids=lambda text: text[:60],
)
def test_case_file_of_the_wrong_shape_is_refused(tmp_path, text: str) -> None:
    (tmp_path / "zephyr.elf").write_bytes(b"")
    (tmp_path / "hil.toml").write_text(text)
    with pytest.raises(UsageError):
        load_cases(tmp_path / "hil.toml")


@pytest.fixture
def digits() -> Model:
    return Model.from_file(paths.models() / "digits_int8.tflite")


@pytest.mark.parametrize(
    "array",
    [
        np.zeros((0, 8, 8, 1), np.int8),
        np.int8(3),
        np.zeros((2, 8, 8, 1), np.uint8),
        np.zeros((2, 8, 8), np.float32),
        np.zeros((2, 7, 8, 1), np.int8),
    ],
)
def test_inputs_of_the_wrong_shape_are_refused(tmp_path, digits: Model, array) -> None:
    np.save(tmp_path / "x.npy", array)
    with pytest.raises(UsageError, match=r"x\.npy"):
        load_inputs(tmp_path / "x.npy", digits)


def test_inputs_that_hold_pickled_objects_are_refused(tmp_path, digits: Model) -> None:
    np.savez(tmp_path / "x.npz", int8=np.array([object()], dtype=object))
    with pytest.raises(UsageError, match=r"x\.npz"):
        load_inputs(tmp_path / "x.npz", digits)


@pytest.mark.parametrize("keep", [0, 3, 40, 200, -30])
def test_inputs_that_are_cut_off_are_refused(tmp_path, digits: Model, keep: int) -> None:
    whole = (paths.models() / "digits_test.npz").read_bytes()
    (tmp_path / "x.npz").write_bytes(whole[:keep])
    with pytest.raises(UsageError, match=r"x\.npz"):
        load_inputs(tmp_path / "x.npz", digits)


def test_inputs_with_a_damaged_array_are_refused(tmp_path, digits: Model) -> None:
    damaged = bytearray((paths.models() / "digits_test.npz").read_bytes())
    damaged[200:400] = bytes(200)
    (tmp_path / "x.npz").write_bytes(damaged)
    with pytest.raises(UsageError, match=r"x\.npz"):
        load_inputs(tmp_path / "x.npz", digits)


@pytest.mark.parametrize("name", sorted(load().samples))
def test_console_case_of_every_sample_feeds_its_whole_test_set(name: str) -> None:
    case = sample_case(name, "console")
    assert case.inputs is not None
    assert case.model is not None
    assert len(load_inputs(case.inputs, Model.from_file(case.model))) >= 100
