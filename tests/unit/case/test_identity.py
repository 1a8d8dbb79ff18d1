"""Two cases have one identity only if their fields and files are equal."""

from __future__ import annotations

from dataclasses import fields, replace

import pytest
from elf_writer import MadeSection, MadeSymbol, write_elf

from harness.base.expected import Expected
from harness.build.options import BuildOptions
from harness.case import Budgets, Case
from harness.case.case import HostStep
from harness.case.identity import identity
from harness.footprint.budget import Budget
from harness.uart.scrapers import TensorRegex


@pytest.fixture
def case(tmp_path):
    for name in ("model.tflite", "rows.npy", "base.json"):
        (tmp_path / name).write_bytes(name.encode())
    (tmp_path / "a.elf").write_bytes(b"image")
    budgets = Budgets((Budget("region", "flash", 10),))
    return Case(
        "a",
        elf=tmp_path / "a.elf",
        model=tmp_path / "model.tflite",
        inputs=tmp_path / "rows.npy",
        budgets=budgets,
        baseline=tmp_path / "base.json",
    )


#: Another value for each field of a case.
OTHERS = {
    "name": "b",
    "elf": lambda here: here / "rows.npy",
    "also_load": lambda here: (here / "rows.npy",),
    "sample": "hello_world",
    "resolver": "missing",
    "builder": "zephyr",
    "built_with": BuildOptions(lto=True),
    "chip": "nrf9151",
    "tags": ("nightly",),
    "model": None,
    "scraper": "hello_world",
    "inputs": None,
    "outputs": (TensorRegex("y: (.)"),),
    "rows": 3,
    "vectors": lambda folder: folder / "rows.npy",
    "inferences": 2,
    "reference": "none",
    "rounding": "single",
    "multipliers": "single",
    "tolerance": 0.5,
    "expect": Expected(values=({"x": 1.0},)),
    "budgets": Budgets((Budget("region", "flash", 11),)),
    "baseline": None,
    "end": "never",
    "observe_after": 2.0,
    "timeout": 11.0,
    "guard": 11.0,
    "press": ("button1",),
    "steps": (HostStep(send="a"),),
    "repeat": 2,
    "targets": ("renode",),
    "options": {"timing": "branches"},
    "peripherals": {"SAADC": "rows.npy"},
    "start": "elf",
}


def test_every_field_of_a_case_is_tried():
    assert OTHERS.keys() == {field.name for field in fields(Case) if field.compare}


@pytest.mark.parametrize("name", OTHERS)
def test_another_value_of_a_field_is_another_case(case, tmp_path, name):
    value = OTHERS[name]
    other = replace(case, **{name: value(tmp_path) if callable(value) else value})
    assert identity(other) != identity(case)


def test_an_equal_case_has_the_same_identity(case):
    assert identity(replace(case)) == identity(case)


@pytest.mark.parametrize("name", ["a.elf", "model.tflite", "rows.npy", "base.json"])
def test_another_content_of_a_file_is_another_case(case, tmp_path, name):
    before = identity(case)
    (tmp_path / name).write_bytes(b"other")
    assert identity(case) != before
    (tmp_path / name).unlink()
    assert identity(case) != before


def test_a_file_that_an_option_names_belongs_to_the_case(case, tmp_path):
    lab = tmp_path / "lab.toml"
    lab.write_text("a = 1")
    case = replace(case, targets=("board",), options={"lab": str(lab)})
    before = identity(case)
    lab.write_text("a = 2")
    assert identity(case) != before


def test_each_image_of_a_build_folder_belongs_to_the_case(tmp_path):
    def image(word: bytes) -> bytes:
        text = MadeSection(".text", 0, word * 32, load=0, executable=True)
        return write_elf([text], [MadeSymbol("main", 1, 8, "func")])

    (tmp_path / "zephyr").mkdir()
    (tmp_path / "zephyr" / "zephyr.elf").write_bytes(image(b"ab"))
    before = identity(Case("a", elf=tmp_path))
    (tmp_path / "zephyr" / "zephyr.elf").write_bytes(image(b"cd"))
    assert identity(Case("a", elf=tmp_path)) != before


def test_neighbouring_texts_are_not_joined(case):
    first = replace(case, sample="ab", resolver="c")
    assert identity(first) != identity(replace(case, sample="a", resolver="bc"))


def test_values_without_content_have_no_identity(case):
    with pytest.raises(TypeError, match="no content"):
        identity(replace(case, options={"pool": object()}))
