"""Signals in blocks that raise them or hold them back."""

import logging
import os
import signal
from multiprocessing import get_context

import pytest

from harness.base import signals


@pytest.fixture
def ignored_hangup():
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    yield
    signal.signal(signal.SIGHUP, before)


@pytest.mark.usefixtures("ignored_hangup")
@pytest.mark.parametrize("block", [signals.raised, signals.held_back])
def test_a_signal_that_the_caller_ignores_stays_ignored(block):
    with block():
        signal.raise_signal(signal.SIGHUP)


def test_a_signal_is_raised_at_once():
    with pytest.raises(signals.Stopped) as stopped, signals.raised():
        signal.raise_signal(signal.SIGTERM)
        pytest.fail("the block goes on after the signal")
    assert signals.exit_code(stopped.value) == 143


def test_a_signal_that_is_held_back_is_raised_after_the_block():
    finished = []
    with pytest.raises(signals.Stopped) as stopped, signals.held_back():
        signal.raise_signal(signal.SIGTERM)
        finished.append(True)
    assert finished
    assert signals.exit_code(stopped.value) == 143


@pytest.mark.parametrize("block", [signals.raised, signals.held_back])
def test_handlers_are_restored(block):
    before = signal.getsignal(signal.SIGTERM)
    with block():
        assert signal.getsignal(signal.SIGTERM) != before
    assert signal.getsignal(signal.SIGTERM) == before


class Kept(logging.Handler):
    """As Robot's, which writes to a file that a forked process has, too, with its buffer."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(record.getMessage())


def test_a_workers_logs_do_not_reach_the_files_of_its_parent():
    kept = Kept()
    logging.root.addHandler(kept)
    try:
        child = get_context("fork").Process(target=_log_as_worker, args=(os.getpid(), kept))
        child.start()
        child.join()
        logging.warning("of the parent")
    finally:
        logging.root.removeHandler(kept)
    assert child.exitcode == 0  # the number of lines that its handler got
    assert kept.lines == ["of the parent"]


def _log_as_worker(parent: int, kept: Kept) -> None:
    signals.worker(parent)
    logging.warning("of the worker")
    os._exit(len(kept.lines))
