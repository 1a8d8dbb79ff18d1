"""Results of ThrowTheSwitch's Unity, plain and with its fixtures.

Plain, a line for each test::

    test/test_add.c:12:test_add_s8:PASS          (or PASS (3 ms))
    test/test_add.c:30:test_add_s16:FAIL: Expected 1 Was 2
    test/test_add.c:41:test_add_s32:IGNORE: no kernel

Verbose fixtures: ``TEST(group, name) PASS``, ``TEST(group, name)a.c:30::FAIL: Expected 1 Was 2``
and ``IGNORE_TEST(group, name)``. Quiet fixtures print ``.`` for each test (``!`` if it is ignored)
and name only those that fail or ignore themselves: ``...a.c:30:TEST(group, name):FAIL: ...``.

All end with ``3 Tests 1 Failures 1 Ignored`` and a line ``OK`` or ``FAIL``. Plain tests do not
print their beginning, so errors and faults are findings at any time.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from harness.uart.lines import Line
from harness.uart.scrapers.tests import TestScraper, without_log_prefix

_TALLY = re.compile(
    r"(?P<tests>\d{1,9}) Tests (?P<failures>\d{1,9}) Failures (?P<ignored>\d{1,9}) Ignored\s{0,4}$"
)
_CLOSING = {"OK": True, "FAIL": False, "FAILED": False}
_NAME = r"(?P<name>[^:(<]{0,200}(?:\(.{0,200}\))?)"
_LINE = r"(?P<line>\d{1,9})"
_STATE = r"(?P<state>PASS|FAIL|IGNORE|INFO)(?=[: ]|$)"
#: A test's result: plain, for Eclipse, IAR and Qt Creator, and plain behind other text.
_ROWS = (
    re.compile(rf"^(?P<file>(?:[A-Za-z]:)?[^:]{{1,300}}):{_LINE}:{_NAME}:{_STATE}"),
    re.compile(rf"\((?P<file>(?:[A-Za-z]:)?[^:]{{1,300}}):{_LINE}\) {_NAME}:{_STATE}"),
    re.compile(rf'<SRCREF line={_LINE} file="(?P<file>[^"]{{1,300}})">{_NAME}</SRCREF> {_STATE}'),
    re.compile(rf"file://(?P<file>[^:]{{1,300}}):{_LINE} {_NAME}:{_STATE}"),
    re.compile(rf"(?<=\s)(?P<file>[^\s:]{{1,300}}):{_LINE}:{_NAME}:{_STATE}"),
)
_SECONDS = re.compile(r" \((?P<ms>\d{1,9})(?:\.\d{1,9})? ms\)\s{0,4}$")
_FIXTURE = re.compile(
    r"(?P<ignored>IGNORE_)?TEST\((?P<group>[^,()]{1,200}), {0,4}(?P<name>[^(),]{1,200})\)"
)
_PASSED = re.compile(r"(?:^| )PASS(?: \(\d{1,9}(?:\.\d{1,9})? ms\))?\s{0,4}$")
_HEADER = re.compile(r"Unity test run \d{1,9} of \d{1,9}")
_STATES = {"PASS": "pass", "FAIL": "fail", "IGNORE": "skip"}
#: Most printed lines that are kept for the details of a failure.
_PRINTED = 9


class _Marks:
    """Counts the dots and exclamation marks of a quiet fixture."""

    def __init__(self) -> None:
        self.ran = 0
        self.ignored = 0
        self.of_paths = 0  # most of `ran` that may belong to a path: two in `../test.c`

    def add(self, marks: str, after: str = "") -> None:
        """Count ``marks``; ``after`` is the path that follows them."""
        self.ran += marks.count(".")
        self.ignored += marks.count("!")
        if after.startswith(("/", "\\")):
            self.of_paths += min(2, len(marks) - len(marks.rstrip(".")))


class Unity(TestScraper):
    """One result per test; checks each tally and closing line against the tests before it."""

    end = rb"\b(?:OK|FAIL(?:ED)?)\s{0,4}\n"
    failed = re.compile(r"\d Tests [1-9]\d{0,8} Failures \d{1,9} Ignored")

    def __init__(self) -> None:
        super().__init__()
        self._first = 0  # index of the first test after the last tally
        self._marks = _Marks()
        self._is_fixture = False  # after a fixture's header, dots are tests
        self._tally: dict[str, int] | None = None  # a tally without its closing line yet
        self._closed = False
        self._printed: list[str] = []

    def feed(self, line: Line) -> None:
        """Read one line."""
        text = without_log_prefix(line.text)
        if match := _TALLY.match(text):
            self._take_tally({name: int(count) for name, count in match.groupdict().items()}, line)
        elif text.strip() in _CLOSING and (self._tally is not None or self.ended):
            self._close(line, passed=_CLOSING[text.strip()])
        elif match := _FIXTURE.match(text):
            self._begin_fixture(match, line)
        elif _HEADER.match(text):
            self._is_fixture = True
        else:
            self._read_result(text, line)

    def _begin_fixture(self, match: re.Match[str], line: Line) -> None:
        """Begin the test of a verbose fixture, whose result may follow on the same line."""
        self._begin(_name_of(match), line)
        self.owner = 0
        if match["ignored"]:
            self._end("skip")
        elif rest := match.string[match.end() :]:
            self._read_result(rest, line)

    def _read_result(self, text: str, line: Line) -> None:
        """Read a test's result, or a line that a test printed."""
        unmarked = text.lstrip(".!")
        marks = text[: len(text) - len(unmarked)]
        if match := _row(unmarked):
            if self._is_fixture and self._running is None:
                self._marks.add(marks, unmarked)
                marks = ""
            self._take_row(match, marks, line)
        elif self._running is not None and _PASSED.search(text):
            self._finish_test("pass", text)
        elif unmarked:
            self._print(text)
        else:
            self._marks.add(marks)

    def _take_row(self, match: re.Match[str], dots: str, line: Line) -> None:
        """Read the result of a test; ``dots`` are the beginning of its path."""
        where, rest = f"{dots}{match['file']}:{match['line']}", match.string[match.end() :]
        message = f"{where}{rest.rstrip()}"
        if match["state"] == "INFO":
            self._print(message)
            return
        if self._running is None:
            fixture = _FIXTURE.fullmatch(match["name"])
            name = _name_of(fixture) if fixture else match["name"] or where
            self._begin(name, line, "" if fixture else dots + match["file"])
            self.owner = 0
        if match["state"] != "PASS":
            self._note(message)
        if match["state"] == "FAIL":
            for printed in self._printed:
                self._note(printed)
        self._finish_test(_STATES[match["state"]], rest)

    def _print(self, text: str) -> None:
        if len(self._printed) < _PRINTED:
            self._printed.append(text.strip())

    def _finish_test(self, state: str, rest: str) -> None:
        """End the running test; ``rest`` may end with its duration."""
        match = _SECONDS.search(rest)
        self._end(state, int(match["ms"]) / 1000 if match else None)
        self._printed.clear()

    def _take_tally(self, tally: dict[str, int], line: Line) -> None:
        self._end_unfinished()
        if self._tally is not None:
            self._report_line(line, "came before OK or FAIL of the tally before it")
        if self._is_fixture:
            self._add_unnamed(tally, line)
        runs = self.runs[self._first :]
        seen = _counted([run.state for run in runs])
        if seen != tally and not self.left_out:
            words = ", ".join(f"{name} {tally[name]} of {seen[name]} seen" for name in tally)
            message = f"the tally on line {line.number} counts {words}"
            # After a reset that the text does not show all tests run again.
            last = {(run.name, run.file): run.state for run in runs}
            again = _counted(list(last.values())) == tally
            (self._report_unless_reset if again else self._report)(message)
        self._tally, self._closed = tally, False
        self._first, self._marks = len(self.runs), _Marks()

    def _add_unnamed(self, tally: dict[str, int], line: Line) -> None:
        """Add the tests that a quiet fixture shows as marks alone, if their number fits the tally.

        Those that are not ignored have passed: a test that fails prints its name.
        """
        marks, named = self._marks, len(self.runs) - self._first
        passed = tally["tests"] - named - marks.ignored
        shown = marks.ran + marks.ignored
        if passed < 0 or not shown - marks.of_paths <= tally["tests"] <= shown:
            return
        for number in range(passed + marks.ignored):
            self._begin(f"unnamed {number + 1}", line)
            self._end("pass" if number < passed else "skip")

    def _close(self, line: Line, *, passed: bool) -> None:
        tally, self._tally, self._closed = self._tally, None, True
        if tally is None:
            self._report_line(line, "came after the end")
        elif passed != (tally["failures"] == 0):
            word = "OK" if passed else "FAIL"
            self._report(f"{word} is printed, and the tally counts {tally['failures']} failures")

    def _restart(self) -> None:
        super()._restart()
        self._first, self._marks, self._tally = len(self.runs), _Marks(), None
        self._printed.clear()

    @property
    def ended(self) -> bool:
        """True after a tally with its closing line, until the next test's result."""
        return self._closed and len(self.runs) == self._first and self._running is None

    @property
    def between_tests(self) -> bool:
        """False: plain tests do not print their beginning, so a fault may be outside of tests."""
        return False

    def finish(self) -> None:
        """Handle the end: a tally must follow every test, and OK or FAIL every tally."""
        super().finish()
        more = len(self.runs) - self._first
        if self._tally is not None:
            self._report("after the last tally neither OK nor FAIL came")
        elif not self._closed:
            self._report("the tally (N Tests N Failures N Ignored) never came")
        if more and self._first:
            self._report(f"{more} tests came after the last tally")


def _row(text: str) -> re.Match[str] | None:
    """A test's result in ``text``."""
    if not any(state in text for state in ("PASS", "FAIL", "IGNORE", "INFO")):
        return None
    return next((match for row in _ROWS if (match := row.search(text))), None)


def _counted(states: Sequence[str]) -> dict[str, int]:
    """The tally of runs that ended in ``states``; those that a reset ended are not counted."""
    return {
        "tests": len(states) - states.count("reset"),
        "failures": states.count("fail") + states.count("unfinished"),
        "ignored": states.count("skip"),
    }


def _name_of(fixture: re.Match[str]) -> str:
    return f"{fixture['group'].strip()}.{fixture['name'].strip()}"
