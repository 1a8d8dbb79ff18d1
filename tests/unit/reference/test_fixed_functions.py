"""Fixed-point functions are accurate to their number of bits."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from harness.reference import functions
from harness.reference.functions import (
    interpolated_table,
    look_up,
    sigmoid16,
    table_multiplier,
    tanh16,
)
from harness.reference.signal import Transform

_ONE = 2.0**31


def _whole(low: int, high: int) -> np.ndarray:
    """Whole numbers from ``low`` to before ``high``, both ends among them."""
    values = np.random.default_rng(0).integers(low, high, 20_000)
    values[:2] = low, high - 1
    return values


@pytest.mark.parametrize("bits", [0, 2, 4, 5])
def test_an_exponential_is_close_to_the_real_function(bits: int) -> None:
    a = -_whole(0, 1 << 31)
    got = functions.exp_on_negative_values(a, bits) / _ONE
    np.testing.assert_allclose(got, np.exp(a / 2.0 ** (31 - bits)), rtol=0, atol=3e-7)


@pytest.mark.parametrize(
    ("function", "real", "atol"),
    [
        (functions.logistic, lambda x: 1 / (1 + np.exp(-x)), 1e-7),
        (functions.tanh, np.tanh, 2e-7),
    ],
)
def test_a_sigmoid_or_tanh_is_close_to_the_real_function(
    function: Callable[[np.ndarray, int], np.ndarray],
    real: Callable[[np.ndarray], np.ndarray],
    atol: float,
) -> None:
    a = _whole(1 - (1 << 31), 1 << 31)
    a[2] = 0
    got = function(a, 4) / _ONE
    np.testing.assert_allclose(got, real(a / 2.0**27), rtol=0, atol=atol)


def test_one_over_one_plus_x_is_close_to_the_real_function() -> None:
    a = _whole(0, 1 << 31)
    got = functions.one_over_one_plus_x(a) / _ONE
    np.testing.assert_allclose(got, 1 / (1 + a / _ONE), rtol=0, atol=5e-9)


def _over_all_sizes() -> np.ndarray:
    """Numbers of 1 to 31 bits."""
    return np.maximum(1, 2.0 ** np.random.default_rng(1).uniform(0, 31, 20_000)).astype(np.int64)


@pytest.mark.parametrize("bits", [0, 12])
def test_a_reciprocal_is_close_to_the_real_function(bits: int) -> None:
    x = _over_all_sizes()
    factor, exponent = functions.reciprocal(x, bits)
    got = factor / _ONE / 2.0**exponent
    np.testing.assert_allclose(got, 2.0 ** (31 - bits) / x, rtol=1e-8)


def test_an_inverse_root_is_close_and_that_of_0_and_1_is_1() -> None:
    x = np.append(_over_all_sizes(), (1 << 31) - 1)
    factor, exponent = functions.inverse_root(x)
    np.testing.assert_allclose(factor / _ONE / 2.0**exponent, 1 / np.sqrt(x), rtol=2e-6)
    factor, exponent = functions.inverse_root(np.array([0, 1]))
    assert (factor.tolist(), exponent.tolist()) == ([(1 << 31) - 1] * 2, [0, 0])


@pytest.mark.parametrize(("before", "after"), [(12, 4), (12, 5), (8, 5), (20, 5)])
def test_a_logarithm_is_close_to_the_real_function(before: int, after: int) -> None:
    x = _whole(1 << (31 - before), 1 << 31)
    got = functions.logarithm(x, before, after) / 2.0 ** (31 - after)
    np.testing.assert_allclose(got, np.log(x / 2.0 ** (31 - before)), rtol=0, atol=6e-8)


@pytest.mark.parametrize(
    ("function", "real"),
    [(sigmoid16, lambda x: 1 / (1 + np.exp(-x))), (tanh16, np.tanh)],
)
def test_the_sigmoid_table_is_close_to_the_real_function(
    function: Callable[[np.ndarray], np.ndarray], real: Callable[[np.ndarray], np.ndarray]
) -> None:
    """Within one and a half of the last place, far outside the table too."""
    x = np.arange(-(1 << 17), 1 << 17)
    distance = np.abs(function(x) / 2.0**15 - real(x / (3 * 4096)))
    assert distance.max() < 1.5 * 2.0**-15


@pytest.mark.parametrize(("function", "low"), [(sigmoid16, 0), (tanh16, -(1 << 15))])
def test_the_sigmoids_table_never_falls_and_ends_with_the_ends_of_its_type(
    function: Callable[[np.ndarray], np.ndarray], low: int
) -> None:
    y = function(np.arange(-(1 << 18), 1 << 18))
    assert (np.diff(y) >= 0).all()
    assert abs(int(y[0]) - low) <= 1
    assert y[-1] == (1 << 15) - 1


@pytest.mark.parametrize(
    ("real", "held"),
    [
        (16383.25, (32766, 1)),
        (16383.5, (32767, 1)),
        (16383.75, (16383, 0)),
        (2.0**-17, (1 << 14, 31)),
        (2.0**-18, (1 << 13, 31)),
    ],
)
def test_a_scale_of_a_table_has_15_bits_and_a_shift_of_31_at_most(
    real: float, held: tuple[int, int]
) -> None:
    """``real`` steps of the table, 1 / (3 * 2^12) each, are a step of the scale."""
    assert table_multiplier(real / 3 / 4096, ()) == held


@pytest.mark.parametrize(
    ("function", "scale", "zero", "steps"),
    [(np.exp, 10, 32767, 6), (lambda v: 1 / (1 + v), 1, -32768, 2)],
)
def test_an_interpolated_table_is_close_to_the_real_function(
    function: Callable[[np.ndarray], np.ndarray], scale: int, zero: int, steps: int
) -> None:
    """Softmax' tables, in steps of 2 / 65535: exp from -10 to 0, 1 / (1 + x) from 0 to 1."""
    span = np.float32(65535)
    table = interpolated_table(function, np.float32(scale) / span, zero, np.float32(2) / span)
    x = np.arange(-(1 << 15), 1 << 15)
    real = function((x - zero) * (scale / 65535))
    assert np.abs(look_up(table, x) - real * 65535 / 2).max() < steps


@pytest.mark.parametrize("length", [4, 8, 16, 64, 512])
@pytest.mark.parametrize("bits", [16, 32])
def test_a_transform_and_its_inverse_are_close_to_the_real_ones(length: int, bits: int) -> None:
    """Within four of the last place; both ways are divided by the length."""
    top, rng = (1 << (bits - 1)) - 1, np.random.default_rng(length)
    x = rng.integers(-top, top, (20, length))
    got = Transform(length, bits, inverse=False).forward(x).reshape(20, -1, 2)
    want = np.fft.rfft(x) / length
    assert np.abs(got - np.stack([want.real, want.imag], axis=-1)).max() < 4
    bins = rng.integers(-top // length, top // length, (20, length // 2 + 1, 2))
    bins[:, [0, -1], 1] = 0
    back = Transform(length, bits, inverse=True).backward(bins.reshape(20, -1))
    assert np.abs(back - np.fft.irfft(bins[..., 0] + 1j * bins[..., 1], length)).max() < 4
