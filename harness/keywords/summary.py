"""What stands at the end of an execution: a table on the screen, a page and a JSON on disk."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Protocol

from harness import files, report
from harness.case import CaseResult
from harness.history.keep import document, keep
from harness.history.run import Occasion
from harness.history.timing import all_timed
from robot import running


def _is_row(test: running.TestCase) -> bool:
    return bool(test.body) and isinstance(test.body[0], running.Keyword)


class Execution(Protocol):
    """What the summary asks of the library whose results it reports."""

    results: list[CaseResult]
    rows: set[tuple[str, ...]]

    def output_folder(self) -> Path:
        """Where the cases' files go."""
        ...

    def log_file(self) -> str:
        """The name of Robot's log, which will stand beside the report; "" for none."""
        ...

    def history(self) -> str:
        """Where results over time are kept; "" for nowhere."""
        ...

    def close(self) -> None:
        """Stop what still runs."""
        ...


class Summary:
    """A listener that waits for the end and hands the results to :mod:`harness.report`."""

    ROBOT_LISTENER_API_VERSION = 3

    def __init__(self, owner: Execution) -> None:
        self._owner = owner
        self._output: Path | None = None
        self._occasion: Occasion | None = None
        self._history = ""
        self._log = ""
        self._tests: dict[int, str] = {}  # place of a result -> id of its test in Robot's log

    def output_file(self, path: Path | None) -> None:
        """Robot's own output file: the report goes beside it."""
        self._output = Path(path).parent if path else None

    def start_test(self, data: object, result: object) -> None:
        """Remember where files go, and the variable HISTORY, while Robot still tells."""
        self._occasion = self._occasion or Occasion.here()
        self._history = self._history or self._owner.history()
        self._log = self._log or self._owner.log_file()
        self._output = self._output or self._owner.output_folder().parent

    def end_test(self, data: object, result: running.TestCase) -> None:
        """Note which results the test that ended has brought."""
        for place in range(len(self._owner.results)):
            self._tests.setdefault(place, str(result.id))

    def start_keyword(self, data: running.Keyword, result: object) -> None:
        """A suite's set-up begins: note which rows the suite will run (``--test`` leaves some out).

        The arguments of each test's first keyword are its row.
        """
        if isinstance(data.parent, running.TestSuite):
            tests = data.parent.tests
            self._owner.rows = {tuple(t.body[0].args) for t in tests if _is_row(t)}

    def close(self) -> None:
        """The execution is over."""
        self._owner.close()
        results = all_timed(self._owner.results, os.environ.get("TFLM_HIL_CALIBRATION"))
        if not results or self._output is None:
            return
        occasion = self._occasion or Occasion.here()
        told = document(results, occasion)
        files.write(self._output / "results.json", json.dumps(told, indent=2) + "\n")
        about = report.About(occasion, self._output.absolute(), self._log, self._tests)
        files.write(self._output / "hil.html", report.html(results, about))
        files.write(self._output / "hil-junit.xml", report.junit(results))
        report.print_table(results, sys.__stdout__ or sys.stdout)
        report.print_images(results, sys.__stdout__ or sys.stdout)
        print(f"HIL:     {self._output / 'hil.html'}", file=sys.__stdout__)
        if self._history:
            print(f"History: {keep(self._history, told, occasion)}", file=sys.__stdout__)
