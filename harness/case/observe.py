"""Run an image until it has ended; judge nothing.

An image ends with its ``end`` or ``failed`` record, with the last line that its scraper or its case
knows, or by standing still for good in thread mode: asleep or at a branch to itself, with nothing
that could wake or interrupt it. The deadline is not an end. Firmware that never ends on purpose
(``ends = false``) is watched for a while after the expected results.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from harness.base.clock import Deadline
from harness.base.errors import FirmwareFailed, Unsupported, UsageError
from harness.base.findings import Finding
from harness.case.case import Case
from harness.case.endings import (
    LAST_RESORTS,
    Standstill,
    last_resort,
    standstill,
    watched_functions,
)
from harness.case.feed import Feeder
from harness.case.tap import Tap, out_of_time
from harness.case.target_counts import INVOKE, NO_COUNTS, TargetCounter, TargetCounts
from harness.elf import Image
from harness.model import Model
from harness.targets.base import ConsoleMatch, Counters, Fault, Session, Stop
from harness.uart import Console, Scraper, scraper
from harness.uart.recording import Recording
from harness.uart.records import pattern
from harness.uart.scrapers import EndLine, TensorText

if TYPE_CHECKING:
    from harness.debug.report import Narrator

#: A run stops at these to check whether the image has ended.
_LAST_WORDS = rb"(?:AllocateTensors\(\) failed|Halting system)[^\n]{0,300}\n"
_CLOSING = pattern("end", "failed") + b"|" + _LAST_WORDS
#: Records at which memory is read.
_CLAIMS = pattern("arena", "stack")
#: The first of these ends what an arena is used for at least.
_FIRST = pattern("inference")
#: Seconds on the target's clock for what still follows (a log thread, a fault dump).
_AFTERMATH = 0.05
#: Ends that count even after the image's own end.
_GONE = (Stop.LOCKUP, Stop.RESET_LOOP)


@dataclass(frozen=True)
class Observation:
    """One run as it was seen; nothing is judged."""

    console: Console
    stop: Stop
    finished: bool  # the image came to its own end, or was watched as long as the case requires
    complaint: str  # why the exchange with the image broke off; "" if it did not
    where: str  # where the core was at the end, "" for an image that finished
    counters: Counters
    faults: tuple[Fault, ...]  # except those that its tests provoked
    findings: tuple[Finding, ...]  # the target's own
    sent: tuple[int, ...] | None = None  # how often each host record was sent; None: nothing was
    standing: Standstill | None = None  # how the core stands for good, if it does
    last_resort: Finding | None = None  # the function in which the firmware gave up
    quiet: float | None = None  # seconds on the target's clock since it last printed
    counted: TargetCounts = NO_COUNTS  # what the target counted of the image's own figures
    stacks: str = ""  # the call stacks at the end, several lines; "" for an image that finished


def observe(
    session: Session,
    case: Case,
    inputs: Sequence[Sequence[bytes]] = (),
    recording: Recording | None = None,
    image: Image | None = None,
) -> Observation:
    """Run the image of ``session`` for ``case``; ``inputs`` are fed through the console.

    The console is kept in ``recording``, by default in temporary files. With ``image`` the calls
    that it makes of its last resorts and of the interpreter are watched, if the target can.
    """
    functions = watch_calls(session, image) if image is not None else None
    counting = None
    console = Console(scrapers_of(case), recording, case.lines_absent)
    if image is not None and functions is not None:
        counting = TargetCounter(session, image, console)
    tap = Tap(session, console, case.presses, counting.look if counting is not None else None)
    deadline = session.deadline(case.timeout, guard=case.guard)
    feeder = Feeder(tap, deadline) if inputs and case.printed is None else None
    complaint = _feed(feeder, inputs) if feeder is not None else ""
    # A broken exchange ends the run; the image's last lines come in the aftermath.
    stop, provoked = out_of_time(deadline) or Stop.CONDITION, 0
    if not complaint:
        counter = counting if not case.reads_text else None
        stop, provoked = _listen(tap, case, deadline, counter)
    last = stop
    if stop is Stop.CONDITION and not console.flooded:
        last = _watch(tap, case, deadline)
        stop = last if last in _GONE else stop
    standing = standstill(session, last)
    in_handler = standing is not None and bool(standing.exception)
    blind = functions is None and standing is None
    finished = not in_handler and stop not in _GONE and _finished(console, case, last, blind=blind)
    where, stacks = "", ""
    # Reading line tables costs more than a short run. What went down is not told otherwise.
    if not finished or (blind and console.gave_up):
        where, stacks = where_it_stands(session, image)
    console.finish(session.console[-1].time if session.console else 0.0)
    return Observation(
        console,
        stop,
        finished,
        complaint,
        where,
        counters=session.counters,
        faults=told_faults(session, image)[provoked:],
        findings=tuple(session.findings),
        sent=tuple(feeder.sent) if feeder is not None else None,
        standing=standing,
        last_resort=_last_resort(session, image, functions) if image and functions else None,
        quiet=_quiet(session),
        counted=counting.counted(functions or {}) if counting is not None else NO_COUNTS,
        stacks=stacks,
    )


def where_it_stands(session: Session, image: Image | None) -> tuple[str, str]:
    """Where the core is, in a line with its callers; and the call stacks of all threads.

    Without an image, or on a target that cannot look inside, only the place, or nothing.
    """
    if image is None:
        return session.where(), ""
    try:
        state = session.core_state
    except Unsupported:
        return session.where(), ""
    narrator = _narrator(session, image)
    return narrator.place(state), narrator.threads(state)


def _last_resort(session: Session, image: Image, functions: dict[int, str]) -> Finding | None:
    """Where firmware has given up; in a handler (k_panic), with what that interrupted."""
    found = last_resort(session, image, functions)
    if found is None:
        return None
    try:
        interrupted = _narrator(session, image).interrupted(session.core_state)
    except Unsupported:
        return found
    return replace(found, message=found.message + interrupted)


def told_faults(session: Session, image: Image | None) -> tuple[Fault, ...]:
    """The faults so far; with their call stacks, if the image is known."""
    faults = tuple(session.faults)
    if image is None or not any(fault.state for fault in faults):
        return faults
    return tuple(map(_narrator(session, image).fault, faults))


def _narrator(session: Session, image: Image) -> Narrator:
    from harness.debug.report import Narrator  # noqa: PLC0415 - a good run needs no call stack

    return Narrator(image, session.power_on)


def _quiet(session: Session) -> float | None:
    now = session.counters.virtual_seconds
    return now - session.console[-1].time if now is not None and session.console else None


def watch_calls(session: Session, image: Image) -> dict[int, str] | None:
    """Watch what the verdict depends on; None if the target cannot look inside."""
    functions = watched_functions(image, (*LAST_RESORTS, INVOKE))
    try:
        session.watch_calls(functions)
    except Unsupported:
        return None
    return functions


def scrapers_of(case: Case) -> list[Scraper]:
    """The scraper that reads the results of ``case``, and one for its last line if it names it."""
    scrapers: list[Scraper] = [scraper(case.scraper)] if case.scraper else []
    if case.printed is not None:
        scrapers = [tensor_text(case)]
    return scrapers + ([EndLine(case.ends_at)] if case.ends_at else [])


def tensor_text(case: Case) -> TensorText:
    """The reader of the tensors that the image of ``case`` prints.

    Raises :class:`UsageError` if its regexes do not fit its model.
    """
    if case.printed is None or case.model is None:
        raise UsageError("regexes of outputs need a model to compare with", hint="give `model`")
    return TensorText(case.printed, Model.from_file(case.model))


def _feed(feeder: Feeder, inputs: Sequence[Sequence[bytes]]) -> str:
    """Feed all inputs; the reason if the exchange breaks off, "" if it does not."""
    try:
        feeder.wait_ready()
        for number, tensors in enumerate(inputs):
            feeder.infer(number, tensors)
        feeder.done()
    except FirmwareFailed as failed:
        return failed.message
    return ""


def _listen(
    tap: Tap, case: Case, deadline: Deadline, counter: TargetCounter | None = None
) -> tuple[Stop, int]:
    """Run to the image's end; also gives how many faults its tests had provoked by then.

    ``counter`` reads memory at the records that claim figures, and after the first inference.
    """
    ends = [_CLOSING, *(one.end for one in tap.console.scrapers if one.end is not None)]
    provoked = 0

    def over() -> bool:
        nonlocal provoked
        if any(scraper.between_tests for scraper in tap.console.scrapers):
            provoked = len(tap.session.faults)
        return _over(tap.console, case)

    if counter is not None:
        ends.append(_CLAIMS)
        first = _any([*ends, _FIRST])
        stop = tap.until(lambda: over() or counter.has_compared, first, deadline)
        if stop is not Stop.CONDITION or over():
            return stop, provoked
    return tap.until(over, _any(ends), deadline), provoked


def _any(patterns: Sequence[bytes]) -> ConsoleMatch:
    """A line in which one of ``patterns`` is."""
    return ConsoleMatch(b"|".join(b"(?:" + one + b")" for one in patterns), lines=True)


def _watch(tap: Tap, case: Case, deadline: Deadline) -> Stop:
    """Run on after the end: what comes then counts too."""
    seconds = case.watch if case.reads_text else _AFTERMATH
    guard = max(deadline.guard_remaining, 1.0)
    return tap.run(None, tap.session.deadline(seconds, guard=guard))


def _over(console: Console, case: Case) -> bool:
    """True when there is nothing more to wait for, good or bad."""
    watched = case.reads_text and not case.ends and _enough(console, case)
    return declared(console) or console.gave_up or console.flooded or watched


def declared(console: Console) -> bool:
    """True if the image itself has printed its end."""
    by_record = console.ended or bool(console.of_kind("failed"))
    return by_record or any(scraper.ended for scraper in console.scrapers)


def _enough(console: Console, case: Case) -> bool:
    if not case.expected.outputs:
        return True
    wanted = max(case.inferences, len(case.values))
    return case.reads_text and len(console.scrapers[0].results) >= wanted


def _finished(console: Console, case: Case, stop: Stop, *, blind: bool) -> bool:
    """True if the image came to its own end: printed it, or stands after all expected results.

    A target that is ``blind`` to how the core stands takes the image's last words for that.
    """
    if declared(console):
        return True
    if console.flooded or (console.gave_up and case.expected.outputs):
        return False
    wordless = all(scraper.end is None for scraper in console.scrapers) and not case.ends_at
    still = stop in (Stop.IDLE, Stop.SYSTEM_OFF) or not case.ends or (blind and console.gave_up)
    return wordless and _enough(console, case) and still and stop is not Stop.GUARD
