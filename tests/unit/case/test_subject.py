"""Subjects that a user names: an image, a sample, a case file."""

from __future__ import annotations

from pathlib import Path

import pytest
from elf_writer import MadeSection, MadeSymbol, write_elf

from harness.base.errors import UsageError
from harness.case import subject
from harness.case.subject import Subject


@pytest.fixture
def here(tmp_path):
    """A folder with an image, a case file, a folder of each, and one of nothing."""
    text = MadeSection(".text", 0, bytes(64), load=0, executable=True)
    elf = write_elf([text], [MadeSymbol("main", 1, 8, "func")])
    for name in ("own.elf", "built/zephyr/zephyr.elf"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(elf)
    for name in ("hil.toml", "cases/hil.toml"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("")
    (tmp_path / "empty").mkdir()
    return tmp_path


def test_a_file_is_an_image(here):
    assert Subject.find("own.elf", here) == Subject("own.elf", elf=here / "own.elf")
    assert Subject.find("own.elf", here, case_files=True) == Subject(
        "own.elf", elf=here / "own.elf"
    )


def test_a_toml_is_a_case_file_where_case_files_are_allowed(here):
    assert Subject.find("hil.toml", here, case_files=True).case_file == here / "hil.toml"
    assert Subject.find("hil.toml", here).elf == here / "hil.toml"


def test_a_file_of_any_other_name_is_not_a_case_file(here):
    (here / "own.uf2").write_bytes((here / "own.elf").read_bytes())
    assert Subject.find("own.uf2", here, case_files=True) == Subject(
        "own.uf2", elf=here / "own.uf2"
    )


def test_a_folder_stands_for_its_case_file_or_its_image(here):
    assert Subject.find("cases", here, case_files=True).case_file == here / "cases/hil.toml"
    assert Subject.find("built", here, case_files=True).elf == here / "built"
    assert Subject.find("built", here).elf == here / "built"


@pytest.mark.parametrize(
    ("case_files", "message", "hint"),
    [
        (True, "empty is a folder without a hil.toml", "tflm-hil init empty writes one"),
        (False, "empty is a folder", "name an ELF or HEX file"),
    ],
)
def test_a_folder_of_neither_is_refused(here, case_files, message, hint):
    with pytest.raises(UsageError) as refused:
        Subject.find("empty", here, case_files=case_files)
    assert refused.value.message == message
    assert refused.value.hint.startswith(hint)


def test_a_name_is_a_samples_even_where_a_folder_is_called_so(here):
    assert Subject.find("digits", here) == Subject("digits", sample="digits")
    (here / "digits").mkdir()
    assert Subject.find("digits", here).sample == "digits"


def test_an_unknown_name_lists_the_samples(here):
    with pytest.raises(UsageError, match="there is no sample 'digit'") as refused:
        Subject.find("digit", here)
    assert "hello_world" in refused.value.hint


@pytest.mark.parametrize("name", ["no.elf", "a/b", "nul\0l"])
def test_a_name_like_a_file_is_reported_as_a_file(here, name):
    with pytest.raises(UsageError, match="there is no file ") as refused:
        Subject.find(name, here, case_files=True)
    assert refused.value.hint.endswith(" or a hil.toml")
    with pytest.raises(UsageError) as refused:
        Subject.find(name, here)
    assert refused.value.hint.endswith("a sample (tflm-hil list samples)")


def test_the_image_of_a_sample_is_built(here, monkeypatch):
    built = []

    def build_one(sample, resolver, *, chip):
        built.append((sample, resolver, chip))
        return Path("b.elf")

    monkeypatch.setattr("harness.build.builders.build_one", build_one)
    assert Subject("digits", sample="digits").image() == Path("b.elf")
    Subject("digits", sample="digits").image(chip="nrf5340")
    assert built == [("digits", "exact", ""), ("digits", "exact", "nrf5340")]
    assert Subject.find("own.elf", here).image() == here / "own.elf"
    assert subject.CASE_FILE == "hil.toml"
