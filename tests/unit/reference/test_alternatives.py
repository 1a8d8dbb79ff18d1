"""Alternative causes of a device's outputs; its layers compared with the reference."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from model_builder import Op, T, build
from networks import small_image, small_network, svdf_model

from harness.base.arithmetic import Arithmetic
from harness.base.errors import UsageError
from harness.model import Model
from harness.reference import (
    Interpreter,
    alternatives,
    compare,
    compare_layers,
    compare_outputs,
    table,
)


def _differing_image(model: Model, arithmetic: Arithmetic) -> tuple[np.ndarray, np.ndarray]:
    """An input for which other arithmetic gives another output, and that output."""
    plain, other = Interpreter(model), Interpreter(model, arithmetic)
    images = np.stack([small_image(seed) for seed in range(2000)])
    expected, obtained = plain.invoke_batch([images])[0], other.invoke_batch([images])[0]
    place = int(np.flatnonzero(np.any(expected != obtained, axis=(1, 2)))[0])
    return images[place], obtained[place]


def test_single_rounding_is_recognised() -> None:
    image, obtained = _differing_image(small_network(), Arithmetic(rounding="single"))
    (answer,) = compare_outputs(Interpreter(small_network()), [image], [obtained])
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
    interpreter = Interpreter(small_network())
    obtained = interpreter.invoke([damage(small_image(4))])
    (answer,) = compare_outputs(interpreter, [small_image(4)], obtained)
    assert not answer.equal
    assert words in answer.explanation


def test_a_batch_has_alternatives_too() -> None:
    interpreter = Interpreter(small_network())
    images = np.stack([small_image(seed) for seed in range(5)])
    (obtained,) = interpreter.invoke_batch([np.swapaxes(images, 2, 3)])
    (expected,) = interpreter.invoke_batch([images])
    causes = alternatives(interpreter, [images], batch=True)
    answer = compare(obtained, expected, alternatives=causes)
    assert "all equal after swapping the input's height and width" in answer.explanation


def test_a_model_with_a_state_has_no_alternatives() -> None:
    x = np.zeros((1, 4), np.int8)
    assert alternatives(Interpreter(svdf_model()), [x]) == {}


def test_truncation_at_the_input_is_recognised() -> None:
    from harness.reference import quantize

    interpreter = Interpreter(small_network())
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
    report = compare_layers(
        Interpreter(small_network()), [small_image()], _dump(small_network(), small_image())
    )
    assert report.equal
    assert str(report) == "all 5 dumped layers equal"


def test_no_dump_at_all_is_not_equal() -> None:
    report = compare_layers(Interpreter(small_network()), [small_image()], {})
    assert not report.equal
    assert "nothing to compare" in str(report)


def test_the_first_diverging_layer_is_named_and_shown() -> None:
    dump = _dump(small_network(), small_image())
    wrong = bytearray(dump[1])
    wrong[7] ^= 0x15
    device = {**dump, 1: bytes(wrong)}
    # Everything after it follows from the wrong values, as on a device.
    interpreter = Interpreter(small_network())
    value = np.frombuffer(bytes(wrong), np.int8).reshape(1, 3, 3, 8)
    known = {5: value}
    for operator in interpreter.operators[2:]:
        (out,) = interpreter.run_operator(operator.index, known) or []
        known[operator.outputs[0]] = out
        device[operator.index] = out.tobytes()
    report = compare_layers(interpreter, [small_image()], device)
    assert report.first is not None
    assert report.first.operator.name == "DEPTHWISE_CONV_2D"
    assert report.first.own_fault is True
    assert "first diverging layer: operator 1 (DEPTHWISE_CONV_2D" in str(report)
    assert "mismatched elements: 1 / 72" in str(report)
    later = [layer.own_fault for layer in report.layers if layer.differs][1:]
    assert not any(later)


def test_undumped_operators_before_the_first_difference_are_mentioned() -> None:
    dump = _dump(small_network(), small_image())
    wrong = bytes([dump[3][0] ^ 1]) + dump[3][1:]
    report = compare_layers(Interpreter(small_network()), [small_image()], {3: wrong})
    assert "perhaps earlier: operators 0, 1, 2" in str(report)


def test_a_dump_of_the_wrong_size_differs() -> None:
    report = compare_layers(Interpreter(small_network()), [small_image()], {0: b"\0" * 10})
    assert report.first is not None
    assert report.first.operator.index == 0


def test_a_dump_of_an_unknown_operator_is_refused() -> None:
    with pytest.raises(UsageError, match="no operator 9"):
        compare_layers(Interpreter(small_network()), [small_image()], {9: b""})


def test_json_of_a_differing_layer_has_the_difference() -> None:
    interpreter = Interpreter(small_network())
    (right,) = [each.expected for each in table(interpreter, [small_image()]).layers[:1]]
    row = compare_layers(interpreter, [small_image()], {0: right ^ 1}).to_json()["layers"][0]
    assert row["comparison"]["mismatches"] == right.size
    assert row["comparison"]["largest"] == 1


def test_a_layer_table_is_plain_data() -> None:
    rows = table(Interpreter(small_network()), [small_image()]).to_json()["layers"]
    assert [row["operator"] for row in rows] == list(small_network().operator_names)
    assert rows[0]["tensor"]["shape"] == [1, 6, 6, 8]
    assert rows[4]["minimum"] >= -128
    assert math.isclose(rows[4]["tensor"]["scale"], 1 / 256)


def _float_chain() -> Model:
    """Two LOGISTIC in a row."""
    tensors = [T((1, 4), "float32") for _ in range(3)]
    rows = [Op("LOGISTIC", [0], [1]), Op("LOGISTIC", [1], [2])]
    return Model.from_bytes(build(tensors, rows, [0], [2]), "chain")


def test_a_layer_within_the_tolerance_of_its_inputs_is_not_at_fault() -> None:
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
