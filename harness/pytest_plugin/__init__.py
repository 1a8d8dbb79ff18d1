"""The pytest plugin: ``hil.toml`` files as tests, and the fixture ``hil`` (docs/pytest.md).

pytest loads it wherever tflm-hil is installed, so this module imports nothing of the package:
what it needs comes in with the first case file or the first use of the fixture.
"""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from harness.pytest_plugin.names import RESULTS

if TYPE_CHECKING:
    from harness.pytest_plugin.fixture import Hil

#: Case files that are found without being named.
CASE_FILE = "hil.toml"


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options of the command line."""
    group = parser.getgroup("tflm-hil", "firmware tests (tflm-hil)")
    group.addoption(
        "--hil-target", metavar="T[,T...]",
        help="run firmware there, whatever case files say: simulator, renode, board, virtual-board",
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
    """The process that reports gathers the results; a worker of xdist does not."""
    if config.getoption("--hil-calibration"):
        from harness.pytest_plugin.items import check_calibration  # noqa: PLC0415

        check_calibration(config)  # refused before anything runs
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(_Gatherer(config), "tflm_hil_gatherer")


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """A ``hil.toml``, or any TOML file that is named on the command line."""
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

    with Hil(request) as one:
        yield one


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Let the report of a test carry the results of its cases."""
    report = yield
    if report.when == "call":
        setattr(report, RESULTS, getattr(item, RESULTS, []))
    return report


@pytest.hookimpl(trylast=True)
def pytest_unconfigure(config: pytest.Config) -> None:
    """End what the sessions of this process shared."""
    shared = getattr(config, "hil_shared", None)
    if shared is not None:
        shared.close()


class _Gatherer:
    """The results of the whole run, whichever process they come from."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._results: list[dict[str, object]] = []
        self._told: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Take what a test's report carries."""
        self._results += getattr(report, RESULTS, [])

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self) -> None:
        """Write results.json, and into the history where one is named."""
        if self._results:
            from harness.pytest_plugin.items import report  # noqa: PLC0415

            self._told = report(self._results, self._config)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Say where the results lie."""
        for line in self._told:
            terminalreporter.write_line(f"tflm-hil: {line}")
