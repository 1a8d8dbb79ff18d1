"""Many runs: units of work on any ``concurrent.futures.Executor``.

:mod:`harness.studies.drive` carries a :class:`Study` out; :mod:`harness.studies.campaign` injects
faults, :mod:`harness.studies.sweep` compares variants. Results depend on a study alone: not on
where or in which order its units ran, how often a worker was lost, or how often it was resumed.
"""

from harness.studies.drive import carry_out
from harness.studies.executors import Crew, crew
from harness.studies.store import Store
from harness.studies.unit import Study, Unit

__all__ = ["Crew", "Store", "Study", "Unit", "carry_out", "crew"]
