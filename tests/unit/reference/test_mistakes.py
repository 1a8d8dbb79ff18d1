"""Mutants of operators, and the inputs that notice them."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from flatbuffers import flexbuffers
from model_builder import Op, T, build
from networks import small_image, small_network, svdf_model
from operator_models import every_operator

from harness.base import paths
from harness.base.errors import HilError
from harness.model import Model
from harness.reference import Interpreter
from harness.reference.adequacy import Adequacy, examine
from harness.reference.examiner import Examiner, Trial, kernels_with
from harness.reference.mistakes import MISTAKES, mutants_of
from harness.reference.node import constant


def images(runs: int, first: int = 0) -> list[np.ndarray]:
    return [np.stack([small_image(seed) for seed in range(first, first + runs)])]


def uneven_window() -> bytes:
    """A convolution whose axes differ in stride, dilation and padding."""
    w = np.random.default_rng(1).integers(-127, 128, (4, 4, 2, 3)).astype(np.int8)
    tensors = [
        T((1, 9, 8, 3), "int8", 0.1, 3),
        T((4, 4, 2, 3), "int8", [0.01, 0.02, 0.03, 0.01], [0, 0, 0, 0], w, axis=0),
        T((1, 9, 4, 4), "int8", 0.5, -4),
    ]
    options = {"Padding": 0, "StrideH": 1, "StrideW": 2, "DilationHFactor": 2, "DilationWFactor": 1}
    return build(tensors, [Op("CONV_2D", [0, 1], [2], ("Conv2D", options))], [0], [2])


def padding() -> bytes:
    tensors = [
        T((1, 3), "int8", 0.1, 5),
        T((2, 2), "int32", data=np.array([[0, 0], [1, 2]], np.int32)),
        T((1, 6), "int8", 0.1, 5),
    ]
    return build(tensors, [Op("PAD", [0, 1], [2], ("Pad", {}))], [0], [2])


def turned() -> bytes:
    order = T((3,), "int32", data=np.array([1, 2, 0], np.int32))
    tensors = [T((3, 3, 3), "int8", 0.1, 0), order, T((3, 3, 3), "int8", 0.1, 0)]
    return build(tensors, [Op("TRANSPOSE", [0, 1], [2], ("Transpose", {}))], [0], [2])


def scattered() -> bytes:
    w = np.random.default_rng(1).integers(-127, 128, (2, 2, 2, 3)).astype(np.int8)
    tensors = [
        T((4,), "int32", data=np.array([1, 4, 4, 2], np.int32)),
        T((2, 2, 2, 3), "int8", 0.01, 0, w),
        T((1, 2, 2, 3), "int8", 0.1, 7),
        T((1, 4, 4, 2), "int8", 0.2, 0),
    ]
    options = {"Padding": 1, "StrideH": 2, "StrideW": 2}
    return build(
        tensors, [Op("TRANSPOSE_CONV", [0, 1, 2], [3], ("TransposeConv", options))], [2], [3]
    )


@cache
def models() -> tuple[bytes, ...]:
    return (
        *every_operator(),
        uneven_window(),
        padding(),
        turned(),
        scattered(),
        small_network().data,
    )


@cache
def made() -> frozenset[str]:
    names = set()
    for data in models():
        interpreter = Interpreter(Model.from_bytes(data))
        for step in interpreter.steps:
            found = mutants_of(step.node, interpreter.kernels)
            names |= {each.mistake.name for each in found}
    return frozenset(names)


@pytest.mark.parametrize("name", sorted({each.name for each in MISTAKES}))
def test_some_operator_can_have_each_mistake_of_the_table(name: str) -> None:
    assert name in made()


def test_examine_does_not_change_the_interpreter() -> None:
    interpreter = Interpreter(small_network())
    before = interpreter.invoke_batch(images(5))[0]
    examine(interpreter, images(3))
    assert np.array_equal(interpreter.invoke_batch(images(5))[0], before)


def test_a_mistake_is_noticed_if_the_outputs_of_the_mutated_model_differ() -> None:
    examiner, inputs = Examiner(Interpreter(small_network())), images(6)
    found = examiner.noticed(inputs)
    (right,) = examiner.interpreter.invoke_batch(inputs)
    assert len(examiner.trials) > 40
    for number, trial in enumerate(examiner.trials):
        kernels = kernels_with(examiner.mutant(number), trial.step, examiner.interpreter.kernels)
        (wrong,) = Interpreter(small_network(), kernels=kernels).invoke_batch(inputs)
        differs = (wrong != right).reshape(len(right), -1).any(axis=1)
        assert np.array_equal(found[number], differs), trial


@pytest.mark.slow
def test_no_input_notices_an_equivalent_mutant() -> None:
    rng = np.random.default_rng(3)
    for name in ("hello_world_int8", "digits_int8", "residual_int8"):
        interpreter = Interpreter(paths.models() / f"{name}.tflite")
        (x,) = interpreter.inputs
        few = [rng.integers(-128, 128, (2, *x.shape)).astype(np.int8)]
        equivalent = examine(interpreter, few).equivalent
        assert equivalent
        examiner = Examiner(interpreter)
        numbers = [examiner.trials.index(trial) for trial in equivalent]
        many = rng.choice([-128, -90, 0, 70, 127], (60, *x.shape)).astype(np.int8)
        assert not examiner.noticed([many], numbers).any()


def test_more_inputs_never_notice_less() -> None:
    few, more = (examine(Interpreter(small_network()), images(runs)) for runs in (1, 12))
    assert set(more.missed) <= set(few.missed)
    assert few.share <= more.share


def test_the_same_input_twice_notices_what_it_does_once() -> None:
    once = examine(Interpreter(small_network()), images(1))
    twice = examine(Interpreter(small_network()), [np.repeat(images(1)[0], 2, axis=0)])
    assert once.missed == twice.missed


def test_a_tolerance_hides_small_mistakes() -> None:
    exact = examine(Interpreter(small_network()), images(6))
    loose = examine(Interpreter(small_network()), images(6), tolerance=3)
    assert exact.share > loose.share


def test_a_forgotten_state_shows_in_the_second_inference_only() -> None:
    rng = np.random.default_rng(2)
    inputs = [rng.integers(-128, 128, (6, 1, 4)).astype(np.int8)]
    examiner = Examiner(Interpreter(svdf_model()))
    number = next(n for n, t in enumerate(examiner.trials) if "forgets its state" in t.mistake)
    assert np.flatnonzero(examiner.noticed(inputs, [number])[0]).tolist() == [1]
    assert not examiner.noticed([inputs[0][:1]], [number]).any()


def test_the_only_operator_with_a_memory_may_forget_it() -> None:
    tensors = [T((1, 4), "int16"), T((1, 4), "int16")]
    settings = flexbuffers.Dumps({"delay_length": 3})
    delay = Op("SignalDelay", [0], [1], custom="SignalDelay", custom_options=settings)
    examiner = Examiner(Interpreter(Model.from_bytes(build(tensors, [delay], [0], [1]))))
    number = next(n for n, t in enumerate(examiner.trials) if "forgets its state" in t.mistake)
    inputs = [np.arange(1, 13, dtype=np.int16).reshape(3, 1, 4)]
    assert np.flatnonzero(examiner.noticed(inputs, [number])[0]).tolist() == [1]


def test_a_refused_value_is_noticed_in_the_run_that_has_it() -> None:
    """MAXIMUM for MINIMUM lets an index beyond the table through, whose entries are all equal."""
    tensors = [
        T((1,), "int16"),
        T((1,), "int16"),
        T((1,), "int32"),
        T((1,), "int32", data=np.array([3], np.int32)),
        T((1,), "int32"),
        T((4,), "float32", data=np.ones(4, np.float32)),
        T((1,), "float32"),
    ]
    settings = flexbuffers.Dumps({"delay_length": 1})
    operators = [
        Op("SignalDelay", [0], [1], custom="SignalDelay", custom_options=settings),
        Op("CAST", [1], [2], ("Cast", {})),
        Op("MINIMUM", [2, 3], [4], ("MaximumMinimum", {})),
        Op("GATHER", [5, 4], [6], ("Gather", {})),
    ]
    examiner = Examiner(Interpreter(Model.from_bytes(build(tensors, operators, [0], [6]))))
    number = examiner.trials.index(Trial(2, "MINIMUM", "computes its neighbour"))
    inputs = [np.array([[1], [9], [0]], np.int16)]
    assert np.flatnonzero(examiner.noticed(inputs, [number])[0]).tolist() == [2]


def test_a_float_model_notices_no_more_than_its_bound_allows() -> None:
    found = examine(
        Interpreter(paths.models() / "hello_world_float32.tflite"),
        [np.linspace(0, 6.28, 20, dtype=np.float32).reshape(20, 1, 1)],
    )
    assert 0.8 < found.share < 1
    assert not any("rounds" in trial.mistake for trial in found.trials)


def test_a_model_without_a_possible_mistake_is_adequately_tested() -> None:
    assert Adequacy("m", 1, (), ()).share == 1


def test_the_share_is_of_what_can_be_noticed() -> None:
    one, other, third = (Trial(0, "ADD", name) for name in ("a", "b", "c"))
    found = Adequacy("m", 1, (one, other, third), (1, 0, 0), {third: "why"})
    assert (found.missed, found.possible, found.share) == ((other,), 2, 0.5)


@pytest.mark.parametrize(
    "data", every_operator(), ids=lambda data: Model.from_bytes(data).operators[0].name
)
def test_each_mistake_of_each_operator_gives_what_the_operator_declares(data: bytes) -> None:
    """Shapes and types are the operator's, so that the operators behind it can run."""
    interpreter = Interpreter(Model.from_bytes(data))
    rng = np.random.default_rng(4)
    for step in interpreter.steps:
        given = [
            None if each is None else constant(each)[None] if each.constant
            else _drawn(rng, each) for each in step.node.inputs
        ]  # fmt: skip
        for mutant in mutants_of(step.node, interpreter.kernels):
            try:
                with np.errstate(all="ignore"):
                    results = list(mutant.run(*given))
            except HilError:
                continue  # values that the operator refuses
            step.check(results)


def _drawn(rng: np.random.Generator, tensor: object) -> np.ndarray:
    shape, dtype = tensor.shape, tensor.dtype  # type: ignore[attr-defined]
    if dtype == "float32":
        return rng.normal(size=(1, *shape)).astype(np.float32)
    kind = "int32" if dtype == "resource" else dtype
    return rng.integers(0, 2, (1, *shape)).astype(kind)
