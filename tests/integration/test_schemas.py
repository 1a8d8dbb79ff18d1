"""The JSON documents of real images are what harness/schemas says."""

import json
from pathlib import Path

import jsonschema
import pytest

import harness
from harness.build.builders import build_one
from harness.cli import main

pytestmark = pytest.mark.needs("arm-none-eabi-gcc", "flatc")
CONFIGURATIONS = ["exact", "person_detection", "missing", "too_small", "too_large"]


def schema(name: str) -> dict:
    return json.loads((Path(harness.__file__).parent / "schemas" / f"{name}.json").read_text())


def document(capsys, *arguments: str) -> dict:
    assert main([*arguments, "--json", "-"]) in (0, 1, 5)
    return json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("configuration", CONFIGURATIONS)
def test_documents_of_an_image_fit_their_schemas(configuration, capsys, tmp_path):
    elf = str(build_one("hello_world", configuration))
    jsonschema.validate(document(capsys, "footprint", elf), schema("footprint"))
    found = document(capsys, "resolver", "check", elf, "hello_world_int8")
    jsonschema.validate(found, schema("resolver_check"))
    run = document(capsys, "run", elf, "--model", "hello_world_int8", "--output", str(tmp_path))
    jsonschema.validate(run, schema("run"))


def test_the_document_of_a_run_that_showed_no_resolver_fits_its_schema(capsys):
    elf = str(build_one("hello_world", "exact"))
    found = document(capsys, "resolver", "check", elf, "hello_world_int8", "--timeout", "1e-6")
    jsonschema.validate(found, schema("resolver_check"))
    assert found["registered"] is None and found["linked"] == ["FULLY_CONNECTED"]
    assert (found["verdict"], found["saved_flash"]) == ("cannot_tell", None)


def test_the_result_file_of_a_case_is_one_entry_of_the_document(capsys, tmp_path):
    arguments = ["run", "hello_world", "--profile", str(tmp_path / "x.json"),
                 "--output", str(tmp_path)]  # fmt: skip
    (case,) = document(capsys, *arguments)["cases"]
    (left,) = (json.loads(path.read_text()) for path in tmp_path.rglob("result.json"))
    assert left == case


@pytest.mark.parametrize("name", ["run", "footprint", "resolver_check"])
def test_schemas_are_schemas(name):
    jsonschema.Draft202012Validator.check_schema(schema(name))
