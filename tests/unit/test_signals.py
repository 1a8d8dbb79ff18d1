"""Signals in blocks that raise them or hold them back."""

import signal

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
