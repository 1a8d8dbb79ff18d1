"""An image run step by step in an open session, for Robot keywords, pytest and Python."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from harness import targets
from harness.base.clock import Deadline
from harness.base.closing import Closing
from harness.base.errors import CheckFailed, FirmwareFailed, UsageError
from harness.base.findings import FATAL, NOTES, Finding, Kind
from harness.base.platforms import BoardTable, board_table, board_with
from harness.case.case import Case
from harness.case.endings import HOW_IT_ENDED, last_resort, standstill
from harness.case.judge import findings_of
from harness.case.observe import (
    Observation,
    faults_with_stacks,
    place_and_stacks,
    scrapers_of,
    watch_calls,
)
from harness.case.outputs import OutputCheck, check_outputs
from harness.case.samples import elf_of
from harness.case.steps import LINE_END, Lines, LineSearch
from harness.case.tap import Tap, out_of_time
from harness.elf import Image, combined
from harness.model import Model
from harness.targets.base import ConsoleMatch, MemoryAccess, Stop
from harness.targets.opening import TargetPools
from harness.targets.pins import Pins
from harness.targets.session import Session
from harness.uart import Console
from harness.uart.recording import Recording
from harness.uart.records import pattern
from harness.uart.scrapers.pattern import compile_regex

if TYPE_CHECKING:
    import re2

_INFERENCE = ConsoleMatch(
    pattern("inference", "failed", "end") + rb"|AllocateTensors\(\) failed[^\n]*\n", lines=True
)


class Live(Closing):
    """An image on a target, run step by step; a context manager.

    All steps since the start or the last :meth:`reset` must together take no longer than
    ``case.timeout`` seconds on the target's clock. Otherwise a step raises
    :class:`FirmwareFailed`, with how the run ended and where the core was.
    """

    def __init__(
        self,
        case: Case,
        session: Session,
        image: Image | None = None,
        echo: Callable[[bytes], None] | None = None,
    ) -> None:
        self.case = case
        self.session = session
        scrapers = scrapers_of(case)[:1] if case.reads_text else []
        self.console = Console(scrapers, Recording(echo=echo))
        self._tap = Tap(session, self.console)
        self._deadline = self._new_deadline()
        self._lines = Lines(session)
        self._image = image
        self._functions = watch_calls(session, image) if image is not None else None
        self._stop: Stop | None = None  # of the last step; None before the first
        self._pin_resets = 0  # by `reset`, not by the firmware

    @classmethod
    def open(
        cls,
        case: Case,
        shared: TargetPools | None = None,
        echo: Callable[[bytes], None] | None = None,
    ) -> Live:
        """Load the image of ``case`` on its target; ``echo`` is called with console output.

        ``shared`` is what several sessions have in common, a Renode for example.

        Raises :class:`EnvironmentMissing` if this machine has no such target.
        """
        given = case.target_options
        options = shared.options(case.target, given) if shared is not None else dict(given)
        image = combined.read(elf_of(case), case.also_load, case.chip)
        return cls(case, targets.open_target(case.target, image, **options), image, echo)

    def close(self) -> None:
        """End the session; safe to call twice."""
        self.session.close()

    @property
    def memory(self) -> MemoryAccess:
        """The target's address space: ``read(address, size)``, ``write(address, data)``."""
        return self.session.memory

    @property
    def kit(self) -> BoardTable:
        """The board with the image's chip, for the names of pins."""
        return board_table() if self._image is None else board_with(self._image.chip.key)

    @property
    def pins(self) -> Pins:
        """Buttons and LEDs: ``drive(pin, level)``, ``read(pin)``; Unsupported on a real board."""
        return self.session.pins

    @property
    def inferences(self) -> int:
        """Number of inferences on the console so far, over all boots."""
        scraped = self.console.scrapers
        return len(scraped[0].results) if scraped else len(self.console.of_kind("inference"))

    @property
    def findings(self) -> list[Finding]:
        """The findings so far, of the console and of the processor, without notes.

        Faults, lockups, resets and calls of ``abort()`` and the like count as in a case. Raises
        :class:`UsageError` before the first step, when nothing has been checked.
        """
        return [finding for finding in self._all_findings() if finding.kind not in NOTES]

    def _all_findings(self) -> list[Finding]:
        session, stop = self.session, self._last_stop()
        counters = session.counters
        gave_up = None
        if self._image is not None and self._functions:
            gave_up = last_resort(session, self._image, self._functions)
        seen = Observation(
            self.console,
            stop,
            finished=False,
            complaint="",
            where="",
            counters=replace(counters, resets=counters.resets - self._pin_resets),
            faults=faults_with_stacks(session, self._image),
            findings=tuple(session.findings),
            last_resort=gave_up,
        )
        findings = list(findings_of(seen, None, self._image))
        if stop is Stop.LOCKUP and not seen.faults:
            findings.append(Finding(Kind.FAULT, HOW_IT_ENDED[stop]))
        return findings

    @property
    def ended(self) -> bool:
        """Whether the image has ended, with a record or a fatal message."""
        return self.console.ended or bool(self.console.of_kind("failed")) or self.console.gave_up

    def transcript(self) -> str:
        """The console so far, line by line, with time stamps."""
        return self.console.transcript()

    def write(self, data: bytes) -> None:
        """Send ``data`` to the console's receiver; the target runs with the next step."""
        self.session.write(data)

    def reset(self) -> None:
        """Press the reset pin. The image starts again, and so does the time limit."""
        self._pin_resets += 1
        self.session.reset()
        self._deadline = self._new_deadline()

    def run_for(self, seconds: float) -> None:
        """Run for ``seconds`` on the target's clock, or until the image can run no further."""
        self._stop = self._tap.run(None, self._deadline.part(seconds))

    def wait_for(self, regex: str) -> re2._Match[str]:
        """Run until a line (or the beginning of one) matches ``regex``, an RE2 expression.

        The next call continues after the match. Returns the match, whose ``group()`` is that of
        :mod:`re`.
        """
        __tracebackhide__ = True
        search = LineSearch(self._lines, compile_regex(regex, "the regex to wait for"))
        self._until(search.done, LINE_END, f"no line matched {regex!r}")
        assert search.match is not None
        return search.match

    @property
    def call_stack(self) -> str:
        """The call stack of each thread, or of the core without a kernel; several lines.

        Raises :class:`Unsupported` on a target without access to core and memory,
        :class:`UsageError` without an image.
        """
        from harness.debug.report import StateReporter  # noqa: PLC0415 - few sessions need it

        if self._image is None:
            raise UsageError(
                "a call stack needs the image that runs", hint="give `elf` or a sample"
            )
        state = self.session.core_state
        return StateReporter(self._image, self.session.power_on).threads(state)

    def address(self, place: str | int) -> int:
        """Convert a number (``0x20000000``) or a symbol of the image to an address.

        Raises :class:`UsageError` for anything else.
        """
        try:
            return int(place, 0) if isinstance(place, str) else place
        except ValueError:
            symbol = self._image.symbol(str(place)) if self._image is not None else None
        if symbol is None:
            raise UsageError(f"{place!r} is neither an address nor a symbol of the image")
        return symbol.address & ~1 if symbol.kind == "function" else symbol.address

    def wait_for_inferences(self, count: int = 1) -> None:
        """Run until the image has done ``count`` inferences in all, at least one."""
        __tracebackhide__ = True
        if count < 1:
            raise UsageError(f"{count} inferences are not a check: wait for one at least")
        words = LINE_END if self.console.scrapers else _INFERENCE
        self._until(
            lambda: self.inferences >= count or self.ended,
            words,
            lambda: f"{self.inferences} of {count} inferences came",
        )
        if self.inferences < count:
            raise FirmwareFailed(f"{self.inferences} of {count} inferences came, then the end")

    def wait_for_end(self) -> None:
        """Run until the image's last record or a fatal message."""
        __tracebackhide__ = True
        self._until(lambda: self.ended, _INFERENCE, "the image did not come to its end")

    def check_outputs(self) -> OutputCheck:
        """Compare all outputs so far with the NumPy reference, bit by bit.

        Raises :class:`CheckFailed` if one differs or there is none, :class:`UsageError` before the
        first step.
        """
        __tracebackhide__ = True
        self._last_stop()
        model = Model.from_file(self.case.model) if self.case.model else None
        check = check_outputs(self.console, self.case, model)
        if check.problem or not check.compared:
            raise CheckFailed(f"{check.problem or 'nothing was compared'}\n{check.details}".strip())
        return check

    def check_reported(self, kind: Kind, subject: str = "") -> None:
        """Raise CheckFailed if there is no finding of ``kind`` (about ``subject``, if given)."""
        __tracebackhide__ = True
        findings = self._all_findings()
        if not any(one.kind is kind and subject in ("", one.subject) for one in findings):
            listed = ", ".join(f"{one.kind} {one.subject}".strip() for one in findings) or "nothing"
            raise CheckFailed(f"no {kind} {subject}".strip() + f"; found: {listed}")

    def _last_stop(self) -> Stop:
        """Why the last step stopped; raise :class:`UsageError` before the first one."""
        if self._stop is None:
            raise UsageError(
                "nothing has run yet, so there is nothing to check",
                hint="wait for a line or an inference first, or run for some time",
            )
        return self._stop

    def _new_deadline(self) -> Deadline:
        return self.session.deadline(self.case.timeout, guard=self.case.guard)

    def _until(
        self, done: Callable[[], bool], words: ConsoleMatch, problem: str | Callable[[], str]
    ) -> None:
        """Run until ``done()``; raise FirmwareFailed with ``problem`` if that does not happen."""
        __tracebackhide__ = True
        stop = self._tap.until(lambda: done() or self.console.flooded, words, self._deadline)
        self._stop = stop
        if done():
            return
        ending = str(
            standstill(self.session, stop) or HOW_IT_ENDED[out_of_time(self._deadline) or stop]
        )
        if self.console.flooded:
            ending = "it printed more than is read of a console"
        place = place_and_stacks(self.session, self._image)[0] or "an unknown place"
        message = problem if isinstance(problem, str) else problem()
        fatal = [finding.message for finding in self.findings if finding.kind in FATAL]
        raise FirmwareFailed("; ".join([f"{message}: {ending}", *fatal[:1], f"pc is in {place}"]))
