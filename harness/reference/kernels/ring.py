"""CIRCULAR_BUFFER: the last slots of a stream, in the operator's own output.

Source: tflite-micro, ``circular_buffer.cc``: (1, 1, W, C) goes in, (1, slots, W, C) comes out, the
newest slot last. The operators behind it run once per ``cycles_max`` inferences.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from harness.reference.fixedpoint import Array
from harness.reference.node import Node, Run

_MOST = 1 << 31
#: Without ``cycles_max`` the operators behind these numbers of slots run in each inference, behind
#: all others in each second one.
_EACH_TIME = (5, 13, 25)


def circular_buffer(node: Node) -> Run:
    """int8; the output is a variable tensor, which is its zero point after a reset."""
    node.check_signature("int8 -> int8")
    shape, output = node.input(0).shape, node.output()
    if len(shape) != 4 or len(output.shape) != 4 or shape[0] != 1 or 0 in output.shape:
        raise node.bad(f"it takes {list(shape)} and gives {list(output.shape)}")
    slots = output.shape[1]
    if shape[1] != 1 or (shape[0], *shape[2:]) != (output.shape[0], *output.shape[2:]):
        raise node.refused(f"slots of {list(shape)} do not make {list(output.shape)}")
    if not output.variable:
        raise node.bad("its output is not a variable tensor, so other operators overwrite it")
    options = node.operator.custom_options
    period = node.number("cycles_max", -_MOST, _MOST) if options else 0
    if period <= 0:
        period = 1 if slots in _EACH_TIME else 2
    if period != 1:
        raise node.unsupported(
            f"of {period} inferences it ends {period - 1} early: what they give is left from before"
        )
    ring = node.memory.cell(np.full((1, *output.shape), output.zero_point, np.int8))

    def run(values: Sequence[Any]) -> list[Array]:
        ring[:, :, :-1] = ring[:, :, 1:].copy()
        ring[:, :, -1] = values[0][:, :, 0]
        return [ring.copy()]

    return run
