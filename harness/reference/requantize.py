"""From accumulators to outputs, for FULLY_CONNECTED and the convolutions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from harness.model import Tensor
from harness.reference.activation import Clamp, clamp_for
from harness.reference.fixedpoint import Array, Multiplier, wrap32
from harness.reference.folding import Folded
from harness.reference.node import NUMPY_TYPES, Node
from harness.reference.rows import row_scaler
from harness.reference.scaling import Summed

#: TFLM refuses a bias whose scale is off by more than this many output steps.
_BIAS_TOLERANCE = 0.02
#: The largest shifts that are defined for the 64-bit and the 32-bit scaling.
_MAX_SHIFT_WIDE = 7
_MAX_SHIFT = 30


def without_zero_point(tensor: Tensor) -> Tensor:
    """The same tensor with zero points of 0."""
    if tensor.quantization is None:
        return tensor
    zeros = (0,) * len(tensor.quantization.zero_points)
    return replace(tensor, quantization=replace(tensor.quantization, zero_points=zeros))


def largest_input(x: Tensor) -> int:
    """The largest magnitude of a value of ``x`` less its zero point."""
    info = np.iinfo(x.dtype)
    return max(int(info.max) - x.zero_point, x.zero_point - int(info.min))


def check_weight_types(node: Node, weights: Tensor, *, int4: bool = True) -> str:
    """The activations' type. Raises UnsupportedOperator if TFLM does not have the pair of types."""
    dtype = node.check_types("int8 int16 float32")
    allowed = {
        "int8": ("int8", "int4") if int4 else ("int8",),
        "int16": ("int8",),
        "float32": ("float32",),
    }[dtype]
    if weights.dtype not in allowed:
        raise node.unsupported(f"{dtype} with {weights.dtype} weights is not supported")
    return dtype


def weight_scales(node: Node, weights: Tensor) -> tuple[float, ...]:
    """The scales of the weights: one, or one per channel. Raises BadModel if there is none."""
    if weights.quantization is None:
        raise node.refused(f"its weights (tensor {weights.index}) have no scale")
    return weights.quantization.scales


def product_multiplier(node: Node, x: Tensor, weights: Tensor) -> Multiplier:
    """x scale * weight scale / output scale.

    Source: TensorFlow Lite's ``GetQuantizedConvolutionMultipler``.
    """
    product = node.precise(node.scale(x)) * node.precise(node.scale(weights))
    return Multiplier.of(float(product) / node.scale(node.output()), node.rounding)


def channel_multiplier(node: Node, weights: Tensor, channels: int) -> Multiplier:
    """input scale * weight scale / output scale per channel, in double precision.

    Source: TensorFlow Lite's ``PopulateConvolutionQuantizationParams``.
    """
    scales = weight_scales(node, weights)
    if len(scales) not in (1, channels):
        raise node.bad(f"its weights have {len(scales)} scales for {channels} channels")
    scales *= channels // len(scales)
    scale, target = node.scale(node.input(0)), node.scale(node.output())
    return Multiplier.of([scale * each / target for each in scales], node.rounding)


def check_bias_scale(node: Node, weights: Tensor, bias: Tensor) -> None:
    """Refuse a bias scale that is not close to input scale * weight scale, as TFLM does."""
    x, output = node.input(0), node.output()
    difference = abs(x.scale * weights.scale - bias.scale)
    if not difference / node.scale(output) <= _BIAS_TOLERANCE:
        raise node.bad(f"its bias has the scale {bias.scale}, not {x.scale * weights.scale}")


@dataclass(frozen=True)
class Requantizer:
    """Accumulators (..., channels) + bias, scaled, moved to the output's zero point, clamped.

    int8 activations accumulate in 32 bits, int16 activations in 64 bits, or in 32 bits if the bias
    is int32. ``wraps``: 32 bits may overflow (they wrap, as in the C++). ``added`` is a constant
    bias of accumulators of 32 bits; with it ``rows`` does the same faster, if nothing wraps.
    """

    multiplier: Multiplier
    zero_point: int
    clamp: Clamp
    wide: bool
    wraps: bool
    bias: int
    rows: Callable[[Array], Array] | None = None
    added: Array | None = None

    @classmethod
    def of(
        cls,
        node: Node,
        multiplier: Multiplier,
        channels: int,
        *,
        bound: int,
        bias: int = 2,
        wide_biases: str = "int32 int64",
    ) -> Requantizer:
        """For ``node``, whose optional bias is input ``bias``; cut to ``channels``.

        ``bound`` is the largest magnitude of an accumulator; ``wide_biases`` are the types that
        a bias may have with int16 activations (an int32 one makes the accumulators 32 bits).
        """
        wide = _wide(node, channels, bias, wide_biases)
        shift, limit = int(multiplier.shift.max(initial=0)), _MAX_SHIFT_WIDE if wide else _MAX_SHIFT
        if shift > limit:
            raise node.bad(f"a multiplier of 2^{shift} is beyond what TFLM's scaling defines")
        multiplier = multiplier.first(channels)
        given = node.present(bias)
        largest = bound + (_largest(node, bias) if given else 0)
        wraps = largest >= 1 << 31
        output = node.output()
        clamp = clamp_for(node, output)
        value = node.constant(bias) if given else np.zeros(channels, np.int64)
        rows, added = None, None
        if value is not None and not wide:
            added = value.ravel()[:channels].astype(np.int64)
            if not wraps and shift <= 0:
                rows = row_scaler(multiplier, added, clamp, output, largest)
        place = bias if given else -1
        return cls(multiplier, output.zero_point, clamp, wide, wraps, place, rows, added)

    def folded(self, weights: Array, x: Tensor) -> Folded | None:
        """Product and requantization in one, for constant ``weights`` (depth, channels) and ``x``.

        None if 32 or 64 bits could overflow, or if the result would not be exact.
        """
        if self.added is None or self.wraps:
            return None
        return Folded.of(weights, *self._rest(x))

    def summed(self, weights: Array, x: Tensor) -> Summed | None:
        """The same for sums that may overflow. None if the result would not be exact."""
        return None if self.added is None else Summed.of(weights, *self._rest(x))

    def _rest(self, x: Tensor) -> tuple[Multiplier, Array, tuple[int, int], Clamp, int]:
        """The other arguments for both, besides the weights."""
        assert self.added is not None
        zero_points = x.zero_point, self.zero_point
        return self.multiplier, self.added, zero_points, self.clamp, -int(np.iinfo(x.dtype).min)

    def __call__(self, accumulators: Array, values: Any) -> Array:
        """Accumulators (runs, ..., channels) of any type; ``values`` are the node's inputs."""
        if self.rows is not None:
            return self.rows(accumulators)
        sums = accumulators.astype(np.int64)
        if self.bias >= 0:
            bias = values[self.bias].reshape(len(values[self.bias]), -1)[:, : sums.shape[-1]]
            sums += bias.reshape(len(bias), *(1,) * (sums.ndim - 2), -1)
        if self.wide:
            scaled = self.multiplier.scale64(sums)
        else:
            scaled = self.multiplier.scale(wrap32(sums) if self.wraps else sums)
        scaled += self.zero_point
        return self.clamp(scaled)


def _wide(node: Node, channels: int, index: int, wide_biases: str) -> bool:
    """Whether accumulators have 64 bits; checks the bias."""
    wide = node.input(0).dtype == "int16"
    if not node.present(index):
        narrow = "int32" in wide_biases and node.options.get("quantized_bias_type") == "int32"
        return wide and not narrow
    bias = node.input(index)
    allowed = wide_biases.split() if wide else ["int32"]
    if bias.dtype not in allowed:
        raise node.unsupported(f"{node.input(0).dtype} with an {bias.dtype} bias is not supported")
    if bias.elements < channels:
        raise node.bad(f"its bias has {bias.elements} elements for {channels} channels")
    return wide and bias.dtype != "int32"


def _largest(node: Node, index: int) -> int:
    """The largest magnitude of a bias: of its values, or of its type if it is computed."""
    value = node.constant(index)
    if value is None:
        return -int(np.iinfo(NUMPY_TYPES[node.input(index).dtype]).min)
    return max(int(value.max(initial=0)), -int(value.min(initial=0)))
