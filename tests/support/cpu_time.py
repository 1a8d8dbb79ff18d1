"""A pytest plugin, always on: the processor time of each test, its child processes included.

The end of a run names the ten slowest tests, and those that take over :data:`SLOW` seconds and are
not marked ``slow``. With ``CPU_TIME=FILE`` it also writes a line for each test: seconds, a tab, the
test's id.
"""

from __future__ import annotations

import os
import resource
from pathlib import Path

import pytest

#: Seconds of processor time from which on a test is slow.
SLOW = 1.0
_LISTED = 10


def _used() -> float:
    both = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in both)


class CpuTime:
    """Collects the seconds of each test; with xdist each worker sends its own."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self.slow: set[str] = set()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item, nextitem):
        before = _used()
        result = yield
        self.seconds[item.nodeid] = _used() - before
        if item.get_closest_marker("slow"):
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
