"""Conversion between real and quantized values, as in firmware and the QUANTIZE operator."""

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

    Exact for every float, unlike ``floor(x + 0.5)``: 0.49999997 + 0.5 rounds to 1.
    """
    whole = np.trunc(x)
    with np.errstate(invalid="ignore"):  # inf - inf; infinities are kept
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
    """Real values of any shape as ``dtype``: x / scale + zero_point, rounded and saturated.

    The division is in single precision and halves round away from zero, as in TensorFlow Lite.
    ``truncate`` drops the fraction of the sum instead, like sample code that assigns the float to
    an ``int8_t`` (Zephyr's hello_world). Raises :class:`UsageError` unless the scale is positive.
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
    """Quantized values of any shape as float32: (q - zero_point) * scale."""
    centred = np.asarray(q).astype(np.int64) - zero_point
    real: Array = centred * np.float64(np.float32(scale))
    return real.astype(np.float32)
