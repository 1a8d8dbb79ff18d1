"""Further runs of a failed case, each with something changed or read, to find its cause.

:func:`with_cause` puts into the first line of a verdict what :mod:`.uninitialised` (RAM that was
never written), :mod:`.wrong_side` (application or kernels), :mod:`.what_if` (a mistake that is
undone) and :mod:`.first_nan` show.
"""

from harness.case.further_runs.explain import with_cause

__all__ = ["with_cause"]
