"""A pytest plugin: a skip has a name.

``@pytest.mark.needs(NAME, ...)`` skips a test where a row of ``needs.py`` is missing. A skip for
any other reason fails, as does one for what CI has installed: ``TFLM_HIL_INSTALLED`` has its
names, separated by commas; ``all`` stands for all that CI may not lack. A run ends with the number
of skips for each name.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Generator

import needs
import pytest
from needs import NEEDS

_REASONS = {need.reason: need for need in NEEDS.values()}
_INSTALLED = pytest.StashKey[frozenset[str]]()


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "needs(*names): skipped unless all are there: needs.py")
    config.stash[_INSTALLED] = installed(os.environ.get("TFLM_HIL_INSTALLED", ""))


def installed(names: str) -> frozenset[str]:
    """The needs that are installed. Raises :class:`pytest.UsageError` for an unknown name."""
    listed = {name.strip() for name in names.split(",")} - {""}
    if "all" in listed:
        listed = listed - {"all"} | {need.name for need in NEEDS.values() if not need.absent}
    if unknown := listed - NEEDS.keys():
        raise pytest.UsageError(f"TFLM_HIL_INSTALLED: no need is called {', '.join(unknown)}")
    return frozenset(listed)


@pytest.hookimpl(tryfirst=True)  # before pytest evaluates the marker skip
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip a test if something that its markers name is missing."""
    for name in (name for mark in item.iter_markers("needs") for name in mark.args):
        if needs.find(name) is None:
            item.add_marker(pytest.mark.skip(reason=NEEDS[name].reason))


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.skipped and not hasattr(report, "wasxfail"):
        _fail(report, _objection(_reason(report), item.config.stash[_INSTALLED]))
    return report


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """A file that is skipped while it is collected has no tests that could be counted."""
    report = yield
    if report.skipped:
        _fail(report, f"pytestmark = pytest.mark.needs(...) skips a file, not {_reason(report)!r}")
    return report


def _objection(reason: str, present: frozenset[str]) -> str:
    need = _REASONS.get(reason)
    if need is None:
        return f"skipped for no need of tests/support/needs.py: {reason}"
    if need.name in present:
        return f"skipped for what TFLM_HIL_INSTALLED has: {reason}"
    return ""


def _fail(report: pytest.TestReport | pytest.CollectReport, objection: str) -> None:
    if objection:
        path, line, _ = report.longrepr
        report.outcome, report.longrepr = "failed", f"{path}:{line}: {objection}"


def _reason(report: pytest.TestReport | pytest.CollectReport) -> str:
    _, _, reason = report.longrepr
    return str(reason).removeprefix("Skipped: ")


@pytest.hookimpl(wrapper=True, tryfirst=True)  # after pytest's own summary
def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter,
) -> Generator[None, None, None]:
    yield
    skipped = terminalreporter.stats.get("skipped", [])
    counts = Counter(_REASONS[_reason(report)].name for report in skipped)
    if counts:
        rows = (f"{number} needs {name}" for name, number in counts.most_common())
        terminalreporter.write_line(f"skips: {', '.join(rows)}")
