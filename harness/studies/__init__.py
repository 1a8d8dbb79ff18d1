"""Many runs: units of work over any ``concurrent.futures.Executor``, and what is made of them.

:mod:`harness.studies.drive` carries a :class:`Study` out; :mod:`harness.studies.campaign` injects
faults. Results depend on a study alone: not on where its units ran, in which order, how often
a worker was lost, or how often the study was stopped and taken up again.
"""

from harness.studies.drive import carry_out
from harness.studies.executors import Crew, crew
from harness.studies.store import Store
from harness.studies.unit import Study, Unit

__all__ = ["Crew", "Store", "Study", "Unit", "carry_out", "crew"]
