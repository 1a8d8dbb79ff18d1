"""Run an image until it has said what it has to say; judge nothing."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from harness.case.feed import Feeder, Tap, out_of_time
from harness.case.spec import Case
from harness.deadline import Deadline
from harness.errors import FirmwareFailed
from harness.findings import Finding
from harness.targets.base import Counters, Fault, Session, Stop
from harness.uart import Console, scraper

#: Nothing useful follows these (nor an `end` or `failed` record).
_LAST_WORDS = rb"AllocateTensors\(\) failed|Halting system|TESTS (?:PASSED|FAILED)~~~"
_CLOSING_RECORD = rb"~HIL \d+ (?:end|failed) "
#: Seconds on the target's clock for what still follows the last words (a log thread, a fault dump).
_AFTERMATH = 0.05


@dataclass(frozen=True)
class Observation:
    """What a run left behind."""

    console: Console
    stop: Stop
    finished: bool  # the image came to its own end, or gave all the results that were asked for
    complaint: str  # why the exchange with the image broke off; "" if it did not
    where: str  # where the core was at the end, "" for an image that finished
    counters: Counters
    faults: tuple[Fault, ...]
    findings: tuple[Finding, ...]  # the target's own


def observe(session: Session, case: Case, inputs: Sequence[Sequence[bytes]] = ()) -> Observation:
    """Run the image of ``session`` as ``case`` asks; ``inputs`` are fed through the console."""
    console = Console([scraper(case.scraper)] if case.scraper else [])
    tap = Tap(session, console)
    deadline = session.deadline(case.timeout, guard=case.guard)
    complaint = ""
    if inputs:
        try:
            _feed(Feeder(tap, deadline), inputs)
        except FirmwareFailed as failed:
            complaint = failed.message
    # A broken exchange ends the run: what the image still has to say comes in the aftermath.
    broken_off = out_of_time(deadline) or Stop.CONDITION
    stop = broken_off if complaint else _listen(tap, case, deadline)
    if stop is Stop.CONDITION:
        tap.run(None, session.deadline(_AFTERMATH, guard=max(deadline.guard_remaining, 1.0)))
    finished = _finished(console, case)
    where = "" if finished else session.where()  # reading line tables costs more than a short run
    console.finish(session.console[-1].time if session.console else 0.0)
    return Observation(
        console,
        stop,
        finished,
        complaint,
        where,
        session.counters,
        tuple(session.faults),
        tuple(session.findings),
    )


def _feed(feeder: Feeder, inputs: Sequence[Sequence[bytes]]) -> None:
    feeder.wait_ready()
    for number, tensors in enumerate(inputs):
        feeder.infer(number, tensors)
    feeder.done()


def _listen(tap: Tap, case: Case, deadline: Deadline) -> Stop:
    closing = b"(?:" + _CLOSING_RECORD + b"|" + _LAST_WORDS + rb")[^\n]*\n"
    patterns = [closing, *(one.stop for one in tap.console.scrapers)]
    pattern = b"|".join(b"(?:" + one + b")" for one in patterns)
    stop = Stop.CONDITION
    while stop is Stop.CONDITION and not _over(tap.console, case):
        stop = tap.run(pattern, deadline)
    return stop


def _over(console: Console, case: Case) -> bool:
    """True when nothing more is to be waited for, good or bad."""
    said = re.search(_LAST_WORDS, console.raw[-4096:])
    return _finished(console, case) or said is not None


def _finished(console: Console, case: Case) -> bool:
    if console.scrapers:
        one = console.scrapers[0]
        return one.finished or len(one.results) >= case.inferences
    return console.ended or bool(console.of_kind("failed"))
