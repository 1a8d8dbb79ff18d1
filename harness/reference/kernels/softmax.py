"""SOFTMAX over the last axis.

Sources: TensorFlow Lite operator specification (int8 output: scale 1/256, zero point -128);
gemmlowp's exponential with 5 integer bits for int8, an interpolated table for int16.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from harness.reference import gemmlowp
from harness.reference.bind import Call, Prepared, Workspace, copied, looked_up
from harness.reference.fixedpoint import (
    Array,
    Multiplier,
    rounding_right_shift,
    wrap32,
)
from harness.reference.kernels.activations import input_radius
from harness.reference.node import Node, Run
from harness.reference.tables import interpolated_table, look_up

_INTEGER_BITS = 5
_ACCUMULATOR_BITS = 12
#: The most rows that are computed one by one; more are faster together.
_MAX_ROWS = 16


def softmax(node: Node) -> Run:
    """exp(beta * x) / sum, of any shape. int8 -> int8 or int16, int16, float32."""
    x, output = node.input(0), node.output()
    if not x.shape:
        raise node.bad("its input is a scalar")
    node.check_output(x.shape)
    kinds = {
        ("float32", "float32"): _real,
        ("int8", "int8"): _int8,
        ("int8", "int16"): _int8,
        ("int16", "int16"): _int16,
    }
    make = kinds.get((x.dtype, output.dtype))
    if make is None:
        raise node.unsupported(f"{x.dtype} to {output.dtype} is not supported")
    _check_output_scale(node)
    return make(node)


def _check_output_scale(node: Node) -> None:
    x, output = node.input(0), node.output()
    if output.dtype == "float32":
        return
    if x.dtype == "int8" and output.dtype == "int8":
        fits = output.scale == 1 / 256 and output.zero_point == -128
    else:
        scale, zero = (2.0**-16, -32768) if x.dtype == "int8" else (2.0**-15, 0)
        fits = abs(output.scale - scale) <= 0.001 * scale and output.zero_point == zero
    if not fits or (x.dtype == "int16" and x.zero_point):
        raise node.refused(
            f"its output's scale {output.scale} or zero point {output.zero_point} is not SOFTMAX's"
        )


def _real(node: Node) -> Run:
    beta = float(node.option("beta"))

    def run(values: Sequence[Any]) -> list[Array]:
        x = values[0].astype(np.float64)
        e = np.exp((x - x.max(axis=-1, keepdims=True, initial=-np.inf)) * beta)
        return [(e / e.sum(axis=-1, keepdims=True)).astype(np.float32)]

    return run


def _int8(node: Node) -> Run:
    x, output = node.input(0), node.output()
    limit = (1 << 30 if node.rounding == "single" else 1 << 31) - 1.0
    real = min(node.option("beta") * node.scale(x) * (1 << (31 - _INTEGER_BITS)), limit)
    if not real > 1:
        raise node.bad(f"beta {node.option('beta')} with the scale {x.scale} is too small")
    multiplier = Multiplier.of(float(real), node.rounding)
    lowest = -input_radius(_INTEGER_BITS, int(multiplier.shift))
    # The exponentials of the 256 differences from the largest element of a row.
    differences = -np.arange(256, dtype=np.int64)
    counted = differences >= lowest
    scaled = multiplier.scale(np.where(counted, differences, 0))
    exponentials = np.where(counted, gemmlowp.exp_on_negative_values(scaled, _INTEGER_BITS), 0)
    shares = rounding_right_shift(exponentials.copy(), _ACCUMULATOR_BITS)
    bits = 8 if output.dtype == "int8" else 16
    most = min(2 << bits, 2 << _ACCUMULATOR_BITS)  # sums from which on a device aborts
    every = np.arange(-(1 << (bits - 1)), 1 << (bits - 1)).astype(output.dtype)

    def run(values: Sequence[Any]) -> list[Array]:
        q = values[0].astype(np.int64)
        index = q.max(axis=-1, keepdims=True, initial=-128) - q
        total = shares[index].sum(axis=-1, keepdims=True) & 0xFFFFFFFF  # wraps as on the device
        inverse, over = gemmlowp.reciprocal(total, _ACCUMULATOR_BITS)
        if np.any((over > bits) | (total == 0)):  # the last shift would be by more than 31
            raise node.aborts(f"its exponentials' sum is {most} or more")
        # The shifts of both roundings in one: the floor of a floor, of sums below 2^63.
        y = exponentials[index] * inverse
        y += (np.int64(1) << (over + 61 - bits)) + (1 << 30)
        y >>= over + 62 - bits
        return [every.take(y, mode="clip")]

    length = x.shape[-1]
    if x.elements > _MAX_ROWS * length or shares.max() * length >= 1 << 32:
        return run

    def bind(inputs: Sequence[Any], outputs: Sequence[Array], work: Workspace) -> list[Call]:
        index = work.share("index", (length,), np.intp)
        terms = work.share("terms", (length,), np.int64)
        top, total, inverse, half, shift = (np.array(0) for _ in range(5))

        def set_factor() -> None:
            r, over = gemmlowp.reciprocal_of(int(total), _ACCUMULATOR_BITS)
            if over > bits:
                raise node.aborts(f"its exponentials' sum is {most} or more")
            inverse[...], shift[...] = r, over + 62 - bits
            half[...] = (1 << 30) + (1 << (over + 61 - bits))

        def row(q: Array, y: Array) -> list[Call]:
            return [
                copied(index, q),
                partial(np.maximum.reduce, index, 0, None, top),
                partial(np.subtract, top, index, index),
                looked_up(shares, index, terms),
                partial(np.add.reduce, terms, 0, None, total),
                set_factor,
                looked_up(exponentials, index, terms),
                partial(np.multiply, terms, inverse, terms),
                partial(np.add, terms, half, terms),
                partial(np.right_shift, terms, shift, terms),
                looked_up(every, terms, y),
            ]

        pairs = (array.reshape(-1, length) for array in (inputs[0], outputs[0]))
        return [call for q, y in zip(*pairs, strict=True) for call in row(q, y)]

    return Prepared(run, bind)


def _int16(node: Node) -> Run:
    x = node.input(0)
    span = np.float32(65535)
    two = np.float32(2) / span
    exponential = interpolated_table(np.exp, np.float32(10) / span, 32767, two)
    inverse = interpolated_table(lambda v: 1 / (1 + v), np.float32(1) / span, -32768, two)
    real = node.scale(x) * float(np.float32(node.option("beta"))) / (10.0 / 65535.0)
    multiplier = Multiplier.of(real, node.rounding)

    def run(values: Sequence[Any]) -> list[Array]:
        q = values[0].astype(np.int64)
        scaled = multiplier.scale(q - q.max(axis=-1, keepdims=True, initial=-(1 << 15)))
        e = look_up(exponential, np.clip(scaled + 32767, -32768, 32767))
        total = wrap32(e.sum(axis=-1, keepdims=True))
        headroom = 32 - np.frexp(total.astype(np.float64))[1].astype(np.int64)
        shifted = ((total << (headroom - 1)) + (1 << 13)) >> 14
        centred = np.clip(shifted - (1 << 15) - (1 << 16), -32768, 32767)
        reciprocal = look_up(inverse, centred)
        right = 31 - headroom
        y = (e * reciprocal + (np.int64(1) << (right - 1))) >> right
        return [np.clip(y, 0, 32767).astype(np.int16)]

    return run
