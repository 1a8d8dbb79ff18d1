"""The interpreter as an object: arguments, refusals, results."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import is_dataclass
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages
from threading import Thread

import numpy as np
import pytest
from model_builder import Op, T, build
from threadpoolctl import ThreadpoolController

import harness.reference
from harness.base import paths
from harness.base.arithmetic import Arithmetic
from harness.base.errors import BadModel, UsageError
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
def test_inputs_that_are_not_a_list_of_arrays_are_refused(inputs: object, call: str) -> None:
    with pytest.raises(UsageError, match=r"inputs|input"):
        getattr(Interpreter(_network()), call)(inputs)


@pytest.mark.parametrize("model", [None, 3, b"TFL3", ["a.tflite"]])
def test_an_argument_that_is_not_a_model_is_refused(model: object) -> None:
    with pytest.raises(UsageError, match="a model, or the path of one"):
        Interpreter(model)  # type: ignore[arg-type]


@pytest.mark.parametrize("more", [{"arithmetic": "single"}, {"kernels": {}}])
def test_other_settings_of_a_wrong_type_are_refused(more: dict[str, object]) -> None:
    with pytest.raises(UsageError, match=r"not an Arithmetic|not Kernels"):
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


def test_an_interpreter_is_pickled_with_its_arithmetic() -> None:
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


def test_returned_values_survive_the_next_inference() -> None:
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
        return lambda _: next(answers, [])

    kernels = Kernels.default().with_builtin("RELU6", once)
    interpreter, x = Interpreter(_twice(), kernels=kernels), np.zeros(4, np.int8)
    interpreter.invoke([x])
    seen = interpreter.tensors
    with pytest.raises(BadModel, match="gives 0 outputs"):
        interpreter.invoke([x + 1])
    assert not interpreter.tensors
    assert seen[1].tolist() == [0, 0, 0, 0]


def test_a_kernel_may_hold_its_inputs() -> None:
    held = []

    def holding(_: Node) -> Run:
        def run(x: np.ndarray) -> np.ndarray:
            held.append(x)
            return x

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


def test_a_tensor_without_a_value_is_an_error_with_the_reason() -> None:
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
        def run(x: np.ndarray) -> np.ndarray:
            seen.extend(each["num_threads"] for each in library.info())
            return x

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


def _pair() -> Interpreter:
    """ADD of two inputs of three."""
    tensors = [T((3,), "float32", name=name) for name in ("a", "b", "y")]
    data = build(tensors, [Op("ADD", [0, 1], [2], ("Add", {}))], [0, 1], [2])
    return Interpreter(Model.from_bytes(data, "pair"))


_ONES = np.ones((4, 3), np.float32)


@pytest.mark.parametrize(
    ("inputs", "runs", "words"),
    [
        ([_ONES, _ONES[:3]], None, "pair: the inputs have different numbers of runs"),
        ([_ONES, _ONES], 3, "pair: inputs of 4 runs, not 3"),
        ([_ONES[:0], _ONES[:0]], None, "pair: a batch of no inputs"),
        ([_ONES, _ONES], 4.0, "runs is a number of inferences, not 4.0"),
        ([_ONES, _ONES], -1, "runs is a number of inferences, not -1"),
        ([_ONES], None, "pair: 1 inputs given, the model has 2"),
        ([_ONES[0], _ONES], None, r"input 'a' needs \(runs, ...\) of float32 \[3\], not float32"),
        ([_ONES, np.float32(1)], None, r"input 'b' needs \(runs, ...\) of float32 \[3\]"),
        ([_ONES, _ONES.astype(int)], None, r"of float32 \[3\], not int64 \[4, 3\]"),
    ],
)
def test_a_batch_of_wrong_shape_is_refused_with_the_reason(
    inputs: list[np.ndarray], runs: int | None, words: str
) -> None:
    with pytest.raises(UsageError, match=words):
        _pair().invoke_batch(inputs, runs)


def test_a_batch_takes_its_number_of_runs() -> None:
    (y,) = _pair().invoke_batch([_ONES, _ONES], 4)
    assert y.tolist() == [[2, 2, 2]] * 4
    assert _pair().invoke_batch([_ONES[:1], _ONES[:1]])[0].tolist() == [[2, 2, 2]]


def test_inputs_may_be_any_array_like() -> None:
    row = [np.float32(1)] * 3
    for given in ((row, row), [_ONES[0], row], [_ONES[0][::-1], _ONES[1]]):
        assert _pair().invoke(given)[0].tolist() == [2, 2, 2]


def test_a_wrong_input_is_refused_with_both_shapes_and_a_hint() -> None:
    with pytest.raises(UsageError) as refusal:
        _pair().invoke([_ONES[0], _ONES])
    assert refusal.value.message == "pair: input 'b' needs float32 [3], not float32 [4, 3]"
    assert refusal.value.hint == "quantize() converts real values to quantized ones"


def test_tensors_is_a_mapping_of_the_last_inference() -> None:
    interpreter = _pair()
    interpreter.invoke([_ONES[0], _ONES[1]])
    seen = interpreter.tensors
    assert seen is interpreter.tensors
    assert (len(seen), list(seen), 2 in seen, 3 in seen) == (3, [0, 1, 2], True, False)
    assert repr(seen) == "<values of 3 tensors of pair: [0, 1, 2]>"
    for index in (-1, 3, "y", 1.5):
        with pytest.raises(UsageError, match=r"pair has no tensor .*: there are 3, from 0 on"):
            seen[index]  # type: ignore[index]


def test_a_tensor_that_nothing_reads_or_writes_has_no_value() -> None:
    tensors = [T((1,), "float32", name=name) for name in ("x", "y", "idle")]
    model = Model.from_bytes(build(tensors, [Op("NEG", [0], [1])], [0], [1]), "three")
    interpreter = Interpreter(model)
    interpreter.invoke([np.ones(1, np.float32)])
    with pytest.raises(
        UsageError, match=r"three: tensor 2 \('idle'\) is neither an input of the model"
    ):
        interpreter.tensors[2]


def test_kernels_and_arithmetic_go_with_an_interpreter_wherever_it_is_made() -> None:
    def negative(_: Node) -> Run:
        return lambda x, _: -x

    kernels = Kernels.default().with_builtin("ADD", negative)
    model, single = _pair().model, Arithmetic("single", "single")
    for make in (Interpreter, Interpreter.from_model):
        interpreter = make(model, single, kernels=kernels)
        other = interpreter.with_arithmetic(Arithmetic())
        assert (interpreter.arithmetic, other.arithmetic) == (single, Arithmetic())
        for each in (interpreter, other):
            assert each.invoke([_ONES[0], _ONES[1]])[0].tolist() == [-1, -1, -1]


def test_a_file_is_read_with_kernels_and_arithmetic_too(tmp_path: Path) -> None:
    file = tmp_path / "pair.tflite"
    file.write_bytes(_pair().model.data)
    kernels, single = Kernels.default(), Arithmetic("single")
    interpreter = Interpreter.from_file(file, single, kernels=kernels)
    assert (interpreter.arithmetic, interpreter.kernels) == (single, kernels)


def test_an_operator_alone_takes_constants_from_the_model() -> None:
    tensors = [
        T((2,), "float32"),
        T((2,), "float32", data=[10, 20]),
        T((2,), "float32"),
    ]
    data = build(tensors, [Op("ADD", [0, 1], [2], ("Add", {}))], [0], [2])
    interpreter = Interpreter(Model.from_bytes(data))
    (y,) = interpreter.run_operator(0, {0: np.ones(2, np.float32)}) or []
    assert y.tolist() == [11, 21]
    assert interpreter.run_operator(0, {}) is None
    assert interpreter.run_operator(0, {0: np.ones(3, np.float32)}) is None
    assert interpreter.run_operator(0, {0: np.ones(2)}) is None


def test_no_kernel_imports_from_another_kernel() -> None:
    for path in Path(harness.reference.__path__[0], "kernels").glob("*.py"):
        assert "harness.reference.kernels" not in path.read_text(encoding="utf-8"), path.name


def _dataclasses() -> Iterator[type]:
    for found in walk_packages(harness.reference.__path__, "harness.reference."):
        module = import_module(found.name)
        for each in vars(module).values():
            if isinstance(each, type) and is_dataclass(each) and each.__module__ == found.name:
                yield each


def test_prepared_operators_are_immutable() -> None:
    """But for a model's variables."""
    changing = {each.__name__ for each in _dataclasses() if not each.__dataclass_params__.frozen}  # type: ignore[attr-defined]
    assert changing == {"Resource"}
