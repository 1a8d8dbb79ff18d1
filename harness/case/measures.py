"""The list of what is measured of a case: each figure's names, unit and source."""

from __future__ import annotations

from dataclasses import dataclass

from harness.case.result import CaseResult


@dataclass(frozen=True)
class Measure:
    """One figure of a case, smaller is better.

    ``field`` is its name in ``run --json``, ``name`` in a history ("": not kept there), ``label``
    as a property of a test in JUnit files ("": not shown there). ``source`` is "" if it depends on
    the target. ``noisy`` figures are compared with their earlier spread; all others are the same
    for the same image. ``gated``: a larger value is a regression, not just the machine's load.
    """

    name: str
    field: str
    unit: str
    source: str = ""
    noisy: bool = False
    gated: bool = True
    label: str = ""


MEASURES = (
    Measure("flash", "flash", "B", "elf", label="flash_bytes"),
    Measure("ram", "ram", "B", "elf", label="ram_bytes"),
    Measure("arena", "arena_used", "B", "uart", label="arena_used_bytes"),
    Measure("stack", "stack_used", "B", "uart", label="stack_used_bytes"),
    Measure("instructions", "instructions", "instr.", label="instructions_per_inference"),
    Measure("total_instructions", "total_instructions", "instr."),
    Measure("milliseconds", "milliseconds", "ms", "calibrated", label="milliseconds_per_inference"),
    # Follows from milliseconds or cycles, which are gated.
    Measure(
        "microjoules",
        "microjoules",
        "µJ",
        "calibrated",
        noisy=True,
        gated=False,
        label="microjoules_per_inference",
    ),
    Measure("cycles", "cycles", "cycles", "dwt", noisy=True, label="cycles_per_inference"),
    Measure("wall_seconds", "wall_seconds", "s", "host", noisy=True, gated=False),
    Measure("", "outputs_compared", "", gated=False, label="values_compared"),
)


def properties(result: CaseResult) -> dict[str, object]:
    """What was measured, by its names in JUnit files; what was not measured is left out."""
    values = result.to_json()
    shown = (measure for measure in MEASURES if measure.label)
    return {one.label: values[one.field] for one in shown if values[one.field] is not None}
