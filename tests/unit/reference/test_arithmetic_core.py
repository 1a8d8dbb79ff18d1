"""Fixed point, quantization and exact products, each against plain Python integers."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.arithmetic import Arithmetic, Rounding
from harness.errors import UsageError
from harness.model import Quantization, Tensor
from harness.reference import dequantize, quantize
from harness.reference.activation import Clamp
from harness.reference.exact import FLOAT32_EXACT, FLOAT64_EXACT, ExactMatrix, exact_float
from harness.reference.fixedpoint import (
    Multiplier,
    doubling_high_multiply,
    quantize_multiplier,
    round_half_away,
    rounding_right_shift,
)
from harness.reference.quantization import limits, round_away
from harness.reference.rows import RealScaler, RowScaler, row_scaler

int32 = st.integers(-(1 << 31), (1 << 31) - 1)
# A busy machine is slow now and then: no deadline.
steady = settings(deadline=None, derandomize=True, database=None)


def half_away(value: Fraction) -> int:
    return int(math.copysign(1, value)) * math.floor(abs(value) + Fraction(1, 2))


@steady
@given(st.floats(2.0**-31, 2.0**30))
def test_a_multiplier_is_within_half_a_unit_of_the_real_one(real: float) -> None:
    multiplier, shift = quantize_multiplier(real)
    assert 1 << 30 <= multiplier < 1 << 31
    held = Fraction(multiplier, 1 << 31) * Fraction(2) ** shift
    assert abs(held - Fraction(real)) <= Fraction(2) ** (shift - 32)


def test_multipliers_that_no_shift_reaches_are_zero() -> None:
    assert quantize_multiplier(2.0**-40) == (0, 0)
    assert quantize_multiplier(0.0) == (0, 0)


@pytest.mark.parametrize("given", ["triple", None, 2, ["double"]])
@pytest.mark.parametrize("name", ["rounding", "multipliers"])
def test_an_arithmetic_that_no_device_has_is_refused(name: str, given: object) -> None:
    with pytest.raises(UsageError, match=f"{name} is 'double' or 'single', not"):
        Arithmetic(**{name: given})  # type: ignore[arg-type]


def test_single_rounding_limits_the_shift() -> None:
    assert quantize_multiplier(2.0**40, "single") == ((1 << 31) - 1, 30)


@steady
@given(int32, st.integers(0, 31))
def test_a_rounding_shift_takes_halves_away_from_zero(x: int, exponent: int) -> None:
    shifted = rounding_right_shift(np.array([x], np.int64), exponent)
    assert shifted[0] == half_away(Fraction(x, 1 << exponent))


@steady
@given(int32, int32)
def test_a_doubling_high_multiply_takes_halves_up_and_saturates(a: int, b: int) -> None:
    expected = math.floor(Fraction(a * b, 1 << 31) + Fraction(1, 2))
    obtained = doubling_high_multiply(np.array([a], np.int64), b)
    assert obtained[0] == min(expected, (1 << 31) - 1)


def test_the_square_of_the_least_number_saturates() -> None:
    least, largest = np.array([-(1 << 31)]), (1 << 31) - 1
    assert doubling_high_multiply(least, -(1 << 31)).tolist() == [largest]
    assert doubling_high_multiply(least, 1 - (1 << 31)).tolist() == [largest]


@steady
@given(st.integers(-(1 << 24), 1 << 24), st.floats(2.0**-30, 2.0**6))
def test_double_rounding_rounds_twice(x: int, real: float) -> None:
    multiplier, shift = quantize_multiplier(real)
    left, right = max(shift, 0), max(-shift, 0)
    once = math.floor(Fraction((x << left) * multiplier, 1 << 31) + Fraction(1, 2))
    expected = half_away(Fraction(once, 1 << right))
    assert Multiplier.of(real, "double").scale(np.array([x], np.int64))[0] == expected


@steady
@given(st.integers(-(1 << 24), 1 << 24), st.floats(2.0**-30, 2.0**6))
def test_single_rounding_rounds_once(x: int, real: float) -> None:
    multiplier, shift = quantize_multiplier(real, "single")
    expected = math.floor(Fraction(x * multiplier, 1) / 2 ** (31 - shift) + Fraction(1, 2))
    assert Multiplier.of(real, "single").scale(np.array([x], np.int64))[0] == expected


def test_the_two_roundings_differ_by_one_in_few_elements() -> None:
    x = np.random.default_rng(0).integers(-(1 << 20), 1 << 20, 100_000)
    double, single = (Multiplier.of(0.0003, mode).scale(x.copy()) for mode in ("double", "single"))
    difference = np.abs(double - single)
    assert difference.max() == 1
    assert 0 < np.count_nonzero(difference) < 1000


@steady
@given(
    st.sampled_from(["double", "single"]),
    st.integers(1, 70),
    st.sampled_from([1, 3, 8, 700]),
    st.sampled_from([1 << 10, 1 << 20, 1 << 29, (1 << 31) - 1]),
    st.integers(-128, 127),
    st.integers(0, 1 << 32),
)
def test_the_fast_rows_compute_what_the_plain_scaling_does(
    rounding: Rounding, pixels: int, channels: int, largest: int, zero: int, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    multiplier = Multiplier.of((2.0 ** rng.uniform(-34, -0.01, channels)).tolist(), rounding)
    bias = rng.integers(-(largest // 2), largest // 2 + 1, channels)
    sums = rng.integers(-(largest // 2), largest // 2 + 1, (2, 3, pixels, channels))
    sums.ravel()[:2] = [largest // 2, -(largest // 2)]
    clamp = Clamp(-128, 127, np.dtype(np.int8))
    output = Tensor(0, "y", (3, pixels, channels), "int8", Quantization((1.0,), (zero,)))
    expected = np.clip(multiplier.scale(sums + bias) + zero, -128, 127).astype(np.int8)
    for scaler in (RowScaler.of, row_scaler):
        rows = scaler(multiplier, bias, clamp, output, largest)
        assert np.array_equal(rows(sums.astype(np.float64)), expected)


@pytest.mark.parametrize("rounding", ["double", "single"])
@pytest.mark.parametrize("shift", [0, 1, 2, 7, 11])
def test_halves_go_away_from_zero_in_double_precision_too(rounding: Rounding, shift: int) -> None:
    multiplier = Multiplier(np.array([(1 << 31) - 1, 1 << 30]), np.array([-shift] * 2), rounding)
    sums = np.stack([np.arange(-5000, 5000)] * 2, axis=-1)
    output = Tensor(0, "y", (10000, 2), "int16", Quantization((1.0,), (3,)))
    clamp, bias = Clamp(-32768, 32767, np.dtype(np.int16)), np.array([1, -1])
    rows = row_scaler(multiplier, bias, clamp, output, 5001)
    assert isinstance(rows, RealScaler)
    assert np.array_equal(rows(sums), multiplier.scale(sums + bias) + 3)


@pytest.mark.parametrize(("largest", "exact"), [((1 << 22) - 2, True), (1 << 22, False)])
def test_double_precision_is_left_where_it_would_round(largest: int, exact: bool) -> None:
    multiplier = Multiplier(np.array([(1 << 31) - 1]), np.array([0]), "double")
    output = Tensor(0, "y", (1, 1), "int16", Quantization((1.0,), (0,)))
    clamp = Clamp(-(1 << 24), 1 << 24, np.dtype(np.int32))
    rows = row_scaler(multiplier, np.array([0]), clamp, output, largest)
    assert isinstance(rows, RealScaler) == exact
    ends = np.array([[largest], [-largest], [largest - 1], [1 - largest]])
    assert np.array_equal(rows(ends), multiplier.scale(ends))


@steady
@given(st.lists(st.floats(0.001, 100), min_size=1, max_size=5), st.integers(-1000, 1000))
def test_channels_have_their_own_multiplier(reals: list[float], x: int) -> None:
    together = Multiplier.of(reals, "double").scale(np.full(len(reals), x, np.int64))
    alone = [Multiplier.of(r, "double").scale(np.array([x], np.int64))[0] for r in reals]
    assert together.tolist() == alone


def test_the_float_type_follows_the_bound() -> None:
    assert exact_float(FLOAT32_EXACT) == np.float32
    assert exact_float(FLOAT32_EXACT + 1) == np.float64
    with pytest.raises(OverflowError):
        exact_float(FLOAT64_EXACT + 1)


@pytest.mark.parametrize("depth", [1, 514, 515, 5000])
@pytest.mark.parametrize("largest", [255, 65535])
def test_products_are_exact_at_the_edge_of_the_float_type(depth: int, largest: int) -> None:
    """All terms as large as they can be, and of one sign: the worst case of the bound."""
    weights = np.full((depth, 3), -128, np.int8)
    weights[:, 1] = np.random.default_rng(1).integers(-128, 128, depth)
    weights[-1, 2] = 127
    matrix = ExactMatrix.of(weights, largest)
    assert matrix.dtype == (np.float32 if largest * 128 * depth <= FLOAT32_EXACT else np.float64)
    x = np.full((2, depth), largest)
    x[1, ::2] -= 1
    product = matrix.product(matrix.centred(x, 0))
    assert np.array_equal(product.astype(np.int64), x @ weights.astype(np.int64))


@pytest.mark.parametrize("dtype", ["int8", "int16", "uint8"])
def test_quantize_rounds_halves_away_from_zero_and_saturates(dtype: str) -> None:
    info = np.iinfo(dtype)
    zero = 0 if info.min else 128
    q = quantize([0.25, -0.25, 0.2, 1e9, -1e9], 0.5, zero, dtype)
    assert q.tolist() == [zero + 1, zero - 1, zero, info.max, info.min]
    assert q.dtype == dtype


def test_quantize_may_truncate_as_sample_code_does() -> None:
    # x / scale + zero point = -2.6 -> -2, not -3.
    assert quantize(-0.5 * 3.6, 0.5, 1, truncate=True) == -2
    assert quantize(-0.5 * 3.6, 0.5, 1) == -3


def test_the_float_below_one_half_rounds_down() -> None:
    assert quantize(np.float32(0.49999997), 1.0, 0) == 0


@pytest.mark.parametrize("scale", [0.0, -0.5, math.nan])
def test_quantize_needs_a_scale(scale: float) -> None:
    with pytest.raises(UsageError, match=f"cannot quantize with the scale {scale}"):
        quantize(1.0, scale, 0)


@steady
@given(st.integers(-128, 127), st.integers(-128, 127))
def test_dequantize_undoes_quantize(q: int, zero: int) -> None:
    real = dequantize(np.int8(q), 0.0390625, zero)
    assert real.dtype == np.float32
    assert quantize(real, 0.0390625, zero) == q


def test_halves_of_floats_go_away_from_zero_and_infinities_stay() -> None:
    x = np.array([0.5, -0.5, 1.5, -1.5, 2.5, 0.49999997, 8388609.0, np.inf, -np.inf], np.float32)
    expected = [1, -1, 2, -2, 3, 0, 8388609.0, np.inf, -np.inf]
    rounded = round_away(x)
    assert (rounded.tolist(), rounded.dtype) == (expected, np.float32)
    assert np.isnan(round_away(np.array([np.nan]))).all()


@pytest.mark.parametrize(
    ("real", "whole"), [(0.5, 1), (-0.5, -1), (1.4999, 1), (-1.5, -2), (2.5, 3), (0.0, 0)]
)
def test_half_of_one_number_goes_away_from_zero(real: float, whole: int) -> None:
    assert round_half_away(real) == whole


@pytest.mark.parametrize("truncate", [False, True])
def test_what_is_beyond_the_type_saturates_with_its_zero_point(*, truncate: bool) -> None:
    q = quantize([np.inf, -np.inf, 63.0, -64.0, 62.5], 0.5, 3, truncate=truncate)
    assert q.tolist() == [127, -128, 127, -125, 127]


@pytest.mark.parametrize(
    ("dtype", "ends"), [("int8", (-128, 127)), ("uint8", (0, 255)), ("int16", (-32768, 32767))]
)
def test_the_limits_of_a_type_are_its_ends(dtype: str, ends: tuple[int, int]) -> None:
    assert limits(dtype) == ends


def test_a_real_value_of_a_step_is_rounded_once() -> None:
    """The scale is a float32; the product is of double precision."""
    scale = float(np.float32(0.1))
    expected = np.float32(127 * scale)
    assert dequantize(np.int8(127), 0.1, 0) == expected
    assert dequantize([100, -28], 0.1, -27).tolist() == [expected, float(np.float32(-scale))]


@pytest.mark.parametrize("mode", ["double", "single"])
def test_a_multiplier_above_one_shifts_left_first(mode: Rounding) -> None:
    multiplier = Multiplier.of(5.0, mode)
    assert (multiplier.multiplier.item(), multiplier.shift.item()) == (5 << 28, 3)
    assert multiplier.scale(np.array([7, -7, 0])).tolist() == [35, -35, 0]


def test_a_left_shift_wraps_at_32_bits() -> None:
    """2^29 * 4 is -2^31 in 32 bits: half of it, as the multiplier is 0.5 * 2^2, is -2^30."""
    multiplier = Multiplier(np.array(1 << 30), np.array(2), "double")
    assert multiplier.scale(np.array([1 << 29, (1 << 29) - 1])).tolist() == [
        -(1 << 30),
        (1 << 30) - 2,
    ]


def test_sums_of_64_bits_take_16_bits_of_the_multiplier() -> None:
    """Rounded to 16 bits, at most 0x7FFF; the sum's halves go up."""
    reduced = [((1 << 30) + (1 << 15), (1 << 14) + 1), (0x7FFF0000, 0x7FFF), (0x7FFEFFFF, 0x7FFF)]
    for raw, kept in reduced:
        x = np.array([1 << 40, 3, -3, 1])
        got = Multiplier(np.array(raw), np.array(-12), "double").scale64(x)
        wanted = [
            math.floor(Fraction(each * kept, 1 << 27) + Fraction(1, 2)) for each in x.tolist()
        ]
        assert got.tolist() == [(each + (1 << 31)) % (1 << 32) - (1 << 31) for each in wanted]


def test_the_first_channels_of_a_multiplier_are_those_of_its_arrays() -> None:
    several = Multiplier.of([0.5, 0.25, 0.125], "double").first(2)
    assert (several.multiplier.tolist(), several.shift.tolist()) == ([1 << 30] * 2, [0, -1])
    one = Multiplier.of(0.5, "double")
    assert one.first(2) is one


@steady
@given(
    rounding=st.sampled_from(["double", "single"]),
    shift=st.integers(0, 6),
    size=st.integers(1, 26),
    zero_point=st.integers(-128, 127),
    seed=st.integers(0, 1 << 32),
)
def test_a_product_with_its_scaling_is_what_its_steps_give(
    rounding: Rounding, shift: int, size: int, zero_point: int, seed: int
) -> None:
    """Weights of up to 2^26: far beyond what one product in double precision holds."""
    rng = np.random.default_rng(seed)
    raw = rng.integers(1 << 30, 1 << 31, 3)
    multiplier = Multiplier(raw, np.full(3, -shift), rounding)
    bias, weights = rng.integers(-999, 999, 3), rng.integers(-(1 << size), 1 << size, (4, 3))
    output = Tensor(0, "y", (1, 3), "int32", Quantization((1.0,), (5,)))
    clamp = Clamp(-(1 << 31), (1 << 31) - 1, np.dtype(np.int64))
    scaler = RealScaler.of(multiplier, bias, clamp, output)
    x = rng.integers(-128, 128, (50, 4))
    x[:, 1:] = np.where(rng.integers(0, 2, (50, 1)), zero_point, x[:, 1:])
    sums = (x - zero_point) @ weights
    fits = np.abs(sums + bias).max(axis=1) < 1 << 21  # what RealScaler itself is for
    expected = multiplier.scale(sums + bias) + 5
    fused = scaler.fused(weights, 128, zero_point)(x.astype(np.float64))
    assert np.array_equal(fused[fits], expected[fits])
