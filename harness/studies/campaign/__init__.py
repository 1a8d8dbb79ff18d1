"""Fault campaigns: the outcome of an inference when memory, registers or code are hit.

:mod:`.stage` runs the image to an inference once and keeps what the fault-free run did;
:mod:`.faults` draws faults from a seed; :mod:`.inject` injects one; :mod:`.summary` counts the
outcomes.
"""

from harness.studies.campaign.faults import DEFAULT_MODELS, MODELS, Fault, draw
from harness.studies.campaign.inject import OUTCOMES, Injector, Result
from harness.studies.campaign.stage import Prepared, Stage, prepare
from harness.studies.campaign.study import Options, campaign, replay_one, study_of
from harness.studies.campaign.summary import Summary

__all__ = [
    "DEFAULT_MODELS", "MODELS", "OUTCOMES", "Fault", "Injector", "Options", "Prepared", "Result",
    "Stage", "Summary", "campaign", "draw", "prepare", "replay_one", "study_of",
]  # fmt: skip
