"""The figures of a run that left a console, without a target."""

from __future__ import annotations

from harness.case.case import Case
from harness.case.evidence import NOT_MEASURED, Measured
from harness.case.measure import measure
from harness.case.observation import Observation
from harness.case.result import Measures
from harness.elf import Image
from harness.targets.base import Counters, Stop
from harness.uart import Console


def figures_of(
    image: Image, console: Console, counted: Measured = NOT_MEASURED, target: str = "simulator"
) -> Measures:
    """What is measured of a run on ``target``."""
    counters = Counters(target, None, None, None, 9.0)
    seen = Observation(console, Stop.CONDITION, True, "", "", counters, (), (), measured=counted)
    return measure(Case("own", targets=(target,)), image, None, seen)
