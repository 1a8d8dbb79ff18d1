"""Fault campaigns on real images."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
import time
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path

import jsonschema
import pytest
from elf_writer import MadeSection, write_elf

import harness
from harness.base import paths
from harness.base.errors import UsageError
from harness.build.builders import build_one
from harness.case.inputs import load_inputs
from harness.case.samples import sample_case
from harness.cli import main
from harness.elf import Image
from harness.model import Model
from harness.studies import ResultStore, Study, open_workers
from harness.studies.campaign import MODELS, Options, campaign, study_of
from harness.studies.campaign.study import fault_of, opened
from harness.studies.campaign.verdicts import Judge


@pytest.fixture(scope="module")
def model() -> Model:
    return Model.from_file(paths.models() / "hello_world_int8.tflite")


@pytest.fixture(scope="module")
def image(model) -> tuple[Image, Model]:
    return Image.from_elf(build_one("hello_world", "exact")), model


@pytest.fixture(scope="module")
def fed(model):
    """A function: the study of an image that the host sends its inputs, with all fault models."""
    case = sample_case("hello_world", "console")
    firmware = Image.from_elf(build_one("hello_world", "console"))
    rows = load_inputs(case.inputs, model)

    def study(count: int, **options) -> Study:
        chosen = Options(**{"models": tuple(MODELS), **options})
        return study_of(firmware, model, chosen, count, ("hello_world", "console"), rows)

    return study


def records(study: Study, workers: int) -> list:
    with ResultStore(None, study) as store, open_workers(workers) as hands:
        _, units = campaign(study, store, hands)
        return list(store.all_rows(units))


@pytest.mark.slow
def test_outcomes_do_not_depend_on_the_workers(fed):
    alone = records(fed(240), 1)
    assert [row["id"] for row in alone] == list(range(240))
    assert {row["model"] for row in alone} == set(MODELS)
    assert alone == records(fed(240), 2)


def test_a_fault_leaves_nothing_behind_for_the_next(fed):
    study = fed(64)
    rows = records(study, 1)
    with opened(study.parameters, study.blobs) as injector:
        assert injector.watch(None)
        for row in reversed(rows):
            fault = fault_of(study.parameters, injector.baseline, row["id"])
            assert injector.run(fault).to_json() == row


def test_fault_without_bits_is_masked(image):
    """A flip of no bit, at every moment of the inference."""
    study = study_of(*image, Options(models=("registers",)), 1)
    with opened(study.parameters, study.blobs) as injector:
        for number in range(200):
            fault = replace(fault_of(study.parameters, injector.baseline, number), mask=0)
            assert injector.run(fault).outcome == "masked"


def test_every_kind_of_outcome_but_a_same_decision_comes(image):
    outcomes = {row["outcome"] for row in records(study_of(*image, Options(), 1500), 1)}
    assert outcomes == {"masked", "critical", "detected", "hang"}


def test_document_conforms_to_its_schema(capsys):
    schema = json.loads((Path(harness.__file__).parent / "schemas" / "campaign.json").read_text())
    assert main(["campaign", "hello_world", "--count", "100", "--workers", "1", "--json", "-"]) == 0
    document = json.loads(capsys.readouterr().out)
    jsonschema.validate(document, schema)
    assert sum(document["outcomes"].values()) == document["faults"] == len(document["records"])


@pytest.mark.slow
def test_a_campaign_that_was_killed_goes_on_and_ends_with_the_same_bytes(image, tmp_path):
    store = tmp_path / "store.sqlite"
    command = [
        sys.executable, "-m", "harness", "campaign", "hello_world", "--workers", "2",
        "--count", "100000", "--store", str(store),
    ]  # fmt: skip
    with subprocess.Popen(
        command,
        cwd=tmp_path,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "TMPDIR": str(tmp_path)},
    ) as running:
        while not parts(store):
            time.sleep(0.05)
        running.kill()
    assert 0 < parts(store) < 200
    study = study_of(*image, Options(), 2500, ("hello_world", "exact"))
    with ResultStore(store, study) as kept, open_workers(1) as hands:
        _, units = campaign(study, kept, hands)
        assert list(kept.all_rows(units)) == records(study, 1)


def parts(store: Path) -> int:
    """How many units are in a store that another process writes; 0 where there is none yet."""
    if not store.exists():
        return 0
    with closing(sqlite3.connect(store)) as kept, suppress(sqlite3.OperationalError):
        return kept.execute("SELECT count(*) FROM parts").fetchone()[0]
    return 0


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
def test_invalid_options_are_usage_errors(arguments, capsys):
    assert main(["campaign", "hello_world", *arguments]) == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["no.elf"], "there is no file no.elf"),
        (["own.elf"], "an image needs --model"),
        (["own.elf", "--resolver", "exact"], "own.elf is an image already built"),
        (["hello_world", "--model", "nothing"], "--model: no model 'nothing'"),
        (["several", "--model", "hello_world_int8"], "several holds several images"),
    ],
)
def test_subject_and_keys_are_those_of_a_run(arguments, message, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    folder = Path("several/zephyr")
    folder.mkdir(parents=True)
    elf = write_elf([MadeSection(".text", 0, bytes(64), load=0, executable=True)], [])
    for file in (Path("own.elf"), folder / "zephyr.elf"):
        file.write_bytes(elf)
    (folder / "tfm_merged.hex").write_text(":048000000102030472\n:00000001FF\n")
    assert main(["campaign", *arguments]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.slow
def test_no_fault_that_changes_outputs_passes(capsys):
    arguments = ["--count", "210", "--workers", "1", "--judge", "--json", "-"]
    assert main(["campaign", "hello_world", *arguments]) == 0
    document = json.loads(capsys.readouterr().out)
    changed = [row for row in document["records"] if row["changed"]]
    assert changed
    assert all(row["verdict"] not in ("", "pass") for row in changed)


def test_the_judge_passes_the_run_without_a_fault(image):
    study = study_of(*image, Options(judge=True), 1, ("hello_world", "exact"))
    with opened(study.parameters, study.blobs) as injector:
        judge = Judge(injector, study.parameters["case"], study.blobs)
        assert judge.verdict(None).passed


def test_an_image_that_is_fed_is_not_judged(fed):
    with pytest.raises(UsageError, match="--judge"):
        fed(1, models=("weights",), judge=True)


@pytest.mark.parametrize("name", ["brownout", "noise", "lost"])
def test_a_removed_fault_model_says_what_to_use_instead(image, name):
    with pytest.raises(UsageError) as caught:
        study_of(*image, Options(models=(name,)), 1)
    assert caught.value.message == f"fault model {name} was removed"
    assert caught.value.hint


def test_an_image_that_starts_anew_after_a_reset_gives_the_same_outputs(fed):
    rows = records(fed(30, models=("reset",), inference=1), 1)
    assert {row["outcome"] for row in rows} == {"masked"}


def test_an_image_that_waits_for_inputs_is_not_run_without_them(model):
    firmware = Image.from_elf(build_one("hello_world", "console"))
    with pytest.raises(UsageError, match="waits for inputs"):
        study_of(firmware, model, Options(), 1)


def test_a_replay_of_a_new_boot_names_no_layer(capsys):
    arguments = ["--faults", "reset", "--replay", "2", "--json", "-"]
    assert main(["campaign", "hello_world", *arguments]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["outcome"], told["diverges"]) == ("masked", "")
    assert told["console"].count("~HIL 0 boot") == 2


@pytest.mark.slow
def test_a_digit_that_stays_the_same_is_tolerable(capsys):
    arguments = ["--faults", "weights", "--count", "300", "--workers", "1", "--json", "-"]
    assert main(["campaign", "digits", *arguments]) == 0
    rows = json.loads(capsys.readouterr().out)["records"]
    assert {"masked", "tolerable", "critical"} <= {row["outcome"] for row in rows}
    assert all(row["changed"] for row in rows if row["outcome"] == "tolerable")


def test_a_sine_within_the_tolerance_is_tolerable(capsys):
    arguments = ["--faults", "weights", "--count", "150", "--workers", "1", "--json", "-"]
    assert main(["campaign", "hello_world", *arguments, "--tolerance", "0.05"]) == 0
    wide = json.loads(capsys.readouterr().out)
    assert main(["campaign", "hello_world", *arguments]) == 0
    strict = json.loads(capsys.readouterr().out)
    assert wide["outcomes"]["tolerable"] > 0 == strict["outcomes"]["tolerable"]
    changed = wide["outcomes"]["tolerable"] + wide["outcomes"]["critical"]
    assert changed == strict["outcomes"]["critical"]
