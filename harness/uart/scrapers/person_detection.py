"""The stock person detection: ``person score: 113, no person score: -113``."""

from __future__ import annotations

import re

from harness.uart.lines import Line
from harness.uart.scrapers.base import Scraped, Scraper

_LINE = re.compile(
    r"(?<!no )person score:\s{0,8}(?P<person>-?\d{1,20}(?:\.\d{1,20})?)%?,?\s{1,8}"
    r"no person score:\s{0,8}(?P<no_person>-?\d{1,20}(?:\.\d{1,20})?)%?"
)


class PersonDetection(Scraper):
    """The two scores of each inference."""

    names = ("person", "no_person")

    def feed(self, line: Line) -> None:
        """Read one line."""
        if "person score" not in line.text:
            return
        match = _LINE.search(line.text)
        if match is None:
            self._unparsed(line, "no two scores")
            return
        self.keep(Scraped(match.groupdict(), line.number, line.text))
