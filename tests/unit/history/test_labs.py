"""Several labs in one history: like is compared with like."""

import pytest
import replay_nights as lab

from harness.base.errors import UsageError
from harness.history import run as run_module
from harness.history.check import check, check_labs
from harness.history.run import Occasion


@pytest.fixture
def keep(history, run):
    """Records a night of a lab with two cases."""

    def record(night: int, machine: str, compiler: str = "GCC 12.2", **changes) -> None:
        rows = [lab.case("a", compiler=compiler, **changes), lab.case("b", compiler=compiler)]
        started = lab.FIRST + lab.DAY * night + len(machine)
        history.record(run(lab.document(*rows, night=night, machine=machine, started=started)))

    return record


def test_another_labs_larger_image_is_not_a_regression(history, keep):
    for night in range(4):
        keep(night, "lab A", "GCC 12.2", flash=29_000)
        keep(night, "lab B", "GCC 13.1", flash=31_000)
    assert [one.regressions for one in check_labs(history, "main", 10)] == [(), ()]


def test_nights_of_two_chips_lack_none_of_each_others_cases(history, run):
    def keep(night: int, chip: str, *names: str) -> None:
        rows = [lab.case(name, chip=chip) for name in names]
        asked = {"sources": ["tests"], "filters": [], "targets": [], "chips": [chip]}
        started = lab.FIRST + lab.DAY * night + len(history.runs())
        history.record(run(lab.document(*rows, started=started, selection=asked)))

    for night in range(2):
        for chip in ("nrf9160", "nrf5340"):
            keep(night, chip, "a", "b")
            assert check(history, "main", 10).passed
    keep(2, "nrf9160", "a")
    (lost,) = check(history, "main", 10).regressions
    assert (lost.key.case, lost.key.chip) == ("b", "nrf9160")


def test_a_step_in_one_lab_is_found_though_the_other_recorded_later(history, keep):
    for night in range(3):
        keep(night, "lab A", flash=29_000 + 40 * (night == 2))
        keep(night, "lab B", flash=31_000)
    lab_a, lab_b = check_labs(history, "main", 10)
    assert [one.text for one in lab_a.regressions] == ["flash 29,000 -> 29,040 B (+0.1 %)"]
    assert (lab_a.machine, lab_b.machine, lab_b.regressions) == ("lab A", "lab B", ())


def test_a_lab_that_recorded_nothing_for_a_week_is_left_out(history, keep):
    keep(0, "retired")
    keep(1, "retired", verdict="fail", reason="broken")
    keep(20, "lab")
    assert [one.machine for one in check_labs(history, "main", 10)] == ["lab"]


def test_a_new_compiler_is_named_and_its_figures_are_not_compared(history, keep):
    for night in range(3):
        keep(night, "lab", "GCC 12.2", flash=29_000)
    keep(3, "lab", "GCC 13.1", flash=31_000)
    found = check(history, "main", 10)
    assert (found.regressions, found.compared) == ((), 0)
    assert found.compilers == (
        "2 cases not compared: another compiler built them (GCC 12.2 -> GCC 13.1)"
    )
    keep(4, "lab", "GCC 13.1", flash=31_004)
    (worse,) = check(history, "main", 10).regressions
    assert worse.text.startswith("flash 31,000 -> 31,004 B")


def test_runs_of_machines_that_are_never_seen_again_are_a_problem(history, keep):
    for night in range(4):
        keep(night, f"runner-{night}")
    found = check(history, "main", 10)
    assert not found.passed
    assert "TFLM_HIL_MACHINE" in found.problems[0]


def test_a_branch_that_ran_elsewhere_only_names_the_machines(history, keep, run):
    keep(0, "lab A")
    other = lab.document(lab.case("a"), night=1, machine="laptop", branch="feature")
    history.record(run(other))
    with pytest.raises(UsageError, match="no run of main on laptop") as caught:
        check(history, "main", 10)
    assert "it has runs on lab A" in caught.value.hint


def test_a_machine_is_called_what_the_variable_says(monkeypatch):
    monkeypatch.setenv("TFLM_HIL_MACHINE", "bench 2")
    assert Occasion.here().machine == "bench 2"


def test_runners_that_github_hosts_are_one_machine(monkeypatch):
    monkeypatch.delenv("TFLM_HIL_MACHINE", raising=False)
    monkeypatch.setenv("RUNNER_ENVIRONMENT", "github-hosted")
    monkeypatch.setenv("RUNNER_OS", "Linux")
    assert Occasion.here().machine.startswith("github-hosted Linux")


@pytest.mark.parametrize(("variables", "commit", "branch"), [
    ({"GITHUB_SHA": "a1", "GITHUB_REF_NAME": "7/merge", "GITHUB_HEAD_REF": "topic"}, "a1", "topic"),
    ({"CI_COMMIT_SHA": "b2", "CI_COMMIT_REF_NAME": "main"}, "b2", "main"),
    ({"CI_COMMIT_SHA": "b3", "CI_COMMIT_REF_NAME": "refs/merge-requests/7/head",
      "CI_MERGE_REQUEST_SOURCE_BRANCH_NAME": "topic"}, "b3", "topic"),
    ({"GIT_COMMIT": "c4", "BRANCH_NAME": "PR-7", "CHANGE_BRANCH": "topic"}, "c4", "topic"),
])  # fmt: skip
def test_commit_and_branch_are_those_of_the_ci_server(monkeypatch, variables, commit, branch):
    for name in (*run_module._COMMITS, *run_module._BRANCHES):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    here = Occasion.here()
    assert (here.commit, here.branch) == (commit, branch)
