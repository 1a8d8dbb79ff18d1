"""Input tensors from files, one row an inference."""

from __future__ import annotations

import numpy as np
import pytest
from model_builder import Graph, T, build_graphs

from harness.base import paths
from harness.base.errors import UsageError
from harness.case.inputs import load_batch, load_inputs
from harness.model import Model

MODEL = Model.from_file(paths.models() / "digits_int8.tflite")
ROWS = np.arange(3 * 64, dtype=np.int8).reshape(3, 8, 8, 1)
WANTED = [[row.tobytes()] for row in ROWS]


@pytest.fixture
def file(tmp_path):
    """A file of one array, or of arrays by their names."""

    def write(array=None, **arrays):
        path = tmp_path / ("x.npz" if array is None else "x.npy")
        if array is None:
            np.savez(path, **arrays)
        else:
            np.save(path, array)
        return path

    return write


def test_an_array_is_the_only_input_row_by_row(file):
    assert load_inputs(file(ROWS), MODEL) == WANTED
    assert load_inputs(file(ROWS.reshape(3, 64)), MODEL) == WANTED
    assert load_inputs(file(np.asfortranarray(ROWS)), MODEL) == WANTED


@pytest.mark.parametrize("key", [MODEL.inputs[0].name, "0", "int8"])
def test_an_input_is_found_by_its_name_its_index_or_its_type(file, key):
    assert load_inputs(file(**{key: ROWS, "labels": np.zeros(3)}), MODEL) == WANTED


def test_a_missing_array_is_reported_with_those_of_the_file(file):
    with pytest.raises(UsageError, match=r"has no array for input .* \(it has uint8, 1\)"):
        load_inputs(file(**{"uint8": ROWS, "1": ROWS}), MODEL)


def test_real_values_are_quantized_on_request(file):
    tensor = MODEL.inputs[0]
    real = (ROWS.astype(np.float32) - tensor.zero_point) * np.float32(tensor.scale)
    assert load_inputs(file(real), MODEL, real=True) == WANTED
    with pytest.raises(UsageError, match=r"takes rows of int8 .*, the file has float32") as refused:
        load_inputs(file(real), MODEL)
    assert refused.value.hint == "reference --quantize takes real values"


def test_quantized_values_are_kept(file):
    assert load_inputs(file(ROWS), MODEL, real=True) == WANTED


def test_a_batch_has_the_shape_and_type_of_the_input(file):
    (batch,) = load_batch(file(ROWS.reshape(3, 64)), MODEL)
    assert (batch.dtype, batch.shape) == (np.int8, (3, *MODEL.inputs[0].shape))
    assert (batch.ravel() == ROWS.ravel()).all()


def test_a_file_that_unpacks_to_more_than_is_read_is_refused(file, monkeypatch):
    monkeypatch.setattr("harness.base.files.MOST_BYTES", 1000)
    assert load_inputs(file(int8=ROWS), MODEL) == WANTED
    with pytest.raises(UsageError, match="not a whole"):
        load_inputs(file(int8=ROWS, more=np.zeros(1000, np.int8)), MODEL)


class Pickled:
    """Leaves a file where it is unpickled."""

    def __init__(self, path):
        self._path = path

    def __reduce__(self):
        return open, (str(self._path), "w")


@pytest.mark.parametrize("name", ["x.npy", "x.npz"])
def test_pickled_objects_are_never_loaded(tmp_path, name):
    trace, path = tmp_path / "trace", tmp_path / name
    (np.save if name == "x.npy" else np.savez)(path, np.array([Pickled(trace)], object))
    with pytest.raises(UsageError, match="not a whole"):
        load_inputs(path, MODEL)
    assert not trace.exists()


@pytest.mark.parametrize("dtype", [bool, np.int16, np.complex64])
def test_only_floats_are_real_values(file, dtype):
    wrong = np.zeros((3, 64), dtype)
    with pytest.raises(
        UsageError, match=f"takes rows of int8 .* the file has {np.dtype(dtype)}"
    ) as told:
        load_inputs(file(wrong), MODEL, real=True)
    assert told.value.hint == ""


def test_real_values_are_loaded_as_a_batch_on_request(file):
    tensor = MODEL.inputs[0]
    real = (ROWS.astype(np.float32) - tensor.zero_point) * np.float32(tensor.scale)
    (batch,) = load_batch(file(real), MODEL, real=True)
    assert (batch.ravel() == ROWS.ravel()).all()
    with pytest.raises(UsageError, match="takes rows of int8"):
        load_batch(file(real), MODEL)


def model_of(*tensors):
    graph = Graph(tensors, [], list(range(len(tensors))), [0])
    return Model.from_bytes(build_graphs([graph]), "own")


ADD = model_of(T((2,), "int8", 1.0, name="a"), T((2,), "int8", 1.0, name="b"))
PAIRS = np.arange(6, dtype=np.int8).reshape(3, 2)


def test_of_several_inputs_each_has_an_array_by_its_name_or_its_index(file):
    rows = [[row.tobytes(), (row + 6).tobytes()] for row in PAIRS]
    assert load_inputs(file(a=PAIRS, b=PAIRS + np.int8(6)), ADD) == rows
    assert load_inputs(file(**{"0": PAIRS, "1": PAIRS + np.int8(6)}), ADD) == rows


def test_an_array_without_a_name_is_none_of_several_inputs(file):
    with pytest.raises(UsageError, match=r"no array for input .a. \(it has one unnamed array\)"):
        load_inputs(file(PAIRS), ADD)
    with pytest.raises(UsageError, match=r"no array for input .a. \(it has int8\)"):
        load_inputs(file(int8=PAIRS), ADD)


def test_every_input_has_as_many_rows(file):
    with pytest.raises(UsageError, match="the same number of rows for each input"):
        load_inputs(file(a=PAIRS, b=PAIRS[:2]), ADD)


def test_a_model_without_inputs_takes_none(file):
    graph = Graph([T((2,), "int8", 1.0)], [], [], [0])
    with pytest.raises(UsageError, match="the same number of rows"):
        load_inputs(file(PAIRS), Model.from_bytes(build_graphs([graph]), "none"))


def test_rows_of_another_shape_are_reported_with_both_shapes(file):
    with pytest.raises(UsageError, match=r"takes rows of int8 \(2,\), the file has int8 \(3,\)"):
        load_inputs(file(a=np.zeros((2, 3), np.int8), b=PAIRS), ADD)
