"""Operators whose parameters are tensors: axes, begins, paddings, shapes.

Converters write these as constants, and the operator is prepared once. TFLM also accepts most of
them computed at run time; the operator is then prepared at run time, once per value.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from harness.reference.arrays import Array
from harness.reference.node import Node, Run

#: Most values of computed parameters whose prepared operators are cached.
_CACHED = 64


def parametrized(
    node: Node, indices: Sequence[int], make: Callable[..., Run], types: str = "int32"
) -> Run:
    """The function that runs ``make(*parameters)``, from the values of the inputs ``indices``.

    ``make`` checks and prepares the operator; each parameter is a flat list of integers. Raises
    BadModel if the type of a parameter is not one of ``types``.
    """
    for index in indices:
        if node.input(index).dtype not in types.split():
            raise node.bad(f"its input {index} has the type {node.input(index).dtype}")
    constants = [node.constant(index) for index in indices]
    if all(value is not None for value in constants):
        return make(*map(_flat, constants))
    cache: dict[bytes, Run] = {}

    def prepared(parameters: Sequence[Array]) -> Run:
        key = b"|".join(each.tobytes() for each in parameters)
        if key not in cache:
            if len(cache) >= _CACHED:
                cache.clear()
            cache[key] = make(*map(_flat, parameters))
        return cache[key]

    def run(*values: Array) -> Any:
        if all(len(values[index]) == 1 for index in indices):
            return prepared([values[index] for index in indices])(*values)
        parts = []
        for number in range(max(map(len, values))):
            row = [value if len(value) == 1 else value[number : number + 1] for value in values]
            parts.append(prepared([row[index] for index in indices])(*row))
        return np.concatenate(parts)

    return run


def _flat(value: Any) -> list[int]:
    return [int(each) for each in np.ravel(value)]
