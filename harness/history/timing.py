"""Results with milliseconds and microjoules, by what a lab has measured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from harness.case.artifacts import write_result
from harness.case.evidence.known import HZ
from harness.case.result import CaseResult, Measures
from harness.errors import CheckFailed
from harness.history.calibration import Calibration, Supply, Time, kernels


def timed(result: CaseResult, calibration: Calibration) -> CaseResult:
    """The result with calibrated milliseconds, or with the reason why it has none.

    A board's own cycles need no calibration; where the lab's supply is known, both have an energy.
    """
    found = _timed(result, calibration)
    if calibration.supply is not None:
        found = _with_energy(found, calibration.supply)
    return replace(result, measures=found)


def _timed(result: CaseResult, calibration: Calibration) -> Measures:
    measures = result.measures
    if measures.instructions is None:
        return measures
    if not measures.operators:
        why = "not calibrated: the image tells no operators' ticks"
        return replace(measures, time=f"{measures.time}; {why}")
    try:
        found = calibration.time(kernels(result.to_json()))
    except CheckFailed as refused:
        return replace(measures, time=f"{measures.time}; {refused.message}")
    return replace(measures, time=str(found), milliseconds=found.milliseconds,
                   milliseconds_spread=found.spread)  # fmt: skip


def _with_energy(measures: Measures, supply: Supply) -> Measures:
    """Where the time is known, not just its least."""
    if measures.milliseconds is not None:
        time = Time(measures.milliseconds, measures.milliseconds_spread or 0.0)
        energy = f"{supply.energy(time.milliseconds):,.4g} µJ ± {supply.energy(time.spread):,.2g}"
    elif measures.cycles is not None:
        time = Time(measures.cycles / HZ * 1000, 0.0)
        energy = f"{supply.energy(time.milliseconds):,.4g} µJ"
    else:
        return measures
    told = f"{measures.time}; {energy} ({supply})"
    return replace(measures, time=told, microjoules=supply.energy(time.milliseconds))


def all_timed(results: Sequence[CaseResult], path: str | None) -> list[CaseResult]:
    """The results by the calibration in a file, in their ``result.json`` too; None: as they are."""
    if not path:
        return list(results)
    calibration = Calibration.from_file(Path(path))
    found = [timed(result, calibration) for result in results]
    for result in found:
        if result.evidence.console is not None:
            write_result(result.evidence.console.parent, result)
    return found
