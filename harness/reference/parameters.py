"""Operators whose parameters are tensors: axes, begins, paddings, shapes.

Converters write them as constants, and the operator is prepared once. TFLM also takes most of them
computed: then the operator is prepared when they arrive, once per value.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from harness.reference.arrays import Array
from harness.reference.node import Node, Run

#: How many values of a computed parameter keep their preparation.
_REMEMBERED = 64


def parametrized(
    node: Node, indices: Sequence[int], make: Callable[..., Run], types: str = "int32"
) -> Run:
    """``make(*parameters)`` with the flat integer values of those inputs; checks and prepares.

    Raises BadModel if a parameter has none of the ``types``.
    """
    for index in indices:
        if node.input(index).dtype not in types.split():
            raise node.bad(f"its input {index} has the type {node.input(index).dtype}")
    constants = [node.constant(index) for index in indices]
    if all(value is not None for value in constants):
        return make(*map(_flat, constants))
    known: dict[bytes, Run] = {}

    def prepared(parameters: Sequence[Array]) -> Run:
        key = b"|".join(each.tobytes() for each in parameters)
        if key not in known:
            if len(known) >= _REMEMBERED:
                known.clear()
            known[key] = make(*map(_flat, parameters))
        return known[key]

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
