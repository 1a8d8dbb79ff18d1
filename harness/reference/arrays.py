"""Arrays with a leading axis of runs: their types, broadcasting, elementwise work in blocks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

#: Elements of one block: it stays in the cache together with its results.
_BLOCK = 1 << 14


def aligned(x: Array, rank: int) -> Array:
    """(runs, *shape) with axes of size 1 behind the runs, so that the tensor has ``rank`` axes."""
    missing = rank - (x.ndim - 1)
    return x.reshape(len(x), *(1,) * missing, *x.shape[1:]) if missing > 0 else x


def whole_runs(arrays: Sequence[Array]) -> list[Array]:
    """The same arrays, all with the largest number of runs among them."""
    runs = max(len(array) for array in arrays)
    return [
        array if len(array) == runs else np.broadcast_to(array, (runs, *array.shape[1:]))
        for array in arrays
    ]


def blockwise(
    function: Callable[..., Array], arrays: Sequence[Array], dtype: np.dtype[Any]
) -> Array:
    """An elementwise ``function`` of broadcast arrays, as ``dtype``, computed block by block."""
    if all(array.size <= _BLOCK for array in arrays):
        return np.asarray(function(*arrays)).astype(dtype, copy=False)
    shape = np.broadcast_shapes(*(array.shape for array in arrays))
    result = np.empty(shape, dtype)
    each = result[:1].size
    if each <= _BLOCK:
        step = max(1, _BLOCK // max(each, 1))
        for start in range(0, len(result), step):
            part = slice(start, start + step)
            result[part] = function(*(each if len(each) == 1 else each[part] for each in arrays))
        return result
    flat = result.reshape(-1)
    columns = [np.broadcast_to(array, shape).reshape(-1) for array in arrays]
    for start in range(0, flat.size, _BLOCK):
        part = slice(start, start + _BLOCK)
        flat[part] = function(*(column[part] for column in columns))
    return result
