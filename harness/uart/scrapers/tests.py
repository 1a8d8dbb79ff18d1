"""The base class of scrapers for test suites: the runs of tests, and known failures.

A test may run several times: it is repeated, or the chip is reset and all tests run again. Its
result is that of all its runs together.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
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

#: Most runs of tests of one console that are kept.
MOST_TESTS = 10_000
#: Most lines of one test's failure that are kept, and characters of each.
_MESSAGES, _WIDTH = 10, 300
#: Most contradictions that are kept.
_MOST_CONTRADICTIONS = 50
#: What Zephyr's logging prints before a message.
_LOG_PREFIX = re.compile(
    r"(?:\[[\d:., ]{5,24}\] )?(?:<(?:err|wrn|inf|dbg)> (?:[\w./@-]{1,80}: )?|[EWID]: )"
)
#: Problems of tests by their state; of other states only the names are listed.
_PROBLEMS = {
    "unfinished": "began and did not end",
    "reset": "began, and the chip was reset",
    "flaky": "",  # its message
}


@dataclass(frozen=True)
class TestRun:
    """One run of a test; tests of two files may share a name."""

    __test__ = False  # pytest: not a test

    name: str
    line: int
    file: str = ""
    state: str = "unfinished"
    seconds: float | None = None
    messages: tuple[str, ...] = ()


class TestScraper(Scraper):
    """Reads the runs of tests, and reports contradictions in the image's own tallies."""

    __test__ = False  # pytest: not a test

    #: A line with which the image reports that tests failed.
    failed: ClassVar[re.Pattern[str]]

    def __init__(self) -> None:
        super().__init__()
        self.runs: list[TestRun] = []
        self._boot = 0  # index of the first run since the last reset
        self._running: TestRun | None = None
        self._contradictions: list[str] = []
        self._shows_resets = False
        self._signs_of_reset: list[str] = []  # contradictions, unless the chip was reset
        self._once: dict[str, int] = {}  # a line that may be printed once -> its number
        self._begun = 0

    @property
    def tests(self) -> list[TestResult]:
        """The results of all tests, in the order in which they first began."""
        runs: dict[tuple[str, str], list[TestRun]] = {}
        for run in self.runs:
            runs.setdefault((run.name, run.file), []).append(run)
        return list(map(_joined, runs.values()))

    def _begin(self, name: str, line: Line, file: str = "") -> None:
        """Begin a test; a test that is still running is unfinished."""
        self._end_unfinished()
        self._running = TestRun(name, line.number, file)
        self._begun += 1
        self.owner = self._begun

    def _end(self, state: str, seconds: float | None = None) -> None:
        """End the running test."""
        run, self._running, self.owner = self._running, None, 0
        if run is not None:
            self._add(replace(run, state=state, seconds=seconds))

    def _add(self, run: TestRun) -> None:
        """Keep a run that has ended; beyond MOST_TESTS, only count it."""
        if len(self.runs) < MOST_TESTS:
            self.runs.append(run)
            self.keep(Scraped({"test": run.name, "state": run.state}, run.line, run.name))
        else:
            self.left_out += 1

    def _end_unfinished(self) -> None:
        if self._running is not None:
            self._end("unfinished")

    def restarted(self) -> None:
        """Handle a reset of the chip, which the console shows."""
        self._shows_resets = True
        self._restart()

    def _restart(self) -> None:
        """Handle a reset: the running test does not end, and the tests begin again."""
        if self._running is not None:
            self._end("reset")
        self._boot = len(self.runs)
        self._once.clear()

    def _note(self, message: str) -> None:
        """Keep a message about the failure of the running test."""
        run = self._running
        if run is not None and len(run.messages) < _MESSAGES:
            self._running = replace(run, messages=(*run.messages, message[:_WIDTH]))

    def _only_once(self, name: str, line: Line) -> None:
        """Report a line of this name that is printed again."""
        if name in self._once:
            self._report(self._again(name, line))
        else:
            self._once[name] = line.number

    def _again(self, name: str, line: Line) -> str:
        return f"{name} came on line {self._once[name]} and again on line {line.number}"

    def _restart_if_again(self, name: str, line: Line) -> None:
        """Take the first line of a log that comes again for a reset, and report it."""
        if name in self._once:
            self._report_unless_reset(self._again(name, line))
            self._restart()
        self._only_once(name, line)

    @property
    def _is_over(self) -> bool:
        """True after the last line of this boot."""
        return self.ended

    def _not_after_the_end(self, line: Line) -> None:
        """Report a line after the suite's end."""
        if self._is_over:
            self._report_line(line, "came after the end")

    def _report(self, message: str) -> None:
        """Report a contradiction in the image's output."""
        if len(self._contradictions) < _MOST_CONTRADICTIONS:
            self._contradictions.append(message[:_WIDTH])

    def _report_line(self, line: Line, why: str) -> None:
        """Report a line that contradicts others."""
        self._report(f"line {line.number} {line.text[:80]!r} {why}")

    def _report_unless_reset(self, message: str) -> None:
        """Report a contradiction that a reset explains: one that the case expects, and that the
        console does not show.
        """
        if len(self._signs_of_reset) < _MOST_CONTRADICTIONS:
            self._signs_of_reset.append(message[:_WIDTH])

    @property
    def between_tests(self) -> bool:
        """True if tests ran and none is running."""
        return bool(self.runs) and self._running is None

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
        """The number of runs that ended in ``state``."""
        return sum(run.state == state for run in self.runs)

    def _check(self, expected: ExpectedResults) -> Check:
        """Check that every test passed, was skipped, or ended as the case expects."""
        if expected.values:
            return Check(problems=("a suite of tests takes expect.tests, not expect.values",))
        tests = self.tests
        failed = [test for test in tests if not _as_expected(test, expected)]
        problems = [*self._causes(failed, expected), *_failures(failed, len(tests))]
        problems += _outdated(tests, expected)
        if all(test.state == "skip" for test in tests):
            skipped = f": {len(tests)} were skipped" if tests else ""
            problems.append(f"no test ran{skipped}")
        if not expected.resets or self._shows_resets:
            problems += self._signs_of_reset
        return Check(
            len(tests),
            len(failed),
            (*problems, *self._contradictions, *self._missing(expected)),
            "\n".join(_reports(failed)),
            pass_reason=_pass_reason(tests),
            tests=tuple(tests),
            compared_with=(OWN_TESTS,),
        )

    def _causes(self, failed: Sequence[TestResult], expected: ExpectedResults) -> Iterable[str]:
        """Causes that come before the tests that ``failed``, and of a run that failed without."""
        return ()

    def _missing(self, expected: ExpectedResults) -> Iterable[str]:
        """Lines that the image must print and that never came."""
        return ()


def without_log_prefix(text: str) -> str:
    """``text`` without what Zephyr's logging prints before a message."""
    match = _LOG_PREFIX.match(text)
    return text[match.end() :] if match else text


def flaky_message(failed: int | str, runs: int | str) -> str:
    """The first message of a test that passed in some of its runs."""
    return f"flaky: failed {failed} of {runs}"


def _joined(runs: Sequence[TestRun]) -> TestResult:
    """The result of a test from all its runs; those that a reset ended count only alone."""
    first, states = runs[0], [run.state for run in runs]
    seconds = [run.seconds for run in runs if run.seconds is not None]
    messages = [message for run in runs for message in run.messages]
    ended = [state for state in states if state != "reset"]
    state = next((one for one in ("unfinished", "flaky", "fail") if one in ended), "")
    if state == "fail" and "pass" in ended:
        state = "flaky"
        messages.insert(0, flaky_message(ended.count("fail"), len(ended)))
    elif not state:
        state = "reset" if states[-1] == "reset" else "pass" if "pass" in ended else "skip"
    kept = tuple(messages[:_MESSAGES])
    return TestResult(first.name, state, first.line, max(seconds, default=None), kept)


def _as_expected(test: TestResult, expected: ExpectedResults) -> bool:
    """True if a test ended as the case allows; ``_outdated`` reports unexpected passes."""
    state = expected.tests.get(test.name, "skip")
    return test.state in ("pass", state) or (test.state == "reset" and expected.resets)


def _failures(failed: Sequence[TestResult], total: int) -> Iterable[str]:
    others = [test.name for test in failed if test.state not in _PROBLEMS]
    if others:
        more = f" and {len(others) - 3} more" if len(others) > 3 else ""
        yield f"{len(others)} of {total} tests failed: {', '.join(others[:3])}{more}"
    for state, words in _PROBLEMS.items():
        tests = [test for test in failed if test.state == state]
        for test in tests[:3]:
            told = (one for one in test.messages if one.startswith("flaky: "))
            yield f"{test.name} {words or 'is ' + next(told, 'flaky')}"
        if len(tests) > 3:
            yield f"{len(tests) - 3} more tests {words or 'are flaky'}"


def _outdated(tests: Sequence[TestResult], expected: ExpectedResults) -> Iterable[str]:
    """Problems of the case's list: tests that did not run, or that pass now."""
    seen = {test.name for test in tests}
    for name, state in expected.tests.items():
        if name not in seen:
            near = next(iter(difflib.get_close_matches(name, seen)), "")
            more = f"; is it {near}?" if near else ""
            yield f"expect.tests names {name} ({state}), which did not run{more}"
    for test in tests:
        state = expected.tests.get(test.name, "pass")
        if test.state == "pass" and state not in ("pass", "flaky"):
            yield f"{test.name} passes, and expect.tests says {state}: take it off the list"


def _pass_reason(tests: Sequence[TestResult]) -> str:
    """How a suite passed: the tests that failed are known."""
    states = [test.state for test in tests]
    parts = [f"{states.count('pass')} of {len(tests)} tests passed"]
    for state, words in (
        ("skip", "skipped"), ("fail", "failed as known"), ("flaky", "flaky as known"),
        ("reset", "ended with a reset"),
    ):  # fmt: skip
        parts += [f"{states.count(state)} {words}"] if state in states else []
    return ", ".join(parts)


def _reports(failed: Sequence[TestResult]) -> Iterable[str]:
    for test in failed[:SHOWN]:
        yield f"{test.state} {test.name}"
        yield from (f"  {message}" for message in test.messages)
    if len(failed) > SHOWN:
        yield f"and {len(failed) - SHOWN:,} more"
