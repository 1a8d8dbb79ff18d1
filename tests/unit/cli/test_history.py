"""`tflm-hil history`: keep, show, check, report."""

import json
from pathlib import Path

import pytest
import replay_nights as lab

from harness.cli import main


@pytest.fixture
def keep(tmp_path, monkeypatch):
    """Records documents of results, one night after the other."""
    monkeypatch.setenv("TFLM_HIL_HISTORY", str(tmp_path / "lab.db"))
    monkeypatch.chdir(tmp_path)

    def record(*documents: dict) -> None:
        for number, document in enumerate(documents):
            Path(f"{number}.json").write_text(json.dumps(document))
            assert main(["history", "record", f"{number}.json"]) == 0

    return record


def two(night: int, **changes) -> dict:
    return lab.document(lab.case("a", **changes), lab.case("b"), night=night)


def test_nothing_worse_is_exit_code_0(keep, capsys):
    keep(two(0), two(1), two(2, flash=29_000))
    assert main(["history", "check"]) == 0
    assert "0 worse than the last 2 runs of main" in capsys.readouterr().out


def test_a_regression_is_named_with_exit_code_1_and_written_as_markdown(keep, capsys):
    keep(two(0), two(1), two(2, flash=29_049))
    assert main(["history", "check", "--markdown", "worse.md"]) == 1
    assert "a on simulator: flash 29,048 -> 29,049 B" in capsys.readouterr().out
    assert "| a | simulator | flash 29,048 -> 29,049 B" in Path("worse.md").read_text()


def test_a_table_has_a_row_for_each_sample_and_setup(keep, capsys):
    zephyr = {"builder": "zephyr", "flash": 70_728, "ram": 11_344, "instructions": 8_107,
              "compiler": "GCC: (Arm GNU (Build 24)) 12.2.1, Zephyr 4.3.0"}  # fmt: skip
    keep(
        lab.document(
            lab.case(),
            lab.case("hello_world-all", resolver="all", flash=48_000, verdict="fail"),
            lab.case(**zephyr),
            lab.case("mine", sample="", resolver=""),
        )
    )
    capsys.readouterr()
    assert main(["history", "show", "--markdown", "-"]) == 0
    assert capsys.readouterr().out.splitlines()[2:] == [
        "| hello_world |  | standalone | simulator | 1 of 2 | 29,048 | 9,176 | 564 | 5,950 |",
        "| hello_world | GCC: 12.2.1, Zephyr 4.3.0 | zephyr | simulator | 1 of 1 "
        "| 70,728 | 11,344 | 564 | 8,107 |",
        "| mine |  | standalone | simulator | 1 of 1 | 29,048 | 9,176 | 564 | 5,950 |",
    ]


def test_results_that_are_not_kept_can_be_checked(keep, capsys):
    keep(two(0), two(1))
    Path("pr.json").write_text(json.dumps(two(2, verdict="fail", reason="x|y")))
    assert main(["history", "check", "--results", "pr.json", "--json", "-"]) == 1
    told = json.loads(capsys.readouterr().out.split("\n", 2)[2])
    (lab_one,) = told["labs"]
    assert [(one["case"], one["text"]) for one in lab_one["regressions"]] == [("a", "fail: x|y")]


def test_a_case_that_the_same_command_does_not_run_any_more_is_worse(keep, capsys):
    keep(two(0), lab.document(lab.case("a"), night=1))
    assert main(["history", "check"]) == 1
    assert "b on simulator: it ran before" in capsys.readouterr().out


def test_another_command_that_runs_other_cases_misses_none(keep):
    keep(two(0), lab.document(lab.case("a", target="renode"), night=1, command="nightly renode"))
    assert main(["history", "check"]) == 0


def test_a_case_is_shown_over_time_with_the_commits_where_it_moved(keep, capsys):
    keep(two(0), two(1, flash=29_148))
    assert main(["history", "show", "a"]) == 0
    shown = capsys.readouterr().out
    assert "a on simulator (standalone), 2 runs, last 2026-01-02 03:00 UTC: pass" in shown
    assert "29,048 -> 29,148 at 0000000000" in shown


def test_a_case_that_was_never_kept_is_refused_with_those_that_were(keep, capsys):
    keep(two(0))
    assert main(["history", "show", "c"]) == 2
    assert "it has a, b" in capsys.readouterr().err


def test_pages_are_written(keep, capsys):
    keep(two(0))
    assert main(["history", "report", "site"]) == 0
    assert "2 cases: site/index.html" in capsys.readouterr().out
    assert len(list(Path("site/cases").iterdir())) == 2


def test_without_a_history_every_command_has_a_hint_to_name_one(capsys, monkeypatch):
    monkeypatch.delenv("TFLM_HIL_HISTORY", raising=False)
    for command in (["show"], ["check"], ["report", "site"]):
        assert main(["history", *command]) == 2
        assert "TFLM_HIL_HISTORY" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["show", "check", "compare a b", "bisect c", "report site"])
def test_a_history_that_is_not_there_is_refused_and_not_made(tmp_path, capsys, command):
    file = tmp_path / "nope.db"
    assert main(["history", *command.split(), "--history", str(file)]) == 2
    assert f"there is no history {file}" in capsys.readouterr().err
    assert not file.exists()


def test_the_first_run_of_the_branch_passes_with_a_note(keep, capsys):
    keep(two(0))
    assert main(["history", "check"]) == 0
    assert (
        "the first run of main on lab: there is nothing to compare it with"
        in capsys.readouterr().out
    )


def test_a_branch_without_runs_is_named_with_those_that_have_some(keep, capsys):
    keep(two(0), two(1))
    assert main(["history", "check", "--base", "trunk"]) == 2
    told = capsys.readouterr().err
    assert "holds no run of trunk" in told
    assert "it has runs of: main" in told


def asked(*filters: str, targets: tuple[str, ...] = ()) -> dict:
    """The selection of a run of hil.toml."""
    return {"sources": ["hil.toml"], "filters": list(filters), "targets": list(targets)}


def test_a_case_that_vanished_is_worse_whatever_the_outputs_are_called(keep, capsys):
    command = "tflm-hil run hil.toml --json 1.json"
    keep(two(0), lab.document(lab.case("a"), night=1, command=command))
    assert main(["history", "check"]) == 1
    assert "b on simulator: it ran before" in capsys.readouterr().out


def test_a_case_that_vanished_is_worse_in_runs_of_the_same_selection(keep, capsys):
    first = two(0)
    first["run"]["selection"] = asked()
    keep(first, lab.document(lab.case("a"), night=1, command="other", selection=asked()))
    assert main(["history", "check"]) == 1
    assert "b on simulator: it ran before" in capsys.readouterr().out


def test_a_case_that_is_skipped_after_a_pass_is_worse(keep, capsys):
    keep(two(0), two(1, verdict="skipped", reason="no Renode"))
    assert main(["history", "check"]) == 1
    assert "a on simulator: skipped: no Renode" in capsys.readouterr().out


def test_figures_that_became_null_are_worse(keep, capsys):
    keep(two(0), two(1, flash=None, ram=None))
    assert main(["history", "check"]) == 1
    assert "a on simulator: flash was 29,048 B (elf) and is not measured now" in (
        capsys.readouterr().out
    )


def test_a_run_in_which_no_case_ran_is_worse_even_if_it_is_the_first(keep, capsys):
    keep(lab.document(lab.case("a", verdict="skipped"), night=0))
    assert main(["history", "check"]) == 1
    assert "none of 1 case ran" in capsys.readouterr().out


def test_a_run_whose_clock_is_weeks_back_is_not_taken_for_an_old_one(keep, capsys):
    keep(two(30), two(31), two(11, verdict="fail"))
    assert main(["history", "check", "--json", "-"]) == 1
    said = capsys.readouterr().out.partition("lab.db\n")[2].rpartition("lab.db\n")[2]
    (told,) = json.loads(said)["labs"]
    assert "recorded before it at 2026-02-01 03:00 UTC" in told["problems"][0]
    assert [one["case"] for one in told["regressions"]] == ["a"]


def test_results_older_than_the_last_run_are_refused(keep, capsys):
    keep(two(5), two(6))
    Path("old.json").write_text(json.dumps(two(4)))
    assert main(["history", "check", "--results", "old.json"]) == 1
    assert "these are old results, or a clock is wrong" in capsys.readouterr().out


def test_runs_of_two_machines_may_overlap(keep):
    keep(two(5))
    other = two(5)
    other["run"] |= {"started": other["run"]["started"] - 600, "machine": "another"}
    Path("other.json").write_text(json.dumps(other))
    assert main(["history", "check", "--results", "other.json"]) == 0


def test_results_that_are_recorded_are_compared_with_the_runs_before_them(keep):
    keep(two(5), two(6), two(7, flash=1))
    assert main(["history", "check", "--results", "1.json"]) == 0


@pytest.mark.parametrize("command", [["check", "--results"], ["record"]])
def test_results_without_cases_are_refused(keep, capsys, command):
    keep(two(0))
    Path("empty.json").write_text(json.dumps(two(1) | {"cases": []}))
    assert main(["history", *command, "empty.json"]) == 2
    assert "empty.json holds no case: nothing was tested" in capsys.readouterr().err


def test_a_partial_run_is_marked_and_misses_no_case(keep, capsys):
    keep(two(0))
    narrow = lab.document(lab.case("a"), night=1, branch="try", selection=asked("case a"))
    Path("pr.json").write_text(json.dumps(narrow))
    assert main(["history", "check", "--results", "pr.json"]) == 0
    assert "partial (case a): 1 case of the last whole run not compared" in capsys.readouterr().out


def test_a_partial_run_is_never_a_baseline(keep, capsys):
    narrow = lab.document(lab.case("a", flash=99_999), night=1, selection=asked("case a"))
    keep(two(0), narrow, two(2, flash=29_049))
    assert main(["history", "check"]) == 1
    told = capsys.readouterr().out
    assert "flash 29,048 -> 29,049 B" in told and "the last 1 run of main" in told


def test_partial_runs_alone_are_nothing_to_compare_with(keep, capsys):
    keep(*(lab.document(lab.case("a"), night=n, selection=asked("case a")) for n in range(2)))
    assert main(["history", "check"]) == 2
    assert "only partial runs of main" in capsys.readouterr().err


def test_a_partial_run_is_not_the_first_of_its_branch(keep, capsys):
    keep(lab.document(lab.case("a"), selection=asked("case a")))
    assert main(["history", "check"]) == 2
    assert "only partial runs of main" in capsys.readouterr().err


def both(night: int, *, targets: tuple[str, ...] = ("renode", "simulator"), **changes) -> dict:
    cases = [lab.case("a", target=target, **changes) for target in targets]
    return lab.document(*cases, night=night, selection=asked(targets=targets))


def test_a_run_on_fewer_targets_is_partial_and_not_a_baseline(keep, capsys):
    keep(both(0), both(1, targets=("simulator",), flash=99_999))
    assert main(["history", "check"]) == 1
    assert "partial (only on simulator): 1 case" in capsys.readouterr().out
    keep(both(2, flash=29_049))
    assert main(["history", "check"]) == 1
    assert "29,048 -> 29,049" in capsys.readouterr().out


def test_a_case_that_vanished_is_found_on_fewer_targets_too(keep, capsys):
    first = both(0)
    first["cases"].append(lab.case("b", target="simulator"))
    keep(first, both(1, targets=("simulator",)))
    assert main(["history", "check"]) == 1
    assert "b on simulator: it ran before" in capsys.readouterr().out


def test_of_a_case_that_ran_twice_a_failure_counts(keep, capsys):
    again = lab.document(lab.case("a", verdict="fail", reason="x"), lab.case("a"), night=1)
    keep(lab.document(lab.case("a")), again)
    assert main(["history", "check"]) == 1


def test_a_branch_whose_cases_never_ran_before_proves_nothing(keep, capsys):
    keep(two(0))
    Path("pr.json").write_text(json.dumps(lab.document(lab.case("z"), night=1, branch="try",
                                                      command="another")))  # fmt: skip
    assert main(["history", "check", "--results", "pr.json"]) == 1
    assert "nothing was compared" in capsys.readouterr().out


def test_problems_of_the_run_stand_in_the_markdown(keep):
    keep(two(5), two(4))
    assert main(["history", "check", "--markdown", "worse.md"]) == 1
    assert Path("worse.md").read_text().startswith("It began at 2026-01-05 03:00 UTC, and a run")
