"""Images that do not fit: which region, by how much, and what is largest in it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import needs
import pytest
from linked import BSS, DATA, FLASH, NOINIT, RAM, Linked, link

from harness.cli import main
from harness.elf.map_file import LinkerMap
from harness.footprint.analysis import of_map

_SMALL_RAM, _SMALL_FLASH = RAM.replace("64K", "4K"), FLASH.replace("1M", "400")
_TWO = (".text2 : { *(.late) } > FLASH", DATA.replace(" .late", ""), BSS, NOINIT)
#: Sections, regions, bytes of the arena.
OVERFULL = {
    "bss begins in the region": ((DATA, BSS, NOINIT), (FLASH, _SMALL_RAM), 263_000),
    "sections begin behind the end": ((BSS, DATA, NOINIT), (FLASH, _SMALL_RAM), 263_000),
    "initial values in flash": ((DATA, BSS, NOINIT), (_SMALL_FLASH, RAM), 2_000),
    "text and data in flash": (_TWO, (_SMALL_FLASH, RAM), 2_000),
    "both": ((DATA, BSS, NOINIT), (_SMALL_FLASH, _SMALL_RAM), 9_000),
}


@pytest.fixture(autouse=True)
def _compiler() -> None:
    needs.require("arm-none-eabi-gcc")


def failed(folder: Path, name: str) -> Linked:
    sections, memory, arena = OVERFULL[name]
    linked = link(folder, *sections, memory=memory, arena=arena, options=())
    assert not linked.elf.exists()
    return linked


@pytest.mark.parametrize("name", OVERFULL)
def test_a_map_file_has_the_overflow_that_the_linker_told(name: str, tmp_path: Path) -> None:
    linked = failed(tmp_path, name)
    told = re.findall(r"region `(\w+)' overflowed by (\d+) bytes", linked.errors)
    found = of_map(LinkerMap.read(linked.map_file))
    assert {r.name: r.overflow for r in found.regions if r.overflow} == {
        region: int(size) for region, size in told
    }
    assert {r.name: r.used for r in found.regions} == linked.table


@pytest.mark.parametrize("name", OVERFULL)
def test_an_image_that_was_linked_all_the_same_has_it_too(name: str, tmp_path: Path) -> None:
    sections, memory, arena = OVERFULL[name]
    linked = link(tmp_path, *sections, memory=memory, arena=arena)
    output = tmp_path / "footprint.json"
    arguments = ["footprint", str(linked.elf), "--map", str(linked.map_file)]
    assert main([*arguments, "--json", str(output)]) == 0
    regions = json.loads(output.read_text())["regions"]
    assert {row["name"]: row["used"] for row in regions} == linked.table


def test_the_first_line_names_region_bytes_and_the_largest(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    linked = failed(tmp_path, "bss begins in the region")
    assert main(["footprint", str(linked.map_file)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert re.fullmatch(
        r"RAM \(4,096 B\) overflows by 259,\d\d\d B: arena 263,000 B, kept 300 B, hidden 200 B",
        lines[0],
    )
    rows = [line.split() for line in lines[lines.index("") + 3 :]]
    assert rows[0] == ["RAM", "263,000", "object", "arena"]
    assert lines[0] in json_notes(linked, tmp_path)


def json_notes(linked: Linked, folder: Path) -> list[str]:
    assert main(["footprint", str(linked.map_file), "--json", str(folder / "out.json")]) == 0
    notes: list[str] = json.loads((folder / "out.json").read_text())["notes"]
    return notes
