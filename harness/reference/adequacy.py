"""Which mistakes of an implementation a set of inputs would notice at a model's outputs.

Each mistake of the table (:mod:`.mistakes`) is made in each operator in turn, and the rest of the
model computed as it should be. An input notices it if an output of the model differs: by anything
where the outputs must agree to the bit, by more than the allowed error of real numbers where not.
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
    """What inputs would notice: ``noticed`` has the number of such inputs for each trial.

    ``equivalent`` says of trials that no input can notice why that is so. ``runs`` is the number of
    inputs.
    """

    model: str
    runs: int
    trials: tuple[Trial, ...]
    noticed: tuple[int, ...]
    equivalent: Mapping[Trial, str] = field(default_factory=dict)

    @cached_property
    def missed(self) -> tuple[Trial, ...]:
        """The mistakes that no input notices, without those that none can notice."""
        pairs = zip(self.trials, self.noticed, strict=True)
        return tuple(trial for trial, count in pairs if not count and trial not in self.equivalent)

    @property
    def possible(self) -> int:
        """The number of mistakes that are not known to be equivalent."""
        return len(self.trials) - len(self.equivalent)

    @property
    def share(self) -> float:
        """The part of the possible mistakes that is noticed; 1 where none is possible."""
        return 1 - len(self.missed) / self.possible if self.possible else 1.0

    def __str__(self) -> str:
        return (
            f"{self.possible - len(self.missed):,} of {self.possible:,} mistakes noticed"
            f" ({100 * self.share:.3g} %)"
        )

    def to_json(self) -> dict[str, Any]:
        """The same as plain data."""
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
    """Which mistakes these inputs, arrays of (runs, ...), would notice, and which none can.

    The runs of a model with a memory are one sequence of inferences after a restart. With a
    ``tolerance`` (in the outputs' own units) a mistake must change an output by more.
    """
    interpreter = model if isinstance(model, Interpreter) else Interpreter(model, arithmetic)
    examiner = Examiner(interpreter, tolerance)
    counts = examiner.noticed(inputs).sum(axis=1)
    quiet = [number for number, count in enumerate(counts) if not count]
    return Adequacy(
        interpreter.model.name,
        len(inputs[0]) if len(inputs) else 1,
        examiner.trials,
        tuple(map(int, counts)),
        proven(examiner, quiet),
    )
