"""A removed name is answered with what to use instead, on each door."""

from __future__ import annotations

import io

import pytest

from harness.base.errors import UsageError
from harness.base.removed import INSTEAD
from harness.case.plan import load_cases
from harness.cli import main
from robot import api

#: First words of names that are not given to the command line.
OTHERS = ("key ", "keyword ", "fault model ")


@pytest.fixture
def row(monkeypatch):
    """Add a row to the table: a removed name -> what to use instead."""
    return lambda name, instead: monkeypatch.setitem(INSTEAD, name, instead)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("weigh", ["weigh", "a.elf"]),
        ("boards polish", ["boards", "--lab", "lab.toml", "polish", "bench-1"]),
        ("run --polish", ["run", "a.elf", "--polish", "out"]),
        ("run --polish", ["run", "--polish=out"]),
    ],
)
def test_command_line(row, capsys, tmp_path, monkeypatch, name, arguments):
    monkeypatch.chdir(tmp_path)
    row(name, "footprint")
    (tmp_path / "a.elf").touch()
    assert main(arguments) == UsageError.exit_code
    assert capsys.readouterr().err == f"tflm-hil: {name} was removed\nhint: footprint\n"


@pytest.mark.parametrize(
    ("arguments", "today"),
    [(["where", "robot"], "list paths"), (["samples", "--json"], "list samples"),
     (["chips", "nrf9151"], "list chips")],
)  # fmt: skip
def test_renamed_command_works_and_is_told(capsys, arguments, today):
    assert main(arguments) == 0
    old = capsys.readouterr()
    assert old.err == f"tflm-hil: {arguments[0]} is now called {today}\n"
    assert main([*today.split(), *arguments[1:]]) == 0
    assert capsys.readouterr() == (old.out, "")


@pytest.mark.parametrize("name", [name for name in INSTEAD if not name.startswith(OTHERS)])
def test_each_row_of_a_command_or_option(capsys, name):
    assert main(name.split()) == UsageError.exit_code
    assert capsys.readouterr().err == f"tflm-hil: {name} was removed\nhint: {INSTEAD[name]}\n"


def test_case_file(row, tmp_path):
    row("key polish", "press")
    file = tmp_path / "hil.toml"
    file.write_text('[[case]]\nname = "a"\nelf = "a.elf"\npolish = true\n')
    with pytest.raises(UsageError) as caught:
        load_cases(file)
    assert caught.value.message == f"{file}, case 'a': key polish was removed"
    assert caught.value.hint == "press"


def test_robot_keyword(row, tmp_path):
    row("keyword Polish Target", "Reset Target")
    file = tmp_path / "a.robot"
    file.write_text(
        "*** Settings ***\nLibrary    harness.keywords.TflmHil\n"
        "*** Test Cases ***\nA\n    Polish Target    1\n"
    )
    done = api.TestSuite.from_file_system(file).run(
        output=None, stdout=io.StringIO(), stderr=io.StringIO()
    )
    (test,) = done.suite.all_tests
    assert test.failed
    assert test.message == "keyword Polish Target was removed\nhint: Reset Target"
