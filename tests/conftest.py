"""For all tests. The case files here are there to be run by tests, some of them to fail: the pytest
plugin of this package, which an editable install brings, does not collect them."""

import argparse
import datetime
import gc
import signal
import threading
import zlib
from fractions import Fraction

import pytest
from hypothesis import Phase, settings

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
def _ctrl_c_is_heard():
    """A shell that starts the tests in the background makes all that they start deaf to Ctrl-C."""
    here = threading.current_thread() is threading.main_thread()
    if here and signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_addoption(parser):
    group = parser.getgroup("tests marked slow")
    group.addoption(
        "--slow",
        metavar="PART",
        type=_part,
        default=1.0,
        help="which part of the tests marked slow runs: 0, 1/6, 1 (default)",
    )
    group.addoption(
        "--slow-seed",
        metavar="TEXT",
        default=datetime.datetime.now(datetime.UTC).date().isoformat(),
        help="what chooses that part; the default is the day, another part each day",
    )


def _part(text):
    part = float(Fraction(text))
    if not 0 <= part <= 1:
        raise argparse.ArgumentTypeError(f"{text} is not a part from 0 to 1, such as 1/6")
    return part


def pytest_report_header(config):
    part, seed = config.option.slow, config.option.slow_seed
    return None if part == 1 else f"tests marked slow: {part:.0%} of them, --slow-seed {seed}"


def pytest_collection_modifyitems(config, items):
    """Leave out the slow tests that the seed has not chosen; the same in each worker of xdist."""
    part, seed = config.option.slow, config.option.slow_seed
    if part == 1:
        return
    chosen, left_out = [], []
    for item in items:
        runs = item.get_closest_marker("slow") is None or _drawn(f"{seed} {item.nodeid}") < part
        (chosen if runs else left_out).append(item)
    config.hook.pytest_deselected(items=left_out)
    items[:] = chosen


def pytest_collection_finish():
    """Tests stay until the end: the garbage collector need not look at all of them each time."""
    gc.freeze()


def _drawn(text):
    """A number from 0 to below 1 that depends on ``text`` alone."""
    return zlib.crc32(text.encode()) / (1 << 32)
