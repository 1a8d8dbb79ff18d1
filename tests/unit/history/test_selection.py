"""Which cases a run was asked for: outputs do not matter, filters make it partial."""

import json

import pytest
import replay_nights as lab

from harness.cli import main
from harness.history.run import Occasion
from harness.history.selection import Selection, relative
from harness.history.store import History


@pytest.mark.parametrize("command", [
    "tflm-hil run hil.toml",
    "tflm-hil run hil.toml --json 2026-11-22.json",
    "tflm-hil run --json=2026-11-23.json --html x.html hil.toml --history lab.db",
    "/usr/bin/tflm-hil run hil.toml --output 'a folder'",
])  # fmt: skip
def test_output_options_are_not_part_of_a_selection(command):
    assert Selection.of_command(command) == Selection(("hil.toml", "run"))


@pytest.mark.parametrize("command", [
    "tflm-hil run hil.toml --case a", "pytest -k a tests", "robot --test a tests", "robot -i a t",
])  # fmt: skip
def test_a_command_with_a_filter_is_partial(command):
    assert Selection.of_command(command).partial


def test_targets_of_a_command_have_no_order():
    one, other = (Selection.of_command(f"x run a --target {t}") for t in ("b,a", "a,b"))
    assert one == other
    assert one.targets == ("a", "b")


def test_a_command_truncated_within_quotes_is_read():
    assert Selection.of_command("tflm-hil run 'a b").sources == ("'a", "b", "run")


@pytest.mark.parametrize("selection", [
    Selection(), Selection.of(["b", "a"], ["case é"], ["renode"], ["nrf5340"]),
])  # fmt: skip
def test_a_selection_round_trips_as_text(selection):
    assert Selection.from_text(selection.to_text()) == selection


@pytest.mark.parametrize("document", [
    None, [], {}, {"sources": "a", "filters": [], "targets": []}, {"sources": [], "filters": []},
])  # fmt: skip
def test_a_document_without_a_selection_has_none(document):
    assert Selection.from_json(document) is None


def test_a_selection_of_a_version_that_knew_no_chips_names_none():
    document = {"sources": ["a"], "filters": [], "targets": ["renode"]}
    assert Selection.from_json(document) == Selection(("a",), targets=("renode",))


def test_paths_are_relative_to_the_repository(tmp_path, monkeypatch):
    file = tmp_path / "repository" / "app" / "hil.toml"
    file.parent.mkdir(parents=True)
    assert relative(file, str(tmp_path / "repository")) == "app/hil.toml"
    monkeypatch.chdir(file.parent)
    assert relative("hil.toml", "") == "hil.toml"
    assert relative("hil.toml", str(tmp_path / "repository")) == "app/hil.toml"
    assert relative(tmp_path / "x", "") == str(tmp_path / "x")


def test_a_selection_is_stored_with_its_run(history, run):
    selection = Selection.of(["hil.toml"], ["case a"], ["simulator"])
    document = lab.document(selection=selection.to_json())
    history.record(run(document))
    (kept,) = history.runs()
    assert kept.occasion.selection == selection
    assert kept.occasion.to_json() == document["run"]


def test_a_run_that_leaves_cases_out_is_partial():
    occasion = Occasion(0.0, selection=Selection(("hil.toml",)))
    assert not occasion.selected.partial
    assert occasion.without("the rest").selected.filters == ("without the rest",)


FIRMWARE = """
[[case]]
name = "{}"
sample = "hello_world"

[[case]]
name = "b"
sample = "hello_world"
"""


def test_runs_record_the_selection_of_their_command(tmp_path, monkeypatch):
    (tmp_path / "hil.toml").write_text(FIRMWARE.format("a"))
    monkeypatch.chdir(tmp_path)
    main(["run", "hil.toml", "--history", "lab.db", "--json", "one.json"])
    main(["run", ".", "--history", "lab.db", "--case", "b", "--target", "simulator"])
    main(["run", "hello_world", "--history", "lab.db", "--builder", "standalone"])
    main(["run", "hello_world", "--history", "lab.db", "--chip", "nRF9160"])
    with History.open("lab.db") as history:
        whole, partial, sample, named = (run.occasion.selection for run in history.runs())
    assert whole == Selection(("hil.toml",))
    assert partial == Selection(("hil.toml",), ("case b",), ("simulator",))
    assert sample == Selection(("hello_world/exact/standalone",))
    assert named == Selection(("hello_world/exact/standalone",), chips=("nrf9160",))
    assert json.loads((tmp_path / "one.json").read_text())["run"]["selection"] == whole.to_json()
