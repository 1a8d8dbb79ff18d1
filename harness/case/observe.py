"""Run an image to its end and collect the observations; :mod:`.judge` judges them.

An image ends with its ``end`` or ``failed`` record, with the last line that its scraper or its case
names, or by coming to rest for good in thread mode: asleep or at a branch to itself, with nothing
that could wake or interrupt it. The deadline is not an end. Firmware that never ends on purpose
(``end = "never"``) runs on for a while after the expected results.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from harness.base.clock import Deadline
from harness.base.errors import FirmwareFailed, Unsupported, UsageError
from harness.base.findings import Finding
from harness.case.case import NEVER, Case
from harness.case.endings import (
    LAST_RESORTS,
    Standstill,
    last_resort,
    standstill,
    watched_functions,
)
from harness.case.feed import Feeder
from harness.case.steps import take_steps
from harness.case.tap import Tap, out_of_time
from harness.case.target_counts import INVOKE, NO_COUNTS, TargetCounter, TargetCounts
from harness.elf import Image
from harness.model import Model
from harness.targets.base import ConsoleMatch, Counters, Fault, Stop
from harness.targets.session import Session
from harness.uart import Console, Scraper, scraper
from harness.uart.recording import Recording
from harness.uart.records import pattern
from harness.uart.scrapers import EndLine, TensorText

if TYPE_CHECKING:
    from harness.debug.report import StateReporter

#: Lines after which a run stops to check whether the image has ended.
_LAST_WORDS = rb"(?:AllocateTensors\(\) failed|Halting system)[^\n]{0,300}\n"
_CLOSING = pattern("end", "failed") + b"|" + _LAST_WORDS
#: Records with figures of memory, which is read when the image prints them.
_FIGURES = pattern("arena", "stack")
#: The first inference: the arena is read after it, too.
_INFERENCE = pattern("inference")
#: Seconds on the target's clock after the image's end, for a log thread or a fault dump.
_AFTERMATH = 0.05
#: Stops that replace the image's own end if they follow it.
_FATAL_STOPS = (Stop.LOCKUP, Stop.RESET_LOOP)


@dataclass(frozen=True)
class Observation:
    """The observations of one run, which :mod:`.judge` judges."""

    console: Console
    stop: Stop
    finished: bool  # the image ended by itself, or ran as long as the case requires
    complaint: str  # why feeding the image failed; "" if it did not
    where: str  # place of the core at the end; "" for an image that finished
    counters: Counters
    faults: tuple[Fault, ...]  # except those that its tests provoked
    findings: tuple[Finding, ...]  # of the target
    sent: tuple[int, ...] | None = None  # transmissions of each host record; None: there were none
    standing: Standstill | None = None  # state of a core at rest for good
    last_resort: Finding | None = None  # the function in which the firmware gave up
    quiet: float | None = None  # seconds on the target's clock since it last printed
    counted: TargetCounts = NO_COUNTS  # the target's measurements
    stacks: str = ""  # call stacks at the end, several lines; "" for an image that finished
    missed_step: str = ""  # the step of the host that the image did not answer; "" for none


def observe(
    session: Session,
    case: Case,
    inputs: Sequence[Sequence[bytes]] = (),
    recording: Recording | None = None,
    image: Image | None = None,
) -> Observation:
    """Run the image of ``session`` for ``case``, and feed ``inputs`` through the console.

    The console is kept in ``recording``, by default in temporary files. With ``image`` its calls of
    ``Invoke()`` and of functions in which firmware gives up are recorded, if the target can.
    """
    functions = watch_calls(session, image) if image is not None else None
    counting = None
    console = Console(scrapers_of(case), recording, case.expect.lines_absent)
    if image is not None and functions is not None:
        counting = TargetCounter(session, image, console)
    tap = Tap(session, console, case.presses, counting.look if counting is not None else None)
    deadline = session.deadline(case.timeout, guard=case.guard)
    feeder = Feeder(tap, deadline) if inputs and not case.outputs else None
    complaint = _feed(feeder, inputs) if feeder is not None else ""
    missed = take_steps(tap, case.steps, deadline) if case.steps else ""
    # A failed exchange ends the run; the aftermath collects the image's last lines.
    stop, provoked = out_of_time(deadline) or Stop.CONDITION, 0
    if not complaint:
        counter = counting if not case.reads_text else None
        stop, provoked = _run_to_end(tap, case, deadline, counter)
    last = stop
    if stop is Stop.CONDITION and not console.flooded:
        last = _run_on(tap, case, deadline)
        stop = last if last in _FATAL_STOPS else stop
    standing = standstill(session, last)
    in_handler = standing is not None and bool(standing.exception)
    blind = functions is None and standing is None
    finished = (
        not in_handler and stop not in _FATAL_STOPS and _finished(console, case, last, blind=blind)
    )
    where, stacks = "", ""
    # Reading line tables takes longer than a short run, so only an image that failed is located.
    if not finished or (blind and console.gave_up):
        where, stacks = place_and_stacks(session, image)
    console.finish(session.console[-1].time if session.console else 0.0)
    return Observation(
        console,
        stop,
        finished,
        complaint,
        where,
        counters=session.counters,
        faults=faults_with_stacks(session, image)[provoked:],
        findings=tuple(session.findings),
        sent=tuple(feeder.sent) if feeder is not None else None,
        standing=standing,
        last_resort=_last_resort(session, image, functions) if image and functions else None,
        quiet=_quiet(session),
        counted=counting.counted(functions or {}) if counting is not None else NO_COUNTS,
        stacks=stacks,
        missed_step=missed,
    )


def place_and_stacks(session: Session, image: Image | None) -> tuple[str, str]:
    """The place of the core with its callers, in a line, and the call stacks of all threads.

    Without an image, or on a target without access to core and memory, there are no stacks, and
    perhaps no place.
    """
    if image is None:
        return session.where(), ""
    try:
        state = session.core_state
    except Unsupported:
        return session.where(), ""
    reporter = _reporter(session, image)
    return reporter.place(state), reporter.threads(state)


def _last_resort(session: Session, image: Image, functions: dict[int, str]) -> Finding | None:
    """Where firmware gave up; if in a handler (k_panic), with the interrupted code."""
    found = last_resort(session, image, functions)
    if found is None:
        return None
    try:
        interrupted = _reporter(session, image).interrupted(session.core_state)
    except Unsupported:
        return found
    return replace(found, message=found.message + interrupted)


def faults_with_stacks(session: Session, image: Image | None) -> tuple[Fault, ...]:
    """The faults so far, with their call stacks if the image is known."""
    faults = tuple(session.faults)
    if image is None or not any(fault.state for fault in faults):
        return faults
    return tuple(map(_reporter(session, image).fault, faults))


def _reporter(session: Session, image: Image) -> StateReporter:
    from harness.debug.report import StateReporter  # noqa: PLC0415 - a passing run needs no call stack

    return StateReporter(image, session.power_on)


def _quiet(session: Session) -> float | None:
    now = session.counters.virtual_seconds
    return now - session.console[-1].time if now is not None and session.console else None


def watch_calls(session: Session, image: Image) -> dict[int, str] | None:
    """Record calls of ``Invoke()`` and of functions in which firmware gives up.

    Returns address -> name of these functions; None if the target cannot record calls.
    """
    functions = watched_functions(image, (*LAST_RESORTS, INVOKE))
    try:
        session.watch_calls(functions)
    except Unsupported:
        return None
    return functions


def scrapers_of(case: Case) -> list[Scraper]:
    """The scraper of the results of ``case``, and one of its last line if it names one."""
    scrapers: list[Scraper] = [scraper(case.scraper)] if case.scraper else []
    if case.outputs:
        scrapers = [tensor_text(case)]
    return scrapers + ([EndLine(case.last_line)] if case.last_line else [])


def tensor_text(case: Case) -> TensorText:
    """The scraper of the tensors that the image of ``case`` prints.

    Raises :class:`UsageError` if its regexes do not fit its model.
    """
    printed = case.printed
    if printed is None or case.model is None:
        raise UsageError("regexes of outputs need a model to compare with", hint="give `model`")
    return TensorText(printed, Model.from_file(case.model))


def _feed(feeder: Feeder, inputs: Sequence[Sequence[bytes]]) -> str:
    """Feed all inputs; return the reason if that fails, "" if it does not."""
    try:
        feeder.wait_ready()
        for number, tensors in enumerate(inputs):
            feeder.infer(number, tensors)
        feeder.done()
    except FirmwareFailed as failed:
        return failed.message
    return ""


def _run_to_end(
    tap: Tap, case: Case, deadline: Deadline, counter: TargetCounter | None = None
) -> tuple[Stop, int]:
    """Run to the image's end; return why the run stopped, and the number of provoked faults.

    Those are the faults up to the end of a test. The run stops for ``counter`` to read memory at
    records of figures, and after the first inference.
    """
    ends = [_CLOSING, *(one.end for one in tap.console.scrapers if one.end is not None)]
    provoked = 0

    def done() -> bool:
        nonlocal provoked
        if any(scraper.between_tests for scraper in tap.console.scrapers):
            provoked = len(tap.session.faults)
        return _done(tap.console, case)

    if counter is not None:
        ends.append(_FIGURES)
        first = _any([*ends, _INFERENCE])
        stop = tap.until(lambda: done() or counter.has_compared, first, deadline)
        if stop is not Stop.CONDITION or done():
            return stop, provoked
    return tap.until(done, _any(ends), deadline), provoked


def _any(patterns: Sequence[bytes]) -> ConsoleMatch:
    """Match a line that contains one of ``patterns``."""
    return ConsoleMatch(b"|".join(b"(?:" + one + b")" for one in patterns), lines=True)


def _run_on(tap: Tap, case: Case, deadline: Deadline) -> Stop:
    """Run on after the end: later output and faults count, too."""
    seconds = case.observe_after if case.reads_text else _AFTERMATH
    guard = max(deadline.guard_remaining, 1.0)
    return tap.run(None, tap.session.deadline(seconds, guard=guard))


def _done(console: Console, case: Case) -> bool:
    """Whether the run may stop: nothing more is expected."""
    complete = case.reads_text and case.end == NEVER and _has_all_results(console, case)
    return declared(console) or console.gave_up or console.flooded or complete


def declared(console: Console) -> bool:
    """Whether the image has printed its end."""
    by_record = console.ended or bool(console.of_kind("failed"))
    return by_record or any(scraper.ended for scraper in console.scrapers)


def _has_all_results(console: Console, case: Case) -> bool:
    if not case.expect.wants_outputs:
        return True
    return case.reads_text and len(console.scrapers[0].results) >= case.least_results


def _finished(console: Console, case: Case, stop: Stop, *, blind: bool) -> bool:
    """Whether the image ended by itself: it printed its end, or is at rest after all results.

    ``blind``: the target cannot see the core at rest, and a fatal message counts instead.
    """
    if declared(console):
        return True
    if console.flooded or (console.gave_up and case.expect.wants_outputs):
        return False
    no_last_line = all(scraper.end is None for scraper in console.scrapers) and not case.last_line
    at_rest = (
        stop in (Stop.IDLE, Stop.SYSTEM_OFF) or case.end == NEVER or (blind and console.gave_up)
    )
    return no_last_line and _has_all_results(console, case) and at_rest and stop is not Stop.GUARD
