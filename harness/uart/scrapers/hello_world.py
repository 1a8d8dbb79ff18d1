"""The stock hello_world: ``x_value: 0.314159, y_value: 0.372770``.

Images of 2021 print floats as mantissa and exponent (``1.2566366*2^-2``); images without float
printf print nothing where the numbers should be, which is a finding and no value.
"""

from __future__ import annotations

import re

from harness.uart.lines import Line
from harness.uart.scrapers.base import Scraped, Scraper

_NUMBER = re.compile(
    r"(?P<mantissa>[-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?)(?:\*2\^(?P<power>[-+]?\d{1,3}))?",
    re.IGNORECASE,
)
_LINE = re.compile(r"x_value:\s*(?P<x>[^,]*?)\s*,\s*y_value:\s*(?P<y>.*?)\s*$")
_BROKEN = re.compile(r"[xy]_value")


def number(text: str) -> float | None:
    """A printed number, decimal or ``mantissa*2^exponent``; None where the text is none."""
    match = _NUMBER.fullmatch(text.strip())
    if match is None:
        return None
    return float(match["mantissa"]) * 2.0 ** int(match["power"] or 0)


class HelloWorld(Scraper):
    """x and y of each inference."""

    stop = rb"y_value:[^\n]*\n"

    def feed(self, line: Line) -> None:
        """Look at one line."""
        match = _LINE.search(line.text)
        if match is None:
            if _BROKEN.search(line.text):
                self._unparsed(line, "half of a hello_world result")
            return
        x, y = number(match["x"]), number(match["y"])
        if x is None or y is None:
            empty = not match["x"] and not match["y"]
            more = "; is printf built without floats?" if empty else ""
            self._unparsed(line, f"no number where x_value and y_value should be{more}")
            return
        self.results.append(Scraped({"x": x, "y": y}, line.number, line.text))
