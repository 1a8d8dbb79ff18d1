"""The harness's verdict on a fault: the image runs to its end and is judged like any run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from harness.base.errors import CheckFailed
from harness.case.case import Case
from harness.case.judge import judged
from harness.case.observe import observe
from harness.case.prepare import Prepared
from harness.case.result import CaseResult
from harness.case.samples import sample_case
from harness.model import Model
from harness.studies.campaign.faults import InjectedFault
from harness.studies.campaign.inject import PATIENCE, Injector, Result

#: Virtual seconds that a run may always take, beyond the multiple of the fault-free run.
_EXTRA_SECONDS = 0.1


class Judge:
    """Judges the runs of one injector; ``case`` names the model, and the sample if it is one."""

    def __init__(
        self, injector: Injector, case: Mapping[str, Any], blobs: Mapping[str, bytes]
    ) -> None:
        self._injector = injector
        firmware = injector.machine.firmware
        model = Model.from_bytes(blobs["model"], case["model"])
        self._case = sample_case(*case["sample"]) if case["sample"] else Case(firmware.path.stem)
        self._case = replace(self._case, timeout=self._seconds())
        self._prepared = Prepared(self._case, firmware, model)

    def _seconds(self) -> float:
        """The virtual seconds that a run may take: a multiple of the fault-free run."""
        with self._injector.session(None) as session:
            observe(session, self._case)
            return PATIENCE * session.machine.seconds + _EXTRA_SECONDS

    def verdict(self, fault: InjectedFault | None) -> CaseResult:
        """The result of the whole run, with ``fault`` or without one."""
        with self._injector.session(fault) as session:
            return judged(self._prepared, observe(session, self._case))

    def check_baseline(self) -> None:
        """Raise :class:`CheckFailed` if the image does not pass without any fault."""
        result = self.verdict(None)
        if not result.passed:
            raise CheckFailed(f"without a fault the image gets {result.judgement}")

    def __call__(self, result: Result) -> Result:
        """``result`` with the verdict on its fault."""
        return replace(result, verdict=self.verdict(result.fault).judgement.verdict.value)
