"""What the chip refuses, ruins or keeps silent does not pass; its well-behaved twin does."""

from pathlib import Path

import chip_table
import needs
import pytest

from harness import run_case
from harness.build.toolchain import Toolchain
from harness.case.result import Verdict
from harness.studies import conformance

IMAGES = conformance.read(Path(__file__).parents[1] / "hostile")
each = pytest.mark.parametrize("image", IMAGES, ids=lambda image: f"{image.chapter}-{image.name}")


@pytest.fixture(scope="module")
def toolchain() -> Toolchain:
    needs.require("arm-none-eabi-gcc", "flatc")
    return Toolchain.find()


@each
def test_hostile_image_is_refused_and_the_cause_is_named(image, toolchain, tmp_path):
    elf = image.build(toolchain, tmp_path, hostile=True)
    result = run_case(image.case_of(elf), tmp_path)
    assert image.contradiction(result) == ""


@each
def test_well_behaved_twin_passes_without_a_finding(image, toolchain, tmp_path):
    elf = image.build(toolchain, tmp_path, hostile=False)
    result = run_case(image.case_of(elf), tmp_path)
    assert (result.verdict, result.findings) == (Verdict.PASS, ()), result.reason


def test_docs_table_is_that_of_the_images():
    page = chip_table.PAGE.read_text()
    hint = "python tests/support/chip_table.py writes it"
    assert page == chip_table.with_table(page), hint
