"""What a scraper is: it is fed lines and keeps what it read."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass

from harness.findings import Finding, Kind
from harness.uart.lines import Line


@dataclass(frozen=True)
class Scraped:
    """One result read from the text: an inference, or one test."""

    values: Mapping[str, float]
    line: int
    text: str


class Scraper(ABC):
    """Reads values out of lines. ``finished`` tells the runner that nothing more is to come."""

    #: A bytes regex: the runner looks again each time the console prints something that matches.
    stop: bytes = rb"\n"

    def __init__(self) -> None:
        self.results: list[Scraped] = []
        self.findings: list[Finding] = []

    @abstractmethod
    def feed(self, line: Line) -> None:
        """Look at one line."""

    def finish(self) -> None:  # noqa: B027  most scrapers have nothing to add
        """No more lines will come."""

    @property
    def finished(self) -> bool:
        """True when the text itself said that it is over."""
        return False

    def _unparsed(self, line: Line, why: str) -> None:
        message = f"line {line.number} {line.text!r}: {why}"
        self.findings.append(Finding(Kind.UNPARSED_VALUE, message, line=line.number))
