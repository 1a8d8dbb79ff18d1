"""A sweep is green only if something of each task passes."""

from __future__ import annotations

import json

import pytest

from harness.case import Verdict
from harness.cli import main
from harness.studies.sweep import SweepPoint, study_of, verdict, without_pass
from harness.studies.sweep.study import FIGURES


def row(verdict: str, **parameters) -> dict:
    point = SweepPoint(**{"sample": "digits", **parameters}).to_json()
    blank = dict.fromkeys((*FIGURES, "accuracy"))
    return {"parameters": point, "verdict": verdict, "reason": "why", **blank}


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([row("pass")], Verdict.PASS),
        ([row("pass"), row("fail", lto=True)], Verdict.PASS),
        ([row("fail"), row("fail", lto=True)], Verdict.FAIL),
        ([row("error"), row("firmware", lto=True), row("fail", fpu=False)], Verdict.FIRMWARE),
        ([row("error")], Verdict.ERROR),
        ([row("pass"), row("fail", sample="chime")], Verdict.FAIL),
        ([], Verdict.FAIL),
    ],
)
def test_each_sample_needs_a_point_that_passes(rows, expected):
    assert verdict(rows) is expected


def test_the_tasks_without_one_are_named():
    rows = [row("pass"), row("fail", sample="chime"), row("fail", sample="chime", lto=True)]
    assert without_pass(rows) == [("chime", "", "simulator", "standalone")]


@pytest.mark.parametrize(
    ("verdicts", "code"), [(["fail", "fail"], 1), (["error", "error"], 3), (["pass", "fail"], 0)]
)
def test_the_exit_code_is_that_of_the_verdict(tmp_path, monkeypatch, capsys, verdicts, code):
    rows = [row(verdicts[0]), row(verdicts[1], lto=True)]
    monkeypatch.setattr("harness.cli.sweep._rows", lambda points, options: rows)
    (tmp_path / "sweep.toml").write_text('samples = ["digits"]\nlto = [false, true]\n')
    assert main(["sweep", str(tmp_path / "sweep.toml")]) == code
    said = capsys.readouterr().err
    assert code == 0 or "no point of digits simulator standalone passes" in said
    main(["sweep", str(tmp_path / "sweep.toml"), "--json", "-"])
    assert len(json.loads(capsys.readouterr().out)["rows"]) == 2


def test_another_model_of_the_same_name_is_another_study(tmp_path):
    model = tmp_path / "own.tflite"
    points = [SweepPoint("digits", model=str(model))]
    model.write_bytes(b"one")
    before = study_of(points).parameters
    model.write_bytes(b"two")
    assert study_of(points).parameters != before
