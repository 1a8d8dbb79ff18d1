"""The base class of scrapers for test suites: tests that begin and end, and known failures."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import ClassVar

from harness.uart.lines import Line
from harness.uart.scrapers.base import (
    OWN_TESTS,
    SHOWN,
    Check,
    ExpectedResults,
    Scraped,
    Scraper,
    TestResult,
)

#: Most tests of one console that are kept.
MOST_TESTS = 10_000
#: Most lines of one test's failure that are kept, and characters of each.
_MESSAGES, _WIDTH = 10, 300
#: Most contradictions that are kept.
_MOST_CONTRADICTIONS = 50


@dataclass
class _Running:
    name: str
    line: Line
    messages: list[str] = field(default_factory=list)


class TestScraper(Scraper):
    """Reads tests, one result each, and reports contradictions in the image's own tallies."""

    __test__ = False  # pytest: not a test

    #: A line with which the image reports that tests failed.
    failed: ClassVar[re.Pattern[str]]

    def __init__(self) -> None:
        super().__init__()
        self.tests: list[TestResult] = []
        self._running: _Running | None = None
        self._contradictions: list[str] = []
        self._once: dict[str, int] = {}  # a line that may be printed once -> its number
        self._begun = 0

    def _begin(self, name: str, line: Line) -> None:
        """Begin a test; a test that is still running is unfinished."""
        self._end_unfinished()
        self._running = _Running(name, line)
        self._begun += 1
        self.owner = self._begun

    def _end(self, state: str, seconds: float | None = None) -> None:
        """End the running test."""
        test, self._running, self.owner = self._running, None, 0
        if test is None:
            return
        if len(self.tests) >= MOST_TESTS:
            self.left_out += 1
            return
        number, messages = test.line.number, tuple(test.messages)
        self.tests.append(TestResult(test.name, state, number, seconds, messages))
        self.keep(Scraped({"test": test.name, "state": state}, number, test.name))

    def _end_unfinished(self) -> None:
        if self._running is not None:
            self._end("unfinished")

    def _note(self, message: str) -> None:
        """Keep a message about the failure of the running test."""
        if self._running is not None and len(self._running.messages) < _MESSAGES:
            self._running.messages.append(message[:_WIDTH])

    def _only_once(self, name: str, line: Line) -> None:
        """Report a line of this name that is printed again."""
        if name in self._once:
            first = self._once[name]
            self._report(f"{name} came on line {first} and again on line {line.number}")
        else:
            self._once[name] = line.number

    def _not_after_the_end(self, line: Line) -> None:
        """Report a line after the suite's end."""
        if self.ended:
            self._report_line(line, "came after the end")

    def _report(self, message: str) -> None:
        """Report a contradiction in the image's output."""
        if len(self._contradictions) < _MOST_CONTRADICTIONS:
            self._contradictions.append(message[:_WIDTH])

    def _report_line(self, line: Line, why: str) -> None:
        """Report a line that contradicts others."""
        self._report(f"line {line.number} {line.text[:80]!r} {why}")

    @property
    def between_tests(self) -> bool:
        """True if tests ran and none is running."""
        return bool(self.tests) and self._running is None

    @property
    def reports_failures(self) -> bool:
        """True once the image's tests have ended and some failed."""
        return self.ended and self.count("fail") > 0

    def finish(self) -> None:
        """Handle the end of the text. The messages of an unfinished test are findings."""
        owner = self.owner
        self._end_unfinished()
        self.owner = owner

    def count(self, state: str) -> int:
        """The number of tests that ended in ``state``."""
        return sum(test.state == state for test in self.tests)

    def _check(self, expected: ExpectedResults) -> Check:
        """Check that every test passed, was skipped, or ended as the case expects."""
        if expected.values:
            return Check(problems=("a suite of tests takes expect.tests, not expect.values",))
        failed = [test for test in self.tests if not _as_expected(test, expected)]
        problems = [*_failures(failed, len(self.tests)), *self._outdated(expected)]
        if all(test.state == "skip" for test in self.tests):
            skipped = f": {len(self.tests)} were skipped" if self.tests else ""
            problems.append(f"no test ran{skipped}")
        return Check(
            len(self.tests),
            len(failed),
            (*problems, *self._contradictions),
            "\n".join(_reports(failed)),
            pass_reason=self._pass_reason(expected),
            tests=tuple(self.tests),
            compared_with=(OWN_TESTS,),
        )

    def _outdated(self, expected: ExpectedResults) -> Iterable[str]:
        """Problems of the case's list: tests that did not run, or that pass now."""
        seen = {test.name for test in self.tests}
        for name, state in expected.tests.items():
            if name not in seen:
                near = next(iter(difflib.get_close_matches(name, seen)), "")
                more = f"; is it {near}?" if near else ""
                yield f"expect.tests names {name} ({state}), which did not run{more}"
        for test in self.tests:
            state = expected.tests.get(test.name, test.state)
            if test.state == "pass" and state != "pass":
                yield f"{test.name} passes, and expect.tests says {state}: take it off the list"

    def _pass_reason(self, expected: ExpectedResults) -> str:
        known = sum(expected.tests.get(test.name) == "fail" for test in self.tests)
        parts = [f"{self.count('pass')} of {len(self.tests)} tests passed"]
        parts += [f"{self.count('skip')} skipped"] if self.count("skip") else []
        parts += [f"{known} failed as known"] if known else []
        return ", ".join(parts)


def _as_expected(test: TestResult, expected: ExpectedResults) -> bool:
    """True if a test ended as the case allows; ``_outdated`` reports unexpected passes."""
    state = expected.tests.get(test.name)
    return test.state in ("pass", state or "skip")


def _failures(failed: list[TestResult], total: int) -> Iterable[str]:
    unfinished = [test.name for test in failed if test.state == "unfinished"]
    others = [test for test in failed if test.state != "unfinished"]
    if others:
        names = ", ".join(test.name for test in others[:3])
        more = f" and {len(others) - 3} more" if len(others) > 3 else ""
        yield f"{len(others)} of {total} tests failed: {names}{more}"
    for name in unfinished[:3]:
        yield f"{name} began and did not end"
    if len(unfinished) > 3:
        yield f"{len(unfinished) - 3} more tests began and did not end"


def _reports(failed: list[TestResult]) -> Iterable[str]:
    for test in failed[:SHOWN]:
        yield f"{test.state} {test.name}"
        yield from (f"  {message}" for message in test.messages)
    if len(failed) > SHOWN:
        yield f"and {len(failed) - SHOWN:,} more"
