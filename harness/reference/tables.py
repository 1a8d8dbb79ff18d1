"""Elementwise operators of one input; 8-bit and 16-bit integers use a table of all results."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from harness.reference.arrays import Array
from harness.reference.node import Node, Run


def _unsigned(dtype: Any) -> np.dtype[Any]:
    """The unsigned integer type of the same width."""
    return np.dtype(f"u{np.dtype(dtype).itemsize}")


def every_value(dtype: str) -> Array:
    """All values of an 8-bit or 16-bit integer type as int64, in the order of their bits."""
    bits = _unsigned(dtype)
    return np.arange(1 << 8 * bits.itemsize, dtype=bits).view(dtype).astype(np.int64)


def tabulated(function: Callable[[Array], Array], dtype: str) -> Callable[[Array], Array]:
    """``function`` (int64 -> any type) of arrays of ``dtype``, as a table lookup."""
    table, bits = function(every_value(dtype)), _unsigned(dtype)
    return lambda x: table.take(x.view(bits), mode="clip")


def elementwise(node: Node, function: Callable[[Array], Array]) -> Run:
    """``function`` of every element of the only input, in the output's type.

    Its argument is int64 for int8 and int16, and float64 for float32, whose result is rounded once.
    """
    dtype, output = node.input(0).dtype, node.output().dtype
    if dtype in ("int8", "int16"):
        return tabulated(lambda q: function(q).astype(output), dtype)
    return lambda x: function(x.astype(np.float64)).astype(np.float32)
