"""The interpreter as a whole: batches, states, registry, refusals, alternatives, layers."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from model_builder import ACTIVATIONS, Op, T, build
from networks import svdf

from harness.arithmetic import Arithmetic
from harness.errors import BadModel, EnvironmentMissing, UnsupportedOperator, UsageError
from harness.model import Model
from harness.reference import (
    Interpreter,
    Kernels,
    Node,
    Run,
    alternatives,
    compare,
    compare_layers,
    compare_outputs,
    table,
)


def _network(seed: int = 0) -> Model:
    """CONV_2D, DEPTHWISE_CONV_2D, ADD with a constant, FULLY_CONNECTED, SOFTMAX."""
    rng = np.random.default_rng(seed)

    def weights(*shape: int) -> np.ndarray:
        return rng.integers(-127, 128, shape).astype(np.int8)

    tensors = [
        T((1, 6, 6, 3), "int8", 0.02, -3),
        T((8, 3, 3, 3), "int8", rng.uniform(0.001, 0.01, 8), 0, weights(8, 3, 3, 3)),
        T((1, 6, 6, 8), "int8", 0.03, -20),
        T((1, 3, 3, 8), "int8", rng.uniform(0.001, 0.01, 8), 0, weights(1, 3, 3, 8), axis=3),
        T((8,), "int32", 1e-4, 0, rng.integers(-999, 999, 8)),
        T((1, 3, 3, 8), "int8", 0.03, 5),
        T((1, 1, 1, 8), "int8", 0.02, 1, weights(1, 1, 1, 8)),
        T((1, 3, 3, 8), "int8", 0.04, 0),
        T((4, 72), "int8", 0.005, 0, weights(4, 72)),
        T((1, 4), "int8", 0.3, 0),
        T((1, 4), "int8", 1 / 256, -128),
    ]
    window = {"Padding": 0, "FusedActivationFunction": ACTIVATIONS["RELU"]}
    conv = ("Conv2D", {**window, "StrideW": 1, "StrideH": 1})
    depthwise = ("DepthwiseConv2D", {**window, "StrideW": 2, "StrideH": 2, "DepthMultiplier": 1})
    operators = [
        Op("CONV_2D", [0, 1], [2], conv, version=3),
        Op("DEPTHWISE_CONV_2D", [2, 3, 4], [5], depthwise),
        Op("ADD", [5, 6], [7], ("Add", {})),
        Op("FULLY_CONNECTED", [7, 8, -1], [9], ("FullyConnected", {})),
        Op("SOFTMAX", [9], [10], ("Softmax", {"Beta": 0.1})),
    ]
    return Model.from_bytes(build(tensors, operators, [0], [10]), "network")


def _image(seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(-128, 128, (1, 6, 6, 3)).astype(np.int8)


def _svdf() -> Model:
    return Model.from_bytes(svdf(), "svdf")


def test_a_batch_gives_what_single_inferences_give() -> None:
    interpreter = Interpreter(_network())
    images = np.stack([_image(seed) for seed in range(20)])
    (together,) = interpreter.invoke_batch([images])
    alone = np.stack([interpreter.invoke([image])[0] for image in images])
    assert together.shape == (20, 1, 4)
    assert np.array_equal(together, alone)
    assert len(np.unique(alone, axis=0)) > 5


def test_a_batch_that_exceeds_one_chunk_is_still_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    images = np.stack([_image(seed) for seed in range(11)])
    expected = Interpreter(_network()).invoke_batch([images])[0]
    monkeypatch.setattr("harness.reference.interpreter.CHUNK_BYTES", 3000)
    assert np.array_equal(Interpreter(_network()).invoke_batch([images])[0], expected)


def test_a_batch_of_a_stateful_model_is_one_inference_after_another() -> None:
    rng = np.random.default_rng(1)
    x = rng.integers(-128, 128, (8, 1, 4)).astype(np.int8)
    batch, single = Interpreter(_svdf()), Interpreter(_svdf())
    (together,) = batch.invoke_batch([x])
    alone = [single.invoke([row])[0] for row in x]
    assert np.array_equal(together, np.stack(alone))
    assert not np.array_equal(together[0], Interpreter(_svdf()).invoke_batch([x[1:2]])[0][0])


def test_reset_forgets_the_state() -> None:
    x = np.full((1, 4), 77, np.int8)
    interpreter = Interpreter(_svdf())
    first = interpreter.invoke([x])[0]
    second = interpreter.invoke([x])[0]
    interpreter.reset()
    assert not interpreter.tensors
    assert np.array_equal(interpreter.invoke([x])[0], first)
    assert not np.array_equal(first, second)


def test_intermediate_tensors_are_there_after_a_run() -> None:
    interpreter = Interpreter(_network())
    assert not interpreter.tensors
    (y,) = interpreter.invoke([_image()])
    assert set(interpreter.tensors) == {0, 2, 5, 7, 9, 10}
    assert interpreter.tensors[2].shape == (1, 6, 6, 8)
    assert np.array_equal(interpreter.tensors[10], y)


def test_inputs_are_not_changed() -> None:
    image = _image()
    before = image.copy()
    Interpreter(_network()).invoke([image])
    assert np.array_equal(image, before)


@pytest.mark.parametrize(
    ("inputs", "words"),
    [
        ([], "0 inputs given"),
        ([_image(), _image()], "2 inputs given"),
        ([_image()[0]], "needs int8 \\[1, 6, 6, 3\\]"),
        ([_image().astype(np.float32)], "not float32"),
    ],
)
def test_wrong_inputs_are_refused(inputs: list[np.ndarray], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        Interpreter(_network()).invoke(inputs)


def _unary(op: str = "CUSTOM", custom: str = "", dtype: str = "float32", version: int = 1) -> Model:
    tensors = [T((3,), dtype), T((3,), dtype)]
    operator = Op(op, [0], [1], custom=custom, version=version)
    return Model.from_bytes(build(tensors, [operator], [0], [1]), "unary")


def test_an_operator_without_kernel_is_named_with_index_and_version() -> None:
    with pytest.raises(UnsupportedOperator, match=r"operator 0 \(UNIQUE, version 7\)"):
        Interpreter(_unary("UNIQUE", version=7))


def test_a_custom_operator_without_kernel_is_named() -> None:
    with pytest.raises(UnsupportedOperator, match=r"\(Fancy, custom operator, version 1\)"):
        Interpreter(_unary(custom="Fancy"))


def _doubled(node: Node) -> Run:
    node.check_output(node.input(0).shape)
    return lambda values: [values[0] * np.float32(2)]


def test_a_project_adds_its_own_custom_operator() -> None:
    default = Kernels.default()
    kernels = default.with_custom("Fancy", _doubled)
    interpreter = Interpreter(_unary(custom="Fancy"), kernels=kernels)
    (y,) = interpreter.invoke_batch([np.ones((5, 3), np.float32)])
    assert np.array_equal(y, np.full((5, 3), 2, np.float32))
    assert "Fancy" not in default.custom


def test_a_project_replaces_a_built_in_operator() -> None:
    kernels = Kernels.default().with_builtin("NEG", _doubled)
    (y,) = Interpreter(_unary("NEG"), kernels=kernels).invoke([np.ones(3, np.float32)])
    assert y.tolist() == [2, 2, 2]


def _package(folder: Path, body: str) -> None:
    """An installed package that gives a kernel for the custom operator Fancy."""
    (folder / "fancy_kernels.py").write_text(body)
    info = folder / "fancy-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: fancy\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[tflm_hil.kernels]\nFancy = fancy_kernels:triple\n")


def test_an_installed_package_gives_a_kernel(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    body = "def triple(node):\n    return lambda values: [values[0] * 3]\n"
    _package(tmp_path, body)
    monkeypatch.syspath_prepend(tmp_path)
    (y,) = Interpreter(_unary(custom="Fancy")).invoke([np.ones(3, np.float32)])
    assert y.tolist() == [3, 3, 3]


def test_a_broken_entry_point_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _package(tmp_path, "raise ImportError('no such thing')")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "fancy_kernels", raising=False)
    with pytest.raises(EnvironmentMissing, match="fancy_kernels:triple"):
        Interpreter(_unary(custom="Fancy"))


def test_an_unsupported_type_names_the_operator() -> None:
    with pytest.raises(UnsupportedOperator, match=r"operator 0 \(NEG.*int8"):
        Interpreter(_unary("NEG", dtype="int8"))


def test_a_kernel_that_breaks_its_promise_is_caught() -> None:
    kernels = Kernels.default().with_builtin("NEG", lambda _: lambda values: [values[0][:, :2]])
    with pytest.raises(BadModel, match="declares float32"):
        Interpreter(_unary("NEG"), kernels=kernels).invoke([np.ones(3, np.float32)])


def test_a_tensor_read_before_it_is_computed_is_refused() -> None:
    tensors = [T((3,), "float32")] * 3
    model = build(tensors, [Op("NEG", [1], [2]), Op("NEG", [0], [1])], [0], [2])
    with pytest.raises(BadModel, match="reads tensor 1 before"):
        Interpreter(Model.from_bytes(model))


def test_a_type_that_numpy_kernels_do_not_have_is_refused() -> None:
    model = _unary("NEG")
    graph = model.subgraphs[0]
    tensors = (replace(graph.tensors[0], dtype="complex64"), graph.tensors[1])
    with pytest.raises(UnsupportedOperator, match="has the type complex64"):
        Interpreter(replace(model, subgraphs=(replace(graph, tensors=tensors),)))


@pytest.mark.parametrize("name", ["RELU", "RESHAPE"])
def test_an_operator_that_declares_more_outputs_than_it_has_is_refused(name: str) -> None:
    tensors = [T((3,), "int8", 0.5)] * 3
    model = Model.from_bytes(build(tensors, [Op(name, [0], [1, 2])], [0], [1, 2]))
    x = np.ones(3, np.int8)
    for call, given in ((Interpreter.invoke, x), (Interpreter.invoke_batch, x[None])):
        with pytest.raises(BadModel, match="gives 1 outputs, but the model declares 2"):
            call(Interpreter(model), [given])


def test_an_output_that_nothing_computes_is_refused() -> None:
    tensors = [T((3,), "float32")] * 3
    model = build(tensors, [Op("NEG", [0], [1])], [0], [2])
    with pytest.raises(BadModel, match="nothing computes"):
        Interpreter(Model.from_bytes(model))


def test_tensors_beyond_any_microcontroller_are_refused() -> None:
    size = 1 << 27
    tensors = [T((size,), "float32"), T((size,), "float32")]
    with pytest.raises(BadModel, match="elements"):
        Interpreter(Model.from_bytes(build(tensors, [Op("NEG", [0], [1])], [0], [1])))


def _differing_image(model: Model, arithmetic: Arithmetic) -> tuple[np.ndarray, np.ndarray]:
    """An input for which other arithmetic gives another output, and that output."""
    plain, other = Interpreter(model), Interpreter(model, arithmetic)
    images = np.stack([_image(seed) for seed in range(2000)])
    expected, obtained = plain.invoke_batch([images])[0], other.invoke_batch([images])[0]
    place = int(np.flatnonzero(np.any(expected != obtained, axis=(1, 2)))[0])
    return images[place], obtained[place]


def test_single_rounding_is_recognised() -> None:
    image, obtained = _differing_image(_network(), Arithmetic(rounding="single"))
    (answer,) = compare_outputs(Interpreter(_network()), [image], [obtained])
    assert not answer.equal
    assert answer.explanation.endswith("all equal under single rounding")


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (lambda image: np.swapaxes(image, 1, 2), "swapping the input's height and width"),
        (lambda image: image[..., ::-1], "reversing the input's channels"),
        (lambda image: image ^ np.int8(-128), "off by 128"),
    ],
)
def test_a_damaged_input_is_recognised(
    damage: Callable[[np.ndarray], np.ndarray], words: str
) -> None:
    interpreter = Interpreter(_network())
    obtained = interpreter.invoke([damage(_image(4))])
    (answer,) = compare_outputs(interpreter, [_image(4)], obtained)
    assert not answer.equal
    assert words in answer.explanation


def test_a_batch_has_alternatives_too() -> None:
    interpreter = Interpreter(_network())
    images = np.stack([_image(seed) for seed in range(5)])
    (obtained,) = interpreter.invoke_batch([np.swapaxes(images, 2, 3)])
    (expected,) = interpreter.invoke_batch([images])
    causes = alternatives(interpreter, [images], batch=True)
    answer = compare(obtained, expected, alternatives=causes)
    assert "all equal after swapping the input's height and width" in answer.explanation


def test_a_model_with_a_state_has_no_alternatives() -> None:
    x = np.zeros((1, 4), np.int8)
    assert alternatives(Interpreter(_svdf()), [x]) == {}


def test_truncation_at_the_input_is_recognised() -> None:
    from harness.reference import quantize

    interpreter = Interpreter(_network())
    real = np.random.default_rng(9).uniform(-2, 2, (1, 6, 6, 3))
    rounded, cut = (quantize(real, 0.02, -3, truncate=how) for how in (False, True))
    assert not np.array_equal(rounded, cut)
    obtained = interpreter.invoke([cut])
    (answer,) = compare_outputs(interpreter, [rounded], obtained, real_inputs=[real])
    assert "quantized by truncation" in answer.explanation


def _dump(model: Model, image: np.ndarray) -> dict[int, bytes]:
    report = table(Interpreter(model), [image])
    return {layer.operator.index: layer.expected.tobytes() for layer in report.layers}


def test_layers_that_are_all_equal() -> None:
    report = compare_layers(Interpreter(_network()), [_image()], _dump(_network(), _image()))
    assert report.equal
    assert str(report) == "all 5 dumped layers equal"


def test_no_dump_at_all_is_not_equal() -> None:
    report = compare_layers(Interpreter(_network()), [_image()], {})
    assert not report.equal
    assert "nothing to compare" in str(report)


def test_the_first_diverging_layer_is_named_and_shown() -> None:
    dump = _dump(_network(), _image())
    wrong = bytearray(dump[1])
    wrong[7] ^= 0x15
    device = {**dump, 1: bytes(wrong)}
    # Everything after it follows from the wrong values, as on a device.
    interpreter = Interpreter(_network())
    value = np.frombuffer(bytes(wrong), np.int8).reshape(1, 3, 3, 8)
    known = {5: value}
    for operator in interpreter.operators[2:]:
        (out,) = interpreter.run_operator(operator.index, known) or []
        known[operator.outputs[0]] = out
        device[operator.index] = out.tobytes()
    report = compare_layers(interpreter, [_image()], device)
    assert report.first is not None
    assert report.first.operator.name == "DEPTHWISE_CONV_2D"
    assert report.first.own_fault is True
    assert "first diverging layer: operator 1 (DEPTHWISE_CONV_2D" in str(report)
    assert "mismatched elements: 1 / 72" in str(report)
    later = [layer.own_fault for layer in report.layers if layer.differs][1:]
    assert not any(later)


def test_undumped_operators_before_the_first_difference_are_mentioned() -> None:
    dump = _dump(_network(), _image())
    wrong = bytes([dump[3][0] ^ 1]) + dump[3][1:]
    report = compare_layers(Interpreter(_network()), [_image()], {3: wrong})
    assert "perhaps earlier: operators 0, 1, 2" in str(report)


def test_a_dump_of_the_wrong_size_differs() -> None:
    report = compare_layers(Interpreter(_network()), [_image()], {0: b"\0" * 10})
    assert report.first is not None
    assert report.first.operator.index == 0


def test_a_dump_of_an_operator_that_is_not_there_is_refused() -> None:
    with pytest.raises(UsageError, match="no operator 9"):
        compare_layers(Interpreter(_network()), [_image()], {9: b""})


def test_the_plain_data_of_a_layer_that_differs_says_how() -> None:
    interpreter = Interpreter(_network())
    (right,) = [each.expected for each in table(interpreter, [_image()]).layers[:1]]
    row = compare_layers(interpreter, [_image()], {0: right ^ 1}).to_json()["layers"][0]
    assert row["comparison"]["mismatches"] == right.size
    assert row["comparison"]["largest"] == 1


def test_a_layer_table_is_plain_data() -> None:
    rows = table(Interpreter(_network()), [_image()]).to_json()["layers"]
    assert [row["operator"] for row in rows] == list(_network().operator_names)
    assert rows[0]["tensor"]["shape"] == [1, 6, 6, 8]
    assert rows[4]["minimum"] >= -128
    assert math.isclose(rows[4]["tensor"]["scale"], 1 / 256)


def _float_chain() -> Model:
    """Two LOGISTIC in a row."""
    tensors = [T((1, 4), "float32") for _ in range(3)]
    rows = [Op("LOGISTIC", [0], [1]), Op("LOGISTIC", [1], [2])]
    return Model.from_bytes(build(tensors, rows, [0], [2]), "chain")


def test_a_layer_within_the_tolerance_of_its_own_inputs_is_no_fault_of_its_own() -> None:
    x = np.array([[0.5, -1.0, 2.0, 0.0]], np.float32)
    first, second = table(Interpreter(_float_chain()), [x]).layers
    wrong = first.expected + np.float32(0.25)
    (follows,) = Interpreter(_float_chain()).run_operator(1, {1: wrong}) or []
    nearly = np.nextafter(follows, np.float32(2))
    report = compare_layers(Interpreter(_float_chain()), [x], {0: wrong, 1: nearly}, tolerance=1e-6)
    assert [layer.own_fault for layer in report.layers] == [True, False]
    far = second.expected + np.float32(0.5)
    report = compare_layers(Interpreter(_float_chain()), [x], {0: wrong, 1: far}, tolerance=1e-6)
    assert [layer.own_fault for layer in report.layers] == [True, True]


def test_the_tolerance_of_each_tensor_can_come_from_the_inference() -> None:
    x = np.array([[0.5, -1.0, 2.0, 0.0]], np.float32)
    first, second = table(Interpreter(_float_chain()), [x]).layers
    dump = {0: first.expected + np.float32(1e-6), 1: second.expected + np.float32(1e-6)}
    report = compare_layers(
        Interpreter(_float_chain()), [x], dump, tolerance=lambda done: {1: done.tensors[1] * 1e-5}
    )
    assert [layer.differs for layer in report.layers] == [False, True]
