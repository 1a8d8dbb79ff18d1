"""Skips: whether they are allowed, and executions that consist of nothing else, which fail."""

from __future__ import annotations

from typing import NoReturn

from robot.api import SkipExecution

from harness.base.errors import EnvironmentMissing
from harness.case.tally import Tally
from harness.keywords.variables import allow_skips
from robot import result, running

#: The hint of everything that fails because nothing ran.
ALLOW_HINT = "--variable ALLOW_SKIPS:true skips what cannot run here"


def check_tested(tally: Tally) -> None:
    """Fail if a requested case did not run, skip if nothing ran and that is allowed."""
    if tally.untested:
        raise EnvironmentMissing(tally.untested, hint=ALLOW_HINT)
    if tally.skipped and not tally.ran:
        raise SkipExecution(str(tally))


def skip(reason: str, missing: EnvironmentMissing) -> NoReturn:
    """Skip the test if that is allowed; otherwise raise ``missing`` on, with the reason."""
    if not allow_skips():
        raise EnvironmentMissing(f"{reason}: {missing.message}", hint=ALLOW_HINT) from missing
    raise SkipExecution(f"{reason}: {missing}") from missing


class AllSkipped:
    """A listener of the libraries whose keywords skip tests."""

    ROBOT_LISTENER_API_VERSION = 3

    def __init__(self) -> None:
        self._last: result.TestCase | None = None
        self._allowed = False

    def end_test(self, data: running.TestCase, result: result.TestCase) -> None:
        """Fail the last test if all others were skipped, too; Robot's log then shows it."""
        self._last, self._allowed = result, allow_skips()
        if result.skipped and list(_root(data).all_tests)[-1] is data:
            self.check()

    def close(self) -> None:
        """The execution has ended, perhaps with a suite that does not use the library."""
        self.check()

    def check(self) -> None:
        """Fail the last test seen if no test of the execution did anything."""
        if self._last is None or self._allowed:
            return
        tests = list(_root(self._last).all_tests)
        if all(test.skipped for test in tests):
            nothing = f"each of {len(tests)} tests was skipped, so nothing was tested"
            fail(self._last, f"{nothing}\nhint: {ALLOW_HINT}")


def fail(test: result.TestCase, why: str) -> None:
    """Fail a test that has ended, so that the execution's exit code shows it."""
    test.status = "FAIL"
    test.message = f"{why}\n\n{test.message}".rstrip()


def _root(test: running.TestCase | result.TestCase) -> running.TestSuite | result.TestSuite:
    """The suite above all others."""
    suite = test.parent
    while suite.parent is not None:
        suite = suite.parent
    return suite
