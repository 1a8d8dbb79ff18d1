"""Keywords for a live session, which runs an image step by step."""

from __future__ import annotations

from datetime import timedelta

from robot.api import SkipExecution, logger
from robot.api.deco import keyword

from harness.base.errors import CheckFailed, EnvironmentMissing, HilError, UsageError
from harness.base.findings import Kind
from harness.case.case import Case
from harness.case.live import Checks, Live
from harness.keywords.skips import fail, skip
from harness.targets import target
from harness.targets.opening import Targets
from harness.targets.pins import Pins, pin_number
from harness.targets.registry import Ability
from robot import result


class SessionJudge:
    """A listener that judges the sessions of a test when it ends, with or without a teardown."""

    ROBOT_LISTENER_API_VERSION = 3

    def __init__(self, sessions: LiveSession) -> None:
        self._sessions = sessions

    def start_test(self, data: object, result: object) -> None:
        """Sessions that are started from now on are of this test."""
        self._sessions.begin_test()

    def end_test(self, data: object, result: result.TestCase) -> None:
        """Fails a test that has passed; an error of its own is never masked."""
        why = self._sessions.judge_test()
        if why and result.passed:
            fail(result, why)


class LiveSession:
    """The session opened by `Start Target`."""

    def __init__(self) -> None:
        self.shared = Targets()  # one Renode for all tests of an execution
        self._live: Live | None = None
        self._ended: list[Live] = []  # sessions that ended in the running test
        self._in_test = False
        self._is_own = False  # the open session was started by the running test

    def start(self, case: Case, checks: Checks = "required") -> None:
        """Opens the session of ``case``; closes an open one first."""
        self.stop_target()
        try:
            self._live = Live.open(case, self.shared, checks=checks)
        except EnvironmentMissing as missing:
            skip(case.target, missing)
        self._is_own = self._in_test

    @keyword
    def stop_target(self) -> None:
        """Ends the session. Does nothing without a session.

        The test fails if the session has findings that no keyword has named, or checked nothing.
        """
        live, self._live = self._live, None
        if live is None:
            return
        live.close()
        if self._in_test:
            self._ended.append(live)
        else:
            live.judge()  # of a suite's teardown, which fails the tests of the suite

    def begin_test(self) -> None:
        """A test begins: sessions that it starts are its own."""
        self._in_test, self._is_own, self._ended = True, False, []

    def judge_test(self) -> str:
        """What is wrong with the sessions of the test that ends; "" if nothing is."""
        self._in_test = False
        failures: list[HilError] = []
        for ended in self._ended:
            try:
                ended.judge()
            except HilError as error:
                failures.append(error)
        if self._live is not None:
            failures += filter(None, [self._live.failure(ends=self._is_own)])
        return "\n\n".join(str(error) for error in failures)

    def close(self) -> None:
        """Ends the session, and closes the resources shared by sessions."""
        if self._live is not None:
            self._live.abandon()
        self.shared.close()

    def _pin(self, name: str) -> int:
        return pin_number(name, self._open().kit)

    def _open(self) -> Live:
        if self._live is None:
            raise UsageError("no target was started", hint="use `Start Target` first")
        return self._live

    @keyword
    def wait_for_inference(self, count: int = 1) -> None:
        """Runs the target until it has completed ``count`` inferences in total, at least 1.

        Fails if the image ends or fails before, or if they are not complete at the deadline.

        Examples:
        | Wait For Inference | count=10 |
        """
        live = self._open()
        live.wait_for_inferences(count)
        logger.info(live.transcript())

    @keyword
    def wait_for_end(self) -> None:
        """Runs the target until its last record or a fatal message.

        Fails if neither is received before the deadline of `Start Target`.
        """
        live = self._open()
        live.wait_for_end()
        logger.info(live.transcript())

    @keyword
    def wait_for_line(self, regex: str) -> str:
        """Runs the target until a line, or the beginning of one, matches ``regex`` (RE2).

        The next call continues after the match. Returns the first group of the match, or the whole
        match if the regex has no group. Fails if no line matches before the deadline of `Start
        Target` or the end of the image.

        Examples:
        | ${voltage} = | Wait For Line | battery: (\\\\d+) mV |
        """
        match = self._open().wait_for(regex)
        logger.info(match.group(0))
        return str(match.group(1) if match.groups() else match.group(0))

    @keyword
    def write_line(self, text: str, end: str = "\n") -> None:
        """Sends ``text`` and ``end`` to the console; the target receives it when it runs next.

        Examples:
        | Write Line | kernel uptime | end=\\r\\n |
        """
        self._open().write((text + end).encode())

    @keyword
    def run_for(self, seconds: timedelta) -> None:
        """Runs the target for a time on its own clock, at most to the end of the image.

        Never fails by itself: what the image does is judged when the session ends.

        Examples:
        | Run For | 1.5 s |
        """
        self._open().run_for(seconds.total_seconds())

    @keyword
    def reset_target(self) -> None:
        """Pulses the reset pin, and restarts the time limit."""
        self._open().reset()

    @keyword
    def read_memory(self, place: str, size: int = 4) -> bytes:
        """Returns ``size`` bytes of memory from an address or a symbol of the image.

        Fails for an unknown symbol, and if there is no memory at the address.

        Examples:
        | ${bytes} = | Read Memory | 0x20000000 | size=16 |
        | ${bytes} = | Read Memory | g_counter |
        """
        live = self._open()
        return live.memory.read(live.address(place), size)

    @keyword
    def call_stack(self) -> str:
        """Returns the call stack of each thread, as lines, and logs it.

        The core of a board is halted while it is read. Fails if the core cannot be accessed through
        the debug probe (no pyOCD, a locked chip).
        """
        stacks = self._open().call_stack
        logger.info(stacks)
        return stacks

    @keyword
    def press_button(
        self, button: str = "button1", seconds: timedelta = timedelta(milliseconds=100)
    ) -> None:
        """Holds a button of the DK (``button1``, ``P0.07``) down while the target runs.

        Skips the test on a target without access to pins (a real board).

        Examples:
        | Press Button | button1 | 0.2 s |
        """
        self.drive_pin(button, False)
        self._open().run_for(seconds.total_seconds())
        self.drive_pin(button, None)

    @keyword
    def drive_pin(self, pin: str, level: bool | None) -> None:
        """Drives a pin of the target high (True) or low (False) from now on; None releases it.

        Examples:
        | Drive Pin | P0.06 | False |
        """
        self._pins().drive(self._pin(pin), level)

    @keyword
    def pin_should_be(self, pin: str, level: bool) -> None:
        """Fails unless ``pin`` (``led1``, ``P0.02``) is high (True) or low (False) now.

        Examples:
        | Pin Should Be | led1 | True |
        """
        actual = self._pins().read(self._pin(pin))
        if actual != level:
            words = {True: "high", False: "low"}
            raise CheckFailed(f"pin {pin} is {words[actual]}, not {words[level]}")

    def _pins(self) -> Pins:
        live = self._open()
        if not target(live.case.target).can(Ability.PINS):
            raise SkipExecution(f"target {live.case.target} cannot {Ability.PINS}")
        return live.pins

    @keyword
    def outputs_should_match_reference(self) -> None:
        """Compares all outputs received so far with the NumPy reference.

        Fails if one differs, if there is none, or if `Start Target` had no model.
        """
        check = self._open().check_outputs()
        logger.info(f"{check.compared} values of {check.inferences} inferences are equal")

    @keyword
    def target_should_report(self, kind: Kind, subject: str = "") -> None:
        """Fails unless there is a finding of ``kind`` (about ``subject``, if given).

        Findings come from the console and from the target; those of the target include processor
        faults, lockups, resets by the firmware and calls of ``abort()``.

        Examples:
        | Target Should Report | resolver_too_small | SOFTMAX |
        """
        self._open().check_reported(kind, subject)

    @keyword
    def target_should_report_missing_operator(self, operator: str) -> None:
        """Fails unless the target reports that ``operator`` is not registered.

        Examples:
        | Target Should Report Missing Operator | FULLY_CONNECTED |
        """
        self.target_should_report(Kind.MISSING_OPERATOR, operator)

    @keyword
    def target_should_report_nothing(self) -> None:
        """Fails if there is any finding except notes, and also if the target has not run yet."""
        findings = self._open().findings
        if findings:
            raise CheckFailed("; ".join(finding.message for finding in findings))
