"""QUANTIZE (real to quantized, and from one quantization to another), DEQUANTIZE, CAST.

Sources: TensorFlow Lite operator specification; tflite-micro, ``cast.cc``.
"""

from __future__ import annotations

import numpy as np

from harness.reference.arrays import Array
from harness.reference.node import NUMPY_TYPES, Node, Run
from harness.reference.quantization import dequantize as to_real
from harness.reference.quantization import quantize as to_quantized
from harness.reference.scale import wrap32

#: The conversions of TFLM: input type -> output types.
_CONVERSIONS = {
    "float32": "int8 int16",
    "int32": "int8 int16",
    "int16": "int8 int16 int32",
    "int8": "int8 uint8 int16 int32",
    "uint8": "int8",
}
_CAST_TYPES = ("int8", "int16", "int32", "uint32", "float32", "bool")


def quantize(node: Node) -> Run:
    """Any shape. float32 -> int8, int16; between integer types with rescaling."""
    x, output = node.input(0), node.output()
    node.check_output(x.shape)
    if output.dtype not in _CONVERSIONS.get(x.dtype, "").split():
        raise node.unsupported(f"{x.dtype} to {output.dtype} is not supported")
    scale = node.scale(output)
    if x.dtype == "float32":
        return lambda real: to_quantized(real, scale, output.zero_point, output.dtype)
    requantize = node.requantizer(node.scale(x) / scale)
    return lambda q: requantize(wrap32(q.astype(np.int64) - x.zero_point))


def dequantize(node: Node) -> Run:
    """Any shape. int8, int16, uint8 -> float32."""
    x, output = node.input(0), node.output()
    node.check_output(x.shape)
    if x.dtype not in ("int8", "int16", "uint8") or output.dtype != "float32":
        raise node.unsupported(f"{x.dtype} to {output.dtype} is not supported")
    scale = node.scale(x)
    return lambda q: to_real(q, scale, x.zero_point)


def cast(node: Node) -> Run:
    """The value in another type. Integers wrap; numbers other than 0 are true.

    float32 rounds toward zero. The conversion of an out-of-range value is undefined in C++; here
    it is that of Arm's VCVT: saturated to 32 bits, 0 for NaN; narrower types keep the low bits.
    """
    x, output = node.input(0), node.output()
    if x.dtype not in _CAST_TYPES or output.dtype not in _CAST_TYPES:
        raise node.unsupported(f"{x.dtype} to {output.dtype} is not supported")
    node.check_output(x.shape)
    dtype = NUMPY_TYPES[output.dtype]
    if x.dtype != "float32" or dtype.kind in "fb":
        return lambda value: value.astype(dtype)
    low, high = (0, (1 << 32) - 1) if dtype.kind == "u" else (-(1 << 31), (1 << 31) - 1)

    def run(real: Array) -> Array:
        whole = np.trunc(np.nan_to_num(real.astype(np.float64), posinf=high, neginf=low))
        return np.clip(whole, low, high).astype(np.int64).astype(dtype)

    return run
