"""Runs in a history: every field is kept, once."""

import json
from dataclasses import replace

import pytest
import replay_nights as lab

from harness.base.errors import UsageError
from harness.case.measure import operator_ticks
from harness.history.keep import keep
from harness.history.measures import figures
from harness.history.run import ImageParts, Occasion, from_document, from_file
from harness.history.store import History
from harness.uart import Console
from harness.uart.records import encode


def test_every_figure_comes_back_with_its_source(history, run):
    history.record(run(lab.document(lab.case(cycles=7))))
    ((key, points),) = history.cases(history.runs()).items()
    assert str(key) == "hello_world-exact on simulator"
    assert points[0].outcome.figures["flash", "elf"] == 29_048
    assert points[0].outcome.figures["instructions", "simulator"] == 5_950
    assert points[0].outcome.figures["operator FULLY_CONNECTED", "simulator"] == 5_636
    assert points[0].outcome.figures["cycles", "dwt"] == 7


def test_a_run_has_time_machine_and_commit(tmp_path):
    results = tmp_path / "results.json"
    results.write_text(json.dumps(lab.document(night=3, machine="bench", command="robot tests")))
    told = from_file(results).occasion
    assert (told.started, told.machine) == (lab.FIRST + 3 * lab.DAY, "bench")
    assert (told.commit, told.branch, told.command) == (f"{3:040x}", "main", "robot tests")
    assert from_file(results, {"branch": "try"}).occasion.branch == "try"


def test_a_run_that_is_recorded_again_is_kept_once(file):
    night = lab.document()
    said = [keep(str(file), night, Occasion(night["run"]["started"])) for _ in range(2)]
    assert said == [f"1 case recorded in {file}", f"1 case known already in {file}"]


def test_figures_that_were_not_measured_are_left_out():
    names = {
        figure.name for figure in figures(lab.case(instructions=None, flash=None, operators=[]))
    }
    assert names == {"ram", "arena", "stack", "total_instructions", "wall_seconds"}


def test_ticks_of_an_operator_are_those_of_its_nodes_and_the_median_of_inferences():
    console = Console()
    rows = [(0, 0, "CONV_2D", 10), (0, 1, "CONV_2D", 5), (0, 2, "ADD", 3),
            (1, 0, "CONV_2D", 20), (1, 1, "CONV_2D", 5), (1, 2, "ADD", 3),
            (2, 0, "CONV_2D", 90), (2, 1, "CONV_2D", 9), (2, 2, "ADD", 4)]  # fmt: skip
    for number, row in enumerate(rows):
        fields = dict(zip(("inference", "node", "operator", "ticks"), row, strict=True))
        console.feed(encode(number, "op", fields) + b"\r\n")
    console.finish()
    assert [(one.operator, one.ticks) for one in operator_ticks(console)] == [
        ("CONV_2D", 25),
        ("ADD", 3),
    ]


def test_the_parts_of_an_image_are_kept_once(history, run):
    sha = "a" * 64
    parts = (("symbol", "FLASH", "main", 30), ("operator", "FLASH", "ADD", 12))
    image = ImageParts(sha, "GCC: (15) 12.2", parts)
    for night in range(2):
        one = run(lab.document(lab.case(elf_sha256=sha), night=night))
        history.record(replace(one, images=(image,)))
    ((_, points),) = history.cases(history.runs()).items()
    assert points[0].image == points[1].image
    assert history.parts(points[0].image, "symbol") == {("FLASH", "main"): 30}
    assert history.parts(points[0].image, "operator") == {("FLASH", "ADD"): 12}


def test_an_image_that_is_not_there_any_more_is_kept_by_its_hash(history, run, tmp_path):
    gone = lab.case(elf=str(tmp_path / "gone.elf"), elf_sha256="b" * 64)
    history.record(run(lab.document(gone)))
    ((_, points),) = history.cases(history.runs()).items()
    assert history.parts(points[0].image, "symbol") == {}


@pytest.mark.parametrize("document", [
    [], {}, {"cases": 3}, {"cases": [3]}, {"cases": [{"name": "x"}]}, None,
    {"cases": [lab.case(operators=[{"operator": "ADD"}])]},
    {"cases": [lab.case(operators=[{"operator": "ADD", "ticks": "x"}])]},
])  # fmt: skip
def test_a_file_that_is_not_a_document_of_results_is_refused(document):
    with pytest.raises(UsageError):
        from_document(document, Occasion(0.0))


def test_runs_of_a_branch_are_listed_oldest_first(history, run):
    for night, branch in ((2, "main"), (0, "main"), (1, "try")):
        history.record(run(lab.document(night=night, branch=branch)))
    nights = [round((one.occasion.started - lab.FIRST) / lab.DAY) for one in history.runs()]
    assert nights == [0, 1, 2]
    assert [one.occasion.branch for one in history.runs(branch="try")] == ["try"]
    assert len(history.runs(last=1)) == 1


def test_a_history_that_has_no_run_is_empty(tmp_path):
    with History.open(str(tmp_path / "new.db")) as history:
        assert history.runs() == [] and history.cases([]) == {}
