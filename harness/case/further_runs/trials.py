"""Further runs of a failed case, each with something changed before the image starts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from harness.case.case import Case
from harness.case.judge import judged
from harness.case.observe import observe
from harness.case.prepare import Prepared
from harness.case.result import CaseResult
from harness.targets.opening import Targets
from harness.targets.session import Session

#: Instructions of a run up to which it is repeated more than once.
MOST_INSTRUCTIONS = 20_000_000
#: Seconds of the target's clock after the end of a run that is one of many.
_OBSERVED = 0.01

#: Changes memory, or sets hooks, in a session whose image has not started.
Change = Callable[[Session], None]


@dataclass(frozen=True)
class Trials:
    """Runs of one case on one target."""

    prepared: Prepared
    targets: Targets

    def run(
        self, change: Change | None = None, options: Mapping[str, str] = MappingProxyType({})
    ) -> CaseResult:
        """The result of a run after ``change``, with other ``options`` of the target."""
        prepared, case = self.prepared, self.prepared.case

        def attempt(session: Session) -> CaseResult:
            if change is not None:
                change(session)
            image, inputs = prepared.image, prepared.inputs
            return judged(prepared, observe(session, case, inputs, None, image, explains=False))

        given = {**case.target_options, **options}
        return self.targets.run(case.target, prepared.image, attempt, given)

    def brief(self, options: Mapping[str, str] = MappingProxyType({})) -> Trials:
        """Trials that end soon after one with ``options`` does: one that hangs takes longer."""
        case = replace(self.prepared.case, observe_after=_OBSERVED)
        soon = self._of(case)
        seconds = soon.run(options=options).measures.virtual_seconds
        if seconds is None:
            return soon
        return self._of(replace(case, timeout=min(case.timeout, 2 * seconds)))

    def _of(self, case: Case) -> Trials:
        return replace(self, prepared=replace(self.prepared, case=case))


def is_short(result: CaseResult) -> bool:
    """Whether the run of ``result`` may be repeated often."""
    return (result.measures.total_instructions or MOST_INSTRUCTIONS) < MOST_INSTRUCTIONS
