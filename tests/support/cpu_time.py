"""A pytest plugin: the processor time of each test, its child processes included.

``pytest -p cpu_time`` lists tests above :data:`SLOW` that are not marked ``slow``; with
``CPU_TIME=FILE`` it also writes a line for each test: seconds, a tab, the test's id.
"""

from __future__ import annotations

import os
import resource
from collections import defaultdict
from pathlib import Path

import pytest

#: Seconds from which on a test is slow, all of its rows together.
SLOW = 0.1


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
        terminalreporter.section(f"processor time: {sum(self.seconds.values()):.1f} s")
        sums: dict[str, float] = defaultdict(float)
        for test, seconds in ranked:
            if test not in self.slow:
                sums[test.partition("[")[0]] += seconds
        for test, seconds in sorted(sums.items(), key=lambda pair: -pair[1]):
            if seconds > SLOW:
                terminalreporter.line(f"{seconds:7.2f} s, not marked slow: {test}")


def pytest_configure(config):
    config.pluginmanager.register(CpuTime(), "cpu_time_of_tests")
