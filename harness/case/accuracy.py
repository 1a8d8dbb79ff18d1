"""The share of a test set that a device classifies right, compared with the model's card."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from harness.base.errors import CheckFailed, UsageError
from harness.case.inputs import load_inputs
from harness.model import Model
from harness.uart import Console, TensorKey


@dataclass(frozen=True)
class Accuracy:
    """Right answers of the device, and the share of right answers on the model's card."""

    right: int
    total: int
    card: float

    @property
    def measured(self) -> float:
        """Measured share of right answers, 0 to 1."""
        return self.right / self.total if self.total else 0.0

    @property
    def equal(self) -> bool:
        """Whether the device gives as many right answers of the test set as the card states."""
        return bool(self.total) and abs(self.measured - self.card) < 0.5 / self.total


def accuracy(console_file: Path, model_file: Path, vectors: Path | None = None) -> Accuracy:
    """Count the right answers among the outputs on a run's console.

    The inputs of ``vectors``, which have no labels, follow those of the test set. Raises
    :class:`UsageError` if the model has no card with an accuracy and a test set, or if a test input
    has no output, and :class:`CheckFailed` for more outputs than inputs.
    """
    card = _card(model_file)
    labels = np.load(model_file.parent / card["file"])["labels"]
    model = Model.from_file(model_file)
    console = Console()
    console.feed(console_file.read_bytes())
    console.finish()
    sink = model.outputs[0]
    right = total = 0
    for number, label in enumerate(labels):
        data = console.tensors.get(TensorKey("output", number, 0))
        if data is None:
            continue
        total += 1
        right += int(np.argmax(np.frombuffer(data, sink.dtype)) == label)
    outputs = len(console.tensors.inferences("output", 0))
    unlabelled = 0 if vectors is None else len(load_inputs(vectors, model))
    if outputs > len(labels) + unlabelled:
        raise CheckFailed(f"{outputs} outputs came for {len(labels)} test inputs")
    if total < len(labels):
        raise UsageError(f"{total} of {len(labels)} test inputs were answered: run all of them")
    return Accuracy(right, total, float(card["accuracy"]))


def _card(model_file: Path) -> dict[str, str]:
    try:
        test: dict[str, str] = tomllib.loads(model_file.with_suffix(".toml").read_text())["test"]
    except (OSError, KeyError, tomllib.TOMLDecodeError) as error:
        raise UsageError(f"{model_file.name} has no card with a test set") from error
    if "accuracy" not in test:
        raise UsageError(f"the card of {model_file.name} states no accuracy")
    return test
