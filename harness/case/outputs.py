"""Are the outputs right? Recorded and scraped values against the NumPy reference."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from harness.case.spec import Case
from harness.model import Model, Tensor
from harness.reference import Interpreter, alternatives, compare, dequantize, quantize
from harness.uart import Console
from harness.uart.records import TensorKey
from harness.uart.scrapers import Scraped

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[np.generic]

#: What six printed decimals leave open of a number, with a little room.
_PRINTED = 6e-7
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


def check_outputs(
    console: Console, case: Case, model: Model | None, fed: Sequence[Sequence[bytes]] = ()
) -> OutputCheck:
    """Hold everything that the console gave against the reference or the case's own values.

    ``fed`` holds the input tensors that the host sent, inference by inference: the image has
    acknowledged every part of them, with its CRC, and need not send them back.
    """
    if console.scrapers:
        results = console.scrapers[0].results
        if case.values:
            return _against_values(results, case)
        if case.scraper == "unit_tests":
            return OutputCheck(len(results), 0, len(results))
        if case.reference and model is not None and case.scraper == "hello_world":
            return _scraped_sine(results, case, model)
        problem = "the results were read but held against nothing"
        return OutputCheck(inferences=len(results), problem=problem, hint=_held_by(case))
    if not case.reference:
        problem = "the case asks for no reference and gives no expected values"
        return OutputCheck(problem=problem)
    if model is None:
        problem = "no model is given to hold the outputs against"
        return OutputCheck(problem=problem, hint="--model, or `model` in a case file")
    return _recorded(console, case, model, fed)


def _held_by(case: Case) -> str:
    values = "expect.values in a case file (docs/cases.md)"
    return f"give --model, or {values}" if case.scraper == "hello_world" else f"give {values}"


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


def _against_values(results: Sequence[Scraped], case: Case) -> OutputCheck:
    """Scraped numbers against those that the case file gives."""
    tolerance = case.tolerance or 0.0
    rows, compared = [], 0
    for number, (result, wanted) in enumerate(zip(results, case.values, strict=False)):
        for name, value in wanted.items():
            compared += 1
            got = result.values.get(name)
            # A number read as mantissa * 2^exponent may miss the same decimal by a rounding.
            if got is None or not math.isclose(got, value, rel_tol=1e-12, abs_tol=tolerance):
                told = "not there" if got is None else f"{got:.9g}"
                rows.append(f"result {number}: {name} is {told}, expected {value:.9g}")
    missing = len(case.values) - len(results)
    problem = f"{len(rows)} of {compared} values differ" if rows else ""
    if missing > 0:
        problem = f"{len(results)} results came, {len(case.values)} are expected"
    return OutputCheck(compared, len(rows), len(results), problem, "\n".join(rows[:20]))


def _scraped_sine(results: Sequence[Scraped], case: Case, model: Model) -> OutputCheck:
    """Printed x and y of hello_world: y must be what the model makes of x.

    The stock sample of Zephyr quantizes x by truncation, newer ones by rounding; an image does
    one or the other throughout, so all results must agree under one of them.
    """
    if not results:
        return OutputCheck(problem="no result was printed")
    x = np.array([result.values["x"] for result in results])
    y = np.array([result.values["y"] for result in results])
    source, sink = model.inputs[0], model.outputs[0]
    interpreter = Interpreter.from_model(model, rounding=case.rounding)
    best: tuple[int, str, Array, npt.NDArray[np.bool_]] | None = None
    for name, truncate in (("rounding", False), ("truncation", True)):
        # x is printed with six decimals: near a border it may have been quantized to either side.
        answers = []
        for nearby in (x, x - _PRINTED, x + _PRINTED):
            fed = _as_tensor(nearby, source, truncate=truncate).reshape(-1, *source.shape)
            out = interpreter.invoke_batch([fed])[0].reshape(-1)
            answers.append(dequantize(out, sink.scale, sink.zero_point) if sink.scale else out)
        wrong = ~np.any([_prints_as(y, answer, case.tolerance) for answer in answers], axis=0)
        count = int(wrong.sum())
        if best is None or count < best[0]:
            best = (count, name, answers[0], wrong)
        if source.scale == 0:
            break
    assert best is not None
    count, name, expected, wrong = best
    rows = [
        f"x {x[i]:.6f}: y {y[i]:.6f}, the model says {float(expected[i]):.6f}"
        for i in np.flatnonzero(wrong)[:10]
    ]
    problem = f"{count} of {len(x)} printed values are not what the model computes" if count else ""
    details = "\n".join(rows) if rows else f"inputs quantized by {name}"
    return OutputCheck(len(x), count, len(x), problem, details)


def _as_tensor(x: npt.NDArray[np.float64], tensor: Tensor, *, truncate: bool) -> Array:
    if not tensor.scale:
        return x.astype(np.float32)
    return quantize(x, tensor.scale, tensor.zero_point, tensor.dtype, truncate=truncate)


def _prints_as(
    printed: npt.NDArray[np.float64], value: Array, tolerance: float | None
) -> npt.NDArray[np.bool_]:
    """Whether ``value`` prints as ``printed``: six decimals or seven digits, cut or rounded."""
    exact = value.astype(np.float64)
    limit = np.maximum(1.5e-6, np.abs(exact) * 1e-6) if tolerance is None else tolerance
    close: npt.NDArray[np.bool_] = np.abs(printed - exact) <= limit
    return close
