"""Scraped results checked against what the case expects, by the scraper itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from harness.case.spec import Case
from harness.model import Model
from harness.reference import Interpreter, dequantize, quantize
from harness.uart import Console
from harness.uart.scrapers import Check, Expected

if TYPE_CHECKING:
    from harness.uart.scrapers import Predict


def check_scraped(console: Console, case: Case, model: Model | None) -> Check:
    """Let the case's scraper check its results.

    It gets a function that computes the model's answers, if the case has a model.
    """
    scraper = console.scrapers[0]
    expected = Expected(
        values=case.values,
        repeats=not case.ends,
        tests=case.tests,
        tolerance=case.tolerance,
        predict=_predict(case, model) if case.reference and model is not None else None,
    )
    return scraper.check(expected)


def _predict(case: Case, model: Model) -> Predict:
    """The reference's answers for a model with one number in and one out."""
    interpreter = Interpreter.from_model(model, case.arithmetic)
    source, sink = model.inputs[0], model.outputs[0]

    def predict(x: Sequence[float], *, truncate: bool) -> Sequence[float]:
        values = np.asarray(x, np.float64)
        fed = (
            quantize(values, source.scale, source.zero_point, source.dtype, truncate=truncate)
            if source.scale
            else values.astype(np.float32)
        )
        (out,) = interpreter.invoke_batch([fed.reshape(len(values), *source.shape)])
        flat = out.reshape(-1)
        answers = dequantize(flat, sink.scale, sink.zero_point) if sink.scale else flat
        numbers: list[float] = answers.astype(np.float64).tolist()
        return numbers

    return predict
