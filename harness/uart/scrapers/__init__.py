"""Scrapers: values out of console text that has no records, for images nobody here built.

Chosen by name, or made from a regex in the case file.
"""

from __future__ import annotations

from harness.errors import UsageError
from harness.uart.scrapers.base import Scraped, Scraper
from harness.uart.scrapers.hello_world import HelloWorld
from harness.uart.scrapers.pattern import Pattern
from harness.uart.scrapers.person_detection import PersonDetection
from harness.uart.scrapers.unit_tests import UnitTests

#: Scrapers by the name that ``--scraper`` and case files use.
SCRAPERS: dict[str, type[Scraper]] = {
    "hello_world": HelloWorld,
    "person_detection": PersonDetection,
    "unit_tests": UnitTests,
}


def scraper(name: str) -> Scraper:
    """A new scraper by name, or from a regex with named groups (``/score: (?P<y>-?\\d+)/``).

    Raises :class:`UsageError` for an unknown name or a regex that cannot be used.
    """
    if name.startswith("/") and name.endswith("/") and len(name) > 2:
        return Pattern(name[1:-1])
    try:
        return SCRAPERS[name]()
    except KeyError:
        known = ", ".join(SCRAPERS)
        raise UsageError(f"no scraper {name!r}", hint=f"one of {known}, or /a regex/") from None


__all__ = ["SCRAPERS", "Scraped", "Scraper", "scraper"]
