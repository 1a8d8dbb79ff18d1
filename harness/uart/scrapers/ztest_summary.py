"""The summary at the end of ztest's log: rows of tests, counts of suites.

It is held against the runs of the tests that have lines above, and tells the results of others.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from harness.uart.lines import Line
from harness.uart.scrapers.base import MOST_RESULTS
from harness.uart.scrapers.tests import TestRun, flaky_message

SECONDS = r"(?P<whole>\d{1,9})\.(?P<rest>\d{1,6}) seconds"
SUITE = re.compile(
    r"SUITE (?P<word>PASS|FAIL|SKIP) - {1,4}[\d.]{1,9}% \[(?P<suite>[^\]]{1,200})\]:"
    r" pass = (?P<pass>\d{1,9}), fail = (?P<fail>\d{1,9}), skip = (?P<skip>\d{1,9}),"
    rf" total = (?P<total>\d{{1,9}}) duration = {SECONDS}\s{{0,4}}$"
)
ROW = re.compile(
    r" - (?P<state>PASS|FAIL|SKIP|FLAKY(?= - \[[^\]]{1,400}\] - \()) - \[(?P<name>[^\]]{1,400})\]"
    r"(?: - \(Failed (?P<failed>\d{1,9}) of (?P<runs>\d{1,9}) attempts\))?"
    rf"(?: -)? duration = {SECONDS}\s{{0,4}}$"
)
#: What a row is counted as.
_COUNTED = {"PASS": "pass", "SKIP": "skip", "FAIL": "fail", "FLAKY": "fail"}
_KINDS = ("pass", "fail", "skip")


@dataclass(frozen=True)
class Telling:
    """The states of a test's runs, of all its parameters together."""

    every: list[str] = field(default_factory=list)
    last: list[str] = field(default_factory=list)  # in the last repetition of its suite

    @property
    def words(self) -> set[str]:
        """The words of rows that releases print for it."""
        return _words(self.every) | _words(self.last)

    def fits(self, row: TestRun) -> bool:
        """Whether some release prints ``row`` for it."""
        return any(
            row.state.upper() in _words(states)
            and row.messages
            in ((), (flaky_message(len(states) - states.count("pass"), len(states)),))
            for states in (self.every, self.last)
        )


def _words(states: Sequence[str]) -> set[str]:
    kinds = set(states)
    if kinds <= {"skip"}:
        return {"SKIP"}
    if kinds == {"pass"}:
        return {"PASS"}
    if "pass" not in kinds:
        return {"FAIL"}
    # In older releases a test that passed and was skipped is flaky, and a flaky one has failed.
    return {"FLAKY", "FAIL", *(["PASS"] if kinds == {"pass", "skip"} else [])}


@dataclass(frozen=True)
class _Total:
    """A suite's line."""

    word: str
    counts: Mapping[str, int]  # pass, fail, skip, total
    line: int


class SuiteSummary:
    """The summary of one boot."""

    def __init__(self) -> None:
        self._rows: dict[str, TestRun] = {}
        self._totals: dict[str, _Total] = {}

    def add_row(self, match: re.Match[str], line: Line) -> None:
        """Keep the row of a test."""
        flaky = (flaky_message(match["failed"], match["runs"]),) if match["failed"] else ()
        row = TestRun(
            match["name"], line.number, "", match["state"].lower(), seconds_in(match), flaky
        )
        if len(self._rows) < MOST_RESULTS:
            self._rows[row.name] = row

    def add_suite(self, match: re.Match[str], line: Line) -> None:
        """Keep the line of a suite."""
        counts = {name: int(match[name]) for name in (*_KINDS, "total")}
        if len(self._totals) < MOST_RESULTS:
            self._totals[match["suite"]] = _Total(match["word"], counts, line.number)

    def unseen(self, tellings: Mapping[str, Telling], *, has_lines: bool) -> Iterator[TestRun]:
        """The tests without lines. Where others have lines, only those that were skipped."""
        for name, row in self._rows.items():
            if name not in tellings and (row.state == "skip" or not has_lines):
                yield row
        if not self._rows:
            seen = Counter(map(suite_of, tellings))
            for suite, total in self._totals.items():
                states = _unnamed(total, seen[suite], has_lines=has_lines)
                for number, state in enumerate(states, 1):
                    yield TestRun(f"{suite}.unnamed {number}", total.line, "", state)

    def problems(
        self, tellings: Mapping[str, Telling], suites: Iterable[str], *, has_lines: bool
    ) -> Iterator[str]:
        """What cannot be true of the runs that have lines, of ``suites`` that ran."""
        rows = self._rows
        for name, telling in tellings.items():
            if rows and name not in rows:
                yield f"the summary does not name {name}, which ran ({telling.every[-1]})"
        for name, row in rows.items():
            if name not in tellings and has_lines and row.state != "skip":
                yield f"the summary says {row.state} of {name}, which did not run"
            elif name in tellings and not tellings[name].fits(row):
                ended = " and ".join(dict.fromkeys(tellings[name].every))
                told = row.messages[0] if row.messages else row.state
                yield f"the summary says {told} of {name}, which ended {ended}"
        words: dict[str, list[set[str]]] = {suite: [] for suite in suites}  # of its tests
        for name in rows or tellings:
            one = {rows[name].state.upper()} if rows else tellings[name].words
            words.setdefault(suite_of(name), []).append(one)
        for suite in words:
            if suite not in self._totals:
                yield f"the summary does not count suite {suite}"
        for suite, total in self._totals.items():
            yield from self._miscounts(suite, total, words.get(suite, []), has_lines=has_lines)

    def _miscounts(
        self, suite: str, total: _Total, words: Sequence[set[str]], *, has_lines: bool
    ) -> Iterator[str]:
        """What is wrong with a suite's line; ``words`` are those that its tests may have."""
        counts, failed = total.counts, total.counts["fail"]
        if (total.word == "FAIL") != bool(failed):
            yield f"the summary of {suite} says {total.word}, and counts {failed} failures"
        may = [{_COUNTED[word] for word in one} for one in words]
        if not self._rows:
            may += [{state} for state in _unnamed(total, len(words), has_lines=has_lines)]
        seen = {kind: sum(kind in one for one in may) for kind in _KINDS} | {"total": len(may)}
        least = {kind: may.count({kind}) for kind in _KINDS}
        if sum(counts[kind] for kind in _KINDS) != counts["total"] or any(
            not least.get(name, seen[name]) <= count <= seen[name] for name, count in counts.items()
        ):
            told = ", ".join(f"{name} {counts[name]} of {seen[name]} seen" for name in counts)
            yield f"the summary of {suite} counts {told}"


def _unnamed(total: _Total, seen: int, *, has_lines: bool) -> list[str]:
    """The states of the tests that a suite's line counts, and no other line tells.

    ``seen`` tests of the suite have lines.
    """
    counts = total.counts
    if has_lines:
        return ["skip"] * min(max(counts["total"] - seen, 0), MOST_RESULTS)
    return [kind for kind in _KINDS for _ in range(min(counts[kind], MOST_RESULTS))]


def suite_of(name: str) -> str:
    """The suite of a test."""
    return name.partition(".")[0]


def seconds_in(match: re.Match[str]) -> float:
    """Seconds from Zephyr's text: milliseconds after the point, before 3.2 not zero-padded."""
    return int(match["whole"]) + int(match["rest"]) / 1000
