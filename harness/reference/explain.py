"""Known causes of a wrong output, tried in order when outputs differ.

A cause is another way to compute the model: with another rounding, or from a differently prepared
input. It is reported only if it reproduces every element of the device's output.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from harness.base.arithmetic import Arithmetic, Multipliers, Rounding
from harness.reference.arrays import Array
from harness.reference.comparison import Alternatives, Comparison, compare
from harness.reference.interpreter import Interpreter
from harness.reference.node import NUMPY_TYPES
from harness.reference.quantization import quantize


def compare_outputs(
    interpreter: Interpreter,
    inputs: Sequence[Any],
    obtained: Sequence[Any],
    *,
    tolerance: float | None = None,
    relative: float = 0.0,
    real_inputs: Sequence[Any] | None = None,
) -> list[Comparison]:
    """The comparison of each output of one inference with the device's output, ``obtained``.

    ``real_inputs`` are the inputs before quantization, if known. ``tolerance`` and ``relative`` are
    those of :func:`compare`.
    """
    expected = interpreter.invoke(inputs)
    return [
        compare(
            got,
            want,
            tolerance=tolerance,
            relative=relative,
            alternatives=alternatives(interpreter, inputs, index, real_inputs=real_inputs),
        )
        for index, (got, want) in enumerate(zip(obtained, expected, strict=True))
    ]


def alternatives(
    interpreter: Interpreter,
    inputs: Sequence[Any],
    output: int = 0,
    *,
    real_inputs: Sequence[Any] | None = None,
    batch: bool = False,
) -> Alternatives:
    """Alternatives of output ``output`` for :func:`compare`, computed on demand.

    ``batch``: inputs and output have a leading axis of runs, as for ``invoke_batch``. Stateful
    models have no alternatives, because their outputs also depend on earlier inferences.
    """
    if interpreter.stateful:
        return {}
    arrays = [np.asarray(each) for each in inputs]

    def invoke(other: Interpreter, changed: Sequence[Any]) -> Array:
        return (other.invoke_batch(changed) if batch else other.invoke(changed))[output]

    found: dict[str, Callable[[], Array]] = {}
    for cause, make in _arithmetics(interpreter):
        found[cause] = partial(_with_arithmetic, invoke, make, arrays)
    for cause, change in _changes(interpreter, real_inputs):
        found[cause] = partial(_with_input, invoke, interpreter, change, arrays)
    return found


#: Runs one inference or a batch; the examined output.
_Invoke = Callable[[Interpreter, Sequence[Any]], Array]
#: Correct inputs -> inputs that the device may have used instead.
_Change = Callable[[Sequence[Array]], list[Array]]


def _with_arithmetic(
    invoke: _Invoke, make: Callable[[], Interpreter], inputs: Sequence[Array]
) -> Array:
    return invoke(make(), inputs)


def _with_input(
    invoke: _Invoke, interpreter: Interpreter, change: _Change, inputs: Sequence[Array]
) -> Array:
    return invoke(interpreter, change(inputs))


def _arithmetics(interpreter: Interpreter) -> Iterator[tuple[str, Callable[[], Interpreter]]]:
    own = interpreter.arithmetic
    rounding: Rounding = "single" if own.rounding == "double" else "double"
    other: Multipliers = "single" if own.multipliers == "double" else "double"
    era = "before" if other == "single" else "since"
    multipliers = f"with {other}-precision multipliers (TFLM {era} autumn 2026)"
    for cause, arithmetic in (
        (f"under {rounding} rounding", Arithmetic(rounding, own.multipliers)),
        (multipliers, Arithmetic(own.rounding, other)),
        (f"under {rounding} rounding {multipliers}", Arithmetic(rounding, other)),
    ):
        yield cause, partial(interpreter.with_arithmetic, arithmetic)


def _changes(
    interpreter: Interpreter, real_inputs: Sequence[Any] | None
) -> Iterator[tuple[str, _Change]]:
    """Mistakes in preparing an input; axes are counted from the end: a runs axis may precede."""
    tensors = interpreter.inputs
    images = [len(tensor.shape) == 4 for tensor in tensors]

    def where(chosen: Sequence[bool], change: Callable[[Array], Array]) -> _Change:
        return lambda arrays: [
            change(array) if pick else array for array, pick in zip(arrays, chosen, strict=True)
        ]

    if real_inputs is not None and any(tensor.scale for tensor in tensors):
        yield (
            "if the input is quantized by truncation",
            lambda _: _truncated(interpreter, real_inputs),
        )
    square = [
        image and tensor.shape[1] == tensor.shape[2] > 1
        for image, tensor in zip(images, tensors, strict=True)
    ]
    if any(square):
        swap = where(square, lambda array: np.swapaxes(array, -3, -2))
        yield "after swapping the input's height and width", swap
    colour = [image and tensor.shape[3] == 3 for image, tensor in zip(images, tensors, strict=True)]
    if any(colour):
        reverse = where(colour, lambda array: array[..., ::-1])
        yield "after reversing the input's channels (RGB, BGR)", reverse
    signed = [tensor.dtype == "int8" for tensor in tensors]
    if any(signed):
        flip = where(signed, lambda array: array ^ np.int8(-128))
        yield "if the input is off by 128 (unsigned bytes taken as signed)", flip


def _truncated(interpreter: Interpreter, real_inputs: Sequence[Any]) -> list[Array]:
    return [
        quantize(real, tensor.scale, tensor.zero_point, tensor.dtype, truncate=True)
        if tensor.scale
        else np.asarray(real, NUMPY_TYPES[tensor.dtype])
        for real, tensor in zip(real_inputs, interpreter.inputs, strict=True)
    ]
