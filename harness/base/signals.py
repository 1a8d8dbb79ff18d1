"""Ctrl-C, SIGTERM and SIGHUP end a command in the same way, which keeps finished results.

Within :func:`raised` each of these signals raises :class:`Stopped` in the main thread. Every
``with`` block on the way then releases its resources: temporary folders, boards, Renode, worker
processes. Results are collected within :class:`Keeping` and reported afterwards.
"""

from __future__ import annotations

import ctypes
import logging
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Self

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_PR_SET_PDEATHSIG = 1  # prctl(2): the signal that this process gets when its parent dies


class Stopped(KeyboardInterrupt):
    """One of the signals was received."""

    def __init__(self, number: int = signal.SIGINT) -> None:
        super().__init__(signal.Signals(number).name)
        self.number = number


def exit_code(stop: KeyboardInterrupt) -> int:
    """The exit code by shells' convention, 128 plus the signal: 130 for Ctrl-C, 143 for SIGTERM."""
    return 128 + (stop.number if isinstance(stop, Stopped) else signal.SIGINT)


def cause(stop: KeyboardInterrupt) -> str:
    """The cause in words: ``Ctrl-C``, or the signal's name."""
    number = exit_code(stop) - 128
    return "Ctrl-C" if number == signal.SIGINT else signal.Signals(number).name


def _stop(number: int, frame: FrameType | None) -> None:
    raise Stopped(number)


@contextmanager
def _handled(handler: Callable[[int, FrameType | None], object]) -> Iterator[None]:
    """Call ``handler`` for a signal in this block; outside the main thread nothing changes.

    A signal that the caller ignores (``nohup``) stays ignored.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.getsignal(number) for number in _SIGNALS}
    for number, current in before.items():
        if current != signal.SIG_IGN:
            signal.signal(number, handler)
    try:
        yield
    finally:
        for number, current in before.items():
            signal.signal(number, current)


@contextmanager
def raised() -> Iterator[None]:
    """Raise :class:`Stopped` for a signal in this block, if it runs in the main thread."""
    with _handled(_stop):
        yield


@contextmanager
def held_back() -> Iterator[None]:
    """Delay signals until the end of this block, for short work that must not be interrupted.

    Without it, a second Ctrl-C while reports are written would leave half of them. The first signal
    then goes to the handler outside of the block; without one :class:`Stopped` is raised.
    """
    waiting: list[int] = []
    with _handled(lambda number, frame: waiting.append(number)):
        yield
    for number in waiting[:1]:
        if callable(signal.getsignal(number)):
            signal.raise_signal(number)
        else:
            raise Stopped(number)


class Keeping:
    """A context manager around work whose partial results are worth reporting.

    An interrupt ends the block and is kept in :attr:`stop`; the code after the block reports the
    results so far and exits with :func:`exit_code`.
    """

    def __init__(self) -> None:
        self.stop: KeyboardInterrupt | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> bool:
        if isinstance(error, KeyboardInterrupt):
            self.stop = error
        return self.stop is not None


def worker(parent: int) -> None:
    """Make this process a worker of process ``parent``: it dies with its parent.

    It ignores Ctrl-C, which reaches the whole process group: the parent decides what to do. Its
    logs reach standard error alone: what it wrote to a file of the parent's (Robot's output.xml)
    would come with the lines that the parent has buffered there.
    """
    for handler in list(logging.root.handlers):
        if getattr(handler, "stream", None) is not sys.stderr:
            logging.root.removeHandler(handler)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:  # the parent died before prctl()
            os._exit(1)
