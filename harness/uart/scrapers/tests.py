"""What scrapers of test suites share: tests that begin and end, and known failures."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass, field

from harness.uart.lines import Line
from harness.uart.scrapers.base import (
    SHOWN,
    Check,
    Scraped,
    Scraper,
    TestResult,
    Wanted,
)

#: Tests that are kept of one console, and told in every report.
MOST_TESTS = 10_000
#: Lines that are kept of what one test says about its failure, and characters of each.
_MESSAGES, _WIDTH = 10, 300
#: Contradictions that are listed; the rest is counted.
_COMPLAINTS = 50


@dataclass
class _Running:
    name: str
    line: Line
    messages: list[str] = field(default_factory=list)


class TestScraper(Scraper):
    """Reads tests: one result each, and what the image's own tallies say otherwise."""

    __test__ = False  # pytest: not a test

    def __init__(self) -> None:
        super().__init__()
        self.tests: list[TestResult] = []
        self._running: _Running | None = None
        self._complaints: list[str] = []
        self._once: dict[str, int] = {}
        self._begun = 0

    def _begin(self, name: str, line: Line) -> None:
        """A test begins; one that was running never ended."""
        self._end_unfinished()
        self._running = _Running(name, line)
        self._begun += 1
        self.owner = self._begun

    def _end(self, state: str, seconds: float | None = None) -> None:
        """The test that is running ends."""
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
        """What the running test says of its failure."""
        if self._running is not None and len(self._running.messages) < _MESSAGES:
            self._running.messages.append(message[:_WIDTH])

    def _only_once(self, what: str, line: Line) -> None:
        """``what`` may stand in one place of the text."""
        if what in self._once:
            first = self._once[what]
            self._complain(f"{what} came on line {first} and again on line {line.number}")
        else:
            self._once[what] = line.number

    def _not_after_the_end(self, line: Line) -> None:
        """Nothing of a suite follows its last words."""
        if self.ended:
            self._complain_of(line, "came after the end")

    def _complain(self, message: str) -> None:
        """The image contradicts itself."""
        if len(self._complaints) < _COMPLAINTS:
            self._complaints.append(message[:_WIDTH])

    def _complain_of(self, line: Line, why: str) -> None:
        """A line that cannot stand where it does."""
        self._complain(f"line {line.number} {line.text[:80]!r} {why}")

    @property
    def between_tests(self) -> bool:
        """True if tests ran and none is running."""
        return bool(self.tests) and self._running is None

    def finish(self) -> None:
        """A test that is still running never ended: what was printed meanwhile are findings."""
        owner = self.owner
        self._end_unfinished()
        self.owner = owner

    def count(self, state: str) -> int:
        """How many tests ended so."""
        return sum(test.state == state for test in self.tests)

    def _check(self, wanted: Wanted) -> Check:
        """Every test passed or was skipped, or ended as the case expects of it."""
        if wanted.values:
            return Check(problems=("a suite of tests is held by expect.tests, not expect.values",))
        failed = [test for test in self.tests if not _as_wanted(test, wanted)]
        problems = [*_failures(failed, len(self.tests)), *self._known_ones(wanted)]
        if all(test.state == "skip" for test in self.tests):
            skipped = f": {len(self.tests)} were skipped" if self.tests else ""
            problems.append(f"no test ran{skipped}")
        return Check(
            len(self.tests),
            len(failed),
            (*problems, *self._complaints),
            "\n".join(_reports(failed)),
            praise=self._praise(wanted),
            tests=tuple(self.tests),
        )

    def _known_ones(self, wanted: Wanted) -> Iterable[str]:
        """Where the case's list of known ends is no longer true."""
        seen = {test.name for test in self.tests}
        for name, state in wanted.tests.items():
            if name not in seen:
                near = next(iter(difflib.get_close_matches(name, seen)), "")
                more = f"; is it {near}?" if near else ""
                yield f"expect.tests names {name} ({state}), which did not run{more}"
        for test in self.tests:
            state = wanted.tests.get(test.name, test.state)
            if test.state == "pass" and state != "pass":
                yield f"{test.name} passes, and expect.tests says {state}: take it off the list"

    def _praise(self, wanted: Wanted) -> str:
        known = sum(wanted.tests.get(test.name) == "fail" for test in self.tests)
        parts = [f"{self.count('pass')} of {len(self.tests)} tests passed"]
        parts += [f"{self.count('skip')} skipped"] if self.count("skip") else []
        parts += [f"{known} failed as known"] if known else []
        return ", ".join(parts)


def _as_wanted(test: TestResult, wanted: Wanted) -> bool:
    """A pass that should not be is told on its own."""
    state = wanted.tests.get(test.name)
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
