"""CAST: the same number in another type.

Source: tflite-micro, ``cast.cc``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from harness.reference.fixedpoint import Array
from harness.reference.node import NUMPY_TYPES, Node, Run

_TYPES = ("int8", "int16", "int32", "uint32", "float32", "bool")


def cast(node: Node) -> Run:
    """The value in another type. Integers wrap; what is not 0 is true.

    float32 is rounded toward zero. A value that does not fit is undefined in C++; here it is as
    Arm's VCVT gives it: saturated to 32 bits, NaN to 0, and narrower types keep the low bits.
    """
    x, output = node.input(0), node.output()
    if x.dtype not in _TYPES or output.dtype not in _TYPES:
        raise node.unsupported(f"{x.dtype} to {output.dtype} is not supported")
    node.check_output(x.shape)
    dtype = NUMPY_TYPES[output.dtype]
    if x.dtype != "float32" or dtype.kind in "fb":
        return lambda values: [values[0].astype(dtype)]
    low, high = (0, (1 << 32) - 1) if dtype.kind == "u" else (-(1 << 31), (1 << 31) - 1)

    def run(values: Sequence[Any]) -> list[Array]:
        whole = np.trunc(np.nan_to_num(values[0].astype(np.float64), posinf=high, neginf=low))
        return [np.clip(whole, low, high).astype(np.int64).astype(dtype)]

    return run
