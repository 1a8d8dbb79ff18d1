"""Run an image to its end and collect the observations; :mod:`.judge` judges them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from harness.base.clock import Deadline
from harness.base.errors import FirmwareFailed, Unsupported, UsageError
from harness.base.findings import Finding, Kind, Topic
from harness.base.text import count_of
from harness.case.case import NEVER, Case
from harness.case.endings import FATAL_STOPS, at_rest, declared, has_all_results, has_ended
from harness.case.feed import Feeder
from harness.case.interpreters import arena_findings, models_given
from harness.case.invocations import NO_INVOCATIONS, invocations_of
from harness.case.last_resorts import LAST_RESORTS, last_resort, watched_functions
from harness.case.observation import Observation
from harness.case.overruns import Overruns
from harness.case.steps import take_steps
from harness.case.stillness import MAIN, with_causes
from harness.case.tap import Tap, out_of_time
from harness.case.target_counts import TargetCounter
from harness.elf import Image
from harness.elf.demangle import short_name
from harness.elf.interpreter import ALLOCATE, INPUT, INVOKE, OUTPUT, constructors
from harness.elf.models import incomplete_copy
from harness.model import Model
from harness.targets.base import ConsoleMatch, Fault, Stop
from harness.targets.pins import Press
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
#: Seconds of wall time for second runs that explain a fault.
_REPEATED = 20.0
#: Part of the time after the end that a handler must have executed to be stuck: times are rounded.
_ALL_OF_IT = 0.99


class Observer:
    """Watches an image in a session: what it prints, which functions it calls, what it leaves.

    The console is kept in ``recording``, by default in temporary files. With ``image`` its calls of
    ``Invoke()`` and of functions in which firmware gives up are recorded, if the target can. With
    ``measures`` memory is read when the image prints figures of it.
    """

    def __init__(
        self,
        session: Session,
        console: Console,
        image: Image | None = None,
        presses: Sequence[Press] = (),
        *,
        measures: bool = True,
    ) -> None:
        self.session, self.image, self.console = session, image, console
        self.overruns: Overruns | None = None
        self.functions = self._watch(session, image) if image is not None else None
        self.counter = None
        if image is not None and self.functions is not None and measures:
            self.counter = TargetCounter(session, image, console)
        look = self.counter.look if self.counter is not None else None
        self.tap = Tap(session, console, presses, look)

    def _watch(self, session: Session, image: Image) -> dict[int, str] | None:
        """Record calls of main(), of the interpreter and of functions in which firmware gives up.

        Returns address -> name of these functions; None if the target cannot record calls.
        """
        functions = watched_functions(image, (*LAST_RESORTS, INVOKE, ALLOCATE, INPUT, OUTPUT, MAIN))
        functions |= constructors(image)
        try:
            if session.stops_exactly:
                self.overruns = Overruns(session, image, functions)
                session.watch_calls(functions, self.overruns.seen)
            else:
                session.watch_calls(functions)
        except Unsupported:
            return None
        return functions

    def seen(self, stop: Stop, *, last: Stop | None = None, provoked: int = 0) -> Observation:
        """What was observed so far; ``ended`` is not decided yet.

        The run stopped with ``stop``, and after the time after its end with ``last``. The first
        ``provoked`` faults are the tests' own.
        """
        session, gave_up, invocations = self.session, None, NO_INVOCATIONS
        models: tuple[int, ...] = ()
        findings = tuple(session.findings)
        if self.image is not None and self.functions:
            gave_up = _last_resort(session, self.image, self.functions)
            invocations = invocations_of(session, self.functions, self.image)
            calls = session.calls
            findings += arena_findings(calls, self.functions, self.image)
            models = models_given(calls, self.functions)
        if self.overruns is not None:
            findings += self.overruns.findings
        return Observation(
            self.console,
            stop,
            ended=False,
            complaint="",
            where="",
            counters=session.counters,
            faults=faults_with_stacks(session, self.image)[provoked:],
            target_findings=findings,
            at_rest=at_rest(session, last or stop),
            last_resort=gave_up,
            invocations=invocations,
            models=models,
            quiet=_quiet(session),
            not_pressed=self.tap.not_pressed,
        )

    def located(self, seen: Observation) -> Observation:
        """``seen`` with the place of the core, all call stacks, and why it does not go on.

        Without an image, or access to core and memory, there is at most a place.
        """
        try:
            state = self.session.core_state if self.image is not None else None
        except Unsupported:
            state = None
        if self.image is None or state is None:
            return replace(seen, where=self.session.where())
        reporter = _reporter(self.session, self.image)
        seen = replace(seen, where=reporter.place(state), stacks=reporter.threads(state))
        return with_causes(seen, self.session, self.image, state)


def observe(
    session: Session,
    case: Case,
    inputs: Sequence[Sequence[bytes]] = (),
    recording: Recording | None = None,
    image: Image | None = None,
    *,
    explains: bool = True,
) -> Observation:
    """Run the image of ``session`` for ``case``, and feed ``inputs`` through the console.

    ``explains``: a fault is run again, to find where its bad pointer came from.
    """
    console = Console(scrapers_of(case), recording, case.expect.lines_absent)
    observer = Observer(session, console, image, case.presses)
    tap, deadline = observer.tap, session.deadline(case.timeout, guard=case.guard)
    feeder = Feeder(tap, deadline) if inputs and not case.outputs else None
    complaint = _feed(feeder, inputs) if feeder is not None else ""
    missed = take_steps(tap, case.steps, deadline) if case.steps else ""
    # A failed exchange ends the run; the aftermath collects the image's last lines.
    stop, provoked = out_of_time(deadline) or Stop.CONDITION, 0
    if not complaint:
        counter = observer.counter if not case.reads_text else None
        stop, provoked = _run_to_end(tap, case, deadline, counter)
    last = stop
    if stop is Stop.CONDITION and not console.flooded:
        last = _watch_end(tap, case, deadline)
        stop = last if last in FATAL_STOPS else stop
    if last in (Stop.IDLE, Stop.SYSTEM_OFF):
        console.cut_line(tap.session.counters.virtual_seconds or 0.0)  # no more of it will come
    seen = replace(
        observer.seen(stop, last=last, provoked=provoked),
        complaint=complaint,
        sent=tuple(feeder.sent) if feeder is not None else None,
        missed_step=missed,
        stuck=is_stuck(last, session.handler_seconds or 0.0, case.observe_after),
    )
    if explains and feeder is None and not (case.steps or case.presses):
        seen = replace(seen, faults=with_origin(session, image, seen.faults))
    if image is not None and case.model is not None:
        copied = _incomplete_model(session, image, case.model, seen)
        seen = replace(seen, target_findings=(*copied, *seen.target_findings))
    blind = observer.functions is None and seen.at_rest is None
    seen = replace(seen, ended=has_ended(case, seen, last, blind=blind))
    # Reading line tables takes longer than a short run, so only an image that failed is located.
    if not seen.ended or (blind and console.gave_up):
        seen = observer.located(seen)
        seen = replace(seen, awaited=bool(seen.unwritten) and _is_read(case, seen.unwritten))
    console.finish(session.console[-1].time if session.console else 0.0)
    counter, functions = observer.counter, observer.functions or {}
    return replace(seen, measured=counter.measured(functions)) if counter is not None else seen


def is_stuck(stop: Stop | None, seconds: float, watched: float) -> bool:
    """Whether a handler, in which the core is for ``seconds``, executes for ever.

    It does if it has executed for all of the ``watched`` seconds, and does not rest.
    """
    return stop is not Stop.IDLE and seconds >= watched * _ALL_OF_IT


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


def with_origin(
    session: Session, image: Image | None, faults: tuple[Fault, ...]
) -> tuple[Fault, ...]:
    """``faults``; the first with where its bad pointer came from, if a second run shows that."""
    first = faults[0] if faults else None
    if first is None or image is None or not first.by_value:
        return faults
    from harness.debug.origin import origin_of  # noqa: PLC0415 - few runs fault
    from harness.targets.simulator import SimulatorSession  # noqa: PLC0415

    machine = session.another() if isinstance(session, SimulatorSession) else None
    if machine is None:
        return faults
    raw = next(one for one in session.faults if one.executed == first.executed)
    try:
        origin = origin_of(raw, image, machine, Deadline(_REPEATED, guard=_REPEATED))
    finally:
        machine.close()
    if not origin:
        return faults
    report = first.report.replace(f"  {first.cause}\n", f"  {origin}\n", 1)
    return (replace(first, cause=origin, report=report, by_value=False), *faults[1:])


def _incomplete_model(
    session: Session, image: Image, model: Path, seen: Observation
) -> tuple[Finding, ...]:
    """A finding for a copy of the model in RAM that lacks its end, if the image failed."""
    refusals = (Topic.RESOLVER, Topic.INTERPRETER)
    failed = any(one.kind.topic in refusals for one in seen.console.findings)
    if not failed and not seen.faults:
        return ()
    ours = Model.from_file(model)
    try:
        found = incomplete_copy(image, ours, session.memory.read)
    except (Unsupported, UsageError):
        return ()
    if found is None:
        return ()
    name, count = short_name(found[0]), count_of(found[1], "byte")
    text = f"{name} holds only the first {count} of {ours.name}, which has {ours.size:,}"
    # It was so before all that it led to.
    return (Finding(Kind.MODEL_INCOMPLETE, text, name, time=0.0),)


def _reporter(session: Session, image: Image) -> StateReporter:
    from harness.debug.report import StateReporter  # noqa: PLC0415 - a passing run needs no call stack

    return StateReporter(image, session.power_on)


def _quiet(session: Session) -> float | None:
    return session.counters.seconds - session.console[-1].time if session.console else None


def scrapers_of(case: Case) -> list[Scraper]:
    """The scrapers of a case's results, tensors first, and one of its last line if it names one."""
    scrapers: list[Scraper] = [tensor_text(case)] if case.outputs else []
    scrapers += [scraper(case.scraper)] if case.scraper else []
    return scrapers + ([EndLine(case.last_line)] if case.last_line else [])


def _is_read(case: Case, text: str) -> bool:
    """Whether the case would read a result, or its end, in a line with ``text``."""
    console = Console(scrapers_of(case))
    console.feed(text.encode("latin-1") + b"\n")
    console.finish()
    return any(scraper.ended or scraper.results for scraper in console.scrapers)


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


def _watch_end(tap: Tap, case: Case, deadline: Deadline) -> Stop:
    """Run on after the end: later output and faults count, too."""
    guard = max(deadline.guard_remaining, 1.0)
    return tap.run(None, tap.session.deadline(case.observe_after, guard=guard))


def _done(console: Console, case: Case) -> bool:
    """Whether the run may stop: nothing more is expected."""
    complete = case.reads_text and case.end == NEVER and has_all_results(console, case)
    return declared(console) or console.gave_up or console.flooded or complete
