"""Progress of long work: the cases of a run, the items of a study."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, TextIO

from harness.case.result import CaseResult

if TYPE_CHECKING:
    from harness.studies.dispatch import Progress

#: How many lines of progress a file or a pipe gets.
_LINES = 5
_EVERY = 2.0  # seconds between two lines of a study


class Ticker:
    """Shows progress in one line that is overwritten on a terminal; elsewhere in a few lines."""

    def __init__(self, what: str, total: int = 0, stream: TextIO | None = None) -> None:
        self._what = what
        self._total = total
        self._stream = stream or sys.__stdout__
        self._width = 0

    def line(self, text: str) -> None:
        """Show the current work, on a terminal only."""
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


class StudyProgress:
    """A line of progress on standard error every other second."""

    def __init__(self) -> None:
        self._started = self._shown = time.monotonic()
        self._first: int | None = None

    def __call__(self, progress: Progress) -> None:
        """Show how many are done, how fast, and how many workers were lost."""
        now = time.monotonic()
        if self._first is None:
            self._first = progress.items
        if now - self._shown < _EVERY:
            return
        self._shown = now
        rate = (progress.items - self._first) / (now - self._started)
        lost = f", a worker was lost {progress.lost} times" if progress.lost else ""
        sys.stderr.write(f"{progress.items:,} of {progress.of:,}, {rate:,.0f} a second{lost}\n")
