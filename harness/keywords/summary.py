"""The reports at the end of an execution: a table on the terminal, an HTML page and JSON."""

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

#: The files of the summary.
_REPORTS = ("results.json", "hil.html", "hil-junit.xml")
#: Options of Robot that select tests.
_FILTERS = ("test", "task", "suite", "include", "exclude", "rerunfailed", "rerunfailedsuites",
            "prerunmodifier")  # fmt: skip


def selection(arguments: Sequence[str]) -> Selection | None:
    """The tests selected by the arguments of ``robot``; None for other arguments."""
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


def _occasion() -> Occasion:
    """Time and commit of this execution, with its selection of tests if this process is robot."""
    program = Path(sys.argv[0])
    is_robot = "robot" in (program.stem, program.parent.name)
    return Occasion.here(selection=selection(sys.argv[1:]) if is_robot else None)


def _is_row(test: running.TestCase) -> bool:
    return bool(test.body) and isinstance(test.body[0], running.Keyword)


class Execution(Protocol):
    """The interface of the library to its summary."""

    results: list[CaseResult]
    rows: set[tuple[str, ...]]

    def output_folder(self) -> Path:
        """The folder for the files of the cases."""
        ...

    def log_file(self) -> str:
        """The file name of Robot's log in the folder of the report; "" for none."""
        ...

    def history(self) -> str:
        """The history to record results in; "" for none."""
        ...

    def close(self) -> None:
        """Closes sessions and shared resources."""
        ...


class Summary:
    """A listener that writes the reports at the end of the execution."""

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
        """Sets the folder of the reports to that of Robot's output file."""
        self._output = Path(path).parent if path else None

    def start_test(self, data: object, result: object) -> None:
        """Stores folders and the variable HISTORY, which are not available in :meth:`close`."""
        self._occasion = self._occasion or _occasion()
        self._history = self._history or self._owner.history()
        self._log = self._log or self._owner.log_file()
        self._output = self._output or self._owner.output_folder().parent

    def end_test(self, data: object, result: result.TestCase) -> None:
        """Records the test of each new result."""
        self._last = result
        for index in range(len(self._owner.results)):
            self._tests.setdefault(index, str(result.id))

    def start_keyword(self, data: running.Keyword, result: object) -> None:
        """At the setup of a suite, records the rows that it will run (``--test`` selects some).

        The row of a test is the arguments of its first keyword.
        """
        if isinstance(data.parent, running.TestSuite):
            rows = (test.body[0].args for test in data.parent.tests if _is_row(test))
            self._owner.rows = {tuple(row) for row in rows}

    def close(self) -> None:
        """Writes the reports at the end of the execution, which fails if one cannot be written."""
        self._owner.close()
        try:
            self._report()
        except HilError as error:
            print(f"HIL:     {error}", file=sys.__stdout__)
            if self._last is not None:
                fail(self._last, str(error))

    def _report(self) -> None:
        results = self._owner.results
        if self._output is None:
            return
        if not results:
            for name in _REPORTS:  # of an earlier execution
                files.remove(self._output / name)
            return
        occasion = self._occasion or _occasion()
        tally = Tally.of(results)
        content = document(results, occasion, tally)
        json_file, html_file, junit_file = (self._output / name for name in _REPORTS)
        files.write(json_file, json.dumps(content, indent=2) + "\n")
        about = About(occasion, self._output.absolute(), self._log, self._tests)
        files.write(html_file, html(results, about))
        files.write(junit_file, junit(results, tally))
        print_table(results, sys.__stdout__ or sys.stdout, tally)
        print_images(results, sys.__stdout__ or sys.stdout)
        print(f"HIL:     {html_file}", file=sys.__stdout__)
        if self._history:
            print(f"History: {keep(self._history, content, occasion)}", file=sys.__stdout__)
