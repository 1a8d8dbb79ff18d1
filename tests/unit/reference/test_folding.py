"""The folded forms of single inferences against the steps that they stand for."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from harness.arithmetic import Rounding
from harness.reference import gemmlowp
from harness.reference.activation import Clamp
from harness.reference.bind import Workspace
from harness.reference.fixedpoint import Multiplier, wrap32
from harness.reference.folding import Folded
from harness.reference.scaling import Scaling, Summed

_multipliers = st.one_of(
    st.integers(1 << 30, (1 << 31) - 1),
    st.sampled_from([0, 1 << 30, (1 << 30) + 1, (1 << 31) - 1, 3 << 29, 5 << 28]),
)
_roundings: st.SearchStrategy[Rounding] = st.sampled_from(["double", "single"])


def _in_steps(
    sums: np.ndarray, multiplier: Multiplier, bias: np.ndarray, zero_point: int, clamp: Clamp
) -> np.ndarray:
    scaled = multiplier.scale(sums.astype(np.int64) + bias) + zero_point
    return np.clip(scaled, clamp.low, clamp.high).astype(clamp.dtype)


def _folded(folded: Folded | Summed, x: np.ndarray, clamp: Clamp) -> np.ndarray:
    y = np.zeros((len(x), folded.matrix.shape[1]), clamp.dtype)
    for call in folded.bind(x, y, Workspace()):
        call()
    return y


@given(
    data=st.data(),
    rounding=_roundings,
    channels=st.integers(1, 4),
    depth=st.integers(1, 12),
    shifts=st.lists(st.integers(-12, 31), min_size=4, max_size=4),
    same_shift=st.booleans(),
    zero_points=st.tuples(st.integers(-128, 127), st.integers(-128, 127)),
    kind=st.sampled_from(["all", "relu", "nearly relu", "part"]),
    dtype=st.sampled_from(["int8", "int16"]),
)
def test_a_folded_product_is_what_its_steps_give(
    *,
    data: st.DataObject,
    rounding: Rounding,
    channels: int,
    depth: int,
    shifts: list[int],
    same_shift: bool,
    zero_points: tuple[int, int],
    kind: str,
    dtype: str,
) -> None:
    shift = np.array(shifts[:1] * channels if same_shift else shifts[:channels])
    raw = np.array([data.draw(_multipliers) for _ in range(channels)])
    multiplier = Multiplier(raw, -shift, rounding)
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    w = rng.integers(-127, 128, (depth, channels))
    x = rng.integers(-128, 128, (40, depth)).astype(np.int8)
    x[0], x[1] = -128, 127
    # Biases that put the sums where they round, and the results where they are clamped.
    bias = rng.integers(-(1 << 14), 1 << 14, channels) << data.draw(st.integers(0, 5))
    info = np.iinfo(dtype)
    low, high = {
        "all": (info.min, info.max),
        "relu": (zero_points[1], info.max),
        "nearly relu": (zero_points[1] - 1, info.max),
        "part": (zero_points[1] - 20, zero_points[1] + 9),
    }[kind]
    clamp = Clamp(max(low, info.min), min(high, info.max), np.dtype(dtype))
    folded = Folded.of(w, multiplier, bias, zero_points, clamp)
    if folded is not None:
        expected = _in_steps(
            (x.astype(np.int64) - zero_points[0]) @ w, multiplier, bias, zero_points[1], clamp
        )
        assert np.array_equal(_folded(folded, x, clamp), expected)


def test_a_product_whose_left_shift_could_overflow_is_not_folded() -> None:
    """64 * 2^25 is -2^31 on a device; 63 * 2^25 still fits."""
    steep = Multiplier(np.array([1 << 30]), np.array([25]), "double")
    clamp, one, none = Clamp(-128, 127, np.dtype(np.int8)), np.array([[1]]), np.array([0])
    assert Folded.of(one, steep, none, (0, 0), clamp, 64) is None
    folded = Folded.of(one, steep, none, (0, 0), clamp, 63)
    assert folded is not None
    assert _folded(folded, np.array([[63], [-63]], np.int8), clamp).ravel().tolist() == [127, -128]


def test_a_product_is_folded_as_long_as_double_precision_holds_its_terms() -> None:
    """Terms are multiples of 2^-31: those of (128 + bias) / 2 + 1/2 together stay below 2^21."""
    half = Multiplier(np.array([1 << 30]), np.array([0]), "double")
    clamp, one = Clamp(-128, 127, np.dtype(np.int8)), np.array([[1]])
    most = (1 << 22) - 131
    folded = Folded.of(one, half, np.array([most]), (0, 0), clamp)
    assert folded is not None
    assert _folded(folded, np.array([[127]], np.int8), clamp).item() == 127
    assert Folded.of(one, half, np.array([most + 2]), (0, 0), clamp) is None


def test_sums_are_held_as_long_as_double_precision_holds_them() -> None:
    tiny = Multiplier(np.array([1 << 30]), np.array([-20]), "double")
    clamp, one = Clamp(-128, 127, np.dtype(np.int8)), np.array([[1]])
    most = (1 << 53) - 129
    summed = Summed.of(one, tiny, np.array([most]), (0, 0), clamp, 128)
    assert summed is not None
    x = np.array([[127], [-128]], np.int8)
    expected = _in_steps(wrap32(x.astype(np.int64) + most), tiny, np.array(0), 0, clamp)
    assert np.array_equal(_folded(summed, x, clamp), expected)
    assert Summed.of(one, tiny, np.array([most + 1]), (0, 0), clamp, 128) is None


@pytest.mark.parametrize(("bias", "expected"), [((1 << 31) - 129, 127), ((1 << 31) - 128, -128)])
def test_the_first_sum_beyond_32_bits_overflows(bias: int, expected: int) -> None:
    """-128 * -1 and the bias are 2^31 - 1, or one more."""
    half = Multiplier(np.array([1 << 30]), np.array([0]), "double")
    clamp = Clamp(-128, 127, np.dtype(np.int8))
    summed = Summed.of(np.array([[-1]]), half, np.array([bias]), (0, 0), clamp, 128)
    assert summed is not None
    x = np.array([[-128]], np.int8)
    assert summed(x).item() == expected
    assert _folded(summed, x, clamp).item() == expected


@given(
    rounding=_roundings,
    multiplier=_multipliers,
    shift=st.integers(0, 14),
    start=st.integers(-(1 << 15), 1 << 15),
    zero_point=st.integers(-128, 127),
    relu=st.booleans(),
)
@example("double", 1 << 30, 1, -20, 0, False)
@example("double", 1 << 30, 1, -20, 0, True)
def test_every_sum_of_a_stretch_is_rounded_alike(
    rounding: Rounding, multiplier: int, shift: int, start: int, zero_point: int, relu: bool
) -> None:
    """All of 4,096 neighbouring sums: no tie between two results is left out."""
    both = Multiplier(np.array([multiplier] * 2), np.array([-shift, -shift - 1]), rounding)
    clamp = Clamp(zero_point if relu else -128, 127, np.dtype(np.int8))
    w = np.array([[1, 1], [127, 127]])
    x = np.stack([np.tile(np.arange(-64, 63), 33), np.repeat(np.arange(-16, 17), 127)], axis=1)
    x = x.astype(np.int8)
    bias = np.array([start, start])
    folded = Folded.of(w, both, bias, (0, zero_point), clamp)
    assert folded is not None
    expected = _in_steps(x.astype(np.int64) @ w, both, bias, zero_point, clamp)
    assert np.array_equal(_folded(folded, x, clamp), expected)


@given(
    data=st.data(),
    rounding=_roundings,
    shifts=st.lists(st.integers(-4, 31), min_size=1, max_size=3),
    zero_points=st.tuples(st.integers(-128, 127), st.integers(-128, 127)),
    high_bits=st.integers(10, 31),
)
def test_sums_that_overflow_are_cut_to_32_bits_and_scaled_as_in_steps(
    data: st.DataObject,
    rounding: Rounding,
    shifts: list[int],
    zero_points: tuple[int, int],
    high_bits: int,
) -> None:
    raw = np.array([data.draw(_multipliers) for _ in shifts])
    multiplier = Multiplier(raw, -np.array(shifts), rounding)
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    w = rng.integers(-127, 128, (9, len(shifts)))
    x = rng.integers(-128, 128, (40, 9)).astype(np.int8)
    bias = rng.integers(-(1 << high_bits), 1 << high_bits, len(shifts))
    clamp = Clamp(-128, 127, np.dtype(np.int8))
    summed = Summed.of(w, multiplier, bias, zero_points, clamp, 128)
    if summed is not None:
        sums = wrap32((x.astype(np.int64) - zero_points[0]) @ w + bias)
        expected = _in_steps(sums, multiplier, np.array(0), zero_points[1], clamp)
        assert np.array_equal(summed(x), expected)
        assert np.array_equal(_folded(summed, x, clamp), expected)


@given(
    rounding=_roundings,
    multiplier=_multipliers,
    shift=st.integers(0, 25),
    output=st.integers(-140, 140),
    zero_point=st.integers(-128, 127),
    low=st.integers(-128, 0),
)
@example("double", 1 << 30, 1, -20, 0, -128)
@example("double", 1 << 30, 20, -20, 0, -128)
@example("single", 1 << 30, 20, 3, 0, -128)
@example("double", 0, 25, -128, 0, -128)
def test_each_sum_near_a_change_of_the_output_is_scaled_as_in_steps(
    rounding: Rounding, multiplier: int, shift: int, output: int, zero_point: int, low: int
) -> None:
    both = Multiplier(np.array(multiplier), np.array(-shift), rounding)
    clamp = Clamp(low, 127, np.dtype(np.int8))
    scaling = Scaling.of(both, zero_point, clamp, 1 << 31)
    assert scaling is not None
    change = round((output - 0.5) / (max(multiplier, 1) / 2**31 / 2**shift))
    near = np.arange(-300, 300) + max(-(1 << 31), min(change, 1 << 31))
    sums = np.clip(near, -(1 << 31), (1 << 31) - 1)
    assert np.array_equal(scaling(sums), _in_steps(sums, both, np.array(0), zero_point, clamp))


def test_a_scaling_that_would_be_wrong_for_one_sum_is_not_made() -> None:
    """A factor that is off by one part in 2^29 gives another output for the sum at a tie."""
    step = Multiplier(np.array(1 << 30), np.array(-29), "double")
    clamp = Clamp(-128, 127, np.dtype(np.int8))
    right = Scaling.of(step, 0, clamp, 1 << 31)
    assert right is not None
    for off in (2.0**-29, -(2.0**-29)):
        wrong = replace(right, factor=right.factor * (1 + off))
        assert not wrong.agrees(step, 0, clamp, 1 << 31)
    assert right.agrees(step, 0, clamp, 1 << 31)


@pytest.mark.parametrize("zero_point", [0, 3])
@pytest.mark.parametrize("rounding", ["double", "single"])
def test_sums_are_scaled_at_once_to_16_bits_too(rounding: Rounding, zero_point: int) -> None:
    eighth = Multiplier(np.array(1 << 30), np.array(-2), rounding)
    clamp = Clamp(-(1 << 15), (1 << 15) - 1, np.dtype(np.int16))
    scaling = Scaling.of(eighth, zero_point, clamp, 1 << 20)
    assert scaling is not None
    sums = np.arange(-50, 50)
    expected = _in_steps(sums, eighth, np.array(0), zero_point, clamp)
    assert np.array_equal(scaling(sums), expected)


def test_a_left_shift_that_overflows_is_not_scaled_at_once() -> None:
    twice = Multiplier(np.array(1 << 30), np.array(2), "double")
    clamp = Clamp(-128, 127, np.dtype(np.int8))
    assert Scaling.of(twice, 0, clamp, (1 << 29) - 1) is not None
    assert Scaling.of(twice, 0, clamp, 1 << 29) is None


@given(
    st.one_of(
        st.integers(1, (1 << 31) - 1),
        st.builds(lambda bits, less: (1 << bits) - less, st.integers(1, 31), st.integers(0, 1)),
    ).filter(lambda x: 0 < x < 1 << 31)
)
def test_the_reciprocal_of_a_number_is_that_of_an_array(x: int) -> None:
    factor, exponent = gemmlowp.reciprocal(np.array([x], np.int64), 12)
    assert gemmlowp.reciprocal_of(x, 12) == (factor.item(), exponent.item())
