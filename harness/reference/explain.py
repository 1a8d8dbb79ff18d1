"""Known causes of a wrong output, tried one after another when outputs differ.

Each cause is another way to compute the model: with another rounding, or from an input that went
wrong on its way. A cause is named only if it reproduces what the device gave, in every element.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from harness.reference.comparison import Alternatives, Comparison, compare
from harness.reference.fixedpoint import Array, Multipliers, Rounding
from harness.reference.interpreter import Interpreter
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
    """Run one inference and compare each output with what a device gave for the same inputs.

    ``real_inputs`` are the inputs before they were quantized, where the caller knows them.
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
) -> Alternatives:
    """What else output ``output`` could be, for :func:`compare`; nothing is computed yet.

    Models with a state have none: what came before decides about their outputs too.
    """
    if interpreter.stateful:
        return {}
    arrays = [np.asarray(each) for each in inputs]
    found: dict[str, Callable[[], Array]] = {}
    for cause, options in _arithmetics(interpreter):
        found[cause] = _other_arithmetic(interpreter, options, arrays, output)
    for cause, changed in _inputs(interpreter, arrays, real_inputs):
        found[cause] = _other_input(interpreter, changed, output)
    return found


def _arithmetics(interpreter: Interpreter) -> Iterator[tuple[str, tuple[Rounding, Multipliers]]]:
    rounding: Rounding = "single" if interpreter.rounding == "double" else "double"
    old: Multipliers = "single" if interpreter.multipliers == "double" else "double"
    yield f"under {rounding} rounding", (rounding, interpreter.multipliers)
    era = "before" if old == "single" else "since"
    multipliers = f"with {old}-precision multipliers (TFLM {era} autumn 2026)"
    yield multipliers, (interpreter.rounding, old)
    yield f"under {rounding} rounding {multipliers}", (rounding, old)


def _other_arithmetic(
    interpreter: Interpreter,
    options: tuple[Rounding, Multipliers],
    inputs: Sequence[Array],
    output: int,
) -> Callable[[], Array]:
    rounding, multipliers = options

    def compute() -> Array:
        other = Interpreter(
            interpreter.model,
            rounding=rounding,
            multipliers=multipliers,
            kernels=interpreter.kernels,
        )
        return other.invoke(inputs)[output]

    return compute


def _other_input(
    interpreter: Interpreter, inputs: Callable[[], list[Array]], output: int
) -> Callable[[], Array]:
    return lambda: interpreter.invoke(inputs())[output]


def _inputs(
    interpreter: Interpreter, arrays: Sequence[Array], real_inputs: Sequence[Any] | None
) -> Iterator[tuple[str, Callable[[], list[Array]]]]:
    if real_inputs is not None and any(tensor.scale for tensor in interpreter.inputs):
        yield (
            "if the input is quantized by truncation",
            lambda: _truncated(interpreter, real_inputs),
        )
    shapes = [array.shape for array in arrays]
    if any(len(shape) == 4 and shape[1] == shape[2] > 1 for shape in shapes):
        yield (
            "after swapping the input's height and width",
            lambda: [_swapped(array) for array in arrays],
        )
    if any(len(shape) == 4 and shape[3] == 3 for shape in shapes):
        yield (
            "after reversing the input's channels (RGB, BGR)",
            lambda: [array[..., ::-1] if array.ndim == 4 else array for array in arrays],
        )
    if any(array.dtype == np.int8 for array in arrays):
        yield (
            "if the input is off by 128 (unsigned bytes taken as signed)",
            lambda: [a ^ np.int8(-128) if a.dtype == np.int8 else a for a in arrays],
        )


def _truncated(interpreter: Interpreter, real_inputs: Sequence[Any]) -> list[Array]:
    return [
        quantize(real, tensor.scale, tensor.zero_point, tensor.dtype, truncate=True)
        if tensor.scale
        else np.asarray(real)
        for real, tensor in zip(real_inputs, interpreter.inputs, strict=True)
    ]


def _swapped(array: Array) -> Array:
    if array.ndim == 4 and array.shape[1] == array.shape[2]:
        return np.swapaxes(array, 1, 2)
    return array
