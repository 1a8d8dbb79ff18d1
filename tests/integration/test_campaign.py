"""Fault campaigns on real images."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

import harness
from harness import paths
from harness.build.builders import build_one
from harness.cli import main
from harness.elf import Firmware
from harness.model import Model
from harness.studies import Store, crew
from harness.studies.campaign import MODELS, Options, campaign, study_of
from harness.studies.campaign.judged import Judge
from harness.studies.campaign.study import fault_of, opened


@pytest.fixture(scope="module")
def image() -> tuple[Firmware, Model]:
    model = Model.from_file(paths.models() / "hello_world_int8.tflite")
    return Firmware.from_elf(build_one("hello_world", "exact")), model


def records(image, workers: int, count: int = 240) -> list:
    study = study_of(*image, Options(models=tuple(MODELS)), count)
    with Store(None, study) as store, crew(workers) as hands:
        _, units = campaign(study, store, hands)
        return list(store.all_rows(units))


def test_workers_do_not_change_what_comes_of_a_fault(image):
    alone = records(image, 1)
    assert [row["id"] for row in alone] == list(range(240))
    assert alone == records(image, 2)


def test_a_fault_leaves_nothing_behind_for_the_next(image):
    study = study_of(*image, Options(models=tuple(MODELS)), 1)
    rows = records(image, 1)
    with opened(study.parameters, study.parcels) as injector:
        assert injector.watch(None)
        for row in reversed(rows):
            fault = fault_of(study.parameters, injector.stage, row["id"])
            assert injector.run(fault).to_json() == row


def test_no_fault_at_all_is_masked(image):
    """A flip of no bit, at every moment of the inference."""
    study = study_of(*image, Options(models=("registers",)), 1)
    with opened(study.parameters, study.parcels) as injector:
        for number in range(200):
            fault = replace(fault_of(study.parameters, injector.stage, number), mask=0)
            assert injector.run(fault).outcome == "masked"


def test_every_kind_of_outcome_but_a_same_decision_comes(image):
    outcomes = {row["outcome"] for row in records(image, 1, 1500)}
    assert outcomes == {"masked", "critical", "detected", "hang"}


def test_the_document_is_what_its_schema_says(capsys):
    jsonschema = pytest.importorskip("jsonschema")
    schema = json.loads((Path(harness.__file__).parent / "schemas" / "campaign.json").read_text())
    assert main(["campaign", "hello_world", "--count", "100", "--workers", "1", "--json", "-"]) == 0
    document = json.loads(capsys.readouterr().out)
    jsonschema.validate(document, schema)
    assert sum(document["outcomes"].values()) == document["faults"] == len(document["records"])


@pytest.mark.parametrize(("budget", "code"), [("critical=1", 0), ("critical=0.001", 1)])
def test_a_budget_gates(budget, code, capsys):
    arguments = ["--count", "100", "--workers", "1", "--budget", budget]
    assert main(["campaign", "hello_world", *arguments]) == code


def test_a_replay_names_the_first_layer_that_differs(capsys):
    arguments = ["campaign", "hello_world", "--faults", "weights"]
    assert main([*arguments, "--count", "60", "--workers", "1", "--json", "-"]) == 0
    rows = json.loads(capsys.readouterr().out)["records"]
    row = next(row for row in rows if row["outcome"] == "critical")
    assert main([*arguments, "--replay", str(row["id"]), "--json", "-"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert {name: told[name] for name in row} == row
    assert told["diverges"] == row["operator"]
    assert "~HIL 0 boot" in told["console"]


@pytest.mark.parametrize(
    "arguments",
    [["--faults", "cosmic"], ["--budget", "critical"], ["--budget", "fatal=1"], ["--count", "0"]],
)
def test_what_makes_no_sense_is_a_usage_error(arguments, capsys):
    assert main(["campaign", "hello_world", *arguments]) == 2


def test_the_harness_lets_no_fault_pass_that_changes_outputs(capsys):
    arguments = ["--count", "210", "--workers", "1", "--judge", "--json", "-"]
    assert main(["campaign", "hello_world", *arguments]) == 0
    document = json.loads(capsys.readouterr().out)
    changed = [row for row in document["records"] if row["changed"]]
    assert changed
    assert all(row["verdict"] not in ("", "pass") for row in changed)


def test_the_judge_passes_the_run_without_a_fault(image):
    study = study_of(*image, Options(judge=True), 1, ("hello_world", "exact"))
    with opened(study.parameters, study.parcels) as injector:
        judge = Judge(injector, study.parameters["case"], study.parcels)
        assert judge.verdict(None).passed
