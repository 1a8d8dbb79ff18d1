"""The base class of scrapers, which read results from lines and check them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import islice
from typing import Any, Protocol

from harness.base.expected import ValueRule, ValueRules
from harness.base.findings import Finding, Findings, Kind
from harness.base.hints import NO_HINT, Hint, HintText
from harness.uart.lines import Line, is_hex, last_digit, number
from harness.uart.scrapers.readings import Readings
from harness.uart.scrapers.rules import Value, allowed, difference, number_of

#: Characters of a console: the line's number, the first one, the one behind the last.
Span = tuple[int, int, int]

#: Most differences that a check lists; the others are counted.
SHOWN = 20
#: Most results of one console that are kept.
MOST_RESULTS = 100_000
#: Names of the references of comparisons, in all reports.
LISTED_VALUES, REFERENCE = "expect.values", "the NumPy reference"
RANGES = "the ranges of expect.compare"
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
    #: Where each value stands in the text.
    places: Mapping[str, tuple[int, int]] = field(default_factory=dict, compare=False)


class Compare(Protocol):
    """Compares the tensors read from a console with the model's."""

    def __call__(self, readings: Readings) -> Check:
        """The comparison of all complete inferences."""
        ...


@dataclass(frozen=True)
class ExpectedResults:
    """The results that a case expects, as plain data."""

    values: tuple[Mapping[str, Value], ...] = ()  # of each result in turn
    rules: ValueRules = field(default_factory=dict)  # of values, by name
    repeats: bool = False  # the firmware never ends: its results repeat values
    tests: Mapping[str, str] = field(default_factory=dict)  # name -> pass, fail, skip, flaky
    resets: bool = False  # the image resets the chip on purpose
    names_end: bool = False  # the case names the image's last line
    tolerance: float | None = None
    compare: Compare | None = None

    @property
    def ranges(self) -> Mapping[str, ValueRule]:
        """The rules that need no listed value."""
        rules = self.rules.items()
        return {name: rule for name, rule in rules if rule != "ignored" and rule.is_range}

    def rule(self, name: str) -> ValueRule | None:
        """How the listed value of that name is compared; None for one that is ignored."""
        rule = self.rules.get(name, ValueRule())
        return None if rule == "ignored" else rule


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


def both(first: Check, second: Check) -> Check:
    """The outcome of two checks of one console."""
    return Check(
        first.compared + second.compared,
        first.mismatches + second.mismatches,
        (*first.problems, *second.problems),
        "\n".join(filter(None, (first.details, second.details))),
        first.hint or second.hint,
        compared_with=(*first.compared_with, *second.compared_with),
        stated=first.stated,
        mismatch=first.mismatch or second.mismatch,
        listing=first.listing or second.listing,
    )


class Scraper(ABC):
    """Reads results from lines.

    ``end`` is a bytes regex of the image's last line with its line feed, at which a run stops; None
    without one. ``ended`` is true after that line. ``owner`` is the running test's number, 0 for
    none: output of a running test belongs to the test and is not a finding.
    """

    end: bytes | None = None
    owner: int = 0
    #: Names of the values of results, () if they are not known before.
    names: Sequence[str] = ()

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

    def compared(self, expected: ExpectedResults) -> Iterable[Span]:
        """What :meth:`check` compares: by default the whole line of each result."""
        return ((one.line, 0, len(one.text)) for one in self.results)

    def left_out_by_name(self, expected: ExpectedResults) -> Iterable[Span]:
        """What the case says is not to be compared."""
        return ()

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
        if expected.values or expected.ranges:
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
    """One value of a result and the one that is expected; None if its rule is a range."""

    result: int  # counted from 1
    name: str
    got: str | None
    expected: Value | None
    others: str  # texts of the same result, which identify it for the reader
    rule: ValueRule
    tolerance: float

    @cached_property
    def difference(self) -> str:
        return difference(self.got, self.expected, self.rule, self.tolerance)

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
        return float(self.got) if self.special else number_of(self.got, self.rule)

    @property
    def allowed(self) -> float:
        """The tolerance, and one unit of the last digit of a number with decimals."""
        within = allowed(self.rule, self.tolerance)
        if self.got is None or is_hex(self.got):
            return within
        whole = self.got.lstrip("+-").isdecimal() and not self.rule.rounded
        return within + (0.0 if whole else last_digit(self.got) * abs(self.rule.factor))


def against_values(results: Sequence[Scraped], expected: ExpectedResults) -> Check:
    """Compare results with the case's list, in order, and with ranges.

    Missing and extra results are problems, and so is a range of a value that no result has.
    """
    listed = len(expected.values)
    matched = results[:listed] if listed and not expected.repeats else results
    extra = results[len(matched) :]
    compared = list(_compared(matched, expected))
    differing = [one for one in compared if one.difference]
    _, rows = first_rows(
        f"result {one.result}{one.others}: {one.name} is {one.difference}" for one in differing
    )
    came = f"{len(results)} results came, {listed} are expected"
    problems = [came] if len(results) < listed else []
    mismatch = _mismatch(compared, differing) if differing else None
    problems += [str(mismatch)] if mismatch is not None else []
    problems += [came] if extra else []
    problems += _without_value(compared, expected)
    if extra:
        first = extra[0]
        rows.append(f"result {listed + 1}, not expected: line {first.line} {first.text[:80]!r}")
    hint = NO_HINT
    if differing and expected.repeats and differing[0].result > listed > 0:
        hint = Hint.LIST_A_ROUND.told()
    sources = {LISTED_VALUES if one.expected is not None else RANGES: None for one in compared}
    return Check(
        len(compared), len(differing), tuple(problems), "\n".join(rows), hint,
        compared_with=tuple(sources), mismatch=mismatch,
        listing=Listing(
            listed, len(results),
            tuple(
                ((one.result - 1) % listed, one.name, one.got)
                for one in differing
                if one.expected is not None
            ),
            tuple(result.values for result in extra),
        ),
    )  # fmt: skip


def _compared(results: Sequence[Scraped], expected: ExpectedResults) -> Iterator[_Compared]:
    """The values that are listed, and those with a range."""
    tolerance, ranges = expected.tolerance or 0.0, expected.ranges
    for index, result in enumerate(results, 1):
        wanted = expected.values[(index - 1) % len(expected.values)] if expected.values else {}
        for name, value in wanted.items():
            rule = expected.rule(name)
            if rule is not None:
                got, others = result.values.get(name), _named(result, name)
                yield _Compared(index, name, got, value, others, rule, tolerance)
        for name, rule in ranges.items():
            if name in result.values:
                got, others = result.values[name], _named(result, name)
                yield _Compared(index, name, got, None, others, rule, tolerance)


def _without_value(compared: Iterable[_Compared], expected: ExpectedResults) -> Iterator[str]:
    """A problem for each range that no value was compared with."""
    seen = {one.name for one in compared}
    for name in expected.ranges:
        if name not in seen:
            yield f"no result has {name}, of which expect.compare has a range"


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
    wanted = [one for one in expected if isinstance(one, (int, float))]
    if not len(numbers) == len(wanted) == len(values):
        return ""
    wrong = [bool(one.difference) for one in values]
    limit = max(one.allowed for one in values)
    return patterns.pattern_of_numbers(numbers, wanted, wrong, limit)


def first_rows(rows: Iterable[str]) -> tuple[int, list[str]]:
    """The number of ``rows``, and the first SHOWN of them, with a row that counts the others."""
    remaining = iter(rows)
    shown = list(islice(remaining, SHOWN))
    more = sum(1 for _ in remaining)
    return len(shown) + more, [*shown, f"and {more:,} more"] if more else shown


def _named(result: Scraped, name: str) -> str:
    """A result's texts other than ``name``, which identify it for the reader; "" without any."""
    others = {other: text for other, text in result.values.items() if other != name}
    texts = [f"{other} {text[:80]!r}" for other, text in others.items() if number(text) is None]
    return f" ({', '.join(texts)})" if texts else ""
