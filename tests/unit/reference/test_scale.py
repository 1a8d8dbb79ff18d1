"""Fixed-point scaling and quantization, compared with Python integers."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.base.arithmetic import Arithmetic, Rounding
from harness.base.errors import UsageError
from harness.reference import dequantize, quantize
from harness.reference.quantization import limits, round_away
from harness.reference.scale import (
    Clamp,
    Multiplier,
    Requantizer,
    doubling_high_multiply,
    quantize_multiplier,
    round_half_away,
    rounding_right_shift,
)

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
@given(st.lists(st.floats(0.001, 100), min_size=1, max_size=5), st.integers(-1000, 1000))
def test_channels_have_their_own_multiplier(reals: list[float], x: int) -> None:
    together = Multiplier.of(reals, "double").scale(np.full(len(reals), x, np.int64))
    alone = [Multiplier.of(r, "double").scale(np.array([x], np.int64))[0] for r in reals]
    assert together.tolist() == alone


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
def test_values_beyond_the_type_saturate(*, truncate: bool) -> None:
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


def wrapped(x: int) -> int:
    return (x + (1 << 31)) % (1 << 32) - (1 << 31)


def scaled(x: int, multiplier: int, shift: int, rounding: Rounding) -> int:
    """The specification of :meth:`Multiplier.scale`, of one number."""
    if rounding == "single":
        return math.floor(Fraction(x * multiplier, 1 << (31 - shift)) + Fraction(1, 2))
    once = math.floor(Fraction(wrapped(x << max(shift, 0)) * multiplier, 1 << 31) + Fraction(1, 2))
    return half_away(Fraction(once, 1 << max(-shift, 0)))


@steady
@given(
    rounding=st.sampled_from(["double", "single"]),
    pixels=st.integers(1, 70),
    channels=st.sampled_from([1, 3, 8, 700]),
    largest=st.sampled_from([1 << 10, 1 << 20, 1 << 29, (1 << 31) - 1]),
    zero=st.integers(-128, 127),
    low=st.sampled_from([-128, -20, 0]),
    seed=st.integers(0, 1 << 32),
)
def test_accumulators_are_biased_scaled_moved_and_clamped_by_channel(
    *, rounding: Rounding, pixels: int, channels: int, largest: int, zero: int, low: int, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    shifts = rng.integers(-31, 3, channels)
    multiplier = Multiplier(rng.integers(1 << 30, 1 << 31, channels), shifts, rounding)
    bias = rng.integers(-(largest // 2), largest // 2 + 1, (1, channels))
    sums = rng.integers(-(largest // 2), largest // 2 + 1, (2, pixels, channels))
    requantize = Requantizer(multiplier, zero, Clamp(low, 127, np.dtype(np.int8)))
    obtained = requantize(sums.astype(np.float64), bias)
    assert obtained.dtype == np.int8
    for place in zip(*(rng.integers(0, size, 20) for size in sums.shape), strict=True):
        c = place[2]
        raw, shift = int(multiplier.multiplier[c]), int(shifts[c])
        x = scaled(int(sums[place] + bias[0, c]), raw, shift, rounding)
        assert obtained[place] == min(max(wrapped(x + zero), low), 127)


@pytest.mark.parametrize("size", [1, 100, 1 << 14, (1 << 14) + 1, 50_000])
@pytest.mark.parametrize("channels", [None, 1, 3, 20])
def test_blocks_of_accumulators_are_all_accumulators(size: int, channels: int | None) -> None:
    reals = 0.25 if channels is None else [0.25] * channels
    requantize = Requantizer(Multiplier.of(reals, "single"), 0, Clamp.whole(np.int16))
    sums = np.arange(-size, size).repeat(channels or 1).reshape(2, size, channels or 1)
    expected = (np.arange(-size, size) + 2) // 4  # halves up
    assert np.array_equal(requantize(sums).ravel(), expected.repeat(channels or 1))


def test_each_run_may_have_its_own_bias() -> None:
    requantize = Requantizer(Multiplier.of([1.0, 0.5], "double"), 1, Clamp.whole(np.int8))
    sums, bias = np.zeros((3, 2, 2)), np.array([[1, 2], [3, 4], [5, 6]])
    assert requantize(sums, bias).tolist() == [[[2, 2]] * 2, [[4, 3]] * 2, [[6, 4]] * 2]


def test_accumulators_of_32_bits_wrap_and_wide_ones_do_not() -> None:
    multiplier, clamp = Multiplier.of(2.0**-20, "double"), Clamp.whole(np.int16)
    sums, bias = np.array([[float((1 << 31) - 1)]]), np.array([[1]])
    assert Requantizer(multiplier, 0, clamp)(sums, bias).item() == -(1 << 11)
    assert Requantizer(multiplier, 0, clamp, wide=True)(sums, bias).item() == 1 << 11


def test_no_accumulators_give_no_outputs() -> None:
    requantize = Requantizer(Multiplier.of([0.5, 0.5], "double"), 0, Clamp.whole(np.int8))
    assert requantize(np.zeros((1, 0, 2))).shape == (1, 0, 2)


def test_a_clamp_limits_before_it_stores() -> None:
    clamp = Clamp(-5, 6, np.dtype(np.int8))
    assert clamp(np.array([-1000, -5, 0, 6, 256])).tolist() == [-5, -5, 0, 6, 6]
    assert Clamp.whole("uint8").range == (0, 255)
