"""TFLM's own unit tests, in their current and their old form.

Current::

    [ RUN      ] Suite.Name            [       OK ] Suite.Name        [  FAILED  ] Suite.Name
    a_test.cc:215: Failure             (and indented lines with the expression)
    [==========] 2 tests ran.          [  PASSED  ] 1 tests.
    [  FAILED  ] 1 tests, listed below: (and their names)
    ~~~ALL TESTS PASSED~~~             (only if none failed)

Old: ``Testing Name`` begins a test and ends the previous one, ``... failed at a_test.cc:12``
reports a failure; the last lines are ``3/3 tests passed`` and ``~~~ALL TESTS PASSED~~~`` or
``~~~SOME TESTS FAILED~~~``.
"""

from __future__ import annotations

import re

from harness.uart.lines import Line
from harness.uart.scrapers.base import MOST_RESULTS
from harness.uart.scrapers.tests import TestScraper, without_log_prefix

_BRACKET = re.compile(r"\[ {0,9}(?P<word>[A-Z]{2,6}|==========) {0,7}\] (?P<rest>\S.{0,299})$")
_RAN = re.compile(r"(?P<count>\d{1,9}) tests? ran")
_COUNT = re.compile(r"(?P<count>\d{1,9}) tests?(?P<listed>, listed below:)?\.?$")
_FAILURE = re.compile(r"^\S{1,200}:\d{1,9}: Failure$")
_OLD_TEST = re.compile(r"Testing (?P<name>\w{1,200})$")
_OLD_TALLY = re.compile(r"(?P<passed>\d{1,9})/(?P<total>\d{1,9}) tests? passed")
_OLD_FAILURE = re.compile(r"^FAIL: | failed at ")
_CLOSING = re.compile(r"~{2,3}(?:(?P<passed>ALL TESTS PASSED)|SOME TESTS FAILED)~{3}")


class UnitTests(TestScraper):
    """One result per test, with expression, file and line of failures; checks the tallies."""

    end = (
        rb"TESTS (?:PASSED|FAILED)~~~\s{0,4}\n|\[  PASSED  \] \d{1,9} tests?\.\s{0,4}\n|"
        rb"\[  FAILED  \] [^\n]{1,300}\n"
    )
    failed = re.compile(r"~~SOME TESTS FAILED~~|\[  FAILED  \] \d{1,9} tests?, listed below")

    def __init__(self) -> None:
        super().__init__()
        self._tallies: dict[str, int] = {}  # the numbers of tests that ran, passed, failed
        self._listed: list[str] = []  # the failed tests that the image lists
        self._closed: bool | None = None  # the closing line: whether all tests passed
        self._details = 0  # lines that may still follow with a failure's details
        self._bracketed = False  # the last test began with [ RUN ]

    def feed(self, line: Line) -> None:
        """Read one line."""
        text = without_log_prefix(line.text)
        if match := _CLOSING.search(text):
            if self._prints_its_end:
                return  # printed by the test itself
            self._end_of_old_test()
            self._only_once("the closing line", line)
            self._closed = match["passed"] is not None
        elif "]" in text and (match := _BRACKET.search(text)) and self._is_marker(match):
            self._bracket(match["word"], match["rest"].strip(), line)
        elif match := _OLD_TEST.match(text):
            self._end_of_old_test()
            self._bracketed = False
            self._begin_once(match["name"], line)
        elif match := _OLD_TALLY.match(text):
            self._end_of_old_test()
            self._not_after_the_end(line)
            self._only_once("the tally", line)
            self._tallies |= {"passed": int(match["passed"]), "ran": int(match["total"])}
        elif self._running is not None:
            self._read_failure(text)

    def _is_marker(self, match: re.Match[str]) -> bool:
        """Whether a bracket is not just text of the running test, which may print before it."""
        running = self._running
        return not match.start() or (running is not None and match["rest"].strip() == running.name)

    def _begin_once(self, name: str, line: Line) -> None:
        beginning = f"the beginning of {name}"
        if next((one for one in self._once if one.startswith("the beginning")), "") == beginning:
            self._restart_if_again(beginning, line)
        else:
            self._only_once(beginning, line)
        if "ran" in self._tallies:
            self._report(f"{name} began after the tests were counted")
        self._begin(name, line)

    def _bracket(self, word: str, rest: str, line: Line) -> None:
        match word:
            case "RUN":
                self._bracketed = True
                self._begin_once(rest, line)
            case "OK":
                self._close("pass", rest)
            case "==========" if rest == "Running tests.":
                self._restart_if_again("Running tests", line)
            case "==========":
                self._tally(_RAN.match(rest), "ran", line)
            case "PASSED":
                self._tally(_COUNT.match(rest), "passed", line)
            case "FAILED" if self._running is not None:
                self._close("fail", rest)
            case "FAILED":
                self._failed_or_listed(rest, line)
            case _ if self._running is None:
                self._report_line(line, "makes no sense")

    def _failed_or_listed(self, rest: str, line: Line) -> None:
        count = _COUNT.match(rest)
        if count is not None and count["listed"]:
            self._tally(count, "failed", line)
        elif len(self._listed) < MOST_RESULTS:
            self._listed.append(rest)

    def _tally(self, match: re.Match[str] | None, name: str, line: Line) -> None:
        self._end_unfinished()
        self._only_once(f"the number of tests that {name}", line)
        if self._closed is not None:
            self._report_line(line, "came after the closing line")
        if match is None:
            self._report_line(line, "makes no sense")
        elif name != "ran" and "ran" not in self._tallies:
            self._report_line(line, "came before the number of tests")
        else:
            self._tallies[name] = int(match["count"])

    def _close(self, state: str, name: str) -> None:
        if self._running is None or self._running.name != name:
            running = self._running.name if self._running else "no test"
            self._report(f"{name} ends ({state}) while {running} is running")
            if self._running is None:
                return
        self._end(state)
        self._details = 0

    def _end_of_old_test(self) -> None:
        """End a running test; the old form prints nothing at a test's end."""
        if self._running is not None:
            self._end("fail" if self._running.messages else "pass")

    def _read_failure(self, text: str) -> None:
        if _FAILURE.match(text) or _OLD_FAILURE.search(text):
            self._note(text.strip())
            self._details = 2
        elif self._details and text.startswith("  "):
            self._note(text.strip())
            self._details -= 1
        else:
            self._details = 0

    def _restart(self) -> None:
        super()._restart()
        self._tallies, self._listed, self._closed = {}, [], None

    @property
    def _prints_its_end(self) -> bool:
        """True while a test of the current form is running."""
        return self._bracketed and self._running is not None

    @property
    def ended(self) -> bool:
        """True after the closing line, or after a complete tally."""
        if self._closed is not None:
            return True
        ran, passed, failed = map(self._tallies.get, ("ran", "passed", "failed"))
        if ran is None or passed is None or passed > ran:
            return False
        return passed == ran or (failed is not None and len(self._listed) >= failed)

    def finish(self) -> None:
        """Handle the end of the text: compare tallies and closing line with the tests."""
        super().finish()
        states = [run.state for run in self.runs[self._boot :]]
        total, passed, failed = len(states), states.count("pass"), states.count("fail")
        if states and not {"ran", "passed"} <= self._tallies.keys():
            self._report("how many tests ran and how many passed was never printed")
        for name, seen, verb in (
            ("ran", total, "were seen"), ("passed", passed, "did"), ("failed", failed, "did"),
        ):  # fmt: skip
            claimed = self._tallies.get(name, seen)
            if claimed != seen:
                self._report(f"the image says that {claimed} tests {name}, {seen} {verb}")
        named = sorted(run.name for run in self.runs[self._boot :] if run.state == "fail")
        if self._listed and sorted(self._listed) != named:
            self._report("the failed tests that the image lists are not those that failed")
        if not self.ended:
            self._report("the closing line (~~~ALL TESTS PASSED~~~) or tally never came")
        elif self._closed is None and not failed:
            self._report("no test failed, and the line ~~~ALL TESTS PASSED~~~ never came")
        elif self._closed is False and not failed:
            self._report("SOME TESTS FAILED, and no line says which")
        elif self._closed and (failed or "unfinished" in states):
            self._report("ALL TESTS PASSED is printed, but the lines before say otherwise")
