"""For all tests. The case files here are there to be run by tests, some of them to fail: the pytest
plugin of this package, which an editable install brings, does not collect them."""

import gc
import signal
import threading
from pathlib import Path

import forked_python
import pytest
from hypothesis import Phase, settings

from harness.base import paths

pytest_plugins = ["named_skips"]
collect_ignore = ["cases"]

# Tests are not timed: an example may take as long as a busy machine makes it take.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")
# The fast loop: --hypothesis-profile=quick
settings.register_profile("quick", deadline=None, max_examples=10)
# tests/mutation asks whether a test fails, each time the same, not for the smallest input.
settings.register_profile(
    "mutation",
    deadline=None,
    phases=[Phase.explicit, Phase.generate],
    derandomize=True,
    database=None,
)


@pytest.fixture(scope="session", autouse=True)
def _signals_are_heard():
    """A shell that starts the tests in the background, and nohup, make all that they start deaf."""
    if threading.current_thread() is not threading.main_thread():
        return
    for number, handler in ((signal.SIGINT, signal.default_int_handler),
                            (signal.SIGHUP, signal.SIG_DFL)):  # fmt: skip
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, handler)


@pytest.fixture(scope="session", autouse=True)
def _forking_server_ends():
    """The server that forks Python programs ends with the session, not after it."""
    yield
    forked_python.SERVER.close()


@pytest.fixture(scope="session")
def _build_cache() -> Path:
    return paths.cache()


@pytest.fixture
def pytester(_build_cache, pytester, monkeypatch):
    """pytest's own, whose home is the test's: what is built there need not be built anew."""
    monkeypatch.setenv("TFLM_HIL_CACHE", str(_build_cache))
    return pytester


def pytest_collection_finish():
    """Tests stay until the end: the garbage collector need not look at all of them each time."""
    gc.freeze()


def pytest_sessionfinish():
    """Nor at what they have left, five times, as pytest has it do before the process ends."""
    gc.freeze()
