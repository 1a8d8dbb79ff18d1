"""harness/schemas/hil.json, sweep.json, lab.json for editors: made from the readers of the files.

``python tests/unit/case/test_input_schemas.py`` and
``tests/support/case_keys.py`` (of a case file) write them.
"""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import jsonschema
import pytest

from harness.base import paths
from harness.base.errors import UsageError
from harness.case import casefile
from harness.case.plan import load_cases
from harness.studies.sweep import axes
from harness.targets.board import lab

SCHEMAS = {
    "hil_toml": ("tflm-hil case file (hil.toml)", casefile.schema),
    "sweep_toml": ("tflm-hil sweep (sweep.toml)", axes.schema),
    "lab_toml": ("tflm-hil lab file (lab.toml)", lab.schema),
}
ROOT = Path(__file__).parents[3]


def made(name: str) -> str:
    title, make = SCHEMAS[name]
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": title}
    return json.dumps({**head, **make()}, indent=2) + "\n"


@pytest.mark.parametrize("name", SCHEMAS)
def test_a_schema_is_that_of_its_reader(name):
    assert (paths.schemas() / f"{name}.json").read_text() == made(name)


def refused(name: str, text: str) -> bool:
    validator = jsonschema.Draft202012Validator(json.loads(made(name)))
    return not validator.is_valid(tomllib.loads(text))


def files(pattern: str) -> list[Path]:
    return sorted((ROOT / "examples").rglob(pattern))


@pytest.mark.parametrize(
    ("name", "pattern"), [("hil_toml", "hil.toml"), ("sweep_toml", "sweep.toml")]
)
def test_the_examples_fit(name, pattern):
    assert files(pattern)
    assert not any(refused(name, path.read_text()) for path in files(pattern))


CASE = '[[case]]\nname = "a"\nsample = "hello_world"\n'


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("hil_toml", f"{CASE}tolerence = 1"),
        ("hil_toml", f"{CASE}inferences = 1.5"),
        ("hil_toml", f'{CASE}inputs = [{{ regexp = "x" }}]'),
        ("hil_toml", f"{CASE}expect.findings = ['fualt']"),
        ("hil_toml", f"{CASE}expect.tests = {{ a = 'passes' }}"),
        ("hil_toml", "[[case]]\nsample = 'hello_world'"),
        ("hil_toml", "[defaults]\ntime_out = 3\n" + CASE),
        ("sweep_toml", "sample = ['hello_world']"),
        ("lab_toml", "[[board]]\nname = 'a'"),
        ("lab_toml", "[policy]\nretries = 'two'"),
    ],
)
def test_a_schema_refuses_what_its_reader_refuses(name, text, tmp_path):
    path = tmp_path / f"{name}.toml"
    path.write_text(text)
    readers = {"hil_toml": load_cases, "sweep_toml": axes.load, "lab_toml": lab.load}
    with pytest.raises(UsageError):
        readers[name](path)
    assert refused(name, text)


if __name__ == "__main__":
    for each in SCHEMAS:
        (paths.schemas() / f"{each}.json").write_text(made(each))
