"""Mutation adequacy: the share of plausible mistakes that a set of inputs shows at the outputs.

Each mistake of the table (:mod:`.mistakes`) is made in each operator in turn; all other operators
are computed correctly. An input notices a mistake if an output of the model differs: in any bit
where outputs must be bit-exact, by more than the allowed error where the model has float tensors.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from harness.base.arithmetic import Arithmetic
from harness.model import Model
from harness.reference.arrays import Array
from harness.reference.examiner import Examiner, Trial
from harness.reference.interpreter import Interpreter
from harness.reference.proofs import proven


@dataclass(frozen=True)
class Adequacy:
    """The result of :func:`examine` for ``runs`` inputs.

    ``noticed`` has, for each trial, the number of inputs that notice it. ``equivalent`` maps trials
    that no input can notice (equivalent mutants) to the proof.
    """

    model: str
    runs: int
    trials: tuple[Trial, ...]
    noticed: tuple[int, ...]
    equivalent: Mapping[Trial, str] = field(default_factory=dict)

    @cached_property
    def missed(self) -> tuple[Trial, ...]:
        """The trials that no input notices, without the equivalent ones."""
        pairs = zip(self.trials, self.noticed, strict=True)
        return tuple(trial for trial, count in pairs if not count and trial not in self.equivalent)

    @property
    def possible(self) -> int:
        """The number of trials that are not proven equivalent."""
        return len(self.trials) - len(self.equivalent)

    @property
    def share(self) -> float:
        """The noticed part of the possible trials, 0 to 1; 1 if there are none."""
        return 1 - len(self.missed) / self.possible if self.possible else 1.0

    def __str__(self) -> str:
        return (
            f"{self.possible - len(self.missed):,} of {self.possible:,} mistakes noticed"
            f" ({100 * self.share:.3g} %)"
        )

    def to_json(self) -> dict[str, Any]:
        """The result as JSON types."""
        return {
            "model": self.model,
            "runs": self.runs,
            "adequacy": self.share,
            "possible": self.possible,
            "missed": [_plain(trial) for trial in self.missed],
            "equivalent": [{**_plain(trial), "why": why} for trial, why in self.equivalent.items()],
        }


def _plain(trial: Trial) -> dict[str, Any]:
    return {"index": trial.step, "operator": trial.operator, "mistake": trial.mistake}


def examine(
    model: Model | Interpreter,
    inputs: Sequence[Array],
    arithmetic: Arithmetic = Arithmetic(),  # noqa: B008 - frozen
    *,
    tolerance: float | None = None,
) -> Adequacy:
    """The adequacy of ``inputs``, one array of shape (runs, ...) for each input of the model.

    For a stateful model the runs are one sequence of inferences after a restart. ``tolerance``, in
    the units of the outputs, replaces the computed error bounds: smaller differences do not count.
    """
    interpreter = model if isinstance(model, Interpreter) else Interpreter(model, arithmetic)
    examiner = Examiner(interpreter, tolerance)
    counts = examiner.noticed(inputs).sum(axis=1)
    unnoticed = [number for number, count in enumerate(counts) if not count]
    return Adequacy(
        interpreter.model.name,
        len(inputs[0]) if len(inputs) else 1,
        examiner.trials,
        tuple(map(int, counts)),
        proven(examiner, unnoticed),
    )
