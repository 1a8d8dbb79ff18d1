"""The stock person detection: ``person score: 113, no person score: -113``."""

from __future__ import annotations

import re

from harness.uart.lines import Line
from harness.uart.numbers import number
from harness.uart.scrapers.base import Scraped, Scraper

_LINE = re.compile(
    r"(?<!no )person score:\s{0,8}(?P<person>-?\d{1,20}(?:\.\d{1,20})?)%?,?\s{1,8}"
    r"no person score:\s{0,8}(?P<no_person>-?\d{1,20}(?:\.\d{1,20})?)%?"
)


class PersonDetection(Scraper):
    """The two scores of each inference."""

    def feed(self, line: Line) -> None:
        """Look at one line."""
        if "person score" not in line.text:
            return
        match = _LINE.search(line.text)
        scores = {name: number(text) for name, text in match.groupdict().items()} if match else {}
        values = {name: value for name, value in scores.items() if value is not None}
        if len(values) == 2:
            self.keep(Scraped(values, line.number, line.text))
        else:
            self._unparsed(line, "no two scores")
