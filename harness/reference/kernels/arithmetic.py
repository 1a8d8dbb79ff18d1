"""ADD, SUB, MUL, MINIMUM, MAXIMUM, SQUARED_DIFFERENCE, DIV, FLOOR_DIV, FLOOR_MOD; ADD_N, CUMSUM.

All but the last two broadcast. Sources: TensorFlow Lite operator specification; tflite-micro,
``add_n.cc``, ``cumsum.cc``, ``squared_difference.cc`` and the reference kernels ``Div``,
``FloorDiv``, ``FloorMod``. Quantized sums rescale both inputs, shifted left for precision, to twice
the larger scale, and the sum to the output's scale. The quantized quotient multiplies by a
fixed-point reciprocal (``GetReciprocal``). An integer divisor of zero is refused at run time: the
quotient is undefined.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce

import numpy as np

from harness.reference.arrays import Array, aligned, blockwise
from harness.reference.functions import reciprocal
from harness.reference.node import NUMPY_TYPES, Node, Run
from harness.reference.parameters import parametrized
from harness.reference.scale import (
    Clamp,
    doubling_high_multiply,
    quantize_multiplier,
    rounding_right_shift,
    wrap32,
)
from harness.reference.tables import tabulated

#: TFLM's ``left_shift`` of quantized sums.
_LEFT_SHIFT = {"int8": 20, "int16": 15}
#: The left shift of SQUARED_DIFFERENCE.
_SQUARE_SHIFT = {"int8": 7, "int16": 0}
_INT32 = Clamp.whole(np.int32)

#: A function of both inputs' arrays.
_Pair = Callable[[Array, Array], Array]


def _check_pair(node: Node, allowed: str) -> str:
    """The common type of both inputs, one of ``allowed``.

    Raises BadModel for shapes that do not broadcast.
    """
    dtype = node.check_types(allowed)
    if node.input(1).dtype != dtype:
        raise node.bad(f"its inputs are {dtype} and {node.input(1).dtype}")
    node.check_broadcast()
    return dtype


def _check_symmetric(node: Node) -> None:
    tensors = (node.input(0), node.input(1), node.output())
    if tensors[0].dtype == "int16" and any(tensor.zero_point for tensor in tensors):
        raise node.refused("int16 tensors must have the zero point 0")


def _pairwise(node: Node, function: _Pair) -> Run:
    """``function`` of both broadcast inputs, in the output's type."""
    rank, dtype = len(node.output().shape), NUMPY_TYPES[node.output().dtype]
    return lambda a, b: blockwise(function, [aligned(a, rank), aligned(b, rank)], dtype)


def _int32_clamp(node: Node) -> Clamp:
    """The clamp of unquantized int32 values for the node's fused activation."""
    name, high = node.option("fused_activation_function"), _INT32.high
    ranges = {"NONE": _INT32.range, "RELU": (0, high), "RELU6": (0, 6), "RELU_N1_TO_1": (-1, 1)}
    if name not in ranges:
        raise node.bad(f"TFLM has no fused activation {name}: its limits are never set")
    return Clamp(*ranges[name], np.dtype(np.int32))


def _unquantized(node: Node, function: _Pair, *, clamps: bool) -> Run:
    """``function`` for float32, or for unquantized int32, which wraps as on TFLM's targets."""
    if node.input(0).dtype == "float32":
        clamp = node.clamp()
        return _pairwise(node, lambda a, b: clamp(function(a, b)))
    if node.operator.name != "MUL" and any(node.input(index).quantization for index in (0, 1)):
        raise node.refused("int32 tensors must not be quantized")
    clamp = _int32_clamp(node) if clamps else _INT32
    return _pairwise(
        node, lambda a, b: clamp(wrap32(function(a.astype(np.int64), b.astype(np.int64))))
    )


def _below_one(node: Node, real: float) -> float:
    """``real``. Raises BadModel unless 0 < real < 1 (``QuantizeMultiplierSmallerThanOneExp``)."""
    if not 0 < real < 1:
        raise node.bad(f"its scales give the multiplier {real}, which must be between 0 and 1")
    return real


def _sum(node: Node, sign: int) -> Run:
    """x + sign * y: m_out * (m0 * (x - zero point) + sign * m1 * (y - zero point)) + zero point."""
    x, y, output = node.input(0), node.input(1), node.output()
    scales = [node.scale(tensor) for tensor in (x, y, output)]
    if node.operator.name == "SUB":
        scales = [node.precise(scale) for scale in scales]
    bits, twice = _LEFT_SHIFT[x.dtype], 2 * max(scales[:2])
    reals = scales[0] / twice, scales[1] / twice, twice / ((1 << bits) * scales[2])
    m0, m1, m_out = (_below_one(node, float(real)) for real in reals)
    requantize = node.requantizer(m_out, node.clamp())
    first, second = node.multiplier(m0), node.multiplier(m1)
    x_term = tabulated(lambda q: first.scale((q - x.zero_point) << bits), x.dtype)
    y_term = tabulated(lambda q: sign * second.scale((q - y.zero_point) << bits), y.dtype)
    return _pairwise(node, lambda a, b: requantize(x_term(a) + y_term(b)))


def add(node: Node) -> Run:
    """x + y of any broadcastable shapes. int8, int16, int32 (no activation), float32."""
    if _check_pair(node, "int8 int16 int32 float32") in _LEFT_SHIFT:
        return _sum(node, 1)
    return _unquantized(node, np.add, clamps=False)


def sub(node: Node) -> Run:
    """x - y of any broadcastable shapes. int8, int16, int32, float32."""
    if _check_pair(node, "int8 int16 int32 float32") in _LEFT_SHIFT:
        return _sum(node, -1)
    return _unquantized(node, np.subtract, clamps=True)


def mul(node: Node) -> Run:
    """x * y of any broadcastable shapes. int8, int16 (zero points 0), int32, float32."""
    if _check_pair(node, "int8 int16 int32 float32") not in _LEFT_SHIFT:
        return _unquantized(node, np.multiply, clamps=True)
    _check_symmetric(node)
    x, y, output = node.input(0), node.input(1), node.output()
    real = node.scale(x) * node.scale(y) / node.scale(output)
    requantize = node.requantizer(real, node.clamp())

    def product(a: Array, b: Array) -> Array:
        return requantize((a.astype(np.int64) - x.zero_point) * (b - np.int64(y.zero_point)))

    return _pairwise(node, product)


def minimum(node: Node) -> Run:
    """The smaller of x and y, y if either is NaN; stored values, without rescaling."""
    _check_pair(node, "int8 int16 int32 int64 float32")
    return _pairwise(node, lambda a, b: np.where(a < b, a, b))


def maximum(node: Node) -> Run:
    """The larger of x and y, y if either is NaN; stored values, without rescaling."""
    _check_pair(node, "int8 int16 int32 int64 float32")
    return _pairwise(node, lambda a, b: np.where(a > b, a, b))


def squared_difference(node: Node) -> Run:
    """(x - y)^2, broadcast. int8, int16 (zero points 0), int32 (wraps), float32."""
    dtype = _check_pair(node, "int8 int16 int32 float32")
    if dtype not in _SQUARE_SHIFT:
        return _pairwise(node, lambda a, b: np.square(a - b))
    _check_symmetric(node)
    x, y, output = node.input(0), node.input(1), node.output()
    bits = _SQUARE_SHIFT[dtype]
    twice = 2 * max(node.scale(x), node.scale(y))
    first, second = (node.multiplier(_below_one(node, node.scale(t) / twice)) for t in (x, y))
    requantize = node.requantizer(twice * twice / (node.scale(output) * (1 << 2 * bits)))

    def squared(a: Array, b: Array) -> Array:
        difference = first.scale((a.astype(np.int64) - x.zero_point) << bits) - second.scale(
            (b.astype(np.int64) - y.zero_point) << bits
        )
        return requantize(difference * difference)

    return _pairwise(node, squared)


def div(node: Node) -> Run:
    """x / y. int8, int32 (toward zero, unquantized), float32."""
    dtype = _check_pair(node, "int8 int32 float32")
    if dtype == "int8":
        return _quotient(node)
    if dtype == "float32":
        clamp = node.clamp()
        return _pairwise(node, lambda a, b: clamp(a / b))
    clamp = _int32_clamp(node)
    if node.input(0).quantization or node.input(1).quantization:
        raise node.refused("int32 tensors must not be quantized")

    def whole(a: Array, b: Array) -> Array:
        _check_divisor(node, b)
        a, b = a.astype(np.int64), b.astype(np.int64)
        return clamp(wrap32(np.sign(a) * np.sign(b) * (np.abs(a) // np.abs(b))))

    return _pairwise(node, whole)


def _check_divisor(node: Node, divisor: Array) -> None:
    if not divisor.all():
        raise node.bad("its divisor is zero, where TFLM's quotient is undefined")


def _quotient(node: Node) -> Run:
    x, y, output = node.input(0), node.input(1), node.output()
    scales = [node.precise(node.scale(tensor)) for tensor in (x, y, output)]
    multiplier, shift = quantize_multiplier(float(scales[0] / (scales[1] * scales[2])))
    clamp = node.clamp()

    def quotient(a: Array, b: Array) -> Array:
        a, b = a.astype(np.int64) - x.zero_point, b.astype(np.int64) - y.zero_point
        _check_divisor(node, b)
        a, b = np.broadcast_arrays(np.where(b < 0, -a, a), np.abs(b))
        inverse, over = reciprocal(b, 31)
        headroom = _leading_sign_bits(a)
        ratio = doubling_high_multiply(a << headroom, inverse)
        total = shift - over - headroom
        if np.any((total > 0) | (total < -31)):
            raise node.bad("its scales shift a quotient by more than 31 bits, which is undefined")
        scaled = rounding_right_shift(doubling_high_multiply(ratio, multiplier), -total)
        return clamp(scaled + output.zero_point)

    return _pairwise(node, quotient)


def _leading_sign_bits(x: Array) -> Array:
    """The largest left shift of an int32 that keeps its sign."""
    magnitude = np.where(x < 0, ~x, x)
    return 31 - np.frexp(magnitude.astype(np.float64))[1].astype(np.int64)


def _real(node: Node, function: _Pair) -> Run:
    _check_pair(node, "float32")
    shapes = node.input(0).shape, node.input(1).shape
    if max(map(len, shapes)) > 4 and shapes[0] != shapes[1]:
        raise node.unsupported("broadcasting of more than four axes is not supported")
    return _pairwise(node, function)


def floor_div(node: Node) -> Run:
    """floor(x / y). float32; refuses divisors of zero, as TFLM does."""

    def function(a: Array, b: Array) -> Array:
        if not b.all():
            raise node.bad("its divisor is zero")
        return np.floor(a.astype(np.float64) / b.astype(np.float64)).astype(np.float32)

    return _real(node, function)


def floor_mod(node: Node) -> Run:
    """The remainder of FLOOR_DIV, with the divisor's sign. float32; NaN for divisors of zero."""

    def function(a: Array, b: Array) -> Array:
        rest = np.fmod(a, b)
        return np.where((rest != 0) & ((b < 0) != (rest < 0)), rest + b, rest)

    return _real(node, function)


def add_n(node: Node) -> Run:
    """The sum of two or more tensors of one shape. int8 (one scale and zero point), float32."""
    dtype = node.check_types("int8 float32")
    x = node.input(0)
    parts = [node.input(index) for index in range(len(node.inputs))]
    if len(parts) < 2 or any((part.shape, part.dtype) != (x.shape, dtype) for part in parts):
        raise node.bad("its inputs are fewer than two, or differ in shape or type")
    node.check_output(x.shape)
    if dtype == "float32":
        return lambda *values: reduce(np.add, values)
    if any((part.scale, part.zero_point) != (x.scale, x.zero_point) for part in parts):
        raise node.refused("its inputs differ in scale or zero point")
    term, finish = _quantized_sum(node)
    return lambda *values: finish(reduce(np.add, map(term, values)))


def cumsum(node: Node) -> Run:
    """Cumulative sums along an axis (int32, input 1). int8, float32."""
    dtype = node.check_types("int8 float32")
    shape, axis = node.input(0).shape, node.input(1)
    if not shape or axis.dtype != "int32" or axis.elements != 1:
        raise node.bad(f"its axis is {axis.dtype} {list(axis.shape)}, its input {list(shape)}")
    node.check_output(shape)
    exclusive, backward = bool(node.option("exclusive")), bool(node.option("reverse"))
    quantized = _quantized_sum(node) if dtype == "int8" else None

    def make(given: list[int]) -> Run:
        place = node.axis(given[0], len(shape)) + 1

        def sums(x: Array) -> Array:
            x = np.flip(x, place) if backward else x
            total = np.cumsum(x, axis=place, dtype=x.dtype)
            if exclusive:
                total = np.roll(total, 1, axis=place)
                np.moveaxis(total, place, 0)[:1] = 0
            return np.flip(total, place) if backward else total

        if quantized is None:
            return lambda x, _: sums(x)
        term, finish = quantized
        return lambda x, _: finish(sums(term(x)))

    return parametrized(node, (1,), make)


def _quantized_sum(node: Node) -> tuple[Callable[[Array], Array], Callable[[Array], Array]]:
    """Two functions for int8: values -> terms at twice the input's scale, sums -> outputs.

    As in TFLM, a sum starts at the real value of the stored 0, which need not be 0.
    """
    x, bits = node.input(0), _LEFT_SHIFT["int8"]
    twice = 2 * node.scale(x)
    half = node.multiplier(_below_one(node, node.scale(x) / twice))
    real = _below_one(node, twice / ((1 << bits) * node.scale(node.output())))
    requantize = node.requantizer(real)
    start = half.scale(np.array(-x.zero_point << bits))
    term = tabulated(lambda q: half.scale((q - x.zero_point) << bits), "int8")
    return term, lambda sums: requantize(start + sums)
