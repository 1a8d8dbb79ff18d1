"""Which chip an image is for: marks of the standalone runtime, Kconfig, what a case names."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from elf_writer import MadeSection, MadeSymbol

from harness.base.errors import BadElf, UsageError
from harness.base.platforms import chip_names
from harness.elf import Image, combined, vectors
from harness.elf.chip import MARK

TABLE = (0x2000_1000).to_bytes(4, "little") + (0x41).to_bytes(4, "little")
HIGH_STACK = (0x2008_0000).to_bytes(4, "little") + (0x41).to_bytes(4, "little")


@pytest.fixture
def image(make):
    def made(*marks: str, table: bytes = TABLE) -> Image:
        rom = MadeSection("rom", 0, table + bytes(0x100), load=0, executable=True)
        return make([rom], [MadeSymbol(mark, 1, section=None) for mark in marks])

    return made


MARKS = [
    ([], "nrf9160"),
    (["CONFIG_SOC_NRF9160", "CONFIG_SOC_NRF9160_SICA"], "nrf9160"),
    (["CONFIG_SOC_NRF9120", "CONFIG_SOC_NRF9161_LACA"], "nrf9161"),
    (["CONFIG_SOC_NRF9151_LACA"], "nrf9151"),
    (["CONFIG_SOC_NRF9131_LACA"], "nrf9131"),
    (["CONFIG_SOC_NRF5340_CPUAPP", "CONFIG_SOC_NRF5340_CPUAPP_QKAA"], "nrf5340"),
    ([f"{MARK}nrf5340"], "nrf5340"),
]


@pytest.mark.parametrize(("marks", "chip"), MARKS)
def test_the_image_says_its_chip(image, marks, chip):
    assert image(*marks).chip.key == chip


def test_each_chip_has_a_mark():
    assert {chip for _, chip in MARKS} == {*chip_names()}


def test_an_image_that_does_not_say_is_for_the_chip_that_is_named(image):
    assert replace(image(), chip_name="nrf9151").chip.key == "nrf9151"


def test_a_contradiction_names_both(image):
    named = replace(image("CONFIG_SOC_NRF5340_CPUAPP"), chip_name="nrf9151")
    with pytest.raises(
        UsageError, match=r"nRF5340 \(Kconfig: CONFIG_SOC_NRF5340_CPUAPP\).*nRF9151"
    ):
        _ = named.chip


def test_images_beside_each_other_are_for_one_chip(image):
    other = replace(image("CONFIG_SOC_NRF9151_LACA"), path=Path("other.elf"))
    both = replace(image("CONFIG_SOC_NRF9160"), beside=(other,))
    with pytest.raises(UsageError, match=r"nRF9160 .* and other\.elf for the nRF9151"):
        _ = both.chip


@pytest.mark.parametrize("soc", ["NRF52840", "NRF5340_CPUNET"])
def test_a_chip_without_a_table_is_refused_by_name(image, soc):
    with pytest.raises(UsageError, match=f"without a table .*CONFIG_SOC_{soc}"):
        _ = image(f"CONFIG_SOC_{soc}").chip


def test_zephyrs_configuration_beside_a_hex_file_counts(tmp_path: Path):
    (tmp_path / ".config").write_text('CONFIG_SOC="nrf9151"\nCONFIG_SOC_NRF9151_LACA=y\n')
    (tmp_path / "zephyr.hex").write_text(":0400000000100020CC\n:00000001FF\n")
    assert combined.read(tmp_path / "zephyr.hex").chip.key == "nrf9151"


def test_the_vector_table_must_fit_the_chip(image):
    high = image(table=HIGH_STACK)
    with pytest.raises(BadElf, match="not a stack in RAM"):
        vectors.find(high)
    assert vectors.find(replace(high, chip_name="nrf5340")).stack == 0x2008_0000
