"""Arrays with a leading axis of runs: alignment, broadcasting, blockwise evaluation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

#: Elements of one block: its operands and results fit in the cache.
_BLOCK = 1 << 14


def aligned(x: Array, rank: int) -> Array:
    """``x`` (runs, *shape) with axes of size 1 inserted after the runs, for ``rank`` axes a run."""
    missing = rank - (x.ndim - 1)
    return x.reshape(len(x), *(1,) * missing, *x.shape[1:]) if missing > 0 else x


def whole_runs(arrays: Sequence[Array]) -> list[Array]:
    """The arrays, broadcast to the largest number of runs among them."""
    runs = max(len(array) for array in arrays)
    return [
        array if len(array) == runs else np.broadcast_to(array, (runs, *array.shape[1:]))
        for array in arrays
    ]


def blockwise(
    function: Callable[..., Array], arrays: Sequence[Array], dtype: np.dtype[Any]
) -> Array:
    """The result of an elementwise ``function`` of broadcast arrays, computed block by block.

    Its shape is the broadcast one, its type ``dtype``.
    """
    if all(array.size <= _BLOCK for array in arrays):
        return np.asarray(function(*arrays)).astype(dtype, copy=False)
    shape = np.broadcast_shapes(*(array.shape for array in arrays))
    result = np.empty(shape, dtype)
    run_size = result[:1].size
    if run_size <= _BLOCK:
        step = max(1, _BLOCK // max(run_size, 1))
        for start in range(0, len(result), step):
            part = slice(start, start + step)
            result[part] = function(*(x if len(x) == 1 else x[part] for x in arrays))
        return result
    flat = result.reshape(-1)
    columns = [np.broadcast_to(array, shape).reshape(-1) for array in arrays]
    for start in range(0, flat.size, _BLOCK):
        part = slice(start, start + _BLOCK)
        flat[part] = function(*(column[part] for column in columns))
    return result
