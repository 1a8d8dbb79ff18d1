"""Tables for people: the figures of the footprint, each in its column."""

from __future__ import annotations

from harness import footprint
from harness.elf import Image
from harness.footprint.text import comparison_tables, table


def test_a_region_shows_its_place_use_and_share(little: Image):
    found = footprint.analyse(little)
    heads, numeric, cells = table(found, "region")
    assert (heads, numeric) == (["region", "origin", "used B", "size B", "%"], {2, 3, 4})
    flash = found.region("FLASH")
    shares = {row[0]: row[1:] for row in cells}
    share = f"{100 * flash.used / flash.size:.2f}"
    assert shares["FLASH"] == [
        f"0x{flash.origin:08x}", f"{flash.used:,}", f"{flash.size:,}", share
    ]  # fmt: skip


def test_files_share_the_whole_region_among_them(little: Image):
    found = footprint.analyse(little)
    _, _, cells = table(found, "file", region="FLASH", limit=0)
    top = [row for row in cells if not row[0].startswith(" ")]
    assert sum(int(row[1].replace(",", "")) for row in top) == found.region("FLASH").used
    assert abs(sum(float(row[2]) for row in top) - 100) < 0.1


def test_operators_end_with_the_rest(little: Image):
    found = footprint.analyse(little)
    _, numeric, cells = table(found, "operator")
    together, rest, unreached = (row[3] for row in cells[-3:])
    report = found.operators
    assert numeric == {1, 2, 3, 4}
    expected = (report.together, report.rest, report.unreached)
    assert (together, rest, unreached) == tuple(f"{size:,}" if size else "-" for size in expected)


def test_a_comparison_counts_the_rows_that_it_leaves_out(little: Image, only_conv: Image):
    before, after = (footprint.analyse(one).to_json() for one in (only_conv, little))
    found = footprint.compare.compare(before, after)
    tables = dict(comparison_tables(found, limit=2))
    rows = tables["Symbols"][2]
    assert len(rows) == 3
    assert rows[-1][0] == f"... and {len([c for c in found.symbols if c.difference]) - 2} more"
    assert len(dict(comparison_tables(found, limit=len(found.symbols)))["Symbols"][2]) == len(
        [c for c in found.symbols if c.difference]
    )
