"""Zephyr's test suites (ztest), before and since Zephyr 3.2.

``Running TESTSUITE s`` .. ``TESTSUITE s succeeded``, between them for each test ``START - t`` and
`` PASS - t in 0.101 seconds`` (FAIL, SKIP). From Zephyr 3.2 on a summary follows, ``SUITE PASS -
100.00% [s]: pass = 1, fail = 0, skip = 0, total = 1 duration = ...`` with a row `` - PASS - [s.t]
duration = 0.101 seconds`` per test; the last line is ``PROJECT EXECUTION SUCCESSFUL`` (FAILED).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from harness.uart.lines import Line
from harness.uart.scrapers.base import MOST_RESULTS
from harness.uart.scrapers.tests import TestScraper

_SECONDS = r"(?P<whole>\d{1,9})\.(?P<rest>\d{1,6}) seconds"
_RUNNING = re.compile(r"Running TESTSUITE (?P<suite>[^\s\[\]]{1,200})$")
_START = re.compile(r"START - (?P<test>\S{1,200})$")
_END = re.compile(rf" (?P<state>PASS|FAIL|SKIP) - (?P<test>\S{{1,200}}) in {_SECONDS}")
_CLOSED = re.compile(r"TESTSUITE (?P<suite>\S{1,200}) (?P<word>succeeded|failed\.|skipped)$")
_FAILURE = re.compile(r"\s{1,8}(?P<message>Assertion failed at \S{1,200}:\d{1,9}: .{1,300})")
_SUITE = re.compile(
    r"SUITE (?P<word>(?P<failed>FAIL)|[A-Z]{1,8}) - {1,4}[\d.]{1,9}% \[(?P<suite>[^\]]{1,200})\]:"
    r" pass = (?P<pass>\d{1,9}), fail = (?P<fail>\d{1,9}), skip = (?P<skip>\d{1,9}),"
    rf" total = (?P<total>\d{{1,9}}) duration = {_SECONDS}$"
)
_ROW = re.compile(
    rf" - (?P<state>[A-Z]{{1,8}}) - \[(?P<name>[^\]]{{1,400}})\] duration = {_SECONDS}$"
)
_SUMMARY = re.compile(r"-{6} TESTSUITE SUMMARY (?P<word>(?P<start>START)|END) -{6}$")
_PROJECT = re.compile(r"PROJECT EXECUTION (?:(?P<passed>SUCCESSFUL)|FAILED)\s*$")
#: A line outside the summary that is read contains one of these.
_TRIGGERS = ("TEST", "START", "PASS", "FAIL", "SKIP", "SUITE", "PROJECT", "Assertion", " - ")


@dataclass
class _Suite:
    """A suite that is running; ``first`` is the index of its first test."""

    name: str
    first: int


class Ztest(TestScraper):
    """One result per test, called ``suite.test``; checks suites, summary and closing line.

    A test that runs again (in a repeated suite) is another result with the same name.
    """

    end = rb"PROJECT EXECUTION (?:SUCCESSFUL|FAILED)\s{0,4}\n"
    failed = re.compile(r"PROJECT EXECUTION FAILED")

    def __init__(self) -> None:
        super().__init__()
        self._suite: _Suite | None = None
        self._in_summary = False
        self._rows: dict[str, str] = {}
        self._totals: dict[str, dict[str, int]] = {}
        self._project: bool | None = None

    def feed(self, line: Line) -> None:
        """Read one line."""
        text = line.text
        if self._in_summary:
            self._read_summary(line)
        elif any(word in text for word in _TRIGGERS):
            self._read_test(line)

    def _read_test(self, line: Line) -> None:
        text = line.text
        if match := _START.match(text):
            self._not_after_the_end(line)
            self._begin(self._full(match["test"]), line)
        elif match := _END.match(text):
            self._end_of_test(match)
        elif self._running is not None and (match := _FAILURE.match(text)):
            self._note(match["message"])
        elif match := _RUNNING.match(text):
            self._close_suite("")
            self._suite = _Suite(match["suite"], len(self.tests))
        elif match := _CLOSED.match(text):
            self._end_unfinished()
            if self._suite is None or self._suite.name != match["suite"]:
                self._report(f"TESTSUITE {match['suite']} ends and did not begin")
            self._close_suite(match["word"])
        elif match := _SUMMARY.match(text):
            self._end_unfinished()
            self._only_once(f"TESTSUITE SUMMARY {match['word']}", line)
            self._not_after_the_end(line)
            self._in_summary = match["start"] is not None
        elif match := _PROJECT.search(text):
            self._end_unfinished()
            self._close_suite("")
            self._only_once("PROJECT EXECUTION", line)
            self._project = match["passed"] is not None
        elif self._running is None and (_ROW.match(text) or _SUITE.match(text)):
            self._report_line(line, "is outside the summary")

    def _read_summary(self, line: Line) -> None:
        """Read a line of the summary: a suite's, a test's, or an empty one."""
        text = line.text
        if match := _ROW.match(text):
            self._only_once(f"the summary's row of {match['name']}", line)
            if len(self._rows) < MOST_RESULTS:
                self._rows[match["name"]] = match["state"].lower()
        elif match := _SUITE.match(text):
            self._only_once(f"the summary of {match['suite']}", line)
            self._take_total(match)
        elif match := _SUMMARY.match(text):
            self._only_once(f"TESTSUITE SUMMARY {match['word']}", line)
            self._in_summary = match["start"] is not None
        elif _PROJECT.search(text):
            self._report("the summary has no end")
            self._in_summary = False
            self._read_test(line)
        elif text.strip():
            self._report_line(line, "of the summary makes no sense")

    def _take_total(self, match: re.Match[str]) -> None:
        names = ("pass", "fail", "skip", "total")
        counts = {name: int(match[name]) for name in names}
        if len(self._totals) < MOST_RESULTS:
            self._totals[match["suite"]] = counts
        if (match["failed"] is not None) != bool(counts["fail"]):
            claim = f"says {match['word']}, and counts {counts['fail']} failures"
            self._report(f"the summary of {match['suite']} {claim}")

    def _full(self, test: str) -> str:
        return f"{self._suite.name}.{test}" if self._suite else test

    def _end_of_test(self, match: re.Match[str]) -> None:
        name = self._full(match["test"])
        if self._running is None or self._running.name != name:
            running = self._running.name if self._running else "no test"
            self._report(f"{name} ends ({match['state']}) while {running} is running")
        else:
            self._end(match["state"].lower(), _seconds(match["whole"], match["rest"]))

    def _close_suite(self, word: str) -> None:
        """End the running suite with the ``word`` of its closing line; "" without one."""
        suite, self._suite = self._suite, None
        if suite is None:
            return
        states = {test.state for test in self.tests[suite.first :]}
        match word, not {"fail", "unfinished"}.isdisjoint(states):
            case "", _:
                self._report(f"the closing line of TESTSUITE {suite.name} never came")
            case "succeeded", True:
                self._report(f"TESTSUITE {suite.name} says succeeded, and not all of its tests did")
            case "failed.", False:
                self._report(f"TESTSUITE {suite.name} says failed, and none of its tests did")

    @property
    def ended(self) -> bool:
        """True after the line PROJECT EXECUTION."""
        return self._project is not None

    def finish(self) -> None:
        """Handle the end of the text: compare summary and closing line with the tests."""
        super().finish()
        self._close_suite("")
        states = {test.name: test.state for test in self.tests}
        if self._rows or self._totals:
            self._check_summary(states)
        bad = not {"fail", "unfinished"}.isdisjoint(states.values())
        if self._project is None:
            self._report("the closing line (PROJECT EXECUTION) never came")
        elif self._project and bad:
            self._report("PROJECT EXECUTION SUCCESSFUL is printed, and not all tests passed")
        elif not self._project and not bad:
            self._report("PROJECT EXECUTION FAILED is printed, and no test failed")

    def _check_summary(self, states: dict[str, str]) -> None:
        for name, state in states.items():
            if name not in self._rows:
                self._report(f"the summary does not name {name}, which ran ({state})")
            elif self._rows[name] != state:
                self._report(f"the summary says {self._rows[name]} of {name}, which ended {state}")
        for suite in dict.fromkeys(name.rpartition(".")[0] for name in states):
            if suite not in self._totals:
                self._report(f"the summary does not count suite {suite}")
        for name in self._rows.keys() - states.keys():
            self._report(f"the summary names {name}, which did not run")
        for suite, counts in self._totals.items():
            ended = [state for name, state in states.items() if name.startswith(f"{suite}.")]
            seen = {name: ended.count(name) for name in ("pass", "fail", "skip")}
            seen["total"] = len(ended)
            if seen != counts:
                words = ", ".join(f"{name} {counts[name]} of {seen[name]} seen" for name in counts)
                self._report(f"the summary of {suite} counts {words}")


def _seconds(whole: str, rest: str) -> float:
    """Seconds from Zephyr's text: milliseconds after the point, before 3.2 not zero-padded."""
    return int(whole) + int(rest) / 1000
