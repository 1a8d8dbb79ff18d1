"""Scrapers made from a user's regex, for output of any form.

Neither the user's regex nor the device's text may make a match slow: RE2 takes time linear in the
line for every regex. (With a time limit on a backtracking engine, the verdict would depend on the
machine's load.) RE2 has no look-around and no back-references; a regex with them is refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain

import re2

from harness.base.errors import UsageError
from harness.base.findings import Finding, Findings, Kind
from harness.uart.lines import Line
from harness.uart.scrapers.base import ExpectedResults, Scraped, Scraper, Span

#: Most characters of a regex.
LONGEST_REGEX = 2000


def compile_regex(pattern: str, name: str) -> re2._Regexp:
    """Compile a user's regex.

    Raises :class:`UsageError`, with ``name`` in the message, if it cannot be used.
    """
    options = re2.Options()
    options.log_errors = False
    if len(pattern) > LONGEST_REGEX:
        raise UsageError(f"{name} is too long: {len(pattern)} characters")
    try:
        compiled = re2.compile(pattern, options)
    except re2.error as error:
        (reason,) = error.args  # UTF-8
        raise UsageError(
            f"{name} {pattern!r} is broken: {reason.decode('utf-8', 'replace')}",
            hint="RE2's syntax: no look-around, no back-references",
        ) from error
    if compiled.search(""):
        raise UsageError(f"{name} {pattern!r} matches an empty line")
    return compiled


class Pattern(Scraper):
    """Each line that one of the regexes matches gives a result: its named groups that matched.

    The first regex that matches a line reads it.
    """

    def __init__(self, *patterns: str) -> None:
        super().__init__()
        self._patterns = [compile_regex(one, "the scraper's regex") for one in patterns]
        for pattern, compiled in zip(patterns, self._patterns, strict=True):
            if not compiled.groupindex:
                raise UsageError(
                    f"the scraper's regex {pattern!r} has no named group, so it reads no value",
                    hint=r"write e.g. 'score: (?P<score>-?\d+)'",
                )
        self.names = tuple(dict.fromkeys(chain(*(one.groupindex for one in self._patterns))))

    def feed(self, line: Line) -> None:
        """Read one line."""
        # RE2 works on UTF-8; with bytes it does not convert positions to characters.
        text = line.text.encode()
        found = (match for one in self._patterns if (match := one.search(text)) is not None)
        match = next(found, None)
        if match is None:
            return
        groups = {name: data for name, data in match.groupdict().items() if data is not None}
        values = {name: data.decode() for name, data in groups.items()}
        index = match.re.groupindex  # RE2's spans know no names
        places = {name: in_characters(line.text, match.span(index[name])) for name in groups}
        self.keep(Scraped(values, line.number, line.text, places))

    def compared(self, expected: ExpectedResults) -> Iterator[Span]:
        """The groups that the case lists for each result, or gives a range."""
        listed = len(expected.values)
        for number, result in enumerate(self.results):
            inside = listed and (expected.repeats or number < listed)
            names = set(expected.values[number % listed]) if inside else set()
            for name, place in result.places.items():
                rule = expected.rules.get(name)
                if rule != "ignored" and (name in names or (rule is not None and rule.is_range)):
                    yield (result.line, *place)

    def left_out_by_name(self, expected: ExpectedResults) -> Iterator[Span]:
        """The groups that the case ignores by name."""
        for result in self.results:
            for name, place in result.places.items():
                if expected.rules.get(name) == "ignored":
                    yield (result.line, *place)


def in_characters(text: str, span: tuple[int, int]) -> tuple[int, int]:
    """Positions in the UTF-8 of ``text`` as those in its characters."""
    if text.isascii():
        return span
    data = text.encode()
    first, last = (len(data[:one].decode("utf-8", "ignore")) for one in span)
    return first, last


class AbsentLines:
    """Reports every line that matches one of the regexes."""

    def __init__(self, patterns: Sequence[str]) -> None:
        self.findings = Findings()
        self._patterns = [
            (pattern, compile_regex(pattern, "the regex of expect.lines_absent"))
            for pattern in patterns
        ]

    def feed(self, line: Line) -> None:
        """Read one line."""
        text = line.text.encode()
        for pattern, compiled in self._patterns:
            if compiled.search(text) is not None:
                message = f"line {line.number} {line.text[:200]!r} matches {pattern!r}: "
                message += "expect.lines_absent allows none"
                self.findings.add(Finding(Kind.LINE_NOT_ABSENT, message, pattern, line.number))


class EndLine(Scraper):
    """Recognizes the image's last line; reads no results."""

    def __init__(self, pattern: str) -> None:
        super().__init__()
        self._pattern = compile_regex(pattern, "the regex of end")
        self._seen = False

    def feed(self, line: Line) -> None:
        """Read one line."""
        self._seen = self._seen or self._pattern.search(line.text.encode()) is not None

    @property
    def ended(self) -> bool:
        """True once the line was read."""
        return self._seen
