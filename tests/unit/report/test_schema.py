"""The JSON that others read is what harness/schemas says it is."""

import json
from pathlib import Path

import jsonschema
import pytest
import run_schema
from results import case_result

import harness
from harness.base import paths
from harness.base.findings import Finding, Kind
from harness.case.columns import COMPARED
from harness.case.result import OperatorTicks, Size, Verdict
from harness.elf.coverage import Coverage
from harness.history.keep import document as results_document
from harness.history.run import Occasion

SCHEMA = json.loads((Path(harness.__file__).parent / "schemas" / "run.json").read_text())


def test_what_the_schema_has_of_measures_and_findings_is_generated_from_their_rows():
    text = run_schema.SCHEMA.read_text(encoding="utf-8")
    assert text == run_schema.with_rows(text)


def test_the_page_of_measures_has_today_s_table():
    page = run_schema.PAGE.read_text(encoding="utf-8")
    assert page == run_schema.with_table(page)


def test_the_schema_of_sweeps_has_the_measures_that_compare_points():
    row = json.loads((paths.schemas() / "sweep.json").read_text())["properties"]["rows"]["items"]
    assert {*COMPARED} <= {*row["required"]} & {*row["properties"]}


def document(**changes) -> dict:
    return results_document([case_result(**changes)], Occasion.here())


def test_the_schema_is_one():
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"verdict": Verdict.FIRMWARE, "problems": ("a", "b"), "hint": "try", "details": "x\ny"},
        {"size": Size(1, 2), "instructions": 5, "virtual_seconds": 0.5, "console": Path("x/y")},
        {"elf": Path("x.elf"), "elf_sha256": "0" * 64, "operators": (OperatorTicks("ADD", 3),)},
        {"coverage": Coverage({"f": 3, "g": 1}, {"a.c": {1: True, 2: False}})},
        {"findings": (Finding(Kind.FAULT, "m", "s", 3, (("pc", 16),)),)},
    ],
)
def test_every_result_fits_the_schema(changes):
    jsonschema.validate(document(**changes), SCHEMA)


def test_the_schema_refuses_other_documents():
    broken = document()
    broken["cases"][0]["verdict"] = "maybe"
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(broken, SCHEMA)
