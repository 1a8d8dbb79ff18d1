"""TFLM's own unit tests: ``Testing NAME``, failures with file and line, and the closing line."""

from __future__ import annotations

import re

from harness.findings import Finding, Kind
from harness.uart.lines import Line
from harness.uart.scrapers.base import Scraped, Scraper

_TEST = re.compile(r"^Testing (?P<name>\w+)$")
_FAILURE = re.compile(r"(?P<what>\S.*?) failed at (?P<where>\S+:\d+)")
_TALLY = re.compile(r"^(?P<passed>\d+)/(?P<total>\d+) tests passed")
_PASSED = re.compile(r"~{2,3}ALL TESTS PASSED~{3}")
_FAILED = re.compile(r"~{2,3}SOME TESTS FAILED~{3}")


class UnitTests(Scraper):
    """One result a test: ``{"passed": 1.0 or 0.0}``; each failure is a finding."""

    stop = rb"TESTS (PASSED|FAILED)~~~"

    def __init__(self) -> None:
        super().__init__()
        self._running: tuple[str, Line, bool] | None = None
        self._verdict: bool | None = None
        self._tally: tuple[int, int] | None = None

    def feed(self, line: Line) -> None:
        """Look at one line."""
        if match := _TEST.match(line.text):
            self._close()
            self._running = (match["name"], line, True)
        elif match := _FAILURE.search(line.text):
            name = self._running[0] if self._running else ""
            message = f"{name}: {match['what']} at {match['where']}"
            self.findings.append(Finding(Kind.TEST_FAILED, message, name, line.number))
            if self._running:
                self._running = (name, self._running[1], False)
        elif match := _TALLY.match(line.text):
            self._tally = (int(match["passed"]), int(match["total"]))
        elif _PASSED.search(line.text) or _FAILED.search(line.text):
            self._close()
            self._verdict = bool(_PASSED.search(line.text))

    def _close(self) -> None:
        if self._running:
            name, line, passed = self._running
            self.results.append(Scraped({"passed": float(passed)}, line.number, name))
            self._running = None

    def finish(self) -> None:
        """Hold the closing line against the tests that were seen."""
        self._close()
        failed = sum(1 for result in self.results if not result.values["passed"])
        if self._verdict is None:
            self._complain("the closing line (ALL TESTS PASSED or SOME TESTS FAILED) never came")
        elif not self._verdict and not failed:
            self._complain("SOME TESTS FAILED, and no line says which")
        elif self._verdict and (failed or not self._all_passed()):
            self._complain("ALL TESTS PASSED is printed, but the lines before say otherwise")

    def _all_passed(self) -> bool:
        """The tally, where the image prints one, must not be empty: 0/0 passed proves nothing."""
        if self._tally is None:
            return True
        passed, total = self._tally
        return 0 < total == passed

    def _complain(self, message: str) -> None:
        self.findings.append(Finding(Kind.TEST_FAILED, message))

    @property
    def finished(self) -> bool:
        """True after the closing line."""
        return self._verdict is not None
