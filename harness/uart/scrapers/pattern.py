"""A scraper made from a regex with named groups, for output of any other form.

The regex is a user's and the text a device's, so the time that a match takes must not depend on
either of them being kind: RE2 matches in time linear in the line, whatever the regex. (A time
limit on a backtracking engine would let the verdict depend on how busy the machine is.) RE2 has no
look-around and no back-references; a regex that uses them is refused.
"""

from __future__ import annotations

import re2

from harness.errors import UsageError
from harness.uart.lines import Line
from harness.uart.scrapers.base import Scraped, Scraper

#: Characters of a regex that anybody would write.
_LONGEST = 2000


def compile_regex(pattern: str, what: str) -> re2._Regexp:
    """A user's regex. Raises :class:`UsageError` saying ``what`` it is where it cannot be used."""
    options = re2.Options()
    options.log_errors = False
    if len(pattern) > _LONGEST:
        raise UsageError(f"{what} is too long: {len(pattern)} characters")
    try:
        compiled = re2.compile(pattern, options)
    except re2.error as error:
        (why,) = error.args  # UTF-8
        raise UsageError(
            f"{what} {pattern!r} is broken: {why.decode('utf-8', 'replace')}",
            hint="RE2's syntax: no look-around, no back-references",
        ) from error
    if compiled.search(""):
        raise UsageError(f"{what} {pattern!r} matches an empty line")
    return compiled


class Pattern(Scraper):
    """Each line that matches gives one result: the text of every named group that took part."""

    def __init__(self, pattern: str) -> None:
        super().__init__()
        self._pattern = compile_regex(pattern, "the scraper's regex")
        if not self._pattern.groupindex:
            raise UsageError(
                f"the scraper's regex {pattern!r} has no named group, so it reads no value",
                hint=r"write e.g. 'score: (?P<score>-?\d+)'",
            )

    def feed(self, line: Line) -> None:
        """Look at one line."""
        # RE2 works on UTF-8; handing it bytes spares the way back to characters.
        match = self._pattern.search(line.text.encode())
        if match is None:
            return
        groups = match.groupdict().items()
        told = {name: text.decode() for name, text in groups if text is not None}
        self.keep(Scraped(told, line.number, line.text))


class EndLine(Scraper):
    """Reads nothing; knows the line with which the image ends."""

    def __init__(self, pattern: str) -> None:
        super().__init__()
        self._pattern = compile_regex(pattern, "the regex of ends_at")
        self._seen = False

    def feed(self, line: Line) -> None:
        """Look at one line."""
        self._seen = self._seen or self._pattern.search(line.text.encode()) is not None

    @property
    def ended(self) -> bool:
        """True once the line came."""
        return self._seen
