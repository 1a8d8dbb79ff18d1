"""Scrapers made from a user's regex, for output of any form.

Neither the user's regex nor the device's text may make a match slow: RE2 takes time linear in the
line for every regex. (With a time limit on a backtracking engine, the verdict would depend on the
machine's load.) RE2 has no look-around and no back-references; a regex with them is refused.
"""

from __future__ import annotations

from collections.abc import Sequence

import re2

from harness.base.errors import UsageError
from harness.base.findings import Finding, Findings, Kind
from harness.uart.lines import Line
from harness.uart.scrapers.base import Scraped, Scraper

#: Most characters of a regex.
_LONGEST = 2000


def compile_regex(pattern: str, name: str) -> re2._Regexp:
    """Compile a user's regex.

    Raises :class:`UsageError`, with ``name`` in the message, if it cannot be used.
    """
    options = re2.Options()
    options.log_errors = False
    if len(pattern) > _LONGEST:
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
    """Each line that matches gives one result: the text of every named group that matched."""

    as_printed = True

    def __init__(self, pattern: str) -> None:
        super().__init__()
        self._pattern = compile_regex(pattern, "the scraper's regex")
        if not self._pattern.groupindex:
            raise UsageError(
                f"the scraper's regex {pattern!r} has no named group, so it reads no value",
                hint=r"write e.g. 'score: (?P<score>-?\d+)'",
            )
        self.names = tuple(self._pattern.groupindex)

    def feed(self, line: Line) -> None:
        """Read one line."""
        # RE2 works on UTF-8; with bytes it does not convert positions to characters.
        match = self._pattern.search(line.text.encode())
        if match is None:
            return
        groups = match.groupdict().items()
        values = {name: text.decode() for name, text in groups if text is not None}
        self.keep(Scraped(values, line.number, line.text))


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
