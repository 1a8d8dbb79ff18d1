"""Limits as they are written, and what is said of each."""

from __future__ import annotations

import pytest

from harness.base.errors import UsageError
from harness.footprint.budget import (
    Budget,
    BudgetVerdict,
    check,
    from_table,
    is_region,
    load,
    measured,
    parse_limit,
)


@pytest.mark.parametrize(
    ("text", "limit"),
    [(0, 0), (60_000, 60_000), ("60000", 60_000), ("60_000 B", 60_000), ("58 KiB", 58 * 1024),
     ("58 KB", 58 * 1024), ("1.5 MiB", 3 << 19), ("2 MB", 2 << 20), ("3 k", 3_000),
     ("3 M", 3_000_000), (" 7B ", 7)],
)  # fmt: skip
def test_a_limit_of_bytes_has_a_unit(text, limit):
    assert parse_limit("region", "flash", text) == Budget("region", "flash", limit)


@pytest.mark.parametrize(
    ("text", "step", "percent"),
    [("+0", 0, None), ("+512", 512, None), ("+ 2 KiB", 2048, None), ("+1.5 %", 0, 1.5),
     ("+1_000 %", 0, 1000.0)],
)  # fmt: skip
def test_a_step_is_in_bytes_or_percent(text, step, percent):
    found = parse_limit("region", "flash", text)
    assert found == Budget("region", "flash", step, relative=True, percent=percent)


def test_text_that_is_not_a_limit_has_a_hint_with_the_form():
    with pytest.raises(
        UsageError, match="the budget of flash is 'much', which is not a limit"
    ) as no:
        parse_limit("region", "flash", "much")
    assert no.value.hint.startswith("write bytes (60000,")


def limit_of(text: object, baseline: int | None) -> int | None:
    return parse_limit("region", "flash", text).limit(baseline)


def test_a_step_begins_at_the_baseline():
    assert [limit_of(text, 1_000) for text in (70, "+5", "+1.59 %", "+0")] == [
        70, 1_005, 1_015, 1_000,
    ]  # fmt: skip
    assert [limit_of(text, None) for text in (70, "+5", "+1 %")] == [70, None, None]


def test_a_table_holds_regions_and_tables_of_operators_and_files():
    table = {"flash": 1, "operators": {"ADD": "+2"}, "files": {"a/b": 3}, "arena": 4}
    assert from_table(table) == (
        Budget("region", "flash", 1), Budget("operator", "ADD", 2, relative=True),
        Budget("file", "a/b", 3), Budget("region", "arena", 4),
    )  # fmt: skip
    assert from_table({"resets": 4}, {"resets": ""}) == (Budget("figure", "resets", 4, unit=""),)
    assert from_table({"arena": 4, "ram": 5}, {"arena": "words"}) == (
        Budget("figure", "arena", 4, unit="words"), Budget("region", "ram", 5),
    )  # fmt: skip


def test_a_broken_limit_of_a_file_names_the_file(tmp_path):
    path = tmp_path / "budget.toml"
    path.write_text('flash = "much"\n')
    with pytest.raises(UsageError, match=r"budget\.toml: the budget of flash") as refused:
        load(path)
    assert refused.value.hint.startswith("write bytes")
    path.write_text("[defaults]\n")
    with pytest.raises(UsageError, match="is a case file, not a budget file") as refused:
        load(path)
    assert refused.value.hint == f"tflm-hil run {path}"
    path.write_text("")
    with pytest.raises(UsageError, match="has no budget") as refused:
        load(path)
    assert refused.value.hint == "for example: flash = 60000"


DOCUMENT = {
    "regions": [{"name": "FLASH", "origin": 0, "used": 5_000},
                {"name": "LOW", "origin": 0x1FFF_FFFF, "used": 1},
                {"name": "RAM", "origin": 0x2000_0000, "used": 700},
                {"name": "HIGH", "origin": 0x3FFF_FFFF, "used": 2},
                {"name": "MMIO", "origin": 0x4000_0000, "used": 3}],
    "operators": [{"operator": "ADD", "exclusive": 40}, {"operator": "ADD", "exclusive": 2}],
    "files": [{"path": "/w/a.cc", "FLASH": 1, "LOW": 10, "RAM": 100, "HIGH": 1_000,
               "MMIO": 10_000}],
    "figures": {"arena": 2_000, "stack": None, "instructions": 3_000},
}  # fmt: skip


def one(kind: str, name: str, limit: object, baseline=None, unit: str = "B") -> BudgetVerdict:
    (verdict,) = check([parse_limit(kind, name, limit, unit)], DOCUMENT, baseline)
    return verdict


@pytest.mark.parametrize(
    ("kind", "name", "used"),
    [("region", "flash", 5_000), ("region", "rom", None), ("region", "sram", None),
     ("operator", "ADD", 42), ("file", "a.cc", 10_011), ("file", "w", 10_011),
     ("file", "/w/a.cc/", 10_011), ("file", "b.cc", None), ("file", ".cc", None),
     ("figure", "arena", 2_000), ("figure", "stack", None), ("figure", "wall", None)],
)  # fmt: skip
def test_the_limited_figure_is_found_in_the_document(kind, name, used):
    assert measured(Budget(kind, name, 1), DOCUMENT) == used


def test_a_document_without_such_parts_has_no_such_figure():
    bare = {"regions": []}
    for kind in ("region", "operator", "file", "figure"):
        assert measured(Budget(kind, "x", 1), bare) is None


@pytest.mark.parametrize(
    ("name", "region", "same"),
    [("ram", "SRAM", True), ("ram", "RAM", True), ("RAM", "sram", True), ("flash", "ROM", True),
     ("flash", "FLASH", True), ("flash", "RAM", False), ("sram", "SRAM", True),
     ("sram", "RAM", False), ("ccm", "CCM", True)],
)  # fmt: skip
def test_a_region_goes_by_its_usual_names(name, region, same):
    assert is_region(name, region) is same


def test_a_verdict_states_the_excess_or_that_it_is_within():
    assert one("region", "flash", 4_990) == BudgetVerdict(
        "flash", "region", 5_000, 4_990, None, False,
        "flash: 5,000 B, 10 B over its budget of 4,990 B",
    )  # fmt: skip
    assert one("region", "flash", 5_000).message == ("flash: 5,000 B, within its budget of 5,000 B")
    before = {"regions": [{"name": "FLASH", "origin": 0, "used": 4_900}]}
    assert one("region", "flash", "+50", before) == BudgetVerdict(
        "flash", "region", 5_000, 4_950, 4_900, False,
        "flash: 5,000 B, 50 B over its budget of 4,950 B (baseline 4,900 B)",
    )  # fmt: skip
    assert "(baseline" not in one("region", "flash", 5_000, before).message


def test_instructions_are_those_of_one_inference():
    assert one("figure", "instructions", 2_999, unit="instructions").message == (
        "one inference: 3,000 instructions, 1 instructions over its budget of 2,999 instructions"
    )
    assert one("figure", "arena", 1_999, unit="").message == (
        "arena: 2,000, 1 over its budget of 1,999"
    )
    assert one("figure", "arena", 2_000).message == "arena: 2,000 B, within its budget of 2,000 B"
    assert Budget("region", "instructions", 1).unit == "B"


@pytest.mark.parametrize(
    ("kind", "name", "words"),
    [("region", "ccm", "ccm: the image has no such region"),
     ("file", "b.cc", "b.cc: the image has no such file"),
     ("figure", "stack", "stack: the budget cannot be checked: it was not measured")],
)  # fmt: skip
def test_a_budget_that_cannot_be_checked_has_not_passed(kind, name, words):
    found = one(kind, name, 5)
    assert found == BudgetVerdict(name, kind, None, 5, None, False, words)
    assert found.to_json()["message"] == words


def test_a_step_without_its_baseline_names_the_missing_part():
    assert one("region", "flash", "+5").message == (
        "flash: the budget is a step from a baseline, and there is none (--baseline)"
    )
    lacking = one("region", "flash", "+5", {"regions": []})
    assert lacking.message.endswith("and it lacks this figure")
    assert (lacking.used, lacking.limit, lacking.passed) == (5_000, None, False)


def test_a_name_that_a_complete_baseline_lacks_began_at_zero():
    before = {"regions": [], "operators": [], "files": []}
    assert one("operator", "ADD", "+41", before).message == (
        "ADD: 42 B, 1 B over its budget of 41 B (baseline 0 B)"
    )
    assert one("file", "a.cc", "+10_011", before).passed
    assert not one("operator", "ADD", "+99", {"regions": [], "files": []}).passed
    assert not one("file", "a.cc", "+99999", {"regions": [], "operators": []}).passed


@pytest.mark.parametrize("symbols", [None, [{"kind": "object"}, {"kind": "function"}]])
def test_an_operator_is_absent_where_the_image_shows_its_functions(symbols):
    document = {"regions": [], "operators": []}
    if symbols is not None:
        document["symbols"] = symbols
    with pytest.raises(UsageError, match="no operator MUL"):
        check([parse_limit("operator", "MUL", 0)], document, None)


@pytest.mark.parametrize("symbols", [[{"kind": "object"}], []])
def test_an_operator_of_a_stripped_image_is_not_measured(symbols):
    (verdict,) = check(
        [parse_limit("operator", "MUL", 9)],
        {"regions": [], "operators": [], "symbols": symbols},
        None,
    )
    assert verdict.message == "MUL: the budget cannot be checked: the image has no symbols"
    assert (verdict.used, verdict.passed) == (None, False)
