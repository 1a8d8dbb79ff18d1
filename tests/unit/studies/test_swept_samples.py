"""A small sweep of real images, from its file to its tables, its page and the history."""

from __future__ import annotations

import csv
import json
import sqlite3
from pathlib import Path

import jsonschema
import pytest

import harness
from harness.cli import main
from harness.history.store import History

SWEEP = """
samples = ["hello_world"]
resolvers = ["exact", "all"]
lto = [false, true]
"""


@pytest.fixture(scope="module")
def swept(tmp_path_factory) -> Path:
    """The folder in which a sweep of four points left everything that it can write."""
    folder = tmp_path_factory.mktemp("sweep")
    (folder / "sweep.toml").write_text(SWEEP)
    arguments = ["--workers", "1", "--store", str(folder / "store.sqlite"),
                 "--history", str(folder / "history.db")]  # fmt: skip
    for kind in ("json", "csv", "html"):
        arguments += [f"--{kind}", str(folder / f"sweep.{kind}")]
    assert main(["sweep", str(folder / "sweep.toml"), *arguments]) == 0
    return folder


@pytest.fixture(scope="module")
def rows(swept) -> list:
    return json.loads((swept / "sweep.json").read_text())["rows"]


def point(rows, **wanted):
    return next(row for row in rows if wanted.items() <= row["parameters"].items())


def test_every_point_passes_with_link_time_optimization_and_without(rows):
    assert [row["verdict"] for row in rows] == ["pass"] * 4


def test_measures_are_those_of_each_image(rows):
    exact, every = point(rows, resolver="exact", lto=False), point(rows, resolver="all", lto=False)
    assert exact["flash"] + 10_000 < every["flash"]
    assert exact["instructions"] == every["instructions"]
    assert point(rows, resolver="exact", lto=True)["flash"] < exact["flash"]


def test_document_conforms_to_its_schema(swept):
    schema = json.loads((Path(harness.__file__).parent / "schemas" / "sweep.json").read_text())
    jsonschema.validate(json.loads((swept / "sweep.json").read_text()), schema)


def test_csv_file_has_the_same_rows(swept, rows):
    with (swept / "sweep.csv").open(newline="") as file:
        read = list(csv.DictReader(file))
    assert [int(one["flash"]) for one in read] == [row["flash"] for row in rows]


def test_the_page_names_the_points(swept):
    page = (swept / "sweep.html").read_text()
    assert "resolver exact, lto true" in page


@pytest.mark.slow
def test_two_workers_give_the_same_rows_as_one(swept, capsys):
    assert main(["sweep", str(swept / "sweep.toml"), "--workers", "2", "--json", "-"]) == 0
    assert capsys.readouterr().out == (swept / "sweep.json").read_text()


def test_a_finished_sweep_is_read_from_its_store(swept, rows, capsys, monkeypatch):
    monkeypatch.setenv("PATH", "")  # no compiler
    arguments = [str(swept / "sweep.toml"), "--workers", "1", "--json", "-"]
    assert main(["sweep", *arguments, "--store", str(swept / "store.sqlite")]) == 0
    assert json.loads(capsys.readouterr().out)["rows"] == rows


def test_every_point_is_a_case_of_the_history(swept, rows):
    with History.open(str(swept / "history.db")) as history:
        found = history.cases(history.runs())
    assert sorted(key.case for key in found) == [
        "sweep hello_world all", "sweep hello_world all, lto True",
        "sweep hello_world exact", "sweep hello_world exact, lto True",
    ]  # fmt: skip
    kept = {key.case: points[-1].outcome.figures for key, points in found.items()}
    exact = point(rows, resolver="exact", lto=False)
    assert kept["sweep hello_world exact"]["flash", "elf"] == exact["flash"]


@pytest.mark.parametrize(("budget", "code"), [("flash=40000", 0), ("flash=100", 1)])
def test_a_budget_names_the_best_point_or_fails(swept, budget, code, capsys):
    arguments = ["--store", str(swept / "store.sqlite"), "--workers", "1", "--budget", budget]
    assert main(["sweep", str(swept / "sweep.toml"), *arguments]) == code
    told = capsys.readouterr()
    assert "best within the budget, hello_world:" in told.out
    assert code == 0 or "no point of hello_world passes" in told.err


def test_model_and_arena_of_a_point_are_checked_against_the_image(tmp_path, capsys):
    (tmp_path / "sweep.toml").write_text(
        'samples = ["benchmark"]\nresolvers = ["all"]\n'
        'models = ["hello_world_int8.tflite"]\narena = [4096]\n'
    )
    assert main(["sweep", str(tmp_path / "sweep.toml"), "--workers", "1", "--json", "-"]) == 0
    [row] = json.loads(capsys.readouterr().out)["rows"]
    assert (row["verdict"], row["arena_declared"]) == ("pass", 4096), row["reason"]


def test_missing_target_ends_the_sweep_without_a_row(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("RENODE", str(tmp_path / "nowhere"))
    (tmp_path / "sweep.toml").write_text(
        'samples = ["hello_world"]\ntargets = ["simulator", "renode"]\n'
    )
    store = tmp_path / "store.sqlite"
    arguments = [str(tmp_path / "sweep.toml"), "--workers", "1", "--store", str(store)]
    assert main(["sweep", *arguments]) == 3
    with sqlite3.connect(store) as kept:
        assert kept.execute("SELECT number FROM parts").fetchall() == [(0,)]
    kept.close()
