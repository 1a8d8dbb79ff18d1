"""Budgets of cases: steps from a baseline, and what grew since."""

from __future__ import annotations

import json
from pathlib import Path

import needs
import pytest
from elf_writer import MadeSection, MadeSymbol, write_elf
from little_tflm import compile_little

from harness import footprint
from harness.base import paths
from harness.base.errors import UsageError
from harness.case import Case, load_cases
from harness.case.budgets import check_budgets
from harness.case.measure import Measures
from harness.elf import Image

ONE = "resolver.AddConv2D();"
TWO = "resolver.AddConv2D(); resolver.AddSoftmax();"
MEASURED = Measures(arena_used=2_000, instructions=101_000)


@pytest.fixture(scope="module")
def images(tmp_path_factory: pytest.TempPathFactory) -> tuple[Image, Image]:
    """An image with one operator and one with two."""
    needs.require("arm-none-eabi-gcc")
    paths = (compile_little(tmp_path_factory.mktemp("b"), register=text) for text in (ONE, TWO))
    one, two = (Image.from_elf(path) for path in paths)
    return one, two


def case(folder: Path, budgets: str, baseline: str = "") -> Case:
    (folder / "z.elf").touch()
    named = f'baseline = "{baseline}"\n' if baseline else ""
    text = f'[[case]]\nname = "mine"\nelf = "z.elf"\n{named}budgets = {{ {budgets} }}\n'
    (folder / "hil.toml").write_text(text)
    (found,) = load_cases(folder / "hil.toml")
    return found


def used(firmware: Image) -> int:
    return footprint.regions(firmware)[0].used


def test_without_budgets_nothing_is_analysed(images, tmp_path) -> None:
    assert not check_budgets(case(tmp_path, ""), images[0], Measures()).problems


def test_an_absolute_limit_holds_to_the_byte(images, tmp_path) -> None:
    flash = used(images[0])
    assert not check_budgets(case(tmp_path, f"flash = {flash}"), images[0], Measures()).problems
    over = check_budgets(case(tmp_path, f"flash = {flash - 1}"), images[0], Measures())
    assert over.problems == (f"flash: {flash:,} B, 1 B over its budget of {flash - 1:,} B",)


@pytest.mark.parametrize("form", ["elf", "json"])
def test_a_step_from_a_baseline_names_the_symbols_that_grew(images, tmp_path, form: str) -> None:
    one, two = images
    baseline = tmp_path / "main.json"
    if form == "elf":
        baseline.write_bytes(one.data)
    else:
        baseline.write_text(json.dumps(footprint.analyse(one).to_json()))
    step = used(two) - used(one)
    fits = case(tmp_path, f'flash = "+{step}"', baseline.name)
    assert not check_budgets(fits, two, Measures()).problems
    found = check_budgets(case(tmp_path, 'flash = "+0"', baseline.name), two, Measures())
    (problem,) = found.problems
    assert f"baseline {used(one):,} B" in problem and "grew most: tflite::" in problem
    tables = "\n".join(found.tables)
    assert "SOFTMAX" in tables and "appeared" in tables and "Symbols" in tables
    assert len(problem.split("grew most: ")[1].split(", tflite::")) <= 3


def made(folder: Path, name: str, **symbols: int) -> Path:
    """An image of these functions, so many bytes each."""
    at, found = 8, []
    for symbol, size in symbols.items():
        found.append(MadeSymbol(symbol, at + 1, size, "func"))
        at += size
    text = MadeSection(".text", 0, bytes(at), load=0, executable=True)
    path = folder / name
    path.write_bytes(write_elf([text], found, entry=9))
    return path


def test_the_three_symbols_that_grew_most_are_named(tmp_path) -> None:
    before = made(tmp_path, "main.elf", a=12, b=12, c=12, d=12, e=12)
    after = Image.from_elf(made(tmp_path, "z.elf", a=16, b=32, c=20, d=48, e=8))
    (problem,) = check_budgets(
        case(tmp_path, 'flash = "+0"', before.name), after, Measures()
    ).problems
    assert problem.endswith("; grew most: d +36, b +20, c +8")


def test_a_symbol_that_grew_by_a_byte_is_named_and_one_that_shrank_is_not(tmp_path) -> None:
    before = made(tmp_path, "main.elf", a=12, b=8)
    after = Image.from_elf(made(tmp_path, "z.elf", a=8, b=9))
    size = f"flash = {used(after) - 1}"
    (problem,) = check_budgets(case(tmp_path, size, before.name), after, Measures()).problems
    assert problem.endswith("; grew most: b +1")


def test_a_region_over_its_budget_in_which_nothing_grew_names_nothing(tmp_path) -> None:
    same = made(tmp_path, "main.elf", a=10)
    image = Image.from_elf(same)
    (problem,) = check_budgets(case(tmp_path, "flash = 1", same.name), image, Measures()).problems
    assert "grew most" not in problem


def test_ten_changes_are_shown_and_the_rest_is_counted(tmp_path) -> None:
    sizes = {f"f{number:02}": 12 for number in range(12)}
    before = made(tmp_path, "main.elf", **sizes)
    after = Image.from_elf(made(tmp_path, "z.elf", **dict.fromkeys(sizes, 16)))
    tables = check_budgets(case(tmp_path, 'flash = "+0"', before.name), after, Measures()).tables
    (symbols,) = (table for table in tables if table.startswith("Symbols that changed"))
    assert sum(name in symbols for name in sizes) == 10
    assert "... and 2 more" in symbols


def test_operators_and_files_have_budgets_of_their_own(images, tmp_path) -> None:
    limits = 'operators = { SOFTMAX = 1 }, files = { "no_such.cc" = 5 }'
    problems = check_budgets(case(tmp_path, limits), images[1], Measures()).problems
    assert len(problems) == 2
    assert problems[0].startswith("SOFTMAX: ") and "over its budget of 1 B" in problems[0]
    assert problems[1] == "no_such.cc: the image has no such file"


@pytest.mark.parametrize("limit", ["6000", "0", '"+0"'])
def test_a_budget_of_an_operator_that_is_not_there_is_a_mistake_of_the_case(
    images, tmp_path, limit
) -> None:
    (tmp_path / "main.elf").write_bytes(images[0].data)
    spec = case(tmp_path, f"operators = {{ ADD = {limit} }}", "main.elf")
    with pytest.raises(UsageError, match="the image has no operator ADD") as refused:
        check_budgets(spec, images[1], Measures())
    assert "SOFTMAX" in refused.value.hint


def test_an_image_without_tflite_micro_has_no_operator_at_all(tmp_path) -> None:
    plain = Image.from_elf(made(tmp_path, "plain.elf", work=12))
    with pytest.raises(UsageError, match="no operator CONV_2D") as refused:
        check_budgets(case(tmp_path, "operators = { CONV_2D = 6000 }"), plain, Measures())
    assert "no operator of tflite-micro" in refused.value.hint


def test_a_run_is_a_baseline_for_figures_of_runs(images, tmp_path) -> None:
    row = {"name": "mine", "target": "simulator", "flash": 1, "ram": 10**6,
           "arena_used": 1_990, "stack_used": None, "instructions": 100_000}  # fmt: skip
    (tmp_path / "run.json").write_text(json.dumps({"cases": [row]}))
    limits = 'ram = "+0", arena = "+8", instructions = "+1 %", stack = "+0"'
    problems = check_budgets(case(tmp_path, limits, "run.json"), images[0], MEASURED).problems
    assert problems == (
        "arena: 2,000 B, 2 B over its budget of 1,998 B (baseline 1,990 B)",
        "stack: the budget cannot be checked: it was not measured",
    )


def test_a_figure_that_the_baseline_lacks_does_not_pass(images, tmp_path) -> None:
    (tmp_path / "main.elf").write_bytes(images[0].data)
    found = check_budgets(case(tmp_path, 'arena = "+8"', "main.elf"), images[0], MEASURED)
    assert found.problems == ("arena: the budget is a step from a baseline, and it lacks "
                              "this figure",)  # fmt: skip


def test_a_run_as_the_baseline_has_no_bytes_of_operators(images, tmp_path) -> None:
    row = {"name": "mine", "target": "simulator", "flash": 1, "ram": 1}
    (tmp_path / "run.json").write_text(json.dumps({"cases": [row]}))
    limits = 'operators = { CONV_2D = "+0" }'
    (problem,) = check_budgets(case(tmp_path, limits, "run.json"), images[0], MEASURED).problems
    assert "it lacks this figure" in problem


def test_the_example_of_the_documentation_is_a_case_file(tmp_path) -> None:
    text = (paths.PACKAGE.parent / "docs" / "cases.md").read_text("utf-8")
    example = text.partition("## Budgets")[2].partition("```toml")[2].partition("```")[0]
    (tmp_path / "hil.toml").write_text(example)
    (tmp_path / "main.json").touch()
    (found,) = load_cases(tmp_path / "hil.toml")
    assert len(found.budgets.limits) == 7 and found.baseline == tmp_path / "main.json"


@pytest.mark.parametrize(
    ("text", "word"),
    [('{"cases": []}', "has no case 'mine'"), ('{"cases": [3]}', "has no case 'mine'"),
     ("{}", "not a footprint document"), ("nonsense", "neither an ELF nor JSON")],
)  # fmt: skip
def test_a_baseline_that_is_none_is_refused(images, tmp_path, text: str, word: str) -> None:
    (tmp_path / "b.json").write_text(text)
    with pytest.raises(UsageError, match=word):
        check_budgets(case(tmp_path, 'flash = "+0"', "b.json"), images[0], Measures())


def test_a_run_of_other_cases_or_on_another_target_is_not_a_baseline(images, tmp_path) -> None:
    others = [
        {"name": name, "target": target, "flash": 1}
        for name, target in (("a", "simulator"), ("z", "simulator"), ("mine", "renode"))
    ]
    (tmp_path / "run.json").write_text(json.dumps({"cases": others}))
    with pytest.raises(UsageError, match="has no case 'mine' on target 'simulator'"):
        check_budgets(case(tmp_path, 'flash = "+0"', "run.json"), images[0], Measures())


def test_a_step_without_a_baseline_is_refused_when_the_file_is_read(tmp_path) -> None:
    with pytest.raises(UsageError, match="step from a baseline, and the case names none"):
        case(tmp_path, 'flash = "+1 %"')


def test_a_baseline_that_does_not_exist_is_refused_when_the_file_is_read(tmp_path) -> None:
    with pytest.raises(UsageError, match="there is no file"):
        case(tmp_path, 'flash = "+1 %"', "none.json")


def test_an_unknown_budget_is_refused_with_the_nearest_name(tmp_path) -> None:
    with pytest.raises(UsageError, match="unknown key 'flsh'") as refused:
        case(tmp_path, "flsh = 3")
    assert "flash" in refused.value.hint
