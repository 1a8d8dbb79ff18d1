"""Options and progress that studies share: where units run, where results are kept."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import click

from harness.base import numbers
from harness.cli.options import Destination, number_option
from harness.studies.dispatch import Progress

_EVERY = 2.0  # seconds between two lines of progress


def study_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """``--workers``, ``--scheduler`` and ``--store``."""
    for option in (
        click.option("--store", type=Destination(), metavar="FILE",
                     help="Keep results in this SQLite file as they come; a study that was "
                     "stopped continues from there."),
        click.option("--scheduler", default="", metavar="tcp://...",
                     help="Run on the Dask cluster of this scheduler (extra: dask)."),
        number_option("--workers", check=numbers.count, metavar="N",
                      help="Processes on this machine.", default_text="one per core"),
    ):  # fmt: skip
        command = option(command)
    return command


class ProgressLines:
    """A line of progress on standard error every other second."""

    def __init__(self) -> None:
        self._started = self._shown = time.monotonic()
        self._first: int | None = None

    def __call__(self, progress: Progress) -> None:
        """Show how many are done, how fast, and what was lost."""
        now = time.monotonic()
        if self._first is None:
            self._first = progress.items
        if now - self._shown < _EVERY:
            return
        self._shown = now
        rate = (progress.items - self._first) / (now - self._started)
        lost = f", a worker was lost {progress.lost} times" if progress.lost else ""
        click.echo(f"{progress.items:,} of {progress.of:,}, {rate:,.0f} a second{lost}", err=True)
