"""The reports at the end of an execution: a table on the screen, a page and JSON on disk."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from robot.errors import DataError
from robot.run import RobotFramework

from harness.base import files
from harness.base.errors import HilError
from harness.case import CaseResult
from harness.case.tally import Tally
from harness.history.keep import document, keep
from harness.history.run import Occasion
from harness.history.selection import Selection
from harness.keywords.skips import fail
from harness.report.html import About, html
from harness.report.junit import junit
from harness.report.terminal import print_images, print_table
from robot import result, running

#: Options of Robot that leave tests out.
_FILTERS = ("test", "task", "suite", "include", "exclude", "rerunfailed", "rerunfailedsuites",
            "prerunmodifier")  # fmt: skip


def selection(arguments: Sequence[str]) -> Selection | None:
    """The tests that the arguments of ``robot`` select; None for arguments of something else."""
    try:
        options, sources = RobotFramework().parse_arguments(list(arguments))
    except DataError:
        return None
    filters = []
    for name in _FILTERS:
        value = options.get(name) or []
        filters += [f"{name} {one}" for one in ([value] if isinstance(value, str) else value)]
    variables = dict(row.split(":", 1) for row in options.get("variable", ()) if ":" in row)
    targets = [variables["TARGET"]] if "TARGET" in variables else []
    chips = [variables["CHIP"].lower()] if variables.get("CHIP") else []
    return Selection.of(sources, filters, targets, chips)


def _here() -> Occasion:
    """Now, with the selection of ``robot`` if this process is one."""
    program = Path(sys.argv[0])
    is_robot = "robot" in (program.stem, program.parent.name)
    return Occasion.here(selection=selection(sys.argv[1:]) if is_robot else None)


def _is_row(test: running.TestCase) -> bool:
    return bool(test.body) and isinstance(test.body[0], running.Keyword)


class Execution(Protocol):
    """The part of a library that its summary needs."""

    results: list[CaseResult]
    rows: set[tuple[str, ...]]

    def output_folder(self) -> Path:
        """The folder of the cases' files."""
        ...

    def log_file(self) -> str:
        """The name of Robot's log in the report's folder; "" for none."""
        ...

    def history(self) -> str:
        """Where results over time are kept; "" for nowhere."""
        ...

    def close(self) -> None:
        """Stop what still runs."""
        ...


class Summary:
    """A listener that hands the results to :mod:`harness.report` at the end of the execution."""

    ROBOT_LISTENER_API_VERSION = 3

    def __init__(self, owner: Execution) -> None:
        self._owner = owner
        self._output: Path | None = None
        self._occasion: Occasion | None = None
        self._history = ""
        self._log = ""
        self._tests: dict[int, str] = {}  # index of a result -> id of its test in Robot's log
        self._last: result.TestCase | None = None

    def output_file(self, path: Path | None) -> None:
        """Put the report beside Robot's own output file."""
        self._output = Path(path).parent if path else None

    def start_test(self, data: object, result: object) -> None:
        """Remember folders and the variable HISTORY: Robot no longer has them in :meth:`close`."""
        self._occasion = self._occasion or _here()
        self._history = self._history or self._owner.history()
        self._log = self._log or self._owner.log_file()
        self._output = self._output or self._owner.output_folder().parent

    def end_test(self, data: object, result: result.TestCase) -> None:
        """Note which results came from this test."""
        self._last = result
        for index in range(len(self._owner.results)):
            self._tests.setdefault(index, str(result.id))

    def start_keyword(self, data: running.Keyword, result: object) -> None:
        """At a suite's set-up note the rows that it will run (``--test`` leaves some out).

        A test's row is the arguments of its first keyword.
        """
        if isinstance(data.parent, running.TestSuite):
            rows = (test.body[0].args for test in data.parent.tests if _is_row(test))
            self._owner.rows = {tuple(row) for row in rows}

    def close(self) -> None:
        """Write the reports: the execution has ended. What cannot be written or kept fails it."""
        self._owner.close()
        try:
            self._report()
        except HilError as error:
            print(f"HIL:     {error}", file=sys.__stdout__)
            if self._last is not None:
                fail(self._last, str(error))

    def _report(self) -> None:
        results = self._owner.results
        if not results or self._output is None:
            return
        occasion = self._occasion or _here()
        tally = Tally.of(results)
        content = document(results, occasion, tally)
        files.write(self._output / "results.json", json.dumps(content, indent=2) + "\n")
        about = About(occasion, self._output.absolute(), self._log, self._tests)
        files.write(self._output / "hil.html", html(results, about))
        files.write(self._output / "hil-junit.xml", junit(results, tally))
        print_table(results, sys.__stdout__ or sys.stdout, tally)
        print_images(results, sys.__stdout__ or sys.stdout)
        print(f"HIL:     {self._output / 'hil.html'}", file=sys.__stdout__)
        if self._history:
            print(f"History: {keep(self._history, content, occasion)}", file=sys.__stdout__)
