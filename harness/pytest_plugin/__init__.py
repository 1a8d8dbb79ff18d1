"""The pytest plugin: ``hil.toml`` files as tests, and the fixture ``hil`` (docs/pytest.md).

pytest loads it wherever tflm-hil is installed. So the rest of the package is imported only for the
first case file or the first use of the fixture.
"""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from harness.pytest_plugin.names import ATTEMPTS, RESULTS

if TYPE_CHECKING:
    from harness.pytest_plugin.fixture import Hil

#: The name of case files that are collected automatically.
CASE_FILE = "hil.toml"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds the plugin's options to pytest's command line."""
    group = parser.getgroup("tflm-hil", "firmware tests (tflm-hil)")
    group.addoption(
        "--hil-target", metavar="T[,T...]",
        help="run firmware on these targets instead of those of case files: simulator, renode, "
        "board, virtual-board",
    )  # fmt: skip
    group.addoption(
        "--hil-chip", metavar="NAME", default="",
        help="chip of the images, or to build samples for (`tflm-hil list chips`)",
    )  # fmt: skip
    group.addoption(
        "--hil-tag", metavar="TAG", action="append", default=[],
        help="run only the cases of case files with this tag; repeatable",
    )  # fmt: skip
    group.addoption(
        "--hil-dry-run", action="store_true",
        help="run no firmware: show each case on its targets, and where its values come from",
    )  # fmt: skip
    group.addoption(
        "--hil-allow-skips", action="store_true",
        help="pass even if a case was skipped on all targets, or on a target of --hil-target",
    )  # fmt: skip
    group.addoption(
        "--hil-output", metavar="FOLDER", default="hil-results",
        help="folder for consoles, transcripts and results.json (default: hil-results)",
    )  # fmt: skip
    group.addoption(
        "--hil-history", metavar="FILE|URL", default=os.environ.get("TFLM_HIL_HISTORY"),
        help="record the results in this history: an SQLite file, or a database URL "
        "(default: $TFLM_HIL_HISTORY)",
    )  # fmt: skip
    group.addoption(
        "--hil-calibration", metavar="FILE", default=os.environ.get("TFLM_HIL_CALIBRATION"),
        help="file of `tflm-hil calibrate`, to convert instructions to milliseconds "
        "(default: $TFLM_HIL_CALIBRATION)",
    )  # fmt: skip


def pytest_configure(config: pytest.Config) -> None:
    """Checks the options, and registers the collector of results (not in xdist workers)."""
    if config.getoption("--hil-target") is not None or config.getoption("--hil-chip"):
        from harness.pytest_plugin.items import check_options  # noqa: PLC0415

        check_options(config)  # even if no test uses them
    if config.getoption("--hil-calibration"):
        from harness.pytest_plugin.items import calibrate_of  # noqa: PLC0415

        calibrate_of(config)  # reports errors before anything runs
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(_ResultCollector(config), "tflm_hil_results")


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Collects a ``hil.toml``, or any TOML file given on the command line."""
    named = file_path.suffix == ".toml" and parent.session.isinitpath(file_path)
    if file_path.name != CASE_FILE and not named:
        return None
    from harness.pytest_plugin.items import CaseFile  # noqa: PLC0415

    file: pytest.Collector = CaseFile.from_parent(parent, path=file_path)
    return file


@pytest.fixture
def hil(request: pytest.FixtureRequest) -> Iterator[Hil]:
    """Runs, watches and measures firmware (docs/pytest.md)."""
    from harness.pytest_plugin.fixture import Hil  # noqa: PLC0415

    with Hil(request) as firmware:
        yield firmware


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Judges the sessions and runs of a test whose own body has raised nothing."""
    __tracebackhide__ = True
    outcome = yield
    firmware = getattr(item, "funcargs", {}).get("hil")
    if firmware is not None:
        firmware.judge()
    return outcome


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Moves the results of a test's cases from the item to the report of the current phase.

    Adds the last console lines of its sessions to the report of a failure, and hides secrets.
    """
    report = yield
    firmware = getattr(item, "funcargs", {}).get("hil")
    if report.failed and report.when == "call" and firmware is not None:
        report.sections += [(f"console of {name}", text) for name, text in firmware.consoles()]
    for name in (RESULTS, ATTEMPTS):
        setattr(report, name, vars(item).pop(name, []))
    if "hil" in getattr(item, "fixturenames", ()) or getattr(report, ATTEMPTS):
        from harness.pytest_plugin.redaction import redact  # noqa: PLC0415

        redact(report)
    return report


@pytest.hookimpl(trylast=True)
def pytest_unconfigure(config: pytest.Config) -> None:
    """Closes the resources shared by the sessions of this process."""
    shared = getattr(config, "hil_shared", None)
    if shared is not None:
        shared.close()


class _ResultCollector:
    """Collects the results of all processes, and writes the reports."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._results: list[dict[str, object]] = []
        self._attempts: list[Sequence[str]] = []
        self._summary: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Collects the results in the report of a test."""
        self._results += getattr(report, RESULTS, [])
        self._attempts += getattr(report, ATTEMPTS, [])

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Writes results.json and the history; fails the session if a case was not tested."""
        if not self._attempts:
            return
        from harness.pytest_plugin.items import ALLOW_HINT, report, tally_of  # noqa: PLC0415

        tally = tally_of(self._attempts, self._config)
        self._summary = [str(tally)]
        stopped = bool(session.shouldstop or session.shouldfail)
        self._summary += report(self._results, tally, self._config, stopped=stopped)
        if tally.untested:
            self._summary += [f"FAILED: {tally.untested}", f"hint: {ALLOW_HINT}"]
            session.exitstatus = session.exitstatus or pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Prints the numbers of tested cases, and the path of the results."""
        for line in self._summary:
            terminalreporter.write_line(f"tflm-hil: {line}")
