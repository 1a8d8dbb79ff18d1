"""The pytest plugin: ``hil.toml`` files as tests, and the fixture ``hil`` (docs/pytest.md).

pytest loads it wherever tflm-hil is installed. So this module imports nothing of the package before
the first case file or the first use of the fixture.
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

#: The name of case files that are collected without being named.
CASE_FILE = "hil.toml"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the plugin's options to pytest's command line."""
    group = parser.getgroup("tflm-hil", "firmware tests (tflm-hil)")
    group.addoption(
        "--hil-target", metavar="T[,T...]",
        help="run firmware there instead of on the targets of case files: simulator, renode, "
        "board, virtual-board",
    )  # fmt: skip
    group.addoption(
        "--hil-chip", metavar="NAME", default="",
        help="the chip that images are for, or that samples are built for (`tflm-hil chips`)",
    )  # fmt: skip
    group.addoption(
        "--hil-allow-skips", action="store_true",
        help="pass although a case ran nowhere, or not on a target of --hil-target",
    )  # fmt: skip
    group.addoption(
        "--hil-output", metavar="FOLDER", default="hil-results",
        help="where consoles, transcripts and results.json go (default: hil-results)",
    )  # fmt: skip
    group.addoption(
        "--hil-history", metavar="FILE|URL", default=os.environ.get("TFLM_HIL_HISTORY"),
        help="keep the results in this history: an SQLite file, or a database URL "
        "(default: $TFLM_HIL_HISTORY)",
    )  # fmt: skip
    group.addoption(
        "--hil-calibration", metavar="FILE", default=os.environ.get("TFLM_HIL_CALIBRATION"),
        help="what `tflm-hil calibrate` wrote: gives milliseconds (default: $TFLM_HIL_CALIBRATION)",
    )  # fmt: skip


def pytest_configure(config: pytest.Config) -> None:
    """Check the options, and collect results in the process that reports (not in workers)."""
    if config.getoption("--hil-target") is not None:
        from harness.pytest_plugin.items import check_targets  # noqa: PLC0415

        check_targets(config)  # also where no test uses them
    if config.getoption("--hil-chip"):
        from harness.pytest_plugin.items import check_chip  # noqa: PLC0415

        check_chip(config)
    if config.getoption("--hil-calibration"):
        from harness.pytest_plugin.items import calibrate_of  # noqa: PLC0415

        calibrate_of(config)  # refused before anything runs
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(_ResultCollector(config), "tflm_hil_results")


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Collect a ``hil.toml``, or any TOML file that is named on the command line."""
    named = file_path.suffix == ".toml" and parent.session.isinitpath(file_path)
    if file_path.name != CASE_FILE and not named:
        return None
    from harness.pytest_plugin.items import CaseFile  # noqa: PLC0415

    file: pytest.Collector = CaseFile.from_parent(parent, path=file_path)
    return file


@pytest.fixture
def hil(request: pytest.FixtureRequest) -> Iterator[Hil]:
    """Run, watch and measure firmware (docs/pytest.md)."""
    from harness.pytest_plugin.fixture import Hil  # noqa: PLC0415

    with Hil(request) as firmware:
        yield firmware


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Move the results of a test's cases to the report of the phase in which they came.

    A failure shows the last lines of the consoles of its sessions.
    """
    report = yield
    firmware = getattr(item, "funcargs", {}).get("hil")
    if report.failed and report.when == "call" and firmware is not None:
        report.sections += [(f"console of {name}", text) for name, text in firmware.consoles()]
    for name in (RESULTS, ATTEMPTS):
        setattr(report, name, vars(item).pop(name, []))
    return report


@pytest.hookimpl(trylast=True)
def pytest_unconfigure(config: pytest.Config) -> None:
    """Close what the sessions of this process share."""
    shared = getattr(config, "hil_shared", None)
    if shared is not None:
        shared.close()


class _ResultCollector:
    """Collects the results of the whole run from all processes, and counts what was tested."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._results: list[dict[str, object]] = []
        self._attempts: list[Sequence[str]] = []
        self._summary: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Take the results of a test's report."""
        self._results += getattr(report, RESULTS, [])
        self._attempts += getattr(report, ATTEMPTS, [])

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Write results.json, and the history if one is named; fail if nothing was tested."""
        if not self._attempts:
            return
        from harness.pytest_plugin.items import ALLOW_HINT, report, tally_of  # noqa: PLC0415

        tally = tally_of(self._attempts, self._config)
        self._summary = [str(tally)]
        if self._results:
            stopped = bool(session.shouldstop or session.shouldfail)
            self._summary += report(self._results, tally, self._config, stopped=stopped)
        if tally.untested:
            self._summary += [f"FAILED: {tally.untested}", f"hint: {ALLOW_HINT}"]
            session.exitstatus = session.exitstatus or pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print how much was tested, and where the results are."""
        for line in self._summary:
            terminalreporter.write_line(f"tflm-hil: {line}")
