"""Results for Allure: what a case's file says, and what is attached to it."""

from __future__ import annotations

import json

import pytest
from results import case_result

from harness.base.errors import CannotWrite
from harness.base.findings import Finding, Kind
from harness.case.result import Size, Verdict
from harness.report.allure import write_allure
from harness.uart.scrapers import TestResult


def written(folder, *results):
    write_allure(results, folder)
    return [json.loads(path.read_text()) for path in folder.glob("*-result.json")]


@pytest.mark.parametrize(("verdict", "status"), [
    (Verdict.PASS, "passed"), (Verdict.FAIL, "failed"), (Verdict.FIRMWARE, "failed"),
    (Verdict.ERROR, "broken"), (Verdict.SKIPPED, "skipped"),
])  # fmt: skip
def test_a_verdict_has_its_status(tmp_path, verdict, status):
    [document] = written(tmp_path, case_result(verdict=verdict, reason="because"))
    assert document["status"] == status
    assert document["statusDetails"]["message"] == "because"


def test_console_and_report_page_are_attached(tmp_path):
    case = tmp_path / "case"
    case.mkdir()
    (case / "console.bin").write_bytes(b"x")
    (case / "transcript.txt").write_text("[    0.1] x\n")
    folder = tmp_path / "allure"
    [document] = written(folder, case_result(verdict=Verdict.FAIL, console=case / "console.bin"))
    names = {one["name"]: one for one in document["attachments"]}
    assert list(names) == ["transcript.txt", "console.bin", "report"]
    assert (folder / names["transcript.txt"]["source"]).read_text() == "[    0.1] x\n"
    assert "<h1>tflm-hil report</h1>" in (folder / names["report"]["source"]).read_text()
    assert "  [    0.1] x" in document["statusDetails"]["trace"]


def test_findings_are_tags_and_figures_do_not_split_the_history(tmp_path):
    finding = Finding(Kind.FAULT, "x")
    first, second = (
        written(tmp_path / name, case_result(findings=(finding,), size=Size(flash, 1)))[0]
        for name, flash in (("a", 10), ("b", 20))
    )
    assert {"name": "tag", "value": "fault"} in first["labels"]
    assert {"name": "flash_bytes", "value": "10", "excluded": True} in first["parameters"]
    assert first["historyId"] == second["historyId"]
    assert first["uuid"] != second["uuid"]


def test_another_target_is_another_test(tmp_path):
    first, second = written(tmp_path, case_result(), case_result(target="renode"))
    assert first["historyId"] != second["historyId"]


def test_tests_of_an_image_are_steps(tmp_path):
    tests = (TestResult("s.a", "pass", 3, 0.25), TestResult("s.b", "fail", 4, 0.0))
    [document] = written(tmp_path, case_result(tests=tests))
    assert [(one["name"], one["status"]) for one in document["steps"]] == [
        ("s.a", "passed"), ("s.b", "failed"),
    ]  # fmt: skip


def test_cases_follow_each_other_in_time(tmp_path):
    documents = written(tmp_path, case_result(wall_seconds=2.0), case_result(wall_seconds=3.0))
    spans = sorted((one["start"], one["stop"]) for one in documents)
    assert [stop - start for start, stop in spans] == [2000, 3000]
    assert spans[0][1] == spans[1][0]


def test_a_folder_that_cannot_be_made_is_one_line(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(CannotWrite, match="cannot create the folder"):
        write_allure([case_result()], tmp_path / "file" / "allure")
