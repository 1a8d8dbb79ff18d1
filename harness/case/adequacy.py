"""A case's budget of adequacy: would its inputs notice the mistakes that a kernel can have?"""

from __future__ import annotations

from dataclasses import dataclass

from harness.case.case import Case
from harness.case.outputs import OutputCheck
from harness.model import Model
from harness.reference import Interpreter
from harness.reference.adequacy import Adequacy, examine

_SHOWN = 20


@dataclass(frozen=True)
class AdequacyCheck:
    """The adequacy of a run's inputs, what is wrong with it, and the mistakes that are missed."""

    found: Adequacy | None = None
    problems: tuple[str, ...] = ()
    tables: tuple[str, ...] = ()


def check_adequacy(case: Case, model: Model | None, outputs: OutputCheck) -> AdequacyCheck:
    """The inputs whose outputs were compared, against the case's ``budgets.adequacy``."""
    wanted = case.budgets.adequacy
    if wanted is None:
        return AdequacyCheck()
    if model is None or not outputs.inputs:
        problem = "the adequacy cannot be checked: no inputs of a model were compared"
        return AdequacyCheck(problems=(problem,))
    interpreter = Interpreter.from_model(model, case.arithmetic)
    found = examine(interpreter, list(outputs.inputs), tolerance=case.tolerance)
    if found.share >= wanted:
        return AdequacyCheck(found)
    problem = (
        f"the inputs notice {100 * found.share:.1f} % of the mistakes that kernels can have,"
        f" {100 * wanted:g} % are wanted (tflm-hil vectors finds more)"
    )
    lines = [f"not noticed: {trial}" for trial in found.missed[:_SHOWN]]
    if len(found.missed) > _SHOWN:
        lines.append(f"... and {len(found.missed) - _SHOWN:,} more")
    return AdequacyCheck(found, (problem,), ("\n".join(lines),))
