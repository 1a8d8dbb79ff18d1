"""Studies: many runs, in units of work for any ``concurrent.futures.Executor``.

:mod:`harness.studies.dispatch` carries a :class:`Study` out; :mod:`harness.studies.campaign`
injects faults, :mod:`harness.studies.sweep` compares variants. Results depend on the study alone:
not on the workers, the order of its units, lost workers, or a resumption.
"""

from harness.studies.dispatch import carry_out
from harness.studies.store import ResultStore
from harness.studies.study import Study, WorkUnit
from harness.studies.workers import Workers, open_workers

__all__ = ["ResultStore", "Study", "WorkUnit", "Workers", "carry_out", "open_workers"]
