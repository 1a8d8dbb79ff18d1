"""Footprint documents beside each other, row by row."""

from __future__ import annotations

import json

import pytest

from harness.base.errors import UsageError
from harness.footprint.compare import (
    Change,
    MovedSymbol,
    SizeComparison,
    Swap,
    compare,
    load_baseline,
)


def symbol(name: str, size: int, **more: object) -> dict[str, object]:
    row = {"name": name, "kind": "function", "region": "FLASH", "section": ".text", "file": ""}
    return {**row, "size": size, **more}


def document(*symbols: dict[str, object], **more: object) -> dict[str, object]:
    return {"regions": [], "symbols": list(symbols), **more}


@pytest.mark.parametrize(
    ("before", "after", "difference", "verb"),
    [(0, 5, 5, "appeared"), (5, 0, -5, "vanished"), (4, 5, 1, "grew"), (5, 4, -1, "shrank")],
)
def test_a_change_has_a_kind(before, after, difference, verb):
    change = Change("f", "FLASH", before, after)
    assert (change.difference, change.verb) == (difference, verb)
    assert change.to_json() == {
        "name": "f", "region": "FLASH", "before": before, "after": after,
        "difference": difference, "verb": verb,
    }  # fmt: skip


def test_the_largest_change_stands_first_and_equal_ones_by_their_names():
    before = document(symbol("a", 10), symbol("b", 10), symbol("c", 30), symbol("same", 4))
    after = document(symbol("b", 15), symbol("a", 5), symbol("c", 50), symbol("same", 4))
    assert compare(before, after).symbols == (
        Change("c", "FLASH", 30, 50), Change("a", "FLASH", 10, 5), Change("b", "FLASH", 10, 15),
    )  # fmt: skip


def test_parts_of_a_symbol_in_one_region_are_added():
    before = document(symbol("a", 10), symbol("a", 5), symbol("a", 3, region="RAM"))
    assert compare(before, document()).symbols == (
        Change("a", "FLASH", 15, 0), Change("a", "RAM", 3, 0),
    )  # fmt: skip


def test_regions_of_both_are_listed_changed_or_not():
    before = document(regions=[{"name": "FLASH", "used": 10}, {"name": "OLD", "used": 3}])
    after = document(regions=[{"name": "FLASH", "used": 10}, {"name": "RAM", "used": 4}])
    found = compare(before, after)
    assert found.regions == (
        Change("FLASH", "FLASH", 10, 10), Change("RAM", "RAM", 0, 4), Change("OLD", "OLD", 3, 0),
    )  # fmt: skip
    assert not found.same
    assert compare(before, before).same


def test_operators_are_compared_by_their_own_bytes():
    one, two = (document(operators=[{"operator": "ADD", "exclusive": size}]) for size in (10, 14))
    assert compare(one, two).operators == (Change("ADD", "exclusive", 10, 14),)


def test_files_are_compared_region_by_region():
    one, two = (document(files=[{"path": "a.cc", "FLASH": flash, "RAM": 4}]) for flash in (10, 12))
    assert compare(one, two).files == (Change("a.cc", "FLASH", 10, 12),)


@pytest.mark.parametrize(
    ("field", "value", "place"),
    [
        ("region", "RAM", "RAM .text a.cc"), ("section", ".fast", "FLASH .fast a.cc"),
        ("file", "b.cc", "FLASH .text b.cc"), ("file", "", "FLASH .text"),
    ],
)  # fmt: skip
def test_a_symbol_that_lies_elsewhere_has_moved(field, value, place):
    there = symbol("f", 8, file="a.cc")
    moves = compare(document(there), document({**there, field: value})).moves
    assert moves == (MovedSymbol("f", "FLASH .text a.cc", place),)


@pytest.mark.parametrize(
    "other",
    [
        {"size": 9}, {"kind": "padding"}, {"copy": True}, {"kind": "label"}, {"name": "g"},
    ],
)  # fmt: skip
def test_another_symbol_has_not_moved(other):
    there = symbol("f", 8, file="a.cc")
    assert compare(document(there), document({**there, "section": ".fast", **other})).moves == ()


def test_of_several_of_one_name_none_has_moved():
    two = symbol("f", 8), symbol("f", 8, section=".fast")
    assert compare(document(*two), document(symbol("f", 8, section=".slow"))).moves == ()


def test_a_file_in_another_folder_is_the_same_by_its_last_three_names():
    def at(root: str, *, size: int = 5) -> dict[str, object]:
        path = f"{root}/lite/micro/a.cc"
        return document(symbol("f", size, file=path), files=[{"path": path, "FLASH": size}])

    assert compare(at("/old"), at("/new")).same
    found = compare(at("/old"), at("/new", size=6))
    assert found.files == (Change("/new/lite/micro/a.cc", "FLASH", 5, 6),)
    assert found.moves == ()


@pytest.mark.parametrize(
    ("old", "new"),
    [("/x/lite/a.cc", "/y/lite/a.cc"), ("/x/other/a.cc", "/y/lite/a.cc"), ("a.cc", "/y/a.cc")],
)
def test_a_file_is_the_same_by_a_folder_and_its_name_or_its_name_alone(old, new):
    one, two = (document(files=[{"path": path, "FLASH": 5}]) for path in (old, new))
    assert compare(one, two).same


def test_files_that_end_alike_are_matched_by_the_longest_ending():
    before = document(files=[{"path": "/o/p/a.cc", "FLASH": 1}, {"path": "/o/q/a.cc", "FLASH": 2}])
    after = document(files=[{"path": "/n/q/a.cc", "FLASH": 2}, {"path": "/n/p/a.cc", "FLASH": 1}])
    assert compare(before, after).same


def test_a_file_that_is_still_there_is_taken_for_no_other():
    before = document(files=[{"path": "/a/f.cc", "FLASH": 1}])
    after = document(files=[{"path": "/a/f.cc", "FLASH": 1}, {"path": "/b/f.cc", "FLASH": 2}])
    assert compare(before, after).files == (Change("/b/f.cc", "FLASH", 0, 2),)


def operators(*names: str, used: int = 0, ram: int = 0) -> dict[str, object]:
    regions = [
        {"name": "FLASH", "origin": 0, "used": used},
        {"name": "RAM", "origin": 0x2000_0000, "used": ram},
        {"name": "PERIPHERALS", "origin": 0x4000_0000, "used": used},
    ]
    return {"regions": regions, "operators": [{"operator": n, "exclusive": 7} for n in names]}


def test_new_and_vanished_operators_are_measured_outside_of_ram():
    there = compare(operators("A"), operators("A", "C", "B", used=100, ram=50)).swap
    assert there == Swap(("B", "C"), "appeared", 14, 200)
    back = compare(operators("A", "C", "B", used=100, ram=50), operators("A")).swap
    assert back == Swap(("B", "C"), "vanished", 14, 200)


@pytest.mark.parametrize("after", [("A",), ("B",), ("B", "C")])
def test_the_same_operators_or_others_are_not_a_swap(after):
    assert compare(operators("A"), operators(*after)).swap is None


@pytest.mark.parametrize(
    ("reached", "measured", "operators", "agrees"),
    [(0, 164, "A", True), (0, 165, "A", False), (0, -164, "A", True), (0, -165, "A", False),
     (1_000, 1_190, "A", True), (1_000, 1_200, "A", False), (1_190, 1_000, "A", True),
     (1_191, 1_000, "A", False), (0, 329, "AB", True), (0, 330, "AB", False)],
)  # fmt: skip
def test_a_swap_agrees_within_160_bytes_an_operator_and_three_percent(
    reached, measured, operators, agrees
):
    assert Swap(tuple(operators), "appeared", reached, measured).agrees is agrees


def test_a_swap_is_a_row_of_the_document():
    assert Swap(("A", "B"), "appeared", 14, 330).to_json() == {
        "operators": ("A", "B"), "verb": "appeared", "reached": 14, "measured": 330,
        "agrees": True,
    }  # fmt: skip


@pytest.mark.parametrize("part", ["files", "operators", "symbols", "moves"])
def test_any_change_makes_two_images_differ(part):
    none: dict[str, tuple[object, ...]] = {
        "regions": (), "files": (), "operators": (), "symbols": (), "moves": (),
    }  # fmt: skip
    assert SizeComparison("base", **none).same
    assert not SizeComparison("base", **{**none, part: (Change("a", "b", 1, 2),)}).same


def test_a_comparison_as_json_types():
    before = document(symbol("f", 8), elf="old.elf")
    after = document(symbol("f", 8, section=".fast"), symbol("g", 2))
    assert compare(before, after).to_json() == {
        "baseline": "old.elf", "regions": [], "files": [], "operators": [],
        "symbols": [Change("g", "FLASH", 0, 2).to_json()],
        "moves": [{"name": "f", "before": "FLASH .text", "after": "FLASH .fast"}], "swap": None,
    }  # fmt: skip
    swap = compare(operators("A"), operators("A", "B")).to_json()["swap"]
    assert swap["operators"] == ("B",)


def test_a_broken_baseline_has_a_hint(tmp_path):
    path = tmp_path / "base.json"
    for text, words in (
        ("{", "neither an ELF nor JSON"),
        ('{"cases": []}', "it has no regions"),
        (json.dumps({"regions": [{"name": "FLASH"}]}), "KeyError"),
    ):
        path.write_text(text)
        with pytest.raises(UsageError, match=words) as refused:
            load_baseline(path)
        assert refused.value.hint.startswith("pass an ELF, or a file of `tflm-hil footprint ELF")
