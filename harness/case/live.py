"""An image run step by step in an open session, for Robot keywords, pytest and Python."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, SupportsIndex

from harness.base.clock import Deadline
from harness.base.closing import Closing
from harness.base.errors import CheckFailed, FirmwareFailed, HilError, UsageError
from harness.base.findings import FATAL, NOTES, Finding, Kind, Topic, in_order
from harness.base.hints import Hint, for_findings
from harness.base.platforms import BoardTable, board_table, board_with
from harness.case.case import Case
from harness.case.causes import in_sequence
from harness.case.endings import at_rest
from harness.case.hang import HOW_IT_ENDED, how_it_ended
from harness.case.observe import Observer, is_stuck, scrapers_of
from harness.case.outputs import OutputCheck, check_outputs
from harness.case.samples import elf_of
from harness.case.steps import LINE_END, Lines, LineSearch
from harness.case.tap import out_of_time
from harness.elf import Image, combined
from harness.model import Model
from harness.targets.base import ConsoleMatch, Elapsed, MemoryAccess, Stop
from harness.targets.opening import Targets, open_target
from harness.targets.pins import Pins
from harness.targets.session import Session
from harness.uart import Console
from harness.uart.recording import Recording
from harness.uart.records import pattern
from harness.uart.scrapers.pattern import compile_regex

if TYPE_CHECKING:
    import re2

    from harness.case.observation import Observation

_INFERENCE = ConsoleMatch(
    pattern("inference", "failed", "end") + rb"|AllocateTensors\(\) failed[^\n]*\n", lines=True
)
#: Seconds on the target's clock that a handler may still run when the session ends.
_HANDLER_SECONDS = 1.0
#: Findings after which AllocateTensors() fails.
_CAUSES_OF_ALLOCATION_FAILED = (
    Kind.MISSING_OPERATOR, Kind.MISSING_CUSTOM_OPERATOR, Kind.ARENA_TOO_SMALL, Kind.PREPARE_FAILED,
)  # fmt: skip
#: Whether a session must check something.
Checks = Literal["required", "none"]


class Live(Closing):
    """An image on a target, run step by step; a context manager.

    All steps since the start or the last :meth:`reset` must together take no longer than
    ``case.timeout`` seconds on the target's clock. Otherwise a step raises
    :class:`FirmwareFailed`, with how the run ended and where the core was.

    A session is judged when it ends, as a run is (:meth:`judge`). At the end of a ``with`` block
    that raises nothing this happens by itself.
    """

    def __init__(
        self,
        case: Case,
        session: Session,
        image: Image | None = None,
        echo: Callable[[bytes], None] | None = None,
        *,
        checks: Checks = "required",
    ) -> None:
        _refuse_keys_of_runs(case)
        self.case = case
        self.session = session
        scrapers = scrapers_of(case)[: len(case.least_of_each)]
        self.console = Console(scrapers, Recording(echo=echo), case.expect.lines_absent)
        self._observer = Observer(session, self.console, image, measures=False)
        self._deadline = self._new_deadline()
        self._lines = Lines(session)
        self._image = image
        self._stop: Stop | None = None  # of the last step; None before the first
        self._pin_resets = 0  # by `reset`, not by the firmware
        self._cut_lines: set[int] = set()  # console lines that `reset` has cut short
        self._checked = checks == "none" or bool(case.expect.findings or case.expect.lines_absent)
        self._taken: list[Finding] = []  # findings that an assertion has named
        self._ended = False
        self._failure: HilError | None = None  # what judge() raises once the session has ended

    @classmethod
    def open(
        cls,
        case: Case,
        shared: Targets | None = None,
        echo: Callable[[bytes], None] | None = None,
        *,
        checks: Checks = "required",
    ) -> Live:
        """Load the image of ``case`` on its target; ``echo`` is called with console output.

        ``shared`` is what several sessions have in common, a Renode for example. With ``checks``
        "none" the session may end without a check.

        Raises :class:`EnvironmentMissing` if this machine has no such target.
        """
        image = combined.read(elf_of(case), case.also_load, case.chip)
        if shared is None:
            session = open_target(case.target, image, **case.target_options)
        else:
            session = shared.open(case.target, image, case.target_options)
        return cls(case, session, image, echo, checks=checks)

    def __exit__(self, *error: object) -> None:
        if not any(error):
            self.judge()
        else:  # an error of the caller's own is never masked
            self.abandon()

    def abandon(self) -> None:
        """End the session without a judgement; safe to call twice."""
        self._ended = True
        self.session.close()

    def close(self) -> None:
        """End the session, and keep what is wrong with it for :meth:`judge`; safe to call twice."""
        if self._ended:
            return
        try:
            self._failure = self.failure()
        finally:
            self.abandon()

    def judge(self) -> None:
        """End the session, and raise once what is wrong with it.

        Raises :class:`FirmwareFailed` for a fault, reset, lockup or hang that no assertion has
        named, :class:`CheckFailed` for another such finding, for an expected finding that is
        missing, and for a session that has checked nothing.
        """
        __tracebackhide__ = True
        self.close()
        failure, self._failure = self._failure, None
        if failure is not None:
            raise failure

    def failure(self, *, ends: bool = True) -> HilError | None:
        """What is wrong with the session so far; each finding is told once.

        ``ends``: this is its end, at which something must have been checked.
        """
        stuck = self._stop is not None and self._hangs_in_handler()
        findings = self._all_findings() if self._stop is not None else []
        untaken = [one for one in self.case.expect.unexpected(findings) if one not in self._taken]
        missing = self.case.expect.unmet(findings) if "expect" in self.case.written else []
        self._taken += untaken
        if untaken or stuck:
            fatal = stuck or any(one.kind in FATAL for one in untaken)
            return self._untaken(untaken, FirmwareFailed if fatal else CheckFailed)
        if ends and missing:
            return CheckFailed("; ".join(missing))
        if ends and not self._checked:
            return CheckFailed("the session checked nothing", hint=Hint.ASSERT_SOMETHING.told())
        return None

    def _untaken(
        self, findings: Sequence[Finding], kind: type[CheckFailed | FirmwareFailed]
    ) -> HilError:
        """The error about ``findings`` that no assertion has named, or about a hang."""
        seen = self._observer.located(self._seen())
        messages = in_sequence(findings)
        if not messages:
            messages = [
                f"{how_it_ended(seen.stop, None, self.kit.chip, stuck=True)}; pc is in {seen.where}"
            ]
        more = f" (and {len(messages) - 1:,} more)" if len(messages) > 1 else ""
        reports = list(dict.fromkeys(fault.report for fault in seen.faults))[:1]
        details = [text for text in (*messages[1:], *reports, seen.stacks) if text]
        hint = for_findings(in_order(findings), self.kit.chip.area("ram").size)
        return kind("\n".join([messages[0] + more, *details]), hint=hint)

    def _hangs_in_handler(self) -> bool:
        """Whether a handler executes for ever: it is left to run for a while."""
        session = self.session
        if not session.handler_seconds or at_rest(session, self._last_stop()) is not None:
            return False
        rest = _HANDLER_SECONDS - session.handler_seconds
        if rest > 0:
            self._stop = self._observer.tap.run(None, session.deadline(rest, guard=self.case.guard))
        seconds = session.handler_seconds or 0.0
        return is_stuck(self._stop, seconds, _HANDLER_SECONDS)

    def checked(self) -> None:
        """Count a check that the session does not see: of its memory, of a comparison elsewhere."""
        self._checked = True

    @property
    def memory(self) -> MemoryAccess:
        """The target's address space: ``read(address, size)``, ``write(address, data)``."""
        return _CheckedMemory(self.session.memory, self.checked)

    @property
    def kit(self) -> BoardTable:
        """The board with the image's chip, for the names of pins."""
        return board_table() if self._image is None else board_with(self._image.chip.key)

    @property
    def pins(self) -> Pins:
        """Buttons and LEDs: ``drive(pin, level)``, ``read(pin)``; Unsupported on a real board."""
        return _CheckedPins(self.session.pins, self.checked)

    @property
    def inferences(self) -> int:
        """Number of inferences on the console so far, over all boots."""
        scraped = self.console.scrapers
        return len(scraped[0].results) if scraped else len(self.console.of_kind("inference"))

    @property
    def findings(self) -> SessionFindings:
        """The findings so far, of the console and of the processor, without notes.

        Faults, lockups, resets and calls of ``abort()`` and the like count as in a case. What is
        compared, or looked at one by one, no longer fails the session. Raises :class:`UsageError`
        before the first step, when nothing has been checked.
        """
        self._last_stop()
        found = [finding for finding in self._all_findings() if finding.kind not in NOTES]

        def take() -> None:
            self._checked = True
            self._taken += found

        return SessionFindings(found, take)

    def _all_findings(self) -> list[Finding]:
        seen = self._seen()
        findings = [
            finding
            for finding in seen.findings(None, self._image)
            if not (finding.kind.topic is Topic.CONSOLE and finding.line in self._cut_lines - {0})
        ]
        if seen.stop is Stop.LOCKUP and not seen.faults:
            findings.append(Finding(Kind.FAULT, HOW_IT_ENDED[seen.stop]))
        return findings

    def _seen(self) -> Observation:
        seen = self._observer.seen(self._last_stop())
        counters = seen.counters
        return replace(seen, counters=replace(counters, resets=counters.resets - self._pin_resets))

    @property
    def ended(self) -> bool:
        """Whether the image has ended, with a record or a fatal message."""
        return self.console.ended or bool(self.console.of_kind("failed")) or self.console.gave_up

    def transcript(self) -> str:
        """The console so far, line by line, with time stamps, and the line that has not ended."""
        return self.console.transcript() + self._lines.unfinished

    def write(self, data: bytes) -> None:
        """Send ``data`` to the console's receiver; the target runs with the next step."""
        self.session.write(data)

    def reset(self) -> None:
        """Press the reset pin. The image starts again, and so does the time limit."""
        self._pin_resets += 1
        self.session.reset()
        self._observer.tap.read()
        self._lines.cut()
        self._cut_lines.add(self.console.cut_line())
        self._deadline = self._new_deadline()

    def run_for(self, seconds: float) -> None:
        """Run for ``seconds`` on the target's clock, or until the image can run no further."""
        part = self._deadline.part(seconds)
        stop = self._observer.tap.run(Elapsed(part.remaining), part)
        self._stop = Stop.DEADLINE if stop is Stop.CONDITION else stop

    def wait_for(self, regex: str) -> re2._Match[str]:
        """Run until a line (or the beginning of one) matches ``regex``, an RE2 expression.

        Lines are those of a case: without ANSI colours, control characters as ``\\xNN``. The next
        call continues after the match. Returns the match, whose ``group()`` is that of :mod:`re`.
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
            raise FirmwareFailed(f"the image ended after {self.inferences} of {count} inferences")

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
        self.checked()
        return check

    def check_reported(self, kind: Kind, subject: str = "") -> None:
        """Raise CheckFailed if there is no finding of ``kind`` (about ``subject``, if given).

        Those that there are no longer fail the session, nor does the failure of AllocateTensors()
        if its cause is named.
        """
        __tracebackhide__ = True
        findings = self._all_findings()
        named = [one for one in findings if one.kind is kind and subject in ("", one.subject)]
        if not named:
            listed = ", ".join(f"{one.kind} {one.subject}".strip() for one in findings) or "nothing"
            raise CheckFailed(f"no {kind} {subject}".strip() + f"; found: {listed}")
        self.checked()
        self._taken += named
        if kind in _CAUSES_OF_ALLOCATION_FAILED:
            self._taken += [one for one in findings if one.kind is Kind.ALLOCATION_FAILED]

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
        stop = self._observer.tap.until(
            lambda: done() or self.console.flooded, words, self._deadline
        )
        self._stop = stop
        self.checked()
        if done():
            return
        raise self._not_reached(problem if isinstance(problem, str) else problem())

    def _not_reached(self, problem: str) -> FirmwareFailed:
        """The error about ``problem``: how the image ended, the first finding, the open line."""
        stop = self._last_stop()
        ended = out_of_time(self._deadline) or stop
        ending = how_it_ended(ended, at_rest(self.session, stop), self.kit.chip)
        if self.console.flooded:
            ending = "it printed more than is read of a console"
        seen = self._observer.located(self._seen())
        unexpected = in_order(self.case.expect.unexpected(self._all_findings()))
        self._taken += unexpected
        parts = [f"{problem}: {ending}", *filter(None, [seen.cause])]
        parts += [one.message for one in unexpected[:1]]
        if unfinished := self._lines.unfinished:
            parts.append(f"the last line has not ended: {unfinished!r}")
        hint = for_findings(unexpected, self.kit.chip.area("ram").size)
        return FirmwareFailed(
            "; ".join([*parts, f"pc is in {seen.where or 'an unknown place'}"]), hint=hint
        )


class SessionFindings(list[Finding]):
    """Findings of a session, which count as named by the test that compares or visits them."""

    def __init__(self, findings: Sequence[Finding], take: Callable[[], None]) -> None:
        super().__init__(findings)
        self._take = take

    def __eq__(self, other: object) -> bool:
        self._take()
        return super().__eq__(other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = None

    def __contains__(self, finding: object) -> bool:
        self._take()
        return super().__contains__(finding)

    def __iter__(self) -> Iterator[Finding]:
        self._take()
        return super().__iter__()

    def __len__(self) -> int:
        self._take()
        return super().__len__()

    def __getitem__(self, index: SupportsIndex | slice) -> Any:
        self._take()
        return super().__getitem__(index)


class _CheckedMemory:
    """Memory whose reading counts as a check."""

    def __init__(self, memory: MemoryAccess, checked: Callable[[], None]) -> None:
        self._memory, self._checked = memory, checked

    def read(self, address: int, size: int) -> bytes:
        """``size`` bytes from ``address``."""
        self._checked()
        return self._memory.read(address, size)

    def write(self, address: int, data: bytes) -> None:
        """Write ``data`` at ``address``."""
        self._memory.write(address, data)


class _CheckedPins:
    """Pins whose reading counts as a check."""

    def __init__(self, pins: Pins, checked: Callable[[], None]) -> None:
        self._pins, self._checked = pins, checked

    def read(self, pin: int) -> bool:
        """The level at ``pin``."""
        self._checked()
        return self._pins.read(pin)

    def drive(self, pin: int, level: bool | None) -> None:
        """Drive ``pin`` high or low; None releases it."""
        self._pins.drive(pin, level)


def _refuse_keys_of_runs(case: Case) -> None:
    """Raise :class:`UsageError` for expectations that only a whole run can meet."""
    expect = case.expect
    if "expect" not in case.written:
        return
    given = {
        "outputs": expect.outputs is not None,
        "values": expect.values,
        "compare": expect.compare,
        "tests": expect.tests,
    }
    for name in (name for name, value in given.items() if value):
        raise UsageError(
            f"expect.{name} is for a run: a session compares outputs itself",
            hint="expect.findings and expect.lines_absent count in a session",
        )
