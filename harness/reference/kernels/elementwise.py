"""ABS, NEG, EXP, LOG, SQRT, RSQRT, SQUARE, SIN, COS, FLOOR, CEIL, ROUND.

Source: TensorFlow Lite operator specification. float32 is computed in double precision and rounded
once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from harness.reference import functions
from harness.reference.arrays import Array
from harness.reference.node import Node, Run
from harness.reference.scale import Clamp
from harness.reference.tables import elementwise

_FRACTION = 20  # bits of RSQRT's intermediate result


def _real(node: Node, function: Callable[[Array], Array]) -> Run:
    node.check_types("float32")
    node.check_output(node.input(0).shape)
    return elementwise(node, function)


def absolute(node: Node) -> Run:
    """|x|. int8, int16 (zero points 0), both with rescaling; float32."""
    if node.check_types("int8 int16 float32") == "float32":
        return _real(node, np.abs)
    x, output = node.input(0), node.output()
    node.check_output(x.shape)
    if x.dtype == "int16" and (x.zero_point or output.zero_point):
        raise node.refused("int16 tensors must have the zero point 0")
    requantize = node.requantizer(
        float(node.precise(node.scale(x)) / node.precise(node.scale(output)))
    )
    if x.scale != output.scale:
        return elementwise(node, lambda q: requantize(np.abs(q - x.zero_point)))
    clamp = requantize.clamp
    return elementwise(node, lambda q: clamp(np.abs(q - x.zero_point) + output.zero_point))


def negative(node: Node) -> Run:
    """-x. float32."""
    return _real(node, np.negative)


def exponential(node: Node) -> Run:
    """exp(x). float32."""
    return _real(node, np.exp)


def logarithm(node: Node) -> Run:
    """The natural logarithm of x. float32."""
    return _real(node, np.log)


def square_root(node: Node) -> Run:
    """sqrt(x). float32."""
    return _real(node, np.sqrt)


def reciprocal_square_root(node: Node) -> Run:
    """1 / sqrt(x). int8, int16 (zero points 0), float32.

    float32: TFLM divides in single precision. Integers: 1 / sqrt(q - zero point), with 20 fraction
    bits, is scaled by 1 / (sqrt(input scale) * output scale); the result for q = zero point is the
    largest value. Lower values are refused at run time, as in TFLM.
    """
    if node.check_types("int8 int16 float32") == "float32":
        return _real(node, lambda x: 1 / np.sqrt(x).astype(np.float32).astype(np.float64))
    x, output = node.input(0), node.output()
    node.check_output(x.shape)
    if x.dtype == "int16" and (x.zero_point or output.zero_point):
        raise node.refused("int16 tensors must have the zero point 0")
    roots = elementwise(node, _inverse_roots(node))

    def run(q: Array) -> Array:
        if q.size and q.min() < x.zero_point:
            raise node.bad("it computes the root of a value below 0")
        return np.asarray(roots(q))

    return run


def _inverse_roots(node: Node) -> Callable[[Array], Array]:
    """1 / sqrt(x) of quantized values, as a function to the output's type."""
    x, output = node.input(0), node.output()
    whole = Clamp.whole(output.dtype)
    scale = float(np.sqrt(node.precise(node.scale(x))) * node.precise(node.scale(output)))
    real = node.multiplier(1 / scale)
    last = replace(real, shift=real.shift - _FRACTION)

    def roots(q: Array) -> Array:
        value = np.maximum(q - x.zero_point, 0)
        root, exponent = functions.inverse_root(value)
        first = replace(real, multiplier=root, shift=_FRACTION - exponent)
        scaled = last.scale(first.scale(np.ones_like(value))) + output.zero_point
        return np.where(value == 0, np.iinfo(output.dtype).max, whole(scaled))

    return roots


def square(node: Node) -> Run:
    """x * x. float32."""
    return _real(node, np.square)


def sine(node: Node) -> Run:
    """sin(x), x in radians. float32."""
    return _real(node, np.sin)


def cosine(node: Node) -> Run:
    """cos(x), x in radians. float32."""
    return _real(node, np.cos)


def floor(node: Node) -> Run:
    """The largest integer not above x. float32."""
    return _real(node, np.floor)


def ceiling(node: Node) -> Run:
    """The smallest integer not below x. float32."""
    return _real(node, np.ceil)


def nearest(node: Node) -> Run:
    """The nearest integer, halves to even. float32."""
    return _real(node, np.rint)
