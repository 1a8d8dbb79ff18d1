"""What keywords read from the result that another keyword returned."""

from __future__ import annotations

from pathlib import Path

from harness.base import files
from harness.base.errors import CheckFailed, UsageError
from harness.case import CaseResult


def console_of(result: CaseResult, model: Path | None = None) -> Path:
    """The raw console of ``result``.

    Raises :class:`CheckFailed` if it left none, :class:`UsageError` if the case named another
    ``model``: what is compared then belongs to another image.
    """
    ran = result.setup.model
    if model is not None and (ran is None or files.read(ran) != files.read(model)):
        other = f"with {ran.name}" if ran is not None else "without a model"
        raise UsageError(f"{result.setup.name} ran {other}, not with {model.name}")
    if result.evidence.console is None:
        raise CheckFailed(f"{result.setup.name} left no console")
    return result.evidence.console
