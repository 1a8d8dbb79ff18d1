"""Explanations of compare(): offsets, axes, shifts, bytes, other arithmetic."""

from __future__ import annotations

import numpy as np
import pytest
from model_builder import Op, T, build
from networks import svdf

from harness.base.arithmetic import Arithmetic
from harness.model import Model
from harness.reference import Interpreter, alternatives, compare, compare_outputs


def _tensor(*shape: int) -> np.ndarray:
    return np.random.default_rng(5).integers(-100, 100, shape).astype(np.int8)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (1, "it is off by 1 everywhere: a wrong zero point?"),
        (-7, "it is off by -7 everywhere: a wrong zero point?"),
    ],
)
def test_an_offset_is_named_with_its_sign(value: int, words: str) -> None:
    assert compare(_tensor(9) + np.int8(value), _tensor(9)).explanation == words


def test_an_offset_of_half_the_range_mixes_up_signs() -> None:
    expected = np.array([-128, -100, -1], np.int8)
    words = "it is off by 128 everywhere: signed and unsigned values mixed up?"
    assert compare(expected ^ np.int8(-128), expected).explanation == words


def test_a_single_element_has_no_offset() -> None:
    answer = compare(np.array([8], np.int8), np.array([5], np.int8))
    assert "zero point" not in answer.explanation


def test_an_offset_of_floats_is_not_a_zero_point() -> None:
    expected = np.arange(8, dtype=np.float32) ** 2
    assert compare(expected + 1, expected).explanation == "it is off by 1 everywhere"


def test_a_constant_output_is_quoted() -> None:
    expected = _tensor(9)
    words = "it is -9 everywhere"
    assert compare(np.full(9, -9, np.int8), expected).explanation == words


def test_one_value_in_place_of_another_was_written() -> None:
    expected = np.full((2, 2), 2.0, np.float32)
    assert compare(expected + 1, expected).explanation == ""


@pytest.mark.parametrize(
    ("shape", "order", "words"),
    [
        ((4, 5), (1, 0), "axis 0 and axis 1 swapped"),
        ((3, 4, 5), (0, 2, 1), "axis 1 and axis 2 swapped"),
        ((3, 4, 5), (1, 2, 0), "its axes in the order axis 1, axis 2, axis 0"),
        ((1, 4, 5, 3), (0, 2, 1, 3), "height and width swapped"),
        ((2, 4, 5, 3), (0, 3, 1, 2), "its axes in the order batch, channels, height, width"),
    ],
)
def test_axes_in_another_order_are_recognised(
    shape: tuple[int, ...], order: tuple[int, ...], words: str
) -> None:
    expected = _tensor(*shape)
    obtained = np.transpose(expected, order).reshape(shape)
    assert compare(obtained, expected).explanation == f"it has {words}"


def test_the_axes_of_five_dimensions_are_not_tried() -> None:
    expected = _tensor(2, 3, 2, 3, 2)
    obtained = np.transpose(expected, (1, 0, 2, 3, 4)).reshape(expected.shape)
    assert compare(obtained, expected).explanation == ""


@pytest.mark.parametrize(
    ("shape", "axis", "words"),
    [
        ((6,), 0, "axis 0 reversed"),
        ((3, 6), 1, "axis 1 reversed"),
        ((1, 4, 5, 3), 1, "height reversed"),
        ((1, 4, 5, 3), 3, "channels reversed"),
        ((2, 4, 5, 3), 0, "batch reversed"),
    ],
)
def test_an_axis_that_runs_the_other_way_is_recognised(
    shape: tuple[int, ...], axis: int, words: str
) -> None:
    expected = _tensor(*shape)
    assert compare(np.flip(expected, axis), expected).explanation == f"it has {words}"


@pytest.mark.parametrize(("size", "shift"), [(64, 1), (64, 15), (8, 3)])
@pytest.mark.parametrize(("sign", "where"), [(1, "end"), (-1, "start")])
def test_a_shift_is_reported_with_its_direction(
    size: int, shift: int, sign: int, where: str
) -> None:
    expected = _tensor(size)
    obtained = np.roll(expected, sign * shift)
    elements = "element" if shift == 1 else "elements"
    words = f"it is shifted by {shift} {elements} towards the {where}"
    assert compare(obtained, expected).explanation == words


@pytest.mark.parametrize(("size", "shift"), [(64, 16), (8, 4)])
def test_tensors_with_little_in_common_are_not_a_shift(size: int, shift: int) -> None:
    expected = _tensor(size)
    obtained = np.concatenate([_tensor(90)[-shift:], expected[:-shift]])
    assert compare(obtained, expected).explanation == ""


def test_the_bytes_of_floats_may_be_swapped_too() -> None:
    expected = np.arange(1, 9, dtype=np.float32)
    words = "it has the bytes of each element swapped"
    assert compare(expected.byteswap(), expected).explanation == words


def test_an_alternative_of_another_shape_fits_nothing() -> None:
    expected = _tensor(3, 4)
    obtained = expected.copy()
    obtained[1, 1] ^= 9
    causes = {"by chance": obtained.ravel}
    assert compare(obtained, expected, alternatives=causes).explanation == ""


def test_only_integers_have_the_rounding_hint() -> None:
    expected = np.arange(10, dtype=np.float32) ** 2
    obtained = expected.copy()
    obtained[[2, 4, 7]] += 1
    assert compare(obtained, expected).explanation == ""
    words = "it differs by 1 LSB at most: a rounding difference?"
    assert compare(obtained.astype(int), expected.astype(int)).explanation == words


def test_the_explanation_is_the_last_line() -> None:
    expected = _tensor(9)
    text = str(compare(np.flip(expected), expected))
    assert text.splitlines()[-1] == "  it has axis 0 reversed"


def _model(*tensors: T) -> Interpreter:
    """The first input goes through RELU, the others nowhere."""
    operators = [Op("RELU", [0], [len(tensors)])]
    data = build([*tensors, tensors[0]], operators, range(len(tensors)), [len(tensors)])
    return Interpreter(Model.from_bytes(data))


_SWAP = "after swapping the input's height and width"
_REVERSE = "after reversing the input's channels (RGB, BGR)"
_FLIP = "if the input is off by 128 (unsigned bytes taken as signed)"


@pytest.mark.parametrize(
    ("shape", "dtype", "changes"),
    [
        ((1, 4, 4, 3), "int8", [_SWAP, _REVERSE, _FLIP]),
        ((1, 4, 5, 3), "int8", [_REVERSE, _FLIP]),
        ((1, 1, 1, 3), "int8", [_REVERSE, _FLIP]),
        ((1, 2, 2, 1), "int8", [_SWAP, _FLIP]),
        ((4, 4, 3), "int8", [_FLIP]),
        ((1, 4, 4, 4), "int16", [_SWAP]),
        ((9,), "float32", []),
    ],
)
def test_an_input_is_changed_where_that_could_have_happened(
    shape: tuple[int, ...], dtype: str, changes: list[str]
) -> None:
    interpreter = _model(T(shape, dtype, None if dtype == "float32" else 0.5))
    found = list(alternatives(interpreter, [np.zeros(shape, dtype)]))
    assert [cause for cause in found if "rounding" not in cause and "TFLM" not in cause] == changes


def test_an_input_is_changed_where_any_of_them_could_have_been() -> None:
    interpreter = _model(T((1, 3), "int16", 0.5), T((1, 3, 3, 3), "int8", 0.5))
    inputs = [np.full((1, 3), 300, np.int16), np.zeros((1, 3, 3, 3), np.int8)]
    found = alternatives(interpreter, inputs)
    for cause in (_SWAP, _REVERSE, _FLIP):
        assert np.array_equal(found[cause](), [[300] * 3])


def test_truncation_is_tried_where_real_inputs_are_known_and_quantized() -> None:
    cause = "if the input is quantized by truncation"
    both = _model(T((3,), "int8", 0.5, 1), T((2,), "float32"))
    real = [[-1.4, 0.7, 1.6], [1.5, 2.5]]
    found = alternatives(both, [np.zeros(3, np.int8), np.zeros(2, np.float32)], real_inputs=real)
    # x / 0.5 + 1 = -1.8, 2.4, 4.2, the fractions dropped; RELU is not below the zero point.
    assert np.array_equal(found[cause](), [1, 2, 4])
    assert cause not in alternatives(both, [np.zeros(3, np.int8), np.zeros(2, np.float32)])
    plain = _model(T((2,), "float32"))
    assert cause not in alternatives(plain, [np.zeros(2, np.float32)], real_inputs=[[1, 2]])


@pytest.mark.parametrize(
    ("own", "causes"),
    [
        (
            Arithmetic(),
            {
                "under single rounding": Arithmetic("single", "double"),
                "with single-precision multipliers (TFLM before autumn 2026)": Arithmetic(
                    "double", "single"
                ),
                "under single rounding with single-precision multipliers"
                " (TFLM before autumn 2026)": Arithmetic("single", "single"),
            },
        ),
        (
            Arithmetic("single", "single"),
            {
                "under double rounding": Arithmetic("double", "single"),
                "with double-precision multipliers (TFLM since autumn 2026)": Arithmetic(
                    "single", "double"
                ),
                "under double rounding with double-precision multipliers"
                " (TFLM since autumn 2026)": Arithmetic("double", "double"),
            },
        ),
    ],
)
def test_every_other_arithmetic_is_tried(own: Arithmetic, causes: dict[str, Arithmetic]) -> None:
    """To LEAKY_RELU with these scales both settings matter."""
    tensors = [T((1 << 16,), "int16", 0.013), T((1 << 16,), "int16", 0.37)]
    operators = [Op("LEAKY_RELU", [0], [1], ("LeakyRelu", {"Alpha": 0.37}))]
    model = Model.from_bytes(build(tensors, operators, [0], [1]))
    x = np.arange(-(1 << 15), 1 << 15).astype(np.int16)
    found = alternatives(Interpreter(model, own), [x])
    assert list(found) == list(causes)
    outputs = [*Interpreter(model, own).invoke([x]), *(each() for each in found.values())]
    assert len({each.tobytes() for each in outputs}) == 3
    for cause, arithmetic in causes.items():
        (expected,) = Interpreter(model, arithmetic).invoke([x])
        assert np.array_equal(found[cause](), expected)


def test_outputs_are_compared_one_by_one_with_their_own_alternatives() -> None:
    tensors = [T((1, 3, 3, 1), "int8", 0.5) for _ in range(3)]
    operators = [Op("RELU", [0], [1]), Op("RELU6", [0], [2])]
    interpreter = Interpreter(Model.from_bytes(build(tensors, operators, [0], [1, 2])))
    x = np.arange(1, 10).astype(np.int8).reshape(1, 3, 3, 1)
    right = interpreter.invoke([x])
    swapped = interpreter.invoke([np.swapaxes(x, 1, 2)])
    first, second = compare_outputs(interpreter, [x], [right[0], swapped[1]])
    assert first.equal
    assert second.explanation.endswith("all equal after swapping the input's height and width")
    near = compare_outputs(interpreter, [x], [right[0] + 1, right[1]], tolerance=1)
    assert [each.equal for each in near] == [True, True]
    far = compare_outputs(interpreter, [x], [right[0] + 1, right[1]], relative=0.5)
    assert (far[0].mismatches, far[1].equal) == (1, True)


def test_a_stateful_model_is_compared_without_alternatives() -> None:
    interpreter, x = Interpreter(Model.from_bytes(svdf())), np.full((1, 4), 50, np.int8)
    (right,) = Interpreter(Model.from_bytes(svdf())).invoke([x])
    (answer,) = compare_outputs(interpreter, [x], [right])
    assert answer.equal
    assert alternatives(interpreter, [x]) == {}
