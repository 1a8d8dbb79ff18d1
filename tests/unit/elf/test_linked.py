"""The bytes of regions, from ELF and map file, against the linker's own table and the binary."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import needs
import pytest
from linked import BSS, DATA, NOINIT, link

from harness import footprint
from harness.elf import Image
from harness.elf.map_file import LinkerMap
from harness.footprint.analysis import Footprint, of_map

_AT_FLASH = " AT> FLASH"
_DATA_ALONE = DATA.replace(" .late", "")
_HEAP_TO_END = ".heap (NOLOAD) : { . += ORIGIN(RAM) + LENGTH(RAM) - ABSOLUTE(.); } > RAM"
_OVERLAY = "OVERLAY : { .o1 { *(.late) } .o2 { *(.noinit*) BYTE(1) } } > RAM AT> FLASH"
#: Where sections without stored bytes lie, as linker scripts place them.
BOTH = {
    "bss behind data, in its load region": (DATA, BSS, NOINIT),
    "bss told to be loaded from flash": (DATA, BSS + _AT_FLASH, NOINIT + _AT_FLASH),
    "noinit before data": (NOINIT + _AT_FLASH, DATA, BSS),
    "data behind bss": (_DATA_ALONE, BSS + _AT_FLASH, ".late : { *(.late) } > RAM AT> FLASH"),
    "heap up to the end": (DATA, BSS, NOINIT, _HEAP_TO_END),
    "data aligned in RAM": (DATA.replace(":", ": ALIGN(256)"), BSS.replace(":", ": ALIGN(512)")),
}
GNU_ALONE = {
    "heap and stack of a size alone": (DATA, BSS, NOINIT, ".heap : { . = . + 0xc00; } > RAM"),
    "bss with a byte of the script": (DATA, BSS.replace("(COMMON)", "(COMMON) BYTE(1)"), NOINIT),
    "overlays": (_DATA_ALONE, _OVERLAY, BSS),
    "noinit whose load address counts": (
        NOINIT.replace(":", ": ALIGN_WITH_INPUT") + _AT_FLASH, DATA, BSS,
    ),
}  # fmt: skip


@pytest.fixture(autouse=True)
def _compiler() -> None:
    needs.require("arm-none-eabi-gcc")


def used(found: Footprint) -> dict[str, int]:
    return {region.name: region.used for region in found.regions}


@pytest.mark.parametrize("sections", [*BOTH.values(), *GNU_ALONE.values()], ids=[*BOTH, *GNU_ALONE])
def test_regions_are_gnu_lds(sections: tuple[str, ...], tmp_path: Path) -> None:
    linked = link(tmp_path, *sections)
    image = replace(Image.from_elf(linked.elf), map_file=linked.map_file)
    assert used(footprint.analyse(image)) == linked.table
    assert used(of_map(LinkerMap.read(linked.map_file))) == linked.table
    assert linked.binary_size == linked.table["FLASH"]


@pytest.mark.parametrize("sections", BOTH.values(), ids=BOTH)
def test_flash_is_the_binary_of_lld(sections: tuple[str, ...], tmp_path: Path) -> None:
    needs.require("clang")
    linked = link(tmp_path, *sections, linker="lld")
    found = used(footprint.analyse(Image.from_elf(linked.elf)))
    assert found == used(of_map(LinkerMap.read(linked.map_file)))
    assert found["FLASH"] == linked.binary_size


def test_a_gap_before_data_names_the_section_that_leaves_it(tmp_path: Path) -> None:
    linked = link(tmp_path, *GNU_ALONE["noinit whose load address counts"])
    notes = footprint.analyse(Image.from_elf(linked.elf)).notes
    assert notes[0].startswith(".noinit: 300 B of FLASH at 0x")
    assert notes[0].endswith("are a gap in the binary: a load address (AT>), and no bytes to store")


@pytest.mark.parametrize("sections", BOTH.values(), ids=BOTH)
def test_no_note_speaks_of_bytes_that_are_not_in_flash(
    sections: tuple[str, ...], tmp_path: Path
) -> None:
    notes = footprint.analyse(Image.from_elf(link(tmp_path, *sections).elf)).notes
    assert not any("FLASH" in note for note in notes)
