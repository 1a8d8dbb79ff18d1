"""Run an image until it has ended; judge nothing.

An image ends with its ``end`` or ``failed`` record, with the last line that its scraper or its case
knows, or asleep with nothing that can wake it. The deadline is not an end. Firmware that never ends
on purpose (``ends = false``) is watched for a while after the results that were asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from harness.case.feed import Feeder, Tap, out_of_time
from harness.case.spec import Case
from harness.deadline import Deadline
from harness.errors import FirmwareFailed
from harness.findings import Finding
from harness.targets.base import ConsoleMatch, Counters, Fault, Session, Stop
from harness.uart import Console, Scraper, scraper
from harness.uart.capture import Recording
from harness.uart.records import pattern
from harness.uart.scrapers import EndLine

#: A run stops at these to check whether the image has ended.
_LAST_WORDS = rb"(?:AllocateTensors\(\) failed|Halting system)[^\n]{0,300}\n"
_CLOSING = pattern("end", "failed") + b"|" + _LAST_WORDS
#: Seconds on the target's clock for what still follows (a log thread, a fault dump).
_AFTERMATH = 0.05
#: What counts even after the image's own end.
_GONE = (Stop.LOCKUP, Stop.RESET_LOOP)


@dataclass(frozen=True)
class Observation:
    """What a run left behind."""

    console: Console
    stop: Stop
    finished: bool  # the image came to its own end, or was watched as the case asks
    complaint: str  # why the exchange with the image broke off; "" if it did not
    where: str  # where the core was at the end, "" for an image that finished
    counters: Counters
    faults: tuple[Fault, ...]  # except those that its tests provoked
    findings: tuple[Finding, ...]  # the target's own
    sent: tuple[int, ...] | None = None  # how often each host record was sent; None: nothing was


def observe(
    session: Session,
    case: Case,
    inputs: Sequence[Sequence[bytes]] = (),
    recording: Recording | None = None,
) -> Observation:
    """Run the image of ``session`` as ``case`` asks; ``inputs`` are fed through the console.

    The console is kept in ``recording``, by default in temporary files.
    """
    console = Console(scrapers_of(case), recording, case.lines_absent)
    tap = Tap(session, console, case.presses)
    deadline = session.deadline(case.timeout, guard=case.guard)
    complaint = ""
    feeder = Feeder(tap, deadline) if inputs else None
    if feeder is not None:
        try:
            _feed(feeder, inputs)
        except FirmwareFailed as failed:
            complaint = failed.message
    # A broken exchange ends the run; the image's last lines come in the aftermath.
    stop, provoked = out_of_time(deadline) or Stop.CONDITION, 0
    if not complaint:
        stop, provoked = _listen(tap, case, deadline)
    if stop is Stop.CONDITION and not console.flooded:
        stop = _watch(tap, case, deadline)
    finished = stop not in _GONE and _finished(console, case, stop)
    where = "" if finished else session.where()  # reading line tables costs more than a short run
    console.finish(session.console[-1].time if session.console else 0.0)
    return Observation(
        console,
        stop,
        finished,
        complaint,
        where,
        session.counters,
        tuple(session.faults)[provoked:],
        tuple(session.findings),
        tuple(feeder.sent) if feeder is not None else None,
    )


def scrapers_of(case: Case) -> list[Scraper]:
    """The scraper that reads the results of ``case``, and one for its last line if it names it."""
    scrapers = [scraper(case.scraper)] if case.scraper else []
    return scrapers + ([EndLine(case.ends_at)] if case.ends_at else [])


def _feed(feeder: Feeder, inputs: Sequence[Sequence[bytes]]) -> None:
    feeder.wait_ready()
    for number, tensors in enumerate(inputs):
        feeder.infer(number, tensors)
    feeder.done()


def _listen(tap: Tap, case: Case, deadline: Deadline) -> tuple[Stop, int]:
    """Run to the image's end; also gives how many faults its tests had provoked by then."""
    ends = [_CLOSING, *(one.end for one in tap.console.scrapers if one.end is not None)]
    words = ConsoleMatch(b"|".join(b"(?:" + end + b")" for end in ends), lines=True)
    provoked = 0

    def over() -> bool:
        nonlocal provoked
        if any(scraper.between_tests for scraper in tap.console.scrapers):
            provoked = len(tap.session.faults)
        return _over(tap.console, case)

    return tap.until(over, words, deadline), provoked


def _watch(tap: Tap, case: Case, deadline: Deadline) -> Stop:
    """Run on after the end: what comes then counts too."""
    seconds = case.watch if case.scraper else _AFTERMATH
    guard = max(deadline.guard_remaining, 1.0)
    stop = tap.run(None, tap.session.deadline(seconds, guard=guard))
    return stop if stop in _GONE else Stop.CONDITION


def _over(console: Console, case: Case) -> bool:
    """True when there is nothing more to wait for, good or bad."""
    watched = bool(case.scraper) and not case.ends and _enough(console, case)
    return _declared(console) or console.gave_up or console.flooded or watched


def _declared(console: Console) -> bool:
    """True if the image itself has printed its end."""
    by_record = console.ended or bool(console.of_kind("failed"))
    return by_record or any(scraper.ended for scraper in console.scrapers)


def _enough(console: Console, case: Case) -> bool:
    return len(console.scrapers[0].results) >= max(case.inferences, len(case.values))


def _finished(console: Console, case: Case, stop: Stop) -> bool:
    """True if the image came to its own end: said so, or sleeps after all that was asked for."""
    if _declared(console):
        return True
    if not case.scraper or console.gave_up or console.flooded:
        return False
    wordless = console.scrapers[0].end is None and not case.ends_at
    return wordless and _enough(console, case) and (stop is Stop.IDLE or not case.ends)
