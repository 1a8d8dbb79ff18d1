"""From accumulators to outputs: what FULLY_CONNECTED and the convolutions share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from harness.model import Tensor
from harness.reference.activation import Clamp, clamp_for
from harness.reference.fixedpoint import Array, Multiplier, wrap32
from harness.reference.node import Node

#: TFLM refuses a bias whose scale is off by more than this many output steps.
_BIAS_TOLERANCE = 0.02


def largest_input(x: Tensor) -> int:
    """The largest magnitude of a value of ``x`` less its zero point."""
    info = np.iinfo(x.dtype)
    return max(info.max - x.zero_point, x.zero_point - int(info.min))


def product_scales(node: Node, weights: Tensor, channels: int) -> float | list[float]:
    """input scale * weight scale / output scale: one, or one for each of ``channels``.

    A single scale is multiplied in single precision first, several in double, as TensorFlow
    Lite's ``GetQuantizedConvolutionMultipler`` and ``PopulateConvolutionQuantizationParams`` do.
    """
    x, output = node.input(0), node.output()
    scale, target = node.scale(x), node.scale(output)
    if weights.quantization is None:
        raise node.bad(f"its weights (tensor {weights.index}) have no scale")
    if any(zero != 0 for zero in weights.quantization.zero_points):
        raise node.bad(f"its weights (tensor {weights.index}) have a zero point other than 0")
    scales = weights.quantization.scales
    if channels == 0:
        product = np.float32(scale) * np.float32(scales[0])
        return float(product) / target
    if len(scales) not in (1, channels):
        raise node.bad(f"its weights have {len(scales)} scales for {channels} channels")
    scales = scales * channels if len(scales) == 1 else scales
    return [scale * each / target for each in scales]


def check_bias_scale(node: Node, weights: Tensor, bias: Tensor) -> None:
    """Refuse a bias scale that is not about input scale * weight scale, as TFLM does."""
    x, output = node.input(0), node.output()
    difference = abs(x.scale * weights.scale - bias.scale)
    if not difference / node.scale(output) <= _BIAS_TOLERANCE:
        raise node.bad(f"its bias has the scale {bias.scale}, not {x.scale * weights.scale}")


@dataclass(frozen=True)
class Requantizer:
    """Accumulators (..., channels) + bias, scaled, moved to the output's zero point, clamped.

    int8 activations accumulate in 32 bits. int16 activations do in 64 bits, or in 32 bits where
    the bias is int32.
    """

    multiplier: Multiplier
    zero_point: int
    clamp: Clamp
    wide: bool

    @classmethod
    def of(
        cls, node: Node, multiplier: Multiplier, channels: int, bias_index: int = 2
    ) -> Requantizer:
        """For ``node``, whose optional bias is input ``bias_index``; cut to ``channels``."""
        x, output = node.input(0), node.output()
        wide = x.dtype == "int16"
        if node.present(bias_index):
            bias = node.input(bias_index)
            allowed = ("int32", "int64") if wide else ("int32",)
            if bias.dtype not in allowed:
                raise node.unsupported(f"{x.dtype} with an {bias.dtype} bias is not supported")
            if bias.elements < channels:
                raise node.bad(f"its bias has {bias.elements} elements for {channels} channels")
            wide = bias.dtype == "int64"
        elif wide:
            wide = node.options.get("quantized_bias_type") != "int32"
        if multiplier.multiplier.ndim:
            multiplier = Multiplier(
                multiplier.multiplier[:channels], multiplier.shift[:channels], multiplier.rounding
            )
        return cls(multiplier, output.zero_point, clamp_for(node, output), wide)

    def __call__(self, accumulators: Array, bias: Any = None) -> Array:
        """``accumulators`` are int64 and may be changed; ``bias`` broadcasts to them."""
        if bias is not None:
            accumulators = accumulators + bias
        if self.wide:
            scaled = self.multiplier.scale64(accumulators)
        else:
            scaled = self.multiplier.scale(wrap32(accumulators))
        scaled += self.zero_point
        return self.clamp(scaled)
