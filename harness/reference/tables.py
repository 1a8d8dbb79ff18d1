"""Operators of one input: for 8 and 16 bits a table of the results for all values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from harness.reference.arrays import Array
from harness.reference.node import Node, Run


def _unsigned(dtype: Any) -> np.dtype[Any]:
    """The unsigned type of as many bits."""
    return np.dtype(f"u{np.dtype(dtype).itemsize}")


def every_value(dtype: str) -> Array:
    """All values of an integer type of 8 or 16 bits as int64, in the order of their bits."""
    bits = _unsigned(dtype)
    return np.arange(1 << 8 * bits.itemsize, dtype=bits).view(dtype).astype(np.int64)


def tabulated(function: Callable[[Array], Array], dtype: str) -> Callable[[Array], Array]:
    """``function`` of int64 values, computed once for every value of ``dtype``."""
    table, bits = function(every_value(dtype)), _unsigned(dtype)
    return lambda x: table.take(x.view(bits), mode="clip")


def elementwise(node: Node, function: Callable[[Array], Array]) -> Run:
    """``function`` of every element of the only input, in the output's type.

    It takes int64 for int8 and int16, and float64 for float32, which is rounded once.
    """
    dtype, output = node.input(0).dtype, node.output().dtype
    if dtype in ("int8", "int16"):
        return tabulated(lambda q: function(q).astype(output), dtype)
    return lambda x: function(x.astype(np.float64)).astype(np.float32)
