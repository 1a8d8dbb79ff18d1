"""The base class of scrapers, which read results from lines and check them."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any, Protocol

from harness.base.findings import Finding, Findings, Kind
from harness.base.hints import NO_HINT, Hint, HintText
from harness.uart.lines import Line, last_digit, number
from harness.uart.scrapers.readings import Readings

#: One value of a result, read or expected.
Value = float | str

#: Most differences that a check lists; the others are counted.
SHOWN = 20
#: Most results of one console that are kept.
MOST_RESULTS = 100_000
#: Names of the references of comparisons, in all reports.
LISTED_VALUES, REFERENCE = "expect.values", "the NumPy reference"
OWN_TESTS = "the image's own tests"
#: What C libraries print for floats that are not numbers.
_SPECIAL = ("nan", "inf", "infinity")
#: The reference that fits results of any form, in a hint.
LISTED_REFERENCE = "expect.values in a case file (docs/cases.md)"


@dataclass(frozen=True, slots=True)
class Scraped:
    """One result read from the text: an inference, a test, or a line that matched.

    ``values`` are as they were printed.
    """

    values: Mapping[str, str]
    line: int
    text: str


class Compare(Protocol):
    """Compares the tensors read from a console with the model's."""

    def __call__(self, readings: Readings) -> Check:
        """The comparison of all complete inferences."""
        ...


@dataclass(frozen=True)
class ExpectedResults:
    """The results that a case expects, as plain data."""

    values: tuple[Mapping[str, Value], ...] = ()  # of each result in turn
    repeats: bool = False  # the firmware never ends: its results repeat values
    tests: Mapping[str, str] = field(default_factory=dict)  # name -> pass, fail, skip, flaky
    resets: bool = False  # the image resets the chip on purpose
    names_end: bool = False  # the case names the image's last line
    tolerance: float | None = None
    compare: Compare | None = None


@dataclass(frozen=True)
class TestResult:
    """One test of a suite, as the image reported it; all its runs together."""

    __test__ = False  # pytest: not a test

    name: str  # suite.test, or just test if there are no suites
    # pass, fail, skip; flaky: some runs failed; reset: the chip was reset while it ran, and it did
    # not run again; unfinished: no end was printed
    state: str
    line: int  # console line of its first beginning
    seconds: float | None = None  # of its longest run on the target's clock, if they are printed
    messages: tuple[str, ...] = ()  # of failures, with file and line


@dataclass(frozen=True)
class Stated:
    """The tensors of all inferences as an image states them, each (inferences, *shape).

    Outputs are real numbers if they are printed as such. ``ranges`` are the lowest and the highest
    inputs with the same printed digits; () for inputs that are known to the bit.
    """

    inputs: tuple[Any, ...]
    outputs: tuple[Any, ...]
    ranges: tuple[tuple[Any, Any], ...] = ()

    def allows(self, number: int, read: Any) -> bool:
        """Whether ``read``, the first inferences of an input, is the one that is stated."""
        value = self.inputs[number]
        low, high = self.ranges[number] if self.ranges else (value, value)
        within = (low[: len(read)] <= read) & (read <= high[: len(read)])
        return bool(within.all())


@dataclass(frozen=True)
class Mismatch:
    """Values that differ, in one line: how many, why if all of them show it, and the first one."""

    count: str  # "3 of 18 values differ"
    first: str = ""  # the first difference: name, place, what was read, what is expected
    cause: str = ""  # what explains every difference
    rows: tuple[int, ...] = ()  # results with a difference; of tensors their first inferences
    last_row: int = 0
    special: bool = False  # the first difference is a NaN or an infinity

    def __str__(self) -> str:
        why = "; ".join(filter(None, (self.cause, self.first)))
        return f"{self.count}: {why}" if why else self.count


@dataclass(frozen=True)
class Listing:
    """How results differ from the ``expect.values`` of a case.

    ``differing``: row of the list, name, and the text that was printed, None if there is none.
    ``extra``: the values of results behind the last row.
    """

    rows: int
    came: int
    differing: tuple[tuple[int, str, str | None], ...] = ()
    extra: tuple[Mapping[str, str], ...] = ()


@dataclass(frozen=True)
class Check:
    """The outcome of comparing results with the expected ones."""

    compared: int = 0
    mismatches: int = 0
    problems: tuple[str, ...] = ()  # the most important one first; empty for a pass
    details: str = ""  # several lines
    hint: HintText = NO_HINT
    pass_reason: str = ""  # the text of a pass; "" for the default one
    tests: tuple[TestResult, ...] = ()
    compared_with: tuple[str, ...] = ()  # the references
    stated: Stated | None = field(default=None, compare=False)
    mismatch: Mismatch | None = None  # its text is one of the problems
    listing: Listing | None = None  # of a case with expect.values


class Scraper(ABC):
    """Reads results from lines.

    ``end`` is a bytes regex of the image's last line with its line feed, at which a run stops; None
    without one. ``ended`` is true after that line. ``owner`` is the running test's number, 0 for
    none: output of a running test belongs to the test and is not a finding.
    """

    end: bytes | None = None
    owner: int = 0

    def __init__(self) -> None:
        self.results: list[Scraped] = []
        self.findings = Findings()
        self.left_out = 0  # results beyond the limit

    def keep(self, result: Scraped) -> None:
        """Add a result; beyond MOST_RESULTS, only count it."""
        if len(self.results) < MOST_RESULTS:
            self.results.append(result)
        else:
            self.left_out += 1

    @abstractmethod
    def feed(self, line: Line) -> None:
        """Read one line."""

    def restarted(self) -> None:  # noqa: B027 - most scrapers have nothing to do
        """Handle a reset of the chip: what was open does not end any more."""

    def finish(self) -> None:  # noqa: B027 - most scrapers have nothing to do
        """Handle the end of the text."""

    @property
    def ended(self) -> bool:
        """True once the image's last line was read."""
        return False

    @property
    def between_tests(self) -> bool:
        """True if tests ran and none is running: all faults so far belong to tests."""
        return False

    @property
    def reports_failures(self) -> bool:
        """True once the image's tests have ended and some failed."""
        return False

    def check(self, expected: ExpectedResults) -> Check:
        """Compare the results that were read with the expected ones."""
        check = self._check(expected)
        if self.left_out:
            kept = len(self.results)
            problem = f"{self.left_out:,} results more than {kept:,} came and were not checked"
            check = replace(check, problems=(*check.problems, problem))
        return check

    def _check(self, expected: ExpectedResults) -> Check:
        if expected.tests:
            return Check(problems=("expect.tests needs a scraper that reads tests",))
        if expected.values:
            return against_values(self.results, expected)
        if not self.results:
            return Check(problems=("no result was printed",))
        return Check(
            problems=("the results were read but compared with nothing",),
            hint=Hint.COMPARE_RESULTS.told(reference=LISTED_REFERENCE),
        )

    def _unparsed(self, line: Line, why: str) -> None:
        message = f"line {line.number} {line.text[:200]!r}: {why}"
        self.findings.add(Finding(Kind.UNPARSED_VALUE, message, line=line.number))


@dataclass(frozen=True)
class _Compared:
    """One value of a result and the one that is expected."""

    result: int  # counted from 1
    name: str
    got: str | None
    expected: Value
    others: str  # texts of the same result, which identify it for the reader
    tolerance: float

    @property
    def difference(self) -> str:
        return _difference(self.got, self.expected, self.tolerance)

    @property
    def special(self) -> bool:
        """Whether a text for "not a number" or infinity was read in place of a number."""
        text = (self.got or "").lower().lstrip("+-")
        return not isinstance(self.expected, str) and text in _SPECIAL

    @property
    def obtained(self) -> float | None:
        """The value that was read as a number; None if it is none."""
        if self.got is None:
            return None
        return float(self.got) if self.special else number(self.got)

    @property
    def digit(self) -> float:
        """One unit of the last digit of a number with decimals, else 0."""
        if self.got is None or self.got.lstrip("+-").isdecimal():
            return 0.0
        return last_digit(self.got)


def against_values(results: Sequence[Scraped], expected: ExpectedResults) -> Check:
    """Compare results with the case's list, in order; missing and extra results are problems."""
    listed = len(expected.values)
    matched = results if expected.repeats else results[:listed]
    extra = results[len(matched) :]
    compared = [
        _Compared(index, name, result.values.get(name), value, _named(result, name),
                  expected.tolerance or 0.0)
        for index, result in enumerate(matched, 1)
        for name, value in expected.values[(index - 1) % listed].items()
    ]  # fmt: skip
    differing = [one for one in compared if one.difference]
    _, rows = first_rows(
        f"result {one.result}{one.others}: {one.name} is {one.difference}" for one in differing
    )
    came = f"{len(results)} results came, {listed} are expected"
    problems = [came] if len(results) < listed else []
    mismatch = _mismatch(compared, differing) if differing else None
    problems += [str(mismatch)] if mismatch is not None else []
    problems += [came] if extra else []
    if extra:
        first = extra[0]
        rows.append(f"result {listed + 1}, not expected: line {first.line} {first.text[:80]!r}")
    hint = NO_HINT
    if differing and expected.repeats and differing[0].result > listed:
        hint = Hint.LIST_A_ROUND.told()
    return Check(
        len(compared), len(differing), tuple(problems), "\n".join(rows), hint,
        compared_with=(LISTED_VALUES,), mismatch=mismatch,
        listing=Listing(
            listed, len(results),
            tuple(((one.result - 1) % listed, one.name, one.got) for one in differing),
            tuple(result.values for result in extra),
        ),
    )  # fmt: skip


def _mismatch(compared: Sequence[_Compared], differing: Sequence[_Compared]) -> Mismatch:
    count = f"{len(differing)} of {len(compared)} values differ"
    first = next((one for one in differing if one.special), differing[0])
    shown = f"{first.name} of result {first.result} is {first.difference}"
    cause = _cause(compared, {one.name for one in differing})
    rows = tuple(dict.fromkeys(one.result for one in differing))
    return Mismatch(count, shown, cause, rows, compared[-1].result, first.special)


def _cause(compared: Sequence[_Compared], names: Iterable[str]) -> str:
    """What explains each value of each name of which some differ; "" if not all are explained."""
    causes: dict[str, list[str]] = {}
    for name in sorted(names):
        found = _pattern_of([one for one in compared if one.name == name])
        if not found:
            return ""
        causes.setdefault(found, []).append(name)
    return ", ".join(f"{_subject(which)} {found}" for found, which in causes.items())


def _subject(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"each of {', '.join(names)}"


def _pattern_of(values: Sequence[_Compared]) -> str:
    """The pattern of one name's values in all results."""
    from harness.reference import patterns  # noqa: PLC0415 - only where values differ

    expected = [one.expected for one in values]
    if all(isinstance(one.got, str) and isinstance(one.expected, str) for one in values):
        got = [str(one.got) for one in values]
        return patterns.pattern_of_labels(got, [str(one) for one in expected], patterns.RESULTS)
    numbers = [one.obtained for one in values if one.obtained is not None]
    wanted = [one for one in expected if not isinstance(one, str)]
    if not len(numbers) == len(wanted) == len(values):
        return ""
    wrong = [bool(one.difference) for one in values]
    allowed = values[0].tolerance + max(one.digit for one in values)
    return patterns.pattern_of_numbers(numbers, wanted, wrong, allowed)


def first_rows(rows: Iterable[str]) -> tuple[int, list[str]]:
    """The number of ``rows``, and the first SHOWN of them, with a row that counts the others."""
    remaining = iter(rows)
    shown = list(islice(remaining, SHOWN))
    more = sum(1 for _ in remaining)
    return len(shown) + more, [*shown, f"and {more:,} more"] if more else shown


def _difference(got: str | None, value: Value, tolerance: float) -> str:
    """The difference of ``got`` and ``value``; "" for equal text or a number within tolerance."""
    if got is None:
        return f"not there, expected {_shown(value)}"
    if isinstance(value, str):
        return "" if got == value else f"{_shown(got)}, expected {value!r}"
    read = number(got)
    # A number read as mantissa * 2^exponent may differ from the decimal one by rounding.
    if read is not None and math.isclose(read, value, rel_tol=1e-12, abs_tol=tolerance):
        return ""
    shown = _shown(got) if read is None else got[:80]
    return f"{shown}, expected {_shown(value)}"


def _named(result: Scraped, name: str) -> str:
    """A result's texts other than ``name``, which identify it for the reader; "" without any."""
    others = {other: text for other, text in result.values.items() if other != name}
    texts = [f"{other} {text[:80]!r}" for other, text in others.items() if number(text) is None]
    return f" ({', '.join(texts)})" if texts else ""


def _shown(value: Value) -> str:
    return repr(value[:80]) if isinstance(value, str) else f"{value:.9g}"
