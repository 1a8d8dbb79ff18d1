"""Progress of long work: one line that is written over on a terminal, few lines elsewhere."""

from __future__ import annotations

import sys
from typing import TextIO

from harness.case.result import CaseResult

#: Where nobody watches: a line for each part of so many.
_PARTS = 5


class Ticker:
    """One line that is written over on a terminal; a few plain lines elsewhere."""

    def __init__(self, what: str, total: int = 0, stream: TextIO | None = None) -> None:
        self._what = what
        self._total = total
        self._stream = stream or sys.__stdout__
        self._width = 0

    def line(self, text: str) -> None:
        """Say ``text`` of the work at hand, on a terminal only."""
        if self._stream is not None and self._stream.isatty():
            self._over(f"{self._what} {text}".strip())

    def result(self, result: CaseResult, number: int) -> None:
        """A case came to its verdict."""
        if self._stream is None:
            return
        if self._stream.isatty():
            self._over(f"[{number}/{self._total}] {result.setup.name}: {result.judgement.verdict}")
        elif number * _PARTS // self._total > (number - 1) * _PARTS // self._total:
            self._stream.write(f"{self._what}: {number} of {self._total} cases\n")
            self._stream.flush()

    def done(self) -> None:
        """Leave no half line behind."""
        if self._width:
            self._over("")

    def _over(self, text: str) -> None:
        assert self._stream is not None
        self._stream.write(f"\r{text:<{self._width}}\r")
        self._stream.flush()
        self._width = len(text)
