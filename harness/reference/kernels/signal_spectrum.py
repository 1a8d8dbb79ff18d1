"""SignalWindow, SignalFftAutoScale, SignalRfft, SignalIrfft, SignalEnergy.

Source: tflite-micro, ``signal/micro/kernels`` and ``signal/src``. Complex values are interleaved
real and imaginary parts.
"""

from __future__ import annotations

import numpy as np

from harness.reference.arrays import Array, whole_runs
from harness.reference.node import Node, Run
from harness.reference.signal import MAX_LENGTH, Transform, most_significant_bit, typed


def window(node: Node) -> Run:
    """Input 0 times the window of input 1, tiled along it, >> ``shift``. int16, saturated."""
    node.check_signature("int16 int16 -> int16")
    x, weights = node.input(0), node.input(1)
    shift = node.number("shift", 0, 31)
    if len(weights.shape) != 1 or not weights.elements or x.elements % weights.elements:
        raise node.bad(f"its window {list(weights.shape)} does not fit the input {list(x.shape)}")
    node.check_output(x.shape)

    def run(*values: Array) -> Array:
        signal, taps = whole_runs(values)
        rows = signal.reshape(len(signal), -1, weights.elements).astype(np.int64)
        y = np.clip((rows * taps[:, None]) >> shift, -(1 << 15), (1 << 15) - 1)
        return np.asarray(y, np.int16).reshape(signal.shape)

    return run


def fft_auto_scale(node: Node) -> Run:
    """The input times the largest power of two that fits int16. Second output: the exponent."""
    node.check_signature("int16 -> int16 int32")
    x = node.input(0)
    if len(x.shape) != 1:
        raise node.bad(f"its input has the shape {list(x.shape)}")
    node.check_output(x.shape)
    node.check_output((), 1)

    def run(x: Array) -> list[Array]:
        signal = x.astype(np.int64)
        largest = np.array([_largest(row) for row in signal], np.int64)
        bits = np.maximum(15 - most_significant_bit(largest & 0xFFFFFFFF), 0)
        return [(signal << bits[:, None]).astype(np.int16), bits.astype(np.int32)]

    return run


def _largest(row: Array) -> int:
    """The largest magnitude of int16 values as TFLM computes it in int16 arithmetic.

    There |-32768| is -32768, so the search restarts after the last -32768.
    """
    lowest = np.flatnonzero(row == -(1 << 15))
    if not lowest.size:
        return int(np.abs(row).max(initial=0))
    largest = -(1 << 15)
    for value in row[lowest[-1] + 1 :].tolist():
        if value > largest:
            largest = value
        elif -value > largest:
            largest = -value
    return largest


def _length(node: Node) -> int:
    length = node.number("fft_length", 0, 1 << 31)
    if not 4 <= length <= MAX_LENGTH or length & (length - 1):
        raise node.unsupported(
            f"a length of {length} is not supported, only powers of two from 4 to {MAX_LENGTH}"
        )
    return length


def rfft(node: Node) -> Run:
    """The Fourier transform of the last axis, zero-padded to ``fft_length``: (..., fft_length + 2).

    int16 and int32 (both divided by the length), float32.
    """
    dtype, length = typed(node, "int16 int32 float32"), _length(node)
    shape = node.input(0).shape
    if not shape or shape[-1] > length:
        raise node.bad(f"its input {list(shape)} is longer than the transform, {length}")
    node.check_output((*shape[:-1], length + 2))
    margins = [(0, 0)] * len(shape) + [(0, length - shape[-1])]
    transform = Transform(length, 16 if dtype == "int16" else 32, inverse=False)

    def run(x: Array) -> Array:
        x = np.pad(x, margins)
        if dtype != "float32":
            return transform.forward(x).astype(dtype)
        bins = np.fft.rfft(x.astype(np.float64), axis=-1)
        y = np.stack([bins.real, bins.imag], axis=-1).astype(np.float32)
        return y.reshape(*x.shape[:-1], length + 2)

    return run


def irfft(node: Node) -> Run:
    """The inverse transform, divided by the length. int16, int32, float32."""
    dtype, length = typed(node, "int16 int32 float32"), _length(node)
    shape = node.input(0).shape
    if not shape or shape[-1] != length + 2:
        raise node.bad(f"{list(shape)} does not hold {length // 2 + 1} bins")
    node.check_output((*shape[:-1], length))
    transform = Transform(length, 16 if dtype == "int16" else 32, inverse=True)

    def run(x: Array) -> Array:
        if dtype != "float32":
            return transform.backward(x).astype(dtype)
        bins = x.astype(np.float64).reshape(*x.shape[:-1], -1, 2)
        y = np.fft.irfft(bins[..., 0] + 1j * bins[..., 1], length, axis=-1)
        return y.astype(np.float32)

    return run


def energy(node: Node) -> Run:
    """The squared magnitudes of bins ``start_index`` to ``end_index`` - 1. int16 -> uint32.

    The other elements of the output are 0; a device does not write them.
    """
    node.check_signature("int16 -> uint32")
    x, output = node.input(0), node.output()
    start, end = node.number("start_index", 0, 1 << 30), node.number("end_index", 0, 1 << 30)
    if len(x.shape) != 1 or len(output.shape) != 1 or end > min(x.elements // 2, output.elements):
        raise node.bad(
            f"end_index {end} is out of range for {list(x.shape)} and {list(output.shape)}"
        )

    def run(x: Array) -> Array:
        parts = x[:, : 2 * end].astype(np.int64)
        squares = parts[:, 0::2] ** 2 + parts[:, 1::2] ** 2
        y = np.zeros((len(parts), output.elements), np.uint32)
        y[:, start:end] = squares[:, start:end]
        return y

    return run
