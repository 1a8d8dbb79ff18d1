"""Progress display for the cases of a run and the items of a study."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, TextIO

from harness.case.result import CaseResult

if TYPE_CHECKING:
    from harness.studies.dispatch import Progress

#: Number of lines of progress in a file or a pipe.
_LINES = 5
_INTERVAL = 2.0  # seconds between two lines of a study


class Ticker:
    """Shows progress in a line that is overwritten, or in a few lines if not on a terminal."""

    def __init__(self, what: str, total: int = 0, stream: TextIO | None = None) -> None:
        self._what = what
        self._total = total
        self._stream = stream or sys.__stdout__
        self._width = 0

    def line(self, text: str) -> None:
        """Shows the current work, on a terminal only."""
        if self._stream is not None and self._stream.isatty():
            self._overwrite(f"{self._what} {text}".strip())

    def result(self, result: CaseResult, number: int) -> None:
        """Shows the result of a case, the ``number``-th to end."""
        if self._stream is None:
            return
        if self._stream.isatty():
            verdict = f"{result.setup.name}: {result.judgement.verdict}"
            self._overwrite(f"[{number}/{self._total}] {verdict}")
        elif number * _LINES // self._total > (number - 1) * _LINES // self._total:
            self._stream.write(f"{self._what}: {number} of {self._total} cases\n")
            self._stream.flush()

    def done(self) -> None:
        """Clears the line."""
        if self._width:
            self._overwrite("")

    def _overwrite(self, text: str) -> None:
        assert self._stream is not None
        self._stream.write(f"\r{text:<{self._width}}\r")
        self._stream.flush()
        self._width = len(text)


class StudyProgress:
    """A line of progress on standard error every other second."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._started = self._shown = clock()

    def __call__(self, progress: Progress) -> None:
        """Prints finished items, their rate, the remaining time, and lost workers."""
        now = self._clock()
        if now - self._shown < _INTERVAL:
            return
        self._shown = now
        rate = (progress.items - progress.stored) / (now - self._started)
        parts = [f"{progress.items:,} of {progress.of:,}"]
        if rate > 0:
            parts += [_rate(rate), f"{_duration((progress.of - progress.items) / rate)} left"]
        if progress.lost:
            parts.append(f"workers lost: {progress.lost}")
        sys.stderr.write(", ".join(parts) + "\n")


def _rate(rate: float) -> str:
    """A rate in items per second as text; below 2 in items per minute."""
    return f"{rate:,.0f} a second" if rate >= 2 else f"{60 * rate:,.1f} a minute"


def _duration(seconds: float) -> str:
    """A duration as text: ``40 s``, ``12 min``, ``3 h 5 min``."""
    minutes = round(seconds / 60)
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{minutes} min" if minutes < 100 else f"{minutes // 60} h {minutes % 60} min"
