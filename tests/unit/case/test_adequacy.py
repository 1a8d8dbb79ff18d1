"""Budgets of adequacy."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from harness.base import paths
from harness.base.errors import UsageError
from harness.case import Case, load_cases
from harness.case.budgets import check_adequacy
from harness.case.case import Budgets
from harness.case.outputs import OutputCheck
from harness.model import Model

MODEL = Model.from_file(paths.models() / "hello_world_int8.tflite")
EVERY = OutputCheck(inputs=(np.arange(-128, 128).astype(np.int8).reshape(256, 1, 1),))
FLAT = OutputCheck(inputs=(np.zeros((3, 1, 1), np.int8),))


def case(adequacy: float | None) -> Case:
    return replace(Case("c"), budgets=Budgets(adequacy=adequacy))


def test_inputs_that_notice_enough_pass() -> None:
    found = check_adequacy(case(1.0), MODEL, EVERY)
    assert not found.problems
    assert found.adequacy is not None
    assert found.adequacy.share == 1


def test_inputs_that_notice_too_little_fail_and_name_what_they_miss() -> None:
    found = check_adequacy(case(0.95), MODEL, FLAT)
    assert "95 % are wanted" in found.problems[0]
    assert "not noticed: operator 0 FULLY_CONNECTED" in found.tables[0]


def test_without_a_budget_nothing_is_examined() -> None:
    assert check_adequacy(case(None), MODEL, FLAT).adequacy is None


def test_a_budget_that_cannot_be_checked_is_a_problem() -> None:
    found = check_adequacy(case(0.5), MODEL, OutputCheck())
    assert found.problems == ("the adequacy cannot be checked: no inputs of a model were compared",)


def loaded(folder: Path, value: str) -> Case:
    (folder / "z.elf").touch()
    text = f'[[case]]\nname = "c"\nelf = "z.elf"\nbudgets = {{ adequacy = {value} }}\n'
    (folder / "hil.toml").write_text(text)
    (found,) = load_cases(folder / "hil.toml")
    return found


def test_a_case_file_gives_the_share_in_percent(tmp_path: Path) -> None:
    assert loaded(tmp_path, '"97.5 %"').budgets == Budgets(adequacy=0.975)


@pytest.mark.parametrize("value", ['"101 %"', "95", '"95"', "true", '"-1 %"', '"+1 %"'])
def test_anything_else_is_refused(tmp_path: Path, value: str) -> None:
    with pytest.raises(UsageError, match="is not a share of all mistakes"):
        loaded(tmp_path, value)
