"""Sums of products: FULLY_CONNECTED, the convolutions, BATCH_MATMUL, LSTM.

They are computed in double precision, by a BLAS where possible. Double precision represents every
integer up to 2^53: with |x| <= 2^16 and |w| <= 2^7 every sum of 2^30 terms, more than a file has
weights, is exact in any order and with fused operations. A sum of products of float32 values is
rounded once, when it is stored.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from harness.model import Tensor
from harness.reference.arrays import Array
from harness.reference.node import Node
from harness.reference.scale import Multiplier

#: Most products of one operator, a bound for the time that a damaged model takes. All operators of
#: person detection have 7 million.
MAX_PRODUCTS = 1 << 32
#: The largest error of a bias scale that TFLM accepts, in output steps.
_BIAS_TOLERANCE = 0.02
#: The largest defined shifts of 64-bit and 32-bit scaling.
_MAX_SHIFT_WIDE = 7
_MAX_SHIFT = 30

#: Sums (runs, ..., channels), bias (runs or 1, channels) or None -> outputs.
Output = Callable[[Array, "Array | None"], Array]


def check_products(node: Node, products: int) -> None:
    """Raises BadModel for an operator that would take minutes."""
    if products > MAX_PRODUCTS:
        raise node.bad(f"it takes {products} products, the reference at most {MAX_PRODUCTS}")


def centred(x: Array, zero_point: int) -> Array:
    """x - zero_point in double precision."""
    moved = x.astype(np.float64)
    if zero_point:
        moved -= zero_point
    return moved


def without_zero_point(tensor: Tensor) -> Tensor:
    """``tensor`` with all zero points 0."""
    if tensor.quantization is None:
        return tensor
    zeros = (0,) * len(tensor.quantization.zero_points)
    return replace(tensor, quantization=replace(tensor.quantization, zero_points=zeros))


def check_weight_types(node: Node, weights: Tensor, *, int4: bool = True) -> str:
    """The type of the activations. Raises UnsupportedOperator for a pair of types TFLM lacks."""
    dtype = node.check_types("int8 int16 float32")
    allowed = {
        "int8": ("int8", "int4") if int4 else ("int8",),
        "int16": ("int8",),
        "float32": ("float32",),
    }[dtype]
    if node.operator.name == "TRANSPOSE_CONV" and dtype == weights.dtype == "int16":
        raise node.bad("TFLM reads its int16 weights as int8")
    if weights.dtype not in allowed:
        raise node.unsupported(f"{dtype} with {weights.dtype} weights is not supported")
    return dtype


def weight_scales(node: Node, weights: Tensor) -> tuple[float, ...]:
    """The scales of the weights: one, or one per channel. Raises BadModel if there is none."""
    if weights.quantization is None:
        raise node.refused(f"its weights (tensor {weights.index}) have no scale")
    return weights.quantization.scales


def product_multiplier(node: Node, x: Tensor, weights: Tensor) -> Multiplier:
    """The multiplier input scale * weight scale / output scale.

    Source: TensorFlow Lite's ``GetQuantizedConvolutionMultipler``.
    """
    product = node.precise(node.scale(x)) * node.precise(node.scale(weights))
    return node.multiplier(float(product) / node.scale(node.output()))


def channel_multiplier(node: Node, weights: Tensor, channels: int) -> Multiplier:
    """The multipliers input scale * weight scale / output scale per channel, from float64.

    Source: TensorFlow Lite's ``PopulateConvolutionQuantizationParams``.
    """
    scales = weight_scales(node, weights)
    if len(scales) not in (1, channels):
        raise node.bad(f"its weights have {len(scales)} scales for {channels} channels")
    scales *= channels // len(scales)
    scale, target = node.scale(node.input(0)), node.scale(node.output())
    return node.multiplier([scale * each / target for each in scales])


def check_bias_scale(node: Node, weights: Tensor, bias: Tensor) -> None:
    """Raises BadModel for a bias scale unlike input scale * weight scale, as TFLM does."""
    x, output = node.input(0), node.output()
    difference = abs(x.scale * weights.scale - bias.scale)
    if not difference / node.scale(output) <= _BIAS_TOLERANCE:
        raise node.bad(f"its bias has the scale {bias.scale}, not {x.scale * weights.scale}")


def integer_output(
    node: Node, multiplier: Multiplier, channels: int, *, wide_biases: str = "int32 int64"
) -> Output:
    """The conversion of integer sums to output 0 with its activation; input 2 is the bias, if any.

    int8 activations accumulate in 32 bits, int16 activations in 64 bits, or in 32 bits with an
    int32 bias. ``wide_biases`` are the allowed bias types of int16 activations.
    """
    wide = _wide(node, channels, wide_biases)
    shift, limit = int(multiplier.shift.max(initial=0)), _MAX_SHIFT_WIDE if wide else _MAX_SHIFT
    if shift > limit:
        raise node.bad(f"a multiplier of 2^{shift} is beyond the range of TFLM's scaling")
    output = node.output()
    requantize = node.rescaled(multiplier.first(channels), output.zero_point, node.clamp(), wide)
    return lambda sums, bias: requantize(sums, _as_row(bias, channels))


def real_output(node: Node, channels: int) -> Output:
    """The conversion of float64 sums to output 0 with its activation; input 2 is a bias, if any."""
    clamp = node.clamp()
    if node.present(2):
        _check_bias(node, node.input(2), channels, "float32")

    def output(sums: Array, bias: Array | None) -> Array:
        row = _as_row(bias, channels)
        if row is not None:
            sums = sums + row.reshape(len(row), *(1,) * (sums.ndim - 2), channels)
        return clamp(sums)

    return output


def _as_row(bias: Array | None, channels: int) -> Array | None:
    """The bias as (runs, channels); further elements are not used."""
    return None if bias is None else bias.reshape(len(bias), -1)[:, :channels]


def _wide(node: Node, channels: int, wide_biases: str) -> bool:
    """True if accumulators have 64 bits. Raises BadModel for a wrong bias."""
    wide = node.input(0).dtype == "int16"
    if not node.present(2):
        narrow = "int32" in wide_biases and node.options.get("quantized_bias_type") == "int32"
        return wide and not narrow
    bias = node.input(2)
    _check_bias(node, bias, channels, wide_biases if wide else "int32")
    return wide and bias.dtype != "int32"


def _check_bias(node: Node, bias: Tensor, channels: int, allowed: str) -> None:
    """Raises BadModel for a bias that TFLM would read as another type, or beyond its end."""
    if bias.dtype not in allowed.split():
        raise node.bad(f"its bias is {bias.dtype}, beside {node.input(0).dtype} activations")
    if bias.elements < channels:
        raise node.bad(f"its bias has {bias.elements} elements for {channels} channels")
