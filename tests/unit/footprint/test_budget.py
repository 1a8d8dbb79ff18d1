from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.base.errors import HilError, UsageError
from harness.footprint.budget import check, load, parse_limit

_DOCUMENT = {
    "regions": [{"name": "FLASH", "origin": 0, "size": 1 << 20, "used": 50_000},
                {"name": "SRAM", "origin": 0x2000_0000, "size": 1 << 16, "used": 7_000}],
    "operators": [{"operator": "CONV_2D", "exclusive": 4_000}],
    "files": [{"path": "/w/tensorflow/lite/micro/a.cc", "FLASH": 300, "SRAM": 8},
              {"path": "/w/tensorflow/lite/b.cc", "FLASH": 100}],
}  # fmt: skip
_GROWN = {
    **_DOCUMENT,
    "regions": [{**_DOCUMENT["regions"][0], "used": 50_600}, _DOCUMENT["regions"][1]],
}


@pytest.mark.parametrize(
    ("limit", "passed"),
    [(50_600, True), (50_599, False), ("+600", True), ("+599", False), ("+1.2 %", True),
     ("+1.1 %", False), ("49.5 KiB", True), ("+0", False)],
)  # fmt: skip
def test_a_region_is_held_against_its_limit(limit: object, passed: bool) -> None:
    (verdict,) = check([parse_limit("region", "flash", limit)], _GROWN, _DOCUMENT)
    assert verdict.passed is passed
    assert verdict.used == 50_600


def test_ram_is_whatever_the_linker_calls_it() -> None:
    (verdict,) = check([parse_limit("region", "ram", 7_000)], _DOCUMENT, None)
    assert verdict.passed and verdict.used == 7_000


def test_a_folder_is_the_sum_of_its_files_in_flash() -> None:
    budgets = [parse_limit("file", "tensorflow/lite", 399), parse_limit("file", "lite/micro", 300)]
    assert [v.used for v in check(budgets, _DOCUMENT, None)] == [400, 300]
    assert [v.passed for v in check(budgets, _DOCUMENT, None)] == [False, True]


@pytest.mark.parametrize("name", ["ADD", "CONV2D", "Atan"])
@pytest.mark.parametrize("limit", [5_000, 0, "+0"])
def test_a_budget_of_an_operator_that_is_not_there_is_refused(name: str, limit: object) -> None:
    before = {**_DOCUMENT, "operators": [{"operator": "Atan", "exclusive": 10}]}
    with pytest.raises(UsageError, match=f"the image has no operator {name}") as refused:
        check([parse_limit("operator", name, limit)], _DOCUMENT, before)
    assert "CONV_2D" in refused.value.hint


def test_an_image_without_operators_keeps_no_budget_of_one() -> None:
    without = {**_DOCUMENT, "operators": [], "symbols": [{"kind": "function"}]}
    with pytest.raises(UsageError, match="the image has no operator CONV_2D") as refused:
        check([parse_limit("operator", "CONV_2D", 5_000)], without, None)
    assert "no operator of tflite-micro" in refused.value.hint


def test_a_step_without_a_baseline_has_not_passed() -> None:
    (verdict,) = check([parse_limit("region", "flash", "+10")], _DOCUMENT, None)
    assert not verdict.passed and "baseline" in verdict.message


def test_an_unknown_region_has_not_passed() -> None:
    (verdict,) = check([parse_limit("region", "ccm", 10)], _DOCUMENT, None)
    assert not verdict.passed and verdict.used is None


@pytest.mark.parametrize("value", ["many", "5 %", "-3", -3, True, 1.5, None, [], "+", ""])
def test_text_that_is_not_a_limit_is_refused(value: object) -> None:
    with pytest.raises(UsageError, match="not a limit"):
        parse_limit("region", "flash", value)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "no budget"),
        ("flash = [", "not TOML"),
        ("[colours]\nred = 1", r"\[colours\]"),
        ('[[case]]\nname = "mine"', "a case file"),
    ],
)
def test_a_broken_budget_file_is_refused(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "budget.toml"
    path.write_text(text)
    with pytest.raises(UsageError, match=words):
        load(path)


@given(st.binary(max_size=200))
def test_any_file_gives_budgets_or_a_usage_error(
    tmp_path_factory: pytest.TempPathFactory, data: bytes
) -> None:
    path = tmp_path_factory.mktemp("budget") / "b.toml"
    path.write_bytes(data)
    try:
        assert load(path)
    except HilError as error:
        assert str(path) in str(error) or "budget" in str(error)


def test_a_stripped_image_does_not_keep_an_operators_budget() -> None:
    stripped = {**_DOCUMENT, "operators": [], "symbols": [{"kind": "unnamed"}]}
    (verdict,) = check([parse_limit("operator", "CONV_2D", 5_000)], stripped, None)
    assert not verdict.passed and "the image has no symbols" in verdict.message
