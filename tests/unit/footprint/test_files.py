"""Bytes by source file, and by library as a map file tells them."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

from harness.elf.dwarf.format import At
from harness.elf.dwarf.leb import GARBLED
from harness.elf.layout import LayoutPart
from harness.elf.map_file import InputSection, LinkerMap, OutputSection
from harness.footprint.files import (
    LITERALS,
    NO_DEBUG,
    PADDING,
    FileCost,
    Sources,
    _compiler_generated,
    by_file,
    by_library,
    objects,
)

MAP = LinkerMap(Path("fw.map"), "GNU ld", (), (OutputSection(".text", 0, 0, 0x40, [
    InputSection(".text.b", 0x20, 8, "/x/libtflite.a(b.cc.obj)"),
    InputSection(".text.a", 0x10, 12, "/x/libtflite.a(a.cc.obj)"),
    InputSection(".text.m", 0x30, 4, "app/main.o"),
]),))  # fmt: skip


def part(
    name: str, address: int, size: int, kind: str = "function", region: str = "FLASH"
) -> LayoutPart:
    return LayoutPart(name, kind, region, ".text", address, address, size)


def test_parts_belong_to_the_library_that_they_lie_in():
    parts = [
        part("before", 0x0C, 4), part("a", 0x10, 10), part("fill", 0x1A, 2, "padding"),
        part("between", 0x1C, 4, "padding"), part("b", 0x20, 8), part("beyond", 0x28, 8),
        part("main", 0x30, 4), part("hole", 0x30, 5, "gap"),
    ]  # fmt: skip
    assert by_library(parts, objects(parts, MAP)) == (
        FileCost("libtflite.a", {"FLASH": 20}),
        FileCost("(not in the map file)", {"FLASH": 12}),
        FileCost(PADDING, {"FLASH": 9}),
        FileCost("main.o", {"FLASH": 4}),
    )


def test_files_are_summed_region_by_region_the_largest_first():
    parts = [
        part("a", 0, 10), part("b", 16, 4), part("c", 32, 3),
        part("x", 0x2000_0000, 5, "object", "RAM"), part("y", 48, 6, "strings"),
        part("z", 64, 1, "padding"), part("h", 66, 1, "gap"), part("u", 80, 9, "unnamed"),
    ]  # fmt: skip
    files = {0: "m.cc", 16: "b.cc", 32: "a.cc", 0x2000_0000: "m.cc"}
    assert by_file(parts, files) == (
        FileCost("m.cc", {"FLASH": 10, "RAM": 5}), FileCost(NO_DEBUG, {"FLASH": 9}),
        FileCost(LITERALS, {"FLASH": 6}), FileCost("b.cc", {"FLASH": 4}),
        FileCost("a.cc", {"FLASH": 3}), FileCost(PADDING, {"FLASH": 2}),
    )  # fmt: skip


def test_files_of_one_size_stand_by_their_names():
    parts = [part("b", 0, 4), part("a", 4, 4)]
    assert [one.path for one in by_file(parts, {0: "b.cc", 4: "a.cc"})] == ["a.cc", "b.cc"]


def test_a_row_has_its_regions_beside_its_path():
    assert FileCost("a.cc", {"FLASH": 3, "RAM": 1}).to_json() == {
        "path": "a.cc", "FLASH": 3, "RAM": 1,
    }  # fmt: skip


def test_compiler_made_symbols_belong_to_the_file_of_their_owner():
    named = {
        "_ZN6tflite1A1fEv": "a.cc", "_ZN6tflite1A1gEv": "a.cc", "_ZN6tflite1A1hEv": "inline.h",
        "_Z6onlyfnv": "only.cc",
    }  # fmt: skip
    made = [
        part("_ZTVN6tflite1AE", 1, 4, "object"), part("_ZTIN6tflite1AE", 2, 4, "object"),
        part("_ZTSN6tflite1AE", 3, 4, "object"), part("_ZTVN6tflite1BE", 4, 4, "object"),
        part("_ZGVZ6onlyfnvE1x", 5, 4, "object"), part("_ZGVZ5otherfnvE1x", 6, 4, "object"),
    ]  # fmt: skip
    assert _compiler_generated(made, named) == {1: "a.cc", 2: "a.cc", 3: "a.cc", 5: "only.cc"}


def test_a_unit_that_is_garbled_hides_none_behind_it():
    numbers, texts = {At.STMT_LIST: 7}, {At.COMP_DIR: "/w"}
    good = SimpleNamespace(number=numbers.get, value=texts.get)
    table = SimpleNamespace(
        find=lambda address: (0, 1, 5), offsets=[7],
        headers=[SimpleNamespace(path=lambda file, folder: f"{folder}/{file}.cc")],
    )  # fmt: skip

    def entry(offset: int, unit: object) -> SimpleNamespace:
        if not offset:
            raise GARBLED[0]
        return good

    units = [SimpleNamespace(first=offset) for offset in (0, 1)]
    dwarf = SimpleNamespace(units=units, entry=entry)
    image = SimpleNamespace(variables=SimpleNamespace(dwarf=dwarf), line_table=table)
    assert Sources(image).of_address(0x10) == "/w/1.cc"
    table.find = lambda address: None
    assert Sources(image).of_address(0x10) == ""
