"""Allowed errors, computed by hand from the formulas of :mod:`harness.reference.float_error`."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from model_builder import ACTIVATIONS, Op, T, build
from networks import svdf

from harness.model import Model
from harness.reference import Interpreter, Kernels, float_error
from harness.reference.float_error import allowed_errors, allowed_in_batch

#: Half a unit in the last place of 1; seven deviations are allowed.
U, ALLOWED = 2.0**-24, 7.0
#: The deviations of a C library's function and of one rounding, in such halves.
LIBRARY, ROUNDING = 4 / ALLOWED, 3**-0.5
#: The ends of an interval of four half units are float32 numbers, of which it has few.
_FLOAT32 = 0.2
_RULES = (
    "_DISCONTINUOUS", "_EXACT", "_FUNCTIONS", "_MEMORY", "_NORMALIZATIONS", "_PRODUCTS", "_ROUNDED",
    "_SUMS", "_VARIABLES",
)  # fmt: skip
NONE = {"FusedActivationFunction": ACTIVATIONS["NONE"]}


def _real(*shape: int, data: object = None) -> T:
    return T(shape, "float32", data=data)


def _deviations(
    tensors: list[T], operators: list[Op], inputs: list[object], fed: tuple[int, ...] = (0,)
) -> dict[int, np.ndarray]:
    last = len(tensors) - 1
    interpreter = Interpreter(Model.from_bytes(build(tensors, operators, fed, [last])))
    interpreter.invoke([np.array(each, np.float32) for each in inputs])
    return {index: bound / ALLOWED for index, bound in allowed_errors(interpreter).items()}


def _dense(x: int, w: int, bias: int, y: int, activation: str = "NONE") -> Op:
    options = {"FusedActivationFunction": ACTIVATIONS[activation]}
    return Op("FULLY_CONNECTED", [x, w, bias], [y], ("FullyConnected", options))


_SUM = [
    _real(1, 2),
    _real(2, 2, data=[[1, 1], [2, -1]]),
    _real(2, data=[5, 0]),
    _real(1, 2),
]


def test_the_bound_of_a_sum_of_products_grows_as_a_random_walk() -> None:
    # y = 12 and 2; the squares of the terms, the bias among them: 9 + 16 + 25 and 36 + 16.
    found = _deviations(_SUM, [_dense(0, 1, 2, 3)], [[[3, 4]]])
    expected = [2 * U * np.sqrt(12**2 + 50) / 3, 2 * U * np.sqrt(2**2 + 52) / 3]
    np.testing.assert_allclose(found[3], [expected], rtol=1e-6)


def test_an_activation_cuts_the_bound_of_a_sum_at_its_edges() -> None:
    plain, cut = (
        _deviations(_SUM, [_dense(0, 1, 2, 3, activation)], [[[3, 4]]])[3]
        for activation in ("NONE", "RELU6")
    )
    # 12 is 6 whatever it is off by, 2 is between the edges.
    np.testing.assert_allclose(cut, [[0, plain[0, 1]]], rtol=1e-6)


def test_an_element_at_the_edge_of_an_activation_keeps_its_bound() -> None:
    at_zero = [*_SUM[:2], _real(2, data=[-7, -2]), _SUM[3]]
    plain, cut = (
        _deviations(at_zero, [_dense(0, 1, 2, 3, name)], [[[3, 4]]])[3] for name in ("NONE", "RELU")
    )
    np.testing.assert_allclose(plain, cut, rtol=1e-6)


def test_deviations_propagate_by_the_squares_of_the_weights() -> None:
    tensors = [*_SUM, _real(1, 2, data=[[3, 4]]), _real(1, data=[1e9]), _real(1, 1)]
    found = _deviations(tensors, [_dense(0, 1, 2, 3), _dense(3, 4, 5, 6)], [[[3, 4]]])
    carried = np.sqrt(9 * found[3][0, 0] ** 2 + 16 * found[3][0, 1] ** 2)
    y, squares = 36 + 8 + 1e9, 36**2 + 8**2 + 1e18
    own = 2 * U * np.sqrt(y**2 + squares) / 3
    np.testing.assert_allclose(found[6], [[np.hypot(own, carried)]], rtol=1e-6)
    assert found[6] > own


def test_a_matrix_product_has_as_many_terms_as_its_rows() -> None:
    tensors = [_real(1, 3), _real(3, 2), _real(1, 2)]
    op = Op("BATCH_MATMUL", [0, 1], [2], ("BatchMatMul", {}))
    found = _deviations(tensors, [op], [[[1, 2, 2]], [[1, 0], [1, 0], [1, 2]]], (0, 1))
    expected = [
        np.sqrt(3 + 2) * U * np.sqrt(y**2 + squares) / 3 for y, squares in ((5, 9), (4, 16))
    ]
    np.testing.assert_allclose(found[2], [expected], rtol=1e-6)


def test_a_convolution_has_as_many_terms_as_its_window() -> None:
    tensors = [_real(1, 2, 2, 1), _real(1, 2, 2, 1, data=[1, 1, 1, 1]), _real(1, 1, 1, 1)]
    told = {"StrideH": 1, "StrideW": 1, "Padding": 1, **NONE}
    op = Op("CONV_2D", [0, 1], [2], ("Conv2D", told))
    found = _deviations(tensors, [op], [[[[[1], [2]], [[3], [4]]]]])
    expected = np.sqrt(4 + 2) * U * np.sqrt(10**2 + 30) / 3
    np.testing.assert_allclose(found[2], [[[[expected]]]], rtol=1e-6)


def test_a_bias_of_a_transposed_convolution_is_its_fourth_input() -> None:
    told = {"StrideH": 1, "StrideW": 1, "Padding": 1}
    shape = T((4,), "int32", data=[1, 1, 1, 1])
    tensors = [
        _real(1, 1, 1, 1),
        _real(1, 1, 1, 1),
        shape,
        _real(1, 1, 1, 1, data=[3]),
        _real(1, data=[1000]),
        _real(1, 1, 1, 1),
    ]
    operators = [
        Op("EXP", [0], [1]),
        Op("TRANSPOSE_CONV", [2, 3, 1, 4], [5], ("TransposeConv", told)),
    ]
    found = _deviations(tensors, operators, [[[[[0]]]]])
    # 3 * exp(0) + 1000; what exp(0) = 1 may be off by counts three times, the bias does not.
    own = np.sqrt(1 + 2) * U * np.sqrt(1003**2 + 3**2 + 1000**2) / 3
    expected = np.hypot(own, 3 * LIBRARY * U)
    np.testing.assert_allclose(found[5].item(), expected, rtol=1e-6)


@pytest.mark.parametrize("name", ["COS", "EXP", "LOGISTIC", "SIN", "TANH"])
def test_a_function_of_exact_values_may_be_off_by_four_half_ulp(name: str) -> None:
    tensors = [_real(3), _real(3)]
    interpreter = Interpreter(Model.from_bytes(build(tensors, [Op(name, [0], [1])], [0], [1])))
    (y,) = interpreter.invoke([np.array([-0.5, 0.25, 1], np.float32)])
    expected = 4 * U * np.abs(y.astype(np.float64))
    np.testing.assert_allclose(allowed_errors(interpreter)[1], expected, rtol=1e-6)


def test_the_bound_of_a_function_propagates_through_a_sum() -> None:
    tensors = [_real(1, 3), _real(1, 3), _real(1, 3)]
    operators = [Op("EXP", [0], [1]), Op("ADD", [1, 0], [2], ("Add", NONE))]
    x = np.array([[0.5, 1, 2]], np.float32)
    found = _deviations(tensors, operators, [x])
    y = np.exp(x) + x
    np.testing.assert_allclose(found[2], np.hypot(found[1], ROUNDING * U * y), rtol=_FLOAT32)


def test_the_bound_of_a_product_has_both_inputs() -> None:
    tensors = [_real(1, 2)] * 4
    operators = [
        Op("EXP", [0], [1]),
        Op("COS", [0], [2]),
        Op("MUL", [1, 2], [3], ("Mul", NONE)),
    ]
    x = np.array([[0.5, 1]], np.float32)
    found = _deviations(tensors, operators, [x])
    one, other = np.exp(x.astype(np.float64)), np.cos(x.astype(np.float64))
    moved = np.hypot(found[1] * other, found[2] * one)
    np.testing.assert_allclose(found[3], np.hypot(moved, ROUNDING * U * one * other), rtol=_FLOAT32)


def test_the_bound_of_a_maximum_is_that_of_its_largest_input() -> None:
    tensors = [_real(1, 64), T((1,), "int32", data=[1]), _real(1, 64), _real(1)]
    operators = [Op("EXP", [0], [2]), Op("REDUCE_MAX", [2, 1], [3], ("Reducer", {}))]
    found = _deviations(tensors, operators, [np.linspace(0, 1, 64)[None]])
    np.testing.assert_allclose(found[3], [found[2][0, -1]], rtol=_FLOAT32)


@pytest.mark.parametrize("name", ["MAXIMUM", "MINIMUM"])
def test_a_one_sided_deviation_is_bounded(name: str) -> None:
    """exp(0) or 1: the larger shows what exp(0) is too large by, the smaller what it lacks."""
    tensors = [_real(1, 4), _real(1, 4), _real(1, 4, data=np.ones((1, 4))), _real(1, 4)]
    found = _deviations(tensors, [Op("EXP", [0], [1]), Op(name, [1, 2], [3])], [np.zeros((1, 4))])
    np.testing.assert_allclose(found[3], found[1], rtol=_FLOAT32)


def test_an_average_is_a_sum_of_magnitudes() -> None:
    tensors = [_real(1, 4), T((1,), "int32", data=[1]), _real(1)]
    op = Op("MEAN", [0, 1], [2], ("Reducer", {}))
    found = _deviations(tensors, [op], [[[1, -2, 3, -4]]])
    # 4 roundings at most of sums below 10, and the division.
    np.testing.assert_allclose(found[2], [(4 / ALLOWED + 1) * U * 2.5], rtol=1e-6)


def test_a_sum_of_many_terms_is_a_random_walk_unless_they_are_equal() -> None:
    tensors = [_real(1, 1024), T((1,), "int32", data=[1]), _real(1)]
    op = Op("SUM", [0, 1], [2], ("Reducer", {}))
    different, equal = np.arange(1024), np.full(1024, 511.5)
    found = _deviations(tensors, [op], [different[None]])
    np.testing.assert_allclose(found[2], [(32 + 1) * U * different.sum()], rtol=1e-6)
    found = _deviations(tensors, [op], [equal[None]])
    np.testing.assert_allclose(found[2], [(1024 / ALLOWED + 1) * U * equal.sum()], rtol=1e-6)


def test_a_clear_comparison_is_exact_and_a_selection_keeps_its_bound() -> None:
    tensors = [_real(2), _real(2), T((2,), "bool"), _real(2)]
    operators = [
        Op("EXP", [0], [1]),
        Op("GREATER", [1, 0], [2], ("Greater", {})),
        Op("SELECT_V2", [2, 1, 0], [3], ("SelectV2", {})),
    ]
    found = _deviations(tensors, operators, [[0.5, 1]])
    assert set(found) == {1, 3}
    np.testing.assert_allclose(found[3], found[1], rtol=_FLOAT32)


#: exp(x) against its own float32 value: a device may have either side of it.
_EDGE = float(np.float32(np.exp(np.float32(0.5))))


@pytest.mark.parametrize("name", ["GREATER", "LESS_EQUAL", "EQUAL", "NOT_EQUAL"])
def test_a_comparison_that_a_deviation_decides_may_be_off(name: str) -> None:
    options = "".join(word.capitalize() for word in name.split("_"))
    tensors = [_real(2), _real(2), _real(2, data=[_EDGE, _EDGE]), T((2,), "bool")]
    operators = [Op("EXP", [0], [1]), Op(name, [1, 2], [3], (options, {}))]
    assert (_deviations(tensors, operators, [[0.5, 1]])[3] * ALLOWED).tolist() == [1, 0]


def test_an_uncertain_condition_allows_both_selected_values() -> None:
    tensors = [
        _real(2), _real(2), _real(2, data=[_EDGE] * 2), T((2,), "bool"), _real(2, data=[5, 5]),
        _real(2, data=[8, 8]), _real(2),
    ]  # fmt: skip
    operators = [
        Op("EXP", [0], [1]),
        Op("GREATER", [1, 2], [3], ("Greater", {})),
        Op("SELECT_V2", [3, 4, 5], [6], ("SelectV2", {})),
    ]
    found = _deviations(tensors, operators, [[0.5, 1]])
    np.testing.assert_allclose(found[6] * ALLOWED, [3, 0])


def test_the_largest_of_two_that_are_as_good_as_equal_may_be_the_other() -> None:
    tensors = [_real(1, 4), _real(1, 4), T((1,), "int32", data=[1]), T((1,), "int32")]
    operators = [Op("EXP", [0], [1]), Op("ARG_MAX", [1, 2], [3], ("ArgMax", {"OutputType": 2}))]
    found = _deviations(tensors, operators, [[[1, 0, 0.5, 1]]])
    assert (found[3] * ALLOWED).round().tolist() == [3]
    assert 3 not in _deviations(tensors, operators, [[[1, 0, 0.5, 0.9]]])


def test_a_float_at_a_tie_gives_an_integer_that_may_be_off() -> None:
    scale = 2 * _EDGE / 3  # 1.5 steps
    tensors = [_real(2), _real(2), T((2,), "int8", scale, 0), _real(2)]
    operators = [Op("EXP", [0], [1]), Op("QUANTIZE", [1], [2]), Op("DEQUANTIZE", [2], [3])]
    found = _deviations(tensors, operators, [[0.5, 1]])
    assert (found[2] * ALLOWED).round().tolist() == [1, 0]
    np.testing.assert_allclose(found[3] * ALLOWED, [scale, 0], rtol=1e-6)


def test_an_integer_that_may_be_off_is_tried_in_the_quantized_operators_behind_it() -> None:
    scale = 2 * _EDGE / 3
    tensors = [
        _real(1, 2), _real(1, 2), T((1, 2), "int8", scale, 0),
        T((2, 2), "int8", 1.0, 0, data=[[3, 0], [-5, 7]]), T((2,), "int32", scale, 0, data=[0, 0]),
        T((1, 2), "int8", scale, 0),
    ]  # fmt: skip
    operators = [Op("EXP", [0], [1]), Op("QUANTIZE", [1], [2]), _dense(2, 3, 4, 5)]
    found = _deviations(tensors, operators, [[[0.5, 1]]])
    assert (found[5] * ALLOWED).round().tolist() == [[3, 5]]


def test_a_normalized_vector_moves_with_each_pattern_of_signs() -> None:
    tensors = [_real(1, 2), _real(1, 2), _real(1, 2)]
    norm = Op("L2_NORMALIZATION", [1], [2], ("L2Norm", NONE))
    found = _deviations(tensors, [Op("EXP", [0], [1]), norm], [[[0.5, 0.5]]])
    # Against each other: both lose half of what they deviate by, together they lose nothing.
    own = (np.sqrt(2) + 3) * U * np.sqrt(0.5)
    moved = found[1] / (np.sqrt(2) * np.exp(0.5))
    np.testing.assert_allclose(found[2], np.hypot(moved, own), rtol=1e-4)


def test_a_subnormal_result_has_an_absolute_bound() -> None:
    tensors = [_real(1), _real(1)]
    found = _deviations(tensors, [Op("EXP", [0], [1])], [[-100.0]])
    np.testing.assert_allclose(found[1], [LIBRARY * 2.0**-150])


def test_every_operator_has_one_rule() -> None:
    sets = [getattr(float_error, name) for name in _RULES]
    counts = Counter(name for each in sets for name in each)
    assert counts == Counter(Kernels.default().builtin.keys())


def test_bounds_are_never_nan() -> None:
    """The deviation of 0 / 0 is nothing that anything may be off by."""
    tensors = [_real(2), _real(2)]
    found = _deviations(tensors, [Op("LOG", [0], [1])], [[-1, 2]])
    np.testing.assert_allclose(found[1], [0, LIBRARY * U * np.log(2)], rtol=1e-6)


def _memory(x: T, weights: T, state: T) -> list[T]:
    return [x, weights, _real(2, 3, data=[[1, 2, 3], [4, 5, 6]]), state, _real(1, 2)]


def test_a_stateful_operator_has_the_bound_of_a_sum() -> None:
    state = T((1, 6), "float32", variable=True)
    tensors = _memory(_real(1, 4), _real(2, 4, data=np.full((2, 4), 10.0)), state)
    op = Op("SVDF", [0, 1, 2, -1, 3], [4], ("SVDF", {"Rank": 1}))
    interpreter = Interpreter(Model.from_bytes(build(tensors, [op], [0], [4])))
    (y,) = interpreter.invoke([np.array([[1, 2, 3, 4]], np.float32)])
    assert y.tolist() == [[300, 600]]
    # The weights are its largest input: 8 elements. The largest output is 600.
    expected = ALLOWED * np.sqrt(8) / 3 * U * 600
    np.testing.assert_allclose(allowed_errors(interpreter)[4], [[expected] * 2], rtol=1e-6)


def test_a_stateful_operator_propagates_relative_deviations() -> None:
    state = T((1, 6), "float32", variable=True)
    tensors = [
        *_memory(_real(1, 4), _real(2, 4, data=np.full((2, 4), 0.001)), state),
        _real(1, 4),
    ]
    operators = [
        Op("EXP", [5], [0]),
        Op("SVDF", [0, 1, 2, -1, 3], [4], ("SVDF", {"Rank": 1})),
    ]
    interpreter = Interpreter(Model.from_bytes(build(tensors, operators, [5], [4])))
    (y,) = interpreter.invoke([np.array([[1, 0, 2, -1]], np.float32)])
    assert np.abs(y).max() < 1  # what is smaller than 1 may be off as 1 may be
    expected = ALLOWED * np.hypot(LIBRARY * U, np.sqrt(8) / 3 * U)
    np.testing.assert_allclose(allowed_errors(interpreter)[4], [[expected] * 2], rtol=1e-5)


def test_a_custom_operator_is_off_by_the_relative_deviation_of_its_input_alone() -> None:
    tensors = [_real(1, 2), _real(1, 2), _real(1, 2), _real(1, 2)]
    atan = [Op("Atan", [place], [3], custom="Atan") for place in (0, 1)]
    exact = _deviations(tensors, [Op("EXP", [0], [1]), atan[0]], [[[0.5, 1]]])
    assert not exact[3].any()
    found = _deviations(tensors, [Op("EXP", [0], [1]), atan[1]], [[[0.5, 1]]])
    largest = np.arctan(np.e)
    np.testing.assert_allclose(found[3], [[LIBRARY * U * largest] * 2], rtol=1e-6)


def test_bounds_of_a_stateful_batch_are_those_of_single_inferences() -> None:
    state = T((1, 6), "float32", variable=True)
    tensors = _memory(_real(1, 4), _real(2, 4, data=np.full((2, 4), 10.0)), state)
    op = Op("SVDF", [0, 1, 2, -1, 3], [4], ("SVDF", {"Rank": 1}))
    model = Model.from_bytes(build(tensors, [op], [0], [4]))
    x = np.random.default_rng(2).normal(size=(5, 1, 4)).astype(np.float32)
    wanted = np.array([False, False, True, False, True])
    together = allowed_in_batch(Interpreter(model), [x], 0, wanted)
    single = Interpreter(model)
    for run, row in enumerate(x):
        single.invoke([row])
        expected = allowed_errors(single)[4] if wanted[run] else np.zeros((1, 2))
        np.testing.assert_array_equal(together[run], expected)
    assert together.shape == (5, 1, 2)


def test_a_batch_of_integers_has_no_bounds() -> None:
    interpreter = Interpreter(Model.from_bytes(svdf()))
    x = np.ones((2, 1, 4), np.int8)
    assert not allowed_in_batch(interpreter, [x], 0, np.ones(2, bool)).any()
