"""Sweeps: which of all variants should be shipped?

:mod:`.axes` reads a ``sweep.toml`` and spans its points; :mod:`.study` builds, runs and judges
each; :mod:`.choose` finds the Pareto front and the best point within a budget.
"""

from harness.studies.sweep.axes import Sweep, SweepPoint, load
from harness.studies.sweep.choose import (
    best,
    best_of_each,
    front,
    verdict,
    without_pass,
)
from harness.studies.sweep.study import history_case, study_of

__all__ = [
    "Sweep",
    "SweepPoint",
    "best",
    "best_of_each",
    "front",
    "history_case",
    "load",
    "study_of",
    "verdict",
    "without_pass",
]  # fmt: skip
