"""Look-up tables of 16-bit kernels: interpolated tables of 513 entries, and the sigmoid's."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np

from harness.reference.fixedpoint import Array
from harness.reference.quantization import round_away

_STEPS = 512
_LOW, _HIGH = -(1 << 15), (1 << 15) - 1


def interpolated_table(
    function: Callable[[Array], Array],
    input_scale: np.float32,
    input_zero: int,
    output_scale: np.float32,
) -> Array:
    """513 int16 entries of ``function`` (float64 -> float64), as int64.

    Each entry is moved by half of the error of the chord at its middle: the average error of the
    interpolation is smaller. All in single precision. Source: TensorFlow Lite's ``LUTPopulate``.
    """
    f32 = np.float32

    def real(x: Array) -> Array:
        return function(x.astype(np.float64)).astype(f32)

    first, last = (input_scale * f32(end - input_zero) for end in (_LOW, _HIGH))
    bottom, top = (output_scale * f32(end) for end in (_LOW, _HIGH))
    step = (last - first) / f32(_STEPS)
    inverse = f32(_HIGH - _LOW + 1) / (top - bottom)
    index = np.arange(_STEPS, dtype=f32)
    here = real(first + index * step)
    middle = real(first + index * step + step / f32(2))
    following = real(first + (index + f32(1)) * step)
    sample = round_away(here * inverse)
    chord = round_away((following * inverse + sample) / f32(2))
    bias = round_away((chord - round_away(middle * inverse)) / f32(2))
    end = round_away(real(np.array([last], f32)) * inverse)
    table = np.clip(np.concatenate([sample - bias, end]), _LOW, _HIGH)
    return np.asarray(table, np.int64)


def look_up(table: Array, x: Array) -> Array:
    """Interpolate ``table`` at int16 values x (int64): 7 bits of fraction, halves up."""
    index = 256 + (x >> 7)
    base = table[index]
    slope = table[index + 1] - base
    return np.asarray(base + ((slope * (x & 127) + 64) >> 7))


@cache
def _sigmoid_table() -> Array:
    """sigmoid(i / 24) in 0.16 format for i = 0 .. 255.

    Each entry is lowered by half of the error of the chord to the next one, at its middle; the last
    entry is the type's largest value. (This gives the published table of TensorFlow Lite.)
    """
    i = np.arange(256)

    def sigmoid(x: Array) -> Array:
        return 65536 / (1 + np.exp(-x / 24))

    chord_error = (sigmoid(i) + sigmoid(i + 1)) / 2 - sigmoid(i + 0.5)
    table = np.floor(sigmoid(i) - chord_error / 2 + 0.5).astype(np.int64)
    table[-1] = 65535
    table.setflags(write=False)
    return table


def sigmoid16(x: Array) -> Array:
    """sigmoid in Q0.15 of x, int64 in steps of 1/(3 * 2^12). Source: TFLite ``Logistic`` int16."""
    table = _sigmoid_table()
    magnitude = np.abs(x)
    index = np.minimum(magnitude >> 9, 254)  # behind it all outputs round to one
    value = (table[index] << 9) + (magnitude & 511) * (table[index + 1] - table[index])
    value = np.where(x >= 0, value + (1 << 9), (1 << 25) - value + (1 << 9) - 1)
    return np.asarray(value >> 10)


def tanh16(x: Array) -> Array:
    """tanh in Q0.15 of x, int64 in steps of 1/(3 * 2^12). Source: TFLite ``Tanh`` int16.

    tanh(x) = 2 sigmoid(2x) - 1 from the same table.
    """
    table = _sigmoid_table()
    magnitude = np.abs(x)
    index = np.minimum(magnitude >> 8, 254)
    value = (table[index] << 8) + (magnitude & 255) * (table[index + 1] - table[index])
    value = np.where(magnitude >> 8 >= 255, 0xFFFF << 8, value)
    offset = (1 << 23) - (1 << 7)
    value = np.where(x >= 0, value - offset, -value + (1 << 23) + (1 << 7) - 1)
    return np.asarray(value >> 8)
