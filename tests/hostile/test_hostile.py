"""What the chip refuses, ruins or keeps silent does not pass; its well-behaved twin does.

With ``--hil-target`` the images also run on those targets, where they print what they print on the
simulator. Each run starts with a reset and ends after some seconds, so that an image that hangs or
locks up the chip does not affect the next.
"""

from dataclasses import replace
from pathlib import Path

import chip_table
import pytest
from hostile_images import FOLDER, HostileImage, hostile_images

from harness import CaseResult, run_case
from harness.base.errors import EnvironmentMissing
from harness.build.toolchain import Toolchain
from harness.case.case import target_names
from harness.case.result import Verdict
from harness.targets.registry import DEFAULT

IMAGES = hostile_images()
#: Seconds on a board's clock for one run, enough for all output of an image.
SECONDS = 3.0
each = pytest.mark.parametrize("image", IMAGES, ids=lambda image: f"{image.chapter}-{image.name}")


def pytest_generate_tests(metafunc):
    if "target" in metafunc.fixturenames:
        asked_for = metafunc.config.getoption("--hil-target") or DEFAULT
        metafunc.parametrize("target", target_names(asked_for))


@pytest.fixture(scope="module")
def toolchain(request) -> Toolchain:
    try:
        return Toolchain.find()
    except EnvironmentMissing as error:
        if request.config.getoption("--hil-target"):
            raise
        pytest.skip(str(error))


@each
def test_hostile_image_is_refused_and_the_cause_is_named(image, target, toolchain, tmp_path):
    elf = image.build(toolchain, tmp_path, hostile=True)
    result = run_case(image.case_of(elf), tmp_path / DEFAULT)
    assert image.contradiction(result) == ""
    if target != DEFAULT:
        assert printed_on(target, image, elf, tmp_path) == printed(result), image.chip


@each
def test_well_behaved_twin_passes_without_a_finding(image, target, toolchain, tmp_path):
    elf = image.build(toolchain, tmp_path, hostile=False)
    result = run_case(image.case_of(elf), tmp_path / DEFAULT)
    assert (result.verdict, result.findings) == (Verdict.PASS, ()), result.reason
    if target != DEFAULT:
        assert printed_on(target, image, elf, tmp_path) == printed(result)


def printed_on(target: str, image: HostileImage, elf: Path, folder: Path) -> list[str]:
    """The console of the image on ``target``."""
    if image.keep_off:
        pytest.skip(image.keep_off)
    case = replace(image.case_of(elf).on(target, {}), ends_at="^ok$", timeout=SECONDS)
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
