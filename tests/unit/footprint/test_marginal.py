"""What an operator costs by building without it, beside what it costs by reachability."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import needs
import pytest
from little_tflm import compile_little

from harness import footprint
from harness.base import logs
from harness.base.errors import UsageError
from harness.elf import Image
from harness.footprint.compare import Change
from harness.footprint.marginal import LeaveOneOut, _net, leave_one_out

pytestmark = pytest.mark.slow

Build = Callable[[Sequence[str]], Path]
ADD = {"CONV_2D": "resolver.AddConv2D();", "SOFTMAX": "resolver.AddSoftmax();"}


@pytest.fixture(scope="module")
def build(tmp_path_factory: pytest.TempPathFactory) -> Build:
    """Builds the little firmware with the operators that are asked for, each set once."""
    needs.require("arm-none-eabi-gcc")
    made: dict[tuple[str, ...], Path] = {}

    def build(names: Sequence[str]) -> Path:
        key = tuple(sorted(names))
        if key not in made:
            folder = tmp_path_factory.mktemp("little")
            register = "".join(ADD[name] for name in key)
            made[key] = compile_little(folder, register=register, slots=max(1, len(key)))
        return made[key]

    return build


@pytest.fixture(scope="module")
def found(build: Build) -> LeaveOneOut:
    return leave_one_out("little", list(ADD), build)


def used(build: Build, names: Sequence[str], region: str) -> int:
    document = footprint.analyse(Image.from_elf(build(names)))
    return document.region(region).used


def test_measured_is_the_flash_that_goes_with_the_operator(found: LeaveOneOut, build: Build):
    whole = used(build, list(ADD), "FLASH")
    conv, softmax = found.rows
    assert (conv.operator, softmax.operator) == tuple(ADD)
    assert conv.measured == whole - used(build, ["SOFTMAX"], "FLASH")
    assert softmax.measured == whole - used(build, ["CONV_2D"], "FLASH")
    assert conv.difference == conv.measured - conv.exclusive


def test_the_slot_of_an_operator_is_ram(found: LeaveOneOut, build: Build):
    whole = used(build, list(ADD), "RAM")
    assert found.rows[0].ram == whole - used(build, ["SOFTMAX"], "RAM")
    assert found.ram == whole - used(build, [], "RAM")


def test_together_is_the_cost_of_all_of_them(found: LeaveOneOut, build: Build):
    assert found.flash == used(build, list(ADD), "FLASH")
    assert found.none == used(build, [], "FLASH")
    told = found.to_json()
    assert told["together_measured"] == found.flash - found.none
    assert told["sum_of_exclusive"] == sum(row.exclusive for row in found.rows)
    # What both share goes only with both of them.
    assert sum(row.measured for row in found.rows) < told["together_measured"]


def test_operators_that_are_kept_are_in_every_build(build: Build):
    asked: list[tuple[str, ...]] = []

    def recording(names: Sequence[str]) -> Path:
        asked.append(tuple(names))
        return build(names)

    leave_one_out("little", ["SOFTMAX"], recording, kept=["CONV_2D"])
    assert asked == [("CONV_2D", "SOFTMAX"), ("CONV_2D",), ("CONV_2D",)]


def test_each_build_is_logged(build: Build):
    told: list[str] = []
    with logs.shown(told.append):
        leave_one_out("little", ["SOFTMAX"], build)
    assert told == [
        "building little with 1 operators",
        "building little without any",
        "building little without SOFTMAX",
    ]


def test_nothing_to_leave_out_is_refused(build: Build):
    with pytest.raises(UsageError, match="little has no operators to leave out"):
        leave_one_out("little", [], build)


def test_the_operators_own_bytes_are_not_a_change_elsewhere(found: LeaveOneOut):
    """Its functions, and its text among the literals of all."""
    names = {change.name for row in found.rows for change in row.elsewhere}
    assert "(string literals)" not in names
    assert not any("ConvEval" in name or "SoftmaxEval" in name for name in names)
    assert all(change.difference for row in found.rows for change in row.elsewhere)


def test_an_operators_figures_are_those_of_the_whole_image(found: LeaveOneOut, build: Build):
    whole = footprint.analyse(Image.from_elf(build(list(ADD)))).operators.operators
    assert [(row.exclusive, row.alone) for row in found.rows] == [
        (cost.exclusive, cost.alone) for cost in whole
    ]


@pytest.mark.parametrize(
    ("name", "after"), [("(string literals)", 16), ("(padding)", 20), ("main", 20)]
)
def test_of_the_literals_alone_the_operators_own_are_taken_away(name: str, after: int):
    assert _net(Change(name, "FLASH", 10, 20), 4) == Change(name, "FLASH", 10, after)


def test_an_operator_that_is_not_linked_costs_nothing(build: Build):
    """Its name registers nothing: neither figure has a byte of it."""
    (row,) = leave_one_out("little", ["ADD"], lambda names: build(["CONV_2D"])).rows
    assert (row.exclusive, row.alone, row.measured, row.ram, row.elsewhere) == (0, 0, 0, 0, ())
