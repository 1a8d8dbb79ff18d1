"""No door is green where nothing, or the wrong thing, was tested."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import click
import command_cells
import needs
import pytest
import suite_cells
from cells import Cell
from doors import DOORS, EMPTY, ENTRANCES, WAYS
from stage import Stage

from harness.case.live import Live
from harness.cli import COMMANDS, cli
from harness.pytest_plugin.fixture import Hil

CELLS = (*command_cells.CELLS, *suite_cells.CELLS)
GOOD = {**command_cells.GOOD, **suite_cells.GOOD}
LIBRARIES = {
    "TflmHil": "harness.keywords.TflmHil",
    "Layers": "harness.keywords.layers.Layers",
    "OperatorLifecycle": "harness.keywords.lifecycle.OperatorLifecycle",
    "Reference": "harness.keywords.reference.Reference",
}
#: Calls that run a case on a virtual board, too.
SLOW = frozenset(("crosscheck", "crosscheck: lost 1", "crosscheck: name 2"))
needs_compiler = pytest.mark.needs("arm-none-eabi-gcc", "flatc")


@pytest.fixture
def stage(tmp_path, monkeypatch, capsys) -> Stage:
    return Stage(tmp_path, monkeypatch, capsys)


def _params() -> Iterator[object]:
    """Every cell; one that waits for another part of the project is expected to fail."""
    for cell in CELLS:
        same = [one for one in CELLS if str(one) == str(cell)]
        name = f"{cell} {same.index(cell) + 1}"
        marks = [pytest.mark.xfail(strict=True, reason=cell.owner)] if cell.owner else []
        marks += [pytest.mark.slow] if name in SLOW else []
        yield pytest.param(cell, id=name, marks=marks)


@needs_compiler
@pytest.mark.parametrize("cell", _params())
def test_nothing_tested_is_not_green(cell: Cell, stage: Stage):
    outcome = cell.call(stage)
    assert not outcome.green, outcome.said
    assert "a bug in tflm-hil" not in outcome.said
    assert cell.says in outcome.said


@needs_compiler
@pytest.mark.parametrize(
    "door", [pytest.param(one, marks=[pytest.mark.slow] if one in SLOW else []) for one in GOOD]
)
def test_the_door_is_green_where_all_is_right(door: str, stage: Stage):
    if door == "crosscheck":
        needs.require("pyocd")  # virtual-board is read through it
    outcome = GOOD[door](stage)
    assert outcome.green, outcome.said


def test_every_door_has_a_good_call_or_a_reason():
    assert GOOD.keys() | command_cells.NOT_HERE.keys() == DOORS.keys()
    assert not GOOD.keys() & command_cells.NOT_HERE.keys()


def test_every_way_through_every_door_has_a_cell_or_a_reason():
    filled = {(cell.door, cell.way) for cell in CELLS}
    assert filled <= set(product(DOORS, WAYS)), "a cell of a door or a way that there is not"
    bare = [
        f"{door}: {way}"
        for door, way in product(DOORS, WAYS)
        if (door, way) not in filled and not any(one.covers(door, way) for one in EMPTY)
    ]
    assert not bare, f"{len(bare)} cells are neither filled nor explained: {bare}"


def test_every_reason_is_needed_and_explains_no_cell_that_is_there():
    filled = {(cell.door, cell.way) for cell in CELLS}
    for one in EMPTY:
        covered = {pair for pair in product(DOORS, WAYS) if one.covers(*pair)}
        assert covered - filled, f"{one} covers no empty cell"
        assert not covered & filled, f"{one} covers {sorted(covered & filled)}, which have cells"
    for door, way in product(DOORS, WAYS):
        reasons = [one for one in EMPTY if one.covers(door, way)]
        assert len(reasons) < 2, f"{door}: {way} has several reasons"


def test_a_red_cell_says_why():
    assert not [str(cell) for cell in CELLS if not cell.says and not cell.owner]


def test_every_entrance_has_a_row():
    found = {*_subcommands(), *_keywords(), *_members("hil", Hil), *_members("live", Live)}
    assert found == ENTRANCES.keys()


def test_every_entrance_leads_to_a_door_or_gives_a_reason():
    doors = {where for where in ENTRANCES.values() if not where.startswith("- ")}
    assert doors <= DOORS.keys()
    without = DOORS.keys() - doors
    assert without == {"crosscheck", "pytest cases", "action"}, "no entrance leads to a door"


def _subcommands() -> Iterator[str]:
    for name in COMMANDS:
        command = cli.get_command(click.Context(cli), name)
        assert command is not None
        yield from _leaves(f"tflm-hil {name}", command)


def _leaves(name: str, command: click.Command) -> Iterator[str]:
    if not isinstance(command, click.Group):
        yield name
        return
    if command.invoke_without_command:
        yield name
    context = click.Context(command)
    for word in command.list_commands(context):
        one = command.get_command(context, word)
        assert one is not None
        yield from _leaves(f"{name} {word}", one)


def _keywords() -> Iterator[str]:
    from robot.libdocpkg import LibraryDocumentation

    for name, library in LIBRARIES.items():
        for keyword in LibraryDocumentation(library).keywords:
            yield f"{name}.{keyword.name}"


def _members(name: str, owner: type) -> Iterator[str]:
    return (f"{name}.{member}" for member in vars(owner) if not member.startswith("_"))
