"""Which numbers and lines of a console have been compared with something.

A number that a scraper read and that nobody compared does not count. Records have a check each, so
lines with a record are left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import re2

from harness.base.text import count_of
from harness.uart.lines import Line
from harness.uart.records import PREFIX
from harness.uart.scrapers.base import Span
from harness.uart.scrapers.pattern import compile_regex, in_characters

#: A printed number: decimal, hexadecimal with its prefix, or mantissa*2^exponent; no part of a word
#: or of a version.
NUMBER = re.compile(
    r"(?<![\w.])[-+]?(?:0[xX][0-9a-fA-F]+|\d+(?:\.\d+)?(?:[eE][-+]?\d+)?(?:\*2\^-?\d+)?)(?!\.?\w)",
    re.ASCII,
)
#: The time of day, the uptime in a logger's form, or a date: no number.
CLOCK = r"(?<!\d)\d{1,2}:\d{2}(?::\d{2})?(?:\.\d{1,6}(?:,\d{3})?)?(?!\d)|\d{4}-\d{2}-\d{2}"
_CLOCK = re.compile(CLOCK, re.ASCII)
#: Most lines that are looked at, and most unread ones that are kept.
_MOST_LINES, _MOST_UNREAD = 100_000, 1000
_SHOWN = 80  # characters of an unread line


@dataclass(frozen=True)
class UnreadLine:
    """A line with numbers that were compared with nothing."""

    line: int
    text: str
    numbers: tuple[str, ...]


@dataclass(frozen=True)
class ConsoleCoverage:
    """How much of a console was compared; ``ignored`` numbers are so by the case's own words."""

    numbers: int = 0
    checked: int = 0
    ignored: int = 0
    lines: int = 0
    lines_checked: int = 0
    unread: tuple[UnreadLine, ...] = ()

    def __str__(self) -> str:
        """``24 of 30 numbers checked``."""
        ignored = f", {self.ignored} ignored" if self.ignored else ""
        return f"{self.checked} of {count_of(self.numbers, 'number')} checked{ignored}"

    @property
    def problem(self) -> str:
        """What is wrong where every number must be checked; "" if nothing is."""
        missed = self.numbers - self.checked - self.ignored
        if not missed:
            return ""
        first = self.unread[0]
        return (
            f"{count_of(missed, 'number')} of the console {'is' if missed == 1 else 'are'} not "
            f"checked: line {first.line} {first.text!r}"
        )


def coverage_of(
    lines: Iterable[Line],
    compared: Iterable[Span],
    left_out: Iterable[Span] = (),
    ignored: Sequence[str] = (),
) -> ConsoleCoverage:
    """The coverage of ``lines``, of which the spans ``compared`` were compared.

    Numbers in the spans ``left_out``, and in matches of the regexes ``ignored``, need no check.
    """
    by_line, free_by_line = _by_line(compared), _by_line(left_out)
    patterns = ignored_patterns(ignored)
    numbers = checked = skipped = printed = read = 0
    unread: list[UnreadLine] = []
    for line in islice(lines, _MOST_LINES):
        if not line.text.strip() or PREFIX in line.text:
            continue
        spans, missed = by_line.get(line.number, []), []
        found = list(numbers_in(line.text))
        free = [*free_by_line.get(line.number, ())]
        free += [span for one in patterns for span in _matches(one, line.text)] if found else []
        for each in found:
            if _inside(each.span(), spans):
                checked += 1
            elif _inside(each.span(), free):
                skipped += 1
            else:
                missed.append(each[0])
        numbers += len(found)
        printed += 1
        read += bool(spans)
        if missed and len(unread) < _MOST_UNREAD:
            unread.append(UnreadLine(line.number, line.text[:_SHOWN], tuple(missed)))
    return ConsoleCoverage(numbers, checked, skipped, printed, read, tuple(unread))


def ignored_patterns(ignored: Sequence[str]) -> list[re2._Regexp]:
    """The compiled regexes of ``expect.ignored``; raises :class:`UsageError` for a broken one."""
    return [compile_regex(one, "the regex of expect.ignored") for one in ignored]


def numbers_in(text: str) -> Iterator[re.Match[str]]:
    """The numbers of a line that are no clock."""
    clocks = [match.span() for match in _CLOCK.finditer(text)]
    return (one for one in NUMBER.finditer(text) if not _inside(one.span(), clocks))


def _by_line(spans: Iterable[Span]) -> dict[int, list[tuple[int, int]]]:
    found: dict[int, list[tuple[int, int]]] = {}
    for number, start, end in spans:
        found.setdefault(number, []).append((start, end))
    return found


def _matches(pattern: re2._Regexp, text: str) -> Iterator[tuple[int, int]]:
    return (in_characters(text, match.span()) for match in pattern.finditer(text.encode()))


def _inside(number: tuple[int, int], spans: Sequence[tuple[int, int]]) -> bool:
    return any(start <= number[0] and number[1] <= end for start, end in spans)
