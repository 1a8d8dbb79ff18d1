from __future__ import annotations

import json
from pathlib import Path

import pytest

from harness import footprint
from harness.base.errors import UsageError
from harness.elf import Image
from harness.footprint.compare import compare, load_baseline
from harness.footprint.text import VIEWS, comparison_tables, pull_request, table


def test_an_image_is_the_same_as_itself(little: Image) -> None:
    document = footprint.analyse(little).to_json()
    assert compare(document, document).same


def test_vanished_new_and_grown_names_are_listed(little: Image, only_conv: Image) -> None:
    found = compare(footprint.analyse(little).to_json(), footprint.analyse(only_conv).to_json())
    verbs = {c.name: c.verb for c in found.symbols}
    assert verbs["tflite::Register_SOFTMAX()"] == "vanished"
    assert {c.name: c.verb for c in found.operators}["SOFTMAX"] == "vanished"
    flash = found.regions[0]
    symbols = sum(c.difference for c in found.symbols if c.region == "FLASH")
    assert flash.difference == symbols < 0
    assert not found.same


def test_shared_bytes_become_exclusive_when_the_partner_goes(
    little: Image, only_conv: Image
) -> None:
    found = compare(footprint.analyse(little).to_json(), footprint.analyse(only_conv).to_json())
    conv = next(c for c in found.operators if c.name == "CONV_2D")
    shared = little.symbol("_ZN6tflite6SharedEi")
    assert shared is not None and conv.difference >= shared.size


def test_a_symbol_in_another_file_has_moved(little: Image) -> None:
    before = footprint.analyse(little).to_json()
    after = json.loads(json.dumps(before))
    for row in after["symbols"]:
        if row["name"] == "setup":
            row["file"] = "/elsewhere/setup.cc"
    assert [move.name for move in compare(before, after).moves] == ["setup"]


def test_a_baseline_is_an_elf_or_its_json(little: Image, tmp_path: Path) -> None:
    document = footprint.analyse(little).to_json()
    saved = tmp_path / "base.json"
    saved.write_text(json.dumps(document))
    assert compare(load_baseline(saved), load_baseline(little.path)).same


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"regions": 5}', '{"regions": [1]}'])
def test_a_file_that_is_not_a_footprint_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "base.json"
    path.write_text(text)
    with pytest.raises(UsageError):
        load_baseline(path)


def test_every_view_has_rows_and_a_limit_counts_the_rest(mapped: Image) -> None:
    found = footprint.analyse(mapped)
    for view in VIEWS:
        heads, numbers, rows = table(found, view)
        assert rows, view
        assert all(len(row) == len(heads) for row in rows)
        assert max(numbers) >= 1
    assert "more" in table(found, "symbol", limit=3)[2][-1][0]


def test_the_pull_request_names_the_changes(little: Image, only_conv: Image) -> None:
    before, after = footprint.analyse(only_conv), footprint.analyse(little)
    found = compare(before.to_json(), after.to_json())
    text = pull_request(after, found, ())
    assert "| SOFTMAX |" in text and "appeared" in text
    for _, rows in comparison_tables(found):
        lines = rows.markdown().splitlines()
        assert len({line.replace("\\|", "").count("|") for line in lines}) == 1


def test_functions_of_one_name_in_several_files_are_distinct(little: Image) -> None:
    def document(**sizes: int) -> dict[str, object]:
        rows = [
            {"name": "tflite::Prepare()", "file": f"kernels/{file}.cc", "region": "FLASH",
             "kind": "function", "section": "text", "size": size}
            for file, size in sizes.items()
        ]  # fmt: skip
        return {"regions": [], "symbols": rows}

    found = compare(document(add=10, conv=30), document(add=14, conv=20, pad=7))
    assert [(c.name, c.difference) for c in found.symbols] == [
        ("tflite::Prepare() (conv.cc)", -10), ("tflite::Prepare() (pad.cc)", 7),
        ("tflite::Prepare() (add.cc)", 4),
    ]  # fmt: skip


def test_operators_that_appeared_are_held_against_the_images_growth(
    little: Image, only_conv: Image
) -> None:
    one, two = (footprint.analyse(image).to_json() for image in (only_conv, little))
    there, back = compare(one, two).swap, compare(two, one).swap
    assert there is not None and back is not None
    assert (there.operators, there.verb, back.verb) == (("SOFTMAX",), "appeared", "vanished")
    softmax = next(row for row in two["operators"] if row["operator"] == "SOFTMAX")
    assert there.reached == back.reached == softmax["exclusive"]
    assert there.measured == two["regions"][0]["used"] - one["regions"][0]["used"]
    assert there.agrees and abs(there.measured - there.reached) < 160


def test_bytes_that_only_the_new_operators_share_are_counted_once() -> None:
    def row(name: str, exclusive: int, *shares: tuple[tuple[str, ...], int]) -> dict[str, object]:
        groups = [{"operators": list(names), "bytes": size} for names, size in shares]
        return {"operator": name, "exclusive": exclusive, "shared_with": groups}

    pair, all_three = (("A", "B"), 50), (("A", "B", "C"), 7)
    after = {"regions": [{"name": "FLASH", "origin": 0, "used": 1_000}],
             "operators": [row("A", 10, pair, all_three), row("B", 20, pair, all_three),
                           row("C", 30, all_three)]}  # fmt: skip
    before = {"regions": [{"name": "FLASH", "origin": 0, "used": 915}], "operators": [row("C", 37)]}
    swap = compare(before, after).swap
    assert swap is not None
    assert (swap.operators, swap.reached, swap.measured) == (("A", "B"), 80, 85)


def test_operators_that_were_exchanged_for_others_are_not_a_swap() -> None:
    one, two = ({"regions": [], "operators": [{"operator": name, "exclusive": 1}]} for name in "AB")
    assert compare(one, two).swap is None


def test_the_same_image_of_another_checkout_is_the_same(little: Image) -> None:
    document = footprint.analyse(little).to_json()
    text = json.dumps(document)
    folder = str(little.path.parent)
    assert folder in text
    elsewhere = json.loads(text.replace(folder, "/somewhere/else"))
    assert compare(elsewhere, document).same


def test_files_of_one_name_in_several_folders_are_not_taken_for_one_another() -> None:
    before = {"regions": [], "files": [{"path": "/a/x/f.cc", "FLASH": 1}, {"path": "/b/x/f.cc",
                                                                          "FLASH": 2}]}  # fmt: skip
    after = {"regions": [], "files": [{"path": "/c/x/f.cc", "FLASH": 3}]}
    verbs = {change.name: change.verb for change in compare(before, after).files}
    assert verbs == {"/a/x/f.cc": "vanished", "/b/x/f.cc": "vanished", "/c/x/f.cc": "appeared"}
