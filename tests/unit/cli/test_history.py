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


def test_what_got_worse_is_named_with_exit_code_1_and_written_as_markdown(keep, capsys):
    keep(two(0), two(1), two(2, flash=29_049))
    assert main(["history", "check", "--markdown", "worse.md"]) == 1
    assert "a on simulator: flash 29,048 -> 29,049 B" in capsys.readouterr().out
    assert "| a | simulator | flash 29,048 -> 29,049 B" in Path("worse.md").read_text()


def test_results_that_are_not_kept_can_be_checked(keep, capsys):
    keep(two(0), two(1))
    Path("pr.json").write_text(json.dumps(two(2, verdict="fail", reason="x|y")))
    assert main(["history", "check", "--results", "pr.json", "--json", "-"]) == 1
    told = json.loads(capsys.readouterr().out.split("\n", 2)[2])
    assert [(one["case"], one["text"]) for one in told["regressions"]] == [("a", "fail: x|y")]


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


def test_without_a_history_every_command_says_how_to_name_one(capsys, monkeypatch):
    monkeypatch.delenv("TFLM_HIL_HISTORY", raising=False)
    for command in (["show"], ["check"], ["report", "site"]):
        assert main(["history", *command]) == 2
        assert "TFLM_HIL_HISTORY" in capsys.readouterr().err


def test_the_first_run_of_the_branch_is_no_failure_and_says_so(keep, capsys):
    keep(two(0))
    assert main(["history", "check"]) == 0
    assert "the first run of main: there is nothing to compare it with" in capsys.readouterr().out


def test_a_branch_without_runs_is_named_with_those_that_have_some(keep, capsys):
    keep(two(0), two(1))
    assert main(["history", "check", "--base", "trunk"]) == 2
    told = capsys.readouterr().err
    assert "holds no run of trunk" in told
    assert "it has runs of: main" in told
