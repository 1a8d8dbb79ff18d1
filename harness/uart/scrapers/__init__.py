"""Scrapers, which read results from the console text of images that print no records.

A scraper is chosen by name, or made from a regex in the case file.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from harness.base.errors import UsageError
from harness.uart.lines import Line
from harness.uart.scrapers.base import Check, ExpectedResults, Scraped, Scraper, TestResult
from harness.uart.scrapers.hello_world import HelloWorld
from harness.uart.scrapers.pattern import AbsentLines, EndLine, Pattern
from harness.uart.scrapers.person_detection import PersonDetection
from harness.uart.scrapers.tensor_readers import TensorRegex
from harness.uart.scrapers.tensors import PrintedTensors, TensorText
from harness.uart.scrapers.tests import TestScraper
from harness.uart.scrapers.unit_tests import UnitTests
from harness.uart.scrapers.unity import Unity
from harness.uart.scrapers.ztest import Ztest

#: Scrapers by the name that ``--scraper`` and case files use.
SCRAPERS: dict[str, type[Scraper]] = {
    "hello_world": HelloWorld,
    "person_detection": PersonDetection,
    "unit_tests": UnitTests,
    "unity": Unity,
    "ztest": Ztest,
}
_SUITES = {name: kind for name, kind in SCRAPERS.items() if issubclass(kind, TestScraper)}


def scraper(name: str | Sequence[str]) -> Scraper:
    """A new scraper by name, or from regexes with named groups (``/score: (?P<y>-?\\d+)/``).

    Raises :class:`UsageError` for an unknown name or a regex that cannot be used.
    """
    names = [name] if isinstance(name, str) else list(name)
    if names and all(map(is_regex, names)):
        return Pattern(*(one[1:-1] for one in names))
    if len(names) == 1 and names[0] in SCRAPERS:
        return SCRAPERS[names[0]]()
    unknown = next((one for one in names if not is_regex(one) and one not in SCRAPERS), None)
    if unknown is None:
        raise UsageError(
            "several scrapers must all be regexes", hint="a scraper with a name stands alone"
        )
    known = ", ".join(SCRAPERS)
    raise UsageError(f"no scraper {unknown!r}", hint=f"one of {known}, or /a regex/")


def is_regex(name: str) -> bool:
    """Whether a scraper is given as ``/a regex/``."""
    return name.startswith("/") and name.endswith("/") and len(name) > 2


def scrapers_that_fit(lines: Iterable[Line]) -> dict[str, int]:
    """The named scrapers that read results from a console, with the number of results."""
    scrapers = {name: make() for name, make in SCRAPERS.items()}
    for line in lines:
        for candidate in scrapers.values():
            candidate.feed(line)
    for candidate in scrapers.values():
        candidate.finish()
    return {name: len(tried.results) for name, tried in scrapers.items() if tried.results}


def reads_tests(name: str | Sequence[str]) -> bool:
    """Whether the scraper of that name reads a suite of tests."""
    return isinstance(name, str) and name in _SUITES


def failed_tests(text: str) -> str:
    """The scraper for the suite whose failed tests a line reports; "" for other text."""
    return next((name for name, kind in _SUITES.items() if kind.failed.search(text)), "")


__all__ = [
    "SCRAPERS",
    "AbsentLines",
    "Check",
    "EndLine",
    "ExpectedResults",
    "PrintedTensors",
    "Scraped",
    "Scraper",
    "TensorRegex",
    "TensorText",
    "TestResult",
    "failed_tests",
    "is_regex",
    "reads_tests",
    "scraper",
    "scrapers_that_fit",
]
