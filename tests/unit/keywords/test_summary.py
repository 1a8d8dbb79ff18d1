"""The files that an execution of Robot leaves."""

import json

from results import case_result

from harness.history.selection import Selection
from harness.history.store import History
from harness.keywords.summary import Summary, selection


class Execution:
    """An execution of one case, with the variable HISTORY."""

    def __init__(self, folder, history: str) -> None:
        self.results = [case_result(name="c")]
        self.rows: set[tuple[str, ...]] = set()
        self._folder, self._history = folder, history

    def output_folder(self):
        return self._folder / "cases"

    def history(self) -> str:
        return self._history

    def log_file(self) -> str:
        return "log.html"

    def close(self) -> None:
        pass


def ended(execution: Execution) -> None:
    summary = Summary(execution)
    summary.start_test(None, None)
    summary.close()


def test_the_variable_history_names_where_the_run_is_kept(tmp_path):
    ended(Execution(tmp_path, str(tmp_path / "lab.db")))
    told = json.loads((tmp_path / "results.json").read_text())["run"]
    with History.open(str(tmp_path / "lab.db")) as history:
        (kept,) = history.runs()
        assert (kept.occasion.commit, kept.occasion.started) == (told["commit"], told["started"])
        assert [key.case for key in history.cases([kept])] == ["c"]


def test_without_a_history_nothing_is_kept(tmp_path):
    ended(Execution(tmp_path, ""))
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "hil-junit.xml", "hil.html", "results.json",
    ]  # fmt: skip


def test_reports_of_an_earlier_execution_do_not_stay_if_no_case_ran(tmp_path):
    ended(Execution(tmp_path, ""))
    execution = Execution(tmp_path, "")
    execution.results = []
    ended(execution)
    assert list(tmp_path.iterdir()) == []


def test_the_selection_is_that_of_robots_command_line():
    arguments = ["--test", "a*", "-i", "fast", "-v", "TARGET:renode", "-v", "HISTORY:lab.db",
                 "-d", "out", "tests/suites"]  # fmt: skip
    assert selection(arguments) == Selection(
        ("tests/suites",), ("include fast", "test a*"), ("renode",)
    )
    assert selection(["-d", "other", "tests"]) == Selection(("tests",))
    assert selection(["-v", "CHIP:nRF5340", "tests"]) == Selection(("tests",), chips=("nrf5340",))


def test_arguments_that_robot_refuses_have_no_selection():
    assert selection(["--no-such-option"]) is None
