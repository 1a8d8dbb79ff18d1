from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from elf_writer import MadeSection, MadeSymbol, write_elf

from harness.base.errors import UsageError
from harness.elf import Image
from harness.elf.regions import MemoryRegion, memories


def _memories(image):
    return memories(image, image.chip)


def _firmware(folder: Path, flash: int, ram: int, config: dict[str, int]) -> Image:
    path = folder / "image.elf"
    path.write_bytes(write_elf(
        [MadeSection("text", flash, bytes(64), load=flash, executable=True),
         MadeSection("bss", ram, size=32)],
        [MadeSymbol(name, value, section=None, kind="notype") for name, value in config.items()],
    ))  # fmt: skip
    return Image.from_elf(path)


def test_the_chip_gives_its_whole_banks(tmp_path: Path) -> None:
    found = _memories(_firmware(tmp_path, 0, 0x2000_0000, {}))
    assert [(m.name, m.origin, m.size) for m in found] == [
        ("FLASH", 0, 0x10_0000), ("RAM", 0x2000_0000, 0x4_0000),
    ]  # fmt: skip


def test_a_non_secure_image_has_the_region_behind_the_secure_one(tmp_path: Path) -> None:
    found = _memories(_firmware(tmp_path, 0x5_0000, 0x2002_0000, {}))
    assert [(m.origin, m.end) for m in found] == [
        (0x5_0000, 0x10_0000), (0x2002_0000, 0x2004_0000),
    ]  # fmt: skip


def test_regions_of_a_zephyr_image_come_from_its_kconfig(tmp_path: Path) -> None:
    config = {"CONFIG_FLASH_SIZE": 1024, "CONFIG_FLASH_BASE_ADDRESS": 0,
              "CONFIG_FLASH_LOAD_OFFSET": 0x5_0000, "CONFIG_FLASH_LOAD_SIZE": 0x3_0000,
              "CONFIG_SRAM_BASE_ADDRESS": 0x2001_6000, "CONFIG_SRAM_SIZE": 168}  # fmt: skip
    found = _memories(_firmware(tmp_path, 0x5_0000, 0x2001_6000, config))
    assert [(m.name, m.origin, m.size, m.source) for m in found] == [
        ("FLASH", 0x5_0000, 192 * 1024, "kconfig"), ("RAM", 0x2001_6000, 168 * 1024, "kconfig"),
    ]  # fmt: skip


def test_regions_of_a_map_file_come_first(tmp_path: Path) -> None:
    config = {"CONFIG_FLASH_SIZE": 1024, "CONFIG_SRAM_SIZE": 168}
    image = _firmware(tmp_path, 0, 0x2000_0000, config)
    in_map = (MemoryRegion("SRAM", 0x2000_0000, 64, "map"), MemoryRegion("ROM", 0, 32, "map"))
    assert memories(image, image.chip, in_map) == in_map[::-1]
    assert [m.source for m in memories(image, image.chip)] == ["kconfig", "kconfig"]


def test_a_file_that_is_not_a_map_is_refused(tmp_path: Path) -> None:
    image = _firmware(tmp_path, 0, 0x2000_0000, {})
    (tmp_path / "empty.map").write_text("nothing")
    for name, why in (("empty.map", "not a map file"), ("none.map", "there is no file")):
        with pytest.raises(UsageError, match=why):
            _ = replace(image, map_file=tmp_path / name).regions
