"""Models of one operator, most of which break one rule, and checks of their refusal."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from flatbuffers import flexbuffers
from model_builder import Op, T, build

from harness.base.errors import HilError
from harness.model import Model
from harness.reference import Interpreter

INT16, INT32, FLOAT32 = 7, 2, 0  # as the signal operators' option T counts types

Options = tuple[str, dict[str, Any]]


def activation(*shape: int, dtype: str = "int8", scale: float = 0.05, zero: int = 0) -> T:
    return T(shape, dtype, scale, zero)


def weights(*shape: int, zero: int = 0, scales: int = 1) -> T:
    values = np.random.default_rng(7).integers(-127, 128, shape)
    return T(shape, "int8", [0.01] * scales, [zero] * scales, values)


def one_operator(
    op: str,
    tensors: Sequence[T],
    inputs: Sequence[int],
    options: Options | None = None,
    fed: Sequence[int] = (0,),
) -> bytes:
    last = len(tensors) - 1
    return build(tensors, [Op(op, inputs, [last], options)], fed, [last])


def assert_refused(data: bytes, words: str) -> None:
    """An interpreter of the model is refused with a message that holds ``words``."""
    with pytest.raises(HilError) as refusal:
        Interpreter(Model.from_bytes(data, "m"))
    assert words in refusal.value.message


def assert_counts_to(data: bytes, expected: Sequence[Any], name: str) -> None:
    """Of inputs that count from 1 on the model gives ``expected``, alone and in a batch of two."""
    interpreter = Interpreter(Model.from_bytes(data, name))
    inputs = [
        np.minimum(np.arange(1, t.elements + 1), 1 if t.dtype == "bool" else 99)
        .reshape(t.shape)
        .astype(t.dtype)
        for t in interpreter.inputs
    ]
    assert interpreter.invoke(inputs)[0].tolist() == expected
    together = interpreter.invoke_batch([np.stack([each] * 2) for each in inputs])[0]
    assert together.tolist() == [expected] * 2


def random_inputs(model: Model, seed: int = 0) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    ranges = {"bool": (0, 2), "int8": (-128, 128), "int16": (-(1 << 15), 1 << 15)}
    return [
        rng.integers(*ranges.get(t.dtype, (-99, 100)), t.shape).astype(t.dtype)
        for t in model.inputs
    ]


def real(*shape: int) -> T:
    """A float32 tensor."""
    return T(shape, "float32")


def wide(*shape: int, zero: int = 0) -> T:
    """An int16 tensor."""
    return activation(*shape, dtype="int16", zero=zero)


def unary(op: str, x: T, y: T, *options: object) -> bytes:
    """A model of one operator from ``x`` to ``y``."""
    return one_operator(op, [x, y], [0], options or None)  # type: ignore[arg-type]


def pool(x: T, y: T, op: str = "AVERAGE_POOL_2D", **options: int) -> bytes:
    """A model of one pool, of windows of one element if the options do not say otherwise."""
    told = {"StrideH": 1, "StrideW": 1, "FilterHeight": 1, "FilterWidth": 1, "Padding": 1}
    return unary(op, x, y, "Pool2D", {**told, **options})


def gather(x: T, places: T, y: T, **options: int) -> bytes:
    """A model of one GATHER."""
    return one_operator("GATHER", [x, places, y], [0, 1], ("Gather", options))


def assert_ends(model: Callable[[int], bytes], option: str, low: int, high: int) -> None:
    """One beyond is refused by the option's name, the ends at most for what they mean."""
    for value in (low - 1, high + 1):
        with pytest.raises(HilError) as refusal:
            Interpreter(Model.from_bytes(model(value)))
        assert refusal.value.message.endswith(f"its option {option} is {value}")
    for value in (low, high):
        try:
            Interpreter(Model.from_bytes(model(value)))
        except HilError as refused:
            assert "its option" not in refused.message


def tensor(dtype: str, *shape: int, **more: Any) -> T:
    """A tensor by its type."""
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
