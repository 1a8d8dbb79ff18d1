"""Skipped tests: checks whether they are allowed, and fails executions that only skip."""

from __future__ import annotations

from typing import NoReturn

from robot.api import SkipExecution

from harness.base.errors import EnvironmentMissing
from harness.case.tally import Tally
from harness.keywords.variables import allow_skips
from robot import result, running

#: The hint of errors about cases that did not run.
ALLOW_HINT = "--variable ALLOW_SKIPS:true skips cases that cannot run on this machine"


def check_tested(tally: Tally) -> None:
    """Fails if a requested case did not run; skips the test if none ran and this is allowed."""
    if tally.untested:
        raise EnvironmentMissing(tally.untested, hint=ALLOW_HINT)
    if tally.skipped and not tally.ran:
        raise SkipExecution(str(tally))


def skip(reason: str, missing: EnvironmentMissing) -> NoReturn:
    """Skips the test if this is allowed, or else raises ``missing`` with the reason."""
    if not allow_skips():
        raise EnvironmentMissing(f"{reason}: {missing.message}", hint=ALLOW_HINT) from missing
    raise SkipExecution(f"{reason}: {missing}") from missing


class AllSkipped:
    """A listener that fails an execution in which all tests are skipped."""

    ROBOT_LISTENER_API_VERSION = 3

    def __init__(self) -> None:
        self._last: result.TestCase | None = None
        self._allowed = False

    def end_test(self, data: running.TestCase, result: result.TestCase) -> None:
        """Fails the last test if all tests were skipped, so that Robot's log contains it."""
        self._last, self._allowed = result, allow_skips()
        if result.skipped and list(_root(data).all_tests)[-1] is data:
            self.check()

    def close(self) -> None:
        """Checks again, since the last suite may not use the library."""
        self.check()

    def check(self) -> None:
        """Fails the last test seen if all tests of the execution were skipped."""
        if self._last is None or self._allowed:
            return
        tests = list(_root(self._last).all_tests)
        if all(test.skipped for test in tests):
            message = f"all of {len(tests)} tests were skipped, so nothing was tested"
            fail(self._last, f"{message}\nhint: {ALLOW_HINT}")


def fail(test: result.TestCase, why: str) -> None:
    """Sets the status of a completed test to FAIL, which sets the exit code of the execution."""
    test.status = "FAIL"
    test.message = f"{why}\n\n{test.message}".rstrip()


def _root(test: running.TestCase | result.TestCase) -> running.TestSuite | result.TestSuite:
    """The top-level suite."""
    suite = test.parent
    while suite.parent is not None:
        suite = suite.parent
    return suite
