"""Tables and reports of a footprint of few rows, cell by cell."""

from __future__ import annotations

from pathlib import Path

import pytest
from rich.console import Console

from harness.base.errors import UsageError
from harness.base.grid import Grid
from harness.footprint.analysis import Footprint, SectionCost, SymbolCost
from harness.footprint.budget import BudgetVerdict
from harness.footprint.compare import Change, MovedSymbol, SizeComparison, Swap
from harness.footprint.files import FileCost
from harness.footprint.operators import OperatorCost, OperatorReport, SharedSymbol
from harness.footprint.ram import RamObject
from harness.footprint.regions import Region
from harness.footprint.text import (
    comparison_tables,
    pull_request,
    show,
    table,
)
from harness.footprint.tree import MOST_FOLDERS, grow, walk


def symbol(name: str, size: int, region: str = "FLASH", *, copy: bool = False) -> SymbolCost:
    return SymbolCost(name, name, "object", region, ".x", 0, size, copy, "", ())


def operator(name: str, exclusive: int, *partners: str, custom: bool = False) -> OperatorCost:
    shares = (SharedSymbol((name, *partners), 30), SharedSymbol((name, "Z"), 3)) if partners else ()
    return OperatorCost(name, custom, exclusive, 33 if partners else 0, 4, shares, (), ())


FOUND = Footprint(
    path=Path("/w/own.elf"),
    regions=(Region("FLASH", 0, 4_000, 2_000), Region("RAM", 0x2000_0000, 1_000, 50),
             Region("IDT", 0x3000_0000, 0, 0)),
    sections=(SectionCost(".text", "FLASH", 0x10, 1_990), SectionCost(".bss", "RAM", 0x20, 50)),
    symbols=(symbol("small", 5), symbol("b", 1_500), symbol("a", 1_500),
             symbol("data", 8, "RAM"), symbol("data", 8, copy=True)),
    files=(FileCost("/w/src/a.cc", {"FLASH": 1_500, "RAM": 50}),
           FileCost("/w/src/b.cc", {"FLASH": 500})),
    libraries=(FileCost("lib.a", {"FLASH": 1_900}), FileCost("none.o", {"RAM": 0})),
    operators=OperatorReport(
        (operator("ADD", 10), operator("CONV_2D", 1_200, "A", "B", "C", "D"),
         operator("Own", 20, "A", custom=True)), 1_263, 700, 0,
    ),
    ram=(RamObject("arena", "tensor_arena", 0x2000_0000, 2_048, 1_000, 900, 1_148, "fine"),
         RamObject("stack", "main", 0x2000_1000, 512)),
    notes=("a | b\nc",),
)  # fmt: skip


def test_a_region_can_be_chosen():
    assert table(FOUND, "region")[2] == [
        ["FLASH", "0x00000000", "2,000", "4,000", "50.00"],
        ["RAM", "0x20000000", "50", "1,000", "5.00"],
        ["IDT", "0x30000000", "0", "0", "0.00"],
    ]
    assert [row[0] for row in table(FOUND, "region", region="RAM")[2]] == ["RAM"]
    assert FOUND.region("RAM").used == 50
    with pytest.raises(UsageError, match="own.elf has no region 'ram'".replace(".", r"\.")) as told:
        FOUND.region("ram")
    assert told.value.hint == "one of FLASH, RAM, IDT"


def test_sections_are_listed_with_their_region_and_place():
    heads, numbers, rows = table(FOUND, "section")
    assert (heads, numbers) == (["region", "section", "address", "B"], {3})
    assert rows == [["FLASH", ".text", "0x00000010", "1,990"], ["RAM", ".bss", "0x00000020", "50"]]
    assert table(FOUND, "section", region="RAM")[2] == rows[1:]


def test_files_are_a_tree_of_the_first_or_the_chosen_region():
    heads, numbers, rows = table(FOUND, "file")
    assert (heads, numbers) == (["source (FLASH)", "B", "%"], {1, 2})
    assert rows == [["/w/src", "2,000", "100.00"], ["  a.cc", "1,500", "75.00"],
                    ["  b.cc", "500", "25.00"]]  # fmt: skip
    heads, _, rows = table(FOUND, "file", region="RAM")
    assert (heads[0], rows) == ("source (RAM)", [["/w/src", "50", "100.00"],
                                                 ["  a.cc", "50", "100.00"]])  # fmt: skip


def test_symbols_stand_by_their_size_and_then_their_name():
    heads, numbers, rows = table(FOUND, "symbol")
    assert (heads, numbers) == (["region", "B", "kind", "symbol"], {1})
    assert [row[3] for row in rows] == ["a", "b", "data", "data", "small"]
    assert {row[0]: row[2] for row in rows if row[3] == "data"} == {
        "RAM": "object", "FLASH": "object (stored copy)",
    }  # fmt: skip
    assert [row[3] for row in table(FOUND, "symbol", region="RAM")[2]] == ["data"]


def test_operators_stand_by_their_own_bytes_with_whom_they_share_most():
    _, numbers, rows = table(FOUND, "operator")
    assert numbers == {1, 2, 3, 4}
    assert rows == [
        ["CONV_2D", "1,200", "33", "1,233", "4", "A, B, C and 1 more"],
        ["Own (custom)", "20", "33", "53", "4", "A"],
        ["ADD", "10", "0", "10", "4", ""],
        ["all of them together", "", "", "1,263", "", ""],
        ["interpreter, application, system", "", "", "700", "", ""],
        ["reached by nothing that could be followed", "", "", "0", "", ""],
    ]


def test_libraries_have_a_column_for_each_region_that_is_used():
    heads, numbers, rows = table(FOUND, "library")
    assert heads == ["library", "FLASH B", "RAM B"]
    assert numbers == set(range(1, 9))
    assert rows == [["lib.a", "1,900", "0"]]
    assert table(FOUND, "library", region="FLASH")[0] == ["library", "FLASH B"]


def test_ram_is_listed_by_purpose_with_its_known_figures():
    _, numbers, rows = table(FOUND, "ram")
    assert numbers == {3, 4, 5, 6}
    assert rows == [
        ["arena", "tensor_arena", "0x20000000", "2,048", "1,000", "900", "1,148", "fine"],
        ["stack", "main", "0x20001000", "512", "", "", "", ""],
    ]


@pytest.mark.parametrize(("limit", "last"), [(0, "small"), (5, "small"), (4, "")])
def test_a_limit_cuts_a_table_with_a_note(limit, last):
    rows = table(FOUND, "symbol", limit=limit)[2]
    assert rows[-1][-1] == last
    assert len(rows) == 5
    if not last:
        assert rows[-1] == ["... and 1 more (--all)", "", "", ""]


SMALL = Grid(["name", "B"], frozenset({1}), [["a|b", "5"], ["<c>", "1,000"]])


def test_a_table_as_markdown_aligns_numbers_and_escapes_cells():
    assert SMALL.markdown().splitlines() == [
        "| name | B |", "|---|---:|", "| a\\|b | 5 |", "| &lt;c> | 1,000 |",
    ]  # fmt: skip


def test_a_table_as_text_aligns_numbers_to_the_right():
    assert SMALL.plain().splitlines() == ["name      B", "a|b       5", "<c>   1,000"]


def test_a_table_on_a_terminal_shows_markup_as_text():
    console = Console(width=40, record=True, file=None, quiet=False, force_terminal=False)
    with console.capture() as drawn:
        show(console, "Title", Grid(["name", "B"], frozenset({1}), [["[red]x", "5"]]))
    lines = [line.rstrip() for line in drawn.get().splitlines()]
    assert lines == ["Title", "name    B", "[red]x  5"]


CHANGED = SizeComparison(
    "old.elf",
    (Change("FLASH", "FLASH", 10, 10),), (Change("a.cc", "FLASH", 4, 6),),
    (Change("ADD", "exclusive", 0, 7),),
    tuple(Change(f"f{n}", "FLASH", 0, 9 - n) for n in range(3)),
    tuple(MovedSymbol(f"m{n}", "here", "there") for n in range(3)),
    Swap(("ADD", "MUL"), "appeared", 1_000, 1_100),
)  # fmt: skip


def test_a_comparison_has_a_table_for_all_that_changed():
    found = dict(comparison_tables(CHANGED, limit=2))
    assert list(found) == ["Regions", "Operators against the images' flash",
                           "Operators (exclusive bytes)", "Files", "Symbols", "Moved"]  # fmt: skip
    assert found["Regions"][2] == [["FLASH", "FLASH", "10", "10", "+0", "the same"]]
    assert found["Files"][2] == [["a.cc", "FLASH", "4", "6", "+2", "grew"]]
    assert found["Files"][1] == {2, 3, 4}
    heads, numbers, rows = found["Operators against the images' flash"]
    assert heads == ["operators", "", "reached B", "measured B", "difference", ""]
    assert numbers == {2, 3, 4}
    assert rows == [["ADD, MUL", "appeared", "1,000", "1,100", "+100", "within the bound"]]
    assert found["Symbols"][2][-1] == ["... and 1 more", "", "", "", "", ""]
    assert len(found["Symbols"][2]) == 3
    assert found["Moved"] == (["symbol", "from", "to"], frozenset(),
                              [["m0", "here", "there"], ["m1", "here", "there"]])  # fmt: skip


def test_images_that_are_the_same_have_a_table_of_regions_alone():
    same = SizeComparison("old.elf", (Change("FLASH", "FLASH", 10, 10),), (), (), (), ())
    assert [title for title, _ in comparison_tables(same)] == ["Regions"]


def test_of_files_those_that_changed_are_shown_alone():
    files = (Change("a.cc", "FLASH", 4, 4), Change("b.cc", "FLASH", 4, 5))
    found = dict(comparison_tables(SizeComparison("o", (), files, (), (), ())))
    assert [row[0] for row in found["Files"][2]] == ["b.cc"]


def test_a_swap_beyond_the_bound_is_marked():
    far = SizeComparison("o", (), (), (), (), (), Swap(("ADD",), "vanished", 0, 500))
    assert comparison_tables(far)[1][1][2][0][-1] == "beyond the bound"


def test_a_pull_request_shows_thirty_changed_rows():
    many = tuple(Change(f"f{n}", "FLASH", 0, 1) for n in range(31))
    found = dict(comparison_tables(SizeComparison("o", (), (), (), many, ())))
    assert len(found["Symbols"][2]) == 31
    assert found["Symbols"][2][-1][0] == "... and 1 more"


def test_a_pull_request_has_budgets_changes_operators_and_notes():
    over = BudgetVerdict("flash", "region", 9, 5, None, False, "flash: 9 B, 4 B over")
    within = BudgetVerdict("ram", "region", 1, 5, None, True, "ram: 1 B | within")
    text = pull_request(FOUND, CHANGED, (over, within))
    assert text.startswith("### Footprint of `own.elf`\n\n| region |")
    assert "\n**Budgets**\n\n- **over**: flash: 9 B, 4 B over\n- ok: ram: 1 B \\| within\n" in text
    assert "\n**Files**\n\n| name | in |" in text
    assert "\n**Operators**\n\n| operator |" in text
    assert text.endswith("\n\n> a \\| b c\n")
    bare = pull_request(FOUND, None, ())
    assert "Budgets" not in bare and "Files" not in bare


# --- the tree


def leaves(*paths: str) -> list[tuple[int, str, int]]:
    tree = grow([FileCost(path, {"FLASH": size}) for size, path in enumerate(paths, 1)])
    return [(depth, node.name, node.sizes["FLASH"]) for depth, node in walk(tree, "FLASH")]


def test_chains_of_folders_are_one_node_and_the_largest_stands_first():
    assert leaves("/a/b/c/x.cc", "/a/b/d/y.cc", "/a/b/d/z.cc") == [
        (0, "/a/b", 6), (1, "d", 5), (2, "z.cc", 3), (2, "y.cc", 2), (1, "c/x.cc", 1),
    ]  # fmt: skip


def test_a_relative_path_is_not_absolute_and_a_word_in_brackets_is_not_a_path():
    assert leaves("a/x.cc", "/a/x.cc", "(no debug/information)", "/") == [
        (0, "(no debug/information)", 3), (0, "/a/x.cc", 2), (0, "a/x.cc", 1),
    ]  # fmt: skip


def test_a_path_of_very_many_folders_is_cut_to_a_tree_that_can_be_walked():
    paths = ["/".join(["d"] * depth) + "/x.c" for depth in range(1, 1_500)]
    assert max(depth for depth, _, _ in leaves(*paths)) < MOST_FOLDERS


def test_equal_nodes_stand_by_their_names_and_empty_ones_not_at_all():
    tree = grow([FileCost(name, {"FLASH": 1}) for name in ("b", "a")] + [FileCost("c", {"RAM": 1})])
    assert [node.name for _, node in walk(tree, "FLASH")] == ["a", "b"]
    assert tree.sizes == {"FLASH": 2, "RAM": 1}
