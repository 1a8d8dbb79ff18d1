"""Conversion of real and quantized numbers, as firmware and the QUANTIZE operator do it."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from harness.base.errors import UsageError
from harness.reference.arrays import Array


def limits(dtype: npt.DTypeLike) -> tuple[int, int]:
    """The smallest and the largest value of an integer type."""
    info = np.iinfo(np.dtype(dtype))
    return int(info.min), int(info.max)


def round_away(x: Array) -> Array:
    """Each float rounded to the nearest integer, halves away from zero (C's ``round``).

    It is exact for every float; ``floor(x + 0.5)`` is not (0.49999997 + 0.5 rounds to 1).
    """
    whole = np.trunc(x)
    with np.errstate(invalid="ignore"):  # infinities stay as they are
        step = np.where(np.abs(x - whole) >= 0.5, np.copysign(1, x), 0).astype(x.dtype)
        return np.asarray(whole + step)


def quantize(
    x: npt.ArrayLike,
    scale: float,
    zero_point: int,
    dtype: npt.DTypeLike = "int8",
    *,
    truncate: bool = False,
) -> Array:
    """Real values of any shape to ``dtype``: x / scale + zero_point, rounded and saturated.

    The division is in single precision and halves go away from zero, as in TensorFlow Lite.
    ``truncate`` drops the fraction of the sum instead, as sample code does that assigns the float
    to an ``int8_t`` (Zephyr's hello_world). Raises :class:`UsageError` if the scale is not above 0.
    """
    if not scale > 0:
        raise UsageError(f"cannot quantize with the scale {scale}", hint="is the tensor quantized?")
    ratio = np.asarray(x, np.float32) / np.float32(scale)
    if truncate:
        whole = np.trunc(ratio + np.float32(zero_point)).astype(np.float64)
    else:
        whole = round_away(ratio).astype(np.float64) + zero_point
    low, high = limits(dtype)
    return np.asarray(np.clip(whole, low, high), dtype)


def dequantize(q: npt.ArrayLike, scale: float, zero_point: int) -> Array:
    """Quantized values of any shape to float32: (q - zero_point) * scale."""
    centred = np.asarray(q).astype(np.int64) - zero_point
    real: Array = centred * np.float64(np.float32(scale))
    return real.astype(np.float32)
