"""Cases: what to run, on what, and what is expected.

``hil.toml``, ``tflm-hil run`` and the Robot keywords all make a :class:`Case` and hand it to
:func:`run_case`; nothing else decides whether firmware passes.
"""

from harness.case.casefile import load_cases
from harness.case.result import CaseResult, Verdict
from harness.case.run import run_case
from harness.case.spec import Budgets, Case

__all__ = [
    "Budgets",
    "Case",
    "CaseResult",
    "Verdict",
    "load_cases",
    "run_case",
]
