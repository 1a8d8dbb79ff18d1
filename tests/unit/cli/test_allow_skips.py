"""`run` is green only if what it was asked for ran; reports state asked, ran and skipped."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest
from elf_writer import MadeSection, MadeSymbol, write_elf
from results import case_result

from harness.case import Verdict
from harness.case.run import _run_case as really_run
from harness.cli import main
from harness.cli.run.crosschecks import CrossChecks

CASE = '[[case]]\nname = "{name}"\nelf = "a.elf"\ntargets = {targets}\n'


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """`tflm-hil run hil.toml` on a machine without Renode; a case on the simulator passes."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RENODE", "/no/such/renode")
    text = MadeSection(".text", 0, bytes(64), load=0, executable=True)
    (tmp_path / "a.elf").write_bytes(write_elf([text], [MadeSymbol("main", 1, 8, "func")]))

    def passes_here(case, *more):
        if case.target == "simulator":
            return case_result(name=case.name, target=case.target)
        return really_run(case, *more)

    monkeypatch.setattr("harness.case.run._run_case", passes_here)

    def run(*arguments: str, **targets: list[str]) -> tuple[int, str, str]:
        rows = [CASE.format(name=name, targets=json.dumps(row)) for name, row in targets.items()]
        Path("hil.toml").write_text("".join(rows))
        code = main(["run", "hil.toml", *arguments])
        said = capsys.readouterr()
        return code, said.out, said.err

    return run


def test_a_listed_target_that_is_not_here_is_skipped_and_counted(run):
    code, out, _ = run(a=["simulator", "renode"])
    assert code == 0
    assert "1 of 2 cases passed; 2 asked for, 1 ran, 1 skipped (renode: " in out


def test_a_case_that_ran_nowhere_is_not_green(run):
    code, _, err = run(a=["simulator"], b=["renode"])
    assert code == 3
    assert "tflm-hil: b did not run on any of its targets: " in err
    assert "--allow-skips" in err


@pytest.mark.parametrize("targets", ["renode", "simulator,renode"])
def test_a_target_that_was_named_must_be_here(run, targets):
    code, _, err = run("--target", targets, a=["simulator"])
    assert code == 3
    assert "renode was asked for by name, and a did not run" in err


def test_skips_are_green_where_they_are_allowed(run):
    assert run("--allow-skips", a=["simulator"], b=["renode"])[0] == 0
    assert run("--allow-skips", "--target", "renode", a=["simulator"])[0] == 0


def test_reports_state_requested_and_run_cases(run):
    run("--json", "r.json", "--junit", "r.xml", a=["simulator", "renode"])
    tally = json.loads(Path("r.json").read_text())["tally"]
    assert (tally["asked"], tally["ran"], len(tally["skipped"])) == (2, 1, 1)
    suite = ElementTree.parse("r.xml").find("testsuite")
    assert suite.findtext("system-out").startswith("2 asked for, 1 ran, 1 skipped (renode: ")
    assert suite.get("tests") == "2"


def test_objects_that_were_to_be_compared_and_were_not_are_not_green(run):
    code, _, err = run("--symbol", "arena", a=["simulator", "renode"])
    assert code == 3
    assert "a: simulator and renode not compared" in err


def test_a_comparison_without_the_objects_that_it_names_compared_nothing():
    class Blind(CrossChecks):
        def missing(self):
            return iter(())

        def results(self):
            seen = type("TargetRun", (), {"target": "board", "symbols": ()})
            yield "a", type("Check", (), {"first": seen, "second": seen})

    assert "the memory of board cannot be read" in Blind([], ["arena"]).untested
    assert Blind([]).untested == ""


def test_a_failure_counts_more_than_a_skip(run, monkeypatch):
    fails = case_result(verdict=Verdict.FAIL)
    monkeypatch.setattr("harness.case.run._run_case", lambda *more: fails)
    assert run(a=["simulator"], b=["renode"])[0] == 1
