"""The folder of a case: its name, what is in it, what is left of an earlier run."""

from __future__ import annotations

import json

import pytest
from results import case_result

from harness.base.errors import CannotWrite
from harness.case import artifacts


@pytest.mark.parametrize(
    ("name", "folder"),
    [
        ("hello_world-exact", "hello_world-exact"),
        ("a b/c", "a_b_c"),
        ("../..", "case"),
        ("", "case"),
        ("v1.2+3", "v1.2+3"),
        ("_a.", "a"),
    ],
)
def test_a_folder_is_called_as_its_case_is_as_far_as_that_is_safe(name, folder):
    assert artifacts.folder_name(name) == folder


def test_files_of_an_earlier_run_are_gone_and_others_stay(tmp_path):
    folder = artifacts.folder(tmp_path, "mine")
    ours = ("console.bin", "transcript.txt", "result.json", "coverage.info")
    for name in (*ours, "notes.txt"):
        (folder / name).write_text("old")
    assert artifacts.folder(tmp_path, "mine") == folder
    assert [path.name for path in folder.iterdir()] == ["notes.txt"]


def test_a_folder_that_cannot_be_made_has_a_hint(tmp_path):
    (tmp_path / "mine").write_text("a file")
    with pytest.raises(CannotWrite, match="mine: File exists") as refused:
        artifacts.folder(tmp_path, "mine")
    assert refused.value.hint == "choose --output"


def test_the_result_is_a_document_that_people_can_read(tmp_path):
    artifacts.write_result(tmp_path, case_result(name="hören"))
    text = (tmp_path / "result.json").read_text(encoding="utf-8")
    assert '  "name": "hören"' in text.splitlines()[1]
    assert text.endswith("}\n")
    assert json.loads(text)["name"] == "hören"
    assert [path.name for path in tmp_path.iterdir()] == ["result.json"]
