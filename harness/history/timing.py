"""Milliseconds and microjoules of results, from a lab's calibration."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

from harness.base.errors import CheckFailed
from harness.base.platforms import DEFAULT_CHIP, chip_called
from harness.case.result import CaseResult, Measures
from harness.case.run import Calibrate
from harness.history.calibration import Calibration, InferenceTime, Supply, kernels


def timed(result: CaseResult, calibration: Calibration) -> CaseResult:
    """The result with calibrated milliseconds, or with the reason why it has none.

    A board's cycles need no calibration. If the lab's supply is known, the energy is added.
    """
    measures = _timed(result, calibration)
    if calibration.supply is not None:
        measures = _with_energy(measures, calibration.supply, _hertz(result))
    return replace(result, measures=measures)


def _timed(result: CaseResult, calibration: Calibration) -> Measures:
    measures = result.measures
    if measures.instructions is None:
        return measures
    if not measures.operators:
        reason = "not calibrated: the image does not print its operators' ticks"
        return replace(measures, time=f"{measures.time}; {reason}")
    try:
        time = calibration.time(kernels(result.to_json()), _hertz(result))
    except CheckFailed as refused:
        return replace(measures, time=f"{measures.time}; {refused.message}")
    return replace(measures, time=str(time), milliseconds=time.milliseconds,
                   milliseconds_spread=time.spread)  # fmt: skip


def _hertz(result: CaseResult) -> int:
    return chip_called(result.setup.chip or DEFAULT_CHIP).cpu_hz


def _with_energy(measures: Measures, supply: Supply, hertz: int) -> Measures:
    """Add the energy, if the time is known and not just a lower bound."""
    if measures.milliseconds is not None:
        time = InferenceTime(measures.milliseconds, measures.milliseconds_spread or 0.0)
        energy = f"{supply.energy(time.milliseconds):,.4g} µJ ± {supply.energy(time.spread):,.2g}"
    elif measures.cycles is not None:
        time = InferenceTime(measures.cycles / hertz * 1000, 0.0)
        energy = f"{supply.energy(time.milliseconds):,.4g} µJ"
    else:
        return measures
    text = f"{measures.time}; {energy} ({supply})"
    return replace(measures, time=text, microjoules=supply.energy(time.milliseconds))


def calibrate_with(path: str | None) -> Calibrate | None:
    """:func:`timed` with the calibration in the file at ``path``; None without a path.

    Raises :class:`UsageError` for a file that is not a calibration.
    """
    return partial(timed, calibration=Calibration.from_file(Path(path))) if path else None
