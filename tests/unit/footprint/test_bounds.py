"""Bounds, sums and notes of an analysis, of images that are made up."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from harness.elf.layout import Layout, LayoutPart
from harness.footprint.analysis import SectionCost, _missing, _sections, ram_regions
from harness.footprint.operators import (
    Group,
    Member,
    OperatorCost,
    OperatorReport,
    SharedSymbol,
)


def cost(name: str, exclusive: int, *shares: SharedSymbol) -> OperatorCost:
    shared = sum(one.bytes for one in shares)
    return OperatorCost(name, False, exclusive, shared, 0, shares, (Member("f", 5),), ("R",))


BOTH, ALL = SharedSymbol(("A", "B"), 30), SharedSymbol(("A", "B", "C"), 7)
REPORT = OperatorReport((cost("A", 10, BOTH, ALL), cost("B", 20, BOTH, ALL), cost("C", 1, ALL)),
                        68, 5, 2)  # fmt: skip


def test_an_operator_is_a_row_with_the_members_of_its_figures():
    assert REPORT.operators[2].to_json() == {
        "operator": "C", "custom": False, "exclusive": 1, "shared": 7, "alone": 8, "ram": 0,
        "shared_with": [{"operators": ["A", "B", "C"], "bytes": 7}],
        "symbols": [{"name": "f", "bytes": 5}], "registrations": ["R"],
    }  # fmt: skip
    assert REPORT.to_json() == {"together": 68, "rest": 5, "unreached": 2}


def test_the_size_of_a_group_is_that_of_its_members():
    assert Group("g", (Member("a", 5), Member("b", 2))).bytes == 7


def test_ram_is_that_of_the_address_map():
    origins = (0, 0x1FFF_FFFF, 0x2000_0000, 0x3FFF_FFFF, 0x4000_0000)
    regions = [SimpleNamespace(name=hex(origin), origin=origin) for origin in origins]
    assert ram_regions(SimpleNamespace(regions=regions)) == {"0x20000000", "0x3fffffff"}


def part(section: str, region: str, place: int, size: int, name: str = "f") -> LayoutPart:
    return LayoutPart(name, "function", region, section, place, place, size)


def test_a_section_that_is_stored_and_copied_has_a_part_of_each_region():
    layout = Layout(
        (part(".text", "FLASH", 0, 8), part(".text", "FLASH", 8, 4), part(".data", "FLASH", 12, 4),
         part(".data", "RAM", 0x2000_0000, 4), part("", "FLASH", 16, 2, "(gap)")), (),
    )  # fmt: skip
    assert _sections(layout) == (
        SectionCost(".text", "FLASH", 0, 12), SectionCost(".data", "FLASH", 12, 4),
        SectionCost(".data", "RAM", 0x2000_0000, 4), SectionCost("(gap)", "FLASH", 16, 2),
    )  # fmt: skip


def notes(*, info: bytes = b"x", units: int = 0, lines: int = 0, symbols: int = 1, found: int = 1):
    dwarf = SimpleNamespace(info=info, broken_units=units)
    image = SimpleNamespace(
        variables=SimpleNamespace(dwarf=dwarf),
        line_table=SimpleNamespace(broken=lines),
        symbols=(object(),) * symbols,
        without_symbols="" if symbols else "the image is stripped",
        symbols_hint=lambda: "pass another",
    )
    return _missing(image, SimpleNamespace(operators=(object(),) * found))


@pytest.mark.parametrize(
    ("image", "words"),
    [
        ({"info": b""}, "no DWARF: bytes cannot be listed by source file (all are under (no debug"),
        ({"units": 2, "lines": 1}, "3 compilation units have garbled DWARF; their files are inc"),
        (
            {"symbols": 0, "found": 0},
            "the image is stripped: bytes by section only, not by file or o",
        ),
        ({"found": 0}, "no registration function of tflite-micro (Register_*) is linked"),
    ],
)
def test_a_gap_in_an_images_information_is_a_note(image, words):
    (note,) = notes(**image)
    assert note.startswith(words)


def test_an_image_with_all_information_has_no_note():
    assert notes() == []
