"""Studies that workers can import: squares, one that kills its worker, one that raises,
one that misses a file."""

from __future__ import annotations

import os
import signal
import time
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def squares(parameters, blobs):
    """Rows of the numbers of a unit, with the content of a blob."""
    data = blobs["data"].decode()

    def perform(unit):
        time.sleep(parameters.get("seconds", 0))
        return [[n, n * n, data] for n in range(unit.first, unit.first + unit.count)]

    yield perform


@contextmanager
def killed_once(parameters, blobs):
    """Like :func:`squares`, but the worker of unit 3 dies the first time."""
    mark = Path(parameters["mark"])

    def perform(unit):
        if unit.number == 3 and not mark.exists():
            mark.write_text("dead")
            os.kill(os.getpid(), signal.SIGKILL)
        return [[n, n * n] for n in range(unit.first, unit.first + unit.count)]

    yield perform


@contextmanager
def wrong(parameters, blobs):
    """Every unit from ``parameters["first"]`` on raises."""

    def perform(unit):
        if unit.number >= parameters.get("first", 0):
            raise ZeroDivisionError(unit.number)
        return [[unit.number]]

    yield perform


@contextmanager
def missing_file(parameters, blobs):
    """Opening the study reads a file that is not there."""
    Path("nowhere.toml").read_bytes()
    yield None
