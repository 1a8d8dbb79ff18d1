"""Cases: an image, the target that runs it, and the expected results.

``hil.toml``, ``tflm-hil run`` and the Robot keywords all make a :class:`Case` and pass it to
:func:`run_case`; nothing else decides whether firmware passes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.case.case import Budgets, Case
from harness.case.result import CaseResult, Verdict
from harness.case.run import run_case

if TYPE_CHECKING:
    from harness.case.plan import load_cases

__all__ = [
    "Budgets",
    "Case",
    "CaseResult",
    "Verdict",
    "load_cases",
    "run_case",
]


def __getattr__(name: str) -> object:
    """Import ``load_cases`` on first use: most runs have no case file."""
    if name != "load_cases":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from harness.case.plan import load_cases  # noqa: PLC0415 - see above

    return load_cases
