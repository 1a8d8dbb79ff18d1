"""Keywords over a session that stays open: step by step instead of a whole case."""

from __future__ import annotations

from datetime import timedelta

from robot.api import SkipExecution, logger
from robot.api.deco import keyword

from harness import targets
from harness.case.endings import HOW_IT_ENDED
from harness.case.feed import Tap
from harness.case.outputs import check_outputs
from harness.case.spec import Case
from harness.deadline import Deadline
from harness.elf import Firmware
from harness.errors import CheckFailed, EnvironmentMissing, FirmwareFailed, UsageError
from harness.findings import NOTES, Kind
from harness.model import Model
from harness.targets import Session, Stop
from harness.targets.pins import Pins, pin_number
from harness.targets.registry import Ability
from harness.targets.shared import Shared
from harness.uart import Console, scraper
from harness.uart.records import pattern

_INFERENCE = pattern("inference", "failed", "end") + rb"|AllocateTensors\(\) failed[^\n]*\n"


class LiveSession:
    """The session that `Start Target` opened, with its console."""

    def __init__(self) -> None:
        self.shared = Shared()  # one Renode for all tests of an execution
        self._case: Case | None = None
        self._session: Session | None = None
        self._tap: Tap | None = None
        self._deadline: Deadline | None = None

    def start(self, case: Case) -> None:
        """Open the session of ``case``; an open one is closed first."""
        self.stop_target()
        assert case.elf is not None
        try:
            options = self.shared.options(case.target, case.target_options)
            session = targets.open_target(case.target, Firmware.from_elf(case.elf), **options)
        except EnvironmentMissing as missing:
            raise SkipExecution(f"{case.target}: {missing}") from missing
        self._case, self._session = case, session
        self._tap = Tap(session, Console([scraper(case.scraper)] if case.scraper else []))
        self._deadline = session.deadline(case.timeout, guard=case.guard)

    @keyword
    def stop_target(self) -> None:
        """Ends the session. Never fails; without a session it does nothing."""
        session, self._session = self._session, None
        if session is not None:
            session.close()

    def close(self) -> None:
        """End the session and what sessions shared: the execution is over."""
        self.stop_target()
        self.shared.close()

    def _open(self) -> tuple[Case, Tap, Deadline]:
        if self._case is None or self._tap is None or self._deadline is None:
            raise UsageError("no target was started", hint="use `Start Target` first")
        return self._case, self._tap, self._deadline

    @keyword
    def wait_for_inference(self, count: int = 1) -> None:
        """Runs the target until it has done ``count`` inferences in all.

        Fails if the image ends, fails, or goes silent before.

        Examples:
        | Wait For Inference | count=10 |
        """
        _, tap, deadline = self._open()
        console = tap.console
        pattern = rb"\n" if console.scrapers else _INFERENCE

        def done() -> int:
            scraped = console.scrapers
            return len(scraped[0].results) if scraped else len(console.of_kind("inference"))

        while done() < count:
            stop = tap.run(pattern, deadline)
            if done() < count and (stop is not Stop.CONDITION or self._over(console)):
                raise FirmwareFailed(
                    f"{done()} of {count} inferences came, "
                    f"then {HOW_IT_ENDED[stop]}; "
                    f"pc is in {tap.session.where() or 'an unknown place'}"
                )
        logger.info(console.transcript())

    @staticmethod
    def _over(console: Console) -> bool:
        ended = console.ended or bool(console.of_kind("failed"))
        return ended or console.gave_up

    @keyword
    def wait_for_end(self) -> None:
        """Runs the target until its last record or a fatal message.

        Fails if neither comes before the deadline of `Start Target`.
        """
        _, tap, deadline = self._open()
        while not self._over(tap.console):
            stop = tap.run(_INFERENCE, deadline)
            if stop is not Stop.CONDITION and not self._over(tap.console):
                raise FirmwareFailed(
                    f"the image did not come to its end: {HOW_IT_ENDED[stop]}; "
                    f"pc is in {tap.session.where() or 'an unknown place'}"
                )
        logger.info(tap.console.transcript())

    @keyword
    def press_button(
        self, button: str = "button1", seconds: timedelta = timedelta(milliseconds=100)
    ) -> None:
        """Holds a button of the DK (``button1``, ``P0.07``) down while the target runs.

        Skips the test on a target whose pins nobody can reach (a real board).

        Examples:
        | Press Button | button1 | 0.2 s |
        """
        self.drive_pin(button, False)
        _, tap, deadline = self._open()
        part = tap.session.deadline(seconds.total_seconds(), guard=deadline.guard_remaining)
        tap.run(None, part)
        self.drive_pin(button, None)

    @keyword
    def drive_pin(self, pin: str, level: bool | None) -> None:
        """Drives a pin of the target high (True) or low (False) from now on; None lets it go.

        Examples:
        | Drive Pin | P0.06 | False |
        """
        self._pins().drive(pin_number(pin), level)

    @keyword
    def pin_should_be(self, pin: str, level: bool) -> None:
        """Fails unless ``pin`` (``led1``, ``P0.02``) is high (True) or low (False) now.

        Examples:
        | Pin Should Be | led1 | True |
        """
        found = self._pins().read(pin_number(pin))
        if found != level:
            words = {True: "high", False: "low"}
            raise CheckFailed(f"pin {pin} is {words[found]}, not {words[level]}")

    def _pins(self) -> Pins:
        case, tap, _ = self._open()
        if not targets.target(case.target).can(Ability.PINS):
            raise SkipExecution(f"target {case.target} cannot {Ability.PINS}")
        return tap.session.pins

    @keyword
    def outputs_should_match_reference(self) -> None:
        """Holds every output that came so far against the NumPy reference, to the bit.

        Fails if one differs, if none came, or if `Start Target` was given no model.
        """
        case, tap, _ = self._open()
        model = Model.from_file(case.model) if case.model else None
        check = check_outputs(tap.console, case, model)
        if check.problem or not check.compared:
            raise CheckFailed(f"{check.problem or 'nothing was compared'}\n{check.details}".strip())
        logger.info(f"{check.compared} values of {check.inferences} inferences are equal")

    @keyword
    def target_should_report(self, kind: Kind, subject: str = "") -> None:
        """Fails unless the console holds a finding of ``kind`` (about ``subject``, if given).

        Examples:
        | Target Should Report | resolver_too_small | SOFTMAX |
        """
        _, tap, _ = self._open()
        found = tap.console.findings
        if not any(one.kind is kind and subject in ("", one.subject) for one in found):
            listed = ", ".join(f"{one.kind} {one.subject}".strip() for one in found) or "nothing"
            raise CheckFailed(f"no {kind} {subject}".strip() + f"; found: {listed}")

    @keyword
    def target_should_report_missing_operator(self, operator: str) -> None:
        """Fails unless the target says that ``operator`` is not registered.

        Examples:
        | Target Should Report Missing Operator | FULLY_CONNECTED |
        """
        self.target_should_report(Kind.MISSING_OPERATOR, operator)

    @keyword
    def target_should_report_nothing(self) -> None:
        """Fails if there is any finding on the console but notes."""
        _, tap, _ = self._open()
        found = [one for one in tap.console.findings if one.kind not in NOTES]
        if found:
            raise CheckFailed("; ".join(one.message for one in found))
