"""Progress of long work."""

from __future__ import annotations

import sys
from typing import TextIO

from harness.case.result import CaseResult

#: How many lines of progress a file or a pipe gets.
_LINES = 5


class Ticker:
    """Shows progress in one line that is overwritten on a terminal; elsewhere in a few lines."""

    def __init__(self, what: str, total: int = 0, stream: TextIO | None = None) -> None:
        self._what = what
        self._total = total
        self._stream = stream or sys.__stdout__
        self._width = 0

    def line(self, text: str) -> None:
        """Show what is being worked on, on a terminal only."""
        if self._stream is not None and self._stream.isatty():
            self._overwrite(f"{self._what} {text}".strip())

    def result(self, result: CaseResult, number: int) -> None:
        """Show that a case, the ``number``-th to end, has its result."""
        if self._stream is None:
            return
        if self._stream.isatty():
            verdict = f"{result.setup.name}: {result.judgement.verdict}"
            self._overwrite(f"[{number}/{self._total}] {verdict}")
        elif number * _LINES // self._total > (number - 1) * _LINES // self._total:
            self._stream.write(f"{self._what}: {number} of {self._total} cases\n")
            self._stream.flush()

    def done(self) -> None:
        """Clear the line."""
        if self._width:
            self._overwrite("")

    def _overwrite(self, text: str) -> None:
        assert self._stream is not None
        self._stream.write(f"\r{text:<{self._width}}\r")
        self._stream.flush()
        self._width = len(text)
