"""The stock person detection: ``person score: 113, no person score: -113``."""

from __future__ import annotations

import re

from harness.uart.lines import Line
from harness.uart.scrapers.base import Scraped, Scraper

_LINE = re.compile(
    r"(?<!no )person score:\s*(?P<person>-?\d+(?:\.\d+)?)%?,?\s+"
    r"no person score:\s*(?P<no_person>-?\d+(?:\.\d+)?)%?"
)


class PersonDetection(Scraper):
    """The two scores of each inference."""

    stop = rb"person score:[^\n]*\n"

    def feed(self, line: Line) -> None:
        """Look at one line."""
        match = _LINE.search(line.text)
        if match is not None:
            values = {name: float(match[name]) for name in ("person", "no_person")}
            self.results.append(Scraped(values, line.number, line.text))
        elif "person score" in line.text:
            self._unparsed(line, "no two scores")
