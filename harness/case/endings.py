"""The rule of the end: whether an image has ended, or hung.

An image ends with its ``end`` or ``failed`` record, with the last line that its scraper or its case
names, or by coming to rest for good, at any priority: asleep or at a branch to itself, with nothing
that could wake or interrupt it. What the case expects by name (a fault, a reset) is an end, too.
The deadline is not an end, and a handler that executes for ever is a hang. Firmware that never ends
on purpose (``end = "never"``) runs on for a while after the expected results.
"""

from __future__ import annotations

from collections.abc import Sequence

from harness.base.errors import Unsupported
from harness.base.exceptions import IPSR
from harness.base.findings import FATAL, Kind
from harness.case.case import NEVER, Case
from harness.case.observation import AtRest, Observation
from harness.targets.base import Stop
from harness.targets.session import Session
from harness.uart import Console

#: Stops that replace the image's own end if they follow it.
FATAL_STOPS = (Stop.LOCKUP, Stop.RESET_LOOP)
#: Findings that are an end if the case expects them by name.
_ENDS = FATAL | {Kind.REBOOTED}

_TO_ITSELF, _TO_ITSELF_WIDE = b"\xfe\xe7", b"\xff\xf7\xfe\xbf"
_WFE, _WFI = b"\x20\xbf", b"\x30\xbf"


def has_ended(case: Case, seen: Observation, last: Stop, *, blind: bool) -> bool:
    """Whether the image of ``seen`` has ended, or ran as long as its case requires.

    ``last`` is why the session stopped after it had been watched. ``blind``: the target cannot see
    the core at rest, and a fatal message counts instead.
    """
    console = seen.console
    if _ended_as_expected(case, seen):
        return True
    if seen.stuck or seen.stop in FATAL_STOPS:
        return False
    if declared(console):
        return True
    if console.flooded or (console.gave_up and case.wants_outputs):
        return False
    no_last_line = all(scraper.end is None for scraper in console.scrapers) and not case.last_line
    at_rest = (
        last in (Stop.IDLE, Stop.SYSTEM_OFF) or case.end == NEVER or (blind and console.gave_up)
    )
    return no_last_line and has_all_results(console, case) and at_rest and last is not Stop.GUARD


def hung(seen: Observation, missing: Sequence[str]) -> bool:
    """Whether the image did not end, or came to rest with expected findings still ``missing``.

    One that printed nothing has always hung.
    """
    if not seen.console.size:
        return True
    rests = seen.at_rest is not None and not declared(seen.console)
    return not seen.ended or (bool(missing) and rests)


def declared(console: Console) -> bool:
    """Whether the image has printed its end."""
    by_record = console.ended or bool(console.of_kind("failed"))
    return by_record or any(scraper.ended for scraper in console.scrapers)


def has_all_results(console: Console, case: Case) -> bool:
    """Whether all expected results have been read from text; records declare their end."""
    if not case.wants_outputs:
        return True
    pairs = zip(console.scrapers, case.least_of_each, strict=False)
    return case.reads_text and all(len(one.results) >= least for one, least in pairs)


def _ended_as_expected(case: Case, seen: Observation) -> bool:
    """Whether all results have come, and a fault or reset that the case expects by name."""
    if seen.console.flooded or not any(kind in _ENDS for kind, _ in case.expect.findings):
        return False
    inferences = len(seen.console.of_kind("inference"))
    complete = has_all_results(seen.console, case) or inferences >= case.least_results
    return complete and any(one.kind in _ENDS and case.expect.names(one) for one in seen.findings())


def at_rest(session: Session, stop: Stop) -> AtRest | None:
    """The state of the core at rest; None for another ``stop``.

    It is None, too, on a target without access to core and memory.
    """
    if stop not in (Stop.IDLE, Stop.SYSTEM_OFF):
        return None
    if stop is Stop.SYSTEM_OFF:
        return AtRest(branches=False, off=True)
    try:
        registers = session.registers
        pc = registers["pc"] & ~1
        code = session.memory.read(pc, 4)
        before = session.memory.read(max(pc - 2, 0), 2)
    except Unsupported:
        return None
    branches = code[:2] == _TO_ITSELF or code == _TO_ITSELF_WIDE
    # The pc of a sleeping core is behind its WFI or WFE.
    spins = code[:2] == _WFI and before not in (_WFI, _WFE)
    return AtRest(branches, registers["xpsr"] & IPSR, spins)
