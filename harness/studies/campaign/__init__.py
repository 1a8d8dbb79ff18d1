"""Fault campaigns: outcomes of an inference under faults in memory, registers or code.

:mod:`.baseline` records the fault-free run of an inference; :mod:`.faults` draws faults from a
seed; :mod:`.inject` injects one; :mod:`.summary` counts the outcomes.
"""

from harness.studies.campaign.baseline import Baseline, record_baseline
from harness.studies.campaign.faults import DEFAULT_MODELS, MODELS, InjectedFault, draw
from harness.studies.campaign.inject import OUTCOMES, Injector, Result
from harness.studies.campaign.study import Options, campaign, replay_one, study_of
from harness.studies.campaign.summary import CampaignSummary

__all__ = [
    "DEFAULT_MODELS",
    "MODELS",
    "OUTCOMES",
    "Baseline",
    "CampaignSummary",
    "InjectedFault",
    "Injector",
    "Options",
    "Result",
    "campaign",
    "draw",
    "record_baseline",
    "replay_one",
    "study_of",
]  # fmt: skip
