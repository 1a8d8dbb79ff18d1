"""Many runs: units of work on any ``concurrent.futures.Executor``.

:mod:`harness.studies.dispatch` carries a :class:`Study` out; :mod:`harness.studies.campaign`
injects faults, :mod:`harness.studies.sweep` compares variants. Results depend on a study alone: not
on where or in which order its units ran, how often a worker was lost, or how often it was resumed.
"""

from harness.studies.dispatch import carry_out
from harness.studies.store import ResultStore
from harness.studies.study import Study, WorkUnit
from harness.studies.workers import Workers, open_workers

__all__ = ["ResultStore", "Study", "WorkUnit", "Workers", "carry_out", "open_workers"]
