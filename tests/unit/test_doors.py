"""What one door can do, the others can: command line, Robot, pytest and Python."""

from __future__ import annotations

from importlib import import_module

import click
import pytest
from robot.libdocpkg import LibraryDocumentation

import harness
from harness import reference
from harness.case.live import Live
from harness.cli import cli
from harness.keywords import TflmHil
from harness.keywords.layers import Layers
from harness.keywords.lifecycle import OperatorLifecycle
from harness.keywords.reference import Reference
from harness.pytest_plugin.fixture import Hil

LIBRARIES = (TflmHil, Layers, OperatorLifecycle, Reference)

#: Ability: subcommand, Robot keywords, members of pytest's fixture or of a session, Python.
#: "" where the door has no need of it: a shell takes no single steps, gdb does (`debug`).
ABILITIES = {
    "run cases of a file": ("run", "Run Case", "pytest_collect_file", "run_case load_cases"),
    "run a sample": ("run", "Run Sample Case", "hil.run", "run_case"),
    "run all samples": ("run", "Run All Sample Cases", "hil.run", "run_case"),
    "expect a verdict": ("run", "Case Should End As", "hil.run", "run_case"),
    "build a sample": ("build", "Build Firmware", "hil.build", "run_case"),
    "build all": ("build", "Build All Firmware", "hil.build", "run_case"),
    "size of an image": (
        "footprint",
        "Get Size, Flash Should Not Exceed, RAM Should Not Exceed",
        "hil.footprint",
        "Image",
    ),
    "check a resolver": (
        "resolver check", "Resolver Check Should Say", "hil.check_resolver", "Image"),
    "compare each operator": (
        "layers",
        "Layers Should Equal Reference, First Diverging Operator Should Be",
        "hil.layers",
        "Interpreter",
    ),
    "compute a model": (
        "reference",
        "Reference Outputs, Outputs Should Equal Reference, Accuracy Should Equal The Card",
        "hil.run",
        "Interpreter",
    ),
    "judge inputs": ("vectors", "Adequacy Should Be At Least", "hil.run", "reference.examine"),
    "life of a custom operator": (
        "run", "Lifecycle Should Be As Documented, Lifecycle Should Count", "hil.run", "run_case"),
    "start a session": ("debug", "Start Target", "hil.session live.open", "Live.open"),
    "end a session": ("debug", "Stop Target", "live.close", "Live.close"),
    "wait for a line": ("", "Wait For Line", "live.wait_for", "Live.wait_for"),
    "write a line": ("", "Write Line", "live.write", "Live.write"),
    "wait for inferences": (
        "",
        "Wait For Inference",
        "live.wait_for_inferences live.inferences",
        "Live.wait_for_inferences",
    ),
    "wait for the end": (
        "", "Wait For End", "live.wait_for_end live.ended live.transcript", "Live.wait_for_end"),
    "run for a time": ("", "Run For", "live.run_for", "Live.run_for"),
    "reset": ("", "Reset Target", "live.reset", "Live.reset"),
    "read memory": ("debug", "Read Memory", "live.memory live.address", "Live.memory"),
    "show call stacks": ("debug", "Call Stack", "live.call_stack", "Live.call_stack"),
    "drive and read pins": (
        "run", "Press Button, Drive Pin, Pin Should Be", "live.pins live.kit", "Live.pins"),
    "compare outputs so far": (
        "", "Outputs Should Match Reference", "live.check_outputs", "Live.check_outputs"),
    "look at findings": (
        "",
        "Target Should Report, Target Should Report Missing Operator, Target Should Report Nothing",
        "live.check_reported live.findings",
        "Live.findings",
    ),
}  # fmt: skip
#: Members that are no ability of their own.
PARTS = {"hil.close", "hil.consoles"}
#: Of the plugin itself.
HOOKS = {"pytest_collect_file"}
#: Keywords and members, as the table names them.
KEYWORDS = [one.strip() for row in ABILITIES.values() for one in row[1].split(",")]
MEMBERS = {one for row in ABILITIES.values() for one in row[2].split()}


def keywords_of(library: type) -> set[str]:
    """The names of a library's keywords, as suites write them."""
    place = f"{library.__module__}.{library.__name__}"
    return {keyword.name for keyword in LibraryDocumentation(place).keywords}


@pytest.fixture(scope="module")
def keywords() -> set[str]:
    return set().union(*map(keywords_of, LIBRARIES))


def members(name: str, kind: type) -> set[str]:
    """Public members of a class, with the word that a test has for its object."""
    return {f"{name}.{one}" for one in vars(kind) if not one.startswith("_")}


@pytest.mark.parametrize("ability", ABILITIES)
def test_each_door_has_the_ability(ability, keywords):
    command, offered, fixture, python = ABILITIES[ability]
    found: click.Command = cli
    for word in command.split():
        assert isinstance(found, click.Group)
        below = found.get_command(click.Context(found), word)
        assert below is not None, command
        found = below
    assert {one.strip() for one in offered.split(",")} <= keywords
    plugin = import_module("harness.pytest_plugin")
    for name in fixture.split():
        owner, _, member = name.partition(".")
        assert hasattr({"hil": Hil, "live": Live}[owner] if member else plugin, member or owner)
    for name in python.split():
        value: object = {"reference": reference}.get(name.split(".")[0], harness)
        for part in name.removeprefix("reference.").split("."):
            value = getattr(value, part)


def test_an_ability_of_a_door_stands_in_the_table(keywords):
    assert keywords == set(KEYWORDS)
    assert len(KEYWORDS) == len(set(KEYWORDS))
    assert members("hil", Hil) | members("live", Live) == MEMBERS - HOOKS | PARTS
