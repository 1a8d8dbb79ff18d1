"""A sample for the non-secure world: what the builder leaves, and what the harness makes of it."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import needs
import pytest
from click.testing import CliRunner

from harness.build.builders import build_one
from harness.case.run import run_case
from harness.case.samples import sample_case
from harness.cli import cli
from harness.elf import Image, combined, hexfile, trustzone
from harness.footprint import regions
from harness.targets import open_target

pytestmark = pytest.mark.needs("arm-none-eabi-gcc", "flatc")


@pytest.fixture(scope="module")
def folder() -> Path:
    return build_one("hello_world", "exact", "standalone-ns")


def test_both_elves_lie_beside_one_file_that_holds_them(folder):
    blocks = hexfile.read((folder / "merged.hex").read_text())
    for name in ("hello_world-exact.elf", "secure.elf"):
        assert not hexfile.differences(combined.own_blocks(Image.from_elf(folder / name)), blocks)


def test_the_folder_is_the_application_with_the_secure_image_beside_it(folder):
    image = combined.read(folder)
    assert image.path.name == "hello_world-exact.elf"
    assert [one.name for one in image.beside] == ["secure"]
    assert image.symbol("secure:secure_stack").address == 0x2000_0000


def test_each_image_tells_its_side(folder):
    assert trustzone.is_non_secure(Image.from_elf(folder / "hello_world-exact.elf"))
    assert not trustzone.is_non_secure(Image.from_elf(folder / "secure.elf"))


def test_the_gateways_lie_at_the_end_of_the_secure_flash(folder):
    assert trustzone.first_gateway(Image.from_elf(folder / "secure.elf")) == 0x7F00


def test_the_worlds_share_no_byte(folder):
    application = combined.read(folder)
    used = [
        range(region.origin, region.origin + region.used)
        for image in (application, *application.beside)
        for region in regions(image)
    ]
    ordered = sorted(used, key=lambda one: one.start)
    assert all(one.stop <= after.start for one, after in pairwise(ordered))


def told(*arguments: str) -> dict:
    result = CliRunner().invoke(cli, [*arguments, "--json", "-"])
    assert result.exit_code == 0, result.output
    return json.loads(result.output)


def test_the_footprint_of_several_elves_names_each(folder):
    application, secure = folder / "hello_world-exact.elf", folder / "secure.elf"
    document = told("footprint", str(application), "--also-load", str(secure))
    flash = {one["name"]: one["origin"] for one in document["regions"]}["FLASH"]
    assert flash == 0x8000
    assert list(document["beside"]) == ["secure"]


def test_the_resolver_is_told_of_the_image_that_has_one(folder):
    application, secure = folder / "hello_world-exact.elf", folder / "secure.elf"
    beside = ("--also-load", str(application))
    checked = told("resolver", "check", str(secure), "hello_world_int8", *beside)
    assert (checked["verdict"], checked["registered"]) == ("ok", ["FULLY_CONNECTED"])
    (found,) = told("resolver", "dump", str(secure), *beside)["resolvers"]
    assert [one["operator"] for one in found["registered"]] == ["FULLY_CONNECTED"]


@pytest.mark.parametrize("target", ["simulator", "virtual-board"])
def test_a_sample_in_the_non_secure_world_computes_what_the_model_says(target, tmp_path):
    if target == "virtual-board":
        needs.require("pyocd")
    case = sample_case("hello_world", "exact", builder="standalone-ns").on(target)
    result = run_case(case, tmp_path)
    assert result.passed, result.judgement
    assert result.evidence.outputs_compared == 20
    worlds = [(one.name, one.world) for one in result.measures.images]
    assert worlds == [("hello_world-exact", "non-secure"), ("secure", "secure")]


def test_the_secure_image_reports_a_fault_of_the_other_world_and_stops(folder):
    with open_target("simulator", combined.read(folder)) as session:
        session.machine.hook("main", lambda machine: machine.write_register("pc", 0x100))
        session.run(None, session.deadline(1))
        text = session.read().decode()
        (fault,) = session.faults
    assert "*** SecureFault of the non-secure image" in text
    assert "SFSR 0x00000001" in text and "pc 0x00000100" in text
    assert str(fault).startswith("SecureFault (INVEP) in the non-secure image hello_world-exact")
