"""Uses of uninitialised memory, found by two runs with different contents of RAM and registers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from harness.base.findings import Finding, Kind
from harness.base.power_on import BOTH_SEEDS, BOTH_WORD, name_of
from harness.base.text import differing_line
from harness.case.case import Case
from harness.targets.base import Stop
from harness.targets.registry import target
from harness.targets.session import Session

#: Target option with the seed of the contents at power-on.
OPTION = "power_on"


def runs_of(case: Case) -> list[Case]:
    """The runs of ``case``: itself, or one for each seed if its option is "both"."""
    if case.target_options.get(OPTION) != BOTH_WORD:
        return [case]
    return [replace(case, options={**case.options, OPTION: name_of(seed)}) for seed in BOTH_SEEDS]


def seeds_of(case: Case) -> str:
    """The seeds of the runs of ``case``, for its result; "" on a target without seeds."""
    option = target(case.target).option(OPTION)
    if option is None:
        return ""
    return " and ".join(
        str(run.target_options.get(OPTION, option.default)) for run in runs_of(case)
    )


@dataclass(frozen=True)
class Behaviour:
    """Observations of a run that must not depend on the contents of memory at power-on."""

    console: bytes
    stop: Stop
    instructions: int | None

    @classmethod
    def of(cls, session: Session, stop: Stop) -> Behaviour:
        """The behaviour of a session that ended with ``stop``."""
        console = b"".join(chunk.data for chunk in session.console)
        return cls(console, stop, session.counters.instructions)


def first_difference(runs: Sequence[Behaviour]) -> tuple[Finding, ...]:
    """A finding that names the first difference between two runs; () if there is none.

    Two runs that the wall-clock guard has stopped are not compared.
    """
    if len(runs) < 2:
        return ()
    one, other = runs
    if one.stop is other.stop is Stop.GUARD:
        return ()
    if (line := differing_line(one.console, other.console)) is not None:
        number, text, again = line
        return (_finding(f"console line {number} is", text, again, number),)
    if one.stop is not other.stop:
        return (_finding("the end of the run is", f"{one.stop}", f"{other.stop}"),)
    if one.instructions != other.instructions:
        counts = f"{one.instructions:,}", f"{other.instructions:,}"
        return (_finding("the count of instructions is", *counts),)
    return ()


def _finding(what: str, one: str, other: str, line: int = 0) -> Finding:
    seeds = " and ".join(map(name_of, BOTH_SEEDS))
    message = f"the image uses memory or registers before they are written: {what} {one} against"
    message = f"{message} {other} (power-on seeds {seeds})"
    return Finding(Kind.UNINITIALISED_MEMORY, message, "power-on", line)
