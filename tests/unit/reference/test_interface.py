"""The interpreter as an object: what it takes, what it refuses, what it gives out."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Thread

import numpy as np
import pytest
from model_builder import Op, T, build
from threadpoolctl import ThreadpoolController

from harness import paths
from harness.arithmetic import Arithmetic
from harness.errors import BadModel, UsageError
from harness.model import Model
from harness.reference import Interpreter, Kernels, Node, Run


def _network() -> Model:
    return Model.from_file(paths.models() / "digits_int8.tflite")


def _image() -> np.ndarray:
    return np.random.default_rng(0).integers(-128, 128, (1, 8, 8, 1)).astype(np.int8)


@pytest.mark.parametrize(
    "inputs",
    [None, 3, "image.npy", b"bytes", {0: _image()}, np.float32(1), [None], ["text"], [[1, [2]]]],
)
@pytest.mark.parametrize("call", ["invoke", "invoke_batch"])
def test_what_is_no_list_of_arrays_is_refused(inputs: object, call: str) -> None:
    with pytest.raises(UsageError, match=r"inputs|input"):
        getattr(Interpreter(_network()), call)(inputs)


@pytest.mark.parametrize("model", [None, 3, b"TFL3", ["a.tflite"]])
def test_what_is_no_model_is_refused(model: object) -> None:
    with pytest.raises(UsageError, match="a model, or the path of one"):
        Interpreter(model)  # type: ignore[arg-type]


@pytest.mark.parametrize("more", [{"arithmetic": "single"}, {"kernels": {}}])
def test_other_settings_of_a_wrong_type_are_refused(more: dict[str, object]) -> None:
    with pytest.raises(UsageError, match=r"no Arithmetic|not Kernels"):
        Interpreter(_network(), **more)  # type: ignore[arg-type]


def test_a_path_is_taken_where_a_model_is(tmp_path: Path) -> None:
    file = tmp_path / "network.tflite"
    file.write_bytes(_network().data)
    for given in (file, str(file)):
        for make in (Interpreter, Interpreter.from_model, Interpreter.from_file):
            assert make(given).model.name == "network.tflite"


def test_its_text_names_the_model_and_its_tensors() -> None:
    text = repr(Interpreter(_network()))
    assert text.startswith("<Interpreter of")
    assert f"int8 {list(_image().shape)} -> int8" in text


def test_it_can_be_pickled_with_its_arithmetic() -> None:
    interpreter = Interpreter(_network(), Arithmetic(rounding="single"))
    copy = pickle.loads(pickle.dumps(interpreter))
    assert copy.arithmetic == interpreter.arithmetic
    for got, want in zip(copy.invoke([_image()]), interpreter.invoke([_image()]), strict=True):
        assert np.array_equal(got, want)


def test_outputs_and_tensors_are_never_views_of_anything() -> None:
    options = ("Reshape", {})
    tensors = [T((4,), "int8", 1.0), T((1,), "int32", data=np.array([4])), T((4,), "int8", 1.0)]
    content = build(tensors, [Op("RESHAPE", [0, 1], [2], options)], [0], [2])
    interpreter, x = Interpreter(Model.from_bytes(content)), np.arange(4, dtype=np.int8)
    (y,), seen = interpreter.invoke([x]), interpreter.tensors
    (many,) = interpreter.invoke_batch([x[None]])
    for other in (y, seen[0], seen[2], many):
        assert not np.shares_memory(x, other)
        other[...] = 99
    assert seen[0].tolist() == seen[2].tolist() == interpreter.tensors[2].tolist() == [0, 1, 2, 3]


def _twice() -> Model:
    """RELU, then RELU6 on the same two tensors, turned round: each is written again."""
    tensors = [T((4,), "int8", 1.0), T((4,), "int8", 1.0)]
    operators = [Op("RELU", [0], [1]), Op("RELU6", [1], [0])]
    return Model.from_bytes(build(tensors, operators, [0], [1, 0]))


def test_values_that_were_given_out_outlive_the_next_inference() -> None:
    interpreter = Interpreter(_twice())
    first = interpreter.invoke([np.array([-3, 3, 7, 9], np.int8)])
    seen = interpreter.tensors
    interpreter.invoke([np.array([1, 1, 1, 1], np.int8)])
    assert [each.tolist() for each in first] == [[0, 3, 7, 9], [0, 3, 6, 6]]
    assert seen[0].tolist() == [0, 3, 6, 6]
    interpreter.reset()
    assert not interpreter.tensors
    assert seen[1].tolist() == [0, 3, 7, 9]


def test_an_inference_that_fails_leaves_no_values() -> None:
    def once(_: Node) -> Run:
        answers = iter([[np.zeros((1, 4), np.int8)]])
        return lambda values: next(answers, [])

    kernels = Kernels.default().with_builtin("RELU6", once)
    interpreter, x = Interpreter(_twice(), kernels=kernels), np.zeros(4, np.int8)
    interpreter.invoke([x])
    seen = interpreter.tensors
    with pytest.raises(BadModel, match="gives 0 outputs"):
        interpreter.invoke([x + 1])
    assert not interpreter.tensors
    assert seen[1].tolist() == [0, 0, 0, 0]


def test_a_kernel_may_hold_what_it_was_given() -> None:
    held = []

    def holding(_: Node) -> Run:
        def run(values: Sequence[np.ndarray]) -> list[np.ndarray]:
            held.append(values[0])
            return [values[0]]

        return run

    kernels = Kernels.default().with_builtin("RELU6", holding)
    interpreter = Interpreter(_twice(), kernels=kernels)
    for value in (1, 2):
        interpreter.invoke([np.full(4, value, np.int8)])
    assert [each[0, 0] for each in held] == [1, 2]


def test_an_interpreter_may_be_shared_by_threads() -> None:
    interpreter = Interpreter(_network())
    images = [np.random.default_rng(seed).integers(-128, 128, (1, 8, 8, 1)) for seed in range(8)]
    rows = [[image.astype(np.int8)] for image in images] * 25
    with ThreadPoolExecutor(4) as pool:
        together = [each[0] for each in pool.map(interpreter.invoke, rows)]
    alone = [interpreter.invoke(row)[0] for row in rows]
    assert np.array_equal(together, alone)


def test_a_tensor_without_a_value_says_why() -> None:
    interpreter = Interpreter(_network())
    constant = next(each.index for each in interpreter.model.tensors if each.constant)
    with pytest.raises(UsageError, match=r"'.*'\) is a constant"):
        interpreter.tensors[constant]
    with pytest.raises(KeyError, match="before the first inference"):
        interpreter.tensors[interpreter.inputs[0].index]
    with pytest.raises(UsageError, match="has no tensor 999"):
        interpreter.tensors[999]
    assert 999 not in interpreter.tensors


def test_a_model_without_inputs_runs_in_a_batch() -> None:
    data = np.array([1, -2], np.int8)
    tensors = [T((2,), "int8", 1.0, data=data), T((2,), "int8", 1.0)]
    content = build(tensors, [Op("RELU", [0], [1])], [], [1])
    interpreter = Interpreter(Model.from_bytes(content))
    assert interpreter.invoke_batch([], runs=3)[0].tolist() == [[1, 0]] * 3
    assert interpreter.invoke_batch([])[0].tolist() == [[1, 0]]
    with pytest.raises(UsageError, match="runs is a number"):
        interpreter.invoke_batch([], runs=-1)


def test_threads_of_the_matrix_library_are_given_back() -> None:
    library = ThreadpoolController().select(user_api="blas")
    before = [each["num_threads"] for each in library.info()]
    seen = []

    def spy(node: Node) -> Run:
        def run(values: Sequence[np.ndarray]) -> list[np.ndarray]:
            seen.extend(each["num_threads"] for each in library.info())
            return [values[0]]

        return run

    tensors = [T((70, 70), "float32"), T((70, 70), "float32")]
    content = build(tensors, [Op("CUSTOM", [0], [1], custom="Spy")], [0], [1])
    kernels = Kernels.default().with_custom("Spy", spy)
    interpreter = Interpreter(Model.from_bytes(content), kernels=kernels)
    interpreter.invoke([np.zeros((70, 70), np.float32)])
    interpreter.invoke_batch([np.zeros((900, 70, 70), np.float32)])
    thread = Thread(target=interpreter.invoke, args=([np.zeros((70, 70), np.float32)],))
    thread.start()
    thread.join()
    assert set(seen) <= {1}
    assert [each["num_threads"] for each in library.info()] == before
