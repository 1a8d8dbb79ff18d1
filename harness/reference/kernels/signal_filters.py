"""SignalFilterBank, its square root, noise subtraction and logarithm; SignalPCAN.

Source: tflite-micro, ``signal/micro/kernels`` and ``signal/src``. Values are uint32 or uint64 and
wrap as in C.
"""

from __future__ import annotations

import numpy as np

from harness.reference.arrays import Array, whole_runs
from harness.reference.node import Node, Run
from harness.reference.signal import most_significant_bit

_WORD = (1 << 32) - 1
#: The most weights of a filter bank: channels times bins.
_MAX_WEIGHTS = 1 << 22


def filter_bank(node: Node) -> Run:
    """Weighted sums of energies (uint32, input 0) per channel, uint64.

    Inputs 1 to 5 are constants: weights, the weights of the same bins in the next channel, and for
    each channel its first bin, first weight and width. The sum of channel 0 is not output.
    """
    node.check_signature("uint32 int16 int16 int16 int16 int16 -> uint64")
    channels = node.number("num_channels", 1, 1 << 20)
    for tensor in node.inputs:
        if tensor and len(tensor.shape) != 1:
            raise node.refused(f"its input {list(tensor.shape)} is not a vector")
    node.check_output((channels,))
    names = ("", "its weights", "its rests", "its bins", "its places", "its widths")
    constants = [node.required_constant(i, names[i]).ravel().astype(np.int64) for i in range(1, 6)]
    own, rest, bins, places, widths = constants
    size = node.input(0).elements
    if min(map(len, (bins, places, widths))) <= channels or (channels + 1) * size > _MAX_WEIGHTS:
        raise node.bad(f"{channels} channels of {size} bins do not fit tables of {len(bins)}")
    table = np.zeros((channels + 2, size), np.int64)
    for channel in range(channels + 1):
        first, place, width = (int(each[channel]) for each in (bins, places, widths))
        if width <= 0:
            continue
        if (
            min(first, place) < 0
            or first + width > size
            or place + width > min(len(own), len(rest))
        ):
            raise node.bad(f"channel {channel} reaches beyond its bins or weights")
        table[channel, first : first + width] += own[place : place + width]
        table[channel + 1, first : first + width] += rest[place : place + width]
    matrix = np.ascontiguousarray(table[1 : channels + 1].T)

    return lambda x, *_: (x.astype(np.int64) @ matrix).view(np.uint64)


def filter_bank_square_root(node: Node) -> Run:
    """round(sqrt(x)) of each uint64, >> the scale (int32, input 1). uint32."""
    node.check_signature("uint64 int32 -> uint32")
    shape = node.input(0).shape
    if len(shape) != 1 or node.input(1).shape:
        raise node.bad(f"its inputs are {list(shape)} and {list(node.input(1).shape)}")
    node.check_output(shape)

    def run(x: Array, scale: Array) -> Array:
        x, bits = whole_runs([x, scale.reshape(-1, 1)])
        if np.any((bits < 0) | (bits > 31)):
            raise node.bad("its scale is not from 0 to 31")
        return (_root(x) >> bits.astype(np.uint64)).astype(np.uint32)

    return run


def _root(x: Array) -> Array:
    """round(sqrt(x)) of uint64; at most 65535 for 32-bit values, 2^32 - 1 for others."""
    one = np.uint64(1)
    root = np.minimum(np.sqrt(x.astype(np.float64)), float(_WORD)).astype(np.uint64)
    root -= (root * root > x).astype(np.uint64)
    up = np.minimum(root + one, np.uint64(_WORD))
    root = np.where((up > root) & (up * up <= x), up, root)
    top = np.where(x >> np.uint64(32) == 0, 0xFFFF, _WORD).astype(np.uint64)
    return np.asarray(root + ((x - root * root > root) & (root != top)).astype(np.uint64))


def filter_bank_spectral_subtraction(node: Node) -> Run:
    """Energies (uint32) less a noise estimate smoothed over time; second output: the estimate.

    Even and odd channels have different smoothing factors.
    """
    node.check_signature("uint32 -> uint32 uint32")
    channels = node.number("num_channels", 1, 1 << 20)
    for shape in (node.input(0).shape, node.output().shape, node.output(1).shape):
        if shape != (channels,):
            raise node.bad(f"num_channels is {channels} for the shape {list(shape)}")

    def factors(even: str, odd: str) -> Array:
        pair = [node.number(name, -(1 << 31), 1 << 31) & _WORD for name in (even, odd)]
        return np.resize(np.array(pair, np.uint64), channels)

    smoothing = factors("smoothing", "alternate_smoothing")
    rest = factors("one_minus_smoothing", "alternate_one_minus_smoothing")
    remaining = np.uint64(
        node.number("min_signal_remaining", -(1 << 31), 1 << 31) & 0xFFFFFFFFFFFFFFFF
    )
    scale = np.uint64(node.number("smoothing_bits", 0, 31))
    shift = np.uint64(node.number("spectral_subtraction_bits", 0, 31))
    clamps = bool(node.number("clamping", 0, 1))
    word = np.uint64(_WORD)
    noise = node.memory.cell(np.zeros((1, channels), np.uint64))

    def run(energy: Array) -> list[Array]:
        x = energy.astype(np.uint64)
        signal = (x << scale) & word
        estimate = ((signal * smoothing + noise * rest) >> shift) & word
        known = np.minimum(estimate, signal)
        noise[...] = known if clamps else estimate
        y = np.maximum((signal - known) >> scale, ((x * remaining) >> shift) & word)
        return [y.astype(np.uint32), noise.astype(np.uint32)]

    return run


#: 2^16 (log2(1 + i / 128) - i / 128): the difference of the logarithm and its chord.
_LOG_TABLE = np.append(
    np.floor(65536 * (np.log2(1 + np.arange(129) / 128) - np.arange(129) / 128) + 0.5), 0
).astype(np.int64)
_LOG_2 = 45426  # 2^16 log(2)


def filter_bank_log(node: Node) -> Run:
    """ln(x) * ``output_scale``, at most 32767. uint32 -> int16."""
    node.check_signature("uint32 -> int16")
    shape = node.input(0).shape
    correction = node.number("input_correction_bits", 0, 31)
    scale = node.number("output_scale", -(1 << 31), 1 << 31) & _WORD
    if len(shape) != 1:
        raise node.bad(f"its input has the shape {list(shape)}")
    node.check_output(shape)

    def run(x: Array) -> Array:
        x = (x.astype(np.int64) << correction) & _WORD
        y = np.where(x > 1, np.minimum(_log(x, scale), (1 << 15) - 1), 0)
        return y.astype(np.int16)

    return run


def _log(x: Array, scale: int) -> Array:
    """ln(x) * scale for x > 1. Source: ``signal/src/log.cc``, ``Log32``."""
    whole = most_significant_bit(x) - 1
    fraction = x - (np.int64(1) << whole)
    fraction = np.where(
        whole < 16, fraction << np.maximum(16 - whole, 0), fraction >> np.maximum(whole - 16, 0)
    )
    segment = fraction >> 9
    base = _LOG_TABLE[segment]
    slope = _LOG_TABLE[segment + 1] - base
    fraction = fraction + base + ((slope * (fraction - (segment << 9))) >> 16)
    natural = (((whole << 16) + fraction) * _LOG_2 + (1 << 15)) >> 16
    product = (natural.astype(np.uint64) * np.uint64(scale) + np.uint64(1 << 15)) & np.uint64(_WORD)
    return np.asarray(product >> np.uint64(16), np.int64)


_SNR_BITS, _OUTPUT_BITS = 12, 6


def pcan(node: Node) -> Run:
    """Energies (uint32) times the gain for the noise (uint32), from a table (int16). uint32."""
    node.check_signature("uint32 uint32 int16 -> uint32")
    x, noise, table = (node.input(i) for i in range(3))
    if len(x.shape) != 1 or noise.shape != x.shape or len(table.shape) != 1:
        raise node.bad(f"its inputs are {list(x.shape)}, {list(noise.shape)}, {list(table.shape)}")
    node.check_output(x.shape)
    shift = np.uint64(node.number("snr_shift", 0, 63))

    def run(*values: Array) -> Array:
        energy, estimate, lut = whole_runs(values)
        gain = _gain(node, estimate.astype(np.int64), lut.astype(np.int64)) & _WORD
        snr = ((energy.astype(np.uint64) * gain.astype(np.uint64)) >> shift) & np.uint64(_WORD)
        snr = snr.astype(np.int64)
        low = (snr * snr) >> (2 + 2 * _SNR_BITS - _OUTPUT_BITS)
        high = (snr >> (_SNR_BITS - _OUTPUT_BITS)) - (1 << _OUTPUT_BITS)
        return np.where(snr < 2 << _SNR_BITS, low, high).astype(np.uint32)

    return run


def _gain(node: Node, x: Array, lut: Array) -> Array:
    """The gain for the noise ``x``, one quadratic per power of two. Source:
    ``WideDynamicFunction``.
    """
    interval = most_significant_bit(x)
    place = np.where(x <= 2, x, 4 * interval - 6)
    last = place + np.where(x <= 2, 0, 2)
    if last.size and last.max() >= lut.shape[1]:
        raise node.bad(f"it reads element {last.max()} of a table of {lut.shape[1]}")

    def entry(offset: int) -> Array:
        return np.take_along_axis(lut, np.minimum(place + offset, lut.shape[1] - 1), axis=1)

    fraction = np.where(
        interval < 11, x << np.maximum(11 - interval, 0), x >> np.maximum(interval - 11, 0)
    )
    fraction &= 0x3FF
    result = ((entry(2) * fraction) >> 5) + (entry(1) << 5)
    result = (result * fraction).astype(np.int32).astype(np.int64)
    result = ((result + (1 << 14)) >> 15) + entry(0)
    return np.where(x <= 2, entry(0), result).astype(np.int16).astype(np.int64)
