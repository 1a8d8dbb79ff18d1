"""A pytest plugin, always on: the processor time of each test, its child processes included,
those that live on as well (an oracle, a server, Renode).

The end of a run names the ten slowest tests, and those that take over :data:`SLOW` seconds and are
not marked ``slow``. With ``CPU_TIME=FILE`` it also writes a line for each test: seconds, a tab, the
test's id.
"""

from __future__ import annotations

import contextlib
import os
import resource
from pathlib import Path

import pytest

#: Seconds of processor time from which on a test is slow.
SLOW = 1.0
_LISTED = 10


_TICK = os.sysconf("SC_CLK_TCK")


def _used() -> float:
    """Seconds of this process and of all that it has started, ended or not."""
    both = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    ended = sum(usage.ru_utime + usage.ru_stime for usage in both)
    return ended + sum(map(_of_tree, _children(os.getpid())))


def _of_tree(process: int) -> float:
    """Seconds of a process, of its children that have ended, and of those that live."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:  # it has ended
        return 0
    seconds = sum(map(int, fields[11:15])) / _TICK
    return seconds + sum(map(_of_tree, _children(process)))


def _children(process: int) -> list[int]:
    """Those that live; none where the kernel does not say."""
    found: list[int] = []
    for file in Path(f"/proc/{process}/task").glob("*/children"):
        with contextlib.suppress(OSError):
            found += map(int, file.read_text().split())
    return found


class CpuTime:
    """Collects the seconds of each test; with xdist each worker sends its own."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self.slow: set[str] = set()
        self._used = 0.0  # at the end of the last test, as asking costs as much as many a test

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item, nextitem):
        before = self._used or _used()
        result = yield
        self._used = _used()
        self.seconds[item.nodeid] = self._used - before
        if item.get_closest_marker("slow") or item.get_closest_marker("renode"):
            self.slow.add(item.nodeid)
        return result

    def pytest_sessionfinish(self, session):
        output = getattr(session.config, "workeroutput", None)
        if output is not None:
            output["cpu_time"] = (self.seconds, sorted(self.slow))

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node, error):
        seconds, slow = getattr(node, "workeroutput", {}).get("cpu_time", ({}, []))
        self.seconds |= seconds
        self.slow |= set(slow)

    def pytest_terminal_summary(self, terminalreporter):
        ranked = sorted(self.seconds.items(), key=lambda pair: -pair[1])
        if target := os.environ.get("CPU_TIME"):
            lines = "".join(f"{seconds:.3f}\t{test}\n" for test, seconds in ranked)
            Path(target).write_text(lines, encoding="utf-8")
        terminalreporter.section(f"processor time of the tests: {sum(self.seconds.values()):.0f} s")
        for test, seconds in ranked[:_LISTED]:
            terminalreporter.line(f"{seconds:7.2f} s  {test}")
        for test, seconds in ranked:
            if seconds > SLOW and test not in self.slow:
                terminalreporter.line(f"{seconds:7.2f} s, not marked slow: {test}")


def pytest_configure(config):
    config.pluginmanager.register(CpuTime(), "cpu_time_of_tests")
