"""Footprints of the samples as the standalone builder makes them."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import needs
import pytest

from harness import footprint
from harness.base.errors import FirmwareFailed, UsageError
from harness.build.builders import build_all, build_one
from harness.build.table import load
from harness.elf import Image
from harness.footprint.compare import compare
from harness.footprint.measure import measure
from harness.targets.base import ConsoleMatch
from harness.targets.simulator import open as open_simulator
from harness.uart import Console

PERSON_DETECTION = ["AVERAGE_POOL_2D", "CONV_2D", "DEPTHWISE_CONV_2D", "RESHAPE", "SOFTMAX"]


def image(sample: str, configuration: str = "exact") -> Image:
    needs.require("arm-none-eabi-gcc", "flatc")
    return Image.from_elf(build_one(sample, configuration))


@pytest.mark.parametrize("sample", list(load().samples))
def test_flash_is_the_size_of_the_binary(sample: str, tmp_path: Path) -> None:
    firmware = image(sample)
    binary = tmp_path / "image.bin"
    subprocess.run(["arm-none-eabi-objcopy", "-O", "binary", str(firmware.path), str(binary)],
                   check=True)  # fmt: skip
    assert footprint.regions(firmware)[0].used == binary.stat().st_size


@pytest.mark.parametrize("sample", ["digits", "residual", "chime"])
def test_reachability_explains_nearly_all_of_an_image(sample: str) -> None:
    found = footprint.analyse(image(sample))
    assert {c.operator for c in found.operators.operators} == set(load().samples[sample].operators)
    assert found.operators.unreached < 0.01 * found.regions[0].used


def test_the_operators_of_person_detection_cost_what_building_without_them_says() -> None:
    images = (image("hello_world", name) for name in ("exact", "person_detection"))
    swap = compare(*(footprint.analyse(one).to_json() for one in images)).swap
    assert swap is not None
    assert swap.operators == tuple(PERSON_DETECTION)
    assert swap.agrees, swap


def test_the_arena_minimum_allocates_and_one_byte_less_does_not() -> None:
    found = footprint.arena_minimum(image("hello_world"), seconds=5)
    assert found.declared == load().samples["hello_world"].arena
    assert found.used is not None and found.used <= found.minimum < found.declared
    outcome = {probe.bytes: probe.allocated for probe in found.probes}
    assert outcome[found.minimum] and not outcome[found.minimum - 1]
    assert found.aligned % 16 == 0 and found.aligned >= found.minimum


@pytest.mark.parametrize(
    "sample",
    [name for name, one in load().samples.items() if "standalone" in one.arena_minimum],
)
def test_the_arena_minimum_is_the_one_that_images_are_built_with(sample: str) -> None:
    """The table's figure: one image fits it from reset on, another with a byte less does not."""
    table = load().samples[sample].arena_minimum
    assert footprint.arena_minimum(image(sample), seconds=5).minimum == table["standalone"]


def test_an_arena_that_is_too_small_as_declared_is_the_firmwares_failure() -> None:
    with pytest.raises(FirmwareFailed, match="does not allocate"):
        footprint.arena_minimum(image("hello_world", "arena_too_small"), seconds=5)


def test_an_image_without_symbols_does_not_show_its_arena(tmp_path: Path) -> None:
    stripped = tmp_path / "stripped.elf"
    subprocess.run(["arm-none-eabi-strip", "-o", str(stripped), str(image("hello_world").path)],
                   check=True)  # fmt: skip
    with pytest.raises(UsageError, match="does not show"):
        footprint.arena_minimum(Image.from_elf(stripped))


def test_measured_stacks_and_arena_are_those_that_the_image_prints() -> None:
    """The image paints its main stack itself and reports both in records."""
    firmware = image("digits")
    found = footprint.analyse(firmware)
    measured = {one.name: one for one in measure(firmware, found.ram, open_simulator)}
    with open_simulator(firmware) as session:
        session.run(ConsoleMatch(rb"~HIL \d+ end "), session.deadline(20))
        console = Console()
        console.feed(session.read(), 0.0)
    (arena,) = console.of_kind("arena")
    stacks = {record.fields["name"]: record.integer("used") for record in console.of_kind("stack")}
    assert measured["z_main_stack"].used == stacks["main"]
    own = measured["(anonymous namespace)::tensor_arena"]
    assert (own.bytes, own.used) == (arena.integer("declared"), arena.integer("used"))
    assert own.least is not None and own.used is not None and own.used <= own.least < own.bytes
    assert own.wasted == own.bytes - own.least


def test_what_cannot_be_measured_says_why() -> None:
    firmware = image("hello_world", "arena_too_small")
    rows = measure(firmware, footprint.analyse(firmware).ram, open_simulator)
    (arena,) = (one for one in rows if one.purpose == "arena")
    assert arena.used is None and "does not allocate" in arena.note


@pytest.mark.slow
@pytest.mark.timeout(1800)  # the first time builds a hundred images
def test_flash_and_ram_of_every_configuration_are_the_linkers_own(tmp_path: Path) -> None:
    """The linker's memory table, for each of the table's images, from objcopy and readelf."""
    image("hello_world")  # skips without a compiler
    pairs = [(sample.name, row.name) for sample, row in load().pairs()]
    assert len(pairs) > 80
    binary = tmp_path / "image.bin"
    for pair, elf in build_all(pairs).items():
        flash, ram = footprint.regions(Image.from_elf(elf))
        subprocess.run(["arm-none-eabi-objcopy", "-O", "binary", str(elf), str(binary)], check=True)
        assert flash.used == binary.stat().st_size, pair
        headers = subprocess.run(["arm-none-eabi-objdump", "-h", str(elf)], check=True,
                                 capture_output=True, text=True).stdout  # fmt: skip
        sections = re.findall(r"^ +\d+ \S+ +([0-9a-f]{8}) +([0-9a-f]{8}) ", headers, re.MULTILINE)
        ends = (int(address, 16) + int(size, 16) for size, address in sections)
        assert ram.used == max(ends) - ram.origin, pair
