"""Options and progress that studies share: where units run, what they are kept in."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import click

from harness.cli.options import COUNT, Destination
from harness.studies.drive import Progress

_EVERY = 2.0  # seconds between two lines of progress


def study_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """``--workers``, ``--scheduler`` and ``--store``."""
    for option in (
        click.option("--store", type=Destination(), metavar="FILE",
                     help="Keep results in this SQLite file as they come; a study that was "
                     "stopped goes on from there."),
        click.option("--scheduler", default="", metavar="tcp://...",
                     help="Run on the Dask cluster of this scheduler (extra: dask)."),
        click.option("--workers", type=COUNT, metavar="N",
                     help="Processes on this machine.  [default: one a core]"),
    ):  # fmt: skip
        command = option(command)
    return command


class Ticking:
    """A line on standard error every other second."""

    def __init__(self) -> None:
        self._begun = self._told = time.monotonic()
        self._first: int | None = None

    def __call__(self, progress: Progress) -> None:
        """Say how far it is, how fast, and what was lost."""
        now = time.monotonic()
        if self._first is None:
            self._first = progress.items
        if now - self._told < _EVERY:
            return
        self._told = now
        rate = (progress.items - self._first) / (now - self._begun)
        lost = f", {progress.lost} times a worker was lost" if progress.lost else ""
        click.echo(f"{progress.items:,} of {progress.of:,}, {rate:,.0f} a second{lost}", err=True)
