"""Models of one signal operator."""

from __future__ import annotations

from typing import Any

from flatbuffers import flexbuffers
from model_builder import Op, T, build

INT16, INT32, FLOAT32 = 7, 2, 0


def of(dtype: str, *shape: int, **more: Any) -> T:
    return T(shape, dtype, **more)


def signal(
    op: str, tensors: list[T], outputs: int, fed: tuple[int, ...] = (0,), **flex: Any
) -> bytes:
    """A custom operator whose outputs are the last tensors."""
    count = len(tensors) - outputs
    results = range(count, len(tensors))
    operator = Op(op, range(count), results, custom=op, custom_options=flexbuffers.Dumps(flex))
    return build(tensors, [operator], fed, results)


def overlap(x: T, y: T, step: int, kind: int = INT16) -> bytes:
    return signal("SignalOverlapAdd", [x, y], 1, T=kind, frame_step=step)
