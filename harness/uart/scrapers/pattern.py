"""A scraper made from a regex with named groups, for output of any other form."""

from __future__ import annotations

import re

from harness.errors import UsageError
from harness.uart.lines import Line
from harness.uart.scrapers.base import Scraped, Scraper
from harness.uart.scrapers.hello_world import number


class Pattern(Scraper):
    """Each line that matches gives one result; every named group must hold a number."""

    def __init__(self, pattern: str) -> None:
        super().__init__()
        try:
            self._pattern = re.compile(pattern)
        except re.error as error:
            raise UsageError(f"the scraper's regex {pattern!r} is broken: {error}") from error
        if not self._pattern.groupindex:
            raise UsageError(
                f"the scraper's regex {pattern!r} has no named group, so it reads no value",
                hint=r"write e.g. 'score: (?P<score>-?\d+)'",
            )
        if self._pattern.search(""):
            raise UsageError(f"the scraper's regex {pattern!r} matches an empty line")

    def feed(self, line: Line) -> None:
        """Look at one line."""
        match = self._pattern.search(line.text)
        if match is None:
            return
        values: dict[str, float] = {}
        for name, text in match.groupdict().items():
            value = number(text or "")
            if value is None:
                self._unparsed(line, f"group {name!r} holds {text!r}, no number")
                return
            values[name] = value
        self.results.append(Scraped(values, line.number, line.text))
