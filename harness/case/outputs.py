"""Are the outputs right? Recorded and scraped values against the NumPy reference."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from harness.case.scraped import check_scraped
from harness.case.spec import Case
from harness.model import Model, Tensor
from harness.reference import Interpreter, alternatives, compare
from harness.uart import Console
from harness.uart.records import TensorKey
from harness.uart.scrapers import Check, TestResult

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[np.generic]

#: Units in the last place by which a float output may differ where float32 products are summed.
FLOAT_UNITS = 32
#: Operators whose float32 result depends on the order of summation, or on the C library.
_FLOAT_SUMS = frozenset(
    {
        "AVERAGE_POOL_2D", "BATCH_MATMUL", "CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED",
        "LOGISTIC", "MEAN", "SOFTMAX", "SUM", "SVDF", "TANH", "TRANSPOSE_CONV",
        "UNIDIRECTIONAL_SEQUENCE_LSTM",
    }
)  # fmt: skip


@dataclass(frozen=True)
class OutputCheck:
    """How many values were compared, how many differ, and what there is to say about it."""

    compared: int = 0
    mismatches: int = 0
    inferences: int = 0
    problem: str = ""  # one line; "" where all is right
    details: str = ""
    hint: str = ""  # what to try
    praise: str = ""  # a pass in words; "" for the usual ones
    tests: tuple[TestResult, ...] = ()  # of an image that runs tests


def check_outputs(
    console: Console, case: Case, model: Model | None, fed: Sequence[Sequence[bytes]] = ()
) -> OutputCheck:
    """Hold everything that the console gave against the reference or the case's own values.

    ``fed`` holds the input tensors that the host sent, inference by inference: the image has
    acknowledged every part of them, with its CRC, and need not send them back.
    """
    if console.scrapers:
        return _from_scraper(check_scraped(console, case, model), len(console.scrapers[0].results))
    if not case.reference:
        problem = "the case asks for no reference and gives no expected values"
        return OutputCheck(problem=problem)
    if model is None:
        problem = "no model is given to hold the outputs against"
        return OutputCheck(problem=problem, hint="--model, or `model` in a case file")
    return _recorded(console, case, model, fed)


def _from_scraper(check: Check, results: int) -> OutputCheck:
    """The first problem in the reason's line, the others before the details."""
    first, *others = check.problems or ("",)
    more = f" (and {len(others)} more)" if others else ""
    details = "\n".join([*others, *([check.details] if check.details else [])])
    return OutputCheck(
        check.compared,
        check.mismatches,
        results,
        f"{first}{more}",
        details,
        check.hint,
        check.praise,
        check.tests,
    )


def _recorded(
    console: Console, case: Case, model: Model, fed: Sequence[Sequence[bytes]]
) -> OutputCheck:
    """Raw tensors from ``input`` and ``output`` records, inference by inference."""
    sent = {
        TensorKey("input", number, index): data
        for number, row in enumerate(fed)
        for index, data in enumerate(row)
    }
    tensors = {**sent, **console.tensors}
    numbers = sorted({key.inference for key in tensors if key.kind == "output"})
    numbers = [n for n in numbers if _whole(tensors, n, model)]
    if not numbers:
        return OutputCheck(problem="no inference gave all of its inputs and outputs")
    inputs = [_stack(tensors, numbers, "input", i, t) for i, t in enumerate(model.inputs)]
    obtained = [_stack(tensors, numbers, "output", i, t) for i, t in enumerate(model.outputs)]
    interpreter = Interpreter.from_model(
        model, rounding=case.rounding, multipliers=case.multipliers
    )
    expected = interpreter.invoke_batch(inputs)
    compared = mismatches = 0
    reports = []
    for index, tensor in enumerate(model.outputs):
        got, want = obtained[index], expected[index]
        tolerance = float_bound(model, want) if case.tolerance is None else case.tolerance
        others = alternatives(interpreter, inputs, index, batch=True)
        comparison = compare(got, want, tolerance=tolerance, alternatives=others)
        compared += comparison.total
        mismatches += comparison.mismatches
        if not comparison.equal:
            reports.append(f"{tensor.name} [inference, element ...]: {comparison}")
    problem = f"{mismatches} of {compared} output values differ" if mismatches else ""
    return OutputCheck(compared, mismatches, len(numbers), problem, "\n".join(reports))


def float_bound(model: Model, expected: Array) -> float | None:
    """The difference that the order of float32 sums may make; None where nothing may differ.

    TFLM adds one product after the other, NumPy in blocks. A sum of K products differs by at most
    about K units in the last place of its largest partial sum; FLOAT_UNITS covers K of the models
    here, measured are 6 units.
    """
    sums = any(
        operator.name in _FLOAT_SUMS and model.tensors[operator.outputs[0]].dtype == "float32"
        for operator in model.operators
    )
    if not sums or expected.dtype != np.float32:
        return None
    return FLOAT_UNITS * 2.0**-23 * max(1.0, float(np.abs(expected).max()))


def _whole(tensors: Mapping[TensorKey, bytes], number: int, model: Model) -> bool:
    return all(
        len(tensors.get(TensorKey(kind, number, index), b"")) == _nbytes(tensor)
        for kind, group in (("input", model.inputs), ("output", model.outputs))
        for index, tensor in enumerate(group)
    )


def _nbytes(tensor: Tensor) -> int:
    return math.prod(tensor.shape) * np.dtype(tensor.dtype).itemsize


def _stack(
    tensors: Mapping[TensorKey, bytes],
    numbers: Sequence[int],
    kind: str,
    index: int,
    tensor: Tensor,
) -> Array:
    """One tensor of all inferences, with a leading batch axis."""
    data = b"".join(tensors[TensorKey(kind, number, index)] for number in numbers)
    little_endian = np.dtype(tensor.dtype).newbyteorder("<")
    return np.frombuffer(data, little_endian).reshape(len(numbers), *tensor.shape)
