"""Zephyr's test suites (ztest), from Zephyr 3.1 to 4.4 with every option.

There are two sources, and each is evidence for a test:

* lines while the tests run (not with ZTEST_VERBOSE_OUTPUT=n): ``Running TESTSUITE s``, for each run
  of a test ``START - t`` and `` PASS - t in 0.101 seconds`` (FAIL, SKIP), then ``TESTSUITE s
  succeeded`` (failed.);
* the summary (from Zephyr 3.2 on, not with ZTEST_SUMMARY=n) of all suites of the image, those that
  did not run included: ``SUITE PASS - 100.00% [s]: pass = 1, fail = 0, skip = 0, total = 1 duration
  = 0.101 seconds``, and a row for each test (not with ZTEST_VERBOSE_SUMMARY=n), `` - PASS - [s.t]
  duration = 0.101 seconds`` or `` - FLAKY - [s.t] - (Failed 1 of 2 attempts) - duration = ...``.

A test's result is what its lines say; the summary adds the tests without lines. Where a log has
lines, only a test that was skipped may lack them. The last line is ``PROJECT EXECUTION SUCCESSFUL``
(FAILED).

A suite or a test that is repeated (ZTEST_REPEAT, ZTEST_SHUFFLE) has several runs, and one row.
Before Zephyr 3.5 that row, and the closing line of a suite, tell its last repetition alone. A
parametrized test (4.4) has runs ``t[instance/0]`` and a row ``[s.t]``.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Sequence
from dataclasses import replace

from harness.uart.lines import Line
from harness.uart.scrapers.base import ExpectedResults, TestResult
from harness.uart.scrapers.tests import TestScraper, without_log_prefix
from harness.uart.scrapers.ztest_summary import (
    ROW,
    SECONDS,
    SUITE,
    SuiteSummary,
    Telling,
    seconds_in,
    suite_of,
)

#: The name of a test, perhaps with that of a parameter, which is text of the test's author.
_TEST = r"(?P<test>[^\s\[]{1,200}(?:\[[^\[]{0,130})?)"
_RUNNING = re.compile(r"Running TESTSUITE (?P<suite>[^\s\[\]]{1,200})\s{0,4}$")
_START = re.compile(rf"START - {_TEST}\s{{0,4}}$")
_END = re.compile(rf" (?P<state>PASS|FAIL|SKIP|FLAKY|\?) - {_TEST} in {SECONDS}")
_CLOSED = re.compile(r"TESTSUITE (?P<suite>\S{1,200}) (?P<word>succeeded|failed\.|skipped)\s{0,4}$")
_FAILURE = re.compile(
    r"(?:Assertion|Assumption|Expectation) failed at \S{1,200}:\d{1,9}(?:: .{1,300})?"
    r"|Test \S{1,200} failed: Unused mock .{1,100}"
)
_ASSUMPTION = re.compile(r"Assumption (failed at \S{1,200}:\d{1,9})(?::|$)")
#: Why a run fails though no test does.
_ERROR = re.compile(
    r"ERROR: cannot (?P<word>\w{1,9}) in test phase '(?P<phase>.{1,40})', bailing"
    r"|ERROR: Test (?:suite )?'.{1,200}' (?:did not run|assigned to ).{0,200}"
    r"|Bad stats for \S{1,400}|TESTSUITE crashed\."
)
#: What Zephyr's logging prints in place of lines that its buffer had no room for.
_DROPPED = re.compile(r"--- (?P<count>\d{1,9}) messages dropped ---")
_SUMMARY = re.compile(r"-{6} TESTSUITE SUMMARY (?P<word>(?P<start>START)|END) -{6}\s{0,4}$")
_PROJECT = re.compile(r"PROJECT EXECUTION (?:(?P<passed>SUCCESSFUL)|FAILED)\s*$")
#: A line outside the summary that is read contains one of these.
_TRIGGERS = ("TEST", "START", " - ", " failed", "ERROR", "PROJECT", "Bad stats", " dropped ")
#: Most failures outside of tests with lines that are kept of one suite.
_MOST_FAILURES = 100
_BAD = {"fail", "flaky", "unfinished"}
_PAST = {"skip": "skipped", "fail": "failed"}


class Ztest(TestScraper):
    """Joins the lines and the summary of a log by the names of tests (``suite.test``)."""

    end = rb"PROJECT EXECUTION (?:SUCCESSFUL|FAILED)\s{0,4}\n"
    failed = re.compile(r"PROJECT EXECUTION FAILED")

    def __init__(self) -> None:
        super().__init__()
        self._suite = ""  # the one that is running
        self._starts: dict[str, int] = {}  # suite -> index of the first run of its last repetition
        self._failures: dict[str, list[str]] = {}  # suite -> messages outside of tests with lines
        self._failed_suites: list[str] = []  # by their closing lines, of this boot
        self._in_summary = False
        self._summary = SuiteSummary()  # of this boot
        self._project: bool | None = None  # of this boot
        self._ended = self._has_error = False
        self._dropped = self._dropped_at = 0  # lines of the log, and where it says so first

    def feed(self, line: Line) -> None:
        """Read one line."""
        text = line.text
        if self._in_summary:
            self._read_summary(without_log_prefix(text), line)
        elif any(word in text for word in _TRIGGERS):
            self._read_line(without_log_prefix(text), line)

    def _read_line(self, text: str, line: Line) -> None:
        """Read a line outside of the summary; a test may have printed text before a marker."""
        if (match := _START.search(text)) and self._may_begin(match):
            self._begin_test(match["test"], line)
        elif match := _END.search(text):
            self._end_test(match)
        elif match := _FAILURE.search(text):
            self._take_failure(match.group())
        elif match := _ERROR.search(text):
            self._take_error(match)
        elif (match := _RUNNING.search(text)) and self._may_begin(match):
            self._begin_suite(match["suite"], line)
        elif match := _CLOSED.search(text):
            self._end_suite(match)
        elif match := _SUMMARY.search(text):
            self._end_unfinished()
            self._only_once(f"TESTSUITE SUMMARY {match['word']}", line)
            self._not_after_the_end(line)
            self._in_summary = match["start"] is not None
        elif match := _PROJECT.search(text):
            self._end_unfinished()
            self._close_suite()
            self._only_once("PROJECT EXECUTION", line)
            self._project, self._ended = match["passed"] is not None, True
        elif match := _DROPPED.search(text):
            self._dropped += int(match["count"])
            self._dropped_at = self._dropped_at or line.number
        elif self._running is None and (ROW.search(text) or SUITE.search(text)):
            self._report_line(line, "is outside the summary")

    def _may_begin(self, match: re.Match[str]) -> bool:
        """Whether a beginning behind other text is not just text of the running test."""
        return self._running is None or not match.start()

    def _begin_test(self, test: str, line: Line) -> None:
        self._not_after_the_end(line)
        if not self._suite:
            self._report_line(line, "is outside of a suite")
        self._begin(self._full(test), line)
        for message in self._failures.get(self._suite, ()):
            self._note(message)  # of the suite's set-up

    def _full(self, test: str) -> str:
        return f"{self._suite}.{test}" if self._suite else test

    def _end_test(self, match: re.Match[str]) -> None:
        name, running = self._full(match["test"]), self._running
        if running is not None and running.name == name:
            # Other words: a test was skipped and left values of a mock unused, which is a failure.
            state = {"PASS": "pass", "SKIP": "skip"}.get(match["state"], "fail")
            self._end(state, seconds_in(match))
        elif running is None or not match.start():
            instead = running.name if running else "no test"
            self._report(f"{name} ends ({match['state']}) while {instead} is running")

    def _take_failure(self, message: str) -> None:
        if self._running is not None:
            self._note(message)
        elif not self._suite:
            self._report(f"{message} (outside of a suite)")
        elif len(failures := self._failures.setdefault(self._suite, [])) < _MOST_FAILURES:
            failures.append(message)

    def _take_error(self, match: re.Match[str]) -> None:
        """Report an error; one of a test's after() with the failure, which is not the test's."""
        self._has_error = True
        message, run = match.group(), self._running
        if match["phase"] and run is not None:
            is_failure = run.messages and match["word"] != "pass"
            message = (
                f"{run.name}, in {match['phase']}: {run.messages[-1] if is_failure else message}"
            )
        self._report(message)

    def _begin_suite(self, name: str, line: Line) -> None:
        is_open = self._suite or self._is_over
        if is_open and name == next(iter(self._starts), ""):
            self._report_unless_reset(f"TESTSUITE {name} began again on line {line.number}")
            self._restart()
        self._end_unfinished()
        self._close_suite()
        self._not_after_the_end(line)
        self._suite, self._starts[name] = name, len(self.runs)

    def _end_suite(self, match: re.Match[str]) -> None:
        self._end_unfinished()
        name, word = match["suite"], match["word"]
        if self._suite != name:
            self._report(f"TESTSUITE {name} ends and did not begin")
        elif word == "failed.":
            self._failed_suites.append(name)
        else:
            last = {run.name: run.state for run in self.runs[self._starts[name] :]}
            if not _BAD.isdisjoint(last.values()):
                self._report(f"TESTSUITE {name} says {word}, and not all of its tests did")
        self._suite = ""

    def _close_suite(self) -> None:
        """Report a suite without closing line."""
        if self._suite:
            self._report(f"the closing line of TESTSUITE {self._suite} never came")
        self._suite = ""

    def _read_summary(self, text: str, line: Line) -> None:
        """Read a line of the summary: a suite's, a test's, or one of another thread."""
        if match := ROW.search(text):
            self._only_once(f"the summary's row of {match['name']}", line)
            self._summary.add_row(match, line)
        elif match := SUITE.search(text):
            self._only_once(f"the summary of {match['suite']}", line)
            self._summary.add_suite(match, line)
        elif match := _SUMMARY.search(text):
            self._only_once(f"TESTSUITE SUMMARY {match['word']}", line)
            self._in_summary = match["start"] is not None
        elif _PROJECT.search(text):
            self._report("the summary has no end")
            self._in_summary = False
            self._read_line(text, line)

    def _restart(self) -> None:
        if self._project is not None:
            self._end_boot()
        super()._restart()
        self._suite, self._in_summary, self._project = "", False, None
        self._summary, self._failed_suites = SuiteSummary(), []

    @property
    def ended(self) -> bool:
        """True after the line PROJECT EXECUTION, of any boot."""
        return self._ended

    @property
    def _is_over(self) -> bool:
        return self._project is not None

    def finish(self) -> None:
        """Handle the end of the text: join the lines with the summary."""
        if self._ended and self._project is None:
            self._restart()  # after a complete boot the end of the run cuts another one
        super().finish()
        self._close_suite()
        self._end_boot()

    def _end_boot(self) -> None:
        """Join the lines with the summary, and compare the closing lines with both."""
        if "TESTSUITE SUMMARY START" in self._once:
            tellings, has_lines = self._tellings(), bool(self._begun)
            for problem in self._summary.problems(tellings, self._starts, has_lines=has_lines):
                self._report(problem)
            for run in self._summary.unseen(tellings, has_lines=has_lines):
                failures = self._failures_in(run.name)
                self._add(replace(run, messages=(*run.messages, *failures)))
        failed = {suite_of(run.name) for run in self.runs[self._boot :] if run.state in _BAD}
        for name in self._failed_suites:
            if name not in failed:
                self._report(f"TESTSUITE {name} says failed, and none of its tests did")
        if self._project and failed:
            self._report("PROJECT EXECUTION SUCCESSFUL is printed, and not all tests passed")

    def _tellings(self) -> dict[str, Telling]:
        """What a summary may tell of the runs since the boot, by test."""
        tellings: dict[str, Telling] = {}
        for index, run in enumerate(self.runs[self._boot :], self._boot):
            telling = tellings.setdefault(run.name.partition("[")[0], Telling())
            telling.every.append(run.state)
            if index >= self._starts.get(suite_of(run.name), 0):
                telling.last.append(run.state)
        return tellings

    def _failures_in(self, name: str) -> list[str]:
        """The failures that name the function of a test without lines."""
        suite, function = suite_of(name), name.replace(".", "_", 1)
        return [one for one in self._failures.get(suite, ()) if f"{function}:" in one]

    def _causes(self, failed: Sequence[TestResult], expected: ExpectedResults) -> Iterable[str]:
        """What came before failed tests, or failed the run without one: lines that were lost, the
        set-up of a suite, assumptions.
        """
        names = {test.name for test in failed}
        if self._dropped and self._lacks_results(names):
            yield (
                f"the log dropped {self._dropped} messages (line {self._dropped_at}), and results "
                "with them: CONFIG_LOG_BUFFER_SIZE is too small"
            )
        yield from self._failed_set_ups(names)
        any_failed = not _BAD.isdisjoint(run.state for run in self.runs)
        unexplained = self._project is False and not any_failed and not self._has_error
        assumed = {
            (run.name, run.state): match[1]
            for run in self.runs
            for message in run.messages
            if run.state in _PAST and (match := _ASSUMPTION.match(message))
        }
        for (name, state), failure in assumed.items():
            fails_run = unexplained and expected.tests.get(name) != state
            if fails_run or (state == "fail" and name in names):
                yield f"{name}: assumption {failure}: test {_PAST[state]}"
        if unexplained and not assumed:
            yield "PROJECT EXECUTION FAILED is printed, and no test failed"

    def _lacks_results(self, failed: Container[str]) -> bool:
        """Whether the log is not whole: a test without end, no test, contradictions."""
        unfinished = any(run.state == "unfinished" and run.name in failed for run in self.runs)
        contradicts = bool(self._contradictions) and not self._has_error
        return unfinished or contradicts or not self.runs or not self._ended

    def _failed_set_ups(self, failed: Container[str]) -> Iterable[str]:
        """The failures before the first test of suites with ``failed`` tests."""
        for suite, messages in self._failures.items():
            runs = [run for run in self.runs if suite_of(run.name) == suite]
            if any(run.name in failed for run in runs) and all(
                run.messages[:1] == (messages[0],) for run in runs
            ):
                yield f"{suite}, in setup(): {messages[0]}"

    def _missing(self, expected: ExpectedResults) -> Iterable[str]:
        """The closing line; a suite that is run by name in ztest's shell has none."""
        if not self._ended and not expected.names_end:
            yield "the closing line (PROJECT EXECUTION) never came"
