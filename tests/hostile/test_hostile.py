"""What the chip refuses, ruins or keeps silent does not pass; its well-behaved twin does.

With ``--hil-target`` the images also run on those targets, where they print what they print on the
simulator. Each run starts with a reset and ends after some seconds, so that an image that hangs or
locks up the chip does not affect the next.
"""

from dataclasses import replace
from pathlib import Path

import chip_table
import needs
import pytest
from hostile_images import FOLDER, HostileImage, hostile_images

from harness import CaseResult, run_case
from harness.build.toolchain import Toolchain
from harness.case.case import LastLine
from harness.case.result import Verdict
from harness.targets.registry import DEFAULT

IMAGES = hostile_images()
#: Seconds on a board's clock for one run, enough for all output of an image.
SECONDS = 3.0


def pytest_generate_tests(metafunc):
    """Each image on the simulator; on other targets those that a board may run."""
    if "target" in metafunc.fixturenames:
        names = (metafunc.config.getoption("--hil-target") or DEFAULT).split(",")
        rows = [
            pytest.param(image, name, id=f"{image.chapter}-{image.name}-{name}")
            for image in IMAGES
            for name in names
            if name == DEFAULT or not image.keep_off
        ]
        metafunc.parametrize(("image", "target"), rows)


@pytest.fixture(scope="module")
def toolchain(request) -> Toolchain:
    if not request.config.getoption("--hil-target"):
        needs.require("arm-none-eabi-gcc", "flatc")
    return Toolchain.find()


def test_hostile_image_is_refused_and_the_cause_is_named(image, target, toolchain, tmp_path):
    elf = image.build(toolchain, tmp_path, hostile=True)
    result = run_case(image.case_of(elf), tmp_path / DEFAULT)
    assert image.contradiction(result) == ""
    if target != DEFAULT:
        assert printed_on(target, image, elf, tmp_path) == printed(result), image.chip


def test_well_behaved_twin_passes_without_a_finding(image, target, toolchain, tmp_path):
    elf = image.build(toolchain, tmp_path, hostile=False)
    result = run_case(image.case_of(elf), tmp_path / DEFAULT)
    assert (result.verdict, result.findings) == (Verdict.PASS, ()), result.reason
    if target != DEFAULT:
        assert printed_on(target, image, elf, tmp_path) == printed(result)


def printed_on(target: str, image: HostileImage, elf: Path, folder: Path) -> list[str]:
    """The console of the image on ``target``."""
    case = replace(image.case_of(elf).on(target), options={}, end=LastLine("^ok$"), timeout=SECONDS)
    result = run_case(case, folder / target, on_error="record")
    assert result.verdict not in (Verdict.ERROR, Verdict.SKIPPED), result.judgement.reason
    return printed(result)


def printed(result: CaseResult) -> list[str]:
    """The lines of the console."""
    if result.evidence.console is None:
        return []
    text = result.evidence.console.read_bytes().decode("ascii", "backslashreplace")
    return [line.rstrip() for line in text.splitlines()]


def test_each_source_has_one_row():
    sources = sorted(path.stem for path in FOLDER.glob("*.c"))
    assert sorted(image.name for image in IMAGES) == sources


def test_docs_table_is_that_of_the_images():
    page = chip_table.PAGE.read_text()
    hint = "python tests/support/chip_table.py writes it"
    assert page == chip_table.with_table(page), hint
